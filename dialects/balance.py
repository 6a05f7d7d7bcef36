"""Which elements of an `exp2` are computed as polynomials: what `balance-units` writes on the op and backends read."""

from __future__ import annotations

EXP2_EIGHTHS = "tile.exp2_eighths"  # of each eight pairs of a thread's registers; on a kernel: the author's choice
EXP2_DEGREE = "tile.exp2_degree"  # of the polynomial
EXACT_DEGREE = 5  # within 2**-22, as the hardware's ex2.approx.ftz.f32 is
COARSE_DEGREE = 3  # within 2**-13: for what is rounded to 16 bits afterwards
