//! Files that modelc did not make: no output replaces them.

use super::folder::{Folder, text};
use std::fs;

/// Commands, each with the file that it writes.
const WRITING: &[(&[&str], &str)] = &[
    (&["m.tflite", "-o", "w.o"], "w.o"),
    (&["m.tflite", "-o", "w.a"], "w.a"),
    (&["m.tflite", "-o", "n.o", "--header", "w.h"], "w.h"),
    (&["m.tflite", "-o", "n.o", "--report", "w.html"], "w.html"),
    (&["m.tflite", "-o", "n.o", "--depfile", "w.d"], "w.d"),
    (&["m.tflite", "-o", "n.o", "--weights", "external", "--emit", "weights=w.bin"], "w.bin"),
    (&["m.tflite", "--emit", "json=w.json"], "w.json"),
    (&["m.tflite", "--emit", "ir=w.ir"], "w.ir"),
    (&["m.tflite", "--emit", "kernels=w.kernels"], "w.kernels"),
    (&["m.tflite", "--emit", "driver=w.driver"], "w.driver"),
    (&["m.tflite", "--emit", "asm=w.s"], "w.s"),
    (&["m.tflite", "--emit", "plan=w.plan"], "w.plan"),
    (&["m.tflite", "--emit", "clif=w.clif", "--target", "riscv64-linux-gnu"], "w.clif"),
    (&["m.tflite", "-o", "n.o", "--emit", "test=w.c"], "w.c"),
    (&["m.tflite", "-o", "n.o", "--emit", "bench=w.bench.c"], "w.bench.c"),
    (&["run", "m.tflite", "--outputs", "w.npz"], "w.npz"),
    (&["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--csv", "w.csv"], "w.csv"),
    (&["inspect", "m.tflite", "--html", "w.html"], "w.html"),
    (&["runtime", "-o", "w.o"], "w.o"),
];

#[test]
fn a_file_of_the_user_stays() {
    let folder = Folder::new();
    for (command, file) in WRITING {
        folder.put(file, "main.o: main.c \\\n  a.h\n{\"mine\": true}\n");
        let said = folder.refused(command);
        assert!(said.contains("MC0714") && said.contains(file), "{command:?}: {said}");
        fs::remove_file(folder.at(file)).expect("it is there");
    }
}

#[test]
fn a_file_of_modelc_s_is_replaced() {
    let folder = Folder::new();
    for (command, file) in WRITING {
        let _ = fs::remove_file(folder.at(file));
        for _ in 0..2 {
            folder.done(command);
        }
        assert!(folder.at(file).is_file(), "{command:?}");
        // An empty file holds nothing that could be lost.
        folder.put(file, "");
        folder.done(command);
    }
    // One kind does not replace another.
    folder.done(&["m.tflite", "--emit", "json=w.json", "-o", "plain"]);
    fs::copy(folder.at("w.json"), folder.at("plain.h")).expect("it is copied");
    assert!(text(&folder.run(&["m.tflite", "-o", "plain"]).stderr).contains("MC0714"));
}
