//! The command line: outputs that it rejects, its exit statuses, and its messages for files that are not models.

mod advice;
mod areas;
mod arrays;
#[path = "../support/bless.rs"]
mod bless;
mod boards;
mod export;
mod folder;
mod foreign;
mod interrupt;
mod labels;
mod look;
#[path = "../made/mod.rs"]
mod made;
mod memory;
mod messages;
mod normalization;
mod reports;
mod schemas;
mod techniques;

use folder::{Folder, MODEL, json, text};
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[test]
fn outputs_replace_no_input() {
    let folder = Folder::new();
    folder.put("w.ptd", "tensors");
    folder.put("in.npz", "arrays");
    folder.put("a.npy", "an array");
    fs::hard_link(folder.at("m.tflite"), folder.at("hard.o")).expect("a link");
    fs::hard_link(folder.at("in.npz"), folder.at("hard.npz")).expect("a link");
    fs::create_dir(folder.at("sub")).expect("a folder");
    let commands: [&[&str]; 12] = [
        &["m.tflite", "-o", "m.tflite"],
        &["m.tflite", "-o", "hard.o"],
        &["m.tflite", "-o", "n.o", "--header", "m.tflite"],
        &["m.tflite", "--emit", "ir=sub/../m.tflite"],
        &["m.tflite", "-o", "n.o", "--data", "w.ptd", "--report", "./w.ptd"],
        &["m.tflite", "-o", "n.o", "--depfile", "m.tflite"],
        &["run", "m.tflite", "--inputs", "in.npz", "--outputs", "in.npz"],
        &["run", "m.tflite", "--inputs", "in.npz", "--outputs", "hard.npz"],
        &["run", "m.tflite", "--input", "in0=a.npy", "--outputs", "a.npy"],
        &["bench", "m.tflite", "--csv", "m.tflite"],
        &["inspect", "m.tflite", "--html", "m.tflite"],
        &["weights", "m.tflite", "--like", "hard.o", "-o", "hard.o"],
    ];
    for command in commands {
        let said = folder.refused(command);
        assert!(said.contains("MC0712") || said.contains("MC0715"), "{command:?}: {said}");
    }
    assert!(folder.refused(&["run", "m.tflite", "--inputs", "in.npz", "--outputs", "in.npz"]).contains("would overwrite in.npz"));
}

#[test]
fn outputs_are_files_of_their_own() {
    let folder = Folder::new();
    for command in [
        &["m.tflite", "-o", "n.o", "--emit", "json=n.o"][..],
        &["m.tflite", "-o", "n", "--depfile", "n"],
        &["m.tflite", "-o", "n", "--report", "./n"],
        &["m.tflite", "--emit", "ir=x", "--emit", "plan=x"],
        &["m.tflite", "-o", "n.o", "--weights", "external", "--emit", "json=n.bin"],
    ] {
        let said = folder.refused(command);
        assert!(said.contains("MC0713") || said.contains("MC0715"), "{command:?}: {said}");
    }
}

