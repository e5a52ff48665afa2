#!/usr/bin/env python3
"""Makes the programs of this folder: small ones, each for a part of the ExecuTorch front end, with inputs and what PyTorch answers.

    python3 -m venv VENV && VENV/bin/pip install executorch==1.5.1 torch==2.13.0 torchao==0.18.0
    VENV/bin/python export.py [NAME…]

`operators.py` makes the programs of single families of operators.

Weights and inputs are seeded. Nobody who compiles or tests needs to run this; the files are committed. Of quantized delegates, and of
averages and resized images, ExecuTorch's own runtime answers too (`runtime.npz`), since it rounds otherwise than PyTorch.
"""
import json
import os
import sys

import executorch.kernels.quantized  # noqa: F401  registers the operators of namespace quantized_decomposed that write where they are told
import numpy as np
import torch
from executorch.backends.vulkan import utils as vulkan_utils
from executorch.backends.vulkan.op_registry import OpFeatures, update_features
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer
from executorch.backends.vulkan.quantizer.vulkan_quantizer import get_symmetric_quantization_config as vulkan_quantization
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import pass_base
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers the operators of namespace llama
from torch import nn
from torch._higher_order_ops import scan
from torch.nn import functional
from torch.export import Dim, export
from torch.export.experimental import _export_forward_backward
from torchao.quantization import IntxWeightOnlyConfig, quantize_
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.utils import unwrap_tensor_subclass

HERE = os.path.dirname(os.path.abspath(__file__))


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 10), nn.GELU(), nn.Linear(10, 4))

    def forward(self, x):
        return self.layers(x)


class Crossed(nn.Module):
    """Products whose results are read twice, so that they stay tensors of their own."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third, self.fourth = nn.Linear(6, 24), nn.Linear(24, 40), nn.Linear(40, 12), nn.Linear(24, 12)

    def forward(self, x):
        narrow = torch.relu(self.first(x))
        wide = torch.relu(self.second(narrow))
        return torch.softmax(self.third(wide) * self.fourth(narrow), dim=1)


class Image(nn.Module):
    """Convolutions of all kinds, pooling, a batch norm, a residual."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = x + self.point(torch.relu(self.depthwise(x)))
        x = torch.nn.functional.max_pool2d(self.up(x), 2)
        return torch.softmax(self.head(x.mean((2, 3))), dim=-1)


class Attention(nn.Module):
    """A sequence of any length up to a bound: extents that are known only when the program runs."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.inner(self.norm(x)).chunk(3, dim=-1)
        scores = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, dim=-1)
        return x + scores @ v


class ElidedViews(nn.Module):
    """Views of tensors, of a weight and of a buffer that lie channels last. The exporter leaves no instruction, only tensors of other sizes at the same
    place, which PyTorch and not the runtime reads as the elements."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3, padding=1).to(memory_format=torch.channels_last)
        self.rows, self.columns = nn.Linear(20, 3), nn.Linear(9, 2)
        self.register_buffer("seen", torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last))

    def forward(self, x, positive):
        view = torch.ops.aten.view_copy
        y = self.layer(x)
        seen = torch.tanh(view(self.seen, [2, 12, 5]))
        self.seen.add_(x)
        weights = self.columns(view(self.layer.weight, [12, 9]))
        chosen = torch.cond(positive.sum() > 0, lambda y: view(y, [2, 80]) * 2, lambda y: view(y, [2, 80]) + 1, [y])
        return self.rows(view(view(y, [2, 8, 10]), [2, 4, 20])), torch.sin(view(y, [4, 2, 5, 4])), weights, chosen, seen


class ElidedViewsOfBatches(nn.Module):
    """The same of a batch that is known only when the program runs, where the exporter leaves an instruction that moves nothing."""

    def __init__(self):
        super().__init__()
        self.layer, self.rows = nn.Conv2d(3, 4, 3, padding=1).to(memory_format=torch.channels_last), nn.Linear(20, 3)

    def forward(self, x):
        view = torch.ops.aten.view_copy
        return torch.relu(self.rows(view(self.layer(x), [x.shape[0], 4, 20])))


class ComplexNumbers(nn.Module):
    """Arithmetic on complex numbers, with each other and with real ones, and what becomes of it as real numbers."""

    def forward(self, x, y, z, factors, angles):
        a, b = torch.fft.rfft(x), torch.fft.rfft(y)
        turned = torch.polar(factors.abs(), angles)
        products = a * b + a.conj() * turned - b * factors + (a / b) * 0.5 - 1.5
        sums = torch.stack([products.sum(1), products.mean(1), (-products)[:, 1] / factors[:, 1]])
        parts = torch.view_as_real(torch.cat([products, z / (z * z + 2.0)], 1))
        chosen = torch.where(factors > 0, a, torch.complex(factors, angles))
        return torch.fft.irfft(products), sums, parts, products.abs(), products.angle(), torch.bmm(a[:, None] * 1.0, b[:, :, None]), chosen, a == chosen


class Comparisons(nn.Module):
    """Nodes that compare, where NaN is among the numbers: which operand wins is the runtime's own."""

    def forward(self, x, y, image):
        column = x[:, :1]
        pools = [functional.max_pool2d(image, 2), functional.max_pool2d(image, 3, 2, 1), functional.relu(functional.max_pool2d(image, 3, 1, 1))]
        means = [functional.avg_pool2d(image, 2), functional.relu6(functional.avg_pool2d(image, 3, 1))]
        extremes = [torch.maximum(x, y), torch.minimum(x, y), torch.maximum(x, column), torch.minimum(column, x), torch.maximum(x, y[0]), torch.minimum(y[0], x)]
        clamped = [torch.clamp(x, -0.5, 0.5), functional.hardtanh(y), functional.relu6(x), functional.leaky_relu(x, 0.2), functional.elu(y), functional.hardswish(x)]
        return *pools, *means, *extremes, *clamped


class LargePools(nn.Module):
    """Pools of more than nine elements. The runtime takes them nine at a time: if later ones come out as NaN, the result is what it is limited to."""

    def forward(self, image):
        wide = functional.max_pool2d(image, (3, 6), 1)
        return functional.max_pool2d(image, 5, 2, 2), functional.relu(functional.max_pool2d(image, 9, 1, 4)), functional.relu6(wide)


