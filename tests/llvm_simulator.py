"""Runs the LLVM IR text of a GPU kernel on NumPy arrays, all threads of a block in lockstep.

An independent reading of what the NVIDIA backend writes: addresses, masks, words, inline PTX. Branches must be the same
for all threads. Every access is checked: it lies in one array, is aligned to its size, and does not race in shared
memory (two threads that touch a byte, one of them writing, have a barrier between them; what `cp.async` brings is not
touched before its thread has waited for it). `ldmatrix`, `mma.sync`, `shfl` and `cp.async` do what the PTX ISA manual
says, with its formulas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from mma_fragments import SCALED_COLUMN, SCALED_ROW, formulas

Array = np.ndarray[Any, Any]

DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64, "half": np.float16,
    "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64,
}  # fmt: skip
PTX_TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "s8": np.int8, "s32": np.int32,
    "tf32": np.float32, "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
REGION = 1 << 40  # arrays lie this far apart
SHARED = 1 << 60
NOBODY, SEVERAL = -1, -2


class Fault(Exception):
    """The kernel did what no kernel may do."""


def _split(text: str) -> list[str]:
    """Splits at commas outside brackets and quotes."""
    parts, depth, start, quoted = list[str](), 0, 0, False
    for at, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted and c in "([{<":
            depth += 1
        elif not quoted and c in ")]}>":
            depth -= 1
        elif c == "," and not depth and not quoted:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


@dataclass
class Block:
    """One block of threads: registers, shared memory, copies under way."""

    threads: int
    index: tuple[int, int, int]
    grid: tuple[int, int, int]
    memory: dict[int, Array]
    values: dict[str, Any] = field(default_factory=dict)
    open_copies: list[Callable[[], None]] = field(default_factory=list)
    groups: list[list[Callable[[], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = self.memory[SHARED].size if SHARED in self.memory else 0
        self.writer = np.full(size, NOBODY, np.int64)  # who wrote and read a byte since the last barrier
        self.reader = np.full(size, NOBODY, np.int64)
        self.in_flight = np.zeros(size, np.bool_)

    def barrier(self) -> None:
        self.writer[:] = self.reader[:] = NOBODY

    def touch(self, data: Array, places: Array, active: Array, write: bool) -> None:
        """Notes who touches which bytes (active threads x bytes) of shared memory; raises Fault on a race."""
        if data is not self.memory.get(SHARED):
            return
        threads = np.broadcast_to(np.flatnonzero(active)[:, None], places.shape)
        other = (self.writer[places] != NOBODY) & (self.writer[places] != threads)
        if write:
            other |= (self.reader[places] != NOBODY) & (self.reader[places] != threads)
        if other.any() or self.in_flight[places].any():
            raise Fault(f"a race in shared memory at byte {int(places[other | self.in_flight[places]].min())}")
        if write:
            self.writer[places] = threads
        else:
            fresh = self.reader[places] == NOBODY
            self.reader[places] = np.where(fresh | (self.reader[places] == threads), threads, SEVERAL)
            # Threads that read one byte at once are several, too.
            flat, counts = np.unique(places, return_counts=True)
            self.reader[flat[counts > 1]] = SEVERAL

    # --- operands ------------------------------------------------------------------------------------------------

    def value(self, type_: str, text: str) -> Any:
        type_ = _type(type_)
        if text.startswith("%"):
            return self.values[text]
        if text == "@__tileopt_shared":
            return np.full(self.threads, SHARED, np.uint64)
        if (found := re.fullmatch(r"<(\d+) x (\w+)>", type_)) is not None:
            if (same := re.fullmatch(r"splat \(\w+ (.*)\)", text)) is not None:
                return [self.value(found[2], same[1])] * int(found[1])
            return [np.zeros(self.threads, DTYPES[found[2]]) for _ in range(int(found[1]))]  # poison
        dtype = DTYPES[type_]
        if text in ("true", "false", "poison"):
            return np.full(self.threads, text == "true", dtype)
        if text.startswith("0x"):
            return np.full(self.threads, _float(text, type_), dtype)
        if type_ in ("half", "bfloat", "float", "double"):
            return np.full(self.threads, float(text), dtype)
        return np.full(self.threads, int(text) % (1 << (8 * np.dtype(dtype).itemsize)), dtype)

    # --- memory ----------------------------------------------------------------------------------------------------

    def locate(self, addresses: Array, size: int, active: Array, align: int = 0) -> tuple[Array, Array]:
        """(bytes of the array, offsets of the active threads). `align`: of the access, by default its size."""
        chosen = addresses[active].astype(np.uint64)
        if (chosen % (align or size)).any():
            raise Fault(f"an access of {size} bytes at {int(chosen[0]):#x} is not aligned")
        bases = {int(a) // REGION * REGION for a in chosen}
        if len(bases) != 1 or (base := bases.pop()) not in self.memory:
            raise Fault(f"an access outside every array: {[hex(int(a)) for a in chosen[:4]]}")
        offsets = (chosen - np.uint64(base)).astype(np.int64)
        data = self.memory[base]
        if (offsets + size > data.size).any():
            raise Fault(f"an access of {size} bytes at offset {int(offsets.max())} of an array of {data.size}")
        return data, offsets

    def read(self, addresses: Array, size: int, active: Array, align: int = 0) -> Array:
        """Bytes (threads x size); those of inactive threads are zero."""
        out = np.zeros((self.threads, size), np.uint8)
        if active.any():
            data, offsets = self.locate(addresses, size, active, align)
            places = offsets[:, None] + np.arange(size)
            self.touch(data, places, active, False)
            out[active] = data[places]
        return out

    def write(self, addresses: Array, values: Array, active: Array) -> None:
        if active.any():
            data, offsets = self.locate(addresses, values.shape[1], active)
            if len(np.unique(offsets)) < len(offsets):
                raise Fault("two threads write to one place")
            places = offsets[:, None] + np.arange(values.shape[1])
            self.touch(data, places, active, True)
            data[places] = values[active]


def _float(text: str, type_: str) -> Any:
    if text.startswith(("0xH", "0xR")):
        return np.uint16(int(text[3:], 16)).view(DTYPES[type_])
    return np.uint64(int(text, 16)).view(np.float64)


def _type(text: str) -> str:
    return "i64" if text.startswith("ptr") else text


def _bytes(value: Any) -> Array:
    """Bytes (threads x size) of a value or a vector."""
    parts = value if isinstance(value, list) else [value]
    return np.concatenate([np.ascontiguousarray(p).view(np.uint8).reshape(len(p), -1) for p in parts], axis=1)


def _from_bytes(data: Array, type_: str) -> Any:
    found = re.fullmatch(r"<(\d+) x (\w+)>", type_)
    count, element = (int(found[1]), found[2]) if found else (1, type_)
    size = np.dtype(DTYPES[_type(element)]).itemsize
    parts = [
        np.ascontiguousarray(data[:, i * size : (i + 1) * size]).view(DTYPES[_type(element)])[:, 0]
        for i in range(count)
    ]
    return parts if found else parts[0]


def _signed(value: Array) -> Array:
    return value.view(np.dtype(f"i{value.dtype.itemsize}"))


def _sdiv(a: Array, b: Array) -> Array:
    x, y = _signed(a).astype(object), _signed(b).astype(object)
    pairs = zip(x, y, strict=True)
    quotient = np.array([abs(p) // abs(q) * (-1 if (p < 0) != (q < 0) else 1) for p, q in pairs])
    return quotient.astype(_signed(a).dtype).view(a.dtype)


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << b, "lshr": lambda a, b: a >> b,
    "ashr": lambda a, b: (_signed(a) >> _signed(b)).view(a.dtype), "udiv": lambda a, b: a // b,
    "urem": lambda a, b: a % b, "sdiv": _sdiv,
    "srem": lambda a, b: a - _sdiv(a, b) * b, "fadd": lambda a, b: a + b, "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b, "fdiv": lambda a, b: a / b,
}  # fmt: skip
_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ult": lambda a, b: a < b, "ule": lambda a, b: a <= b,
    "ugt": lambda a, b: a > b, "uge": lambda a, b: a >= b, "slt": lambda a, b: _signed(a) < _signed(b),
    "sle": lambda a, b: _signed(a) <= _signed(b), "sgt": lambda a, b: _signed(a) > _signed(b),
    "sge": lambda a, b: _signed(a) >= _signed(b), "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "one": lambda a, b: (a < b) | (a > b),
}  # fmt: skip
_WORDS = {"nuw", "nsw", "nneg", "exact", "disjoint", "contract", "afn", "arcp", "inbounds"}


class Kernel:
    """A kernel's text, ready to run."""

    def __init__(self, text: str) -> None:
        head = re.search(r"^define ptx_kernel void @(\w+)\((.*)\) nounwind.*\{$", text, re.M)
        assert head is not None
        self.parameters = [p.split()[-1] for p in _split(head[2])]
        self.types = [p.split()[0] for p in _split(head[2])]
        body = text[head.end() : text.index("\n}", head.end())].strip("\n").split("\n")
        self.blocks: dict[str, list[str]] = {}
        for line in body:
            if not line.startswith(" "):
                current = self.blocks.setdefault(line.rstrip(":"), [])
            else:
                current.append(line.strip())
        self.count: dict[str, int] = {}
        # Helpers without control flow: (parameters, lines).
        self.helpers: dict[str, tuple[list[str], list[str]]] = {}
        for found in re.finditer(r"^define internal \S.*? @([\w.]+)\((.*?)\).*\{\n((?:.*\n)*?)\}", text, re.M):
            names = [p.split()[-1] for p in _split(found[2])]
            self.helpers[found[1]] = names, [line.strip() for line in found[3].splitlines() if line.startswith(" ")]

    def run(self, arguments: Sequence[Any], grid: Sequence[int], threads: int, shared: int = 0) -> None:
        """`arguments` as the ABI has them after expansion: an array where it wants a pointer to element 0, numbers.

        An array is (its memory, byte offset of element 0), or a contiguous array.
        """
        memory: dict[int, Array] = {}
        expanded: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray | tuple):
                data, offset = argument if isinstance(argument, tuple) else (argument, 0)
                memory[(len(memory) + 1) * REGION] = data.reshape(-1).view(np.uint8)
                expanded.append(len(memory) * REGION + offset)
            else:
                expanded.append(argument)
        extents = (*grid, 1, 1)[:3]
        for z, y, x in np.ndindex(extents[::-1]):
            memory[SHARED] = np.full(shared, 0xA5, np.uint8)
            block = Block(threads, (int(x), int(y), int(z)), extents, memory)
            for name, type_, value in zip(self.parameters, self.types, expanded, strict=True):
                dtype = DTYPES[_type(type_)]
                wrapped = value % (1 << 64) if dtype is np.uint64 else value
                block.values[name] = np.full(threads, wrapped, dtype)
            self._run_block(block)

    def _run_block(self, block: Block) -> None:
        label, before = "entry", ""
        with np.errstate(all="ignore"):
            while label:
                label, before = self._run_label(block, label, before), label

    def _run_label(self, block: Block, label: str, before: str) -> str:
        phis: dict[str, Any] = {}
        for line in self.blocks[label]:
            name, _, text = line.partition(" = ") if line.startswith("%") else ("", "", line)
            if text.startswith("phi "):
                type_, rest = _typed(text[4:])
                for pair in re.findall(r"\[ (\S+), %(\S+) \]", rest):
                    if pair[1] == before:
                        phis[name] = block.value(type_, pair[0])
                continue
            block.values.update(phis)
            phis = {}
            if text == "ret void":
                return ""
            if (found := re.fullmatch(r"br label %(\S+)", text)) is not None:
                return found[1]
            if (found := re.fullmatch(r"br i1 (\S+), label %(\S+), label %(\S+)", text)) is not None:
                condition = block.value("i1", found[1])
                if condition.any() != condition.all():
                    raise Fault(f"threads part at '{line}'")
                return found[2] if condition[0] else found[3]
            result = self._execute(block, text)
            if name:
                block.values[name] = result
        raise Fault(f"block {label} does not end")

    def _execute(self, block: Block, text: str) -> Any:
        word, _, rest = text.partition(" ")
        while rest.split(" ", 1)[0] in _WORDS:
            rest = rest.split(" ", 1)[1]
        if word in ("tail",):
            return self._execute(block, rest)
        if word in _BINARY:
            type_, operands = _typed(rest)
            a, b = (block.value(type_, o) for o in _split(operands))
            return _BINARY[word](a, b).astype(a.dtype)
        if word == "fneg":
            return -block.value(*_typed(rest))
        if word in ("icmp", "fcmp"):
            predicate, _, rest = rest.partition(" ")
            type_, operands = _typed(rest)
            a, b = (block.value(type_, o) for o in _split(operands))
            return _COMPARE[predicate](a, b)
        if word == "select":
            condition, a, b = (block.value(*_typed(o)) for o in _split(rest))
            return np.where(condition, a, b).astype(a.dtype)
        if word in ("zext", "sext", "trunc", "bitcast", "ptrtoint", "fpext", "fptrunc"):
            source, to = rest.split(" to ")
            return _cast(word, block.value(*_typed(source)), to)
        if word == "getelementptr":
            element, pointer, index = _split(rest)
            base, (type_, at) = block.value(*_typed(pointer)), _typed(index)
            size = np.dtype(DTYPES[element]).itemsize
            steps = _signed(block.value(type_, at)).astype(np.int64)
            return base + (steps * size).view(np.uint64)
        if word == "load":
            type_, pointer, *_ = _split(rest)
            align = re.search(r"align (\d+)", rest)
            assert align is not None
            everyone = np.ones(block.threads, np.bool_)
            self._note("load", type_)
            data = block.read(block.value(*_typed(pointer)), _size(type_), everyone, int(align[1]))
            return _from_bytes(data, type_)
        if word == "store":
            value, pointer, *_ = _split(rest)
            data = _bytes(block.value(*_typed(value)))
            self._note("store", _typed(value)[0])
            block.write(block.value(*_typed(pointer)), data, np.ones(block.threads, np.bool_))
            return None
        if word == "insertelement":
            vector, value, index = (_typed(o) for o in _split(rest))
            out = list(block.value(*vector))
            out[int(index[1])] = block.value(*value)
            return out
        if word == "extractelement":
            vector, index = (_typed(o) for o in _split(rest))
            return block.value(*vector)[int(index[1])]
        if word == "extractvalue":
            aggregate, index = rest.rsplit(", ", 1)
            return block.values[aggregate.rsplit(" ", 1)[1]][int(index)]
        if word == "call":
            return _call(self, block, rest)
        raise NotImplementedError(text)

    def _note(self, what: str, detail: str) -> None:
        """Counts instructions of a kind, for tests that ask how wide accesses are."""
        self.count[f"{what} {detail}"] = self.count.get(f"{what} {detail}", 0) + 1


