//! The report's page, drawn by a browser: its script runs, everything in the report is in it, and names stay text.

use modelc::emit::{self, ModelInfo, ObjectOptions};
use modelc::frontend::LoadOptions;
use modelc::lower::Options;
use modelc::{pipeline, target};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The report of an example model.
fn report() -> Value {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/digits/digits_int8.tflite");
    let bytes = std::fs::read(model).expect("the example can be read");
    let module = pipeline::read(Arc::new(bytes), "digits", &LoadOptions::default()).expect("the example is sound");
    let target = target::target("aarch64-linux-gnu").expect("a target");
    let machine = target::level(target, None).expect("its default level");
    let options = Options::new(machine);
    let lowered = pipeline::lower(&module, "digits", options).expect("the example compiles");
    let info = ModelInfo { sha256: [0x5a; 32], file: "folder/digits_int8.tflite".into(), ..ModelInfo::default() };
    emit::object(&lowered.program, &info, &ObjectOptions::new("net", target, machine)).expect("the example compiles").report
}

/// What a browser says with one more flag; the page is written to `folder`.
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

#[test]
fn a_browser_draws_every_tensor_and_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = report();
    let page = emit::html::page(&report);
    assert!(page.contains("default-src 'none'"), "the page may fetch nothing");
    let dom = browse(folder.path(), &page, "--dump-dom");
    assert!(dom.contains("data-drawn=\"true\""), "the script did not run to its end:\n{dom}");
    assert!(occupants(&report) > 3);
    assert_eq!(dom.matches("<g class=\"box").count(), occupants(&report));
    assert_eq!(dom.matches("tabindex=\"0\"").count(), 1, "one box of the map can be reached with the tab key, the others from it");
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
    // One colour all over would take a few kilobytes.
    assert!(png.len() > 30_000, "{} bytes: the page is empty", png.len());
}

/// Names are the model's: markup in them stays what it is, text.
#[test]
fn names_stay_text() {
    const NAME: &str = "</script><img src=x onerror=\"document.body.id='broken'\">&lt;\u{202e}\u{0}<!-- \u{2028} '\"`";
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = report();
    rename(&mut report, NAME);
    let dom = browse(folder.path(), &emit::html::page(&report), "--dump-dom");
    assert!(dom.contains("data-drawn=\"true\""), "{dom}");
    // Markup in a text is escaped where the page is written out again, and in the data it was never markup.
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
