"""The compiler's passes: one pass a file, the file named as the pass."""
