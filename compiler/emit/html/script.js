"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const grouped = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const bytes = (n) => grouped(n) + " B";
const percent = (part, whole) => whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "–";

/** A new element. Attributes and text only: nothing from the report becomes markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  return fill(element, attributes, children);
}
function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
/** A kernel's symbol without the prefix that all of them have. */
const local = (symbol) => symbol.startsWith(report.name + "_") ? symbol.slice(report.name.length + 1) : symbol;
const named = (text) => make("span", { class: "name" }, text);

const words = (text) => make("span", { class: "name words" }, text);

function heading() {
  const { model, memory } = report;
  document.title = `${model.file} – modelc report`;
  document.getElementById("model").append(named(model.file));
  const about = `compiled by modelc ${report.modelc} for ${report.target} (${report.cpu_levels.join(", ")}), SHA-256 `;
  document.getElementById("about").append(about, make("code", { title: model.sha256 }, model.sha256.slice(0, 16) + "…"));
  const figure = (term, value, note) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, bytes(value), make("small", {}, note)));
  document.getElementById("figures").append(
    figure("Arena", memory.arena_bytes, `${bytes(memory.state_bytes)} state, ${bytes(memory.scratch_bytes)} scratch`),
    figure("Stack", memory.stack_bytes, "at most, callbacks excluded"),
    figure("Weights", memory.weights_bytes, "read-only data"),
    figure("Code", memory.code_bytes, `${report.kernels.length} kernel calls`),
    figure("Flash", memory.flash_bytes, `the object file has ${bytes(memory.object_bytes)}`),
  );
}

function verdict(method) {
  const gap = method.scratch_bytes - method.lower_bound_bytes;
  if (gap === 0) return "equal to the lower bound: no plan for this order of steps is smaller";
  if (method.optimal) return "no smaller plan exists for this order of steps (exhaustive search)";
  return `${percent(gap, method.lower_bound_bytes)} above the lower bound of ${bytes(method.lower_bound_bytes)}`;
}

