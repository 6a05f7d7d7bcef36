"""The polynomials for exp2: how near they are, that none is nearer by much, and what they make of special numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tileopt.backends.llvm.polynomial import COEFFICIENTS, LEAST, MOST, is_polynomial

BOUNDS = {3: 2.0**-13.5, 5: 2.0**-22.5}
DEGREES = sorted(COEFFICIENTS)


def exp2(x: np.ndarray, degree: int) -> np.ndarray:
    """What the code computes, in f32; a fused multiply-add rounds once, which f64 does for it but in rare ties."""
    inside = np.minimum(np.maximum(x.astype(np.float32), np.float32(LEAST)), np.float32(MOST))
    floor = np.floor(inside)
    rest = (inside - floor).astype(np.float32)
    *lower, last = COEFFICIENTS[degree]
    result = np.full_like(rest, np.float32(last))
    for coefficient in reversed(lower):
        result = (result.astype(np.float64) * rest + np.float64(np.float32(coefficient))).astype(np.float32)
    bits = (np.where(np.isnan(floor), 0, floor).astype(np.int64) + 127) << 23
    return np.asarray(result * bits.astype(np.uint32).view(np.float32))


def error(x: np.ndarray, degree: int) -> float:
    return float(np.max(np.abs(exp2(x, degree) / np.exp2(x.astype(np.float64)) - 1)))


@pytest.mark.parametrize("degree", DEGREES)
def test_every_rest(degree: int) -> None:
    """All f32 from 1/2 to 1, whose polynomial takes the most roundings, and all of some of the binades below."""
    for low in (0.5, 0.25, 2.0**-6):
        start = int(np.float32(low).view(np.uint32))
        for part in range(start, start + (1 << 23), 1 << 21):
            r = np.arange(part, part + (1 << 21), dtype=np.uint32).view(np.float32)
            assert error(r, degree) < BOUNDS[degree]


@pytest.mark.parametrize("degree", DEGREES)
def test_random_numbers(degree: int) -> None:
    rng = np.random.default_rng()
    x = np.concatenate([rng.uniform(-126, 128, 100_000), rng.standard_normal(100_000), rng.uniform(-1e-6, 1e-6, 1000)])
    assert error(x.astype(np.float32).clip(-126, np.nextafter(np.float32(128), np.float32(0))), degree) < BOUNDS[degree]


@pytest.mark.parametrize("degree", DEGREES)
def test_no_other_is_nearer_by_much(degree: int) -> None:
    """de la Vallee Poussin: where the error changes sign from extreme to extreme, often enough, no polynomial of the
    degree does better than the least of the extremes. (They would be equal but for the rounded coefficients.)"""
    r = np.linspace(0, 1, 200_001)
    found = np.polynomial.polynomial.polyval(r, COEFFICIENTS[degree]) * np.exp2(-r) - 1
    changes = np.flatnonzero(np.diff(np.sign(found[1:]))) + 1
    extremes = [np.max(np.abs(part)) for part in np.split(found[1:], changes)]
    assert len(extremes) == degree + 1
    assert min(extremes) > 0.75 * max(extremes)


@pytest.mark.parametrize("degree", DEGREES)
def test_special_numbers(degree: int) -> None:
    whole = np.arange(-126, 128, dtype=np.float32)
    np.testing.assert_array_equal(exp2(whole, degree), np.ldexp(np.float32(1), np.arange(-126, 128)))
    least = np.nextafter(np.float32(-126), np.float32(-np.inf))
    np.testing.assert_array_equal(exp2(np.array([-np.inf, -1e38, -150, -127, -126.5, least], np.float32), degree), 0)
    np.testing.assert_array_equal(exp2(np.array([np.inf, 1e38, 128, 200], np.float32), degree), np.inf)
    assert np.isnan(exp2(np.array([np.nan], np.float32), degree)).all()
    assert np.isfinite(exp2(np.array([np.nextafter(np.float32(128), np.float32(0))], np.float32), degree)).all()


@pytest.mark.parametrize("eighths", range(9))
def test_pairs_are_spread(eighths: int) -> None:
    chosen = [is_polynomial(register, eighths) for register in range(64)]
    assert chosen[::2] == chosen[1::2]
    pairs = chosen[::2]
    for start in range(len(pairs) - 8):
        assert sum(pairs[start : start + 8]) == eighths
