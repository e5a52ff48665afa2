//! Imports run downwards only: which floor of the compiler may use which. Inside a floor, files do not use each other in circles. What the
//! documents promise of themselves holds too.

mod documents;
mod modules;
mod source;

use modules::{Circles, File, Modules, floor};
use std::collections::BTreeMap;
use std::path::Path;

/// For each floor, what it may use beside itself, `diagnostic` and the entity crate. `docs/ARCHITECTURE.md` says why.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ir", &[]),
    ("kernel", &[]),
    ("machine", &[]),
    ("plan", &[]),
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
    ("interface", &["ir", "program"]),
    ("codegen", &["ir", "kernel", "machine", "program", "interface", "target", "parallel"]),
    ("input", &["frontend"]),
    ("emit", &["codegen", "interface", "ir", "kernel", "machine", "program", "target"]),
    ("jit", &["codegen", "interface", "ir", "kernel", "machine", "program", "target"]),
];

/// Floors without circles of files.
const WITHOUT_CIRCLES: &[&str] = &["codegen", "frontend", "lower", "operators", "schedule"];

/// Files through which these floors still have circles; every circle leads through one of them. The list only becomes shorter: a file
/// that is in no circle but those of the others is struck.
const STILL_IN_CIRCLES: &[&str] =
    &["schedule/contraction.rs", "schedule/conv_direct.rs", "schedule/expression.rs", "schedule/map.rs", "schedule/mod.rs"];

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
    let excepted: Vec<&Path> = STILL_IN_CIRCLES.iter().map(Path::new).collect();
    let mut wrong = Vec::new();
    for name in WITHOUT_CIRCLES {
        let of_floor = || files.iter().filter(|file| floor(&file.path) == *name);
        let circles = Circles::new(of_floor());
        for file in of_floor() {
            let others: Vec<&Path> = excepted.iter().copied().filter(|path| *path != file.path).collect();
            match circles.through(&file.path, &others) {
                Some(circle) if others.len() == excepted.len() => {
                    let steps = circle.iter().map(|(file, by)| format!("{} by {by}", file.display()));
                    wrong.push(format!("a circle: {}", steps.collect::<Vec<_>>().join(", ")));
                }
                None if others.len() < excepted.len() => wrong.push(format!("{} is in no circle any more: strike it", file.path.display())),
                _ => {}
            }
        }
    }
    for path in excepted.iter().filter(|path| !files.iter().any(|file| file.path == **path)) {
        wrong.push(format!("{} is excepted and does not exist", path.display()));
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
