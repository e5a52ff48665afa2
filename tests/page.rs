//! The report's page in a browser: its script runs, it shows everything in the report, and names stay text.

mod support;

use modelc::emit::{self, ModelInfo, ObjectOptions};
use modelc::frontend::LoadOptions;
use modelc::ir::{Module, Outline, text};
use modelc::lower::Options;
use modelc::{pipeline, target};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use support::harness::{self, Needs};
use support::{corpus, own};

const MODELC: &str = env!("CARGO_BIN_EXE_modelc");

const CHROMIUM: Needs = Needs::Tool("chromium", || runs("chromium", &["--version"]));
/// npm's `puppeteer-core` and `axe-core`.
const PUPPETEER: Needs = Needs::Tool("puppeteer-core and axe-core (MODELC_NODE_MODULES)", || {
    let modules = node_modules();
    runs("node", &["--version"]) && ["puppeteer-core", "axe-core"].iter().all(|name| modules.join(name).is_dir())
});
/// PyPI's `ai-edge-model-explorer`.
const EXPLORER: Needs =
    Needs::Tool("ai-edge-model-explorer (MODELC_EXPLORER_PYTHON)", || runs(&python(), &["-c", "import model_explorer.graph_builder"]));

fn runs(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Returns the folder of npm's packages, to which `npm install --prefix target/tools puppeteer-core@24 axe-core` installs them.
fn node_modules() -> PathBuf {
    std::env::var_os("MODELC_NODE_MODULES").map_or_else(|| own("target/tools/node_modules"), PathBuf::from)
}

fn python() -> String {
    std::env::var("MODELC_EXPLORER_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// Returns the report of an example model.
fn report() -> Value {
    let model = own("examples/digits/digits_int8.tflite");
    let bytes = std::fs::read(model).expect("the example can be read");
    report_of(&pipeline::read(Arc::new(bytes), "digits", &LoadOptions::default()).expect("the example is sound"))
}

/// Returns the report of a module, compiled for aarch64.
fn report_of(module: &Module) -> Value {
    let target = target::target("aarch64-linux-gnu").expect("a target");
    let machine = target::level(target, None).expect("its default level");
    let lowered = pipeline::lower(module, "digits", Options::new(machine)).expect("the model compiles");
    let info = ModelInfo { sha256: [0x5a; 32], file: "folder/digits_int8.tflite".into(), ..ModelInfo::default() };
    let mut files = emit::object(&lowered.program, &info, &ObjectOptions::new("net", target, machine)).expect("the model compiles");
    emit::report::add_model(&mut files.report, &lowered.program, module, &files.record);
    files.report
}

/// Makes a chain of products with a sum after every fourth, which reads the value before these four products.
fn chain(products: usize) -> Module {
    const PRODUCT: &str = "{ left_zero_point = 0, right_zero_point = 0, accumulator = f32 }";
    const SUM: &str = "{ expression = (f32, f32) { n0: f32 = input 0 n1: f32 = input 1 n2: f32 = add n0, n1 return n2 } }";
    let numbers: Vec<String> = (0..64).map(|i| format!("{:?}", f64::from(i % 7) / 8.0)).collect();
    let (mut sources, mut body) = (String::new(), "  v1 = constant { data = const0 }\n".to_owned());
    let (mut last, mut before, mut next) = (0, 0, 2);
    let mut operator = |name: &str, text: String| {
        let number = sources.lines().count();
        sources.push_str(&format!("src{number} = \"main\" {number} \"{name}\" \"t{number}\"\n"));
        body.push_str(&format!("  {text} @ src{number}\n"));
    };
    for product in 1..=products {
        operator("FULLY_CONNECTED", format!("v{next} = matmul v{last}, v1 {PRODUCT}"));
        (last, next) = (next, next + 1);
        if product % 4 == 0 {
            operator("ADD", format!("v{next} = map v{last}, v{before} {SUM}"));
            (last, before, next) = (next, next, next + 1);
        }
    }
    let text = format!(
        "const0: f32[8, 8] = [{}]\n{sources}func @main(v0: f32[4, 8] \"x\") {{\n{body}  return v{last}\n}}\nmethod \"main\" = @main {{\n  input \"x\"\n  output \"y\"\n}}\n",
        numbers.join(", ")
    );
    let mut module = text::parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
    module.outlines = Outline::all(&module);
    module
}

/// Returns the output of a browser with one more flag; the page is written to `folder`.
fn browse(folder: &Path, page: &str, flag: &str) -> String {
    let file = folder.join("page.html");
    std::fs::write(&file, page).expect("the page can be written");
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]);
    command.args(["--disable-component-update", "--disable-sync", "--window-size=1280,1600", flag]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display())).arg(format!("file://{}", file.display()));
    let output = command.output().expect("chromium runs; `cargo xtask setup` installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn occupants(report: &Value) -> usize {
    report["methods"].as_array().into_iter().flatten().map(|m| m["memory_map"]["occupants"].as_array().map_or(0, Vec::len)).sum()
}

fn a_browser_draws_every_tensor_and_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = report();
    let page = emit::html::page(&report);
    assert!(page.contains("default-src 'none'"), "the page may fetch nothing");
    // Kernels are folded below their operators.
    let unfolded = format!("{page}<script>document.querySelectorAll('.fold').forEach((button) => button.click());</script>");
    let dom = browse(folder.path(), &unfolded, "--dump-dom");
    assert!(dom.contains("data-drawn=\"true\""), "the script did not run to its end:\n{dom}");
    assert!(occupants(&report) > 3);
    assert_eq!(dom.matches("<g class=\"box").count(), occupants(&report));
    // One box of the map, one node of the graph, and the table, which scrolls.
    assert_eq!(dom.matches("tabindex=\"0\"").count(), 3, "one of many can be reached with the tab key, the others from it");
    let nodes = report["operators"].as_array().expect("operators").len();
    assert!(dom.matches("<g class=\"node").count() >= nodes, "every row of the table is a node of the graph");
    let kernels = report["kernels"].as_array().expect("kernels");
    for kernel in kernels {
        let symbol = kernel["symbol"].as_str().expect("a symbol");
        assert!(dom.contains(&format!("title=\"{symbol}\"")), "{symbol}");
    }
    assert!(dom.contains("<h1 id=\"model\"><span class=\"name\">digits_int8.tflite</span></h1>"));

    let picture = folder.path().join("page.png");
    browse(folder.path(), &page, &format!("--screenshot={}", picture.display()));
    let png = std::fs::read(picture).expect("a picture");
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&png[16..24], &[0, 0, 5, 0, 0, 0, 6, 64], "1280 by 1600");
    // A page of a single colour would take a few kilobytes.
    assert!(png.len() > 30_000, "{} bytes: the page is empty", png.len());
}

