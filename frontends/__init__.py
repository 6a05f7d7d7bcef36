"""From source text or another IR to the tile and simt dialects."""
