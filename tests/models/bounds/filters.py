"""Makes models whose filters have run-time extents, and quantized products over a run-time number of factors; records what LiteRT answers.

    pip install ai-edge-litert==2.3.0 flatbuffers numpy
    python filters.py [NAME...]
"""

import pathlib
import sys
import zlib

import numpy as np
from ai_edge_litert import interpreter as lite

folder = pathlib.Path(__file__).parent
sys.path.append(str(folder.parent / "packed"))
from record import F32, I8, I32, Model, Operator, Type, schema  # noqa: E402

U8 = Type.UINT8
SAME, VALID = 0, 1
# Rows, columns and output channels of the filter in each call.
WINDOWS = [(3, 3, 4), (1, 1, 1), (2, 3, 6), (5, 4, 3), (4, 5, 2)]


def scaled(element, scale, zero_point=0):
    return {} if element == F32 else {"scales": [scale], "zero_point": zero_point}


def options(name, stride, padding, **others):
    made = getattr(schema, name)()
    made.strideW = made.strideH = stride
    made.padding = padding
    for field, value in others.items():
        setattr(made, field, value)
    return made


def convolution(element, stride, padding, dilation=1, filter=None, zero_point=0):
    filter = element if filter is None else filter
    zeros = {F32: (0, 0), I8: (3, -5), U8: (120, 100)}[element]

    def make(model):
        x = model.input(element, [1, 9, 8, 3], **scaled(element, 0.1, zeros[0]))
        weights = model.input(filter, [4, 3, 3, 3], **scaled(filter, 0.05, zero_point))
        bias = model.input(F32 if element == F32 else I32, [4], **scaled(element, 0.005))
        choice = options("Conv2DOptionsT", stride, padding, dilationWFactor=dilation, dilationHFactor=dilation)
        return model.operator(Operator.CONV_2D, [x, weights, bias], element, [1, 9, 8, 4], choice, **scaled(element, 0.3, zeros[1]))

    return make, lambda call: {1: [call[2], call[0], call[1], 3], 2: [call[2]]}


def depthwise(element, stride, padding):
    def make(model):
        x = model.input(element, [1, 9, 8, 5], **scaled(element, 0.1, 3))
        weights = model.input(element, [1, 3, 3, 5], **scaled(element, 0.05))
        choice = options("DepthwiseConv2DOptionsT", stride, padding, dilationWFactor=1, dilationHFactor=1, depthMultiplier=1)
        return model.operator(Operator.DEPTHWISE_CONV_2D, [x, weights], element, [1, 9, 8, 5], choice, **scaled(element, 0.3, -5))

    return make, lambda call: {1: [1, call[0], call[1], 5]}


def transposed(element, padding, size):
    def make(model):
        shape = model.tensor(I32, [4], np.array([1, *size, 4]))
        weights = model.input(element, [4, 3, 3, 2], **scaled(element, 0.05))
        x = model.input(element, [1, 5, 4, 2], **scaled(element, 0.1, 3))
        choice = options("TransposeConvOptionsT", 2, padding)
        return model.operator(Operator.TRANSPOSE_CONV, [shape, weights, x], element, [1, *size, 4], choice, **scaled(element, 0.3, -5))

    return make, lambda call: {0: [4, call[0], call[1], 2]}


def factors(model):
    x = model.input(I8, [2, 3, 4], scales=[0.5], zero_point=-3)
    axes = model.tensor(I32, [1], np.array([1]))
    return model.operator(Operator.REDUCE_PROD, [x, axes], I8, [2, 4], schema.ReducerOptionsT(), scales=[0.4], zero_point=5)


MODELS = {
    "filters": convolution(F32, 1, SAME),
    "filters_apart": convolution(F32, 2, SAME),
    "filters_dilated": convolution(F32, 1, SAME, dilation=2),
    "filters_valid": convolution(F32, 2, VALID),
    "filters_int8": convolution(I8, 1, SAME),
    "filters_uint8": convolution(U8, 1, VALID, zero_point=77),
    "filters_hybrid": convolution(F32, 1, SAME, filter=I8),
    "filters_depthwise": depthwise(F32, 2, SAME),
    "filters_depthwise_int8": depthwise(I8, 1, VALID),
    "filters_transposed": transposed(F32, SAME, (10, 8)),
    "filters_transposed_int8": transposed(I8, SAME, (10, 8)),
    "products_int8": (factors, lambda call: {0: [2, call[0] + call[1], 4]}),
}


def numbers(random, details):
    shape, dtype = details["shape"], np.dtype(details["dtype"])
    if dtype == np.float32:
        return random.standard_normal(shape).astype(dtype)
    return random.integers(*((0, 255) if dtype == np.uint8 else (-50, 50)), shape).astype(dtype)


def record(name):
    make, shapes = MODELS[name]
    model = Model(name, False)
    path = folder / name
    path.with_suffix(".tflite").write_bytes(model.file(make(model)))
    random, inputs, outputs = np.random.default_rng(zlib.crc32(name.encode())), {}, {}
    for call, window in enumerate(WINDOWS):
        interpreter = lite.Interpreter(str(path.with_suffix(".tflite")), experimental_op_resolver_type=lite.OpResolverType.BUILTIN_REF)
        for index, shape in shapes(window).items():
            interpreter.resize_tensor_input(interpreter.get_input_details()[index]["index"], shape)
        interpreter.allocate_tensors()
        for index, details in enumerate(interpreter.get_input_details()):
            inputs[f"in{call}_{index}"] = numbers(random, details)
            interpreter.set_tensor(details["index"], inputs[f"in{call}_{index}"])
        interpreter.invoke()
        outputs[f"out{call}_0"] = np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    np.savez_compressed(path.with_suffix(".inputs.npz"), **inputs)
    np.savez_compressed(path.with_suffix(".expected.npz"), **outputs)


for name in sys.argv[1:] or MODELS:
    record(name)
