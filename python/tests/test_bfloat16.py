"""Numbers that NumPy lacks."""


import numpy as np
import pytest
from modelc import _arrays

ml_dtypes = pytest.importorskip("ml_dtypes")


def test_types_have_arrays() -> None:
    assert _arrays.dtype("bfloat16") == np.dtype(ml_dtypes.bfloat16)
    assert _arrays.dtype("int4") == np.dtype(np.int8)
    array = np.arange(4, dtype=np.float32).astype(ml_dtypes.bfloat16)
    bits, shape = _arrays.buffer(array)
    assert shape == (4,) and bits.dtype == np.uint16 and np.array_equal(bits.view(ml_dtypes.bfloat16), array)
    found = _arrays.array(bytearray(bits.tobytes()), "bfloat16", [2, 2])
    assert found.dtype == ml_dtypes.bfloat16 and found.shape == (2, 2)
    assert _arrays.array(bytearray(), "bfloat16", [0, 2]).shape == (0, 2)


def test_without_the_package_they_are_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "_BFLOAT16", None)
    # What was found with the package is remembered.
    assert _arrays.dtype.__wrapped__("bfloat16") == np.dtype(np.uint16)