def _size(type_: str) -> int:
    found = re.fullmatch(r"<(\d+) x (\w+)>", type_)
    count, element = (int(found[1]), found[2]) if found else (1, type_)
    return count * np.dtype(DTYPES[element]).itemsize


def _typed(text: str) -> tuple[str, str]:
    """(type, the rest) of `type rest`."""
    text = text.strip()
    if text[0] in "<{":
        close = {"<": ">", "{": "}"}[text[0]]
        at = text.index(close) + 1
        return text[:at], text[at:].strip()
    if text.startswith("ptr addrspace"):
        at = text.index(")") + 1
        return "ptr", text[at:].strip()
    first, _, rest = text.partition(" ")
    return first, rest.strip()


def _cast(word: str, value: Any, to: str) -> Any:
    if word == "bitcast":
        return _from_bytes(_bytes(value), to)
    if word == "ptrtoint":
        return value.astype(np.uint32) if to == "i32" else value
    if isinstance(value, list):
        element = to.rstrip(">").rsplit(" ", 1)[1]
        return [_cast(word, part, element) for part in value]
    dtype = DTYPES[to]
    if word == "sext":
        return _signed(value).astype(np.dtype(f"i{np.dtype(dtype).itemsize}")).view(dtype)
    return value.astype(dtype)


