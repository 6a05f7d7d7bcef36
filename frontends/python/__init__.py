"""Kernels written as Python functions: what both tracks share. Source is read, never run.

`source` finds and parses it, `liveness` says which variables matter where, `interpreter` walks it and builds IR.
"""

MARK = "__tileopt_function__"  # the attribute by which a track's own functions are known
