"""Models that run in this process."""

import pathlib
import threading
from typing import Any

import modelc
import numpy as np
import pytest

from conftest import CORPUS, DIGITS, MODELS

STATEFUL = MODELS / "svdf_f32_r2.tflite"


def calls(model: pathlib.Path, what: str) -> list[list[Any]]:
    """The recorded arrays of each call."""
    arrays = np.load(model.with_suffix(f".{what}.npz"))
    found: dict[int, dict[int, Any]] = {}
    prefix = "in" if what == "inputs" else "out"
    for name in arrays.files:
        if name.startswith(prefix):
            call, _, index = name.removeprefix(prefix).rpartition("_")
            found.setdefault(int(call or 0), {})[int(index)] = arrays[name]
    return [[found[call][index] for index in sorted(found[call])] for call in sorted(found)]


def close(found: Any, expected: Any) -> bool:
    if not np.issubdtype(expected.dtype, np.floating):
        return bool(np.array_equal(found, expected))
    most = np.max(np.abs(expected[np.isfinite(expected)]), initial=1e-30)
    return bool(np.allclose(found, expected, rtol=0, atol=1e-5 * most, equal_nan=True))


def recorded(folder: pathlib.Path) -> list[pathlib.Path]:
    """The small models of a folder with recorded calls."""
    found = (path for path in folder.glob("*.tflite") if path.with_suffix(".expected.npz").exists() and path.stat().st_size < 1 << 20)
    return sorted(found)


@pytest.mark.parametrize("path", recorded(MODELS)[::2] + recorded(CORPUS / "tflite")[::6], ids=lambda path: str(path.stem))
def test_outputs_are_those_recorded(path: pathlib.Path) -> None:
    net = modelc.load(path)
    for inputs, expected in zip(calls(path, "inputs"), calls(path, "expected"), strict=True):
        outputs = net(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for found, wanted in zip(outputs, expected, strict=True):
            assert found.shape == wanted.shape and found.dtype.itemsize == wanted.dtype.itemsize
            assert close(found, wanted)


def test_inputs_have_positions_and_names() -> None:
    net = modelc.load(MODELS / "composite.tflite")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    expected = net(a, b)
    for found in (net(a=a, b=b), net(a, b=b), net(in1=b, in0=a), next(iter(net.signatures.values()))(a, b)):
        assert np.array_equal(found, expected)
    for wrong in ({"c": a}, {"a": a, "in0": a, "b": b}, {"b": b}):
        with pytest.raises(TypeError):
            net(**wrong)


def test_signatures_name_ports() -> None:
    (method,) = modelc.load(DIGITS).signatures.values()
    image = method.inputs[0]
    assert (image.dtype, image.shape, image.min_shape) == ("int8", [1, 8, 8, 1], [1, 8, 8, 1])
    assert image.scales is not None and len(image.scales) == 1 and image.zero_points is not None
    assert "int8[1, 8, 8, 1]" in repr(method)


def test_layouts_of_arrays_do_not_matter() -> None:
    net = modelc.load(MODELS / "composite.tflite")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2, 3], np.float32)
    expected = net(a, b)
    odd = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    odd[:] = a
    strided = np.zeros((2, 6), np.float32)[:, ::2]
    strided[:] = a
    for given in (np.asfortranarray(a), odd, strided, a.astype(">f4"), a.tolist()):
        given = np.asarray(given, np.float32) if isinstance(given, list) else given
        assert np.array_equal(net(given, b), expected)
    a.flags.writeable = False
    assert np.array_equal(net(a, b), expected)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([np.zeros((1, 8, 8, 1), np.uint8)], "MC0503"),
        ([np.zeros((1, 8, 8, 1), np.float32)], "MC0503"),
        ([np.zeros(64, np.int8)], "MC0502"),
        ([np.zeros((2, 8, 8, 1), np.int8)], "MC0502"),
        ([], "MC0510"),
        ([np.zeros((1, 8, 8, 1), np.int8)] * 2, "MC0510"),
    ],
)
def test_what_does_not_fit_raises(given: list[Any], code: str) -> None:
    with pytest.raises(modelc.Error) as raised:
        modelc.load(DIGITS)(*given)
    error = raised.value
    assert error.code == code and error.kind == "invalid" and error.expected and error.found
    assert isinstance(error.message, str) and error.others == []


def test_objects_without_numbers_raise() -> None:
    net = modelc.load(DIGITS)
    for given in (np.array(["text"]), np.zeros((1, 8, 8, 1), "M8[s]"), np.zeros((1, 8, 8, 1), object)):
        with pytest.raises((TypeError, ValueError, BufferError)):
            net(given)


