//! Rules of architecture: floors import only lower floors, and files of a floor have no cycles. Promises of the documents about themselves are
//! checked, too.

mod comments;
mod documents;
mod modules;
mod repository;
mod signatures;
mod source;

use modules::{Circles, File, Modules, floor};
use std::collections::BTreeMap;
use std::path::Path;

/// Floors that each floor may use beside itself, `diagnostic` and the entity crate. `docs/ARCHITECTURE.md` has the reasons.
const ALLOWED: &[(&str, &[&str])] = &[
    ("cursor", &[]),
    ("ir", &["cursor"]),
    ("kernel", &["cursor"]),
    ("machine", &[]),
    ("plan", &["parallel"]),
    ("parallel", &[]),
    ("schema", &[]),
    ("diagnostic", &[]),
    ("program", &["ir", "kernel", "machine"]),
    ("operators", &["ir"]),
    ("frontend", &["ir", "operators", "schema"]),
    ("passes", &["ir"]),
    ("fuse", &["ir"]),
    ("schedule", &["ir", "fuse", "kernel", "machine", "program", "parallel"]),
    ("lower", &["ir", "fuse", "kernel", "machine", "plan", "program", "schedule", "parallel"]),
    ("target", &["machine"]),
    ("compare", &["ir"]),
    ("interface", &["ir", "machine", "program"]),
    ("codegen", &["ir", "kernel", "machine", "program", "interface", "target", "parallel"]),
    ("input", &["frontend", "ir"]),
    ("emit", &["codegen", "compare", "interface", "ir", "kernel", "machine", "npz", "program", "target"]),
    (
        "compile",
        &[
            "codegen",
            "emit",
            "frontend",
            "input",
            "interface",
            "ir",
            "lower",
            "machine",
            "pipeline",
            "plan",
            "program",
            "schedule",
            "target",
        ],
    ),
    (
        "api",
        &[
            "codegen",
            "compile",
            "emit",
            "frontend",
            "input",
            "interface",
            "ir",
            "jit",
            "lower",
            "machine",
            "pipeline",
            "program",
            "schedule",
            "target",
        ],
    ),
    ("jit", &["codegen", "interface", "ir", "kernel", "machine", "program", "target"]),
];

/// Floors without cycles of files.
const WITHOUT_CIRCLES: &[&str] = &[
    "api",
    "cli",
    "codegen",
    "compare",
    "compile",
    "cursor",
    "diagnostic",
    "emit",
    "frontend",
    "fuse",
    "input",
    "interface",
    "ir",
    "jit",
    "kernel",
    "lower",
    "machine",
    "npz",
    "operators",
    "parallel",
    "passes",
    "pipeline",
    "plan",
    "program",
    "schedule",
    "schema",
    "target",
];

fn files() -> Vec<File> {
    let compiler = Path::new(env!("CARGO_MANIFEST_DIR")).join("compiler");
    let modules = Modules::load("lib.rs", &|path| std::fs::read_to_string(compiler.join(path)).ok());
    modules.expect("the compiler's files can be read").files()
}

#[test]
fn imports_run_downwards() {
    let files = files();
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for floor_name in allowed.keys() {
        assert!(files.iter().any(|file| floor(&file.path) == *floor_name), "there is no floor {floor_name}");
    }
    for file in &files {
        let Some(may) = allowed.get(floor(&file.path).as_str()) else { continue };
        for (used, by) in &file.uses {
            let used = floor(used);
            if used != floor(&file.path) && used != "diagnostic" && used != "lib" && !may.contains(&used.as_str()) {
                wrong.push(format!("{} uses {used}: {by}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that do not run downwards:\n{}", wrong.join("\n"));
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    let files = files();
    let mut wrong = Vec::new();
    for name in WITHOUT_CIRCLES {
        let of_floor = || files.iter().filter(|file| floor(&file.path) == *name);
        assert!(of_floor().next().is_some(), "there is no floor {name}");
        let circles = Circles::new(of_floor());
        for circle in of_floor().filter_map(|file| circles.through(&file.path)) {
            let steps = circle.iter().map(|(file, by)| format!("{} by {by}", file.display()));
            wrong.push(format!("a circle: {}", steps.collect::<Vec<_>>().join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
