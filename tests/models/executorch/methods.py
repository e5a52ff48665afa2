#!/usr/bin/env python3
"""Makes `methods.pte`, a program of two methods with constant methods, a delegate, and memory in two areas; and `traced.pte`, which knows the
lines of the source that its instructions come from; and `shared.pte`, whose methods share a buffer. Needs what `export.py` needs. ExecuTorch 1.5.1 writes no lines for programs with delegates.
"""
import json
import os

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from torch import nn
from torch.export import export

HERE = os.path.dirname(os.path.abspath(__file__))


class TwoAreas(MemoryPlanningPass):
    """Results of two functions lie in an area of their own."""

    def run(self, graph_module, graph_signature=None):
        for node in graph_module.graph.nodes:
            spec = node.meta.get("spec")
            if node.op == "call_function" and any(name in str(node.target) for name in ("erf", "atan")):
                for one in spec if isinstance(spec, (list, tuple)) else [spec]:
                    one.mem_id = 2
        return super().run(graph_module, graph_signature)


class OwnLines(MemoryPlanningPass):
    """Of the lines that an instruction comes from, those of this file, without its folder."""

    def run(self, graph_module, graph_signature=None):
        for node in graph_module.graph.nodes:
            lines = node.meta.get("stack_trace", "").splitlines()
            own = [i for i, line in enumerate(lines) if f'{os.path.basename(__file__)}"' in line]
            place = lambda line: line.replace(os.path.dirname(os.path.abspath(__file__)) + os.sep, "")
            node.meta["stack_trace"] = "".join(f"{place(lines[i])}\n{lines[i + 1]}\n" for i in own)
        return super().run(graph_module, graph_signature)


class Waves(nn.Module):
    """A layer that XNNPACK takes, between functions that it leaves to the program."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        waves = torch.erf(x)
        return torch.atan(self.layer(waves))


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))


class Add(Buffer):
    def forward(self, x):
        self.total.add_(x)
        return self.total + 0


class Replace(Buffer):
    """Writes what the other methods read, and reads nothing of it."""

    def forward(self, x):
        self.total.copy_(x * 2)
        return x - 1


class Read(Buffer):
    def forward(self, x):
        return self.total * x


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


CONSTANTS = {"get_length": 16, "get_ends": [1, 2, 300], "get_rate": 7.5, "is_causal": True, "get_table": torch.tensor([1.5, -2.0, 4.0])}


def write(stem, program, calls):
    """The program, and calls of (name, model, input)."""
    with open(f"{HERE}/{stem}.pte", "wb") as file:
        file.write(program.buffer)
    arrays, answers, described = {}, {}, []
    describe = lambda t: {"type": "tensor", "dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "dim_order": list(range(t.dim()))}
    for call, (name, model, x) in enumerate(calls):
        with torch.no_grad():
            y = model(x)
        arrays[f"in{call}_0"], answers[f"out{call}_0"] = x.numpy(), y.numpy().copy()
        arrays[f"method{call}"] = name
        described.append({"method": name, "in": [describe(x)], "out": [describe(y)]})
    np.savez_compressed(f"{HERE}/{stem}.inputs.npz", **arrays)
    np.savez_compressed(f"{HERE}/{stem}.expected.npz", **answers)
    with open(f"{HERE}/{stem}.json", "w") as file:
        json.dump({"stateful": stem == "shared", "calls": described}, file)


def main():
    torch.manual_seed(7)
    waves, mean = Waves().eval(), Mean()
    x, y = torch.randn(2, 6), torch.randn(2, 6)
    programs = {"forward": export(waves, (x,), strict=True), "mean": export(mean, (x,), strict=True)}
    edge = to_edge_transform_and_lower(programs, partitioner={"forward": [XnnpackPartitioner()]}, constant_methods=CONSTANTS)
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=TwoAreas()))
    write("methods", program, [("forward", waves, x), ("mean", mean, y), ("forward", waves, y)])
    edge = to_edge_transform_and_lower(export(waves, (x,), strict=True))
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=OwnLines(), emit_stacktrace=True))
    write("traced", program, [("forward", waves, x)])
    models = {"add": Add(), "read": Read(), "replace": Replace()}
    edge = to_edge({name: export(model, (torch.ones(4),), strict=True) for name, model in models.items()})
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True)))
    calls = [(name, models[name], torch.randn(4)) for name in ("add", "read", "add", "replace", "read", "add")]
    for model in models.values():
        model.total = models["add"].total.zero_()
    write("shared", program, calls)


if __name__ == "__main__":
    main()
