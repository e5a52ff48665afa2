#!/usr/bin/env python3
"""Makes the programs of this folder that call operators which PyTorch's exporter takes apart unless it is told not to.

    VENV/bin/python operators.py [NAME…]

in the environment that `export.py` names. Inputs are seeded; answers are those of PyTorch, and of ExecuTorch's own operators for `llama::` and
`quantized_decomposed::`.
"""
import sys

import torch
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.extension.llm.custom_ops import custom_ops, op_fallback  # noqa: F401, register llama::
import executorch.kernels.quantized  # noqa: F401
from executorch.exir.passes import _quant_patterns_and_replacements  # noqa: F401, registers embeddings
from torch import nn
from torch.nn import functional
from torch.export import export

from export import answers_of_runtime, write

aten, llama, decomposed = torch.ops.aten, torch.ops.llama, torch.ops.quantized_decomposed


class Decoder(nn.Module):
    """Attention of grouped heads over two caches that live from call to call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 8, 2, 4))
        self.register_buffer("values", torch.zeros(1, 8, 2, 4))

    def forward(self, query, key, value, position):
        start = position[0].item()
        torch._check_is_size(start)
        torch._check(start < 8)
        llama.update_cache(key, self.keys, start)
        llama.update_cache(value, self.values, start)
        seen = llama.custom_sdpa(query, self.keys, self.values, start, None, 0.0, True, None)
        return llama.fast_hadamard_transform(seen)


class QuantizedAttention(nn.Module):
    def forward(self, query, key, value, query_zeros, query_scales, zeros, scales):
        return llama.custom_quantized_sdpa(
            query, key, value, 2, None, 0.0, True, None, query_zeros, query_scales, zeros, scales, zeros, scales, False
        )


class Tables(nn.Module):
    """Rows of tables of eight, four and two bits, the last two with scales for groups; then tokens quantized row by row."""

    def __init__(self):
        super().__init__()
        byte = lambda columns: torch.randint(0, 256, (6, columns), dtype=torch.uint8)
        self.register_buffer("eight", torch.randint(-128, 128, (6, 16), dtype=torch.int8))
        self.register_buffer("four", byte(8))
        self.register_buffer("two", byte(4))
        self.register_buffer("row", torch.rand(6))
        self.register_buffer("groups", torch.rand(6, 4))
        self.register_buffer("zeros", torch.randint(-2, 3, (6, 4)).float())

    def forward(self, tokens):
        eight = decomposed.embedding_byte(self.eight, self.row, None, -128, 127, tokens)
        four = decomposed.embedding_4bit(self.four, self.groups, None, -8, 7, tokens)
        two = decomposed.embedding_2bit(self.two, self.groups, self.zeros, -2, 1, tokens)
        rows = eight + four + two
        scales, zeros = decomposed.choose_qparams_per_token_asymmetric(rows, torch.int8)
        integers = decomposed.quantize_per_token(rows, scales, zeros, -128, 127, torch.int8)
        return integers, decomposed.dequantize_per_token(integers, scales, zeros, -128, 127, torch.int8, torch.float32)


class Borders(nn.Module):
    def forward(self, x):
        rolled = aten.roll(x, [1, -2], [1, 3])
        mirrored = aten.reflection_pad2d(x, [2, 1, 0, 3])
        repeated = aten.replication_pad3d(x, [1, 0, -1, 2, 1, 1])
        return rolled, mirrored, repeated, aten.tril(x, 1), aten.glu(x, 3), aten.roll(x, [5], [])


class Masks(nn.Module):
    def forward(self, x, mask, source):
        replaced = aten.masked_scatter(x, mask, source)
        put = aten.index_put(x, [mask], torch.tensor(7.0))
        return aten.masked_select(x, mask), aten.nonzero(mask), x[mask], replaced, put


class Samples(nn.Module):
    def forward(self, image, grid):
        modes = [(0, 0, False), (1, 1, True), (2, 2, False)]
        samples = [aten.grid_sampler_2d(image, grid, *mode) for mode in modes]
        smaller = torch.nn.functional.interpolate(image, size=(3, 4), mode="bilinear", antialias=True)
        largest, positions = aten.max_pool2d_with_indices(image, [3, 2], [2, 1], [1, 1], [1, 2], True)
        return (*samples, smaller, largest, positions, aten._native_batch_norm_legit.no_stats(image, None, None, True, 0.1, 1e-5)[0])


class Distances(nn.Module):
    def forward(self, x, y):
        return torch.cdist(x, y, 1.0), torch.cdist(x, y, 3.0), torch.nn.functional.pdist(x, 2.0), torch.nn.functional.pdist(x, float("inf"))


class Wide(nn.Module):
    """Functions of reals in binary64, and products and convolutions of 64 bits."""

    def forward(self, x, y, integers):
        waves = torch.sin(x) * torch.cos(y) + torch.tanh(x) - torch.erf(y)
        powers = torch.exp(x) + torch.log(y.abs() + 1) + torch.pow(y.abs(), x) + torch.fmod(x, y) + torch.atan2(x, y) + torch.asin(torch.sigmoid(y))
        image = integers.reshape(1, 4, 2, 2)
        filtered = aten.convolution(image, image.reshape(4, 2, 1, 2), None, [1, 1], [0, 1], [1, 1], False, [0, 0], 2)
        return waves, powers, x @ y.T, integers @ integers.T, filtered


class Volumes(nn.Module):
    """Convolutions and pools over three dimensions, pools over parts, images made smaller by a cubic."""

    def __init__(self):
        super().__init__()
        self.mixed, self.small = nn.Conv3d(2, 3, 1), nn.Conv3d(3, 2, (2, 3, 1), padding=(0, 1, 0))

    def forward(self, volume, image):
        volume = volume + self.small(torch.relu(self.mixed(volume)))[:, :, :1]
        largest, positions = aten.max_pool3d_with_indices(volume, [2, 3, 2], [2, 1, 2], [1, 1, 0])
        means = aten.avg_pool3d(volume, [2, 2, 3], [1, 2, 1], [0, 1, 1], False, False)
        parts, at = aten.adaptive_max_pool2d(image, [3, 2])
        cubic = torch.nn.functional.interpolate(image, size=(4, 5), mode="bicubic", antialias=True)
        return largest, positions, means, parts, at, aten.adaptive_max_pool2d(image, [4, 5])[0], aten._adaptive_avg_pool3d(volume, [2, 3, 2]), cubic


class Orders(nn.Module):
    def forward(self, x, half, integers):
        ordered = aten.sort.stable(half, stable=True, dim=0, descending=True)
        middle = aten.median.dim(integers, 1)
        signs = torch.copysign(x, half[:3, :4].float()), torch.signbit(half), torch.hypot(x, x + 1), torch.special.erfc(x), torch.exp2(x)
        return *ordered, *aten.topk(half, 3, 1, False), *middle, aten.median(half), aten.cumprod(x, 1), integers << 2, integers >> 1, *signs


class Spectra(nn.Module):
    """Fourier transforms of lengths that are powers of two and that are not, and complex numbers."""

    def forward(self, x, y):
        half = aten._fft_r2c(x, [1], 0, True)
        both = aten._fft_c2c(aten._fft_r2c(y, [0, 1], 1, True), [0], 2, False)
        return half.abs(), torch.view_as_real(both), aten._fft_c2r(half, [1], 2, 10), torch.view_as_real(torch.view_as_complex(x.reshape(3, 5, 2)))


class Narrow(nn.Module):
    """Floats below zero as bytes, products of 16-bit integers, an image of bytes made larger."""

    def forward(self, x, left, right, image):
        large = torch.nn.functional.interpolate(image, (7, 9), mode="bilinear")
        return x.to(torch.uint8), x.half().to(torch.int8), left @ right, torch.bmm(left[None], right[None]), large


class Gradients(nn.Module):
    """Gradients of convolutions and of pooling: with groups, all three; with steps that leave the end of the image out; by the filter alone."""

    def forward(self, image, filter, plain, first, second, third, pooled):
        grouped = aten.convolution_backward(first, image, filter, [6], [2, 1], [1, 0], [1, 2], False, [0, 0], 2, [True, True, True])
        left_out = aten.convolution_backward(second, image, plain, [5], [3, 2], [0, 1], [1, 1], False, [0, 0], 1, [True, True, False])
        alone = aten.convolution_backward(third, image, plain, [5], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, False])
        windows = ([3, 2], [2, 1], [1, 1], [1, 1], True)
        _, places = aten.max_pool2d_with_indices(image, *windows)
        return *grouped, *left_out[:2], alone[1], aten.max_pool2d_with_indices_backward(pooled, image, *windows, places)


# ExecuTorch's own form of `allclose`, which gives a tensor, and which only its C++ has.
CLOSE = torch.library.Library("aten", "FRAGMENT")
CLOSE_ARGUMENTS = "Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False, bool dummy_param=False"
CLOSE.define(f"allclose.Tensor({CLOSE_ARGUMENTS}) -> Tensor")
CLOSE.define(f"allclose.out({CLOSE_ARGUMENTS}, *, Tensor(a!) out) -> Tensor(a!)")


def all_close(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, dummy_param=False):
    """As its kernel of ExecuTorch computes it, for which infinities are close to nothing."""
    if not x.is_floating_point() or rtol == 0 == atol:
        return (x == y).all().reshape(1)
    difference = (x - y).abs().double()
    return (difference.isfinite() & (difference <= atol + (rtol * y.double()).abs())).all().reshape(1)


CLOSE.impl("allclose.Tensor", all_close, "CompositeExplicitAutograd")
CLOSE.impl("allclose.out", lambda *args, out, **options: out.copy_(all_close(*args, **options)), "CompositeExplicitAutograd")


class Close(nn.Module):
    """Whether tensors are close, and a copy that is an operator of its own."""

    def forward(self, x, step, integers):
        close = aten.allclose.Tensor
        answers = [close(x, x + step * n, 1e-3, 0.0) for n in (0.9, 1.1)]
        infinite = torch.log(x - x)
        answers += [close(infinite, infinite), close(infinite, infinite, 0.0, 0.0), close(integers, integers + 1, 9.0, 9.0), close(integers, integers)]
        halves = x.half()
        answers += [close(halves, halves + step.half() * n, 1e-3, 0.0) for n in (0.5, 2.0)]
        return *answers, llama.fallback(x)


def packed(rows, columns, group, bits):
    """Random integers with scales as `torchao` packs them: eight rows after one another, each group with its scales and sums behind it."""
    half = 1 << (bits - 1)
    integers, scales = torch.randint(-half, half, (rows, columns)), torch.rand(rows, columns // group) / half
    padded = torch.zeros(-rows % 8, columns, dtype=torch.int64)
    blocks = torch.cat([integers, padded]).reshape(-1, 8, columns // group, group // 16, 2, 8)
    scale_blocks = torch.cat([scales, torch.zeros(-rows % 8, columns // group)]).reshape(-1, 8, columns // group)
    out = bytearray(64)
    for block, block_scales in zip(blocks, scale_blocks):
        for g in range(columns // group):
            for run in range(group // 16):
                numbers = block[:, g, run].transpose(0, 1).flatten()
                if bits == 8:
                    out += numbers.to(torch.int8).numpy().tobytes()
                else:
                    low, high = (numbers + 8).reshape(4, 2, 16).unbind(1)
                    out += (high * 16 + low).to(torch.uint8).numpy().tobytes()
            out += block_scales[:, g].numpy().tobytes() + block[:, g].sum((1, 2, 3)).to(torch.int32).numpy().tobytes()
    return torch.frombuffer(out, dtype=torch.uint8)


class Experts(nn.Module):
    """Mixtures of five experts: scores of both kinds, integers of both widths, many rows and one."""

    def __init__(self):
        super().__init__()
        self.depth, self.hidden, self.count = 32, 48, 5
        for bits, group in ((4, 16), (8, 16)):
            stack = lambda *shape: torch.stack([packed(*shape, group, bits) for _ in range(self.count)])
            self.register_buffer(f"inner{bits}", stack(2 * self.hidden, self.depth))
            self.register_buffer(f"outer{bits}", stack(self.depth, self.hidden))
        self.register_buffer("router", torch.randn(self.count, self.depth) / 4)
        self.register_buffer("bias", torch.randn(self.count))
        self.register_buffer("none", torch.zeros(0))

    def forward(self, rows, row):
        sizes = self.count, self.hidden, self.depth, 16
        four, eight = (self.inner4, self.outer4), (self.inner8, self.outer8)
        experts = llama.quantized_moe_ffn
        return (
            experts(rows, self.router, self.bias, *four, 2, *sizes, 4, "sigmoid", 2.5),
            experts(rows, self.router, self.none, *eight, 3, *sizes, 8, "softmax", 1.0),
            experts(row, self.router, self.none, *four, 2, *sizes, 4, "sigmoid", 1.5),
        )


class Halves(nn.Module):
    """Bytes that become numbers halfway between two others, on a scale that is no binary32: its inverse decides where these go."""

    def forward(self, x):
        limits = -128, 127, torch.int8
        stepped = lambda y: decomposed.quantize_per_tensor.default(y, 0.0371, -3, *limits)
        y = decomposed.dequantize_per_tensor.default(stepped(x), 0.0371, -3, *limits)
        larger = torch.nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear")
        return stepped(y * 0.5), stepped(torch.nn.functional.avg_pool2d(y, 2)), stepped(larger), stepped(y + y.flip(-1) * 0.5)


KEPT = [
    aten.roll.default, aten.reflection_pad2d.default, aten.replication_pad3d.default, aten.tril.default, aten.glu.default,
    aten.masked_scatter.default, aten.grid_sampler_2d.default, aten._native_batch_norm_legit.no_stats, llama.fallback.default,
]


class Extremes(nn.Module):
    """The largest and smallest elements, and where they lie, where some are no numbers: along rows, along columns, of all."""

    def forward(self, *tensors):
        results = []
        for x in tensors:
            for dim in (0, 1):
                results += [x.amax(dim), x.amin(dim), x.argmax(dim), x.argmin(dim), *x.max(dim), *x.min(dim)]
            results += [x.max(), x.min(), x.argmax(), x[:1].max(), x[:1].argmin(), x.amax((0, 1), keepdim=True)]
        return tuple(results)


def sprinkled(x):
    """Rows without NaN, with it in front, at the end, after an infinity, alone, and twice."""
    nan, infinity = float("nan"), float("inf")
    x[1, 0] = x[2, -1] = x[3, 20] = x[5, 9] = x[5, 30] = nan
    x[3, 3], x[0, 4], x[2, 8], x[4] = infinity, -infinity, -infinity, nan
    return x


class Pooled(nn.Module):
    """The largest elements of windows and parts, and where they lie, where some are no numbers."""

    def forward(self, *images):
        results = []
        for x in images:
            results += [*aten.max_pool2d_with_indices(x, [3, 2], [2, 1], [1, 1], [1, 2], True), functional.max_pool2d(x, 2)]
            results += [functional.max_pool1d(x[:, :, 1], 3, 2, 1)]
        return (*results, aten.adaptive_max_pool2d(images[0], [3, 2])[0])


class Powers(nn.Module):
    """Signs, powers of a half, and quotients rounded down, of numbers and of what is none, as ExecuTorch's kernels have them."""

    def forward(self, *tensors):
        results = []
        for x, y in zip(tensors[::2], tensors[1::2]):
            results += [x.sign(), x**0.5, x**-0.5, torch.floor_divide(x, y), torch.div(x, y, rounding_mode="floor")]
        return tuple(results)


