"""NVIDIA GPUs: targets, instructions as rows of data, PTX."""