/// Markup in the model's names stays text.
fn names_stay_text() {
    const NAME: &str = "</script><img src=x onerror=\"document.body.id='broken'\">&lt;\u{202e}\u{0}<!-- \u{2028} '\"`";
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = report();
    rename(&mut report, NAME);
    let dom = browse(folder.path(), &emit::html::page(&report), "--dump-dom");
    assert!(dom.contains("data-drawn=\"true\""), "{dom}");
    // Markup in a text is escaped when the page is serialized, and it was never markup in the data.
    assert_eq!(dom.matches("<img").count(), dom.matches("aria-label=\"</script><img").count(), "{dom}");
    assert!(!dom.contains("id=\"broken\""));
    assert!(dom.contains("&lt;/script&gt;&lt;img"));
}

/// Gives every name, symbol, schedule and file in a report the same text.
fn rename(value: &mut Value, name: &str) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if !["sha256", "schema"].contains(&key.as_str()) => *text = name.to_owned(),
                    _ if key == "steps" => *field = Value::Array(vec![name.into(); field.as_array().map_or(0, Vec::len)]),
                    _ => rename(field, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, name)),
        _ => {}
    }
}

/// Adds artificial times to a report.
fn measured(mut report: Value) -> Value {
    let kernels: Vec<Value> = (0..report["kernels"].as_array().map_or(0, Vec::len))
        .map(|number| serde_json::json!({ "number": number, "median_ns": 500.0 + 10.0 * number as f64, "mean_ns": 600.0 }))
        .collect();
    report["time"] = serde_json::json!({
        "cpu_level": "some", "threads": 2, "kernels": kernels,
        "steady": { "runs": 100, "min_ns": 1e4, "median_ns": 1.1e4, "mean_ns": 1.2e4, "p90_ns": 2e4, "p99_ns": 3e4, "std_ns": 1e3 },
        "peaks": { "float_multiply_accumulates_per_s": 5e10, "integer_multiply_accumulates_per_s": 2e11, "copied_bytes_per_s": 5e10, "read_bytes_per_s": 1e10 },
    });
    report
}

