"""Passes that choose and fold the layouts of tiles."""