def _call(kernel: Kernel, block: Block, rest: str) -> Any:
    if " asm " in rest:
        return _asm(kernel, block, rest)
    found = re.search(r"@([\w.]+)\((.*)\)", rest)
    assert found is not None
    name, arguments = found[1], [block.value(*_typed(a)) for a in _split(found[2])]
    if name in kernel.helpers:
        return _helper(kernel, block, name, arguments)
    if (axis := re.fullmatch(r"llvm\.nvvm\.read\.ptx\.sreg\.(tid|ctaid|nctaid)\.([xyz])", name)) is not None:
        at = "xyz".index(axis[2])
        if axis[1] == "tid":
            return np.arange(block.threads, dtype=np.uint32)
        return np.full(block.threads, (block.index if axis[1] == "ctaid" else block.grid)[at], np.uint32)
    if name.startswith("llvm.nvvm.barrier"):
        block.barrier()
        return None
    if name.startswith("llvm.nvvm.shfl.sync.bfly"):
        return arguments[1][np.arange(block.threads) ^ arguments[2].astype(np.int64)]
    if name.startswith("llvm.nvvm."):
        return _nvvm(name.removeprefix("llvm.nvvm."), arguments)
    kind = name.split(".")[1]
    if kind in ("smin", "smax"):
        choose = np.minimum if kind == "smin" else np.maximum
        return choose(_signed(arguments[0]), _signed(arguments[1])).view(arguments[0].dtype)
    if kind in ("umin", "umax"):
        return (np.minimum if kind == "umin" else np.maximum)(*arguments)
    if kind in ("maximum", "minimum"):  # NaN where one is
        return (np.maximum if kind == "maximum" else np.minimum)(*arguments)
    if kind == "fma" and isinstance(arguments[0], list):
        return [_fused(*lanes) for lanes in zip(*arguments, strict=True)]
    if kind == "fma":
        return _fused(*arguments)
    raise NotImplementedError(name)


