function heading() {
  const { model, memory } = report;
  document.title = `${model.file} – modelc report`;
  document.getElementById("model").append(named(model.file));
  const about = `compiled by modelc ${report.modelc} for ${report.target} (${report.cpu_levels.join(", ")}), SHA-256 `;
  document.getElementById("about").append(about, make("code", { title: model.sha256 }, model.sha256.slice(0, 16) + "…"));
  for (const [name, text] of Object.entries(report.about ?? {})) {
    document.querySelector("header").append(make("p", { class: "note" }, `${name[0].toUpperCase()}${name.slice(1)}: `, words(text)));
  }
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

function ports(method) {
  const rows = ["inputs", "outputs"].flatMap((side) => method[side].map((port, i) => ({ port, place: side.slice(0, -1) + " " + i })));
  const quantization = (p) => !p.scale || !p.scale.length ? "" : p.scale.length > 1 ? `${p.scale.length} scales`
    : `scale ${p.scale[0]}, zero point ${p.zero_point[0] ?? 0}`;
  const normalization = (p) => p.mean ? `mean ${p.mean.join(" ")}, std ${p.std.join(" ")}` : "";
  return table([
    { title: "", cell: (r) => r.place },
    { title: "name", cell: (r) => named(r.port.name) },
    { title: "type", cell: (r) => make("code", {}, `${r.port.element}[${r.port.shape.join(", ")}]`) },
    { title: "bytes", kind: "number", cell: (r) => grouped(r.port.bytes) },
    { title: "quantization", cell: (r) => [quantization(r.port), normalization(r.port)].filter(Boolean).join("; ") },
  ], rows);
}

/** Weights by operator: the largest first, the rest together. */
function weights(method) {
  const rows = report.operators.filter((row) => row.method === method.name && row.weights_bytes > 0).sort((a, b) => b.weights_bytes - a.weights_bytes);
  const total = rows.reduce((sum, row) => sum + row.weights_bytes, 0);
  const shown = rows.slice(0, 24).map((row) => [operatorsOf(row), row.weights_bytes]);
  const rest = rows.slice(24).reduce((sum, row) => sum + row.weights_bytes, 0);
  if (rest) shown.push([`${rows.length - 24} more`, rest]);
  const largest = Math.max(...shown.map(([, size]) => size), 1);
  const bars = shown.flatMap(([label, size]) => [named(label), make("div", {}, make("i", { style: `width:${100 * size / largest}%` })),
    make("div", { class: "number", title: percent(size, total) }, bytes(size))]);
  return make("div", { class: "card bars" }, ...(bars.length ? bars : ["This method reads no constants."]));
}

function methodSection(method) {
  const kernels = report.kernels.filter((kernel) => kernel.method === method.name);
  const [map, mark] = memoryMap(method, kernels);
  const [operators, filter, showKernels] = operatorTable(method, mark);
  const show = (numbers, tensor) => {
    showKernels(numbers);
    mark(numbers.length ? stepOf(method, numbers[0]) : null, tensor);
  };
  const [graph, find] = report.graphs?.length ? graphCard(method, show) : [make("p", { class: "note" }, "The report has no graph."), () => {}];
  const search = make("input", { type: "search", id: `search-${report.methods.indexOf(method)}`, placeholder: "operator, tensor, kernel or schedule" });
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    filter(text);
    find(text);
  });
  return make("section", {}, make("h2", {}, "Method ", named(method.name)), ports(method),
    make("div", { class: "controls" }, make("label", { for: search.id }, "Search"), search), make("h3", {}, "Operators"), operators,
    make("h3", {}, "Graph"), graph, make("h3", {}, "Memory"),
    make("p", { class: "note" }, `${bytes(method.scratch_bytes)} of scratch memory, ${verdict(method)}.`), map,
    make("h3", {}, "Constants by operator, as they are packed"), weights(method));
}

heading();
const sections = [report.compared && comparison(report.compared), report.time && timeSection(report.time)].filter(Boolean);
document.getElementById("methods").append(...sections, ...report.methods.map(methodSection));
document.body.setAttribute("data-drawn", "true");
performance.mark("drawn");
