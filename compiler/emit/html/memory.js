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

/** The memory map: steps to the right, offsets upwards. Gives the card and a function that marks a step, and the tensor of a name. */
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
  arrows(svg, boxes);
  const line = (kind, offset) => draw("line", { class: kind, x1: left, x2: width - right, y1: y(offset), y2: y(offset) });
  svg.append(...boxes, cursor, line("axis", 0), line("arena", method.scratch_bytes), line("bound", method.lower_bound_bytes),
    draw("text", { class: "bound", x: width - right, y: y(method.lower_bound_bytes) - 5, "text-anchor": "end" },
      `lower bound ${bytes(method.lower_bound_bytes)}, reached at step ${map.peak_step}`));
  const legend = make("div", { class: "legend" }, make("span", { class: "tensor" }, "tensor"),
    make("span", { class: "at-peak" }, "live at the peak (overlapping boxes: one takes over the bytes of the other)"), make("span", { class: "working" }, "working memory of a kernel"),
    make("span", { class: "lower" }, "lower bound"));
  const mark = (step, tensor) => {
    cursor.setAttribute("visibility", step === null ? "hidden" : "visible");
    if (step !== null) cursor.setAttribute("x", x(step));
    if (tensor !== undefined) boxes.forEach((box, i) => box.classList.toggle("chosen", map.occupants[order[i]].name === tensor));
  };
  return [make("div", { class: "card" }, svg, legend, detail), mark];
}

