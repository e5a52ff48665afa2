// Opens pages in Chromium by puppeteer: `node browse.mjs MODULES PAGE...`. Prints a line of JSON for each: the time until it is drawn, what axe
// finds, and what the keyboard and the search do.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [modules, ...pages] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Goes through the graph, folds a row, searches: run in the page. */
async function use(page) {
  await page.evaluate(() => document.querySelector("svg.graph .node").focus());
  const here = () => page.evaluate(() => [...document.querySelectorAll("svg.graph .node")].indexOf(document.activeElement));
  const before = await here();
  await page.keyboard.press("ArrowDown");
  const after = await here();
  await page.keyboard.press("Enter");
  const detail = await page.evaluate(() => document.querySelector("svg.graph").parentElement.nextElementSibling.textContent);
  const marked = await page.evaluate(() => document.querySelectorAll("tbody tr.marked").length);
  const unfolded = await page.evaluate(() => document.querySelectorAll("tr.kernel:not([hidden])").length);
  await page.focus("input[type=search]");
  await page.keyboard.type("no operator is called so");
  // The search is that of its method.
  const shown = await page.evaluate(() => [...document.querySelector("input[type=search]").closest("section").querySelectorAll("button.fold")]
    .filter((button) => !button.closest("tr").hidden).length);
  return { before, after, detail, marked, unfolded, shown };
}

const chromium = execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"], headless: true });
for (const file of pages) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 1600 });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  // The best of three: something else may run on this computer.
  let drawn = null;
  for (let i = 0; i < 3; i++) {
    await page.goto(`file://${file}`);
    const time = await page.evaluate(() => performance.getEntriesByName("drawn")[0]?.startTime ?? null);
    drawn = drawn === null ? time : Math.min(drawn, time ?? Infinity);
  }
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run()).violations.map((violation) => `${violation.id}: ${violation.nodes[0].html}`));
  console.log(JSON.stringify({ file, drawn_ms: drawn, axe: found, errors, ...(await use(page)) }));
  await page.close();
}
await browser.close();
