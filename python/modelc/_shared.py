"""Models in shared libraries, as `modelc -o libnet.so` writes them. They are called through ctypes, by their own description."""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
import threading
from typing import Any

import numpy as np

from ._arrays import array, buffer, dequantized, dtype, quantized
from ._modelc import Error, Port, _cpu_features, _explain

#: The record in every library and object, and where in it the strings start: version, target, CPU levels, name.
_RECORD, _STRINGS, _NAME = b"modelc net_info\0", 88, 3
#: Of files of ELF, the first bytes; and the type of shared libraries, with its offset.
_ELF, _LIBRARY, _TYPE = b"\x7fELF", 3, 16
#: The record at the beginning of a state, which has addresses.
_STATE_RECORD = 64


class _Config(ctypes.Structure):
    """`modelc_config`."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("weights", ctypes.c_void_p),
        ("weights_bytes", ctypes.c_size_t),
        ("areas", ctypes.c_void_p),
        ("n_areas", ctypes.c_size_t),
        ("parallel_for", ctypes.c_void_p),
        ("threads", ctypes.c_uint32),
        ("on_kernel", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("cpu_features", ctypes.c_uint64),
        ("vk", ctypes.c_void_p),
    ]


def is_library(path: str) -> bool:
    """Tests that a file is a shared library of ELF."""
    try:
        with open(path, "rb") as file:
            start = file.read(_TYPE + 2)
    except OSError:
        return False
    return start.startswith(_ELF) and int.from_bytes(start[_TYPE:], "little") == _LIBRARY


#: What a message says of the place of a mistake, in this order.
_PLACES = (("file", "{}"), ("method", "in {}"), ("tensor", 'tensor "{}"'))


def _error(code: str, message: str, **about: str) -> Error:
    place = [form.format(about[name]) for name, form in _PLACES if name in about]
    lines = [f"error[{code}]: {message}", *([f"  --> {', '.join(place)}"] if place else [])]
    lines += [f"{name:>10}: {about[name]}" for name in ("expected", "found", "help") if name in about]
    error = Error("\n".join(lines))
    fields: dict[str, Any] = dict.fromkeys(("file", "method", "operator", "tensor", "expected", "found", "help"))
    fields |= {"code": code, "kind": "invalid", "message": message, "others": [], **about}
    for field, value in fields.items():
        setattr(error, field, value)
    return error


def _opened(path: str) -> tuple[ctypes.CDLL, dict[str, Any]]:
    """A library, and what it says of its model. Nothing of a file without a model runs."""
    with open(path, "rb") as file:
        contents = file.read()
    at = contents.find(_RECORD)
    strings = contents[at + _STRINGS :].split(b"\0", _NAME + 1) if at >= 0 else []
    if len(strings) <= _NAME:
        raise _no_model(path)
    try:
        library = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        raise _error("MC0102", f"the library cannot be loaded: {error}", file=path) from None
    try:
        text = ctypes.c_char.in_dll(library, f"{strings[_NAME].decode(errors='replace')}_ports")
    except ValueError:
        raise _no_model(path) from None
    description: dict[str, Any] = json.loads(ctypes.string_at(ctypes.addressof(text)))
    return library, description


def _no_model(path: str) -> Error:
    return _error("MC0101", "the library holds no model of modelc", file=path, help="modelc MODEL -o libnet.so makes one")


class _Memory:
    """Zeros at a multiple of an alignment."""

    def __init__(self, size: int, alignment: int) -> None:
        self._bytes = ctypes.create_string_buffer(max(size, 1) + alignment)
        start = ctypes.addressof(self._bytes)
        self.address = start + -start % alignment
        self.size = size

    def write(self, contents: bytes) -> None:
        ctypes.memmove(self.address, contents, len(contents))


class _Port:
    """An input or output, and its fields in the struct of a call."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said, self.name, self.type, self.bits = said, said["name"], said["type"], said["bits"]
        self.offset, self.is_number = said["offset"], said["scalar"]
        self.shape, self.bytes = said["shape"], said["bytes"]
        self.least = said.get("least", self.shape)
        self.order = said.get("dim_order", list(range(len(self.shape))))
        self.scales = said.get("scales")

    @property
    def end(self) -> int:
        """Where its fields end."""
        if self.is_number:
            return int(self.offset + dtype(self.type).itemsize)
        return int(self.said["shape_offset"] + 8 * len(self.shape) if "shape_offset" in self.said else self.offset + 8)

    def in_file_order(self, extents: list[int]) -> list[int]:
        """Extents of the buffer as the model file has them."""
        found = [0] * len(extents)
        for extent, dimension in zip(extents, self.order, strict=True):
            found[dimension] = extent
        return found

    def public(self, labels: list[str]) -> Port:
        """The port as signatures have it."""
        axis = self.said["axis"] if self.scales and len(self.scales) > 1 else None
        most, least = self.in_file_order(self.shape), self.in_file_order(self.least)
        points, mean, std = (self.said.get(key) for key in ("zero_points", "mean", "std"))
        return Port(self.name, self.type, most, least, self.scales, points, axis, labels, mean, std)

    def real(self, values: Any) -> Any:
        """Integers as float32, if they stand for real numbers."""
        if not self.scales:
            return values
        return dequantized(values, self.scales, self.said["zero_points"], self.said["axis"])

    def integers(self, values: Any) -> Any:
        """Float32 as integers, if the port takes such."""
        if not self.scales or values.dtype != np.float32 or self.type == "float32":
            return values
        return quantized(values, self.scales, self.said["zero_points"], self.said["axis"], f"{self.type.rstrip('0123456789')}{self.bits}")

    def check(self, number: int, given: Any, shape: tuple[int, ...], method: str) -> None:
        """Checks an array as sessions do."""
        place = {"method": method, "tensor": self.name or f"in{number}"}
        wanted = "uint16" if self.type == "bfloat16" else dtype(self.type).name
        if given.dtype.name != wanted:
            raise _error("MC0503", "the array does not have the input's type", **place, expected=wanted, found=given.dtype.name)
        most, least = self.in_file_order(self.shape), self.in_file_order(self.least)
        multiples = self.in_file_order(self.said.get("multiples", [1] * len(self.shape)))
        fits = len(shape) == len(most) and all(
            low <= extent <= high and extent % multiple == 0
            for extent, low, high, multiple in zip(shape, least, most, multiples, strict=True)
        )
        if not fits:
            expected = ", ".join(str(high) if low == high else f"{low} to {high}" for low, high in zip(least, most, strict=True))
            raise _error("MC0502", "the array does not have the input's shape", **place, expected=f"[{expected}]", found=str(list(shape)))

    def packed(self, values: Any) -> Any:
        """Elements of less than a byte as the library takes them, the first one in the low bits."""
        if self.bits >= 8:
            return values
        each = 8 // self.bits
        flat = values.reshape(-1).astype(np.uint8) & ((1 << self.bits) - 1)
        flat = np.append(flat, np.zeros(-flat.size % each, np.uint8)).reshape(-1, each)
        return np.bitwise_or.reduce(flat << (np.arange(each, dtype=np.uint8) * self.bits), axis=1).astype(np.uint8)

    def unpacked(self, memory: bytearray, count: int) -> Any:
        """The elements that a library wrote."""
        if self.bits >= 8:
            return array(memory, self.type, [count])
        each = 8 // self.bits
        shifts = np.arange(each, dtype=np.uint8) * self.bits
        flat = (np.frombuffer(memory, np.uint8)[:, None] >> shifts & ((1 << self.bits) - 1)).reshape(-1)[:count]
        if self.type.startswith("u"):
            return flat
        sign = 1 << (self.bits - 1)
        return ((flat ^ sign).astype(np.int8) - np.int8(sign)).astype(np.int8)


