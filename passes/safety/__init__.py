"""Passes that prove bounds and ownership."""
