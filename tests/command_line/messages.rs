//! `--message-format json`: results of commands as JSON. Sizes name their CPU levels. Models can come from standard input.

use super::folder::{Folder, json, text};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

/// Parses all lines as JSON.
fn lines(bytes: &[u8]) -> Vec<Value> {
    text(bytes).lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

fn schemas(bytes: &[u8]) -> Vec<String> {
    lines(bytes).iter().map(|line| line["schema"].as_str().expect("a schema").to_owned()).collect()
}

#[test]
fn success_is_json_where_messages_are() {
    let folder = Folder::new();
    let done = |command: &[&str]| folder.done(&[command, &["--message-format", "json"]].concat());
    let built = done(&["m.tflite", "-o", "net.o", "--weights", "external"]);
    assert_eq!((schemas(&built.stderr), text(&built.stdout)), (vec!["modelc.compile/1".into()], String::new()));
    let summary = &lines(&built.stderr)[0];
    assert_eq!((&summary["outputs"][0]["kind"], &summary["outputs"][0]["path"]), (&Value::from("object"), &Value::from("net.o")));
    assert!(summary["memory"]["arena_bytes"].as_u64() > Some(0) && summary["cpu_levels"].is_array(), "{summary}");
    assert_eq!(schemas(&done(&["weights", "m.tflite", "--like", "net.o", "-o", "net.bin"]).stderr), ["modelc.weights/1"]);
    assert_eq!(schemas(&done(&["runtime", "-o", "rt.o"]).stderr), ["modelc.runtime/1"]);
    let run = done(&["run", "m.tflite", "--outputs", "out.npz"]);
    assert_eq!((schemas(&run.stdout), text(&run.stderr)), (vec!["modelc.run/1".into()], String::new()));
    assert_eq!(lines(&run.stdout)[0]["arrays"][0]["what"], "out0_0");
    assert_eq!(schemas(&done(&["verify", "m.tflite", "--bisect"]).stdout), ["modelc.verify/1"]);
    for command in [&["inspect", "m.tflite"][..], &["inspect", "net.o"], &["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0"]] {
        let schema = json(&done(command))["schema"].clone();
        assert!(schema == "modelc.inspect/1" || schema == "modelc.bench/1", "{command:?}: {schema}");
    }
}

#[test]
fn a_difference_is_json_too() {
    let folder = Folder::new();
    folder.done(&["run", "m.tflite", "--random", "1", "--outputs", "one.npz"]);
    let input = modelc::ir::Tensor::zeros(modelc::ir::ElementType::I8, &folder.input().1).expect("a tensor");
    folder.put("x.npy", modelc::npz::to_npy(&input));
    let output = folder.run(&["verify", "m.tflite", "--inputs", "x.npy", "--expected", "one.npz", "--message-format", "json"]);
    let verdict = &lines(&output.stdout)[0];
    assert_eq!((output.status.code(), &verdict["schema"]), (Some(3), &Value::from("modelc.verify/1")));
    assert_eq!((&verdict["differing"], &verdict["agrees"], &verdict["rows"][0]["output"]), (&1.into(), &false.into(), &"out0".into()));
}

/// The arena of an object serves all its CPU levels; a measurement has code for one level.
#[test]
fn sizes_say_for_which_levels_they_are() {
    let folder = Folder::new();
    let built = text(&folder.done(&["m.tflite", "-o", "n.o", "--target", "x86_64-linux-gnu"]).stderr);
    assert!(built.contains("enough for each of x86-64-v2, x86-64-v3, x86-64-v4"), "{built}");
    let inspected = text(&folder.done(&["inspect", "n.o"]).stdout);
    assert!(inspected.contains("enough for each of"), "{inspected}");
    let one = text(&folder.done(&["m.tflite", "-o", "n.o", "--target", "aarch64-none-elf"]).stderr);
    assert!(!one.contains("enough for each of"), "{one}");
    let level = json(&folder.done(&["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--json"]))["cpu_level"].clone();
    let measured = text(&folder.done(&["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0"]).stdout);
    assert!(measured.contains(&format!("with code for {} only", level.as_str().expect("a level"))), "{measured}");
}

#[test]
fn a_model_is_read_from_standard_input() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "net.o"]);
    let wanted = std::fs::read(folder.at("net.o")).expect("an object");
    let model = std::fs::read(folder.at("m.tflite")).expect("the model");
    let mut inputs = vec!["-"];
    if cfg!(unix) {
        inputs.push("/dev/stdin");
    }
    for input in inputs {
        for command in [&[input, "-o", "piped.o", "--name", "net"][..], &["run", input, "--bound", "in0.0=1"], &["inspect", input]] {
            let mut child =
                folder.command(command).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            child.stdin.take().expect("a pipe").write_all(&model).expect("it is read");
            let output = child.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), Some(0), "{command:?}: {}", text(&output.stderr));
        }
        assert!(std::fs::read(folder.at("piped.o")).expect("an object") == wanted, "{input}");
    }
}
