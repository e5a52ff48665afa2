//! ExecuTorch programs and bundles through the command line, and the plan that comes with them.

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

/// A bundle of this repository, and those of the corpus that no delegate but XNNPACK has a part in.
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

/// A copy of a bundle with the highest byte of the first expected float changed: sign and exponent.
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

/// With one expected value changed a bundle does not verify, and says so with status 3.
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

/// One method of a bundle is tested alone; calls have their methods already.
fn methods_of_bundles_are_chosen() {
    let path = support::own("tests/models/executorch/perceptron.bpte").display().to_string();
    assert_eq!(status(&modelc(&["verify", &path, "--method", "forward"]), "forward"), 0);
    for arguments in [["--method", "backward"], ["--calls", "forward,forward"], ["--rtol", "-1"], ["--atol", "nan"]] {
        assert_eq!(status(&modelc(&["verify", &path, arguments[0], arguments[1]]), arguments[1]), 2);
    }
}

/// The offsets in the arena of a program lowered with a plan.
fn offsets(path: &Path, plan: PlanSource) -> (u64, Vec<u64>) {
    let bytes = std::fs::read(path).expect("the program can be read");
    let module = pipeline::read(Arc::new(bytes), "model.pte", &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let machine = target::host_machine().expect("the host has a machine description");
    let options = Options { plan, ..Options::new(machine) };
    let lowered = pipeline::lower(&module, "model.pte", options).unwrap_or_else(|error| panic!("{error}"));
    (lowered.plans[0].arena_bytes, lowered.plans[0].offset.iter().flatten().copied().collect())
}

fn the_plan_of_the_program_is_kept_to_the_byte() {
    // Offsets of AllocationDetails in the file that fusion leaves alone: the results of relu, gelu and the last addmm of the MLP; of
    // avg_pool2d and two relus, all in one place, of LeNet.
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
        ("the_plan_of_the_program_is_kept_to_the_byte", Needs::Corpus("executorch"), the_plan_of_the_program_is_kept_to_the_byte),
    ])
}
