//! Files of other formats: their names by their first bytes, and advice.

use crate::diagnostic::{Diagnostic, codes};
use std::io::Cursor;
use std::path::Path;
use zip::ZipArchive;

/// The name of a file's format, and advice, in which `FILE` stands for the file's name.
type Finding = (&'static str, &'static str);

const ONNX: Finding =
    ("an ONNX model", "convert it: `pip install onnx2tf`, then `onnx2tf -i FILE -o converted`, which writes .tflite files");
const CORE_ML: Finding = ("a Core ML model", "nothing converts it back: convert the model that it was made from, to .tflite or .pte");
const SAVED_MODEL: Finding =
    ("a TensorFlow SavedModel", "convert its folder: `tflite_convert --saved_model_dir=FOLDER --output_file=net.tflite`");
const GRAPH: Finding = (
    "a frozen TensorFlow graph",
    "convert it: `tflite_convert --graph_def_file=FILE --input_arrays=IN --output_arrays=OUT --output_file=net.tflite --enable_v1_converter`",
);
const KERAS: Finding = (
    "a Keras model",
    "convert it: `python -c 'import tensorflow as tf; m = tf.keras.models.load_model(\"FILE\"); \
     open(\"net.tflite\", \"wb\").write(tf.lite.TFLiteConverter.from_keras_model(m).convert())'`",
);
const HDF5: Finding = ("an HDF5 file, as old Keras models are", KERAS.1);
const EXPORTED: Finding = (
    "a PyTorch program (.pt2)",
    "convert it: `python -c 'import torch, executorch.exir as e; p = torch.export.load(\"FILE\"); \
     open(\"net.pte\", \"wb\").write(e.to_edge(p).to_executorch().buffer)'`",
);
const TORCH_SCRIPT: Finding = (
    "a TorchScript model",
    "export the module that it was made from: `litert_torch.convert(module, inputs).export(\"net.tflite\")`, or torch.export and ExecuTorch's \
     to_edge for a .pte",
);
const CHECKPOINT: Finding = (
    "a PyTorch pickle, which holds tensors and no graph",
    "load it into its module and export that: `litert_torch.convert(module, inputs).export(\"net.tflite\")`, or torch.export and \
     ExecuTorch's to_edge for a .pte",
);
const SAFETENSORS: Finding = (
    "a safetensors file, which holds tensors and no graph",
    "load it into its module and export that: torch.export and ExecuTorch's to_edge write a .pte",
);
const GGUF: Finding = (
    "a GGUF file, which holds tensors of a language model and no graph",
    "export the model that it was made from: torch.export and ExecuTorch's to_edge write a .pte",
);
const ZIP: Finding = ("a zip archive", "unpack it: `unzip FILE`");
const ARRAYS: Finding = ("NumPy arrays", "these are inputs: `modelc run MODEL --inputs FILE`");
const OBJECT: Finding =
    ("an object file, a library or a program, in which modelc put no model", "give the model itself, a .tflite, .pte or .bpte file");
const COMPILED: Finding = (
    "an object file, a library or a program that holds a compiled model",
    "`modelc inspect FILE` describes the compiled model; other commands take the file that it was made from",
);
/// The mark in every object of modelc (`emit/info.rs`).
const RECORD: &[u8] = b"modelc net_info\0";

/// Offset, bytes there, and their format.
const SIGNATURES: &[(usize, &[u8], Finding)] = &[
    (
        0,
        b"version https://git-lfs.github.com/spec/",
        ("a pointer of Git LFS, not the file itself", "fetch it: `git lfs pull --include FILE`"),
    ),
    (0, b"\x1F\x8B", ("compressed by gzip", "unpack it: `gunzip FILE`")),
    (0, b"\xFD7zXZ\0", ("compressed by xz", "unpack it: `unxz FILE`")),
    (0, b"\x28\xB5\x2F\xFD", ("compressed by zstd", "unpack it: `unzstd FILE`")),
    (0, b"BZh", ("compressed by bzip2", "unpack it: `bunzip2 FILE`")),
    (0, b"7z\xBC\xAF\x27\x1C", ("a 7-Zip archive", "unpack it: `7z x FILE`")),
    (257, b"ustar", ("a tar archive", "unpack it: `tar -xf FILE`")),
    (0, b"GGUF", GGUF),
    (0, b"\x89HDF\r\n\x1A\n", HDF5),
    (
        4,
        b"FT01",
        ("a file of tensors beside an ExecuTorch program (.ptd)", "give it beside its program: `modelc MODEL.pte --data FILE -o net.o`"),
    ),
    (0, b"\x93NUMPY", ARRAYS),
    (0, b"ML\xEFR", ("MLIR bytecode", "convert the model that it was made from, to .tflite or .pte")),
    (0, b"\x7FELF", OBJECT),
    (0, b"!<arch>\n", OBJECT),
    (0, b"MZ", OBJECT),
    (0, b"\xCF\xFA\xED\xFE", OBJECT),
    (0, b"<!DOCTYPE", WEB_PAGE),
    (0, b"<!doctype", WEB_PAGE),
    (0, b"<html", WEB_PAGE),
    (0, b"{", ("a JSON file, as the models of TensorFlow.js are", "convert the model that it was made from, to .tflite or .pte")),
    (0, b"modelcwt", ("a file of weights that modelc wrote", "`net_init` takes it; the model is what it was made from")),
    (0, b"/* Made by modelc", ("a header that modelc wrote", "give the model that it was made from")),
];
const WEB_PAGE: Finding = ("a web page", "download the file itself, not the page about it");

