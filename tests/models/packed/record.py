"""Makes the models of this folder, whose weights have two or four bits, and records what LiteRT answers.

    pip install ai-edge-litert==2.3.0 flatbuffers numpy
    python record.py [NAME...]

Models whose inputs or outputs have four bits are answered by LiteRT as they are: names that begin with `port`.

LiteRT's kernels lack some of these combinations, and are wrong in others: a convolution with two-bit weights reads four bytes as one, rows of a table that
end within a byte are read from its start, blocks of two bits are left out. So the answers are those of a twin, the same model whose weights have a byte
each; four bits where they are in blocks, which the optimised kernels alone multiply. The reference kernels answer everything else.
"""

import pathlib
import sys
import zlib

import flatbuffers
import numpy as np
from ai_edge_litert import interpreter as lite
from ai_edge_litert import schema_py_generated as schema

CALLS = 2
Type, Operator, Options = schema.TensorType, schema.BuiltinOperator, schema.BuiltinOptions
F32, F16, I8, I16, I32, I64 = Type.FLOAT32, Type.FLOAT16, Type.INT8, Type.INT16, Type.INT32, Type.INT64
I2, I4, U4 = Type.INT2, Type.INT4, Type.UINT4
BITS = {I2: 2, I4: 4, U4: 4}
NUMPY = {F32: np.float32, F16: np.float16, I8: np.int8, Type.UINT8: np.uint8, I16: np.int16, I32: np.int32, I64: np.int64}
VERSIONS = {Operator.FULLY_CONNECTED: 9, Operator.CONV_2D: 5, Operator.DEPTHWISE_CONV_2D: 6, Operator.DEQUANTIZE: 6, Operator.QUANTIZE: 4,
            Operator.EMBEDDING_LOOKUP: 4, Operator.GATHER: 4, Operator.BATCH_MATMUL: 3}


def packed(numbers, bits):
    """Integers, the first of a byte in its low bits."""
    per_byte = 8 // bits
    numbers = numbers.reshape(-1) & ((1 << bits) - 1)
    numbers = np.append(numbers, np.zeros(-len(numbers) % per_byte, numbers.dtype)).reshape(-1, per_byte)
    return sum(numbers[:, place] << (bits * place) for place in range(per_byte)).astype(np.uint8)