def with_nan(*shape):
    """Numbers of which every seventh is NaN, and some are infinite."""
    numbers = torch.randn(*shape).flatten()
    numbers[torch.rand(numbers.numel()) < 0.2] = float("nan")
    numbers[torch.rand(numbers.numel()) < 0.05] = float("inf")
    numbers[torch.rand(numbers.numel()) < 0.05] = float("-inf")
    return numbers.reshape(shape)


class Counter(nn.Module):
    """A buffer that lives from call to call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 2


class Recent(nn.Module):
    """A buffer whose new contents have a part of the old ones twice, around what is new: the second time, the old ones may not be gone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x):
        old = self.total[2:5]
        self.total.copy_(torch.cat([old, x, old]))
        return self.total + 1


class Chosen(nn.Module):
    """Three inputs whose open extents have to be equal, two of them at once."""

    def forward(self, mask, x, y):
        return torch.where(mask, x, y)


class PooledPlanes(nn.Module):
    """Windows over images whose number of planes is known only when the program runs."""

    def forward(self, x):
        return functional.max_pool2d(x, 3, 1, 1), functional.avg_pool2d(x, 2), functional.max_pool1d(x[0], 2)


class Draws(nn.Module):
    """Random numbers, and what is true of all of them: nobody can say more. The bounds of averages are more than six deviations away."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(()))

    def forward(self, x):
        uniform, normal = torch.rand(x.shape[0], 64), torch.randn(x.shape[0], 64)
        kept, mask = torch.ops.aten.native_dropout(x.abs() + 1, 0.25, True)
        twice = torch.cond(x.sum() > 0, lambda x: torch.rand(4) + torch.rand(4), lambda x: -torch.rand(4), (x,))
        narrow = torch.rand(256, dtype=torch.float16)
        total = uniform.sum()
        is_new = total != self.last
        self.last.copy_(total)
        return (
            is_new,
            ((uniform >= 0) & (uniform < 1)).all(),
            (uniform.mean() - 0.5).abs() < 0.05,
            (uniform[:, 0] != uniform[:, 1]).any(),
            normal.mean().abs() < 0.15,
            ((normal * normal).mean() - 1).abs() < 0.25,
            (normal < 0).any(),
            ((kept != 0) == mask).all(),
            (mask.to(torch.float32).mean() - 0.75).abs() < 0.1,
            (twice > 0).all() == (x.sum() > 0),
            ((narrow >= 0) & (narrow < 1)).all(),
            (torch.randn(3000, dtype=torch.float64).mean()).abs() < 0.15,
        )


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


class Indices(nn.Module):
    """Integers, truth values and positions."""

    def forward(self, x, positions):
        picked = torch.index_select(x, 0, positions)
        return picked, torch.where(picked > 0, picked, picked // 2), (picked > 1).any(), torch.cumsum(picked, 0)


class Residual(nn.Module):
    """What XNNPACK has integers for: convolutions, a sum, a product with a gate, pooling, a linear layer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.first(x))
        y = self.point(torch.relu(self.depthwise(x)))
        x = torch.relu(x + y) * torch.sigmoid(y)
        return self.head(torch.nn.functional.max_pool2d(x, 2).mean((2, 3)))


class Bounded(nn.Module):
    """Clamps whose results have a scale of their own, and averages over parts of uneven size."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.point = nn.Conv2d(8, 8, 1)
        self.parts = nn.AdaptiveAvgPool2d((5, 4))
        self.last = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        x = nn.functional.relu6(self.first(x))
        x = nn.functional.hardtanh(self.point(x) + x, -0.25, 0.75)
        return self.last(self.parts(x))


class Windows(nn.Module):
    """Averages over windows of fewer taps than nine, of more, and of many; at borders some are outside."""

    def __init__(self):
        super().__init__()
        sizes = [(2, 2), (3, 3), (5, 4), (8, 7)]
        self.pools = nn.ModuleList(nn.AvgPool2d(size, (2, 1), (size[0] // 2, size[1] // 2), count_include_pad=False) for size in sizes)
        self.inside = nn.AvgPool2d(3)

    def forward(self, x):
        return (self.inside(x), *(pool(x) for pool in self.pools))


class Training(nn.Module):
    """A classifier with its loss; the program gives the gradients of its parameters too."""

    def __init__(self):
        super().__init__()
        self.image = nn.Conv2d(1, 3, 3, 2)
        self.head = nn.Linear(12, 4)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x, label):
        y = self.head(torch.relu(self.image(x)).flatten(1))
        return self.loss(y, label), y.detach().argmax(1)


class Step(nn.Module):
    """What the training program gives: loss, classes, gradients, parameters."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, label):
        parameters = tuple(self.model.parameters())
        with torch.enable_grad():
            loss, classes = self.model(x, label)
            gradients = torch.autograd.grad(loss, parameters)
        return tuple(t.detach() for t in (loss, classes, *gradients, *parameters))


