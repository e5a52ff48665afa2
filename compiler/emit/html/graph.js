/** A graph of the file as it is drawn: nodes with labels and details, and edges between their numbers. */
function fileGraph(number) {
  const graph = report.graphs[number];
  const nodes = graph.inputs.map((input) => ({ kind: "end", label: "input", note: input.type, name: input.tensor, places: [] }));
  const first = nodes.length, edges = [];
  const from = (wire) => wire.node !== undefined ? first + wire.node : wire.input;
  graph.operators.forEach((operator, i) => {
    for (const wire of operator.inputs) edges.push([from(wire), nodes.length]);
    nodes.push({ kind: kernelsAt(number, i).length ? "" : "gone", label: `${operator.index} ${operator.name}`, note: operator.type,
      name: operator.tensor, places: [i], parameters: operator.parameters });
  });
  graph.outputs.forEach((wire) => {
    edges.push([from(wire), nodes.length]);
    nodes.push({ kind: "end", label: "output", note: wire.type, name: wire.tensor, places: [] });
  });
  return { number, nodes, edges };
}

/** The same graph as it is computed: operators of one row are one node, and those without code pass on what they read. */
function fusedGraph(number) {
  const file = fileGraph(number);
  const inputs = report.graphs[number].inputs.length;
  const groups = new Map();
  for (const row of report.operators) {
    const places = row.nodes.filter(([graph]) => graph === number).map(([, node]) => node);
    places.forEach((place) => groups.set(inputs + place, { row, places }));
  }
  const nodes = [], at = new Map(), sources = new Map();
  const add = (node) => { nodes.push(node); sources.set(nodes.length - 1, new Set()); return nodes.length - 1; };
  const leading = Array.from(file.nodes, () => []);
  for (const [from, to] of file.edges) leading[to].push(from);
  const passed = new Map();
  file.nodes.forEach((node, i) => {
    const group = groups.get(i);
    const reached = () => [...new Set(leading[i].flatMap((from) => passed.get(from) ?? []))];
    if (!group && node.kind === "gone") { passed.set(i, reached()); return; }
    const known = group && at.get(group.row);
    const own = known ?? add(group ? { kind: "", label: group.row.operators.map((o) => o.name).join(" + "), note: node.note,
      name: node.name, places: group.places, parameters: group.row.parameters } : node);
    if (group) { at.set(group.row, own); nodes[own].note = node.note; }
    for (const from of reached()) if (from !== own) sources.get(own).add(from);
    passed.set(i, [own]);
  });
  const edges = [...sources].flatMap(([to, froms]) => [...froms].map((from) => [from, to]));
  return { number, nodes, edges };
}

const NODE = { height: 40, least: 96, most: 230 };

/** A graph as a picture that the keyboard walks through. `onSelect` gets the node that is chosen. */
function graphPicture(graph, onSelect) {
  const width = (node) => Math.min(NODE.most, Math.max(NODE.least, 7.4 * Math.max(node.label.length, node.note.length * 0.85) + 18));
  const { nodes, edges } = graph;
  const layout = layOut(nodes.map(width), edges);
  const margin = 8;
  const svg = draw("svg", { class: "graph", width: layout.width + 2 * margin, height: layout.height + 2 * margin, role: "group",
    "aria-label": "graph", viewBox: `${-margin} ${-margin} ${layout.width + 2 * margin} ${layout.height + 2 * margin}` });
  const lines = layout.lines.map(([from, to]) => {
    const [top, bottom] = [from.y + (from.isNode ? NODE.height / 2 : 0), to.y - (to.isNode ? NODE.height / 2 : 0)];
    const [x0, x1, middle] = [from.x.toFixed(1), to.x.toFixed(1), (top + bottom) / 2];
    return `M${x0} ${top}C${x0} ${middle} ${x1} ${middle} ${x1} ${bottom}`;
  });
  svg.append(draw("path", { class: "edges", d: lines.join("") }));
  const cut = (text, w, letter) => text.length * letter > w - 12 ? text.slice(0, Math.floor((w - 18) / letter)) + "…" : text;
  const boxes = nodes.map((node, i) => {
    const w = width(node), { x, y } = layout.nodes[i];
    return draw("g", { class: `node ${node.kind}`, role: "button", tabindex: i ? -1 : 0, transform: `translate(${x.toFixed(1)} ${y})` },
      draw("rect", { x: -w / 2, y: -NODE.height / 2, width: w, height: NODE.height, rx: 5 }),
      draw("text", { class: "label", y: -3, "text-anchor": "middle" }, cut(node.label, w, 7.2)),
      draw("text", { y: 12, "text-anchor": "middle" }, cut(node.note, w, 6.2)), draw("title", {}, node.name || node.label));
  });
  svg.append(...boxes);
  walkThrough(svg, boxes, graph, layout, onSelect);
  return { svg, boxes, nodes };
}

