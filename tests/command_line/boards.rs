//! Memory of boards: a model that does not fit is a warning, and an error with `--require`.

use super::folder::{Folder, text};
use super::made::Made;
use modelc::schema::tflite::{BuiltinOperator, TensorType};

/// Makes a folder with `m.tflite`, which fits small chips, and `large.tflite`, whose constants need 80,000 B.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut made = Made::default();
    let shape = [1, 20_000];
    let [x, y] = [0; 2].map(|_| made.tensor(TensorType::FLOAT32, &shape));
    let numbers: Vec<u8> = (0..20_000).flat_map(|number| (number as f32).to_le_bytes()).collect();
    let constant = made.constant(TensorType::FLOAT32, &shape, numbers);
    made.built_in(BuiltinOperator::MAXIMUM, &[x, constant], &[y]);
    folder.put("large.tflite", made.finish(&[x], &[y]));
    folder
}

#[test]
fn models_that_do_not_fit_are_warnings() {
    let folder = folder();
    let said = |arguments: &[&str]| text(&folder.done(&[arguments, &["--target", "stm32l053r8"]].concat()).stderr);
    for command in [
        &["large.tflite", "-o", "net.o"][..],
        &["inspect", "large.tflite"],
        &["export", "large.tflite", "--as", "cmake", "--name", "net", "-o", "package"],
    ] {
        let said = said(command);
        for part in ["warning: stm32l053r8 has 65,536 B of flash, and the model needs", "80,000 B of constants", "--target cortex-m0plus"] {
            assert!(said.contains(part), "{command:?}: no {part} in {said}");
        }
        assert!(!said.contains("of RAM, and"), "{command:?}: {said}");
    }
    let bound = said(&["m.tflite", "-o", "net.o", "--bound", "in0.0=64"]);
    assert!(bound.contains("warning: stm32l053r8 has 8,192 B of RAM") && !bound.contains("of flash, and"), "{bound}");
    let json = said(&["large.tflite", "-o", "net.o", "--message-format", "json"]);
    assert!(json.contains("modelc.note/1") && json.contains("\"message\":\"warning: stm32l053r8"), "{json}");
    assert!(!said(&["large.tflite", "-o", "net.o", "--quiet"]).contains("warning"));
}

#[test]
fn models_that_do_not_fit_are_errors_with_limits() {
    let folder = folder();
    let limited = |arguments: &[&'static str]| [arguments, &["--require", "stack<=2K", "--target", "stm32l053"]].concat();
    for command in [
        &["large.tflite", "-o", "net.o"][..],
        &["inspect", "large.tflite"],
        &["export", "large.tflite", "--as", "cmake", "--name", "net", "-o", "package"],
    ] {
        let said = folder.fails(1, &limited(command));
        for part in ["MC0602", "the model needs more flash than stm32l053 has", "at most 65,536 B", "80,000 B of constants"] {
            assert!(said.contains(part), "{command:?}: no {part} in {said}");
        }
    }
    assert!(!folder.at("net.o").exists() && !folder.at("package").exists());
    let said = folder.fails(1, &limited(&["m.tflite", "-o", "net.o", "--bound", "in0.0=64"]));
    assert!(said.contains("more RAM than stm32l053 has") && said.contains("at most 8,192 B"), "{said}");
    // A limit and a board are two errors.
    let said = folder.fails(1, &["large.tflite", "-o", "net.o", "--require", "flash<=1K", "--target", "stm32l053"]);
    assert!(said.contains("more flash than it may") && said.contains("more flash than stm32l053 has"), "{said}");
}

#[test]
fn models_that_fit_are_no_warnings() {
    let folder = folder();
    for (model, target, more) in [
        ("m.tflite", "stm32l053", &[][..]),
        ("large.tflite", "nrf52840", &[]),
        ("large.tflite", "cortex-m0plus", &[]),
        ("large.tflite", "stm32l0", &[]),
        ("large.tflite", "stm32l053", &["--weights", "external"]),
        ("large.tflite", "stm32l053", &["--weights-section", ".external"]),
    ] {
        let command = [&[model, "-o", "net.o", "--require", "stack<=2K", "--target", target][..], more].concat();
        assert!(!text(&folder.done(&command).stderr).contains("warning"), "{command:?}");
    }
}

/// A package for a core is for all boards with it.
#[test]
fn each_board_of_a_package_is_checked() {
    let folder = folder();
    let command =
        ["export", "large.tflite", "--as", "zephyr", "--name", "net", "-o", "p", "--target", "stm32l073", "--target", "stm32l053"];
    let said = text(&folder.done(&command).stderr);
    assert!(said.contains("warning: stm32l053 has") && !said.contains("warning: stm32l073 has"), "{said}");
}