def test_operators_are_named() -> None:
    with pytest.raises(modelc.Error) as raised:
        modelc.load(b"no model")
    assert raised.value.code == "MC0101"
    with pytest.raises(modelc.Error) as raised:
        modelc.load("missing.tflite")
    assert raised.value.code == "MC0102" and raised.value.file == "missing.tflite"


def test_real_numbers_are_quantized() -> None:
    plain, real = modelc.load(DIGITS), modelc.load(DIGITS, dequantize=True)
    image = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    (method,) = plain.signatures.values()
    port, scores = method.inputs[0], method.outputs[0]
    assert port.scales and port.zero_points and scores.scales and scores.zero_points
    quantized = np.clip(np.round(image / np.float32(port.scales[0])) + port.zero_points[0], -128, 127).astype(np.int8)
    expected = (plain(quantized).astype(np.float32) - scores.zero_points[0]) * np.float32(scores.scales[0])
    found = real(image)
    assert found.dtype == np.float32 and np.array_equal(found, expected)
    assert np.array_equal(real(quantized), expected)


def test_state_is_saved_and_put_back() -> None:
    inputs = calls(STATEFUL, "inputs")[0]
    net = modelc.load(STATEFUL)
    fresh = net.state
    first, second = net(*inputs), net(*inputs)
    assert not np.array_equal(first, second)
    net.state = fresh
    assert np.array_equal(net(*inputs), first)
    other = modelc.load(STATEFUL)
    other.state = net.state
    assert np.array_equal(other(*inputs), second)
    other.reset()
    assert np.array_equal(other(*inputs), first)
    with pytest.raises(modelc.Error) as raised:
        net.state = b"another"
    assert raised.value.code == "MC0513"


def test_kernels_are_measured() -> None:
    net = modelc.load(STATEFUL, profile=True)
    for _ in range(3):
        net(*calls(STATEFUL, "inputs")[0])
    rows = net.profile()
    assert rows and all(row["runs"] == 3 and row["total_ns"] > 0 for row in rows)
    assert any("SVDF" in row["operators"] for row in rows)
    with pytest.raises(TypeError, match="profile=True"):
        modelc.load(STATEFUL).profile()


def test_values_and_shapes_are_those_of_the_call() -> None:
    path = MODELS / "pad_by_value.tflite"
    net, inputs = modelc.load(path), calls(path, "inputs")[0]
    assert net.signatures == {}
    found = net(*inputs)
    assert close(found, calls(path, "expected")[0][0])
    assert all(wide == narrow + 2 for wide, narrow in zip(net(inputs[0], inputs[1] + 1).shape, found.shape, strict=True))
    bounded = modelc.load(MODELS / "composite.tflite", bound={"a.0": 4})
    b = np.ones(3, np.float32)
    for rows in (1, 4, 3):
        assert bounded(np.ones((rows, 3), np.float32), b).shape == (rows, 3)


def test_threads_share_a_model_and_have_their_own() -> None:
    shared, inputs = modelc.load(DIGITS, threads=2), np.ones((1, 8, 8, 1), np.int8)
    expected = shared(inputs)
    wrong: list[int] = []

    def work() -> None:
        own = modelc.load(DIGITS)
        wrong.extend(1 for _ in range(50) for net in (shared, own) if not np.array_equal(net(inputs), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_results_outlive_the_next_call() -> None:
    net = modelc.load(DIGITS)
    first = net(np.ones((1, 8, 8, 1), np.int8))
    kept = first.copy()
    net(np.full((1, 8, 8, 1), 100, np.int8))
    assert np.array_equal(first, kept) and first.flags.writeable
    first[:] = 0


def test_a_notebook_shows_the_page() -> None:
    page = modelc.load(DIGITS)._repr_html_()
    assert page.startswith("<iframe") and "CONV_2D" in page


def test_ports_have_the_names_that_users_give() -> None:
    net = modelc.load(DIGITS, port_name={"in0": "image"})
    image = np.zeros((1, 8, 8, 1), np.int8)
    assert next(iter(net.signatures.values())).inputs[0].name == "image"
    assert np.array_equal(net(image=image), net(image))
    with pytest.raises(modelc.Error):
        modelc.load(DIGITS, port_name={"in0": "no name"})


def test_ports_tell_how_inputs_are_normalized() -> None:
    path = CORPUS / "tflite" / "tfex-mobilenet_v2_035_96_embedder_with_metadata.tflite"
    if not path.exists():
        pytest.skip("no recorded models")
    port = next(iter(modelc.load(path).signatures.values())).inputs[0]
    assert port.mean is None or port.std is not None and len(port.mean) == len(port.std)
    assert next(iter(modelc.load(DIGITS).signatures.values())).inputs[0].mean is None