def _fused(*arguments: Any) -> Any:
    wide = [a.astype(np.float64) for a in arguments]
    return (wide[0] * wide[1] + wide[2]).astype(arguments[0].dtype)


def _nvvm(name: str, arguments: list[Any]) -> Any:
    """What functions of libdevice use; approximate ones are exact here."""
    wide = [a.astype(np.float64) for a in arguments]
    if name.startswith("saturate"):
        return np.clip(np.nan_to_num(arguments[0]), 0, 1).astype(np.float32)
    if name.startswith("ex2.approx"):
        return np.exp2(wide[0]).astype(np.float32)
    if name.startswith("fma.rm"):  # rounds down
        exact = wide[0] * wide[1] + wide[2]
        near = exact.astype(np.float32)
        return np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
    if name in ("ff2f16x2.rn", "ff2bf16x2.rn"):  # the second operand is the low half
        return [value.astype(DTYPES["half" if name == "ff2f16x2.rn" else "bfloat"]) for value in reversed(arguments)]
    raise NotImplementedError(name)


def _helper(kernel: Kernel, block: Block, name: str, arguments: list[Any]) -> Any:
    parameters, lines = kernel.helpers[name]
    inner = Block(block.threads, block.index, block.grid, {}, dict(zip(parameters, arguments, strict=True)))
    for line in lines:
        if line.startswith("ret "):
            return inner.value(*_typed(line[4:]))
        target, _, text = line.partition(" = ")
        inner.values[target] = kernel._execute(inner, text)
    raise NotImplementedError(name)