/** Round distances between grid lines, so that there are at most `most`. */
function ticks(end, most) {
  if (end <= 0) return [0];
  let step = 1;
  for (let i = 0; end / step > most; i++) step *= i % 3 === 1 ? 2.5 : 2;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

/** The memory map: steps to the right, offsets upwards. Gives the card and a function that marks a step. */
function memoryMap(method, kernels) {
  const map = method.memory_map;
  const [width, height, left, bottom, top, right] = [1200, 440, 84, 34, 20, 12];
  const steps = Math.max(map.steps.length, 1), end = Math.max(method.scratch_bytes, method.lower_bound_bytes, 1);
  const x = (step) => left + (width - left - right) * step / steps;
  const y = (offset) => height - bottom - (height - bottom - top) * offset / end;
  const symbols = new Map(map.kernel_steps.map((step, i) => [step, kernels[i] ? local(kernels[i].symbol) : map.steps[step]]));
  const stepName = (step) => symbols.get(step) ?? map.steps[step] ?? "";
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "memory map" });
  for (const offset of ticks(end, 8)) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(offset), y2: y(offset) }),
      draw("text", { x: left - 8, y: y(offset) + 4, "text-anchor": "end" }, grouped(offset)));
  }
  for (const step of ticks(steps - 1, 24).filter(Number.isInteger)) {
    svg.append(draw("text", { x: x(step + 0.5), y: height - bottom + 16, "text-anchor": "middle" }, String(step)));
  }
  svg.append(draw("text", { x: (left + width) / 2, y: height - 2, "text-anchor": "middle" }, "step"));
  svg.append(draw("rect", { class: "column", x: x(map.peak_step), y: top, width: x(1) - x(0), height: height - bottom - top }));
  const cursor = draw("rect", { class: "cursor", y: top, width: x(1) - x(0), height: height - bottom - top, visibility: "hidden" });
  const detail = make("div", { class: "detail note", "aria-live": "polite" },
    "Point at a box, or focus one and use the arrow keys.");
  const order = map.occupants.map((o, i) => i).sort((a, b) => {
    const [p, q] = [map.occupants[a], map.occupants[b]];
    return p.first_step - q.first_step || p.offset - q.offset;
  });
  const boxes = order.map((index, position) => {
    const o = map.occupants[index];
    const atPeak = o.first_step <= map.peak_step && map.peak_step < o.end_step;
    const text = `${o.name}: ${bytes(o.bytes)} at ${grouped(o.offset)}–${grouped(o.offset + o.bytes)}, steps ${o.first_step}–${o.end_step - 1}`;
    const [w, h] = [x(o.end_step) - x(o.first_step), y(o.offset) - y(o.offset + o.bytes)];
    const box = draw("g", { class: "box" + (o.working ? " working" : atPeak ? " peak" : ""), role: "img", "aria-label": text,
      tabindex: position === 0 ? 0 : -1 }, draw("title", {}, text),
      draw("rect", { x: x(o.first_step), y: y(o.offset + o.bytes), width: Math.max(w, 1), height: Math.max(h, 1) }));
    // A box that another is drawn over, as it takes over its bytes, has its name in the part that stays visible.
    const covering = map.occupants.filter((p) => p.first_step > o.first_step && p.offset < o.offset + o.bytes && o.offset < p.offset + p.bytes);
    const visible = Math.min(o.end_step, ...covering.map((p) => p.first_step));
    const letters = Math.floor((x(visible) - x(o.first_step) - 8) / 6.2);
    if (letters >= 5 && h >= 14) {
      // Of the names that a converter joined the first says which tensor it is; the end of a path tells more than its start.
      const name = o.working ? "scratch" : o.name.split(";")[0];
      const label = name.length > letters ? "…" + name.slice(name.length - letters + 1) : name;
      box.append(draw("text", { class: "label", x: x(o.first_step) + 4, y: y(o.offset + o.bytes) + Math.min(h / 2 + 4, 16) }, label));
    }
    const show = () => detail.replaceChildren(named(o.name), make("br"),
      `${bytes(o.bytes)} at ${grouped(o.offset)}–${grouped(o.offset + o.bytes)}, live from step ${o.first_step} `,
      make("code", { class: "name" }, stepName(o.first_step)), ` to step ${o.end_step - 1} `, make("code", { class: "name" }, stepName(o.end_step - 1)));
    box.addEventListener("pointerenter", show);
    box.addEventListener("focus", show);
    return box;
  });
  svg.addEventListener("keydown", (event) => {
    const at = boxes.indexOf(document.activeElement);
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? boxes.length - 1 : at + (move ?? NaN);
    if (at < 0 || !boxes[next]) return;
    event.preventDefault();
    boxes[at].setAttribute("tabindex", -1);
    boxes[next].setAttribute("tabindex", 0);
    boxes[next].focus();
  });
  const line = (kind, offset) => draw("line", { class: kind, x1: left, x2: width - right, y1: y(offset), y2: y(offset) });
  svg.append(...boxes, cursor, line("axis", 0), line("arena", method.scratch_bytes), line("bound", method.lower_bound_bytes),
    draw("text", { class: "bound", x: width - right, y: y(method.lower_bound_bytes) - 5, "text-anchor": "end" },
      `lower bound ${bytes(method.lower_bound_bytes)}, reached at step ${map.peak_step}`));
  const legend = make("div", { class: "legend" }, make("span", { class: "tensor" }, "tensor"),
    make("span", { class: "at-peak" }, "live at the peak (overlapping boxes: one takes over the bytes of the other)"), make("span", { class: "working" }, "working memory of a kernel"),
    make("span", { class: "lower" }, "lower bound"));
  const mark = (step) => {
    cursor.setAttribute("visibility", step === null ? "hidden" : "visible");
    if (step !== null) cursor.setAttribute("x", x(step));
  };
  return [make("div", { class: "card" }, svg, legend, detail), mark];
}

