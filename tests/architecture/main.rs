//! Rules of architecture: floors import only lower floors, and files of a floor have no cycles. Promises of the documents about themselves are
//! checked, too.

mod comments;
mod documents;
mod floors;
mod modules;
mod repository;
mod sentences;
mod signatures;
mod source;

use floors::Floor;
use modules::{Circles, File, Modules, floor};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files that are no floors: they declare modules, and start the command line.
const ROOTS: &[&str] = &["lib", "main"];

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

/// The floors that the page of architecture names.
fn floors_of_page() -> Vec<Floor> {
    floors::of_page(&std::fs::read_to_string(repository::root().join("docs/ARCHITECTURE.md")).expect("the page is there"))
}

#[test]
fn the_page_names_each_floor_once() {
    let floors = floors_of_page();
    let mut named: Vec<String> = floors.iter().map(|floor| floor.name.clone()).collect();
    named.sort();
    let there: BTreeSet<String> = files().iter().map(|file| floor(&file.path)).filter(|name| !ROOTS.contains(&name.as_str())).collect();
    assert_eq!(named, there.into_iter().collect::<Vec<_>>());
    let unknown: Vec<&String> =
        floors.iter().flat_map(|floor| floor.may_use.iter().flatten()).filter(|name| !named.contains(name)).collect();
    assert!(unknown.is_empty(), "floors may use {unknown:?}");
}

#[test]
fn imports_are_those_of_the_page() {
    let floors: BTreeMap<String, Option<Vec<String>>> = floors_of_page().into_iter().map(|floor| (floor.name, floor.may_use)).collect();
    let mut wrong = Vec::new();
    for file in &files() {
        let own = floor(&file.path);
        let Some(Some(may)) = floors.get(&own) else { continue };
        for (used, by) in &file.uses {
            let used = floor(used);
            if used != own && used != "diagnostic" && used != "lib" && !may.contains(&used) {
                wrong.push(format!("{} uses {used}: {by}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that the page does not allow:\n{}", wrong.join("\n"));
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
