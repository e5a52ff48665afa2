/** What `bench --report` measured: latency, and operators below the roofs of this computer. */
function timeSection(time) {
  const { steady, peaks, threads } = time;
  const head = `${grouped(steady.runs)} runs on ${time.cpu_level}, ${threads} thread${threads > 1 ? "s" : ""}: `;
  const note = ["min", "median", "p90", "p99"].map((name) => `${name} ${microseconds(steady[name + "_ns"])} µs`).join(", ");
  const parts = [make("h2", {}, "Time"), make("p", { class: "note" }, head + note + ".")];
  if (peaks && times.size) parts.push(make("h3", {}, "Operators below the roofs that were measured"), roofline(peaks));
  return make("section", {}, ...parts);
}

/** Products a second over products a byte, both with logarithmic axes. */
function roofline(peaks) {
  const rows = report.operators.filter((row) => row.multiply_accumulates > 0 && row.bytes > 0 && timeOf(row.kernels) > 0);
  const points = rows.map((row) => ({ row, intensity: row.multiply_accumulates / row.bytes, rate: row.multiply_accumulates * 1e9 / timeOf(row.kernels) }));
  if (!points.length) return make("div", { class: "card note" }, "No operator multiplies.");
  const roofs = [["8-bit products", peaks.integer_multiply_accumulates_per_s], ["f32 products", peaks.float_multiply_accumulates_per_s]];
  const slopes = [["copied within the cache", peaks.copied_bytes_per_s], ["read from memory", peaks.read_bytes_per_s]];
  const [width, height, left, bottom, top, right] = [1200, 380, 70, 40, 16, 16];
  const power = (values, up) => 10 ** (up ? Math.ceil : Math.floor)(Math.log10((up ? Math.max : Math.min)(...values)));
  const [x0, x1] = [power(points.map((p) => p.intensity), false), power([...points.map((p) => p.intensity), 10], true)];
  const [y0, y1] = [power(points.map((p) => p.rate), false), power(roofs.map(([, rate]) => rate), true)];
  const scale = (value, from, to, start, end) => start + (end - start) * Math.log(value / from) / Math.log(to / from);
  const x = (value) => scale(value, x0, x1, left, width - right), y = (value) => scale(value, y0, y1, height - bottom, top);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "roofline" });
  const line = (kind, xs, ys) => draw("line", { class: kind, x1: x(xs[0]), x2: x(xs[1]), y1: y(ys[0]), y2: y(ys[1]) });
  const text = (label, px, py, anchor) => draw("text", { x: px, y: py, "text-anchor": anchor }, label);
  for (let value = x0; value <= x1 * 1.01; value *= 10) svg.append(line("grid", [value, value], [y0, y1]), text(String(+value.toPrecision(1)), x(value), height - bottom + 16, "middle"));
  for (let value = y0; value <= y1 * 1.01; value *= 10) svg.append(line("grid", [x0, x1], [value, value]), text(`${+(value / 1e9).toPrecision(1)}`, left - 8, y(value) + 4, "end"));
  svg.append(text("multiply-accumulates a byte", (left + width) / 2, height - 6, "middle"), text("10⁹/s", left - 8, top - 4, "end"));
  for (const [label, rate] of roofs) svg.append(line("arena", [x0, x1], [rate, rate]), text(`${label}: ${(rate / 1e9).toFixed(1)}`, width - right, y(rate) - 5, "end"));
  const most = Math.max(...roofs.map(([, rate]) => rate));
  for (const [label, rate] of slopes) {
    const [from, to] = [Math.max(x0, y0 / rate), Math.min(x1, most / rate)];
    if (to > from) svg.append(line("bound", [from, to], [from * rate, to * rate]), text(label, x(from) + 6, y(from * rate) - 8 - (from > x0 ? 0 : 4), "start"));
  }
  const longest = Math.max(...points.map((p) => timeOf(p.row.kernels)));
  const detail = make("div", { class: "detail note", "aria-live": "polite" }, "Point at a circle, or focus one and use the arrow keys. Its area is its time.");
  const order = points.sort((a, b) => timeOf(b.row.kernels) - timeOf(a.row.kernels));
  const boxes = order.map(({ row, intensity, rate }, i) => {
    const label = `${operatorsOf(row)}: ${microseconds(timeOf(row.kernels))} µs, ${(rate / 1e9).toFixed(2)}·10⁹ products/s, ${intensity.toPrecision(3)} a byte`;
    const box = draw("g", { class: "box point", role: "img", "aria-label": label, tabindex: i ? -1 : 0 },
      draw("circle", { cx: x(intensity), cy: y(Math.max(rate, y0)), r: 3 + 11 * Math.sqrt(timeOf(row.kernels) / longest) }));
    const show = () => detail.replaceChildren(words(label));
    box.addEventListener("pointerenter", show);
    box.addEventListener("focus", show);
    return box;
  });
  svg.append(...boxes);
  arrows(svg, boxes);
  return make("div", { class: "card" }, svg, detail);
}

/** What differs from an earlier report, as `--compare` found it. */
function comparison(found) {
  const change = (before, now) => before !== now && before > 0 ? `${now > before ? "+" : "−"}${Math.abs(100 * (now - before) / before).toFixed(1)} %` : "";
  const sizes = found.sizes.map((size) => [size.name, size.before, size.now, (n) => bytes(n)]);
  if (found.median_ns) sizes.push(["median", found.median_ns.before, found.median_ns.now, (n) => microseconds(n) + " µs"]);
  const shown = (value, unit) => value === null || value === undefined ? "–" : unit(value);
  const totals = table([
    { title: "", cell: ([name]) => name },
    { title: "before", kind: "number", cell: ([, before, , unit]) => shown(before, unit) },
    { title: "now", kind: "number", cell: ([, , now, unit]) => shown(now, unit) },
    { title: "change", kind: "number", cell: ([, before, now]) => change(before, now) },
  ], sizes);
  const side = (row) => row ? [shown(row.median_ns, (n) => microseconds(n) + " µs"), bytes(row.code_bytes) + " code", bytes(row.weights_bytes) + " constants", row.schedule].join(", ") : "–";
  const operators = found.operators.length ? table([
    { title: "operators", cell: (row) => words(row.operators) },
    { title: "before", cell: (row) => words(side(row.before)) },
    { title: "now", cell: (row) => words(side(row.now)) },
  ], found.operators) : make("p", { class: "note" }, "No operator differs.");
  return make("section", {}, make("h2", {}, "Compared with ", named(found.before.model.file), ` of modelc ${found.before.modelc}`), totals,
    make("h3", {}, "Operators that differ"), operators);
}