def pairs():
    """Each number beside each, in three types."""
    nan, inf = float("nan"), float("inf")
    pairs = torch.cartesian_prod(*[torch.tensor([nan, inf, -inf, 0.0, -0.0, 2.5, -2.5, 1.0, 7e-4])] * 2).t().contiguous()
    return tuple(t.to(kind) for kind in (torch.float32, torch.float64, torch.float16) for t in pairs)


class Ends(nn.Module):
    """Functions where their operands are too large to be squared, or no numbers."""

    def forward(self, *tensors):
        return tuple(f(x) for x in tensors for f in (torch.asinh, torch.acosh, torch.log1p))


def ends():
    inf = float("inf")
    values = torch.tensor([float("nan"), inf, -inf, 0.0, 1.0, -1.0, 1.5, 2e4, -3e9, 1e10, 3e19, -3e19, 3e38, -3e38, 0.25, -0.75])
    return values, values.double(), values.half()


class HalfSamples(nn.Module):
    """Images of half precision sampled in all ways; the last one has more columns than its type has whole numbers."""

    def forward(self, half, places, brain, others, long, far):
        modes = [(way, outside, aligned) for way in range(3) for outside in range(3) for aligned in (False, True)]
        samples = [aten.grid_sampler_2d(image, grid, *mode) for image, grid in ((half, places), (brain, others)) for mode in modes]
        return tuple(samples) + tuple(aten.grid_sampler_2d(long, far, way, outside, True) for way in (1, 2) for outside in range(2))


