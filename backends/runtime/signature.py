"""From arguments to the facts that code is specialised on: `ArraySpec` and `ScalarSpec` of `dialects/contracts.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tileopt.backends.runtime.arrays import ArrayInfo, byte_range, contiguous_strides, itemsize
from tileopt.backends.runtime.constants import check_constant
from tileopt.backends.runtime.errors import launch_error
from tileopt.dialects.contracts import HINTS, ArraySpec, ConstSpec, Parameter, ParamKind, ScalarSpec, Spec
from tileopt.dialects.diagnostics import shown
from tileopt.dialects.tensor_map import FARTHEST

# The greatest power of two up to 16 that divides a number, by its low four bits.
DIVISOR = (16, 1, 2, 1, 4, 1, 2, 1, 8, 1, 2, 1, 4, 1, 2, 1)
_SMALL = 1 << 31
_MOST = (1 << 63) - 1
_FARTHEST = 1 << 40  # bytes of a stride in a tensor map (cuTensorMapEncodeTiled)


def launch_strides(info: ArrayInfo) -> tuple[tuple[int, ...], int | None]:
    """The strides that the kernel is given, and the axis that is known to have stride 1.

    Where an axis has one element, or the array none, its stride addresses nothing and may be anything: the kernel gets
    0 (or 1 on the unit axis), so that such arrays share code with the others and every promise about strides holds.
    """
    if info.empty:
        return contiguous_strides(info.shape), len(info.shape) - 1
    strides = tuple(s if n > 1 else 0 for s, n in zip(info.strides, info.shape, strict=True))
    rank = len(strides)
    for axis in range(rank - 1, -1, -1):
        if strides[axis] == 1:
            return strides, axis
    for axis in range(rank - 1, -1, -1):
        if info.shape[axis] == 1:
            return (*strides[:axis], 1, *strides[axis + 1 :]), axis
    return strides, None


def array_spec(info: ArrayInfo) -> ArraySpec:
    """What holds of this array and of all that share its code."""
    strides, unit = launch_strides(info)
    low, high = byte_range(info)
    return ArraySpec(
        info.dtype,
        len(info.shape),
        DIVISOR[info.pointer & 15],
        unit,
        tuple(DIVISOR[n & 15] for n in info.shape),
        tuple(DIVISOR[s & 15] for s in strides),
        # A broadcast axis is long and reaches nowhere.
        -_SMALL < low and high < _SMALL and all(n < _SMALL for n in info.shape),
        all(
            n < FARTHEST and (n < 2 or 0 < s * info.itemsize < _FARTHEST)
            for n, s in zip(info.shape, strides, strict=True)
        ),
    )


# ---- signatures as text, for compiling without arrays ----

_EXTENT = re.compile(r"(?:\?|[A-Za-z_]\w*)(?::(\d+))?\Z|\d+\Z")
_ARRAY = re.compile(r"\s*(\w+)\s*\[([^\]]*)\]\s*\Z")


def spec_of(parameter: Parameter, given: object) -> Spec:
    """A spec as the user of `compile` writes it: a Spec, `"f32[?, 128]"`, `"i64"`, or a constant's value.

    The text of an array promises what a fresh allocation keeps: row-major order and a 16-byte address. `?` is an extent
    of which nothing is known, `?:16` one that 16 divides, a number one whose divisor is known; a name stands for the
    same extent wherever it is given (see `equal_extents`), and `n:16` says that 16 divides it.
    """
    if isinstance(given, ArraySpec | ScalarSpec | ConstSpec):
        spec: Spec = given
    elif parameter.kind is ParamKind.CONST:
        spec = ConstSpec(given)
    elif isinstance(given, str):
        spec = _parse(parameter, given)
    else:
        raise launch_error(
            "signature",
            f"'{parameter.name}' is given as {shown(given)}, which is no type",
            help='write an array as "f32[?, 128]" and a scalar as "i64"',
        )
    _check(parameter, spec)
    return spec


def _parse(parameter: Parameter, text: str) -> Spec:
    match = _ARRAY.match(text)
    name = match.group(1) if match else text.strip()
    given = f"'{parameter.name}' is given as \"{text if len(text) <= 80 else text[:60] + '...'}\""
    if (text.count("[") != 1 or text.count("]") != 1) and set(text) & set("[]"):
        missing = "]" if text.count("[") > text.count("]") else "["
        what = f"a '{missing}' is missing" if text.count("[") != text.count("]") else "it has several pairs of brackets"
        raise launch_error("signature", f"{given}: {what}", help='write an array as "f32[?, 128]"')
    try:
        itemsize(name)
    except KeyError:
        raise launch_error("signature", f"{given}: there is no element type '{name}'") from None
    if match is None:
        return ScalarSpec(name)
    words = [w.strip() for w in match.group(2).split(",")] if match.group(2).strip() else []
    extents: list[int | None] = []
    factors: list[int] = []
    for word in words:
        match = _EXTENT.match(word)
        if match is None:
            raise launch_error(
                "signature",
                f"{given}: an extent is a number, ?, ?:16, or a name such as n or n:16, not '{word}'",
            )
        digits = word.rpartition(":")[2]
        if digits.isdigit() and (len(digits) > 19 or int(digits) > _MOST):
            raise launch_error("signature", f"{given}: an extent is at most 2^63 - 1, which {_short(digits)} is not")
        if match.group(1) and not int(match.group(1)):
            raise launch_error(
                "signature", f"{given}: 0 divides no extent", help="write ?, or ?:16 where 16 divides it"
            )
        extents.append(int(word) if word.isdigit() else None)
        factors.append(int(match.group(1) or (word if word.isdigit() else 1)))
    known = tuple(DIVISOR[n & 15] for n in factors)
    strides, divisor = [], 1
    total: int | None = 1
    for extent, known_divisor in zip(reversed(extents), reversed(known), strict=True):
        strides.append(divisor)
        divisor = min(16, divisor * known_divisor)
        total = None if total is None or extent is None else total * extent
    if total is not None and total * itemsize(name) > _MOST:
        raise launch_error("signature", f"{given}: no array has so many bytes, 2^63 or more")
    small = total is not None and total * itemsize(name) < _SMALL
    unit = len(extents) - 1 if extents else None
    regular = all(extent is None or extent < FARTHEST for extent in extents)
    return ArraySpec(name, len(extents), 16, unit, known, tuple(reversed(strides)), small, regular)


def equal_extents(given: Mapping[str, object]) -> tuple[str, ...]:
    """The relations between extents to which `given` (see `spec_of`) gives one name: `"len(b) == a.shape[1]"`."""
    first: dict[str, str] = {}
    found: list[str] = []
    for parameter, text in given.items():
        match = _ARRAY.match(text) if isinstance(text, str) else None
        for axis, word in enumerate(match.group(2).split(",") if match else ()):
            name = word.strip().partition(":")[0]
            if name.isidentifier():
                extent = f"{parameter}.shape[{axis}]" if axis else f"len({parameter})"
                if first.setdefault(name, extent) != extent:
                    found.append(f"{extent} == {first[name]}")
    return tuple(found)


def _short(digits: str) -> str:
    return digits if len(digits) <= 40 else f"a number of {len(digits)} digits"


def _check(parameter: Parameter, spec: Spec) -> None:
    wanted = (
        "an array" if parameter.kind.is_array else "a constant" if parameter.kind is ParamKind.CONST else "a scalar"
    )
    got = "an array" if isinstance(spec, ArraySpec) else "a constant" if isinstance(spec, ConstSpec) else "a scalar"
    if wanted != got:
        raise launch_error("signature", f"'{parameter.name}' is {wanted}, and {got} is given")
    if isinstance(spec, ConstSpec):
        check_constant(parameter, spec.value, "signature")
        return
    if parameter.dtype is not None and spec.dtype != parameter.dtype:
        raise launch_error("signature", f"'{parameter.name}' is declared {parameter.dtype}, and {spec.dtype} is given")
    if isinstance(spec, ArraySpec) and parameter.rank is not None and spec.rank != parameter.rank:
        raise launch_error(
            "signature", f"'{parameter.name}' is declared with rank {parameter.rank}, and rank {spec.rank} is given"
        )


def signature_of(parameters: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, Spec]:
    """A whole signature in the order of the parameters; defaults fill constants that are left out."""
    from tileopt.dialects.contracts import Missing

    known = {p.name for p in parameters}
    for name in given:
        if name not in known:
            help = f"its parameters: {', '.join(known)}"
            if name in HINTS:
                help = f"'{name}' is a hint: give it where the kernel is made, or compile kernel.with_hints({name}=...)"
            raise launch_error("signature", f"the kernel has no parameter '{name}'", help=help)
    result: dict[str, Spec] = {}
    for parameter in parameters:
        if parameter.name in given:
            result[parameter.name] = spec_of(parameter, given[parameter.name])
        elif parameter.kind is ParamKind.CONST and parameter.default is not Missing:
            result[parameter.name] = ConstSpec(parameter.default)
        elif parameter.kind is ParamKind.SCALAR and parameter.dtype is not None:
            result[parameter.name] = ScalarSpec(parameter.dtype)
        else:
            raise launch_error(
                "signature",
                f"'{parameter.name}' is not given",
                help=f'name its type, as in compile(target, {parameter.name}="f32[?]")',
            )
    return result
