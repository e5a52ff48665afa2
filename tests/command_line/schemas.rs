//! `schemas/json/` describes all JSON outputs; real output matches it.

use super::folder::{Folder, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder_of_schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/json")
}

/// Returns the file of a schema: `bench-1.json` for `modelc.bench/1`.
fn file(schema: &str) -> PathBuf {
    folder_of_schemas().join(format!("{}.json", schema.trim_start_matches("modelc.").replace('/', "-")))
}

/// Collects the violations of a schema, for the part of JSON Schema that the files use.
fn mistakes(schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = |wanted: &Value| wanted == kind || wanted == "number" && kind == "integer";
    let fits = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_kind),
        Value::Null => true,
        wanted => is_kind(wanted),
    };
    if !fits || schema.get("const").is_some_and(|only| only != value) {
        found.push(format!("{path}: {value}"));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(key).is_none() {
            found.push(format!("{path} lacks {key}"));
        }
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(key) {
            Some(schema) => mistakes(schema, inner, &format!("{path}.{key}"), found),
            None if schema.get("additionalProperties").is_some() => {
                mistakes(&schema["additionalProperties"], inner, &format!("{path}.{key}"), found)
            }
            None => found.push(format!("{path}.{key} is not described")),
        }
    }
    for (number, inner) in value.as_array().into_iter().flatten().enumerate() {
        mistakes(&schema["items"], inner, &format!("{path}[{number}]"), found);
    }
}

/// Returns all kinds of JSON that commands write.
fn reports(folder: &Folder) -> Vec<Value> {
    let json = ["--message-format", "json"];
    let commands: [(&[&str], &[&str]); 21] = [
        (
            &[
                "m.tflite",
                "-o",
                "net.o",
                "--emit",
                "json=net.json",
                "--emit",
                "graph=net.graph.json",
                "--emit",
                "trace=net.trace.json",
                "--weights",
                "external",
                "-v",
            ],
            &json,
        ),
        (&["m.tflite", "-o", "libnet.so", "--name", "net", "--memory", "a=1K:fast,b=1M", "--emit", "json=areas.json"], &json),
        (&["missing.tflite", "-o", "x.o"], &json),
        (&["run", "m.tflite", "--top-k", "2"], &json),
        (&["bench", "m.tflite", "--num-runs", "2", "--min-secs", "0", "--profile"], &json),
        (&["bench", "m.tflite", "--num-runs", "2", "--min-secs", "0"], &["--json"]),
        (&["bench", "m.tflite", "--num-runs", "2", "--min-secs", "0", "--report", "timed.json"], &["--compare", "net.json", "--json"]),
        (&["verify", "m.tflite", "--bisect"], &json),
        (&["inspect", "m.tflite"], &["--compare", "net.json", "--json"]),
        (&["inspect", "m.tflite"], &["--json"]),
        (&["inspect", "m.tflite", "--schedules"], &["--json"]),
        (&["inspect", "m.tflite", "--gpu", "require", "--gpu-ops", "all", "--schedules"], &["--json"]),
        (&["inspect", "m.tflite", "--memory", "a=1K:fast,b=1M"], &["--json"]),
        (&["inspect", "net.o"], &["--json"]),
        (&["inspect", "libnet.so"], &["--json"]),
        (&["weights", "m.tflite", "--like", "net.o", "-o", "new.bin"], &json),
        (&["runtime", "-o", "rt.o"], &json),
        (&["export", "m.tflite", "--as", "zephyr", "-o", "package", "--name", "net", "--target", "cortex-m3"], &json),
        (&["ops"], &["--json"]),
        (&["targets"], &["--json"]),
        (&["doctor"], &["--json"]),
    ];
    let mut texts = Vec::new();
    for (command, options) in commands {
        let output = folder.run(&[command, options].concat());
        texts.extend([text(&output.stdout), text(&output.stderr)]);
    }
    texts.extend(
        ["net.json", "net.graph.json", "net.trace.json", "timed.json", "areas.json"]
            .map(|name| fs::read_to_string(folder.at(name)).expect("a report")),
    );
    let library = fs::read(folder.at("libnet.so")).expect("a library");
    let description = library.split(|&byte| byte == 0).find(|part| part.windows(14).any(|part| part == b"modelc.ports/1"));
    texts.push(text(description.expect("a description")));
    let parse = |text: String| serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<Vec<Value>, _>>().expect("JSON");
    texts.into_iter().flat_map(parse).collect()
}

#[test]
fn reports_are_as_their_schemas_say() {
    let folder = Folder::new();
    let reports = reports(&folder);
    let mut described: Vec<PathBuf> =
        fs::read_dir(folder_of_schemas()).expect("schemas").map(|entry| entry.expect("a file").path()).collect();
    described.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    for path in &described {
        let schema: Value = serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
        let own: Vec<&Value> = reports.iter().filter(|report| file(report["schema"].as_str().unwrap_or_default()) == *path).collect();
        assert!(!own.is_empty(), "nothing is written as {} says", path.display());
        for (number, report) in own.into_iter().enumerate() {
            let mut found = vec![];
            mistakes(&schema, report, "", &mut found);
            assert!(found.is_empty(), "{}: {found:#?}", path.display());
            checked_by_another(path, &folder, &format!("{number}.json"), report);
        }
    }
    let missing: Vec<&Value> = reports
        .iter()
        .map(|report| &report["schema"])
        .filter(|name| !described.contains(&file(name.as_str().unwrap_or_default())))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Validates with PyPI's check-jsonschema, if it is installed.
fn checked_by_another(schema: &Path, folder: &Folder, name: &str, report: &Value) {
    let program = std::env::var_os("CHECK_JSONSCHEMA").unwrap_or_else(|| "check-jsonschema".into());
    folder.put(name, report.to_string());
    match Command::new(program).arg("--schemafile").arg(schema).arg(folder.at(name)).output() {
        Ok(output) => assert!(output.status.success(), "{}", text(&output.stdout)),
        Err(_) => eprintln!("skipped: no check-jsonschema for {}", schema.display()),
    }
}