/** A table whose columns can be sorted. A cell is a text or a number. */
function table(columns, rows, onRow) {
  const body = make("tbody");
  const lines = rows.map((row, index) => {
    const line = make("tr", {}, ...columns.map((column) => make("td", { class: column.kind ?? "" }, column.cell(row))));
    if (onRow) {
      line.addEventListener("pointerenter", () => onRow(index));
      line.addEventListener("pointerleave", () => onRow(null));
    }
    return line;
  });
  body.append(...lines);
  const heads = columns.map((column) => {
    const head = make("th", { class: column.kind ?? "", scope: "col" });
    if (!column.sort) return fill(head, {}, [column.title]);
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = rows.map((_, i) => i).sort((a, b) => (down ? -1 : 1) * (column.sort(rows[a]) - column.sort(rows[b])) || a - b);
      body.append(...order.map((i) => lines[i]));
    });
    return fill(head, {}, [button]);
  });
  return make("div", { class: "card" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
}

function ports(method) {
  const rows = ["inputs", "outputs"].flatMap((side) => method[side].map((port, i) => ({ port, place: side.slice(0, -1) + " " + i })));
  const quantization = (p) => !p.scale || !p.scale.length ? "" : p.scale.length > 1 ? `${p.scale.length} scales`
    : `scale ${p.scale[0]}, zero point ${p.zero_point[0] ?? 0}`;
  return table([
    { title: "", cell: (r) => r.place },
    { title: "name", cell: (r) => named(r.port.name) },
    { title: "type", cell: (r) => make("code", {}, `${r.port.element}[${r.port.shape.join(", ")}]`) },
    { title: "bytes", kind: "number", cell: (r) => grouped(r.port.bytes) },
    { title: "quantization", cell: (r) => quantization(r.port) },
  ], rows);
}

function kernelTable(kernels, steps, mark) {
  const sum = (key) => kernels.reduce((total, kernel) => total + kernel[key], 0);
  const [macs, moved] = [sum("multiply_accumulates"), sum("bytes")];
  const share = (kernel) => make("div", { title: "share of multiply-accumulates, and of bytes moved" },
    `${percent(kernel.multiply_accumulates, macs)} / ${percent(kernel.bytes, moved)}`,
    make("i", { style: `width:${macs ? 100 * kernel.multiply_accumulates / macs : 0}%` }),
    make("i", { class: "bytes", style: `width:${moved ? 100 * kernel.bytes / moved : 0}%` }));
  const number = (title, key) => ({ title, kind: "number", cell: (k) => grouped(k[key]), sort: (k) => k[key] });
  const columns = [
    { title: "#", kind: "number", cell: (k) => String(k.number), sort: (k) => -k.number },
    { title: "kernel", cell: (k) => make("code", { class: "name", title: k.symbol }, local(k.symbol)) },
    { title: "operators", cell: (k) => words(k.operators.map((o) => `${o.index}:${o.name}`).join(" ")) },
    { title: "schedule", cell: (k) => make("code", { class: "name" }, k.schedule) },
    number("MAC", "multiply_accumulates"), number("bytes moved", "bytes"), number("weights", "weights_bytes"), number("code", "code_bytes"),
    { title: "share: MAC / bytes", kind: "share", cell: share, sort: (k) => k.multiply_accumulates },
  ];
  return table(columns, kernels, (row) => mark(row === null ? null : steps[row] ?? null));
}

/** Weights by operator: the largest first, the rest together. */
function weights(kernels) {
  const rows = kernels.filter((kernel) => kernel.weights_bytes > 0).sort((a, b) => b.weights_bytes - a.weights_bytes || a.number - b.number);
  const total = rows.reduce((sum, kernel) => sum + kernel.weights_bytes, 0);
  const name = (kernel) => kernel.operators.map((o) => `${o.index}:${o.name}`).join(" ") || kernel.symbol;
  const shown = rows.slice(0, 24).map((kernel) => [name(kernel), kernel.weights_bytes]);
  const rest = rows.slice(24).reduce((sum, kernel) => sum + kernel.weights_bytes, 0);
  if (rest) shown.push([`${rows.length - 24} more`, rest]);
  const largest = Math.max(...shown.map(([, size]) => size), 1);
  const bars = shown.flatMap(([label, size]) => [named(label), make("div", {}, make("i", { style: `width:${100 * size / largest}%` })),
    make("div", { class: "number", title: percent(size, total) }, bytes(size))]);
  return make("div", { class: "card bars" }, ...(bars.length ? bars : ["This method reads no constants."]));
}

function methodSection(method) {
  const kernels = report.kernels.filter((kernel) => kernel.method === method.name);
  const [map, mark] = memoryMap(method, kernels);
  return make("section", {}, make("h2", {}, "Method ", named(method.name)), ports(method), make("h3", {}, "Memory"),
    make("p", { class: "note" }, `${bytes(method.scratch_bytes)} of scratch memory, ${verdict(method)}.`), map,
    make("h3", {}, "Kernels, in the order in which they run"), kernelTable(kernels, method.memory_map.kernel_steps, mark),
    make("h3", {}, "Constants by operator, as they are packed"), weights(kernels));
}

heading();
document.getElementById("methods").append(...report.methods.map(methodSection));
document.body.setAttribute("data-drawn", "true");