/// Writes the pages of a small model, of a model with 1,000 operators, and of models of the corpus, if there are any.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let large = report_of(&chain(800));
    assert_eq!(large["graphs"][0]["operators"].as_array().map(Vec::len), Some(1000));
    let mut compared = measured(report());
    compared["compared"] = emit::difference::difference(&large, &compared);
    for (name, report) in [("small", compared), ("large", measured(large))] {
        pages.push(folder.join(format!("{name}.html")));
        std::fs::write(&pages[pages.len() - 1], emit::html::page(&report)).expect("a page");
    }
    let models = ["tflite/tfex-mobilenet_v2_035_96_embedder_with_metadata.tflite", "executorch/llm_tiny_methods.xnnpack.pte"];
    for model in models
        .iter()
        .filter_map(|model| corpus(model.split('/').next()?).map(|folder| folder.join(model.rsplit('/').next().unwrap_or_default())))
    {
        let page = folder.join(format!("{}.html", pages.len()));
        let output = Command::new(MODELC).arg("inspect").arg(&model).arg("--html").arg(&page).output().expect("modelc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        pages.push(page);
    }
    pages
}

/// Each page is drawn within a second, axe finds no errors, and the keyboard reaches every node of its graph.
fn pages_are_fast_and_for_everybody() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = pages(folder.path());
    let output = Command::new("node").arg(own("tests/page/browse.mjs")).arg(node_modules()).args(&pages).output().expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found.len(), pages.len());
    for page in found {
        assert!(page["drawn_ms"].as_f64().is_some_and(|drawn| drawn < 1000.0), "{page:#}");
        assert_eq!((&page["axe"], &page["errors"]), (&serde_json::json!([]), &serde_json::json!([])), "{page:#}");
        assert_eq!((&page["before"], &page["shown"]), (&0.into(), &0.into()), "{page:#}");
        assert_ne!(page["after"], page["before"], "{page:#}");
        assert!(page["marked"].as_u64() >= Some(1) && page["unfolded"].as_u64() >= Some(1), "the operator's kernels are shown: {page:#}");
    }
}

/// Model Explorer's types accept the graph and the times.
fn model_explorer_takes_graphs_and_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let [graph, nodes] = ["graph.json", "nodes.json"].map(|name| folder.path().join(name));
    let report = measured(report_of(&chain(8)));
    std::fs::write(&graph, emit::explorer::graphs(&report).to_string()).expect("a file");
    std::fs::write(&nodes, emit::explorer::node_data(&report).to_string()).expect("a file");
    let output = Command::new(python()).arg(own("tests/page/explorer.py")).args([graph, nodes]).output().expect("python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "12", "an input, eight products, two sums, the outputs");
}

fn main() -> ExitCode {
    harness::run(&[
        ("a_browser_draws_every_tensor_and_kernel", CHROMIUM, a_browser_draws_every_tensor_and_kernel),
        ("names_stay_text", CHROMIUM, names_stay_text),
        ("pages_are_fast_and_for_everybody", Needs::Both(&CHROMIUM, &PUPPETEER), pages_are_fast_and_for_everybody),
        ("model_explorer_takes_graphs_and_times", EXPLORER, model_explorer_takes_graphs_and_times),
    ])
}
