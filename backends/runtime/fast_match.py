"""A launch like the last one, in native code: are the arguments what a plan was made for? If so they are written into
its argument buffer and, on a GPU, the kernel is launched.

`match(table, gx, gy, gz, stream, *arguments)` is a function that LLVM compiles once a process and that Python calls
without a wrapper (METH_FASTCALL). `table` is the address of 64-bit words that `fast_plan.py` lays out for one buffer:

    0 arguments   1 arrays   2 their rows   3 scalars   4 their rows   5 pairs   6 their rows   7 pointers of the arrays
    8 cuLaunchKernel, or 0   9 the kernel   10 threads of a block   11 shared bytes   12 the buffer's parameters

    array:  0 kind (1 NumPy, 2 DLPack's exchange, 3 ours)   1 position   2 type   3 rank   4 extents   5 strides
            6 slot   7 address modulo 16   8 descr, or the function that fills a DLTensor   9 writeable, or device
            10 DLPack's dtype   11 the name of a method that must say False, or 0
            ours: 8 the key   9 where the object has it   10 where it has its address, as an int
    scalar: 0 kind (1 int, 2 f32, 3 f64, 4 bool, 5 this object)   1 position   2 type, or the object   3 slot
            4 the power of two, up to 16, that divides it; 0 for any   5 least   6 greatest   7 bytes
    pair:   0, 1 arrays   2 low   3 high: they may share bytes where low < the distance of their pointers < high

It gives 1 where all of that holds (and the kernel was launched, if the table says so and gx is not 0), 0 where it does
not and nothing was launched, and 2 where the launch failed. NumPy's object head is read as `numpy_arrays.py` does, and
the fields of our own arrays as `device_array.py` finds them.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tileopt.backends.runtime.scalars import F32_LIMIT

ARRAY_WORDS, SCALAR_WORDS, PAIR_WORDS = 12, 8, 4
_METH_FASTCALL = 0x80
_NAMES = itertools.count()
_API = (
    "PyLong_AsVoidPtr", "PyLong_AsLongLong", "PyLong_AsLongLongAndOverflow", "PyLong_FromLong", "PyFloat_AsDouble",
    "PyErr_Clear", "PyObject_VectorcallMethod", "Py_DecRef",
)  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_KEPT: list[Any] = []  # what native code points at, for the process' life


@lru_cache(maxsize=1)
def match() -> Callable[..., int] | None:
    """The function, compiled when it is first asked for; None where Python's objects are not CPython's."""
    import platform

    if platform.python_implementation() != "CPython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if object.__basicsize__ != 16:  # a build without the interpreter's lock has another head
        return None
    from tileopt.backends.cpu import jit

    name = f"tileopt.match.{next(_NAMES)}"
    loaded = jit.load(_text(jit.entry_symbol(name)), name)
    definition = _MethodDef(b"match", loaded.address, _METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    made: Callable[..., int] = make(ctypes.addressof(definition), None, None)
    _KEPT.extend((loaded, definition))
    return made


def _text(symbol: str) -> str:
    address = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _API}
    pointers = "\n".join(f"@{name} = internal constant i64 {at}" for name, at in address.items())
    bits = ctypes.c_uint64.from_buffer_copy(ctypes.c_double(F32_LIMIT)).value
    values = {"symbol": symbol, "pointers": pointers, "true": id(True), "false": id(False), "limit": f"0x{bits:016X}"}
    text = _IR
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


_IR = """
{pointers}

define internal i64 @word(ptr %at, i64 %index) alwaysinline {
  %p = getelementptr i64, ptr %at, i64 %index
  %v = load i64, ptr %p
  ret i64 %v
}

define internal ptr @address(ptr %at, i64 %index) alwaysinline {
  %v = call i64 @word(ptr %at, i64 %index)
  %p = inttoptr i64 %v to ptr
  ret ptr %p
}

