"""Passes that decide when and by which warps work is done."""
