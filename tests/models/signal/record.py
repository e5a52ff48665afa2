"""Records what TFLite Micro answers for the models in this folder.

    pip install tflite-micro numpy
    python record.py [NAME...]

Each model gets some calls on seeded random numbers, one after the other on one interpreter: NAME.inputs.npz and NAME.expected.npz.
"""

import pathlib
import sys
import zlib

import numpy as np
from tflite_micro import runtime

CALLS = 7
# The runtime writes these frames only where the next output says that they are full; what they hold otherwise is not defined.
MAY_BE_UNWRITTEN = ("framer", "stacker")
# The second input is a number of bits to shift by.
SHIFTED = ("filter_bank",)


def numbers(random, details, call, name):
    """Numbers of some call: all magnitudes that the type has, and its ends."""
    shape, dtype = tuple(details["shape"]), np.dtype(details["dtype"])
    if dtype == np.float32:
        return (random.standard_normal(shape) * 10.0 ** (call - 3)).astype(dtype)
    info = np.iinfo(dtype)
    if name.startswith(SHIFTED) and shape == ():
        return np.array(random.integers(0, 16), dtype)
    bits = random.integers(1, info.bits + 1, shape) if call % 2 else np.full(shape, info.bits - 2 * call)
    x = random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True) >> (info.bits - bits).astype(dtype)
    if call == 0:
        x = random.choice(np.array([info.min, info.max], dtype), shape)
    elif call == 2:
        x = np.zeros(shape, dtype)
    elif call == 4 and dtype == np.int16 and x.size > 8:
        # The lowest number, rising negative ones, then small ones.
        x = x.reshape(-1)
        x[2], x[3:7] = info.min, [-900, -700, -500, 3]
        x[7:] >>= 10
        x = x.reshape(shape)
    elif call == 6 and dtype == np.int16 and x.size > 8:
        x = x.reshape(-1)
        x[-3:] = [info.min, -70, -60]
        x = x.reshape(shape)
    return x.astype(dtype)


def record(model):
    """One model."""
    name = model.stem
    random = np.random.default_rng(zlib.crc32(name.encode()))
    interpreter = runtime.Interpreter.from_file(str(model), arena_size=1 << 20)
    inputs, outputs = {}, {}
    count = {"in": 0, "out": 0}
    for kind, details in (("in", interpreter.get_input_details), ("out", interpreter.get_output_details)):
        while True:
            try:
                details(count[kind])
            except IndexError:
                break
            count[kind] += 1
    for call in range(CALLS):
        for index in range(count["in"]):
            x = numbers(random, interpreter.get_input_details(index), call, name)
            inputs[f"in{call}_{index}"] = x
            interpreter.set_input(x, index)
        interpreter.invoke()
        answers = [np.array(interpreter.get_output(index)) for index in range(count["out"])]
        if name.startswith(MAY_BE_UNWRITTEN) and not answers[1]:
            answers[0] = mask(name, answers[0], call)
        for index, answer in enumerate(answers):
            outputs[f"out{call}_{index}"] = answer
    np.savez_compressed(model.with_suffix(".inputs.npz"), **inputs)
    np.savez_compressed(model.with_suffix(".expected.npz"), **outputs)


def mask(name, answer, call):
    """An answer with zeros for frames that are not full."""
    answer = answer.copy()
    if name == "framer_rows":
        # Of seven samples, three a frame: the first two frames are not.
        answer[:, : max(0, 2 - 3 * call)] = 0
    else:
        answer[...] = 0
    return answer


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent
    for path in sorted(folder.glob("*.tflite")):
        if len(sys.argv) < 2 or path.stem in sys.argv[1:]:
            record(path)
            print(path.stem)
