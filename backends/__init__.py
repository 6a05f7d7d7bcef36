"""From lowered IR to a target's binary, and its launch."""
