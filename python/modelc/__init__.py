"""modelc compiles TFLite and ExecuTorch models to native code.

    net = modelc.load("model.tflite")   # machine code in this process
    scores = net(image)                 # NumPy arrays in and out

    modelc.compile("model.tflite", out="model.o", target="aarch64-none-elf")
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from . import _modelc
from ._modelc import Error, Port, __version__
from ._options import CompileOptions, LoadOptions

#: NumPy's type of bfloat16, if there is one.
_BFLOAT16: Any = None
try:
    import ml_dtypes
except ImportError:
    pass
else:
    _BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

__all__ = ["Compiled", "Error", "Method", "Net", "Port", "__version__", "compile", "load", "options"]

#: Types that NumPy has under another name, or lacks: their bits then travel as integers.
_DTYPES = {"int4": "int8", "int2": "int8", "uint4": "uint8", "bfloat16": "uint16"}


def _dtype(name: str) -> np.dtype[Any]:
    found: np.dtype[Any] = _BFLOAT16 if name == "bfloat16" and _BFLOAT16 is not None else np.dtype(_DTYPES.get(name, name))
    return found


def options(command: str = "compile") -> dict[str, str]:
    """The options of `compile` or `load`, each with its help. They are those of the command line."""
    return {name.replace("-", "_"): text for name, _, _, _, text in _modelc.options(command)}


def _text(option: str, value: Any) -> str:
    """A value as the command line writes it: `(1, 8)` is `1x8` for a shape and `1,8` elsewhere."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (Sequence, np.ndarray)):
        return ("x" if option == "shape" else ",").join(_text(option, item) for item in value)
    return str(value)


def _arguments(command: str, given: Mapping[str, object]) -> list[str]:
    """The arguments of the command line for keywords."""
    known = {name.replace("-", "_"): (name, takes, repeats) for name, takes, repeats, _, _ in _modelc.options(command)}
    arguments: list[str] = []
    for keyword, value in given.items():
        if keyword not in known:
            raise TypeError(f"{command}() got an unexpected keyword argument {keyword!r}; modelc.options({command!r}) lists them")
        name, takes_value, repeats = known[keyword]
        if value is None or value is False and not takes_value:
            continue
        if not takes_value:
            arguments.append(f"--{name}")
        elif isinstance(value, Mapping):
            arguments.extend(f"--{name}={key}={_text(name, item)}" for key, item in value.items())
        elif repeats and isinstance(value, (list, tuple)):
            arguments.extend(f"--{name}={_text(name, item)}" for item in value)
        else:
            arguments.append(f"--{name}={_text(name, value)}")
    return arguments


