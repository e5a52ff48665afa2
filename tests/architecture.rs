//! Imports run downwards only: which floor of the compiler may use which.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    ("input", &[]),
    ("emit", &["codegen", "interface", "ir", "kernel", "machine", "program", "target"]),
    ("jit", &["codegen", "interface", "ir", "kernel", "machine", "program", "target"]),
];

fn sources(path: &Path, list: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder of the compiler can be read") {
            sources(&entry.expect("so can its entries").path(), list);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        list.push(path.to_owned());
    }
}

/// Floors named by `crate::FLOOR` in a file; tests inside the compiler may use what they like.
fn uses(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let names = code.match_indices("crate::").map(|(i, _)| &code[i + "crate::".len()..]);
    names.map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()).collect()
}

#[test]
fn imports_run_downwards() {
    let compiler = Path::new(env!("CARGO_MANIFEST_DIR")).join("compiler");
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for (floor, may) in &allowed {
        let mut files = Vec::new();
        for path in [compiler.join(floor), compiler.join(format!("{floor}.rs"))] {
            if path.exists() {
                sources(&path, &mut files);
            }
        }
        assert!(!files.is_empty(), "there is no floor {floor}");
        for file in files.iter().filter(|f| !f.components().any(|c| c.as_os_str() == "tests" || c.as_os_str() == "tests.rs")) {
            let text = std::fs::read_to_string(file).expect("a source file can be read");
            for used in uses(&text) {
                let known =
                    allowed.contains_key(used.as_str()) || ["cli", "compile", "pipeline", "npz", "compare"].contains(&used.as_str());
                if known && used != *floor && used != "diagnostic" && !may.contains(&used.as_str()) {
                    wrong.push(format!("{} uses {used}", file.strip_prefix(&compiler).unwrap_or(file).display()));
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "imports that do not run downwards:\n{}", wrong.join("\n"));
}
