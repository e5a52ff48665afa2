//! `--without`: techniques that are switched off, and wrong names.

use super::folder::{Folder, text};

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
