"""PyTorch tensors, on the CPU and on CUDA devices, every dtype that a kernel can take (bfloat16 and float8 too)."""

from __future__ import annotations

from typing import Any

from tileopt.backends.runtime.arrays import HOST, ArrayInfo, Key, Reader, checked, itemsize
from tileopt.backends.runtime.errors import launch_error

_DTYPES = {
    "torch.bool": "bool",
    "torch.uint8": "u8",
    "torch.uint16": "u16",
    "torch.uint32": "u32",
    "torch.uint64": "u64",
    "torch.int8": "i8",
    "torch.int16": "i16",
    "torch.int32": "i32",
    "torch.int64": "i64",
    "torch.float16": "f16",
    "torch.bfloat16": "bf16",
    "torch.float32": "f32",
    "torch.float64": "f64",
    "torch.float8_e4m3fn": "f8e4m3fn",
    "torch.float8_e5m2": "f8e5m2",
    "torch.float8_e8m0fnu": "f8e8m0fnu",
}


def _key(tensor: Any) -> Key:
    try:
        pointer: int = tensor.data_ptr()
        # The device itself, not its number: a meta tensor and one on the CPU have the same number.
        device, strides = tensor.device, tensor.stride()
    except RuntimeError as error:  # sparse, functional and fake tensors have no memory
        raise launch_error(
            "array-storage", f"a torch tensor without plain memory: {error}", help="pass a dense tensor: x.to_dense()"
        ) from error
    return pointer, (tensor.shape, strides, tensor.dtype, pointer & 15 if pointer else -1, device, tensor.is_neg())


def inspect(tensor: Any) -> ArrayInfo:
    """Refuses tensors that no kernel can read: other devices, lazily negated ones, complex and quantised dtypes."""
    name = _DTYPES.get(str(tensor.dtype))
    if name is None:
        raise launch_error(
            "array-dtype",
            f"no kernel takes a tensor of dtype {tensor.dtype}",
            help=f"element types are {', '.join(_DTYPES.values())}; torch.view_as_real splits a complex tensor",
        )
    if tensor.is_neg():
        raise launch_error(
            "array-lazy", "the tensor's negation is pending (imag of a conjugate)", help="pass x.resolve_neg()"
        )
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise launch_error(
            "array-device",
            f"a tensor on device '{tensor.device}'",
            help="kernels run on the CPU and on CUDA devices: x.cpu() or x.cuda()",
        )
    device = HOST if kind == "cpu" else int(tensor.device.index)
    return checked(
        ArrayInfo(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), name, itemsize(name), device)
    )


READER = Reader("torch", _key, inspect)