/// The formats of zip archives by the end of an entry's path. The first match counts.
const ENTRIES: &[(&str, Finding)] = &[
    ("serialized_exported_program.json", EXPORTED),
    ("archive_format", EXPORTED),
    ("constants.pkl", TORCH_SCRIPT),
    ("bytecode.pkl", TORCH_SCRIPT),
    ("data.pkl", CHECKPOINT),
    ("model.weights.h5", KERAS),
    ("saved_model.pb", SAVED_MODEL),
    (".mlmodel", CORE_ML),
    (".npy", ARRAYS),
];

/// The error for a file in no known format.
pub fn unknown_format(bytes: &[u8], file: &str) -> Diagnostic {
    let expected = "the identifier TFL3 (.tflite), ET12 (.pte) or BP08 (.bpte) at byte 4";
    if let Some((what, next)) = recognize(bytes) {
        let error = Diagnostic::new(codes::UNKNOWN_FORMAT, "unsupported file format");
        return error.expected(expected, what).help(next.replace("FILE", file));
    }
    let found = match bytes.get(4..8) {
        Some(identifier) => format!("\"{}\"", identifier.escape_ascii()),
        None => format!("a file of {} bytes", bytes.len()),
    };
    Diagnostic::new(codes::UNKNOWN_FORMAT, "unsupported file format").expected(expected, found)
}

/// The format of a folder that is given as a model, and advice.
pub fn folder(path: &Path) -> Option<(&'static str, String)> {
    let has = |name: &str| path.join(name).exists();
    let (what, next) = match () {
        () if has("saved_model.pb") => SAVED_MODEL,
        () if has("Manifest.json") && has("Data") => CORE_ML,
        () => return None,
    };
    Some((what, next.replace("FOLDER", &path.display().to_string())))
}

fn recognize(bytes: &[u8]) -> Option<Finding> {
    let at = |offset: usize, signature: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(signature));
    let signed = || SIGNATURES.iter().find(|(offset, signature, _)| at(*offset, signature)).map(|(.., finding)| *finding);
    if at(0, b"PK\x03\x04") {
        return Some(zipped(bytes));
    }
    let signed = || signed().map(|finding| if finding == OBJECT && holds_model(bytes) { COMPILED } else { finding });
    signed().or_else(|| safetensors(bytes)).or_else(|| pickle(bytes)).or_else(|| protobuf(bytes))
}

/// Looks for modelc's record of a model in an object or program.
fn holds_model(bytes: &[u8]) -> bool {
    bytes.windows(RECORD.len()).any(|window| window == RECORD)
}

/// The format of a zip archive, by the names in its directory.
fn zipped(bytes: &[u8]) -> Finding {
    let Ok(archive) = ZipArchive::new(Cursor::new(bytes)) else { return ZIP };
    let has = |suffix: &str| archive.file_names().any(|name| name.ends_with(suffix));
    ENTRIES.iter().find(|(suffix, _)| has(suffix)).map_or(ZIP, |(_, finding)| *finding)
}

/// The length of a JSON text, then the text.
fn safetensors(bytes: &[u8]) -> Option<Finding> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    (bytes.get(8) == Some(&b'{') && length < bytes.len() as u64).then_some(SAFETENSORS)
}

/// A pickle of protocols 2 to 5 begins with its protocol.
fn pickle(bytes: &[u8]) -> Option<Finding> {
    matches!(bytes.get(..2)?, [0x80, 2..=5]).then_some(CHECKPOINT)
}

