//! Sizes from options and models: a size without memory for it is an error before anything is allocated, and never an abort.

use super::folder::{Folder, text};

/// Bounds beyond any machine: a batch with 64 bytes of input and a few kilobytes of arena for each slice.
const BOUNDS: [&str; 2] = ["in0.0=99999999999", "in0.0=100000000"];

#[cfg(target_os = "linux")]
#[test]
fn a_bound_beyond_memory_is_an_error_at_once() {
    let folder = Folder::new();
    for bound in BOUNDS {
        for command in
            [&["run", "m.tflite"][..], &["bench", "m.tflite"], &["verify", "m.tflite", "--bisect"], &["run", "m.tflite", "--tap", "all"]]
        {
            let said = folder.fails(1, &[command, &["--bound", bound]].concat());
            assert!(said.contains("MC0711"), "{command:?} {bound}: {said}");
        }
        let said = folder.fails(1, &["m.tflite", "--emit", "test=t.c", "-o", "n.o", "--bound", bound]);
        assert!(said.contains("MC0711") || said.contains("MC0518"), "{bound}: {said}");
        assert!(!folder.at("t.c").exists() && !folder.at("n.o").exists());
    }
}

/// An arena of more than a terabyte cannot be in a header.
#[test]
fn an_arena_beyond_any_machine_is_an_error() {
    let folder = Folder::new();
    for target in ["x86_64-linux-gnu", "aarch64-none-elf", "riscv64-none-elf"] {
        let said = folder.fails(1, &["m.tflite", "-o", "n.o", "--target", target, "--bound", BOUNDS[0]]);
        assert!(said.contains("MC0711") && said.contains("the arena"), "{target}: {said}");
        assert!(!folder.at("n.o").exists() && !folder.at("n.h").exists());
    }
    // Large is not too large.
    folder.done(&["m.tflite", "-o", "n.o", "--bound", "in0.0=1000000"]);
}

/// With a limit on the process's memory, everything that fits runs, and the rest is an error. Here the file determines the size.
#[cfg(target_os = "linux")]
#[test]
fn no_size_ends_in_the_allocator_s_abort() {
    use super::made::Made;
    use modelc::schema::tflite::{BuiltinOperator, TensorType};
    let folder = Folder::new();
    let mut statuses = Vec::new();
    for rows in [1000, 20_000, 40_000, 60_000, 80_000, 120_000, 300_000, 8_000_000] {
        let mut made = Made::default();
        let [x, y] = [0; 2].map(|_| made.tensor(TensorType::FLOAT32, &[rows, 256]));
        made.built_in(BuiltinOperator::RELU, &[x], &[y]);
        folder.put("large.tflite", made.finish(&[x], &[y]));
        for command in ["run large.tflite --outputs out.npz", "bench large.tflite --num-runs 1 --min-secs 0"] {
            let output = folder.shell(&format!("ulimit -v 800000; exec \"$0\" {command}"));
            let (status, said) = (output.status.code(), text(&output.stderr));
            assert!(status == Some(0) || status == Some(1) && said.contains("MC0711"), "{rows} {command}: {:?} {said}", output.status);
            statuses.push(status);
        }
    }
    assert!(statuses.contains(&Some(0)) && statuses.contains(&Some(1)), "{statuses:?}");
}

#[test]
fn inspect_checks_limits_of_models_and_of_objects() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "n.o"]);
    for file in ["m.tflite", "n.o"] {
        folder.done(&["inspect", file, "--require", "arena<=64K,stack<=64K,flash<=1M"]);
        let said = folder.fails(1, &["inspect", file, "--require", "arena<=1K"]);
        assert!(said.contains("MC0602") && said.contains("B too much"), "{said}");
        assert_eq!(said.contains("live at the peak"), file == "m.tflite", "an object does not say what is live: {said}");
        assert!(folder.refused(&["inspect", file, "--require", "heap<=1"]).contains("--require"));
    }
}
