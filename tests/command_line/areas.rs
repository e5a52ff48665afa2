//! `--memory` and `--copy-weights`: several memory areas, their limits, and wrong options.

use super::folder::{Folder, text};
use serde_json::Value;

const AREAS: &str = "fast=1K:fast,sram=64K";

/// Returns the JSON that `inspect` writes.
fn inspected(folder: &Folder, arguments: &[&str]) -> Value {
    let output = folder.done(&[&["inspect", "m.tflite", "--json"], arguments].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn outputs_do_not_depend_on_areas() {
    let folder = Folder::new();
    folder.done(&["run", "m.tflite", "--random", "7", "--outputs", "one.npz"]);
    for more in [
        &["--memory", AREAS][..],
        &["--memory", "sram=64K,fast=512:fast,slow=1M:slow"],
        &["--memory", "sram=64K,fast=16K:fast", "--copy-weights", "fast"],
        &["--memory", "sram=64K,fast=512:fast", "--copy-weights", "sram"],
        &["--memory", AREAS, "--threads", "3", "--num-threads", "3"],
        &["--memory", AREAS, "--optimize", "size"],
    ] {
        folder.done(&[&["run", "m.tflite", "--random", "7", "--outputs", "several.npz"], more].concat());
        assert_eq!(std::fs::read(folder.at("one.npz")).unwrap(), std::fs::read(folder.at("several.npz")).unwrap(), "{more:?}");
    }
}

#[test]
fn each_area_is_told_with_what_moves_there() {
    let folder = Folder::new();
    let said = text(&folder.done(&["m.tflite", "-o", "net.o", "--memory", AREAS]).stderr);
    assert!(said.contains(" in fast; AREA0 sram ") && said.contains("move there") && said.contains("  areas: "), "{said}");
    let header = std::fs::read_to_string(folder.at("net.h")).expect("the header");
    assert!(header.contains("as --memory lists them") && header.contains(" /* sram */"), "{header}");
    assert!(text(&folder.done(&["inspect", "net.o"]).stdout).contains(" in fast; AREA0 sram "));
    let report = inspected(&folder, &["--memory", AREAS]);
    let known = &report["methods"][0]["areas"];
    let of = |area: usize, key: &str| known["areas"][area][key].as_u64().expect("a number");
    assert!(of(0, "bytes") + 64 <= 1024 && of(0, "size_bytes") == 1024 && known["areas"][0]["rank"] == "fast", "{known}");
    assert!(of(0, "moved_bytes") > 0);
    assert_eq!(known["cost"].as_u64().expect("a number"), of(0, "moved_bytes") + 2 * of(1, "moved_bytes"));
    assert!(known["lower_bound_cost"].as_u64() <= known["cost"].as_u64());
}

#[test]
fn limits_name_areas() {
    let folder = Folder::new();
    let with = |limit: &'static str| ["m.tflite", "-o", "net.o", "--memory", AREAS, "--require", limit];
    folder.done(&with("fast<=1K,sram<=64K"));
    let said = folder.fails(1, &with("sram<=64"));
    assert!(said.contains("MC0602") && said.contains("more sram than it may"), "{said}");
    assert!(said.contains("live at the peak:") && said.lines().filter(|line| line.contains(" B  ")).count() > 0, "{said}");
    assert!(folder.fails(1, &with("fast<=64")).contains("more fast than it may"));
    let copied = [&with("sram<=64")[..], &["--copy-weights", "sram"]].concat();
    assert!(folder.fails(1, &copied).contains("B of copies of weights"));
    assert!(folder.refused(&with("sran<=64")).contains("did you mean sram?"));
    folder.done(&["inspect", "net.o", "--require", "sram<=64K"]);
    assert!(folder.fails(1, &["inspect", "net.o", "--require", "sram<=1"]).contains("more sram than it may"));
}

#[test]
fn areas_that_are_too_small_name_what_did_not_fit() {
    let folder = Folder::new();
    let said = folder.fails(1, &["m.tflite", "-o", "net.o", "--memory", "dtcm=256:fast,sram=256"]);
    for part in ["MC0608", "dtcm of 256 B, sram of 256 B", " lacks ", "64 B of dtcm are the state", "Not placed:", "operator "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // Not even the state fits, with and without memory for the tensors.
    for memory in ["dtcm=16", "dtcm=1,sram=64K"] {
        let said = folder.fails(1, &["m.tflite", "-o", "net.o", "--memory", memory]);
        for part in ["MC0608", "the state does not fit into dtcm", "at least 64 B"] {
            assert!(said.contains(part), "{memory}: no {part} in {said}");
        }
    }
    assert!(!folder.at("net.o").exists());
}

#[test]
fn wrong_areas_are_refused() {
    let folder = Folder::new();
    for (options, part) in [
        (&["--memory", "dtcm"][..], "is not understood"),
        (&["--memory", "dtcm=64K:fst"], "did you mean fast?"),
        (&["--memory", "dtcm=0"], "has no bytes"),
        (&["--memory", "a=1K,a=1K"], "two areas a"),
        (&["--memory", "a=4G,b=1", "--target", "cortex-m7"], "larger than the memory"),
        (&["--memory", "a=1M", "--copy-weights", "b"], "no area of --memory"),
        (&["--copy-weights", "b"], "needs --memory"),
        (&["--memory", "a=1M", "--plan", "program"], "exclude each other"),
        (&["--memory", "a=1M", "--gpu", "require"], "exclude each other"),
        (&["--memory", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"], "too many areas"),
    ] {
        let said = folder.refused(&[&["m.tflite", "-o", "net.o"], options].concat());
        assert!(said.contains(part), "{options:?}: {said}");
    }
}

#[test]
fn copied_weights_are_in_the_state_or_in_an_area() {
    let folder = Folder::new();
    let sizes = |options: &[&str]| {
        folder.done(&[&["m.tflite", "-o", "net.o", "--name", "net"], options].concat());
        let header = std::fs::read_to_string(folder.at("net.h")).expect("the header");
        let number = |name: &str| {
            let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
            line.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        (number("NET_STATE_BYTES"), number("NET_AREA0_BYTES"), header.contains("copies of weights"))
    };
    let memory = "sram=64K,fast=4K:fast";
    let plain = sizes(&["--memory", memory]);
    assert_eq!((plain.0, plain.2), (64, false));
    let beside = sizes(&["--memory", memory, "--copy-weights", "fast"]);
    assert!(beside.0 == 64 && beside.1 > plain.1 && beside.1 <= 4096 && beside.2, "{beside:?}");
    let inside = sizes(&["--memory", memory, "--copy-weights", "sram"]);
    assert!(inside.0 > 64 && inside.1 == plain.1, "{inside:?}");
    for command in [&["m.tflite", "-o", "net.o", "--weights", "external"][..], &["run", "m.tflite", "--random", "1"]] {
        folder.done(&[command, &["--memory", memory, "--copy-weights", "fast"]].concat());
    }
}