def half_samples(randn):
    place = lambda *shape: torch.rand(1, *shape, 2) * 2.6 - 1.3
    kinds = torch.float16, torch.bfloat16
    near = [tensor.to(kind) for kind in kinds for tensor in (randn(1, 2, 9, 13), place(6, 7))]
    far = torch.linspace(-1.1, 1.1, 40)
    return *near, randn(1, 1, 1, 300).bfloat16(), torch.stack([far, 0 * far], -1)[None, None].bfloat16()


class Hyperbolic(nn.Module):
    """Hyperbolic functions and their inverses where the ways to compute them lose digits or overflow; in double precision, what single leaves of them."""

    def forward(self, ends, near, large, *doubles):
        finer = [f(x) for f, x in zip((torch.sinh, torch.acosh, torch.asinh), doubles)]
        return torch.sinh(ends), torch.cosh(ends), torch.sinh(near), torch.acosh(near + 1), torch.asinh(large), *[y - y.float() for y in finer]


def hyperbolic():
    inf = float("inf")
    ends = torch.tensor([89.0, -89.0, 89.4, -89.4, 88.0, 90.0, inf, -inf, float("nan"), 0.0, -0.0, 40.0, 41.0])
    near, large = torch.tensor([2.0**-23, 2.0**-22, 3 * 2.0**-23]), torch.tensor([2.0**31, 1e18, 2e18, 1e20])
    finer = [0.3, -0.7, 1e-9, 3.0], [1 + 2.0**-52, 1 + 2.0**-40], [2.0**31, -1e10, 1e12]
    return ends, near, large, *(torch.tensor(x, dtype=torch.float64) for x in finer)


