"""NumPy arrays and the types of models."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

#: NumPy's type of bfloat16, if there is one.
_BFLOAT16: Any = None
try:
    import ml_dtypes
except ImportError:
    pass
else:
    _BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

#: Types that NumPy has under another name, or lacks: their bits then travel as integers.
_DTYPES = {"int4": "int8", "int2": "int8", "uint4": "uint8", "bfloat16": "uint16"}


#: The types whose arrays are taken as they are: a look into a set is all that a call then needs.
_PLAIN = frozenset(np.dtype(code) for code in "?bhilqBHILQefdFD")


@cache
def dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of a type of elements."""
    found: np.dtype[Any] = _BFLOAT16 if name == "bfloat16" and _BFLOAT16 is not None else np.dtype(_DTYPES.get(name, name))
    return found


def buffer(array: Any) -> tuple[Any, tuple[int, ...]]:
    """A dense array that has a buffer, and its shape. Arrays of bfloat16 have none, so their bits have; single numbers neither."""
    array = np.asarray(array)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if array.dtype not in _PLAIN:
        array = _plain(array)
    shape = array.shape
    return (array if shape else array.reshape(1)), shape


def _plain(array: Any) -> Any:
    """An array of a plain type, where there is one: in this machine's order of bytes, the bits of bfloat16, whole bytes."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if _BFLOAT16 is not None and array.dtype == _BFLOAT16:
        return array.view(np.uint16)
    if array.dtype.name in ("int4", "uint4", "int2", "uint2"):
        return array.astype(_DTYPES.get(array.dtype.name, "uint8"))
    return array


def array(memory: bytearray, name: str, shape: list[int]) -> Any:
    """The array of a type and a shape in memory."""
    return np.ndarray(shape, dtype(name), memory) if 0 not in shape else np.empty(shape, dtype(name))


def quantized(real: Any, scales: list[float], zero_points: list[int], axis: int, name: str) -> Any:
    """Float32 numbers as the integers that stand for them: to nearest, halves away from zero."""
    scale, zero_point = _along(scales, real.ndim, axis, np.float32), _along(zero_points, real.ndim, axis, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (real / scale).astype(np.float64)
    rounded = np.trunc(scaled + np.copysign(0.5, scaled)) + zero_point
    low, high = _limits(name)
    return np.clip(np.where(np.isnan(scaled), zero_point, rounded), low, high).astype(dtype(name))


def dequantized(integers: Any, scales: list[float], zero_points: list[int], axis: int) -> Any:
    """Integers as the float32 numbers that they stand for."""
    scale, zero_point = _along(scales, integers.ndim, axis, np.float32), _along(zero_points, integers.ndim, axis, np.int64)
    return (integers.astype(np.int64) - zero_point).astype(np.float32) * scale


def _along(numbers: list[Any], rank: int, axis: int, kind: Any) -> Any:
    array = np.asarray(numbers, kind)
    return array[0] if len(numbers) == 1 else array.reshape([-1 if dimension == axis else 1 for dimension in range(rank)])


def _limits(name: str) -> tuple[int, int]:
    bits = int("".join(filter(str.isdigit, name)))
    return (0, (1 << bits) - 1) if name.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