class _Method:
    """A method: its ports, and its function."""

    def __init__(self, said: dict[str, Any], function: Any) -> None:
        self.name = said["name"]
        self.inputs, self.outputs = [_Port(port) for port in said["inputs"]], [_Port(port) for port in said["outputs"]]
        self.function = function

    def fill(self, arrays: list[tuple[Any, tuple[int, ...]]]) -> tuple[Any, list[Any]]:
        """The struct of inputs, and what it points to."""
        if len(arrays) != len(self.inputs):
            counts = {"expected": str(len(self.inputs)), "found": str(len(arrays))}
            raise _error("MC0510", "the method takes another number of inputs", method=self.name, **counts)
        memory, kept = _struct(self.inputs), []
        for number, (port, (given, shape)) in enumerate(zip(self.inputs, arrays, strict=True)):
            port.check(number, given, shape, self.name)
            values = np.ascontiguousarray(port.packed(given.reshape(shape).transpose(port.order)))
            if values.size == 0 or values.ctypes.data % max(values.itemsize, 1):
                values = np.concatenate([values.reshape(-1), np.zeros(1, values.dtype)])
            kept.append(values)
            if port.is_number:
                ctypes.memmove(ctypes.addressof(memory) + port.offset, values.ctypes.data, values.itemsize)
                continue
            struct.pack_into("P", memory, port.offset, values.ctypes.data)
            if "shape_offset" in port.said:
                struct.pack_into(f"{len(shape)}N", memory, port.said["shape_offset"], *(shape[dimension] for dimension in port.order))
        return memory, kept

    def prepare(self) -> tuple[Any, list[bytearray]]:
        """The struct of outputs, and their memory."""
        memory, buffers = _struct(self.outputs), []
        for port in self.outputs:
            buffers.append(bytearray(max(port.bytes, 1)))
            if not port.is_number:
                struct.pack_into("P", memory, port.offset, ctypes.addressof(ctypes.c_char.from_buffer(buffers[-1])))
        return memory, buffers

    def results(self, memory: Any, buffers: list[bytearray]) -> list[Any]:
        """The outputs of a call."""
        found = []
        for port, written in zip(self.outputs, buffers, strict=True):
            shape = list(port.shape)
            if port.is_number:
                written = bytearray(memory)[port.offset : port.offset + dtype(port.type).itemsize]
            elif "shape_offset" in port.said:
                shape = list(struct.unpack_from(f"{len(shape)}N", memory, port.said["shape_offset"]))
            values = port.unpacked(written, math.prod(shape)).reshape(shape)
            found.append(values.transpose(np.argsort(port.order)) if shape else values)
        return found


