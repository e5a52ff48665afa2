/**
 * Places the nodes of a graph in layers, so that edges go down. `widths` are those of nodes, `edges` are pairs of node numbers.
 * Gives for each node its centre and layer, and the lines that edges consist of. It is pure, and tests call it alone.
 */
function layOut(widths, edges, { gap = 24, rowHeight = 64, most = 20000 } = {}) {
  const count = widths.length;
  const rank = ranks(count, edges.filter(([from, to]) => from < to));
  const slots = widths.map((width, i) => ({ rank: rank[i], width, x: 0, isNode: true, up: [], down: [] }));
  const lines = [];
  const join = (from, to) => {
    slots[from].down.push(to);
    slots[to].up.push(from);
    lines.push([from, to]);
  };
  // An edge over several layers passes through one point of each. Edges of one node share them.
  const chains = new Map();
  for (const [from, to] of edges) {
    if (rank[to] <= rank[from] || slots.length > count + most) { lines.push([from, to]); continue; }
    const chain = chains.get(from) ?? chains.set(from, [from]).get(from);
    for (let r = rank[from] + chain.length; r < rank[to]; r++) {
      slots.push({ rank: r, width: 10, x: 0, isNode: false, up: [], down: [] });
      join(chain[chain.length - 1], slots.length - 1);
      chain.push(slots.length - 1);
    }
    join(chain[rank[to] - rank[from] - 1], to);
  }
  const layers = [];
  slots.forEach((slot, i) => (layers[slot.rank] ??= []).push(i));
  order(slots, layers);
  place(slots, layers, gap);
  let left = Infinity, right = 0;
  for (const slot of slots) left = Math.min(left, slot.x - slot.width / 2);
  for (const slot of slots) { slot.x -= left; right = Math.max(right, slot.x + slot.width / 2); }
  const end = (i) => ({ x: slots[i].x, y: (slots[i].rank + 0.5) * rowHeight, isNode: slots[i].isNode });
  return {
    width: right,
    height: layers.length * rowHeight,
    nodes: widths.map((_, i) => ({ x: slots[i].x, y: (rank[i] + 0.5) * rowHeight, layer: rank[i] })),
    lines: lines.map(([from, to]) => [end(from), end(to)]),
  };
}

/** The longest way to each node; what nothing leads to stands right above what it leads to. */
function ranks(count, edges) {
  const [next, before] = [Array.from({ length: count }, () => []), Array.from({ length: count }, () => [])];
  for (const [from, to] of edges) { next[from].push(to); before[to].push(from); }
  const rank = new Array(count).fill(0);
  for (let i = 0; i < count; i++) for (const to of next[i]) rank[to] = Math.max(rank[to], rank[i] + 1);
  for (let i = 0; i < count; i++) {
    if (!before[i].length && next[i].length) rank[i] = next[i].reduce((least, to) => Math.min(least, rank[to]), Infinity) - 1;
  }
  return rank;
}

/** Orders each layer by the mean position of neighbours, downwards and upwards in turn, so that few edges cross. */
function order(slots, layers) {
  const position = new Float64Array(slots.length), mean = new Float64Array(slots.length);
  const number = (layer) => { for (let i = 0; i < layer.length; i++) position[layer[i]] = i; };
  layers.forEach(number);
  const sweep = (layer, side) => {
    if (layer.length < 2) return;
    for (const i of layer) {
      const others = slots[i][side];
      let sum = 0;
      for (const other of others) sum += position[other];
      mean[i] = others.length ? sum / others.length : position[i];
    }
    layer.sort((a, b) => mean[a] - mean[b] || position[a] - position[b]);
    number(layer);
  };
  for (let round = 0; round < 4; round++) {
    for (let r = 1; r < layers.length; r++) sweep(layers[r], "up");
    for (let r = layers.length - 2; r >= 0; r--) sweep(layers[r], "down");
  }
}

/** Moves nodes of a layer to the mean of their neighbours, as far as their order and widths allow. */
function place(slots, layers, gap) {
  for (const layer of layers) settle(slots, layer, layer.map((_, i) => i * gap), gap);
  // Nodes follow nodes, and the points of long edges follow points, so that both are straight.
  const wanted = (slot, side) => {
    let [sum, like, all] = [0, 0, 0];
    for (const other of slot[side]) if (slots[other].isNode === slot.isNode) { sum += slots[other].x; like++; }
    if (like) return sum / like;
    for (const other of slot[side]) { sum += slots[other].x; all++; }
    return all ? sum / all : slot.x;
  };
  for (let round = 0; round < 6; round++) {
    const down = round % 2 === 0;
    for (let n = 0; n < layers.length; n++) {
      const layer = layers[down ? n : layers.length - 1 - n];
      settle(slots, layer, layer.map((i) => wanted(slots[i], down ? "up" : "down")), gap);
    }
  }
}

/** What a point of a long edge counts beside a node: edges make way. */
const POINT_WEIGHT = 0.001;

/** The places nearest to the wanted ones at which nodes stand beside each other: those that would overlap move as one block. */
function settle(slots, layer, wanted, gap) {
  const offsets = [0], blocks = [];
  for (let i = 1; i < layer.length; i++) offsets.push(offsets[i - 1] + (slots[layer[i - 1]].width + slots[layer[i]].width) / 2 + gap);
  for (let i = 0; i < layer.length; i++) {
    const weight = slots[layer[i]].isNode ? 1 : POINT_WEIGHT;
    let block = { sum: weight * (wanted[i] - offsets[i]), weight, count: 1 };
    for (let last = blocks[blocks.length - 1]; last && last.sum / last.weight > block.sum / block.weight; last = blocks[blocks.length - 1]) {
      blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, count: last.count + block.count };
    }
    blocks.push(block);
  }
  let i = 0;
  for (const { sum, weight, count } of blocks) for (const end = i + count; i < end; i++) slots[layer[i]].x = sum / weight + offsets[i];
}
