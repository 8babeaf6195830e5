"""Arrays in the library's memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._library import ffi


class _View:
    """What numpy asks an array's memory for. It keeps the memory's owner alive as long as an array
    looks at it, also behind env.close()."""

    def __init__(self, owner: Any, pointer: Any, shape: tuple[int, ...], dtype: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "data": (int(ffi.cast("uintptr_t", pointer)), False), "shape": shape,
            "typestr": np.dtype(dtype).str,
        }


def view(owner: Any, pointer: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array that never moves and that the library writes to."""
    if math.prod(shape) == 0:
        return np.zeros(shape, dtype)
    return np.asarray(_View(owner, pointer, shape, dtype))


def pointer(array: np.ndarray) -> Any:
    """Its memory, for calls of the library; keep the array as long."""
    kinds = {"float32": "float[]", "float64": "double[]", "uint8": "uint8_t[]", "bool": "uint8_t[]"}
    return ffi.from_buffer(kinds[array.dtype.name], array)