class Apart(nn.Module):
    """Index tensors for dimensions with others between them: what they name comes first. Read, set, and added to."""

    def forward(self, x, images, i, j, values):
        set, added = x.clone(), x.clone()
        set[i, :, j] = values
        added[i[:, None], :, j] += 1
        one = i * 0 + 1
        return x[i, :, j], images[:, i, :, j], images[:, i[:, None], :, j], x[i, None, j], images[one, ..., i], set, added


def apart(randn):
    i, j = torch.tensor([0, 2, -1]), torch.tensor([1, -2, 0])
    return randn(4, 3, 5), randn(2, 4, 3, 5), i, j, randn(3, 3)


class Nothing(nn.Module):
    """Dropout of all elements, and whether any is true along no dimension."""

    def forward(self, x, n):
        return functional.dropout(x, 1.0, True), *aten.native_dropout(x, 1.0, True), torch.any(x, ()), torch.any(n, (), keepdim=True)


def holed(x):
    """An image with NaN in a corner, in a row, and twice side by side."""
    x[0, 0, 0, 0] = x[0, 1, 3, 2:4] = x[1, 0, -1, -1] = float("nan")
    return x


def gradients(randn):
    """Of an image of four channels: two filters, what came of three convolutions, and what came of pooling."""
    image, filter, plain = randn(2, 4, 9, 8), randn(6, 2, 3, 2), randn(5, 4, 2, 3)
    convolve = torch.nn.functional.conv2d
    results = [
        convolve(image, filter, None, (2, 1), (1, 0), (1, 2), 2),
        convolve(image, plain, None, (3, 2), (0, 1)),
        convolve(image, plain, None, 1, 1),
        torch.nn.functional.max_pool2d(image, (3, 2), (2, 1), 1, 1, True),
    ]
    return image, filter, plain, *(randn(*result.shape) for result in results)