/// Messages of Protocol Buffers, told apart by their first fields.
fn protobuf(bytes: &[u8]) -> Option<Finding> {
    // Number of a field and how it is written, in one byte.
    const VARINT_1: u8 = 0x08;
    const BYTES_1: u8 = 0x0A;
    const BYTES_2: u8 = 0x12;
    match *bytes.get(..3)? {
        // A version, then graphs with all that belongs to them.
        [VARINT_1, 1, BYTES_2] => Some(SAVED_MODEL),
        // A version, then a description whose first fields are messages, where ONNX has the name of a tool.
        [VARINT_1, 1..=20, BYTES_2] if string(&bytes[3..]).is_some_and(|text| text.starts_with(&[BYTES_1])) => Some(CORE_ML),
        // Version 2 is older than any file; then names, the graph, or sets of operators.
        [VARINT_1, 3..=30, BYTES_2 | 0x1A | 0x22 | 0x28 | 0x32 | 0x3A | 0x42] => Some(ONNX),
        // A node, which begins with its name, and goes on with its operator.
        [BYTES_1, ..] => {
            let node = string(&bytes[1..])?;
            let name = string(node.strip_prefix(&[BYTES_1])?)?;
            (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(GRAPH)
        }
        _ => None,
    }
}

/// The bytes after a length, as far as they are there.
fn string(bytes: &[u8]) -> Option<&[u8]> {
    let mut length = 0usize;
    for (position, &byte) in bytes.iter().enumerate().take(5) {
        length |= usize::from(byte & 0x7F) << (7 * position);
        if byte & 0x80 == 0 {
            let rest = &bytes[position + 1..];
            return Some(&rest[..length.min(rest.len())]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn archive(names: &[&str]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            zip.start_file(*name, SimpleFileOptions::DEFAULT).unwrap();
            zip.write_all(b"contents").unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn files_of_other_formats_are_told_apart() {
        let tar = [&[0; 257][..], b"ustar\0"].concat();
        let safetensors = [&20u64.to_le_bytes()[..], b"{\"a\":{}}            ", b"data"].concat();
        let files: &[(&[u8], &str)] = &[
            (b"\x08\x07\x12\x07pytorch\x1A\x052.1.0", "ONNX"),
            (b"\x08\x0A\x3A\x85\x01\x0A\x10", "ONNX"),
            (b"\x08\x01\x12\xA0\x03\x0A\x05", "SavedModel"),
            (b"\x08\x04\x12\x40\x0A\x1E\x0A\x05image", "Core ML"),
            (b"\x0A\x14\x0A\x05input\x12\x0BPlaceholder", "frozen TensorFlow graph"),
            (&archive(&["net/data.pkl", "net/code/__torch__.py", "net/constants.pkl"]), "TorchScript"),
            (&archive(&["net/data.pkl", "net/byteorder", "net/data/0"]), "PyTorch pickle"),
            (&archive(&["net/archive_format", "net/data/constants/x.pt"]), ".pt2"),
            (&archive(&["version", "serialized_exported_program.json"]), ".pt2"),
            (&archive(&["metadata.json", "config.json", "model.weights.h5"]), "Keras"),
            (&archive(&["in0.npy"]), "NumPy"),
            (&archive(&["net.tflite"]), "zip archive"),
            (b"PK\x03\x04 and no directory", "zip archive"),
            (b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9 j\xa8P\x19.", "PyTorch pickle"),
            (b"GGUF\x03\0\0\0", "GGUF"),
            (b"\x89HDF\r\n\x1A\n\0\0", "HDF5"),
            (&safetensors, "safetensors"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a", "Git LFS"),
            (b"\x1F\x8B\x08\0", "gzip"),
            (&tar, "tar archive"),
            (b"\x30\0\0\0FT01\x1C\0\0\0", ".ptd"),
            (b"\x7FELF\x02\x01", "no model"),
            (b"\x7FELF\x02\x01 modelc net_info\0 and more", "holds a compiled model"),
            (b"<!DOCTYPE html><html>", "web page"),
        ];
        for (bytes, what) in files {
            let error = unknown_format(bytes, "net.bin");
            assert!(
                error.code == codes::UNKNOWN_FORMAT && error.found.as_deref().is_some_and(|found| found.contains(what)),
                "{what}: {error}"
            );
            let help = error.help.unwrap_or_default();
            assert!(!help.is_empty() && !help.contains("FILE"), "{what}: {help}");
        }
    }

    #[test]
    fn other_bytes_are_not_taken_for_anything() {
        for bytes in
            [&b""[..], b"T", b"\x1C\0\0\0TFL2 and more", b"\x08\x80\x01", b"\x0A\xFF\xFF\xFF\xFF\xFF", b"\x0A\x02\x0A\0", &[0; 300]]
        {
            let error = unknown_format(bytes, "net.bin");
            assert_eq!((error.code, error.help.is_none()), (codes::UNKNOWN_FORMAT, true), "{error}");
        }
    }

    #[test]
    fn folders_are_recognised_by_what_is_in_them() {
        let made = tempfile::tempdir().unwrap();
        assert_eq!(folder(made.path()), None);
        std::fs::write(made.path().join("saved_model.pb"), b"").unwrap();
        let (what, next) = folder(made.path()).unwrap();
        assert!(what.contains("SavedModel") && next.contains(&made.path().display().to_string()), "{next}");
    }
}