define internal ptr @field(ptr %object, i64 %bytes) alwaysinline {
  %p = getelementptr i8, ptr %object, i64 %bytes
  %v = load ptr, ptr %p
  ret ptr %v
}

define internal i64 @number(ptr %object, i64 %bytes) alwaysinline {
  %p = getelementptr i8, ptr %object, i64 %bytes
  %v = load i64, ptr %p
  ret i64 %v
}

define internal i64 @half(ptr %object, i64 %bytes) alwaysinline {
  %p = getelementptr i8, ptr %object, i64 %bytes
  %v = load i32, ptr %p
  %w = sext i32 %v to i64
  ret i64 %w
}

; Whether two lists of %count words are the same.
define internal i1 @same(ptr %a, ptr %b, i64 %count) alwaysinline {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %yes
body:
  %x = call i64 @word(ptr %a, i64 %i)
  %y = call i64 @word(ptr %b, i64 %i)
  %equal = icmp eq i64 %x, %y
  %next = add i64 %i, 1
  br i1 %equal, label %head, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The array's address, or 0 where it is not as its row says.
define internal i64 @array(ptr %row, ptr %object) {
entry:
  %tensor = alloca [6 x i64], align 8
  %arguments = alloca ptr, align 8
  %type = call i64 @word(ptr %row, i64 2)
  %has = call i64 @number(ptr %object, i64 8)
  %typed = icmp eq i64 %type, %has
  br i1 %typed, label %begin, label %no
begin:
  %kind = call i64 @word(ptr %row, i64 0)
  switch i64 %kind, label %exchange [ i64 1, label %numpy i64 3, label %ours ]
ours:
  %key.at = call i64 @word(ptr %row, i64 9)
  %int.at = call i64 @word(ptr %row, i64 10)
  %key = call i64 @number(ptr %object, i64 %key.at)
  %want.key = call i64 @word(ptr %row, i64 8)
  %keyed = icmp eq i64 %key, %want.key
  br i1 %keyed, label %locate, label %no
locate:
  %int = call ptr @field(ptr %object, i64 %int.at)
  %as_pointer = load ptr, ptr @PyLong_AsVoidPtr
  %located = call i64 %as_pointer(ptr %int)
  br label %aligned
numpy:
  %n.data = call i64 @number(ptr %object, i64 16)
  %n.rank = call i64 @half(ptr %object, i64 24)
  %n.extents = call ptr @field(ptr %object, i64 32)
  %n.strides = call ptr @field(ptr %object, i64 40)
  %descr = call i64 @number(ptr %object, i64 56)
  %flags = call i64 @half(ptr %object, i64 64)
  %writeable = and i64 %flags, 1024
  %want.descr = call i64 @word(ptr %row, i64 8)
  %want.writeable = call i64 @word(ptr %row, i64 9)
  %n.a = icmp eq i64 %descr, %want.descr
  %n.b = icmp eq i64 %writeable, %want.writeable
  %n.ok = and i1 %n.a, %n.b
  br i1 %n.ok, label %shape, label %no
exchange:
  %fill = call ptr @address(ptr %row, i64 8)
  %rc = call i32 %fill(ptr %object, ptr %tensor)
  %filled = icmp eq i32 %rc, 0
  br i1 %filled, label %read, label %failed
failed:
  %clear = load ptr, ptr @PyErr_Clear
  call void %clear()
  br label %no
read:
  %base = call i64 @number(ptr %tensor, i64 0)
  %begin_at = call i64 @number(ptr %tensor, i64 40)
  %e.data = add i64 %base, %begin_at
  %e.rank = call i64 @half(ptr %tensor, i64 16)
  %e.extents = call ptr @field(ptr %tensor, i64 24)
  %e.strides = call ptr @field(ptr %tensor, i64 32)
  %device = call i64 @number(ptr %tensor, i64 8)
  %dtype = call i64 @half(ptr %tensor, i64 20)
  %want.device = call i64 @word(ptr %row, i64 9)
  %want.dtype = call i64 @word(ptr %row, i64 10)
  %e.a = icmp eq i64 %device, %want.device
  %e.b = icmp eq i64 %dtype, %want.dtype
  %e.c = icmp ne ptr %e.strides, null
  %e.ab = and i1 %e.a, %e.b
  %e.ok = and i1 %e.ab, %e.c
  br i1 %e.ok, label %ask, label %no
ask:
  %method = call ptr @address(ptr %row, i64 11)
  %asks = icmp ne ptr %method, null
  br i1 %asks, label %call, label %shape
call:
  store ptr %object, ptr %arguments
  %invoke = load ptr, ptr @PyObject_VectorcallMethod
  %answer = call ptr %invoke(ptr %method, ptr %arguments, i64 1, ptr null)
  %answered = icmp ne ptr %answer, null
  br i1 %answered, label %answer_is, label %failed
answer_is:
  %drop = load ptr, ptr @Py_DecRef
  call void %drop(ptr %answer)
  %said = ptrtoint ptr %answer to i64
  %said.no = icmp eq i64 %said, {false}
  br i1 %said.no, label %shape, label %no
shape:
  %data = phi i64 [ %n.data, %numpy ], [ %e.data, %ask ], [ %e.data, %answer_is ]
  %rank = phi i64 [ %n.rank, %numpy ], [ %e.rank, %ask ], [ %e.rank, %answer_is ]
  %extents = phi ptr [ %n.extents, %numpy ], [ %e.extents, %ask ], [ %e.extents, %answer_is ]
  %strides = phi ptr [ %n.strides, %numpy ], [ %e.strides, %ask ], [ %e.strides, %answer_is ]
  %want.rank = call i64 @word(ptr %row, i64 3)
  %ranked = icmp eq i64 %rank, %want.rank
  br i1 %ranked, label %lists, label %no
lists:
  %want.extents = call ptr @address(ptr %row, i64 4)
  %want.strides = call ptr @address(ptr %row, i64 5)
  %l.a = call i1 @same(ptr %extents, ptr %want.extents, i64 %rank)
  br i1 %l.a, label %second, label %no
second:
  %l.b = call i1 @same(ptr %strides, ptr %want.strides, i64 %rank)
  br i1 %l.b, label %aligned, label %no
aligned:
  %at = phi i64 [ %data, %second ], [ %located, %locate ]
  %low = and i64 %at, 15
  %want.low = call i64 @word(ptr %row, i64 7)
  %fits = icmp eq i64 %low, %want.low
  br i1 %fits, label %yes, label %no
yes:
  %slot = call ptr @address(ptr %row, i64 6)
  store i64 %at, ptr %slot
  ret i64 %at
no:
  ret i64 0
}

define internal i1 @scalar(ptr %row, ptr %object) {
entry:
  %overflow = alloca i32, align 4
  %kind = call i64 @word(ptr %row, i64 0)
  %want = call i64 @word(ptr %row, i64 2)
  %slot = call ptr @address(ptr %row, i64 3)
  %this = ptrtoint ptr %object to i64
  %by_identity = icmp eq i64 %kind, 5
  br i1 %by_identity, label %identity, label %typed
identity:
  %is_it = icmp eq i64 %this, %want
  ret i1 %is_it
typed:
  %type = call i64 @number(ptr %object, i64 8)
  %of_type = icmp eq i64 %type, %want
  br i1 %of_type, label %choose, label %no
choose:
  switch i64 %kind, label %no [ i64 1, label %int i64 2, label %float i64 3, label %double i64 4, label %bool ]
int:
  store i32 0, ptr %overflow
  %as_int = load ptr, ptr @PyLong_AsLongLongAndOverflow
  %value = call i64 %as_int(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %exact = icmp eq i32 %over, 0
  %least = call i64 @word(ptr %row, i64 5)
  %greatest = call i64 @word(ptr %row, i64 6)
  %above = icmp sge i64 %value, %least
  %below = icmp sle i64 %value, %greatest
  %i.a = and i1 %exact, %above
  %i.ok = and i1 %i.a, %below
  br i1 %i.ok, label %divides, label %no
divides:
  %divisor = call i64 @word(ptr %row, i64 4)
  %any = icmp eq i64 %divisor, 0
  %sixteen = or i64 %value, 16
  %negated = sub i64 0, %sixteen
  %lowest = and i64 %sixteen, %negated
  %same = icmp eq i64 %lowest, %divisor
  %d.ok = or i1 %any, %same
  br i1 %d.ok, label %store, label %no
store:
  %bytes = call i64 @word(ptr %row, i64 7)
  switch i64 %bytes, label %eight [ i64 1, label %one i64 2, label %two i64 4, label %four ]
eight:
  store i64 %value, ptr %slot
  ret i1 true
four:
  %v4 = trunc i64 %value to i32
  store i32 %v4, ptr %slot
  ret i1 true
two:
  %v2 = trunc i64 %value to i16
  store i16 %v2, ptr %slot
  ret i1 true
one:
  %v1 = trunc i64 %value to i8
  store i8 %v1, ptr %slot
  ret i1 true
float:
  %as_double = load ptr, ptr @PyFloat_AsDouble
  %wide = call double %as_double(ptr %object)
  %size = call double @llvm.fabs.f64(double %wide)
  %finite = fcmp olt double %size, {limit}
  br i1 %finite, label %narrow, label %no
narrow:
  %single = fptrunc double %wide to float
  store float %single, ptr %slot
  ret i1 true
double:
  %as_double2 = load ptr, ptr @PyFloat_AsDouble
  %whole = call double %as_double2(ptr %object)
  store double %whole, ptr %slot
  ret i1 true
bool:
  %held = icmp eq i64 %this, {true}
  %bit = zext i1 %held to i8
  store i8 %bit, ptr %slot
  ret i1 true
no:
  ret i1 false
}

declare double @llvm.fabs.f64(double)

define ptr @"{symbol}"(ptr %self, ptr %argv, i64 %count) {
entry:
  %as_pointer = load ptr, ptr @PyLong_AsVoidPtr
  %as_long = load ptr, ptr @PyLong_AsLongLong
  %first = load ptr, ptr %argv
  %table = call ptr %as_pointer(ptr %first)
  %given = sub i64 %count, 5
  %wanted = call i64 @word(ptr %table, i64 0)
  %args = getelementptr ptr, ptr %argv, i64 5
  %counted = icmp eq i64 %given, %wanted
  br i1 %counted, label %arrays, label %no
arrays:
  %array_count = call i64 @word(ptr %table, i64 1)
  %array_rows = call ptr @address(ptr %table, i64 2)
  %pointers = call ptr @address(ptr %table, i64 7)
  br label %array_head
array_head:
  %i = phi i64 [ 0, %arrays ], [ %i.next, %array_ok ]
  %i.more = icmp slt i64 %i, %array_count
  br i1 %i.more, label %array_body, label %scalars
array_body:
  %i.at = mul i64 %i, 12
  %row = getelementptr i64, ptr %array_rows, i64 %i.at
  %position = call i64 @word(ptr %row, i64 1)
  %object_at = getelementptr ptr, ptr %args, i64 %position
  %object = load ptr, ptr %object_at
  %pointer = call i64 @array(ptr %row, ptr %object)
  %found = icmp ne i64 %pointer, 0
  br i1 %found, label %array_ok, label %no
array_ok:
  %kept = getelementptr i64, ptr %pointers, i64 %i
  store i64 %pointer, ptr %kept
  %i.next = add i64 %i, 1
  br label %array_head
scalars:
  %scalar_count = call i64 @word(ptr %table, i64 3)
  %scalar_rows = call ptr @address(ptr %table, i64 4)
  br label %scalar_head
scalar_head:
  %s = phi i64 [ 0, %scalars ], [ %s.next, %scalar_body ]
  %s.more = icmp slt i64 %s, %scalar_count
  br i1 %s.more, label %scalar_body, label %pairs
scalar_body:
  %s.at = shl i64 %s, 3
  %s.row = getelementptr i64, ptr %scalar_rows, i64 %s.at
  %s.position = call i64 @word(ptr %s.row, i64 1)
  %s.object_at = getelementptr ptr, ptr %args, i64 %s.position
  %s.object = load ptr, ptr %s.object_at
  %s.ok = call i1 @scalar(ptr %s.row, ptr %s.object)
  %s.next = add i64 %s, 1
  br i1 %s.ok, label %scalar_head, label %no
pairs:
  %pair_count = call i64 @word(ptr %table, i64 5)
  %pair_rows = call ptr @address(ptr %table, i64 6)
  br label %pair_head
pair_head:
  %p = phi i64 [ 0, %pairs ], [ %p.next, %pair_body ]
  %p.more = icmp slt i64 %p, %pair_count
  br i1 %p.more, label %pair_body, label %launch
pair_body:
  %p.at = shl i64 %p, 2
  %p.row = getelementptr i64, ptr %pair_rows, i64 %p.at
  %p.a = call i64 @word(ptr %p.row, i64 0)
  %p.b = call i64 @word(ptr %p.row, i64 1)
  %p.low = call i64 @word(ptr %p.row, i64 2)
  %p.high = call i64 @word(ptr %p.row, i64 3)
  %here = call i64 @word(ptr %pointers, i64 %p.a)
  %there = call i64 @word(ptr %pointers, i64 %p.b)
  %distance = sub i64 %there, %here
  %p.over = icmp sgt i64 %distance, %p.low
  %p.under = icmp slt i64 %distance, %p.high
  %p.meet = and i1 %p.over, %p.under
  %p.next = add i64 %p, 1
  br i1 %p.meet, label %no, label %pair_head
launch:
  %driver = call ptr @address(ptr %table, i64 8)
  %on_gpu = icmp ne ptr %driver, null
  br i1 %on_gpu, label %gpu, label %yes
gpu:
  %g1.at = getelementptr ptr, ptr %argv, i64 1
  %g1 = load ptr, ptr %g1.at
  %x.long = call i64 %as_long(ptr %g1)
  %some = icmp ne i64 %x.long, 0
  br i1 %some, label %go, label %yes
go:
  %g2.at = getelementptr ptr, ptr %argv, i64 2
  %g2 = load ptr, ptr %g2.at
  %g3.at = getelementptr ptr, ptr %argv, i64 3
  %g3 = load ptr, ptr %g3.at
  %g4.at = getelementptr ptr, ptr %argv, i64 4
  %g4 = load ptr, ptr %g4.at
  %y.long = call i64 %as_long(ptr %g2)
  %z.long = call i64 %as_long(ptr %g3)
  %stream = call ptr %as_pointer(ptr %g4)
  %x = trunc i64 %x.long to i32
  %y = trunc i64 %y.long to i32
  %z = trunc i64 %z.long to i32
  %kernel = call ptr @address(ptr %table, i64 9)
  %threads.long = call i64 @word(ptr %table, i64 10)
  %threads = trunc i64 %threads.long to i32
  %shared.long = call i64 @word(ptr %table, i64 11)
  %shared = trunc i64 %shared.long to i32
  %parameters = call ptr @address(ptr %table, i64 12)
  %result = call i32 %driver(ptr %kernel, i32 %x, i32 %y, i32 %z, i32 %threads, i32 1, i32 1, i32 %shared, ptr %stream, ptr %parameters, ptr null)
  %launched = icmp eq i32 %result, 0
  br i1 %launched, label %yes, label %refused
yes:
  br label %give
refused:
  br label %give
no:
  br label %give
give:
  %answer = phi i64 [ 1, %yes ], [ 2, %refused ], [ 0, %no ]
  %make = load ptr, ptr @PyLong_FromLong
  %boxed = call ptr %make(i64 %answer)
  ret ptr %boxed
}
"""  # noqa: E501