/** Arrow keys: down and up along an edge, right and left within a layer; Enter and Space choose. */
function walkThrough(svg, boxes, { nodes, edges }, layout, onSelect) {
  const of = (event) => boxes.indexOf(event.target.closest(".node"));
  const focus = (to) => {
    boxes.forEach((box) => box.setAttribute("tabindex", -1));
    boxes[to].setAttribute("tabindex", 0);
    boxes[to].focus();
  };
  const beside = (at, step) => {
    const layer = nodes.map((_, i) => i).filter((i) => layout.nodes[i].layer === layout.nodes[at].layer);
    layer.sort((a, b) => layout.nodes[a].x - layout.nodes[b].x);
    return layer[layer.indexOf(at) + step];
  };
  const along = (at, from, to) => edges.find((edge) => edge[from] === at)?.[to];
  const moves = {
    ArrowDown: (at) => along(at, 0, 1), ArrowUp: (at) => along(at, 1, 0),
    ArrowRight: (at) => beside(at, 1), ArrowLeft: (at) => beside(at, -1),
    Home: () => 0, End: () => boxes.length - 1,
  };
  const choose = (at) => {
    boxes.forEach((box, i) => box.classList.toggle("chosen", i === at));
    onSelect(nodes[at]);
  };
  svg.addEventListener("click", (event) => { if (of(event) >= 0) { focus(of(event)); choose(of(event)); } });
  svg.addEventListener("keydown", (event) => {
    const at = of(event);
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") choose(at);
    else if (moves[event.key]) { const to = moves[event.key](at); if (to !== undefined) focus(to); }
    else return;
    event.preventDefault();
  });
}

/** The graphs that a method runs: its own, then those of its branches and loops. */
function reachable(first) {
  const found = [first];
  for (const number of found) {
    for (const inner of report.graphs[number].operators.flatMap((operator) => operator.graphs ?? [])) if (!found.includes(inner)) found.push(inner);
  }
  return found;
}

/** The graph of a method with its controls. `show` gets the kernels of the chosen operator. Gives the card and a function that marks matches. */
function graphCard(method, show) {
  const detail = make("div", { class: "detail note", "aria-live": "polite" }, "Choose an operator to see its kernels and its memory.");
  const scroll = make("div", { class: "scroll" });
  const id = `graph-${report.methods.indexOf(method)}`;
  const option = (value, text) => make("option", { value }, text);
  const view = make("select", { id: id + "-view" }, option("fused", "as it is computed"), option("file", "as in the file"));
  const which = make("select", { id: id + "-which" }, ...reachable(method.graph).map((number) => option(number, report.graphs[number].name || `graph ${number}`)));
  let picture, text = "";
  const mark = (wanted) => {
    text = wanted;
    picture.boxes.forEach((box, i) => {
      const { label, name, note } = picture.nodes[i];
      box.classList.toggle("found", text !== "" && `${label} ${name} ${note}`.toLowerCase().includes(text));
    });
    const first = picture.boxes.find((box) => box.classList.contains("found"));
    if (first) scroll.scrollTop = Math.max(0, Number(/ ([\d.]+)\)/.exec(first.getAttribute("transform"))[1]) - 120);
  };
  const redraw = () => {
    const number = Number(which.value);
    const graph = view.value === "file" ? fileGraph(number) : fusedGraph(number);
    picture = graphPicture(graph, (node) => {
      const kernels = [...new Set(node.places.flatMap((place) => kernelsAt(number, place)))];
      detail.replaceChildren(named(node.label), " ", named(node.name), make("br"), node.note, node.parameters ? `, ${grouped(node.parameters)} parameters` : "",
        node.places.length ? kernels.length ? `, ${kernels.length} kernel ${kernels.length > 1 ? "calls" : "call"}` : ", no kernel: it moves nothing, or was computed while compiling" : "");
      show(kernels, node.name);
    });
    scroll.replaceChildren(picture.svg);
    mark(text);
  };
  view.addEventListener("change", redraw);
  which.addEventListener("change", redraw);
  redraw();
  const controls = make("div", { class: "controls" }, make("label", { for: view.id }, "Graph"), view);
  if (which.children.length > 1) controls.append(make("label", { for: which.id }, "of"), which);
  return [make("div", { class: "card" }, controls, scroll, detail), mark];
}