def _struct(ports: list[_Port]) -> Any:
    """Zeros for the struct of some ports, at a multiple of 8."""
    words = -(-max((port.end for port in ports), default=4) // 8)
    return (ctypes.c_uint64 * words)()


class SharedSession:
    """An instance of the model in a library, as `Net` calls it."""

    def __init__(self, path: str, dequantizes: bool) -> None:
        self._library, self._said = _opened(path)
        self._dequantizes = dequantizes
        self._lock = threading.Lock()
        self._methods = [_Method(method, self._function(method["function"])) for method in self._said["methods"]]
        size = self._said["state_bytes"] + self._said["scratch_bytes"]
        self._arena = _Memory(size, self._said["alignment"])
        self._config, self._kept = self._configuration(path)
        self._check(self._function("init")(ctypes.c_void_p(self._arena.address), ctypes.c_size_t(size), ctypes.byref(self._config)))

    def _function(self, name: str) -> Any:
        function = getattr(self._library, f"{self._said['name']}_{name}")
        function.restype = ctypes.c_int
        return function

    def _configuration(self, path: str) -> tuple[_Config, list[Any]]:
        config = _Config(struct_size=ctypes.sizeof(_Config), cpu_features=_cpu_features())
        areas = [_Memory(size, self._said["alignment"]) for size in self._said["area_bytes"]]
        addresses = (ctypes.c_void_p * max(len(areas), 1))(*(area.address for area in areas))
        kept: list[Any] = [areas, addresses]
        if areas:
            config.areas, config.n_areas = ctypes.addressof(addresses), len(areas)
        if self._said["weights_bytes"] is not None:
            file = f"{os.path.splitext(path)[0]}.bin"
            if not os.path.exists(file):
                raise _error("MC0102", "the weights are not beside the library", file=file)
            with open(file, "rb") as weights:
                contents = weights.read()
            memory = _Memory(len(contents), self._said["alignment"])
            memory.write(contents)
            config.weights, config.weights_bytes = memory.address, len(contents)
            kept.append(memory)
        return config, kept

    def _check(self, status: int, method: str | None = None) -> None:
        if status != 0:
            raise _error("MC0513", f"the call ended with status {status}: {_explain(status)}", **({"method": method} if method else {}))

    def signatures(self) -> list[tuple[str, list[Port], list[Port]]]:
        """The methods with their ports."""
        found = []
        for number, method in enumerate(self._methods):
            # The first list of labels of a file is that of its first output.
            labels = [self._said.get("labels", []) if number == output == 0 else [] for output in range(len(method.outputs))]
            outputs = [port.public(own) for port, own in zip(method.outputs, labels, strict=True)]
            found.append((method.name, [port.public([]) for port in method.inputs], outputs))
        return found

    def call(self, number: int, inputs: list[tuple[Any, tuple[int, ...]]]) -> list[Any]:
        """Calls a method on buffers. ctypes gives the interpreter's lock away while the library runs."""
        method = self._methods[number]
        if self._dequantizes:
            real = [port.integers(given.reshape(shape)) for port, (given, shape) in zip(method.inputs, inputs, strict=False)]
            inputs = [buffer(values) for values in real] + inputs[len(real) :]
        taken, kept = method.fill(inputs)
        given, buffers = method.prepare()
        with self._lock:
            status = method.function(ctypes.c_void_p(self._arena.address), ctypes.byref(taken), ctypes.byref(given))
        del kept
        self._check(status, method.name)
        results = method.results(given, buffers)
        return [port.real(values) for port, values in zip(method.outputs, results, strict=True)] if self._dequantizes else results

    @property
    def _mark(self) -> bytes:
        return f"{self._said['name']} {self._said['abi_hash']}\n".encode()

    @property
    def state(self) -> bytes:
        """The variables."""
        with self._lock:
            return self._mark + ctypes.string_at(self._arena.address + _STATE_RECORD, self._said["state_bytes"] - _STATE_RECORD)

    @state.setter
    def state(self, state: bytes) -> None:
        variables = state.removeprefix(self._mark)
        if variables == state or len(variables) != self._said["state_bytes"] - _STATE_RECORD:
            raise _error("MC0513", "the state is of another model")
        with self._lock:
            ctypes.memmove(self._arena.address + _STATE_RECORD, variables, len(variables))

    def reset(self) -> None:
        """Gives the variables their initial contents again."""
        with self._lock:
            self._check(self._function("reset")(ctypes.c_void_p(self._arena.address)))
