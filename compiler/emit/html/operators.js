/** Kernel calls by the operators of a graph: their numbers. */
const callsByPlace = new Map();
for (const kernel of report.kernels) {
  for (const place of kernel.nodes ?? []) {
    const key = place.join();
    if (!callsByPlace.has(key)) callsByPlace.set(key, []);
    callsByPlace.get(key).push(kernel.number);
  }
}
const kernelsAt = (graph, node) => callsByPlace.get(`${graph},${node}`) ?? [];
/** The median time of each kernel call in nanoseconds, where the report has it. */
const times = new Map((report.time?.kernels ?? []).map((kernel) => [kernel.number, kernel.median_ns]));
const timeOf = (numbers) => numbers.reduce((sum, number) => sum + (times.get(number) ?? 0), 0);
const microseconds = (ns) => (ns / 1000).toFixed(ns < 100000 ? 2 : 0);

const operatorsOf = (row) => row.operators.map((o) => `${o.index}:${o.name}`).join(" ") || local(report.kernels[row.kernels[0]].symbol);

/** The operators of a method, the kernels of each folded below it. Gives the card, and functions that filter it and show kernels. */
function operatorTable(method, mark) {
  const rows = report.operators.filter((row) => row.method === method.name);
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  const total = { macs: sum("multiply_accumulates"), bytes: sum("bytes"), time: timeOf(rows.flatMap((row) => row.kernels)) };
  const levels = report.levels.filter((level) => level.kernels);
  const choice = make("select", { id: `level-${report.methods.indexOf(method)}` }, ...levels.map((level, i) => make("option", { value: i }, level.cpu_level)));
  const kernelOf = (number) => ({ ...report.kernels[number], ...(levels[choice.value]?.kernels[number] ?? {}) });
  const line = (row) => new OperatorLines(row, total, kernelOf, (number) => mark(number === null ? null : stepOf(method, number)));
  const lines = rows.map(line);
  const body = make("tbody", {}, ...lines.map((line) => line.head));
  const columns = operatorColumns(total);
  const sort = (column, down) => {
    const order = [...lines].sort((a, b) => (down ? -1 : 1) * (column.sort(a.row) - column.sort(b.row)) || a.row.kernels[0] - b.row.kernels[0]);
    body.append(...order.flatMap((line) => line.all()));
  };
  choice.addEventListener("change", () => lines.forEach((line) => line.refresh()));
  const foot = make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, `total of ${rows.length}`),
    ...columns.slice(1).map((column) => make("td", { class: column.kind ?? "" }, column.total ? column.total(rows) : ""))));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...sortHeads(columns, sort))), body, foot);
  const fold = make("button", { type: "button" }, "Unfold all");
  fold.addEventListener("click", () => {
    const open = fold.textContent === "Unfold all";
    lines.forEach((line) => line.fold(!open));
    fold.replaceChildren(open ? "Fold all" : "Unfold all");
  });
  const controls = make("div", { class: "controls" }, fold);
  if (levels.length > 1) controls.prepend(make("label", { for: choice.id }, "CPU level"), choice);
  const filter = (text) => lines.forEach((line) => line.filter(text));
  const show = (numbers) => {
    lines.forEach((line) => line.show(numbers));
    lines.find((line) => line.row.kernels.some((number) => numbers.includes(number)))?.head.scrollIntoView({ block: "nearest" });
  };
  return [make("div", { class: "card" }, controls, make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `operators of ${method.name}` }, table)), filter, show];
}

const stepOf = (method, number) => method.memory_map.kernel_steps[number - firstCall(method)] ?? null;
const firstCall = (method) => report.kernels.findIndex((kernel) => kernel.method === method.name);

