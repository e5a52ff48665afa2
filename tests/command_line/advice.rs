//! Advice: every command in a `help:` works.

use super::folder::{Folder, text};
use super::made::Made;
use modelc::schema::tflite::{BuiltinOperator, TensorType};
use std::fs;
use std::path::Path;

/// A model of one custom operator.
fn custom(name: &str) -> Vec<u8> {
    let mut made = Made::default();
    let [x, y] = [0; 2].map(|_| made.tensor(TensorType::FLOAT32, &[1, 4]));
    made.custom(name, vec![], &[x], &[y]);
    made.finish(&[x], &[y])
}

/// Makes a folder for the mistakes below.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::copy(folder.at("m.tflite"), folder.at("b.tflite")).expect("a second model");
    folder.put("ethos.tflite", custom("ethos-u"));
    folder.put("tpu.tflite", custom("edgetpu-custom-op"));
    folder.put("decode.tflite", custom("Decode"));
    folder.put("odd.tflite", custom("de-code"));
    folder.put("program", b"\x7FELF\x02\x01\x01 a program of others");
    folder.done(&["m.tflite", "-o", "net.o"]);
    folder
}

/// Mistakes, their exit status, and parts of their messages.
const MISTAKES: &[(&[&str], i32, &[&str])] = &[
    (&["foo"], 2, &["no command and no model file called foo", "`modelc --help`"]),
    (&["version"], 2, &["did you mean `modelc --version`?"]),
    (&["Run", "m.tflite"], 2, &["did you mean `modelc run`?"]),
    (&["INFER", "m.tflite"], 2, &["did you mean `modelc run`?"]),
    (&["info", "m.tflite"], 2, &["did you mean `modelc inspect`?"]),
    (&["insepct", "m.tflite"], 2, &["did you mean `modelc inspect`?"]),
    (&["compile", "m.tflite"], 2, &["`modelc m.tflite -o NET.o`"]),
    (&["absent.tflite"], 1, &["MC0102", "absent.tflite"]),
    (&["m.tflite"], 2, &["nothing to write", "`modelc m.tflite -o OUT.o`"]),
    (&["m.tflite", "b.tflite", "-o", "n.o"], 2, &["one model at a time", "`modelc b.tflite -o b.o`"]),
    (&["run", "m.tflite", "b.tflite"], 2, &["one model at a time"]),
    (&["inspect", "program"], 1, &["modelc put no model"]),
    (&["run", "program"], 1, &["modelc put no model"]),
    (&["run", "net.o"], 1, &["holds a compiled model", "`modelc inspect net.o`"]),
    (&["ethos.tflite", "-o", "n.o"], 1, &["Vela", "was its input"]),
    (&["inspect", "ethos.tflite"], 1, &["Vela"]),
    (&["tpu.tflite", "-o", "n.o"], 1, &["edgetpu_compiler", "was its input"]),
    (&["decode.tflite", "-o", "n.o"], 1, &["`--custom Decode`"]),
    (&["odd.tflite", "-o", "n.o"], 1, &["`--custom \"de-code=FUNCTION\"`"]),
    (&["m.tflite", "-o", "n.o", "--emit", "header="], 2, &["path of an output is empty", "a C header"]),
    (&["m.tflite", "-o", "n.o", "--header", ""], 2, &["path of an output is empty"]),
    (&["m.tflite", "-o", "n.o", "--port-name", "in0=a", "--port-name", "in0=b"], 2, &["input 0 has two names"]),
    (&["m.tflite", "-o", "n.o", "--target", "android"], 2, &["did you mean x86_64-linux-android or aarch64-linux-android"]),
    (
        &["export", "m.tflite", "--as", "cmake", "--name", "net", "-o", "p", "--require", "flash<=1"],
        1,
        &["`modelc inspect m.tflite --html page.html`"],
    ),
    (&["m.tflite", "--emit", "objct"], 2, &["did you mean object?"]),
    (&["m.tflite", "-o", "n.o", "--cpu", "avx2", "--target", "x86_64"], 2, &["did you mean x86-64-v3?"]),
    (&["m.tflite", "-o", "n.o", "--cpu", "x86-64-v33", "--target", "x86_64"], 2, &["did you mean x86-64-v3?"]),
    (&["m.tflite", "-o", "n.o", "--cpu", "neon", "--target", "aarch64"], 2, &["did you mean aarch64?"]),
    (&["run", "m.tflite", "--method", "forwrad"], 2, &["did you mean forward?"]),
    (&["ops", "tflit"], 2, &["did you mean tflite?"]),
    (&["m.tflite", "-o", "n.o", "--target", "cortex-m52"], 2, &["MC0701", "Armv8.1-M"]),
    (&["m.tflite", "-o", "n.o", "--target", "stm32q4"], 2, &["MC0701", "cortex-m4f"]),
    (&["m.tflite", "-o", "n.o", "--target", "esp32"], 2, &["MC0701", "Xtensa"]),
    (&["m.tflite", "-o", "n.o", "--target", "x86_64-linux-gnuu"], 2, &["did you mean x86_64-linux-gnu?", "`modelc targets`"]),
    (&["m.tflite", "-o", "n.o", "--target", "toaster"], 2, &["`modelc targets`"]),
    (&["m.tflite", "-o", "n.o", "--inputs", "in.npz"], 2, &["`modelc verify`", "`modelc run`"]),
    (&["run", "m.tflite", "--message-format", "yaml"], 2, &["json"]),
];

