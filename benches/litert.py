"""The latency of a .tflite under LiteRT, as one line of JSON; `cargo xtask peers` runs it.

    litert.py MODEL --kernels xnnpack|builtin --seconds S [--threads N] [--inputs IN.npz]

`xnnpack` is LiteRT as it comes, `builtin` the same without its default delegate. The inputs are those of the first
recorded call (in0_0, in0_1, ... or in0, in1, ...), or numbers between -1 and 1 (floats) and small integers.
"""

import argparse
import json
import time

import numpy
from ai_edge_litert import interpreter as litert

RESOLVERS = {
    "xnnpack": litert.OpResolverType.AUTO,
    "builtin": litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
}
WARM_UP_RUNS = 3
MOST_RUNS = 200_000


def made_up(detail, index):
    """An input for a model without recorded ones."""
    numbers = numpy.random.default_rng(index)
    kind = numpy.dtype(detail["dtype"])
    if kind.kind == "f":
        return numbers.uniform(-1.0, 1.0, detail["shape"]).astype(kind)
    return numbers.integers(0, 2 if kind.kind == "b" else 100, detail["shape"]).astype(kind)


def recorded(archive, index):
    """The recorded input of that number, or None."""
    for name in (f"in0_{index}", f"in{index}"):
        if archive is not None and name in archive.files:
            return archive[name]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--kernels", choices=RESOLVERS, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inputs")
    arguments = parser.parse_args()

    interpreter = litert.Interpreter(
        model_path=arguments.model, num_threads=arguments.threads, experimental_op_resolver_type=RESOLVERS[arguments.kernels]
    )
    archive = numpy.load(arguments.inputs) if arguments.inputs else None
    inputs = []
    for index, detail in enumerate(interpreter.get_input_details()):
        value = recorded(archive, index)
        value = made_up(detail, index) if value is None else value
        if list(value.shape) != list(detail["shape"]):
            interpreter.resize_tensor_input(detail["index"], value.shape)
        inputs.append((detail["index"], value))
    interpreter.allocate_tensors()
    for index, value in inputs:
        interpreter.set_tensor(index, value)

    for _ in range(WARM_UP_RUNS):
        interpreter.invoke()
    times = []
    end = time.perf_counter() + arguments.seconds
    while not times or (time.perf_counter() < end and len(times) < MOST_RUNS):
        start = time.perf_counter_ns()
        interpreter.invoke()
        times.append(time.perf_counter_ns() - start)
    print(json.dumps({"median_ns": float(numpy.median(times)), "runs": len(times)}))


main()
