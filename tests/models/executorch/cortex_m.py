#!/usr/bin/env python3
"""Makes the programs of this folder that have operators of ExecuTorch's Cortex-M backend, with inputs and what its own kernels in Python answer.

    VENV/bin/python cortex_m.py [NAME…]

The environment is that of `export.py`. The backend imports `tosa_serializer`, which these programs do not need: a mock stands for it.
"""
import sys
from unittest import mock

sys.modules.setdefault("tosa_serializer", mock.MagicMock())

import torch
from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
from executorch.exir import to_edge
from export import write
from torch import nn
from torch.export import export
from torch.nn import functional
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class Image(nn.Module):
    """Convolutions, also of single channels and in groups, sums, and a classifier."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 16, 3, padding=1, groups=8)
        self.point = nn.Conv2d(16, 8, 1)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.grouped = nn.Conv2d(8, 8, (3, 1), stride=(2, 1), groups=2)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = functional.relu6(self.depthwise(x))
        x = self.point(x)
        x = x + self.second(x)
        x = self.grouped(x)
        return self.head(x.mean((2, 3)))


class Last(nn.Module):
    """An image whose channels stay last."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x):
        x = torch.relu(self.depthwise(torch.relu(self.first(x))))
        return functional.avg_pool2d(x, 2), functional.max_pool2d(x, 2)


class Pools(nn.Module):
    """Windows: the largest and the mean ones, with padding, over all, and transposed convolutions."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1)

    def forward(self, x):
        largest = functional.max_pool2d(x, 3, stride=2, padding=1)
        means = functional.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False)
        whole = functional.avg_pool2d(x, 2)
        return largest, means, whole, self.up(x)


class Elements(nn.Module):
    """Arithmetic of elements, tables, clamps, borders, softmax and transposes."""

    def forward(self, x, y):
        z = x * y + x
        z = z - y
        ratio = x / y
        gated = torch.sigmoid(z) + torch.tanh(x) + functional.silu(y) + functional.gelu(x)
        clamped = torch.minimum(torch.maximum(x, y), z)
        border = functional.pad(gated, (1, 2, 0, 3), value=0.5)
        return ratio, torch.softmax(gated, dim=-1), clamped, border, x.permute(0, 2, 3, 1)


class Former(nn.Module):
    """Products of matrices: of two inputs, and of rows with weights, with a bias and without."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16, bias=False)

    def forward(self, x, y):
        weights = torch.softmax(torch.bmm(x, y), dim=-1)
        return weights, x + self.down(torch.relu(self.up(x)))


class Up(nn.Module):
    """Transposed convolutions of an image whose channels stay last."""

    def __init__(self):
        super().__init__()
        self.first = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1)
        self.second = nn.ConvTranspose2d(6, 5, (2, 3), stride=(1, 2))

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Inverted(nn.Module):
    """A block of MobileNetV2: more channels, a depthwise convolution, and fewer channels, beside the input where they fit."""

    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        wider = [nn.Conv2d(inputs, inner, 1), nn.ReLU6()] if expansion > 1 else []
        depthwise = nn.Conv2d(inner, inner, 3, stride=stride, padding=1, groups=inner)
        self.layers = nn.Sequential(*wider, depthwise, nn.ReLU6(), nn.Conv2d(inner, outputs, 1))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.is_residual else self.layers(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 of width 0.25 with all its blocks, and 320 channels before the classifier instead of 1280.

    Normalizations are part of the convolutions, as after training."""

    # Expansion, channels at this width, blocks, and the stride of the first of them.
    STAGES = [(1, 8, 1, 1), (6, 8, 2, 2), (6, 8, 3, 2), (6, 16, 4, 2), (6, 24, 3, 1), (6, 40, 3, 2), (6, 80, 1, 1)]

    def __init__(self):
        super().__init__()
        layers, channels = [nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU6()], 8
        for expansion, outputs, blocks, stride in self.STAGES:
            for block in range(blocks):
                layers.append(Inverted(channels, outputs, stride if block == 0 else 1, expansion))
                channels = outputs
        self.layers = nn.Sequential(*layers, nn.Conv2d(channels, 320, 1), nn.ReLU6())
        self.head = nn.Linear(320, 10)
        # Activations keep their size through the layers, so that each layer changes the result.
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_in")

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))


def program(model, calls, cpu, explicit=False):
    """The program for a core, what runs it by the backend's kernels in Python, and the calls as it takes them."""
    if not explicit:
        last = lambda x: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x
        calls = [tuple(map(last, call)) for call in calls]
        model = model.to(memory_format=torch.channels_last)
    quantizer = CortexMQuantizer(use_explicit_layout=explicit)
    prepared = prepare_pt2e(export(model, calls[0], strict=True).module(check_guards=False), quantizer)
    for call in calls:
        prepared(*call)
    converted = convert_pt2e(prepared)
    edge = to_edge(export(converted, calls[0], strict=True), compile_config=cortex_m_edge_compile_config())
    manager = CortexMPassManager(edge.exported_program(), target_config=CortexMTargetConfig(cpu=cpu), use_explicit_layout=explicit)
    edge._edge_programs["forward"] = manager.transform()
    run = edge.exported_program().module(check_guards=False)
    return edge.to_executorch(), run, calls


# Each program is for the cores with vectors (M55), with halves of words (M33), or without (M0+). Files for two of them are the same, but for scratch
# memory and the sums of weights, in these: convolutions have three files, pools two (M0+ stands for M55), `Former` two (M33 stands for M0+). The
# others are the same for all.
MODELS = {
    "cortex_m_image": (Image, lambda r: (r(1, 3, 16, 16),), CortexM.M55),
    "cortex_m_image_scalar": (Image, lambda r: (r(1, 3, 16, 16),), CortexM.M0PLUS),
    "cortex_m_pools": (Pools, lambda r: (r(1, 4, 12, 10),), CortexM.M33),
    "cortex_m_last": (Last, lambda r: (r(1, 3, 16, 16),), CortexM.M55),
    "cortex_m_elements": (Elements, lambda r: (r(1, 4, 5, 6), r(1, 4, 5, 6)), CortexM.M4),
    "cortex_m_former": (Former, lambda r: (r(2, 10, 16), r(2, 16, 7)), CortexM.M55),
    "cortex_m_former_dsp": (Former, lambda r: (r(2, 10, 16), r(2, 16, 7)), CortexM.M33),
    "cortex_m_image_dsp": (Image, lambda r: (r(1, 3, 16, 16),), CortexM.M33),
    "cortex_m_pools_scalar": (Pools, lambda r: (r(1, 4, 12, 10),), CortexM.M0PLUS),
    "cortex_m_last_dsp": (Last, lambda r: (r(1, 3, 16, 16),), CortexM.M33),
    "cortex_m_last_scalar": (Last, lambda r: (r(1, 3, 16, 16),), CortexM.M0PLUS),
    "cortex_m_up": (Up, lambda r: (r(1, 4, 7, 6),), CortexM.M55),
    "cortex_m_mobilenet": (MobileNetV2, lambda r: (r(1, 3, 48, 48),), CortexM.M55),
}


def main():
    for number, (stem, (make, inputs, cpu)) in enumerate(MODELS.items()):
        if sys.argv[1:] and stem not in sys.argv[1:]:
            continue
        torch.manual_seed(300 + number)
        with torch.no_grad():
            write(stem, *program(make().eval(), [inputs(torch.randn) for _ in range(2)], cpu, explicit=make in (Last, Up)))


if __name__ == "__main__":
    main()