def closeness(randn):
    """Numbers, a thousandth of them, and integers."""
    x = randn(3, 5) + 4
    return x, x / 1000, torch.randint(-9, 10, (4, 3))


class Large(nn.Module):
    """Windows larger than the image: the last one may be cut off, and here that is the first."""

    def forward(self, x):
        whole = functional.avg_pool2d(x, 2560, ceil_mode=True)
        padded = functional.avg_pool2d(x, 9, stride=7, padding=1, ceil_mode=True)
        inside = functional.avg_pool2d(x, 9, stride=7, padding=1, ceil_mode=True, count_include_pad=False)
        most = functional.max_pool2d(x, (6, 40), stride=(4, 40), ceil_mode=True)
        return whole, padded, inside, most


class Reordered(nn.Module):
    """Rows and columns of a tensor beside the tensor itself in another order: no result may take its place before the last of them is read."""

    rows, columns = torch.tensor([2, 0, 1, 4, 3]), torch.tensor([1, 0, 2])

    def forward(self, x):
        sums, shares, scaled, both, viewed = (torch.relu(x + i) for i in range(5))
        moved = lambda y: -y.index_select(0, self.rows)
        pairs = viewed.reshape(5, 3, 6)
        return (
            sums + moved(sums),
            torch.softmax(shares + moved(shares), -1),
            functional.layer_norm(scaled * moved(scaled), [18]),
            moved(both).reshape(5, 3, 6) + both.reshape(5, 3, 6).index_select(1, self.columns).abs() + both.reshape(5, 3, 6),
            pairs + moved(pairs),
        )


