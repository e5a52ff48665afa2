"""The inputs of the first recorded call as executorch.cpp reads them; `cargo xtask peers` runs it.

    executorch_inputs.py IN.npz|- OUT

For each array in0_N: N, rank and bytes as three integers of 64 bits, the sizes as integers of 32, the elements in rows. `-` writes none.
"""

import sys

import numpy

archive = {} if sys.argv[1] == "-" else numpy.load(sys.argv[1])
with open(sys.argv[2], "wb") as file:
    for name in archive:
        if not name.startswith("in0_"):
            continue
        array = numpy.ascontiguousarray(archive[name])
        head = (int(name[len("in0_") :]), len(archive[name].shape), array.nbytes)
        file.write(numpy.array(head, numpy.int64).tobytes() + numpy.array(archive[name].shape, numpy.int32).tobytes() + array.tobytes())
