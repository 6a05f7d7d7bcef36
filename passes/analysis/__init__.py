"""Passes that derive facts and change no code."""
