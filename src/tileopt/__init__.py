"""tileopt: a compiler for GPU kernels with a tile track and a SIMT track."""

__version__ = "0.1.0"
