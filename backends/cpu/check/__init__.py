"""The target "cpu-check": kernels whose threads record what they do to memory, and what the records show."""