# --- inline PTX ------------------------------------------------------------------------------------------------------


def _asm(kernel: Kernel, block: Block, rest: str) -> Any:
    rest = re.sub(r"( convergent| nounwind| memory\(none\))+$", "", rest)
    found = re.fullmatch(r'(.*?) asm (?:sideeffect )?"(.*?)", "(.*?)"\((.*)\)', rest)
    assert found is not None, rest
    type_, text, constraints, operands = found[1], found[2], found[3].split(","), _split(found[4])
    outputs = sum(c.startswith("=") for c in constraints)
    inputs = [c for c in constraints if not c.startswith("=") and not c.startswith("~")]
    names: dict[str, Any] = {}
    initial: dict[int, Any] = {}
    for number, (constraint, operand) in enumerate(zip(inputs, operands, strict=True)):
        value = block.value(*_typed(operand))
        if constraint.isdigit():
            initial[int(constraint)] = value
        else:
            names[f"${outputs + number}"] = value
    types = _split(type_[1:-1]) if type_.startswith("{") else [type_] * (type_ != "void")
    active = np.ones(block.threads, np.bool_)
    if (guard := re.match(r"@(\$\d+) (.*)", text)) is not None:
        active, text = names[guard[1]], guard[2]
    instruction, _, arguments = text.rstrip(";").partition(" ")
    parts = _split(arguments)
    kernel._note(instruction, "")
    root = instruction.split(".")[0]
    if root in ("ld", "st"):
        results = _access(block, instruction, parts, names, active)
    elif root == "red":
        results = _added(block, instruction, parts, names, active)
    elif root == "cp":
        results = _copy(block, instruction, parts, names, active)
    elif root == "ldmatrix":
        results = _ldmatrix(block, instruction, parts, names)
    elif root in ("ex2", "lg2", "sqrt", "rsqrt") and "approx" in instruction:
        x = names[parts[1]].astype(np.float64)
        exact = {"ex2": np.exp2, "lg2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v)}[root](x)
        results = [_bytes(exact.astype(np.float32))]
    elif root == "prmt":
        results = [_permuted(*(names[part] for part in parts[1:]))]
    elif root == "cvt":
        results = _convert(instruction, parts, names)
    elif root == "mma":
        results = _mma(block, instruction, parts, names)
    else:
        raise NotImplementedError(text)
    out: list[Any] = []
    for number, kind in enumerate(types):
        value = _from_bytes(_widen(results[number], _size(kind)), kind)
        out.append(np.where(active, value, initial[number]).astype(value.dtype) if number in initial else value)
    return out if type_.startswith("{") else out[0] if out else None


def _widen(data: Array, size: int) -> Array:
    return np.pad(data, ((0, 0), (0, size - data.shape[1])))


def _address(text: str, names: dict[str, Any], shared: bool) -> Array:
    found = re.fullmatch(r"\[(\$\d+)\+(\d+)\]", text)
    assert found is not None, text
    base: Array = names[found[1]].astype(np.uint64) + np.uint64(int(found[2]))
    return base + np.uint64(SHARED) if shared else base


def _list(text: str) -> list[str]:
    return _split(text.strip("{}"))


def _access(block: Block, instruction: str, parts: list[str], names: dict[str, Any], active: Array) -> list[Array]:
    words = instruction.split(".")
    size = int(words[-1][1:]) // 8
    shared = words[1] == "shared"
    if words[0] == "ld":
        count = len(_list(parts[0]))
        data = block.read(_address(parts[1], names, shared), size * count, active)
        return [data[:, i * size : (i + 1) * size] for i in range(count)]
    data = np.concatenate([_bytes(names[v])[:, :size] for v in _list(parts[1])], axis=1)
    block.write(_address(parts[0], names, shared), data, active)
    return []


def _added(block: Block, instruction: str, parts: list[str], names: dict[str, Any], active: Array) -> list[Array]:
    """`red...add...f32`, of threads that each have elements of their own."""
    assert ".add." in instruction and instruction.endswith(".f32"), instruction
    address, values = _address(parts[0], names, False), [names[v] for v in _list(parts[1])]
    found = address[active]
    assert len(set(found)) == len(found)
    before = block.read(address, 4 * len(values), active)
    sums = [before[:, 4 * i : 4 * i + 4].copy().view(np.float32)[:, 0] + v for i, v in enumerate(values)]
    block.write(address, np.concatenate([_bytes(s.astype(np.float32)) for s in sums], axis=1), active)
    return []


def _copy(block: Block, instruction: str, parts: list[str], names: dict[str, Any], active: Array) -> list[Array]:
    if instruction.endswith("commit_group"):
        block.groups.append(block.open_copies)
        block.open_copies = []
        return []
    if instruction.endswith("wait_group"):
        keep = len(block.groups) - int(parts[0])
        for group in block.groups[: max(0, keep)]:
            for copy in group:
                copy()
        block.groups = block.groups[max(0, keep) :]
        return []
    to, source, size = _address(parts[0], names, True), _address(parts[1], names, False), int(parts[2])
    if instruction.split(".")[2] == "cg" and size != 16:
        raise Fault("cp.async.cg copies 16 bytes")
    inside = active & (names[parts[3]] == size) if len(parts) > 3 else active
    data = block.read(source, size, inside)
    if active.any():
        shared, offsets = block.locate(to, size, active)
        places = offsets[:, None] + np.arange(size)
        block.touch(shared, places, active, True)  # from here on it may arrive at any time
        block.in_flight[places] = True

        def arrive() -> None:
            block.in_flight[places] = False
            block.write(to, data, active)

        block.open_copies.append(arrive)
    return []


def _ldmatrix(block: Block, instruction: str, parts: list[str], names: dict[str, Any]) -> list[Array]:
    count = int(instruction[instruction.index(".x") + 2])
    rows = block.read(_address(parts[1], names, True), 16, np.ones(block.threads, np.bool_))
    out = [np.zeros((block.threads, 4), np.uint8) for _ in range(count)]
    for thread in range(block.threads):
        first, lane = thread // 32 * 32, thread % 32
        for number in range(count):
            matrix = rows[first + 8 * number : first + 8 * number + 8].view(np.uint16)
            if ".trans" in instruction:
                matrix = matrix.T
            out[number][thread] = np.ascontiguousarray(matrix[lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2]).view(
                np.uint8
            )
    return out


def _permuted(low: Array, high: Array, selector: Array) -> Array:
    """`prmt.b32`: byte i is the one of the eight in `low` and `high` that nibble i of the selector names."""
    low, high, selector = (np.broadcast_to(np.asarray(x, np.uint32), np.shape(low)) for x in (low, high, selector))
    both = np.concatenate([_bytes(np.ascontiguousarray(low)), _bytes(np.ascontiguousarray(high))], axis=1)
    chosen = np.stack([selector >> np.uint32(4 * i) & np.uint32(7) for i in range(4)], axis=1)
    return np.take_along_axis(both, chosen.astype(np.int64), axis=1)


def _convert(instruction: str, parts: list[str], names: dict[str, Any]) -> list[Array]:
    """`cvt` from and to pairs of 8-bit floats: the first operand is the upper one; too large a value saturates."""
    words = instruction.split(".")
    if words[2] == "f16x2":
        pair = names[parts[1]].view(np.uint8).reshape(-1, 2).view(PTX_TYPES[words[3].removesuffix("x2")])
        return [pair.astype(np.float16).view(np.uint8)]
    dtype = PTX_TYPES[words[3].removesuffix("x2")]
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    pair = np.stack([names[parts[2]], names[parts[1]]], axis=1)
    out = np.clip(pair, -largest, largest).astype(dtype).view(np.uint8)
    return [np.where(np.isnan(pair), np.uint8(0x7F), out)]


SCALE_TYPES = {"ue8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn}


def _scaled_mma(block: Block, instruction: str, parts: list[str], names: dict[str, Any]) -> list[Array]:
    """With block scales: `d, a, b, c, {scale-a}, {byte, thread}, {scale-b}, {byte, thread}`."""
    pattern = r"mma\.sync\.aligned\.kind::\w+\.block_scale\.scale_vec::(\d)X\.m16n8k(\d+)\.row\.col\.f32\.(\w+)\.(\w+)"
    found = re.fullmatch(pattern + r"\.f32\.(\w+)", instruction)
    assert found is not None and parts[5] == parts[7] == "{0, 0}"
    blocks, k = int(found[1]), int(found[2])
    bits = 4 if k == 64 else 8
    held = formulas(16, 8, k, bits)

    def elements(text: str, kind: str) -> Array:
        data = np.concatenate([_bytes(names[w]) for w in _list(text)], axis=1)
        if bits == 4:
            data = np.stack([data & 15, data >> 4], 2).reshape(len(data), -1)
        type_ = ml_dtypes.float4_e2m1fn if kind == "e2m1" else PTX_TYPES[kind]
        return np.ascontiguousarray(data).view(type_).astype(np.float64)

    registers = {"a": elements(parts[1], found[3]), "b": elements(parts[2], found[4])}
    before = np.stack([names[w] for w in _list(parts[3])], 1)
    scales = [
        np.abs(_bytes(names[_list(parts[at])[0]]).view(SCALE_TYPES[found[5]]).astype(np.float64)) for at in (4, 6)
    ]
    out = np.zeros_like(before)
    for first in range(0, block.threads, 32):
        tiles = {"a": np.zeros((16, k)), "b": np.zeros((k, 8)), "acc": np.zeros((16, 8))}
        factors = [np.full((16, blocks), np.nan), np.full((8, blocks), np.nan)]
        for lane in range(32):
            group, place = lane >> 2, lane % 4
            for role, values in (*registers.items(), ("acc", before)):
                for i in range(values.shape[1]):
                    tiles[role][held[role](i, group, place)] = values[first + lane, i]
            for factor, where, given in zip(factors, (SCALED_ROW, SCALED_COLUMN), scales, strict=True):
                if (at := where(group, place)) is not None:
                    factor[at] = given[first + lane, :blocks]
        left, right = (np.repeat(f, k // blocks, 1) for f in factors)
        total = (tiles["acc"] + (tiles["a"] * left) @ (tiles["b"] * right.T)).astype(np.float32)
        for lane in range(32):
            for i in range(out.shape[1]):
                out[first + lane, i] = total[held["acc"](i, lane >> 2, lane % 4)]
    return [np.ascontiguousarray(out[:, i]).view(np.uint8).reshape(-1, 4) for i in range(out.shape[1])]


def _mma(block: Block, instruction: str, parts: list[str], names: dict[str, Any]) -> list[Array]:
    if ".block_scale." in instruction:
        return _scaled_mma(block, instruction, parts, names)
    found = re.fullmatch(r"mma\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.(\w+)", instruction)
    assert found is not None
    m, n, k = (int(x) for x in found.groups()[:3])
    operand, result = PTX_TYPES[found[5]], PTX_TYPES[found[4]]
    held = formulas(m, n, k, 8 * np.dtype(operand).itemsize)
    kinds = {"a": (parts[1], operand, (m, k)), "b": (parts[2], operand, (k, n)), "acc": (parts[3], result, (m, n))}
    registers = {
        role: np.ascontiguousarray(np.concatenate([_bytes(names[w]) for w in _list(text)], axis=1)).view(dtype)
        for role, (text, dtype, _) in kinds.items()
    }
    out = np.zeros_like(registers["acc"])
    wide = np.int64 if np.dtype(operand).kind == "i" else np.float64
    for first in range(0, block.threads, 32):
        tiles: dict[str, Array] = {}
        for role, (_, _, shape) in kinds.items():
            tiles[role] = np.zeros(shape, wide)
            for lane in range(32):
                for i in range(registers[role].shape[1]):
                    tiles[role][held[role](i, lane >> 2, lane % 4)] = registers[role][first + lane, i]
        total = (tiles["acc"] + tiles["a"] @ tiles["b"]).astype(result)
        for lane in range(32):
            for i in range(out.shape[1]):
                out[first + lane, i] = total[held["acc"](i, lane >> 2, lane % 4)]
    data = out.view(np.uint8)
    size = data.shape[1] // len(_list(parts[0]))
    return [data[:, i * size : (i + 1) * size] for i in range(len(_list(parts[0])))]
