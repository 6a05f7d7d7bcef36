"""Kernels written as Python functions: what both tracks share. Source is read, never run.

`source` finds and parses it, `liveness` says which variables matter where, `interpreter` walks it and builds IR.
"""