#[test]
fn a_neighbouring_header_of_the_user_stays() {
    let folder = Folder::new();
    folder.put("main.h", "#pragma once\n");
    let said = folder.refused(&["m.tflite", "-o", "main.o"]);
    assert!(said.contains("MC0714") && said.contains("--header"), "{said}");
    // It works with another header name, and again over modelc's own header.
    for _ in 0..2 {
        let output = folder.run(&["m.tflite", "-o", "main.o", "--header", "net.h"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(folder.at("main.h")).expect("it is there"), b"#pragma once\n");
}

#[test]
fn suffixes_are_kept_as_promises() {
    let folder = Folder::new();
    for (path, says) in
        [("net.c", "source code"), ("net.dylib", "linker of the target"), ("net.dll", "linker of the target"), ("net.exe", "link it")]
    {
        let said = folder.refused(&["m.tflite", "-o", path]);
        assert!(said.contains("MC0715") && said.contains(says), "{path}: {said}");
    }
    folder.refused(&["run", "m.tflite", "--outputs", "out.npy"]);
    folder.refused(&["m.tflite", "--emit", "json=net.o"]);
    folder.refused(&["m.tflite", "--emit", "shared=net.o"]);
}

/// A library needs an operating system with libraries; nothing is written for another target.
#[test]
fn libraries_are_of_targets_that_have_them() {
    let folder = Folder::new();
    let said = folder.refused(&["m.tflite", "-o", "libnet.so", "--target", "aarch64-none-elf"]);
    assert!(said.contains("MC0709") && said.contains("-o NET.o"), "{said}");
    assert!(!folder.at("libnet.so").exists() && !folder.at("libnet.h").exists());
    folder.done(&["m.tflite", "-o", "libnet.so.1", "--name", "net", "--target", "riscv64-linux-gnu"]);
    assert!(fs::read(folder.at("libnet.so.1")).expect("it is there").starts_with(b"\x7fELF"));
    // A library replaces a library of modelc.
    folder.done(&["m.tflite", "-o", "libnet.so.1", "--name", "net"]);
}

/// Every requested output is written, even if it is named repeatedly.
#[test]
fn all_outputs_are_written() {
    let folder = Folder::new();
    let output = folder.run(&["m.tflite", "-o", "a.o", "--emit", "object=b.o", "--emit", "header", "--header", "c.h", "--emit", "asm"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["a.o", "b.o", "c.h", "a.s"] {
        assert!(folder.at(name).is_file(), "{name}");
    }
    assert!(!folder.at("a.h").exists());
}

/// Machines of 32-bit words take kernels with narrow indices.
#[test]
fn microcontrollers_have_listings() {
    let folder = Folder::new();
    for target in ["cortex-m4f", "rv32imc"] {
        folder.done(&["m.tflite", "--target", target, "--emit", "asm=a.s"]);
        let listing = fs::read_to_string(folder.at("a.s")).expect("a listing");
        assert!(listing.contains(&format!(" for {target}")), "{target}: {listing}");
    }
}

/// The reader of standard output closes it before anything is written.
#[cfg(unix)]
fn nobody() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new();
    let built = folder.run(&["m.tflite", "-o", "ext.o", "--weights", "external"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let commands: [&[&str]; 15] = [
        &["ops"],
        &["targets"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
        &["--version", "--verbose"],
        &["m.tflite", "-o", "-"],
        &["m.tflite", "--emit", "ir=-"],
        &["run", "m.tflite"],
        &["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--json"],
        &["verify", "m.tflite", "--bisect"],
        &["inspect", "m.tflite"],
        &["inspect", "ext.o", "--json"],
        &["weights", "m.tflite", "--like", "ext.o", "-o", "-"],
    ];
    for command in commands {
        let output = folder.command(command).stdout(nobody()).output().expect("the command runs");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{command:?}");
        let silent = folder.command(command).stdout(nobody()).stderr(nobody()).status().expect("the command runs");
        assert_eq!(silent.code(), Some(0), "{command:?}");
    }
    let wrong = folder.command(&["run", "absent.tflite"]).stdout(nobody()).stderr(nobody()).status().expect("the command runs");
    assert_eq!(wrong.code(), Some(1));
}

/// A measurement runs on the given processors; a processor that does not exist is an error of the user.
#[cfg(target_os = "linux")]
#[test]
fn a_measurement_is_pinned() {
    let folder = Folder::new();
    let status = fs::read_to_string("/proc/self/status").expect("the status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim();
    let first = allowed.split([',', '-']).next().expect("a number");
    let bench = |pin: &str| folder.run(&["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--json", "--pin", pin]);
    let output = bench(first);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!(report["pinned_to"], serde_json::json!([first.parse::<u64>().expect("a number")]));
    for absent in ["1023", "99999"] {
        let output = bench(absent);
        assert_eq!(output.status.code(), Some(2), "{absent}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains(&format!("--pin {absent}")), "{}", text(&output.stderr));
    }
}

/// Results that cannot be written, for example because the disk is full, are an error.
#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let full = || fs::File::options().write(true).open("/dev/full").expect("the device");
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    for command in [&["ops"][..], &["m.tflite", "-o", "-"]] {
        let output = folder.command(command).stdout(full()).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(text(&output.stderr).contains("MC0710"), "{command:?}: {}", text(&output.stderr));
    }
}

/// Returns the value of a macro in a header.
fn defined(header: &str, name: &str) -> u64 {
    let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} "))).unwrap_or_else(|| panic!("no {name}"));
    line.parse().unwrap_or_else(|_| panic!("{name} is {line}"))
}

/// Formats a number as the command line does.
fn grouped(number: u64) -> String {
    modelc::plan::thousands(number)
}

#[test]
fn sizes_are_the_same_in_all_outputs() {
    let folder = Folder::new();
    for target in [&[][..], &["--target", "aarch64-none-elf"], &["--cpu", "x86-64-v3"]] {
        let built = folder.run(&[&["m.tflite", "-o", "net.o", "--emit", "json"], target].concat());
        assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
        let header = fs::read_to_string(folder.at("net.h")).expect("a header");
        let model = json(&folder.run(&[&["inspect", "m.tflite", "--json"], target].concat()));
        let object = json(&folder.run(&["inspect", "net.o", "--json"]));
        let report: serde_json::Value = serde_json::from_slice(&fs::read(folder.at("net.json")).expect("a report")).expect("JSON");
        for (name, field) in [
            ("NET_STATE_BYTES", "state_bytes"),
            ("NET_SCRATCH_BYTES", "scratch_bytes"),
            ("NET_ARENA_BYTES", "arena_bytes"),
            ("NET_STACK_BYTES", "stack_bytes"),
            ("NET_FLASH_BYTES", "flash_bytes"),
        ] {
            let bytes = defined(&header, name);
            for memory in [&model["memory"], &object["compiled"][0], &report["memory"]] {
                assert_eq!(memory[field], bytes, "{target:?} {name}");
            }
        }
        assert_eq!(report["methods"][0]["scratch_bytes"], report["memory"]["scratch_bytes"]);
        let texts = [
            text(&folder.run(&[&["inspect", "m.tflite"], target].concat()).stdout),
            text(&folder.run(&["inspect", "net.o"]).stdout),
            text(&built.stderr),
        ];
        for said in texts {
            assert!(said.contains(&format!(" {} B: ", grouped(defined(&header, "NET_ARENA_BYTES")))), "{said}");
            assert!(said.contains(&format!(" {} B: ", grouped(defined(&header, "NET_FLASH_BYTES")))), "{said}");
        }
        // One hash, in one spelling.
        let hash = object["compiled"][0]["abi_hash"].as_str().expect("digits").to_owned();
        assert!(hash.len() == 8 && report["abi_hash"] == hash.as_str() && header.contains(&format!("NET_ABI_HASH 0x{hash}u")), "{hash}");
    }
}

/// Flash is the code and the constants of the object, without its symbol tables.
#[test]
fn flash_is_code_and_constants() {
    use object::{Object, ObjectSection, SectionKind};
    let folder = Folder::new();
    let built = folder.run(&["m.tflite", "-o", "net.o", "--target", "x86_64-linux-gnu"]);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let header = fs::read_to_string(folder.at("net.h")).expect("a header");
    let bytes = fs::read(folder.at("net.o")).expect("an object");
    let file = object::File::parse(&*bytes).expect("an object file");
    let counted = |section: &object::Section<'_, '_>| {
        section.kind() == SectionKind::Text
            || (section.kind() == SectionKind::ReadOnlyData && section.name().is_ok_and(|name| name.ends_with("_weights")))
    };
    let sum: u64 = file.sections().filter(counted).map(|section| section.size()).sum();
    assert_eq!(defined(&header, "NET_FLASH_BYTES"), sum);
}

#[test]
fn a_command_that_is_misspelled_is_suggested() {
    let folder = Folder::new();
    for (word, meant) in [("insepct", "inspect"), ("verfy", "verify"), ("target", "targets")] {
        for rest in [&[][..], &["m.tflite"]] {
            let said = folder.refused(&[&[word][..], rest].concat());
            assert!(said.contains(&format!("did you mean `modelc {meant}`?")), "{word}: {said}");
        }
    }
    let output = folder.run(&["insepct", "m.tflite", "--message-format", "json"]);
    assert!(text(&output.stderr).starts_with("{\"code\":\"MC0801\""), "{}", text(&output.stderr));
    // A command that other compilers have.
    let said = folder.refused(&["compile", "m.tflite"]);
    assert!(said.contains("no command and no model file called compile") && said.contains("`modelc m.tflite -o NET.o`"), "{said}");
    // A file with such a name is a model.
    folder.put("insepct", fs::read(MODEL).expect("a model"));
    assert_eq!(folder.run(&["insepct", "-o", "net.o"]).status.code(), Some(0));
}

#[test]
fn files_of_other_formats_have_a_next_step() {
    let folder = Folder::new();
    folder.put("net.onnx", b"\x08\x07\x12\x07pytorch\x1A\x052.1.0");
    folder.put("lfs.tflite", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n");
    folder.put("net.tflite.gz", b"\x1F\x8B\x08\0\0\0\0\0");
    fs::create_dir(folder.at("saved")).expect("a folder");
    folder.put("saved/saved_model.pb", b"\x08\x01\x12\x03");
    for (file, next) in [
        ("net.onnx", "onnx2tf -i net.onnx"),
        ("lfs.tflite", "git lfs pull --include lfs.tflite"),
        ("net.tflite.gz", "gunzip net.tflite.gz"),
        ("saved", "tflite_convert --saved_model_dir=saved"),
        ("saved/saved_model.pb", "tflite_convert"),
    ] {
        for command in [&["run", file][..], &["inspect", file], &[file, "-o", "x.o"]] {
            let output = folder.run(command);
            let said = text(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains(next), "{command:?}: {said}");
        }
    }
}

#[test]
fn inputs_may_be_called_by_name() {
    let folder = Folder::new();
    let (name, shape, _) = folder.input();
    let compile = |arguments: &[&str]| {
        let output = folder.run(&[&["m.tflite", "-o", "net.o"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        fs::read(folder.at("net.o")).expect("an object")
    };
    let bound = |port: &str| format!("{port}.0=4");
    assert_eq!(compile(&["--bound", &bound(&name)]), compile(&["--bound", &bound("in0")]));
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shaped = |port: &str| format!("{port}={}", extents.join("x"));
    assert_eq!(compile(&["--shape", &shaped(&name)]), compile(&["--shape", &shaped("in0")]));
    for (option, argument) in [("--bound", bound(&name[1..])), ("--shape", shaped(&name[1..])), ("--value", format!("{}=1", &name[1..]))] {
        let said = folder.refused(&["m.tflite", "-o", "other.o", option, &argument]);
        assert!(said.contains(&format!("did you mean {name}?")), "{option}: {said}");
    }
}

#[test]
fn floats_are_quantized_for_who_asks() {
    use modelc::ir::{ElementType, Tensor};
    let folder = Folder::new();
    let (name, shape, scale) = folder.input();
    let elements = shape.iter().product::<u64>() as usize;
    let floats: Vec<f32> = (0..elements).map(|n| ((n % 256) as f64 * scale) as f32).collect();
    let tensor = Tensor { element: ElementType::F32, shape, bytes: floats.iter().flat_map(|value| value.to_le_bytes()).collect() };
    folder.put("a.npy", modelc::npz::to_npy(&tensor));
    let archive = modelc::npz::Archive { tensors: [("in0".to_owned(), tensor)].into(), ..Default::default() };
    folder.put("in.npz", archive.to_bytes().expect("an archive"));
    let output = folder.run(&["run", "m.tflite", "--inputs", "in.npz"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("MC0503") && said.contains("--input-type f32"), "{said}");
    let argument = format!("{name}=a.npy");
    let outputs: Vec<String> = [["--inputs", "in.npz"], ["--input", &argument], ["--input", "in0=a.npy"]]
        .iter()
        .map(|given| {
            let output = folder.run(&[&["run", "m.tflite", "--input-type", "f32"], &given[..]].concat());
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        })
        .collect();
    assert!(outputs[0] == outputs[1] && outputs[1] == outputs[2] && !outputs[0].is_empty());
    let made = folder.run(&["run", "m.tflite", "--inputs", "in.npz", "--input-type", "f32", "--outputs", "out.npz"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let verified = folder.run(&["verify", "m.tflite", "--inputs", "in.npz", "--expected", "out.npz", "--input-type", "f32"]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
}