class Reshaped(nn.Module):
    """Products of a tensor beside the same bytes as another shape: no result may take its place before the last window is read."""

    halves, doubles = torch.linspace(-1, 1, 16).reshape(4, 1, 2, 2), torch.linspace(-1, 2, 16).reshape(4, 1, 2, 2)

    def forward(self, x):
        image, small = torch.relu(x + 1), torch.relu(x + 2).reshape(1, 32, 32, 4)
        pixels = functional.conv2d(image, self.halves, stride=2).permute(0, 2, 3, 1)
        spread = functional.conv_transpose2d(small.permute(0, 3, 1, 2), self.doubles, stride=2)
        return pixels.reshape(1, 4096) + image.reshape(1, 4096), spread.reshape(1, 4096) - small.reshape(1, 4096)


class Turns(nn.Module):
    """Sines and cosines of angles of many turns."""

    def forward(self, *angles):
        return tuple(f(x) for x in angles for f in (torch.sin, torch.cos))


def turns():
    """Near and far angles in turn, the binary32 and binary64 nearest to multiples of a quarter turn, and a far one alone."""
    inf, nan = float("inf"), float("nan")
    logarithmic = lambda last, dtype: torch.logspace(0, last, 61, dtype=dtype) * (1 - 2 * (torch.arange(61) % 2)).to(dtype)
    short = torch.cat([logarithmic(38, torch.float32), torch.tensor([3e38, -3e38, 16367173.0 * 2.0**72, 67108864.0, 67108872.0, inf, -inf, nan])])
    long = torch.cat([logarithmic(308, torch.float64), torch.tensor([6381956970095103 * 2.0**797, 2.0**45, 1.7e308, inf, nan], dtype=torch.float64)])
    return short, short.bfloat16(), torch.tensor([3.3e9]), long