/// Returns the commands in the help of a message: `modelc …` between grave accents.
fn advised(said: &str) -> Vec<String> {
    let help = said.lines().skip_while(|line| !line.trim_start().starts_with("help:")).collect::<Vec<_>>().join(" ");
    commands(&help)
}

fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|quoted| quoted.strip_prefix("modelc ").map(str::to_owned)).collect()
}

/// Splits a command. A command of a single word gets `--help`.
fn arguments(command: &str) -> Vec<&str> {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    if let [one] = words[..]
        && ["run", "bench", "verify", "inspect", "weights", "runtime"].contains(&one)
    {
        words.push("--help");
    }
    words
}

#[test]
fn every_command_of_a_help_works() {
    let folder = folder();
    let mut tried = 0;
    for (mistake, status, parts) in MISTAKES {
        let said = folder.fails(*status, mistake);
        for part in *parts {
            assert!(said.contains(part), "{mistake:?}: no {part} in {said}");
        }
        for command in advised(&said) {
            let output = folder.run(&arguments(&command));
            assert_eq!(output.status.code(), Some(0), "{mistake:?} advises {command}: {}", text(&output.stderr));
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried} commands");
}

/// Commands in other helps, and in the source, that no message above contains. Files replace their placeholders.
#[test]
fn every_command_of_the_source_works() {
    let folder = folder();
    let input = modelc::ir::Tensor::zeros(modelc::ir::ElementType::I8, &folder.input().1).expect("a tensor");
    folder.put("in.npy", modelc::npz::to_npy(&input));
    let mut known = std::collections::BTreeSet::new();
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("compiler")) {
        let source = fs::read_to_string(file).expect("a source file");
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        // Comments, and texts that are composed at run time, are left out.
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        known.extend(lines.flat_map(commands).filter(|command| !command.contains(['{', '<', '…'])));
    }
    assert!(known.len() > 8, "{known:?}");
    for command in known {
        let filled = command.replace("COMMAND", "run").replace("MODEL.pte", "m.pte").replace("MODEL", "m.tflite");
        let needs_other_files = filled.contains("m.pte") || filled.contains("--data");
        let filled = if filled.starts_with("inspect FILE") { filled.replace("FILE", "net.o") } else { filled.replace("FILE", "in.npy") };
        if needs_other_files || filled.contains("--custom") {
            continue;
        }
        let output = folder.run(&arguments(&filled));
        assert_eq!(output.status.code(), Some(0), "{command}: {}", text(&output.stderr));
    }
}

fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| match path {
            path if path.is_dir() => sources(&path),
            path if path.extension().is_some_and(|suffix| suffix == "rs") => vec![path],
            _ => vec![],
        })
        .collect()
}

/// Architectures, cores and boards are targets.
#[test]
fn cores_and_boards_are_targets() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "a.o", "--target", "aarch64", "--name", "net"]);
    let wanted = fs::read(folder.at("a.o")).expect("an object");
    for target in ["armv8", "armv8-a", "cortex-a53", "rpi4"] {
        folder.done(&["m.tflite", "-o", "b.o", "--target", target, "--name", "net"]);
        assert!(fs::read(folder.at("b.o")).expect("an object") == wanted, "{target}");
    }
    assert!(text(&folder.done(&["targets"]).stdout).contains("cortex-a53"));
}

/// An inner tensor that is misspelled is suggested.
#[test]
fn names_of_taps_are_suggested() {
    let folder = Folder::new();
    let shown = text(&folder.done(&["run", "m.tflite", "--tap", "all", "--outputs", "taps.npz"]).stderr);
    let name = shown.lines().find_map(|line| line.strip_prefix("tap ")?.rsplit_once(": ")).expect("a tensor").0.to_owned();
    let wrong = &name[..name.len() - 1];
    let said = folder.fails(2, &["run", "m.tflite", "--tap", wrong]);
    assert!(said.contains(&format!("did you mean {name}?")) || said.contains("did you mean"), "{said}");
}

/// Messages show lists and types as people write them, not as the compiler holds them.
#[test]
fn shapes_in_messages_are_plain() {
    let folder = Folder::new();
    let mut made = Made::default();
    let x = made.tensor(TensorType::FLOAT32, &[1, 6]);
    let shape = made.constant(TensorType::INT32, &[2], [1i32, 128].iter().flat_map(|n| n.to_le_bytes()).collect());
    let y = made.tensor(TensorType::FLOAT32, &[1, 128]);
    made.built_in(BuiltinOperator::RESHAPE, &[x, shape], &[y]);
    folder.put("r.tflite", made.finish(&[x], &[y]));
    let said = folder.fails(1, &["r.tflite", "-o", "n.o"]);
    assert!(said.contains("found: [1, 128]"), "{said}");
    let said = folder.fails(2, &["m.tflite", "-o", "n.o", "--value", "in0=1.5"]);
    assert!(!said.contains("Float("), "{said}");
}
