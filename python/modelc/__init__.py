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
from ._arrays import array as _array
from ._arrays import buffer as _buffer
from ._modelc import Error, Port, __version__
from ._options import CompileOptions, LoadOptions
from ._shared import SharedSession, is_library

__all__ = ["Compiled", "Error", "Method", "Net", "Port", "__version__", "compile", "load", "options"]

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


class Net:
    """A model that runs in this process. Several threads may call it; a call does not hold the interpreter's lock."""

    def __init__(self, session: _modelc.Session | SharedSession, measures: bool = False) -> None:
        self._session, self._measures = session, measures
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
        given = [_buffer(array) for array in arrays]
        if isinstance(self._session, SharedSession):
            results = tuple(self._session.call(method, given))
        else:
            results = tuple(_array(*output) for output in self._session.call(method, given))
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
        if isinstance(self._session, SharedSession):
            raise TypeError("a shared library does not measure its kernels: load the model with profile=True")
        if not self._measures:
            raise TypeError("the kernels are not measured: load the model with profile=True")
        return self._session.profile()

    def __repr__(self) -> str:
        return f"<modelc.Net {', '.join(map(repr, self.signatures.values()))}>"

    def _repr_html_(self) -> str:
        if isinstance(self._session, SharedSession):
            return f"<code>{html.escape(repr(self))}</code>"
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
        """Writes the object, or a library if the name ends in `.a`, `.lib` or `.so`, and its header beside it."""
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
    """Compiles a model for this computer: the path of a file, or its bytes. A shared library that modelc wrote is opened.

    With `dequantize` calls take and give float32 for quantized inputs and outputs. With `profile` kernels are measured. The other
    keywords are the command line's options; `modelc.options("load")` lists them.
    """
    arguments = _arguments("load", options)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Net(_modelc.Session(None, bytes(model), arguments, profile, dequantize), profile)
    path = os.fspath(model)
    if is_library(path):
        if arguments or profile:
            raise TypeError("load() takes no options for a shared library: it is compiled already")
        return Net(SharedSession(path, dequantize))
    return Net(_modelc.Session(path, None, arguments, profile, dequantize), profile)


def compile(model: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, **options: Unpack[CompileOptions]) -> Compiled:
    """Compiles a model file to an object, and writes it to `out` with its header beside it.

    The keywords are the command line's options; `modelc.options()` lists them. Without `out`, files that `emit` and the like name
    are written.
    """
    arguments = [os.fspath(model), *_arguments("compile", options)]
    if out is not None:
        arguments.append(f"--output={os.fspath(out)}")
    return Compiled(_modelc.compile(arguments))
