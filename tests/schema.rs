//! The generated readers over real files: each verifies, and every field of each can be read.
//!
//! Files are those of `MODELC_CORPUS`, else of `../shared/models`, else of `examples/`.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

use modelc::schema::{self, bundled_program, program, tflite};

/// A writer that keeps nothing but the length of what it is given.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Reads every field of `root`: its `Debug` form does.
fn walk(root: &dyn fmt::Debug) -> usize {
    let mut length = Length(0);
    write!(length, "{root:?}").expect("a length takes any text");
    length.0
}

/// The folder with models.
fn corpus() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = project.join("../shared/models");
    match std::env::var_os("MODELC_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None if beside.is_dir() => beside,
        None => project.join("examples"),
    }
}

/// All files below `folder` that end in `extension`, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("the corpus can be listed");
        for path in entries.map(|entry| entry.expect("an entry of the corpus").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension() == Some(OsStr::new(extension)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Verifies and walks a TFLite model.
fn check_tflite(file: &[u8]) {
    assert!(tflite::model_buffer_has_identifier(file));
    let options = schema::verifier_options(file.len());
    let model = tflite::root_as_model_with_opts(&options, file).expect("the model verifies");
    assert_eq!(model.version(), 3);
    for code in model.operator_codes().unwrap_or_default() {
        let operator = code.builtin_code().0.max(code.deprecated_builtin_code().into());
        let known = tflite::BuiltinOperator(operator).variant_name();
        assert!(known.is_some(), "operator {operator} is not in the schema");
    }
    assert!(walk(&model) > 0);
}

/// Verifies and walks an ExecuTorch program.
fn check_program(file: &[u8]) {
    assert!(program::program_buffer_has_identifier(file));
    // The header, if any, says at byte 16 where the FlatBuffer ends.
    let length = match file.get(8..12) {
        Some(b"eh00") => u64::from_le_bytes(file[16..24].try_into().expect("eight bytes")) as usize,
        _ => file.len(),
    };
    let tables = &file[..length];
    let options = schema::verifier_options(length);
    let program = program::root_as_program_with_opts(&options, tables).expect("it verifies");
    assert!(program.execution_plan().is_some_and(|plans| !plans.is_empty()));
    assert!(walk(&program) > 0);
}

/// Verifies and walks a program with test cases, and the program within.
fn check_bundle(file: &[u8]) {
    assert!(bundled_program::bundled_program_buffer_has_identifier(file));
    let options = schema::verifier_options(file.len());
    let bundle = bundled_program::root_as_bundled_program_with_opts(&options, file).expect("the bundle verifies");
    assert!(walk(&bundle) > 0);
    check_program(bundle.program().expect("a bundle has a program").bytes());
}

#[test]
fn every_model_of_the_corpus_verifies_and_can_be_read() {
    let corpus = corpus();
    let mut checked = 0;
    for (extension, check) in [("tflite", check_tflite as fn(&[u8])), ("pte", check_program), ("bpte", check_bundle)] {
        for path in files(&corpus, extension) {
            println!("{}", path.display());
            check(&fs::read(&path).expect("a file of the corpus can be read"));
            checked += 1;
        }
    }
    assert!(checked > 0, "no models in {}", corpus.display());
}
