//! ExecuTorch programs and bundles on the command line, and their memory plans.

mod support;

use modelc::frontend::{LoadOptions, bundled};
use modelc::lower::{Options, PlanSource};
use modelc::{pipeline, target};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use support::harness::{self, Needs};

fn modelc(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_modelc")).args(arguments).output().expect("the command runs")
}

fn status(output: &Output, what: &str) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{what}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn in_corpus(name: &str) -> Option<PathBuf> {
    Some(support::corpus("executorch")?.join(name))
}

fn portable_programs_verify_with_both_plans() {
    for name in ["addmul", "mlp", "lenet", "cond"] {
        let Some(stem) = in_corpus(&format!("{name}.portable")) else { return };
        let path = |what: &str| format!("{}.{what}", stem.display());
        for plan in ["own", "program"] {
            let recorded = [path("pte"), path("inputs.npz"), path("expected.npz")];
            let output = modelc(&["verify", &recorded[0], "--inputs", &recorded[1], "--expected", &recorded[2], "--plan", plan]);
            assert_eq!(status(&output, name), 0, "{name} {plan}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Returns the bundles of this repository, and those of the corpus that use no delegate except XNNPACK.
fn bundles() -> Vec<PathBuf> {
    let own = support::own("tests/models/executorch/perceptron.bpte");
    let mut recorded = support::models("executorch", "bpte");
    recorded.retain(|path| !support::stem(path).ends_with(".vulkan"));
    std::iter::once(own).chain(recorded).filter(|path| harness::is_wanted(&support::stem(path))).collect()
}

/// A bundle verifies, with a line for each output of each case.
fn bundles_verify() {
    for path in bundles() {
        let output = modelc(&["verify", &path.display().to_string()]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(status(&output, &said), 0, "{}: {said}{}", path.display(), String::from_utf8_lossy(&output.stderr));
        let rows: Vec<&str> = said.lines().filter(|line| line.starts_with("forward ")).collect();
        assert!(rows.len() >= 2 && rows.iter().all(|row| row.ends_with("agrees")), "{}: {said}", path.display());
    }
}

/// Copies a bundle with one byte changed: the highest one of the first expected float, with sign and exponent.
fn with_a_changed_value(path: &Path, folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path).expect("the bundle can be read");
    let shared: Arc<dyn modelc::ir::data::Bytes> = Arc::new(bytes.clone());
    let (_, suites) = bundled::load(&shared).expect("the bundle is sound");
    let expected = suites[0].cases[0].outputs[0].clone().expect("an output").bytes;
    let at = bytes.windows(expected.len()).position(|window| window == expected).expect("the output is in the file");
    bytes[at + 3] ^= 0x80;
    let changed = folder.join("changed.bpte");
    std::fs::write(&changed, bytes).expect("the changed bundle can be written");
    changed
}

/// A bundle with one changed expected value does not verify, and exits with status 3.
fn bundles_notice_a_changed_value() {
    for path in bundles() {
        let folder = tempfile::tempdir().expect("a folder for the changed bundle");
        let changed = with_a_changed_value(&path, folder.path());
        let output = modelc(&["verify", &changed.display().to_string(), "--rtol", "1e-3"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(status(&output, &said), 3, "{}: {said}", path.display());
        assert!(said.contains("element 0 is ") && said.contains("1 of "), "{}: {said}", path.display());
        assert!(said.lines().any(|line| line.starts_with("forward ") && line.ends_with("agrees")), "{}: {said}", path.display());
    }
}

/// One method of a bundle can be tested alone; `--calls` is an error, because the cases have their methods.
fn methods_of_bundles_are_chosen() {
    let path = support::own("tests/models/executorch/perceptron.bpte").display().to_string();
    assert_eq!(status(&modelc(&["verify", &path, "--method", "forward"]), "forward"), 0);
    for arguments in [["--method", "backward"], ["--calls", "forward,forward"], ["--rtol", "-1"], ["--atol", "nan"]] {
        assert_eq!(status(&modelc(&["verify", &path, arguments[0], arguments[1]]), arguments[1]), 2);
    }
}

fn own(name: &str) -> String {
    support::own("tests/models/executorch").join(name).display().to_string()
}

/// Returns the output of a command that must succeed.
fn printed(arguments: &[&str]) -> String {
    let output = modelc(arguments);
    assert_eq!(status(&output, "modelc"), 0, "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `inspect` shows methods, graphs of delegates, the file's memory plan beside ours, and source lines.
fn inspect_shows_what_a_program_says_of_itself() {
    let methods = printed(&["inspect", &own("methods.pte")]);
    for part in [
        "\nforward\n",
        "\nget_ends\n",
        "planned by the file: 224 B (area 1 112 B, area 2 112 B)",
        "; the file plans 224 B",
        "delegate 0: XnnpackBackend, 1 node: 1 XNNFullyConnected",
    ] {
        assert!(methods.contains(part), "{part}: {methods}");
    }
    assert!(
        !methods.contains("f32[2, 6]\n")
            && printed(&["inspect", &own("methods.pte"), "--nodes"]).contains("XNNFullyConnected  f32[2, 6]\n")
    );
    let json: serde_json::Value = serde_json::from_str(&printed(&["inspect", &own("methods.pte"), "--json"])).expect("JSON");
    let forward = &json["methods"][0];
    assert_eq!(forward["planned_bytes"], 224);
    assert_eq!(forward["delegates"][0]["nodes"][0]["name"], "XNNFullyConnected");
    assert!(forward["total_bytes"].as_u64().is_some_and(|bytes| bytes >= 96), "{forward}");

    let traced = printed(&["inspect", &own("traced.pte")]);
    assert!(traced.contains("aten::erf.out") && traced.contains("methods.py:") && traced.contains("torch.erf(x)"), "{traced}");
    assert!(printed(&["inspect", &own("traced.pte"), "--frames"]).lines().count() >= traced.lines().count());
    let json: serde_json::Value = serde_json::from_str(&printed(&["inspect", &own("traced.pte"), "--json"])).expect("JSON");
    assert_eq!(json["methods"][0]["instruction_sources"][0]["frames"][0]["file"], "methods.py");
    let report = printed(&[&own("methods.pte"), "--emit", "json=-"]);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["methods"][0]["planned_area_bytes"], serde_json::json!([0, 112, 112]));
}

/// Methods that return constants are constants in the header, beside their functions.
fn constant_methods_are_in_the_header() {
    let header = printed(&[&own("methods.pte"), "--emit", "header=-", "--name", "net"]);
    for line in [
        "#define NET_GET_LENGTH_VALUE ((int64_t)16)\n",
        "#define NET_GET_ENDS_COUNT 3\nstatic const int64_t NET_GET_ENDS_VALUES[NET_GET_ENDS_COUNT] = { 1, 2, 300 };\n",
        "#define NET_GET_RATE_VALUE ((double)7.5)\n",
        "#define NET_IS_CAUSAL_VALUE ((uint8_t)1)\n",
        "static const float NET_GET_TABLE_VALUES[NET_GET_TABLE_COUNT] = { 1.5f, -2.0f, 4.0f };\n",
    ] {
        assert!(header.contains(line), "{line}: {header}");
    }
    assert!(!header.contains("NET_FORWARD_VALUE") && !header.contains("NET_MEAN_COUNT"));
}

/// Several methods that share a state are called in turn: verified, and measured separately.
fn methods_are_called_in_turn() {
    let (model, inputs, expected) = (own("shared.pte"), own("shared.inputs.npz"), own("shared.expected.npz"));
    let calls = "add,read,add,replace,read,add";
    let said = printed(&["verify", &model, "--inputs", &inputs, "--expected", &expected]);
    assert_eq!(said, "6 outputs of 6 calls agree\n");
    printed(&["verify", &model, "--inputs", &inputs, "--expected", &expected, "--calls", calls]);
    let output = modelc(&["verify", &model, "--inputs", &inputs, "--expected", &expected, "--calls", "add,read,add,read,read,add"]);
    assert_eq!(status(&output, "another method"), 3);

    let measured =
        printed(&["bench", &model, "--inputs", &inputs, "--calls", calls, "--num-runs", "2", "--min-secs", "0", "--json", "--profile"]);
    let measured: serde_json::Value = serde_json::from_str(&measured).expect("JSON");
    let methods: Vec<&str> = measured["calls"].as_array().expect("calls").iter().filter_map(|call| call["method"].as_str()).collect();
    assert_eq!(methods.join(","), calls);
    let text = printed(&["bench", &model, "--inputs", &inputs, "--calls", calls, "--num-runs", "1", "--min-secs", "0"]);
    assert!(text.contains("call 3 replace"), "{text}");

    let Some(folder) = support::corpus("executorch") else { return };
    let path = |what: &str| folder.join(format!("llm_tiny_methods.xnnpack.{what}")).display().to_string();
    let output = modelc(&[
        "verify",
        &path("pte"),
        "--inputs",
        &path("inputs.npz"),
        "--expected",
        &path("expected.npz"),
        "--calls",
        "prefill,decode,decode,decode",
        "--rtol",
        "1e-2",
    ]);
    assert_eq!(status(&output, "a decoder"), 0, "{}", String::from_utf8_lossy(&output.stdout));
}

/// A training export lists its parameters in a method of strings, which the object lacks. The header has the indices of gradients and
/// parameters.
fn methods_of_strings_are_left_out_and_said() {
    let (path, folder) = (support::own("tests/models/executorch/training.pte"), tempfile::tempdir().expect("a folder"));
    let (path, object, report) = (path.display().to_string(), folder.path().join("net.o"), folder.path().join("net.json"));
    let output = modelc(&[&path, "-o", &object.display().to_string(), "--emit", &format!("json={}", report.display())]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output, &said), 0, "{said}");
    assert!(said.contains("__et_training_fqn_forward: left out"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    assert_eq!(report["left_out_methods"], serde_json::json!(["__et_training_fqn_forward"]));
    assert_eq!(report["methods"].as_array().map(Vec::len), Some(3));
    let header = std::fs::read_to_string(object.with_extension("h")).expect("a header");
    for (method, value) in [("GRADIENTS", 2), ("PARAMETERS", 6)] {
        assert!(header.contains(&format!("NET___ET_TRAINING_{method}_INDEX_FORWARD_VALUE ((int64_t){value})")), "{header}");
    }
    let output = modelc(&["run", &path, "--method", "__et_training_fqn_forward"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(status(&output, &said), 1, "{said}");
    assert!(said.contains("MC0420") && said.contains("strings cannot be outputs"), "{said}");
}

/// Returns the size of the arena and the offsets of tensors for a plan.
fn offsets(path: &Path, plan: PlanSource) -> (u64, Vec<u64>) {
    let bytes = std::fs::read(path).expect("the program can be read");
    let module = pipeline::read(Arc::new(bytes), "model.pte", &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let machine = target::host_machine().expect("the host has a machine description");
    let options = Options { plan, ..Options::new(machine) };
    let lowered = pipeline::lower(&module, "model.pte", options).unwrap_or_else(|error| panic!("{error}"));
    (lowered.plans[0].arena_bytes, lowered.plans[0].offset.iter().flatten().copied().collect())
}

fn the_plan_of_the_program_is_kept_to_the_byte() {
    // Offsets of AllocationDetails in the file that fusion keeps. In the MLP: the results of relu, gelu and the last addmm. In LeNet:
    // avg_pool2d and two relus, all at one offset.
    for (name, kept) in [("mlp", &[67_584, 5_120, 65_536][..]), ("lenet", &[192_000][..])] {
        let Some(path) = in_corpus(&format!("{name}.portable.pte")) else { return };
        let (arena, found) = offsets(&path, PlanSource::Program);
        assert!(kept.iter().all(|offset| found.contains(offset)), "{name}: {found:?} in {arena} bytes");
        let (own, _) = offsets(&path, PlanSource::Own);
        assert!(own <= arena, "{name}: our plan needs {own} bytes, the file's {arena}");
    }
}

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("portable_programs_verify_with_both_plans", Needs::Corpus("executorch"), portable_programs_verify_with_both_plans),
        ("bundles_verify", Needs::Nothing, bundles_verify),
        ("bundles_notice_a_changed_value", Needs::Nothing, bundles_notice_a_changed_value),
        ("methods_of_bundles_are_chosen", Needs::Nothing, methods_of_bundles_are_chosen),
        ("inspect_shows_what_a_program_says_of_itself", Needs::Nothing, inspect_shows_what_a_program_says_of_itself),
        ("constant_methods_are_in_the_header", Needs::Nothing, constant_methods_are_in_the_header),
        ("methods_of_strings_are_left_out_and_said", Needs::Nothing, methods_of_strings_are_left_out_and_said),
        ("methods_are_called_in_turn", Needs::Nothing, methods_are_called_in_turn),
        ("the_plan_of_the_program_is_kept_to_the_byte", Needs::Corpus("executorch"), the_plan_of_the_program_is_kept_to_the_byte),
    ])
}
