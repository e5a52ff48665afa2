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

/** Heads of columns, with a button where a column can be sorted. */
function sortHeads(columns, sort) {
  const heads = columns.map((column) => {
    // A head without a text would be none for those who hear it.
    const head = column.title ? make("th", { class: column.kind ?? "", scope: "col" }) : make("td");
    if (!column.sort) return fill(head, {}, [column.title]);
    const button = make("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(column, down);
    });
    return fill(head, {}, [button]);
  });
  return heads;
}

/** A table whose columns can be sorted. A cell is a text or a number. */
function table(columns, rows) {
  const body = make("tbody");
  const lines = rows.map((row) => make("tr", {}, ...columns.map((column) => make("td", { class: column.kind ?? "" }, column.cell(row)))));
  body.append(...lines);
  const heads = sortHeads(columns, (column, down) => {
    const order = rows.map((_, i) => i).sort((a, b) => (down ? -1 : 1) * (column.sort(rows[a]) - column.sort(rows[b])) || a - b);
    body.append(...order.map((i) => lines[i]));
  });
  return make("div", { class: "card" }, make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
}


/** The arrow keys, Home and End go through elements of which one can be reached with the tab key. */
function arrows(parent, boxes) {
  parent.addEventListener("keydown", (event) => {
    const at = boxes.indexOf(document.activeElement);
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? boxes.length - 1 : at + (move ?? NaN);
    if (at < 0 || !boxes[next]) return;
    event.preventDefault();
    boxes[at].setAttribute("tabindex", -1);
    boxes[next].setAttribute("tabindex", 0);
    boxes[next].focus();
  });
}
