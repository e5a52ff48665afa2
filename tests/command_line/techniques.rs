//! `--without`: techniques that are switched off, and wrong names.

use super::bless;
use super::folder::{Folder, json, text};

#[test]
fn techniques_are_switched_off_by_name() {
    let folder = Folder::new();
    let object = |options: &[&str]| {
        folder.done(&[&["m.tflite", "-o", "net.o", "--target", "x86_64-linux-gnu"], options].concat());
        std::fs::read(folder.at("net.o")).expect("an object")
    };
    assert_ne!(object(&[]), object(&["--without", "row-pairs,shared-taps,joined-rests,sum-of-two,look-ups,side-by-side"]));
    folder.done(&["run", "m.tflite", "--random", "1", "--outputs", "out.npz", "--without", "chains"]);
    let wrong = folder.run(&["m.tflite", "-o", "other.o", "--without", "squares,square"]);
    let said = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{said}");
    assert!(said.contains("no technique is named \"square\"") && said.contains("squares,sixteens"), "{said}");
    assert!(!text(&folder.done(&["--help"]).stdout).contains("--without "), "the option is for measurements");
}

/// Options of a program whose operators are all for a GPU.
const ON_GPU: &[&str] = &["--target", "x86_64-linux-gnu", "--gpu", "require", "--gpu-ops", "all"];

/// Returns what `inspect --schedules` shows with options.
fn shown(options: &[&str]) -> String {
    text(&Folder::new().done(&[&["inspect", "m.tflite", "--schedules"], options].concat()).stdout)
}

/// Returns what it shows for a microcontroller.
fn inspected(options: &[&str]) -> String {
    shown(&[&["--target", "cortex-m4f"], options].concat())
}

#[test]
fn schedules_that_were_possible_are_shown_with_estimates() {
    let said = inspected(&[]);
    let at = said.find("  operators").and_then(|first| said[first + 1..].find("  operators ").map(|at| first + 1 + at));
    let schedules = said.get(at.unwrap_or(0)..).expect("lines");
    bless::text("tests/command_line/snapshots/schedules_that_were_possible.txt", schedules);
    let others = schedules.lines().filter(|line| line.trim_start().starts_with("without ")).count();
    let without = inspected(&["--without", "halves"]);
    assert!(others > 0 && !without.contains("without halves"), "{without}");
}

#[test]
fn schedules_are_json_too() {
    let folder = Folder::new();
    let said = json(&folder.done(&["inspect", "m.tflite", "--target", "cortex-m4f", "--schedules", "--json"]));
    let list = said["methods"][0]["schedules"].as_array().expect("a list");
    let is_whole = |schedule: &serde_json::Value| schedule["schedule"].is_string() && schedule["instructions"].as_u64() > Some(0);
    assert!(!list.is_empty() && list.iter().all(|group| group["cpu_level"] == "cortex-m4f" && is_whole(&group["chosen"])), "{said}");
    let others: Vec<_> = list.iter().flat_map(|group| group["without"].as_array().expect("a list")).collect();
    assert!(!others.is_empty() && others.iter().all(|other| other["technique"].is_string() && is_whole(other)), "{said}");
    assert!(json(&folder.done(&["inspect", "m.tflite", "--json"]))["methods"][0].get("schedules").is_none());
}

#[test]
fn schedules_for_a_gpu_have_positions() {
    let said = shown(ON_GPU);
    let table = said.split("\n\n").find(|part| part.contains("instructions of positions")).expect("a table");
    bless::text("tests/command_line/snapshots/schedules_for_a_gpu.txt", &format!("{}\n", table.trim_end()));
    assert!(shown(&["--target", "x86_64-linux-gnu"]).find("positions").is_none(), "no operator is for a GPU");
    let said = json(&Folder::new().done(&[&["inspect", "m.tflite", "--schedules", "--json"], ON_GPU].concat()));
    let list = said["methods"][0]["schedules"].as_array().expect("a list");
    let on_gpu: Vec<_> = list.iter().filter(|group| group["gpu_profile"].is_string()).map(|group| &group["chosen"]).collect();
    let is_counted = |chosen: &serde_json::Value| {
        ["dispatches", "positions", "instructions_of_positions"].iter().all(|name| chosen[name].as_u64() > Some(0))
            && chosen.get("instructions").is_none()
    };
    assert!(on_gpu.iter().any(|chosen| is_counted(chosen)), "{said}");
    assert!(on_gpu.iter().all(|chosen| is_counted(chosen) || chosen["on_host"].is_string()), "{said}");
    assert_eq!(list.len() % on_gpu.len(), 0, "each group has a schedule for each level and for the GPU");
}
