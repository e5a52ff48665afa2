"""Trains a decoder of bytes on a poem until it knows it by heart, and exports it to poem.pte with int4 weights for XNNPACK.

    pip install executorch==1.5.1 torch==2.13.0 torchao==0.18.0
    python export.py

The method takes tokens [1, n] and the position of the first one, keeps its keys and values in two caches a layer, and gives the scores of what follows the
last token. The poem is William Blake's "The Tyger" (1794), which is in the public domain.
"""
import torch
from torch import nn
from torch.nn import functional as F
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers llama::update_cache and llama::custom_sdpa
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_

POEM = """\
Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies,
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?
"""
VOCABULARY, DEPTH, HEADS, LAYERS, CONTEXT = 128, 64, 4, 2, 320


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DEPTH))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mixing = Norm(), Norm()
        self.query, self.key, self.value, self.out = (nn.Linear(DEPTH, DEPTH, bias=False) for _ in range(4))
        self.up, self.gate, self.down = nn.Linear(DEPTH, 2 * DEPTH, bias=False), nn.Linear(DEPTH, 2 * DEPTH, bias=False), nn.Linear(2 * DEPTH, DEPTH, bias=False)
        cache = torch.zeros(1, CONTEXT, HEADS, DEPTH // HEADS)
        self.register_buffer('keys', cache, persistent=False)
        self.register_buffer('values', cache.clone(), persistent=False)

    def forward(self, x, start):
        rows = self.before_attention(x)
        query, key, value = (f(rows).view(x.shape[0], x.shape[1], HEADS, -1) for f in (self.query, self.key, self.value))
        if start is None:  # training
            turned = (t.transpose(1, 2) for t in (query, key, value))
            y = F.scaled_dot_product_attention(*turned, is_causal=True).transpose(1, 2)
        else:
            torch.ops.llama.update_cache(key, self.keys, start)
            torch.ops.llama.update_cache(value, self.values, start)
            y = torch.ops.llama.custom_sdpa(query, self.keys, self.values, start, None, 0, True)
        x = x + self.out(y.reshape(x.shape))
        rows = self.before_mixing(x)
        return x + self.down(F.silu(self.gate(rows)) * self.up(rows))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, DEPTH), nn.Embedding(CONTEXT, DEPTH)
        self.blocks, self.norm, self.head = nn.ModuleList(Block() for _ in range(LAYERS)), Norm(), nn.Linear(DEPTH, VOCABULARY, bias=False)

    def scores(self, tokens, places, start):
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x, start)
        return x

    def forward(self, tokens, position):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < CONTEXT)
        places = position + torch.arange(tokens.shape[1])
        x = self.scores(tokens, places, start)
        return self.head(self.norm(x[:, -1]))


def train(model):
    text = torch.tensor(list(POEM.encode()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    places = torch.arange(len(text) - 1)
    for step in range(120):
        x = model.scores(text[None, :-1], places, None)
        loss = F.cross_entropy(model.head(model.norm(x))[0], text[1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item(), flush=True)


torch.manual_seed(1)
model = Decoder()
train(model)
model.eval().requires_grad_(False)
quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
arguments = (torch.ones(1, 3, dtype=torch.long), torch.zeros(1, dtype=torch.long))
shapes = ({1: torch.export.Dim('n', min=2, max=64)}, None)
with torch.no_grad():
    program = torch.export.export(model, arguments, dynamic_shapes=shapes, strict=False)
edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=EdgeCompileConfig(_check_ir_validity=False))
with open('poem.pte', 'wb') as file:
    file.write(edge.to_executorch().buffer)