class Method:
    """A method of a model: its name, and its inputs and outputs in order."""

    def __init__(self, name: str, inputs: list[Port], outputs: list[Port], net: Net | None = None, number: int = 0) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self._net, self._number = net, number
        self._names = {port.name: position for position, port in enumerate(inputs) if port.name}
        self._names |= {f"in{position}": position for position in range(len(inputs))}

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(map(repr, self.inputs)), ", ".join(map(repr, self.outputs))
        return f"<modelc.Method {self.name!r}: {inputs} -> {outputs}>"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Calls the method on arrays, by position or by name; one output alone, or a tuple."""
        if self._net is None:
            raise TypeError("modelc.load() gives methods that can be called")
        return self._net._call(self._number, self._ordered(arrays, named) if named else arrays)

    def _ordered(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        ordered = dict(enumerate(arrays))
        for name, array in named.items():
            position = self._names.get(name)
            if position is None:
                known = ", ".join(self._names)
                raise TypeError(f"{self.name}() has no input {name!r}; it has {known}")
            if position in ordered:
                raise TypeError(f"{self.name}() got several arrays for input {name!r}")
            ordered[position] = array
        missing = [str(position) for position in range(max(ordered, default=-1) + 1) if position not in ordered]
        if missing:
            raise TypeError(f"{self.name}() lacks input {', '.join(missing)}")
        return [ordered[position] for position in sorted(ordered)]


def _methods(signatures: list[tuple[str, list[Port], list[Port]]], net: Net | None = None) -> dict[str, Method]:
    return {name: Method(name, inputs, outputs, net, number) for number, (name, inputs, outputs) in enumerate(signatures)}


def _buffer(array: Any) -> tuple[Any, tuple[int, ...]]:
    """A dense array that has a buffer, and its shape. Arrays of bfloat16 have none, so their bits have; single numbers neither."""
    array = np.asarray(array)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if _BFLOAT16 is not None and array.dtype == _BFLOAT16:
        array = array.view(np.uint16)
    elif array.dtype.name in ("int4", "uint4", "int2", "uint2"):
        array = array.astype(_DTYPES.get(array.dtype.name, "uint8"))
    return (array if array.ndim else array.reshape(1)), array.shape


def _array(memory: bytearray, dtype: str, shape: list[int]) -> Any:
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return np.empty(shape, _dtype(dtype))
    return np.frombuffer(memory, _dtype(dtype), count).reshape(shape)


class Net:
    """A model that runs in this process. Several threads may call it; a call does not hold the interpreter's lock."""

    def __init__(self, session: _modelc.Session) -> None:
        self._session = session
        self._known: dict[str, Method] = {}

    @property
    def signatures(self) -> dict[str, Method]:
        """The methods by name. A model that must know the values of its inputs has none before the first call."""
        return _methods(self._session.signatures(), self)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Calls the first method on arrays, by position or by name; one output alone, or a tuple."""
        if not named:
            return self._call(0, arrays)
        if not self._known:
            self._known = self.signatures
        for method in self._known.values():
            return method(*arrays, **named)
        raise TypeError("the model must know its inputs before they have names: give the arrays by position")

    def _call(self, method: int, arrays: Sequence[Any]) -> Any:
        outputs = self._session.call(method, [_buffer(array) for array in arrays])
        results = tuple(_array(*output) for output in outputs)
        return results[0] if len(results) == 1 else results

    @property
    def state(self) -> bytes:
        """The variables that the model keeps from call to call. They may be saved and put back."""
        return self._session.state

    @state.setter
    def state(self, state: bytes) -> None:
        self._session.state = state

    def reset(self) -> None:
        """Gives the variables their initial contents again."""
        self._session.reset()

    def profile(self) -> list[dict[str, Any]]:
        """A row for each kernel, with its times since the model was loaded with `profile=True`."""
        return self._session.profile()

    def __repr__(self) -> str:
        return f"<modelc.Net {', '.join(map(repr, self.signatures.values()))}>"

    def _repr_html_(self) -> str:
        return _frame(self._session.page())


class Compiled:
    """The files that a model is compiled to."""

    def __init__(self, compiled: _modelc.Compiled) -> None:
        self._compiled = compiled

    @property
    def object(self) -> bytes:
        """The object file."""
        return self._compiled.object

    @property
    def header(self) -> str:
        """The C header."""
        return self._compiled.header

    @property
    def weights(self) -> bytes | None:
        """The file of weights, with `weights="external"`."""
        return self._compiled.weights

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena."""
        return self._compiled.arena_bytes

    @property
    def report(self) -> dict[str, Any]:
        """The report, schema `modelc.report/1`."""
        report: dict[str, Any] = json.loads(self._compiled._report())
        return report

    @property
    def signatures(self) -> dict[str, Method]:
        """The methods by name."""
        return _methods(self._compiled._signatures())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the object, or a library if the name ends in `.a` or `.lib`, and its header beside it."""
        self._compiled.write(path)

    def _repr_html_(self) -> str:
        return _frame(self._compiled._page())


def _frame(page: str) -> str:
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: 0"></iframe>'


def load(
    model: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    dequantize: bool = False,
    profile: bool = False,
    **options: Unpack[LoadOptions],
) -> Net:
    """Compiles a model for this computer: the path of a file, or its bytes.

    With `dequantize` calls take and give float32 for quantized inputs and outputs. With `profile` kernels are measured. The other
    keywords are the command line's options; `modelc.options("load")` lists them.
    """
    arguments = _arguments("load", options)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Net(_modelc.Session(None, bytes(model), arguments, profile, dequantize))
    return Net(_modelc.Session(os.fspath(model), None, arguments, profile, dequantize))


def compile(model: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, **options: Unpack[CompileOptions]) -> Compiled:
    """Compiles a model file to an object, and writes it to `out` with its header beside it.

    The keywords are the command line's options; `modelc.options()` lists them. Without `out`, files that `emit` and the like name
    are written.
    """
    arguments = [os.fspath(model), *_arguments("compile", options)]
    if out is not None:
        arguments.append(f"--output={os.fspath(out)}")
    return Compiled(_modelc.compile(arguments))