def main():
    torch.manual_seed(2)
    randn = torch.randn
    rows = lambda: randn(1, 6, 2, 4).mul(30).to(torch.int8)
    zeros, scales = torch.randint(-3, 4, (1, 6, 2, 1), dtype=torch.int8), torch.rand(1, 6, 2, 1) / 30
    short = lambda *shape: torch.randint(-300, 300, shape).to(torch.int16)
    steps = [(randn(1, 1, 4, 4), randn(1, 1, 2, 4), randn(1, 1, 2, 4), torch.tensor([i])) for i in range(3)]
    models = {
        "decoder": (Decoder(), steps),
        "quantized_attention": (QuantizedAttention(), [(rows()[:, :2], rows(), rows(), zeros[:, :2], scales[:, :2], zeros, scales)]),
        "tables": (Tables(), [(torch.tensor([[5, 0, 3], [1, 1, 2]]),)]),
        "borders": (Borders(), [(randn(2, 3, 4, 6),)]),
        "masks": (Masks(), [(randn(3, 4), torch.rand(3, 4) > 0.5, randn(3, 4)) for _ in range(2)]),
        "samples": (Samples(), [(randn(2, 2, 5, 6), torch.rand(2, 3, 4, 2) * 3 - 1.5)]),
        "distances": (Distances(), [(randn(4, 3), randn(5, 3))]),
        "wide": (Wide(), [(randn(3, 4).double(), randn(3, 4).double(), torch.randint(-9, 10, (4, 4)))]),
    }
    models |= {
        "volumes": (Volumes(), [(randn(1, 2, 4, 5, 6), randn(1, 2, 9, 8))]),
        "orders": (Orders(), [(randn(3, 4), randn(4, 6).half(), torch.randint(-9, 10, (3, 5)))]),
        "spectra": (Spectra(), [(randn(3, 10), randn(16, 32))]),
        "narrow": (Narrow(), [(randn(3, 5) * 50, short(3, 4), short(4, 6), torch.randint(0, 256, (1, 2, 4, 5), dtype=torch.uint8))]),
        "gradients": (Gradients(), [gradients(randn)]),
        "halves": (Halves(), [(randn(1, 3, 6, 8) * 2,)]),
        "close": (Close(), [closeness(randn)]),
        "experts": (Experts(), [(randn(6, 32), randn(1, 32)) for _ in range(2)]),
        "ends": (Ends(), [ends()]),
        "pooled": (Pooled(), [(holed(randn(2, 2, 7, 6)), holed(randn(2, 2, 7, 6).half()))]),
        "powers": (Powers(), [pairs()]),
        "extremes": (Extremes(), [(sprinkled(randn(6, 37)), sprinkled(randn(6, 37).half()), sprinkled(randn(6, 37).double()))]),
        "half_samples": (HalfSamples(), [half_samples(randn)]),
        "large_windows": (Large(), [(randn(1, 2, 3, 4),)]),
        "hyperbolic": (Hyperbolic(), [hyperbolic()]),
        "apart": (Apart(), [apart(randn)]),
        "nothing": (Nothing(), [(randn(3, 4), torch.tensor([[0, 3], [-1, 0]]))]),
        "turns": (Turns(), [turns()]),
        "reordered": (Reordered(), [(randn(5, 18),)]),
        "reshaped": (Reshaped(), [(randn(1, 1, 64, 64),)]),
    }
    for stem, (model, inputs) in models.items():
        if sys.argv[1:] and stem not in sys.argv[1:]:
            continue
        edge = to_edge(
            export(model.eval(), inputs[0], strict=False), compile_config=EdgeCompileConfig(_check_ir_validity=False, preserve_ops=KEPT)
        )
        program = edge.to_executorch()
        if stem == "decoder":
            model.keys.zero_()
            model.values.zero_()
        write(stem, program, model, [tuple(t.contiguous() for t in call) for call in inputs], stateful=stem == "decoder")
        # PyTorch rounds what is between bytes, inverts a scale in binary64, divides by zero, computes positions in half precision, or overflows early.
        if stem in ("narrow", "halves", "powers", "half_samples", "hyperbolic"):
            answers_of_runtime(stem, inputs)


if __name__ == "__main__":
    main()
