"""Models in shared libraries: the same outputs, the same errors."""

import pathlib
import threading
from typing import Any

import modelc
import numpy as np
import pytest

from conftest import CORPUS, DIGITS, MODELS
from test_load import STATEFUL, calls, recorded


def library(path: pathlib.Path, folder: pathlib.Path, **options: Any) -> modelc.Net:
    """The model as a library, loaded."""
    modelc.compile(path, out=folder / "libnet.so", **options)
    return modelc.load(folder / "libnet.so")


def tensors_of(path: pathlib.Path) -> dict[str, Any]:
    """The option that names the file with the program's constants, if it has one."""
    data = path.with_suffix(".ptd")
    return {"data": [data]} if data.exists() else {}


def programs() -> list[pathlib.Path]:
    """Small ExecuTorch programs with recorded calls."""
    found = (path for path in (MODELS / "executorch").glob("*.pte") if path.with_suffix(".expected.npz").exists())
    return sorted(found)


@pytest.mark.parametrize("path", recorded(MODELS)[::3] + recorded(CORPUS / "tflite")[::9] + programs()[::3], ids=lambda path: str(path.stem))
def test_outputs_are_those_of_the_model(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    given = calls(path, "inputs")
    try:
        net = library(path, tmp_path, **tensors_of(path))
    except modelc.Error as error:
        # Only a call says the values that shapes are computed from.
        assert error.help and "--value" in error.help
        return
    same = modelc.load(path, **tensors_of(path))
    shown, known = repr(net.signatures), repr(same.signatures)
    if known != "{}":
        assert shown == known
    for inputs in given:
        try:
            found = net(*inputs)
        except modelc.Error as error:
            # A library does not compile the model again for another shape.
            assert error.code == "MC0502"
            return
        wanted = same(*inputs)
        for one, other in zip(found if isinstance(found, tuple) else (found,), wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([np.zeros((1, 8, 8, 1), np.uint8)], "MC0503"),
        ([np.zeros(64, np.int8)], "MC0502"),
        ([np.zeros((2, 8, 8, 1), np.int8)], "MC0502"),
        ([], "MC0510"),
    ],
)
def test_what_does_not_fit_raises(given: list[Any], code: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(modelc.Error) as raised:
        library(DIGITS, tmp_path)(*given)
    assert raised.value.code == code and raised.value.expected and raised.value.found and raised.value.others == []
    with pytest.raises(modelc.Error) as compiled:
        modelc.load(DIGITS, shape={"in0": (1, 8, 8, 1)})(*given)
    assert str(raised.value) == str(compiled.value)


def test_nothing_of_a_file_without_a_model_runs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr("ctypes.CDLL", lambda path: loaded.append(path))
    foreign = tmp_path / "libforeign.so"
    foreign.write_bytes(b"\x7fELF" + bytes(12) + b"\x03\x00" + bytes(64))
    with pytest.raises(modelc.Error) as raised:
        modelc.load(foreign)
    assert raised.value.code == "MC0101" and raised.value.file == str(foreign) and not loaded


def test_a_library_for_another_computer_raises(tmp_path: pathlib.Path) -> None:
    modelc.compile(DIGITS, out=tmp_path / "libnet.so", target="riscv64-linux-gnu")
    with pytest.raises(modelc.Error) as raised:
        modelc.load(tmp_path / "libnet.so")
    assert raised.value.code == "MC0102" and str(raised.value).splitlines()[1] == f"  --> {tmp_path / 'libnet.so'}"


def test_real_numbers_are_quantized(tmp_path: pathlib.Path) -> None:
    library(DIGITS, tmp_path)
    image = np.linspace(-1, 2, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    image[0, 0, 0, 0] = np.nan
    found = modelc.load(tmp_path / "libnet.so", dequantize=True)(image)
    assert found.dtype == np.float32 and np.array_equal(found, modelc.load(DIGITS, dequantize=True)(image))


def test_a_dynamic_dimension_has_its_extent(tmp_path: pathlib.Path) -> None:
    net = library(MODELS / "composite.tflite", tmp_path, bound={"a.0": 4})
    b = np.ones(3, np.float32)
    for rows in (1, 4, 3):
        assert net(np.ones((rows, 3), np.float32), b).shape == (rows, 3)
    with pytest.raises(modelc.Error) as raised:
        net(np.ones((5, 3), np.float32), b)
    assert raised.value.code == "MC0502" and raised.value.expected == "[1 to 4, 3]"


def test_state_is_saved_and_put_back(tmp_path: pathlib.Path) -> None:
    inputs = calls(STATEFUL, "inputs")[0]
    net = library(STATEFUL, tmp_path)
    fresh = net.state
    first, second = net(*inputs), net(*inputs)
    assert not np.array_equal(first, second)
    net.state = fresh
    assert np.array_equal(net(*inputs), first)
    net.reset()
    assert np.array_equal(net(*inputs), first)
    with pytest.raises(modelc.Error):
        net.state = b"another"


def test_weights_lie_beside_the_library(tmp_path: pathlib.Path) -> None:
    image = np.ones((1, 8, 8, 1), np.int8)
    assert np.array_equal(library(DIGITS, tmp_path, weights="external")(image), modelc.load(DIGITS)(image))
    (tmp_path / "libnet.bin").unlink()
    with pytest.raises(modelc.Error) as raised:
        modelc.load(tmp_path / "libnet.so")
    assert raised.value.code == "MC0102"


def test_a_library_is_compiled_already(tmp_path: pathlib.Path) -> None:
    net = library(DIGITS, tmp_path)
    assert "digits" in net._repr_html_() or "image" in net._repr_html_()
    with pytest.raises(TypeError, match="profile=True"):
        net.profile()
    with pytest.raises(TypeError, match="compiled already"):
        modelc.load(tmp_path / "libnet.so", threads=2)


def test_threads_share_a_library(tmp_path: pathlib.Path) -> None:
    net, image = library(DIGITS, tmp_path), np.ones((1, 8, 8, 1), np.int8)
    expected = net(image)
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(1 for _ in range(100) if not np.array_equal(net(image), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