/** The columns of operators: a cell of a row, what they are sorted by, the total. */
function operatorColumns(total) {
  const number = (title, key, is_sum = true) => ({ title, kind: "number", cell: (row) => grouped(row[key]), sort: (row) => row[key],
    total: is_sum && ((rows) => grouped(rows.reduce((sum, row) => sum + row[key], 0))) });
  const time = { title: "µs", kind: "number", cell: (row) => microseconds(timeOf(row.kernels)), sort: (row) => timeOf(row.kernels),
    total: () => microseconds(total.time) };
  const share = (row) => total.time ? [timeOf(row.kernels), total.time] : [row.multiply_accumulates, total.macs];
  return [
    { title: "operators", sort: (row) => -row.kernels[0] },
    { title: "calls", kind: "number", cell: (row) => String(row.kernels.length), sort: (row) => row.kernels.length,
      total: (rows) => String(rows.reduce((sum, row) => sum + row.kernels.length, 0)) },
    ...(total.time ? [time] : []),
    { title: total.time ? "% of time" : "% of MAC", kind: "share", sort: (row) => share(row)[0],
      cell: (row) => make("div", {}, percent(...share(row)), make("i", { style: `width:${share(row)[1] ? 100 * share(row)[0] / share(row)[1] : 0}%` })) },
    number("MAC", "multiply_accumulates"), number("parameters", "parameters"), number("bytes moved", "bytes"), number("constants", "weights_bytes"),
    number("code", "code_bytes", false),
    { title: "schedule", cell: (row, kernelOf) => schedules(row, kernelOf) },
  ];
}

/** The schedule of most products, or of most bytes. */
function schedules(row, kernelOf) {
  const kernels = row.kernels.map(kernelOf);
  const most = kernels.reduce((a, b) => b.multiply_accumulates - a.multiply_accumulates || b.bytes - a.bytes > 0 ? b : a);
  return words(most.schedule);
}

/** The lines of an operator: its own, and those of its kernels, which are made when they are first shown. */
class OperatorLines {
  constructor(row, total, kernelOf, mark) {
    Object.assign(this, { row, kernelOf, mark, columns: operatorColumns(total), kernels: null, open: false });
    this.button = make("button", { type: "button", class: "fold", "aria-expanded": "false" }, words(operatorsOf(row)));
    this.button.addEventListener("click", () => this.fold(this.open));
    this.head = make("tr", {}, make("th", { scope: "row" }, this.button),
      ...this.columns.slice(1).map((column) => make("td", { class: column.kind ?? "" }, column.cell(row, kernelOf))));
    this.head.addEventListener("pointerenter", () => mark(row.kernels[0]));
    this.head.addEventListener("pointerleave", () => mark(null));
    this.text = [operatorsOf(row), ...row.kernels.flatMap((n) => [report.kernels[n].symbol, report.kernels[n].schedule, ...report.kernels[n].tensors])].join(" ").toLowerCase();
  }
  all() { return [this.head, ...(this.kernels ?? [])]; }
  fold(shut) {
    this.open = !shut;
    this.button.setAttribute("aria-expanded", String(this.open));
    if (this.open && !this.kernels) {
      this.kernels = this.row.kernels.map((number) => this.kernel(number));
      this.head.after(...this.kernels);
    }
    this.kernels?.forEach((line) => { line.hidden = shut; });
  }
  kernel(number) {
    const kernel = this.kernelOf(number);
    const cells = { calls: `#${number}`, "µs": microseconds(times.get(number) ?? 0), MAC: grouped(kernel.multiply_accumulates), "bytes moved": grouped(kernel.bytes),
      constants: grouped(kernel.weights_bytes), code: grouped(kernel.code_bytes), schedule: words(kernel.schedule) };
    const line = make("tr", { class: "kernel", "data-kernel": number }, make("td", {}, make("code", { class: "name", title: kernel.symbol }, local(kernel.symbol))),
      ...this.columns.slice(1).map((column) => make("td", { class: column.kind ?? "" }, cells[column.title] ?? "")));
    line.addEventListener("pointerenter", () => this.mark(number));
    line.addEventListener("pointerleave", () => this.mark(null));
    return line;
  }
  /** Another CPU level: kernels are made again, and the operator's schedule. */
  refresh() {
    this.head.lastElementChild.replaceChildren(schedules(this.row, this.kernelOf));
    this.kernels?.forEach((line) => line.remove());
    this.kernels = null;
    this.fold(!this.open);
  }
  filter(text) {
    const hidden = text !== "" && !this.text.includes(text);
    this.head.hidden = hidden;
    this.kernels?.forEach((line) => { line.hidden = hidden || !this.open; });
  }
  show(numbers) {
    const here = this.row.kernels.some((number) => numbers.includes(number));
    this.head.classList.toggle("marked", here);
    this.fold(!here);
  }
}
