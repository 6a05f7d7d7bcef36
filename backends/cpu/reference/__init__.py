"""What the hardware's instructions compute, as pure functions of NumPy arrays; one file a family.

Registers come as arrays of (lanes, words): the bits of each lane's words, unsigned.
"""