def make_training():
    """Beside `forward` the program has methods that say where its gradients and parameters begin, and one that names these."""
    torch.manual_seed(300)
    model = Training()
    inputs = [(torch.randn(3, 1, 6, 6), torch.randint(0, 4, (3,))) for _ in range(2)]
    joint = _export_forward_backward(export(model, inputs[0], strict=True))
    edge = to_edge(joint, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    write("training", edge.to_executorch(), Step(model), inputs)


def make_training_outside():
    """The parameters that a program for training begins with lie in a file beside it."""
    torch.manual_seed(301)
    model = Training()
    inputs = [(torch.randn(3, 1, 6, 6), torch.randint(0, 4, (3,))) for _ in range(2)]
    joint = _export_forward_backward(export(model, inputs[0], strict=True))
    edge = to_edge(joint, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch(ExecutorchBackendConfig(external_mutable_weights=True))
    write("training_outside", program, Step(model), inputs)
    program.write_tensor_data_to_file(HERE)
    os.rename(f"{HERE}/_default_external_constant.ptd", f"{HERE}/training_outside.ptd")


def integers(*shape):
    return torch.randint(-1, 2, shape).float()


class HalfPart(nn.Module):
    """Convolutions of an image in planes and of what was computed, and attention. All numbers are small integers, whose sums have no rounding."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.padded, self.inside = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 3, groups=8)
        self.points, self.up = nn.Conv2d(8, 5, 1), nn.ConvTranspose2d(8, 3, 3, stride=2)
        for parameter in self.parameters():
            parameter.data = integers(*parameter.shape)

    def forward(self, x, queries, keys):
        y = self.first(x).relu()
        scores = torch.bmm(queries.abs(), keys.relu().transpose(1, 2))
        rows = torch.bmm(scores.clamp(-2, 2), keys.reshape(2, -1, 6))
        return self.padded(y), self.inside(y), self.points(y), self.up(y), scores, rows


class HalfProducts(nn.Module):
    """The same in binary16 and in bfloat16."""

    def __init__(self):
        super().__init__()
        self.f16, self.bf16 = HalfPart().half(), HalfPart().bfloat16()

    def forward(self, *inputs):
        brains = self.bf16(*[x.bfloat16() for x in inputs])
        return self.f16(*inputs) + tuple([y.half() for y in brains])


def make_half_products():
    torch.manual_seed(302)
    model = HalfProducts().eval()
    inputs = [tuple(integers(*shape).half() for shape in ((1, 3, 9, 9), (2, 5, 6), (2, 8, 6))) for _ in range(2)]
    write("half_products", lowered(model, inputs[0]), model, inputs)


class Waves(nn.Module):
    """Windows of windows of samples: what the program computes as their number is computed in another way from their sizes."""

    def __init__(self):
        super().__init__()
        self.windows = nn.Sequential(nn.Conv1d(1, 6, 10, 5), nn.GroupNorm(3, 6), nn.GELU(), nn.Conv1d(6, 6, 3, 2), nn.GELU())
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.windows(x[:, None]).transpose(1, 2)).log_softmax(-1)


class Skips(nn.Module):
    """Halves of an image that are doubled again and joined with what they were: its rows and columns are multiples of four."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, 2, 1)
        self.third, self.up = nn.Conv2d(4, 6, 3, 2, 1), nn.ConvTranspose2d(6, 4, 2, 2)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        x = self.first(x).relu()
        half = self.second(x).relu()
        joined = torch.cat([self.up(self.third(half).relu()), half], 1)
        return self.head(nn.functional.interpolate(joined, scale_factor=2.0) + torch.cat([x, x], 1))


class Sizes(nn.Module):
    """Images under sizes that are computed in floats from what the image has, exactly and rounded, and averages over as many parts of any image."""

    def forward(self, x):
        half = functional.interpolate(x, scale_factor=0.5, mode="bilinear", recompute_scale_factor=True)
        rounded = functional.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
        return half, rounded, functional.interpolate(x, scale_factor=1.5), functional.adaptive_avg_pool2d(x, (3, 2))


class Places(nn.Module):
    """What is found in an image of any size: the middle, the largest of parts and windows and where they lie, diagonals, borders."""

    def forward(self, x):
        largest, places = functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        middle, at = x.median(-1)
        parts = functional.adaptive_max_pool2d(x, (3, 2)), functional.adaptive_avg_pool2d(x, (None, 1))
        borders = functional.pad(x, (2, 1, -1, 2), mode="replicate")
        return largest, places, middle, at, x.median(), *parts, x.diagonal(1, 2, 3), borders, *x.sum().max(0)


class Resampled(nn.Module):
    """Images of any size sampled at any number of places, and made as large as others by means over what each pixel covers."""

    def forward(self, x, places, like):
        modes = [("bilinear", "zeros", False), ("nearest", "border", True), ("bicubic", "reflection", True)]
        sampled = [functional.grid_sample(x, places, *mode) for mode in modes]
        size = like.shape[2:]
        linear = functional.interpolate(x, size=size, mode="bilinear", antialias=True)
        cubic = functional.interpolate(x, size=size, mode="bicubic", align_corners=True, antialias=True)
        halved = functional.interpolate(x, size=(x.shape[2] // 2, 5), mode="bilinear", antialias=True)
        return (*sampled, linear, cubic, halved)


class Volumes(nn.Module):
    """Convolutions of all kinds over volumes of any size, one of which is enlarged again. ExecuTorch's portable kernels take images alone."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv3d(2, 6, 3, stride=(1, 2, 2), padding=1)
        self.apart = nn.Conv3d(6, 6, (2, 3, 1), dilation=(2, 1, 1), padding=(1, 1, 0), groups=6)
        self.up = nn.ConvTranspose3d(6, 3, (3, 2, 2), stride=(2, 2, 1), padding=(1, 0, 0), output_padding=(1, 0, 0))

    def forward(self, x):
        first = torch.relu(self.first(x))
        return self.apart(first), self.up(functional.max_pool3d(first, 2, 1))


class Cuts(nn.Module):
    """Slices of known extents that end before what they are taken from does, of extents known when the program runs."""

    def forward(self, x, y):
        return x[1:2] * 2, x + x[:2].sum(0), y[:, 1:3] - y[:, :1], y.flip(1)


class Replaced(nn.Module):
    """Parts of tensors of any size replaced, also where a number says that is read from a tensor, and extents that only the call says to be equal."""

    def forward(self, x, y, number):
        count = number.item()
        torch._check(count >= 1)
        torch._check(count <= 6)
        behind = torch.slice_scatter(x, y, 0, 2)
        among = torch.slice_scatter(x, x[:, ::2] * 2, 1, 0, 4, 2)
        last = torch.select_scatter(x, y[0], 0, -1)
        at = torch.slice_scatter(torch.zeros(8, 4), x[:2], 0, count, count + 2)
        blocks = torch.block_diag(x[2:] + y, y)
        steps = torch.arange(count)[:, None] + torch.zeros(count, 2)
        windows = torch.as_strided(x, (x.shape[0] - 1, 6), (4, 1), 2)
        return behind, among, last, at, blocks, steps, windows


class Lengths(nn.Module):
    """Spectra of signals of any length, and distances of all pairs of any number of points."""

    def forward(self, x, points):
        both = torch.view_as_real(torch.fft.fft(x, norm="ortho"))
        return torch.fft.rfft(x).abs(), both, functional.pdist(points), functional.pdist(points, 1.0)


class Recurrent(nn.Module):
    """Steps of a recurrence over any number of rows: the delegate leaves the number open where a dimension of one is taken away after it."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Resizes(nn.Module):
    """Images between the pixels of others, whose scales are no powers of two."""

    def forward(self, x):
        sides = ((11, 13), False), ((9, 8), True), ((3, 5), False)
        return tuple(nn.functional.interpolate(x + 1, size, mode="bilinear", align_corners=aligned) for size, aligned in sides)


class Cancelled(nn.Module):
    """Sums whose terms cancel each other, or of which one is far smaller: scales of terms that are thousands of times the result's, and of the other term."""

    def forward(self, x, y, z):
        large = torch.relu(x)
        return large + y, large + z


def cancelling():
    x = torch.randn(2, 40) * 1000
    return x, 0.2 * torch.randn(2, 40) - torch.relu(x), torch.randn(2, 40) / 1000


class Gate(nn.Module):
    """Half of a convolution along a sequence opens the other half, and the sequence is added: the delegate leaves the length of its shapes open."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 16, 3, padding=1)

    def forward(self, x):
        return functional.glu(self.conv(x.transpose(1, 2)), 1).transpose(1, 2) + x


class Tokens(nn.Module):
    """Tokens become an image in planes, which is enlarged and convolved, also by taps that never meet it; weights are repeated for each row of it."""

    def __init__(self):
        super().__init__()
        self.near = nn.Conv2d(8, 6, 3, padding=1)
        self.far = nn.Conv2d(8, 6, 3, padding=12, dilation=12)
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        image = x.transpose(1, 2).reshape(1, 8, 3, 4).relu()
        larger = functional.interpolate(image, scale_factor=2.0, mode="bilinear")
        rows = image.permute(0, 2, 3, 1).reshape(3, 4, 8)
        weights = self.linear.weight.expand(1, 3, 5, 8).reshape(3, 5, 8)
        return torch.cat([self.near(larger), self.far(larger)], 1), torch.bmm(rows, weights.transpose(1, 2))


def array_of(tensor):
    """A copy; of bfloat16, which NumPy does not know, its bits."""
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()


def calls_of(model, name, inputs):
    """Arrays and descriptions of calls, run one after another as the program is."""
    arrays, answers, calls = {}, {}, []
    describe = lambda t: {"type": "tensor", "dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "dim_order": list(range(t.dim()))}
    for call, tensors in enumerate(inputs):
        with torch.no_grad():
            results = model(*tensors)
        results = results if isinstance(results, tuple) else (results,)
        arrays.update({f"in{call}_{i}": array_of(t) for i, t in enumerate(tensors)})
        answers.update({f"out{call}_{i}": array_of(t) for i, t in enumerate(results)})
        calls.append({"method": name, "in": [describe(t) for t in tensors], "out": [describe(t) for t in results]})
    return arrays, answers, calls


def write(stem, program, model, inputs, stateful=False):
    with open(f"{HERE}/{stem}.pte", "wb") as file:
        file.write(program.buffer)
    arrays, answers, calls = calls_of(model, "forward", inputs)
    np.savez_compressed(f"{HERE}/{stem}.inputs.npz", **arrays)
    np.savez_compressed(f"{HERE}/{stem}.expected.npz", **answers)
    with open(f"{HERE}/{stem}.json", "w") as file:
        json.dump({"stateful": stateful, "calls": calls}, file)


class InAreas(MemoryPlanningPass):
    """Memory in three areas: the results of products, those of relu, and all else."""

    AREAS = {"aten::addmm": 2, "aten::relu": 3}

    def run(self, graph_module, graph_signature=None):
        for node in graph_module.graph.nodes:
            spec = node.meta.get("spec")
            if hasattr(spec, "mem_id"):
                name = node.target._schema.name if hasattr(node.target, "_schema") else ""
                spec.mem_id = self.AREAS.get(name, 1)
        return super().run(graph_module, graph_signature)


class Columns(nn.Module):
    """The first column in place of the last: a reshape of the delegate adds the dimension that a column lacks, and its rows are still those of all."""

    def forward(self, x):
        return torch.select_scatter(x, x[:, :, 0], 2, -1)


def lowered(model, inputs, dynamic=None, planning=MemoryPlanningPass):
    edge = to_edge(export(model, inputs, dynamic_shapes=dynamic, strict=True), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    # The buffers that have a value before the first call.
    begun = [InitializedMutableBufferPass(["seen"])] if hasattr(model, "seen") else []
    return edge.to_executorch(ExecutorchBackendConfig(passes=begun, memory_planning_pass=planning()))


def delegated(model, inputs, dynamic=None):
    edge = to_edge_transform_and_lower(export(model, inputs, dynamic_shapes=dynamic, strict=True), partitioner=[XnnpackPartitioner()])
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass()))


def quantized(model, inputs, is_dynamic, dynamic=None):
    """The model with integers for its weights, and for its activations: of scales found now, or each time the program runs."""
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic))
    prepared = prepare_pt2e(export(model, inputs[0], dynamic_shapes=dynamic, strict=True).module(), quantizer)
    for tensors in inputs:
        prepared(*tensors)
    return convert_pt2e(prepared)


def answers_of_runtime(stem, inputs):
    from executorch.extension.pybindings.portable_lib import _load_for_executorch

    program = _load_for_executorch(f"{HERE}/{stem}.pte")
    answers = {}
    for call, tensors in enumerate(inputs):
        answers.update({f"out{call}_{i}": array_of(t) for i, t in enumerate(program.run_method("forward", tensors))})
    np.savez_compressed(f"{HERE}/{stem}.runtime.npz", **answers)


def make_delegated(wanted):
    randn = torch.randn
    images = lambda: [(randn(1, 3, 12, 12),) for _ in range(2)]
    models = {
        "delegated_image": lambda: (Image().eval(), images(), None, None),
        "delegated_attention": lambda: (Attention(), [(randn(1, n, 8),) for n in (12, 1, 5)], {"x": {1: Dim("length", min=1, max=12)}}, None),
        "delegated_int8": lambda: (Residual().eval(), images(), None, False),
        "delegated_rows": lambda: (Perceptron(), [(randn(2, 6),) for _ in range(2)], None, True),
        "delegated_border": lambda: (nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ConstantPad2d(1, 0.0), nn.GroupNorm(2, 8)), images(), None, False),
        "delegated_larger": lambda: (nn.Sequential(nn.ConvTranspose2d(3, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, 2, 3, 2)), images(), None, True),
        # Of 16 elements many means lie halfway between two integers; the zero point is odd.
        "delegated_means": lambda: (nn.Sequential(nn.Conv2d(3, 8, 1), nn.AdaptiveAvgPool2d(1)), [(randn(9, 3, 4, 4),) for _ in range(2)], None, False),
        "delegated_averages": lambda: (Windows().eval(), [(randn(1, 11, n, 13),) for n in (15, 9)], {"x": {2: Dim("rows", min=9, max=15)}}, None),
        "delegated_clamps": lambda: (Bounded().eval(), [(randn(3, 3, 23, 25),) for _ in range(2)], None, False),
        "delegated_pixels": lambda: (nn.Sequential(nn.Conv2d(5, 8, 1), nn.Conv2d(8, 4, 1, 2)), [(randn(2, 5, 9, 7),) for _ in range(2)], None, True),
        "delegated_sizes": lambda: (nn.Sequential(nn.Conv2d(3, 8, 1), nn.AdaptiveAvgPool2d(1)), [(randn(2, 3, n, 5),) for n in (9, 6)], {"input": {2: Dim("rows", min=2, max=9)}}, False),
        "delegated_gate": lambda: (Gate(), [(randn(2, n, 8),) for n in (7, 2, 12)], {"x": {1: Dim("length", min=2, max=12)}}, None),
        "delegated_recurrent": lambda: (Recurrent(), [(randn(n, 5, 4),) for n in (3, 2, 6)], {"x": {0: Dim("batch", min=2, max=6)}}, None),
        "delegated_columns": lambda: (Columns(), [(randn(n, 4, k),) for n, k in ((9, 11), (3, 4), (1, 1))], {"x": {0: Dim("rows", max=9), 2: Dim("columns", max=11)}}, None),
        "delegated_cancelled": lambda: (Cancelled(), [cancelling() for _ in range(2)], None, False),
        "delegated_resizes": lambda: (Resizes(), [(randn(1, 3, 5, 7),) for _ in range(2)], None, None),
        "delegated_comparisons": lambda: (Comparisons(), [(with_nan(3, 19), with_nan(3, 19), with_nan(1, 5, 7, 8)) for _ in range(3)], None, None),
        "delegated_pools": lambda: (LargePools(), [(with_nan(1, 5, 11, 12),) for _ in range(2)], None, None),
    }
    for number, (stem, make) in enumerate(models.items()):
        if wanted and stem not in wanted:
            continue
        torch.manual_seed(100 + number)
        model, inputs, dynamic, is_dynamic = make()
        if is_dynamic is not None:
            model = quantized(model, inputs, is_dynamic, dynamic)
        write(stem, delegated(model, inputs[0], dynamic), model, inputs)
        # The exporter does not mark the border as a result of its delegate, so the runtime does not load that program.
        if (is_dynamic is not None or stem in ("delegated_averages", "delegated_comparisons", "delegated_pools", "delegated_resizes")) and stem != "delegated_border":
            answers_of_runtime(stem, inputs)


class Chain(nn.Module):
    """What Vulkan has integers for, with nothing but integers between the first layer and the last."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = nn.Conv2d(8, 6, 1)
        self.grouped = nn.Conv2d(6, 8, 3, groups=2)

    def forward(self, x):
        return self.grouped(self.point(torch.relu(self.depthwise(torch.relu(self.first(x))))))


def in_batches():
    """Integers, with images of any number."""
    inputs, dynamic = [(torch.randn(n, 3, 12, 12),) for n in (3, 1, 5)], {"x": {0: Dim("batch", min=1, max=5)}}
    return quantized(Chain().eval(), inputs, False, dynamic), inputs, dynamic, None


class Rows(nn.Module):
    """Tokens of a table, scaled rows, and layers that only a whole row can be given to."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 16)
        self.norm = nn.RMSNorm(16)
        self.layers = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 5))

    def forward(self, tokens):
        return self.layers(self.norm(self.table(tokens))), (tokens * 2).sum(1)


class Nibbles(nn.Module):
    """A table and layers of four bits, larger than constants that are widened ahead."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(150, 64)
        self.layers = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96, bias=False))

    def forward(self, tokens):
        return self.layers(self.table(tokens))


class Groups(nn.Module):
    """Any number of rows of floats times weights of four bits in groups, with units that fill no vector."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(96, 20)

    def forward(self, x):
        return torch.relu(self.layer(x))


def in_four_bits(model):
    config = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32))
    quantize_(model, config, lambda module, name: isinstance(module, (nn.Embedding, nn.Linear)))
    return unwrap_tensor_subclass(model)


class Remembered(nn.Module):
    """Attention to keys and values of earlier calls, which the exporter leaves to the delegate as constants. They are not zero at first."""

    def __init__(self):
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.randn(1, 12, 2, 8))

    def forward(self, queries, keys, values, position):
        at = position[0].item()
        torch._check_is_size(at)
        torch._check(at < 8)
        torch.ops.llama.update_cache(keys, self.keys, at)
        torch.ops.llama.update_cache(values, self.values, at)
        return torch.ops.llama.custom_sdpa(queries, self.keys, self.values, at, None, 0, True)


def remembered():
    """Three tokens behind two that are there already, then one and two more."""
    rows = lambda tokens, heads: torch.randn(1, tokens, heads, 8)
    return [(rows(n, 4), rows(n, 2), rows(n, 2), torch.tensor([at])) for n, at in ((3, 2), (1, 5), (2, 6))]


class Averages(nn.Module):
    """What a delegate keeps from call to call: a sum, and what decays, which is not zero at first."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 8)
        self.register_buffer("total", torch.zeros(1, 8))
        self.register_buffer("recent", torch.linspace(-1, 1, 8).reshape(1, 8))

    def forward(self, x):
        y = self.layer(x)
        self.total.add_(y)
        before = self.recent * 2.0
        self.recent.mul_(0.5).add_(y)
        return self.total + self.recent, before


class Learning(nn.Module):
    """What a program has that trains where it runs: a loss with its gradient, the gradient of a layer, and scales on both sides of zero."""

    def forward(self, x, labels):
        loss, gradient = torch.ops.et_vk.fused_ce(x, labels, 4.0)
        scales = [
            scale
            for kind in ("SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR")
            for scale in torch.ops.torchao.choose_qparams_affine(
                x, kind, [1, 7], torch.int8, -128, 127, 1e-6, torch.float32, torch.int32
            )
        ]
        return loss, gradient, torch.ops.et_vk.linear_dW(gradient, x), *scales


def bytes_of(x, scale, zero_point):
    return (torch.round(x / scale) + zero_point).clamp(-128, 127)


def convolved(x, filter, scales, bias, stride, padding, dilation, groups):
    units = filter.shape[0]
    return functional.conv2d(x, filter * scales[:units].view(-1, 1, 1, 1), bias[:units], stride, padding, dilation, groups)


def filter_of_rows(weights, x, units, size, groups):
    """Rows of taps and channels, padded to whole words."""
    channels = x.shape[1] // groups
    rows = weights[:units, : size[0] * size[1] * channels]
    return rows.view(units, size[0], size[1], channels).permute(0, 3, 1, 2).float()


class Former:
    """Operators that earlier exporters wrote and later runtimes have: what they compute, in the exporter of today."""

    WINDOW = "SymInt[] kernel_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor"
    IMAGE = "(Tensor x, float input_scale, int input_zero_point, Tensor weights, Tensor sums, Tensor scales, "
    RESULT = IMAGE + "float scale, int zero_point, Tensor bias, "
    PLAIN = "(Tensor x, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, "
    PLAIN += "SymInt[] output_padding, SymInt groups) -> Tensor"

    def to_bytes(x, scale, zero, weights, sums, scales, to, to_zero, bias, size, stride, padding, dilation, groups):
        filter = filter_of_rows(weights, x, 4, size, groups)
        y = convolved((x.float() - zero) * scale, filter, scales, bias, stride, padding, dilation, groups)
        return bytes_of(y, to, to_zero).to(torch.int8)

    def to_bytes_of_channels(x, scale, zero, weights, sums, scales, to, to_zero, bias, size, stride, padding, dilation, groups):
        filter = weights.permute(2, 0, 1).unsqueeze(1).float()
        y = convolved((x.float() - zero) * scale, filter, scales, bias, stride, padding, dilation, groups)
        return bytes_of(y, to, to_zero).to(torch.int8)

    def of_bytes(x, scale, zero, weights, sums, scales, bias, size, stride, padding, dilation, groups):
        filter = filter_of_rows(weights, x, 4, size, groups)
        return convolved((bytes_of(x, scale, zero) - zero) * scale, filter, scales, bias, stride, padding, dilation, groups)

    def of_floats(x, weights, scales, bias, size, stride, padding, dilation, groups):
        return convolved(x, filter_of_rows(weights, x, 4, size, groups), scales, bias, stride, padding, dilation, groups)

    OPERATORS = {
        "conv2d_q8ta_q8csw_q8to": (RESULT + WINDOW, to_bytes),
        "conv2d_q8ta_q8csw_q8to_dw": (RESULT + WINDOW, to_bytes_of_channels),
        "conv2d_q8ta_q8csw": (IMAGE + "Tensor bias, " + WINDOW, of_bytes),
        "conv2d_q8csw": ("(Tensor x, Tensor weights, Tensor scales, Tensor bias, " + WINDOW, of_floats),
        "conv2d_gemm": (PLAIN, torch.convolution),
        "conv1d_pw": (PLAIN, torch.convolution),
        "conv1d_dw": (PLAIN, torch.convolution),
    }

    def __init__(self):
        self.library = torch.library.Library("et_vk", "FRAGMENT")
        for name, (schema, function) in self.OPERATORS.items():
            self.library.define(name + schema)
            self.library.impl(name, function, "CompositeExplicitAutograd")
            features = OpFeatures(inputs_storage=vulkan_utils.CONTIGUOUS_ANY, inputs_dtypes=vulkan_utils.ALL_T, supports_prepacking=True)
            update_features(getattr(exir_ops.edge.et_vk, name).default)(lambda features=features: features)


class Images(nn.Module):
    """Images by those operators; and scales for integers whose range is that of bytes because nothing else is said."""

    def __init__(self):
        super().__init__()
        of = lambda *shape: torch.randint(-90, 91, shape, dtype=torch.int8)
        self.register_buffer("rows", of(4, 28))
        self.register_buffer("channels", of(3, 2, 4))
        self.register_buffer("sums", torch.zeros(4, dtype=torch.int32))
        self.register_buffer("scales", torch.rand(4) / 500 + 0.001)
        self.register_buffer("bias", torch.randn(4))
        self.register_buffer("plain", torch.randn(4, 3, 2, 2))
        self.register_buffer("points", torch.randn(5, 3, 1))
        self.register_buffer("rowwise", torch.randn(3, 1, 3))

    def forward(self, x, row):
        one, et_vk = [1, 1], torch.ops.et_vk
        x8 = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.02, 5, -128, 127, torch.int8)
        scales = (self.sums, self.scales)
        a = et_vk.conv2d_q8ta_q8csw_q8to(x8, 0.02, 5, self.rows, *scales, 0.03, -7, self.bias, [3, 3], [2, 1], one, one, 1)
        b = et_vk.conv2d_q8ta_q8csw_q8to_dw(a, 0.03, -7, self.channels, *scales, 0.01, 9, self.bias, [3, 2], one, [0, 1], one, 4)
        c = et_vk.conv2d_q8ta_q8csw(x, 0.02, 5, self.rows, *scales, self.bias, [3, 3], one, [2, 0], [2, 1], 1)
        d = et_vk.conv2d_q8csw(x, self.rows, self.scales, self.bias, [3, 3], [1, 2], one, one, 1)
        e = et_vk.conv2d_gemm(x, self.plain, self.bias, one, [0, 1], one, False, [0, 0], 1)
        f = et_vk.conv1d_pw(row, self.points, None, [1], [0], [1], False, [0], 1)
        g = et_vk.conv1d_dw(row, self.rowwise, None, [2], [1], [1], False, [0], 3)
        block = [1, 1, row.shape[-1]]
        found = torch.ops.torchao.choose_qparams_affine(row, "ASYMMETRIC", block, torch.int8, None, None, 1e-5, torch.float32, torch.int32)
        y = torch.ops.torchao.quantize_affine(row, block, *found, torch.int8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(b, 0.01, 9, -128, 127, torch.int8), c, d, e, f, g, y, *found


class Choices(nn.Module):
    """Branches, one of them inside another and one taken by an extent, on tensors of any number of rows."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        def scaled(x):
            parts = lambda x: (x / x.shape[0], x[:, 0] + 1)
            return torch.cond(x.max() > 2, parts, lambda x: (self.layer(x), x.sum(1)), (x,))

        rows, sums = torch.cond(x.sum() > 0, scaled, lambda x: (x.flip(0), x.mean(1)), (x,))
        # What a branch gives lies where the next one puts what is its own, so it is read before that.
        rows = rows + x
        return rows, torch.cond(x.shape[0] > 3, torch.sin, torch.cos, (sums,))


class Mapped(nn.Module):
    """A layer on every row of a sequence of any length; rows that a condition holds of are added to."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, rows, offset):
        def one(row, offset):
            return torch.cond(row.sum() > 0, lambda row, offset: row + offset, lambda row, offset: row * 2, (self.layer(row), offset))

        return torch._higher_order_ops.map(one, rows, offset)


class Running(nn.Module):
    """A recurrence over a sequence of any length: a state, what it was in each step, and a running sum of another sequence."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, rows, others):
        def step(carried, now):
            state = torch.tanh(self.layer(carried[0]) + now[0])
            total = carried[1] + now[1].sum()
            return (state, total), (state[0] * 2, total + now[1])

        (state, total), (states, totals) = scan(step, (torch.zeros(1, 4), torch.ones(())), (rows, others))
        return state * total, (states + rows).softmax(0), totals


def for_vulkan(model, inputs, dynamic=None, options=None):
    partitioner = VulkanPartitioner({"require_dynamic_shapes": dynamic is not None, **(options or {})})
    edge = to_edge_transform_and_lower(export(model, inputs, dynamic_shapes=dynamic, strict=True), partitioner=[partitioner])
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass()))


VULKAN_OPTIONS = {
    "vulkan_buffers": {"alias_buffer_mutations": True},
    # The partitioner believes that operators on integers take images of one number alone.
    "vulkan_batches": {"require_dynamic_shapes": False},
}


def make_vulkan(wanted):
    images = lambda: [(torch.randn(1, 3, 12, 12),) for _ in range(2)]
    tokens = lambda n: (torch.randint(0, 20, (1, n)),)
    learning = lambda: [(torch.randn(5, 7), torch.tensor(labels, dtype=torch.int32)) for labels in ([3, -1, 6, 0, 2], [1, 1, -1, -5, 4])]
    added = Dim("added", min=1, max=4)
    models = {
        "vulkan_image": lambda: (Image().eval(), images(), None, None),
        "vulkan_rows": lambda: (Rows().eval(), [tokens(n) for n in (7, 1, 4)], {"tokens": {1: Dim("length", min=1, max=7)}}, None),
        "vulkan_int8": lambda: (Chain().eval(), images(), None, {"weights": 8}),
        "vulkan_buffers": lambda: (Averages().requires_grad_(False), [(torch.randn(1, 6),) for _ in range(4)], None, None),
        "vulkan_learning": lambda: (Learning(), learning(), None, None),
        "vulkan_former": lambda: (Images(), [(torch.randn(1, 3, 9, 8), torch.randn(1, 3, 11)) for _ in range(2)], None, None),
        "vulkan_nibbles": lambda: (in_four_bits(Nibbles().eval()), [(torch.randint(0, 150, (2, 3)),) for _ in range(2)], None, None),
        "vulkan_groups": lambda: (in_four_bits(Groups().eval()), [(torch.randn(n, 96),) for n in (5, 1, 9)], {"x": {0: Dim("rows", min=1, max=9)}}, None),
        "vulkan_caches": lambda: (Remembered(), remembered(), {**dict.fromkeys(("queries", "keys", "values"), {1: added}), "position": None}, None),
        "vulkan_batches": in_batches,
    }
    former = Former()
    for number, (stem, make) in enumerate(models.items()):
        if wanted and stem not in wanted:
            continue
        torch.manual_seed(200 + number)
        model, inputs, dynamic, quantization = make()
        if quantization is not None:
            quantizer = VulkanQuantizer().set_global(vulkan_quantization(is_dynamic=False, weight_bits=quantization["weights"]))
            prepared = prepare_pt2e(export(model, inputs[0], strict=True).module(), quantizer)
            for tensors in inputs:
                prepared(*tensors)
            model = convert_pt2e(prepared)
        program = for_vulkan(model, inputs[0], dynamic, VULKAN_OPTIONS.get(stem))
        write(stem, program, model, inputs, stateful=stem in ("vulkan_buffers", "vulkan_caches"))


def main():
    wanted = sys.argv[1:]
    make_delegated(wanted)
    make_vulkan(wanted)
    torch.manual_seed(1)
    randn, length = torch.randn, Dim("length", min=1, max=12)
    last = lambda image: image.contiguous(memory_format=torch.channels_last)
    models = {
        "perceptron": (Perceptron(), [(randn(2, 6),) for _ in range(2)], None),
        "image": (Image().eval(), [(randn(1, 3, 16, 16),) for _ in range(2)], None),
        "attention": (Attention(), [(randn(1, n, 8),) for n in (12, 1, 5)], {"x": {1: length}}),
        "counter": (Counter(), [(randn(4),) for _ in range(3)], None),
        "branch": (Branch(), [(randn(3, 4) + s,) for s in (1.0, -1.0)], None),
        "indices": (Indices(), [(torch.randint(-5, 6, (6, 3)), torch.tensor([4, 0, 0, 5]))], None),
        "waves": (Waves().requires_grad_(False), [(randn(1, n),) for n in (80, 53, 120)], {"x": {1: Dim("samples", min=50, max=120)}}),
        "skips": (
            Skips(),
            [(randn(1, 2, *size),) for size in ((16, 24), (8, 12), (12, 8))],
            {"x": {2: 4 * Dim("rows", min=2, max=4), 3: 4 * Dim("columns", min=2, max=6)}},
        ),
        "choices": (
            Choices().requires_grad_(False),
            [(s * randn(n, 4).abs(),) for n in (6, 2, 3, 4) for s in (0.5, 3.0, -1.0)],
            {"x": {0: Dim("rows", min=2, max=6)}},
        ),
        "mapped": (Mapped().requires_grad_(False), [(randn(n, 4), randn(3)) for n in (7, 2, 4)], {"rows": {0: length}, "offset": None}),
        "running": (
            Running().requires_grad_(False),
            [(randn(n, 4), randn(n, 2)) for n in (9, 2, 5)],
            {"rows": {0: length}, "others": {0: length}},
        ),
        "sizes": (
            Sizes(),
            [(randn(1, 2, *size),) for size in ((9, 11), (4, 5), (12, 6))],
            {"x": {2: Dim("rows", min=4, max=12), 3: Dim("columns", min=4, max=12)}},
        ),
        "places": (
            Places(),
            [(randn(1, 2, *size),) for size in ((9, 11), (5, 4), (12, 6))],
            {"x": {2: Dim("rows", min=4, max=12), 3: Dim("columns", min=4, max=12)}},
        ),
        "resampled": (
            Resampled(),
            [(randn(1, 2, *size), torch.rand(1, n, 3, 2) * 3 - 1.5, randn(1, 1, *to)) for size, n, to in (((9, 11), 4, (5, 12)), ((4, 5), 2, (4, 4)), ((12, 6), 7, (12, 9)))],
            {
                "x": {2: Dim("rows", min=4, max=12), 3: Dim("columns", min=4, max=12)},
                "places": {1: Dim("places", min=2, max=7)},
                "like": {2: Dim("to_rows", min=4, max=12), 3: Dim("to_columns", min=4, max=12)},
            },
        ),
        "cuts": (Cuts(), [(randn(n, 4), randn(3, m)) for n, m in ((9, 8), (2, 3), (5, 4))], {"x": {0: Dim("count", min=2, max=9)}, "y": {1: Dim("width", min=3, max=8)}}),
        "replaced": (
            Replaced(),
            [(randn(n + 2, 4), randn(n, 4), torch.tensor(count)) for n, count in ((5, 3), (2, 1), (8, 6))],
            {"x": {0: Dim("count", min=2, max=8) + 2}, "y": {0: Dim("count", min=2, max=8)}, "number": None},
        ),
        "lengths": (
            Lengths(),
            [(randn(2, n), randn(count, 3)) for n, count in ((9, 5), (2, 3), (12, 16))],
            {"x": {1: Dim("length", min=2, max=12)}, "points": {0: Dim("count", min=3, max=16)}},
        ),
        "tokens": (Tokens().requires_grad_(False), [(randn(1, 12, 8),) for _ in range(2)], None),
        "open_volumes": (
            Volumes().requires_grad_(False),
            [(randn(2, 2, *size),) for size in ((6, 9, 7), (3, 4, 6), (5, 6, 4))],
            {"x": {2: Dim("planes", min=3, max=6), 3: Dim("rows", min=4, max=9), 4: Dim("columns", min=4, max=8)}},
        ),
        "areas": (Crossed().requires_grad_(False), [(randn(n, 6),) for n in (5, 1, 3)], {"x": {0: Dim("rows", min=1, max=5)}}),
        "draws": (Draws(), [(randn(n, 32),) for n in (32, 24, 30)], {"x": {0: Dim("rows", min=24, max=32)}}),
        "recent": (Recent(), [(randn(2),) for _ in range(4)], None),
        "pooled_planes": (PooledPlanes(), [(randn(1, n, 5, 6),) for n in (19, 1, 4, 16)], {"x": {1: Dim("planes", min=1, max=19)}}),
        "chosen": (
            Chosen(),
            [(randn(n, 4, m) > 0, randn(n, 4, m), randn(n, 4, m)) for n, m in ((9, 11), (1, 4), (3, 1), (5, 7))],
            {name: {0: Dim("rows", min=1, max=9), 2: Dim("columns", min=1, max=11)} for name in ("mask", "x", "y")},
        ),
        "elided_views": (ElidedViews().requires_grad_(False), [(last(randn(2, 3, 4, 5)), torch.tensor([s])) for s in (1.0, -1.0)], None),
        "elided_views_of_batches": (
            ElidedViewsOfBatches().requires_grad_(False),
            [(last(randn(n, 3, 4, 5)),) for n in (4, 1, 3)],
            {"x": {0: Dim("batch", min=1, max=4)}},
        ),
        "complex_numbers": (
            ComplexNumbers(),
            [(randn(2, 6), randn(2, 6), torch.complex(randn(2, 3), randn(2, 3)), randn(2, 4), randn(2, 4)) for _ in range(2)],
            None,
        ),
    }
    # What `map` runs over is taken apart row by row when it is exported, which makes a number of its extent. One row says as much.
    pass_base._unstack_pytree = lambda tensors: [[tensor[0] for tensor in tensors]]
    for stem, (model, inputs, dynamic) in models.items():
        if wanted and stem not in wanted:
            continue
        program = lowered(model, inputs[0], dynamic, InAreas if stem == "areas" else MemoryPlanningPass)
        if stem in ("counter", "recent"):
            model.total.zero_()
        write(stem, program, model, inputs, stateful=stem in ("counter", "recent", "draws", "elided_views"))
        if stem == "perceptron":
            with torch.no_grad():
                cases = [MethodTestCase(inputs=x, expected_outputs=(model(*x),)) for x in inputs]
            bundle = BundledProgram(program, [MethodTestSuite(method_name="forward", test_cases=cases)])
            with open(f"{HERE}/{stem}.bpte", "wb") as file:
                file.write(serialize_from_bundled_program_to_flatbuffer(bundle))
    if not wanted or "half_products" in wanted:
        make_half_products()
    if not wanted or "training" in wanted:
        make_training()
    if not wanted or "training_outside" in wanted:
        make_training_outside()


if __name__ == "__main__":
    main()