class Model:
    """A model in the making, or its twin."""

    def __init__(self, name, twin):
        self.random, self.twin, self.has_blocks = np.random.default_rng(zlib.crc32(name.encode())), twin, False
        self.buffers, self.tensors, self.operators, self.codes, self.inputs = [schema.BufferT()], [], [], [], []

    def tensor(self, element, shape, numbers=None, scales=None, zero_point=0, axis=0, blocks=None):
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.name, tensor.buffer = list(shape), element, f"t{len(self.tensors)}", 0
        if self.twin and element in BITS:
            tensor.type = {I2: I8, I4: I8, U4: Type.UINT8}[element] if blocks is None else I4
        if numbers is not None:
            buffer = schema.BufferT()
            bits = BITS.get(tensor.type)
            buffer.data = packed(numbers, bits) if bits else numbers.astype(NUMPY[tensor.type]).reshape(-1).view(np.uint8)
            self.buffers.append(buffer)
            tensor.buffer = len(self.buffers) - 1
        if scales is not None or blocks is not None:
            tensor.quantization = schema.QuantizationParametersT()
        if scales is not None:
            tensor.quantization.scale, tensor.quantization.quantizedDimension = [float(scale) for scale in scales], axis
            tensor.quantization.zeroPoint = [zero_point] * len(scales)
        if blocks is not None:
            self.has_blocks = True
            details = schema.BlockwiseQuantizationT()
            details.scales, details.blockSize = blocks
            tensor.quantization.details, tensor.quantization.detailsType = details, schema.QuantizationDetails.BlockwiseQuantization
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, element, shape, **quantization):
        tensor = self.tensor(element, shape, **quantization)
        self.inputs.append(tensor)
        return tensor

    def weights(self, element, shape, scales=1, zero_point=0, axis=0):
        """Random integers of a packed type; one scale, or one a slice."""
        low, high = {I2: (-2, 2), I4: (-8, 8), U4: (0, 16)}[element]
        numbers = self.random.integers(low, high, shape)
        scales = self.random.uniform(0.01, 0.1, scales)
        return self.tensor(element, shape, numbers, scales, zero_point, axis)

    def blocks(self, element, shape, size):
        low, high = {I2: (-2, 2), I4: (-8, 8)}[element]
        numbers = self.random.integers(low, high, shape)
        count = (shape[0], shape[1] // size)
        scales = self.tensor(F16, count, self.random.uniform(0.01, 0.1, count))
        return self.tensor(element, shape, numbers, blocks=(scales, size))

    def operator(self, code, inputs, element, shape, options=None, **quantization):
        output = self.tensor(element, shape, **quantization)
        of_code = schema.OperatorCodeT()
        of_code.builtinCode, of_code.deprecatedBuiltinCode, of_code.version = code, min(code, 127), VERSIONS.get(code, 1)
        self.codes.append(of_code)
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = len(self.codes) - 1, inputs, [output]
        if options is not None:
            operator.builtinOptions, operator.builtinOptionsType = options, getattr(Options, type(options).__name__[:-1])
        self.operators.append(operator)
        return output

    def dequantized(self, weights):
        return self.operator(Operator.DEQUANTIZE, [weights], F32, self.tensors[weights].shape)

    def fully_connected(self, x, weights, element, shape, **quantization):
        options = schema.FullyConnectedOptionsT()
        bias = self.tensor(I64 if element == I16 else I32 if element == I8 else F32, shape[-1:], self.random.integers(-9, 9, shape[-1:]))
        return self.operator(Operator.FULLY_CONNECTED, [x, weights, bias], element, shape, options, **quantization)

    def convolution(self, x, weights, element, shape, depthwise=False, **quantization):
        options = schema.DepthwiseConv2DOptionsT() if depthwise else schema.Conv2DOptionsT()
        options.strideW = options.strideH = options.dilationWFactor = options.dilationHFactor = 1
        if depthwise:
            options.depthMultiplier = 1
        bias = self.tensor(I32 if element == I8 else F32, shape[-1:], self.random.integers(-9, 9, shape[-1:]))
        code = Operator.DEPTHWISE_CONV_2D if depthwise else Operator.CONV_2D
        return self.operator(code, [x, weights, bias], element, shape, options, **quantization)

    def product(self, x, weights, shape, transposed):
        options = schema.BatchMatMulOptionsT()
        options.adjY = transposed
        return self.operator(Operator.BATCH_MATMUL, [x, weights], F32, shape, options)

    def file(self, output):
        graph, model = schema.SubGraphT(), schema.ModelT()
        graph.tensors, graph.operators, graph.inputs, graph.outputs, graph.name = self.tensors, self.operators, self.inputs, [output], "main"
        model.version, model.operatorCodes, model.subgraphs, model.buffers, model.description = 3, self.codes, [graph], self.buffers, "packed"
        builder = flatbuffers.Builder(4096)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def embedding(table, element=F32):
    """Rows of a table of 9 rows."""

    def make(model):
        ids = model.input(I32, [5])
        rows = table(model)
        return model.operator(Operator.EMBEDDING_LOOKUP, [ids, rows], element, [5] + list(model.tensors[rows].shape[1:]))

    return make


def picked(element, shape, axis, zero_point, first):
    """Slices of a tensor, gathered before they become floats or after it."""

    def make(model):
        ids = model.input(I32, [5])
        weights = model.weights(element, shape, zero_point=zero_point)
        options = schema.GatherOptionsT()
        options.axis = axis
        result = shape[:axis] + [5] + shape[axis + 1:]
        if not first:
            return model.operator(Operator.GATHER, [model.dequantized(weights), ids], F32, result, options)
        same = model.tensors[weights].quantization
        slices = model.operator(Operator.GATHER, [weights, ids], element, result, options, scales=same.scale, zero_point=zero_point)
        return model.dequantized(slices)

    return make


def product(element, units, depth, count=2, **weights):
    """Rows times weights that become floats first."""

    def make(model):
        x = model.input(F32, [count, depth])
        filter = model.dequantized(model.weights(element, [units, depth], **weights))
        return model.fully_connected(x, filter, F32, [count, units])

    return make


def quantized_product(filter, units, depth, element=F32):
    """Rows times weights as they are."""
    scale = {I8: (0.05, 0.1), I16: (0.01, 0.005)}.get(element)
    of = lambda number, zero_point: {} if scale is None else {"scales": [scale[number]], "zero_point": zero_point if element == I8 else 0}

    def make(model):
        x = model.input(element, [3, depth], **of(0, 4))
        return model.fully_connected(x, filter(model), element, [3, units], **of(1, -7))

    return make


def image(element, shape, channels, weights, is_float=True, activations=F32, depthwise=False):
    """An image of 6 × 5 pixels under 3 × 3 windows."""

    def make(model):
        quantization = {"scales": [0.05], "zero_point": 3} if activations == I8 else {}
        x = model.input(activations, [1, 6, 5, channels], **quantization)
        filter = model.weights(element, shape, axis=3 if depthwise else 0, **weights)
        filter = model.dequantized(filter) if is_float else filter
        outputs = shape[3] if depthwise else shape[0]
        quantization = {"scales": [0.2], "zero_point": -4} if activations == I8 else {}
        return model.convolution(x, filter, activations, [1, 6, 5, outputs], depthwise, **quantization)

    return make


def matrices(element, count, transposed, is_float):
    """Products of matrices, all with their own weights or with the same."""

    def make(model):
        x = model.input(F32, [count, 3, 17])
        filter = model.weights(element, [count, 12, 17] if transposed else [count, 17, 12])
        filter = model.dequantized(filter) if is_float else filter
        return model.product(x, filter, [count, 3, 12], transposed)

    return make


def added(element, shape, **weights):
    """A tensor of floats plus constants."""

    def make(model):
        x = model.input(F32, shape)
        return model.operator(Operator.ADD, [x, model.dequantized(model.weights(element, shape, **weights))], F32, shape, schema.AddOptionsT())

    return make


def rounded(element, zero_point):
    """Floats rounded to steps, which two operators read."""

    def make(model):
        x = model.input(F32, [3, 7])
        steps = model.operator(Operator.QUANTIZE, [x], element, [3, 7], scales=[0.25], zero_point=zero_point)
        shape = model.tensor(I32, [2], np.array([7, 3]))
        turned = model.operator(Operator.RESHAPE, [steps, shape], element, [7, 3], scales=[0.25], zero_point=zero_point)
        first, second = model.dequantized(steps), model.dequantized(turned)
        second = model.operator(Operator.RESHAPE, [second, model.tensor(I32, [2], np.array([3, 7]))], F32, [3, 7])
        return model.operator(Operator.MUL, [first, second], F32, [3, 7], schema.MulOptionsT())

    return make


def port(element, then, shape=(3, 5), scales=(0.25,), axis=0, zero_point=0):
    """An input of a packed type, and what an operator makes of it."""

    def make(model):
        return then(model, model.input(element, list(shape), scales=scales, axis=axis, zero_point=zero_point))

    return make


def moved(code, of, shape, options=None):
    """Packed integers that an operator moves, then as floats."""

    def make(model, x):
        element = model.tensors[x].type
        operands = [x] + [model.tensor(I32, [len(numbers)], np.array(numbers)) for numbers in of]
        return model.dequantized(model.operator(code, operands, element, shape, options, scales=[0.25]))

    return make


def joined(model, x):
    """Packed integers turned, joined with constants, returned."""
    element, options = model.tensors[x].type, schema.ConcatenationOptionsT()
    turned = model.operator(Operator.TRANSPOSE, [x, model.tensor(I32, [2], np.array([1, 0]))], element, [5, 3], schema.TransposeOptionsT(), scales=[0.25])
    constant = model.tensor(element, [2, 3], model.random.integers(0, 8, [2, 3]), [0.25])
    return model.operator(Operator.CONCATENATION, [turned, constant], element, [7, 3], options, scales=[0.25])


def steps(element, shape, zero_point):
    """Floats as packed integers, which are returned."""

    def make(model):
        x = model.input(F32, shape)
        return model.operator(Operator.QUANTIZE, [x], element, shape, scales=[0.5], zero_point=zero_point)

    return make


def looked_up(model, x):
    ids = model.input(I32, [2])
    return model.operator(Operator.EMBEDDING_LOOKUP, [ids, x], F32, [2] + list(model.tensors[x].shape[1:]))


def filtered(element, shape, channels, outputs, depthwise=False):
    """An image under a filter that the caller gives."""

    def make(model, x):
        scales = {"scales": [0.05]} if element == I8 else {}
        image = model.input(element, [1, 6, 5, channels], **scales)
        scales = {"scales": [0.5], "zero_point": 3} if element == I8 else {}
        return model.convolution(image, x, element, [1, 6, 5, outputs], depthwise, **scales)

    return make


def multiplied(model, x):
    units, depth = model.tensors[x].shape
    return model.fully_connected(model.input(F32, [3, depth]), x, F32, [3, units])


PORTS = {
    "port_i4": port(I4, lambda model, x: model.dequantized(x), scales=(0.5, 0.25, 1), zero_point=0),
    "port_u4": port(U4, lambda model, x: model.dequantized(x), (7, 19), zero_point=7),
    "port_i4_long": port(I4, lambda model, x: model.dequantized(x), (5, 1031), zero_point=-2),
    "port_i4_cast": port(I4, lambda model, x: model.operator(Operator.CAST, [x], F32, [3, 5], schema.CastOptionsT())),
    "port_i4_joined": port(I4, joined),
    "port_u4_turned": port(U4, moved(Operator.TRANSPOSE, [[1, 0]], [5, 3], schema.TransposeOptionsT())),
    "port_i4_sliced": port(I4, moved(Operator.SLICE, [[1, 1], [2, 3]], [2, 3], schema.SliceOptionsT())),
    "port_i4_gathered": port(I4, moved(Operator.GATHER, [[2, 0, 1, 2]], [4, 6], schema.GatherOptionsT()), (3, 6)),
    "port_i4_table": port(I4, looked_up, (9, 8)),
    "port_i4_conv": port(I4, filtered(I8, None, 3, 4), (4, 3, 3, 3)),
    "port_i4_depthwise": port(I4, filtered(I8, None, 3, 3, True), (1, 3, 3, 3)),
    "port_i4_fully_connected": port(I4, multiplied, (6, 9)),
    "port_i4_steps": steps(I4, [3, 7], 0),
    "port_u4_steps": steps(U4, [41, 13], 9),
    "port_i4_of_floats": lambda model: model.operator(Operator.CAST, [model.input(F32, [3, 7])], I4, [3, 7], schema.CastOptionsT()),
    "port_u4_of_floats": lambda model: model.operator(Operator.CAST, [model.input(F32, [3, 7])], U4, [3, 7], schema.CastOptionsT()),
}
MODELS = PORTS | {
    "embedding_i2": embedding(lambda model: model.weights(I2, [9, 16], 9)),
    "embedding_i2_odd": embedding(lambda model: model.weights(I2, [9, 7])),
    "embedding_i4": embedding(lambda model: model.weights(I4, [9, 2, 8], 9)),
    "embedding_i4_odd": embedding(lambda model: model.weights(I4, [9, 7], 9)),
    "embedding_i4_f16": embedding(lambda model: model.weights(I4, [9, 10], 9), F16),
    "embedding_i4_blocks": embedding(lambda model: model.blocks(I4, [9, 64], 32)),
    "gather_i4": picked(I4, [9, 10], 0, 2, True),
    "gather_i4_axis": picked(I4, [4, 9, 6], 1, 0, True),
    "gather_i4_last": picked(I4, [3, 9], 1, 0, True),
    "table_i4": picked(I4, [9, 70], 0, -1, False),
    "table_u4": picked(U4, [9, 11], 0, 8, False),
    "weight_only_i2": product(I2, 12, 48, scales=12),
    "weight_only_i2_odd": product(I2, 5, 9, scales=5),
    "weight_only_i4": product(I4, 40, 64, count=1, scales=40),
    "weight_only_i4_zero": product(I4, 7, 40, scales=7, zero_point=-3),
    "weight_only_i4_depth": product(I4, 6, 24, scales=24, axis=1),
    "weight_only_u4": product(U4, 10, 40, zero_point=7),
    "fully_connected_i2": quantized_product(lambda model: model.weights(I2, [18, 32], 18), 18, 32),
    "fully_connected_i2_odd": quantized_product(lambda model: model.weights(I2, [5, 9]), 5, 9),
    "fully_connected_i2_blocks": quantized_product(lambda model: model.blocks(I2, [18, 64], 32), 18, 64),
    "fully_connected_i2_i8": quantized_product(lambda model: model.weights(I2, [10, 21], 10), 10, 21, I8),
    "fully_connected_i4_i16": quantized_product(lambda model: model.weights(I4, [10, 20], 10), 10, 20, I16),
    "conv_i2": image(I2, [9, 3, 3, 5], 5, {"scales": 9}, is_float=False),
    "conv_i2_i8": image(I2, [10, 3, 3, 4], 4, {"scales": 10}, is_float=False, activations=I8),
    "conv_i2_weight_only": image(I2, [3, 3, 3, 3], 3, {"scales": 3}),
    "conv_i4_weight_only": image(I4, [16, 3, 3, 8], 8, {"scales": 16}),
    "conv_u4_weight_only": image(U4, [6, 3, 3, 4], 4, {"zero_point": 8}),
    "depthwise_i2_weight_only": image(I2, [1, 3, 3, 7], 7, {"scales": 7}, depthwise=True),
    "depthwise_i4": image(I4, [1, 3, 3, 16], 16, {"scales": 16}, is_float=False, depthwise=True),
    "matmul_i2_weight_only": matrices(I2, 3, False, True),
    "matmul_i4_weight_only": matrices(I4, 1, False, True),
    "matmul_i4": matrices(I4, 1, True, False),
    "matmul_i4_batches": matrices(I4, 2, False, False),
    "add_i4": added(I4, [5, 13], scales=5),
    "add_i2": added(I2, [40, 50], scales=50, axis=1),
    "add_u4": added(U4, [3, 5, 7], zero_point=9),
    "fake_quant_u4": rounded(U4, 6),
    "fake_quant_i4": rounded(I4, -2),
}


def numbers(random, details, packed_type):
    shape, dtype = tuple(details["shape"]), np.dtype(details["dtype"])
    if dtype == np.float32:
        return random.standard_normal(shape).astype(dtype)
    if dtype == np.int32:
        return random.integers(0, 9, shape).astype(dtype)
    if packed_type in BITS:
        return random.integers(*({I4: (-8, 8), U4: (0, 16)}[packed_type]), shape).astype(dtype)
    return random.integers(-100, 100, shape).astype(dtype)


def record(name):
    path = pathlib.Path(__file__).parent / name
    model = Model(name, False)
    path.with_suffix(".tflite").write_bytes(model.file(MODELS[name](model)))
    twin = Model(name, name not in PORTS)
    kernels = lite.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if model.has_blocks else lite.OpResolverType.BUILTIN_REF
    interpreter = lite.Interpreter(model_content=twin.file(MODELS[name](twin)), experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    random, inputs, outputs = np.random.default_rng(zlib.crc32(name.encode())), {}, {}
    # Steps are clamped to those of a packed type, which the twin does not have.
    within = {"fake_quant_u4": (-1.5, 2.25), "fake_quant_i4": (-1.5, 2.25)}.get(name)
    for call in range(CALLS):
        for index, details in enumerate(interpreter.get_input_details()):
            x = numbers(random, details, twin.tensors[twin.inputs[index]].type)
            x = 4 * x if name in PORTS and x.dtype == np.float32 else x
            inputs[f"in{call}_{index}"] = x if within is None else 2 * x
            interpreter.set_tensor(details["index"], x if within is None else np.clip(2 * x, *within))
        interpreter.invoke()
        outputs[f"out{call}_0"] = np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    np.savez_compressed(path.with_suffix(".inputs.npz"), **inputs)
    np.savez_compressed(path.with_suffix(".expected.npz"), **outputs)


if __name__ == "__main__":
    for name in sys.argv[1:] or MODELS:
        record(name)
