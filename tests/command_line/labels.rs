//! Lists of labels in TFLite files: `inspect` shows them, and the header has them.

use super::folder::{Folder, json, text};
use super::made::Made;
use flatbuffers::FlatBufferBuilder;
use modelc::schema::metadata::{
    AssociatedFile, AssociatedFileArgs, AssociatedFileType, ModelMetadata, ModelMetadataArgs, SubGraphMetadata, SubGraphMetadataArgs,
    TensorMetadata, TensorMetadataArgs, finish_model_metadata_buffer,
};
use modelc::schema::tflite::{BuiltinOperator, TensorType};
use std::fs;
use std::io::Write;
use std::process::Command;

/// Metadata that name a file of labels for the only output.
fn metadata(file: &str) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let name = Some(b.create_string(file));
    let list =
        AssociatedFile::create(&mut b, &AssociatedFileArgs { name, type_: AssociatedFileType::TENSOR_AXIS_LABELS, ..Default::default() });
    let associated_files = Some(b.create_vector(&[list]));
    let output = TensorMetadata::create(&mut b, &TensorMetadataArgs { associated_files, ..Default::default() });
    let output_tensor_metadata = Some(b.create_vector(&[output]));
    let subgraph = SubGraphMetadata::create(&mut b, &SubGraphMetadataArgs { output_tensor_metadata, ..Default::default() });
    let subgraph_metadata = Some(b.create_vector(&[subgraph]));
    let root = ModelMetadata::create(&mut b, &ModelMetadataArgs { subgraph_metadata, ..Default::default() });
    finish_model_metadata_buffer(&mut b, root);
    b.finished_data().to_vec()
}

/// A model whose output has these labels.
fn labelled(labels: &str) -> Vec<u8> {
    let mut made = Made::with_metadata("TFLITE_METADATA", metadata("labels.txt"));
    let [x, y] = [0; 2].map(|_| made.tensor(TensorType::FLOAT32, &[1, 3]));
    made.built_in(BuiltinOperator::TANH, &[x], &[y]);
    let mut file = made.finish(&[x], &[y]);
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("labels.txt", zip::write::SimpleFileOptions::DEFAULT).expect("an entry");
    archive.write_all(labels.as_bytes()).expect("it is written");
    file.extend(archive.finish().expect("an archive").into_inner());
    file
}

#[test]
fn labels_are_shown_and_in_the_header() {
    let folder = Folder::new();
    folder.put("l.tflite", labelled("cat\r\n\"dog\"\ncow */ \u{e9}\n"));
    let shown = text(&folder.done(&["inspect", "l.tflite"]).stdout);
    assert!(shown.contains("out0  labels.txt  3  cat, \"dog\", cow */ \u{e9}"), "{shown}");
    assert_eq!(json(&folder.done(&["inspect", "l.tflite", "--json"]))["labels"][0]["labels"][0], "cat");
    let ranked = text(&folder.done(&["run", "l.tflite", "--top-k", "3"]).stdout);
    assert!(["cat", "\"dog\"", "cow */ \u{e9}"].iter().all(|label| ranked.lines().any(|line| line.ends_with(label))), "{ranked}");
    folder.done(&["l.tflite", "-o", "net.o"]);
    let header = fs::read_to_string(folder.at("net.h")).expect("a header");
    assert!(
        header.contains("#define NET_LABELS_COUNT 3\n") && header.contains("NET_LABELS[NET_LABELS_COUNT] = {\n  \"cat\",\n"),
        "{header}"
    );
    let program = "#include \"net.h\"\n#include <string.h>\nint main(void) { return strcmp(NET_LABELS[1], \"\\\"dog\\\"\") || sizeof NET_LABELS / sizeof *NET_LABELS != 3; }\n";
    folder.put("main.c", program);
    let Ok(status) = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "main.c"])
        .current_dir(folder.at("."))
        .status()
    else {
        return;
    };
    assert!(status.success());
    // Another model has none.
    folder.done(&["m.tflite", "-o", "plain.o"]);
    assert!(!fs::read_to_string(folder.at("plain.h")).expect("a header").contains("_LABELS"));
}

/// Labels that cannot be read are ignored without an error, because the graph does not depend on them.
#[test]
fn damaged_labels_are_none() {
    let folder = Folder::new();
    let whole = labelled("cat\ndog\ncow\n");
    let archive = whole.windows(4).rposition(|window| window == b"PK\x05\x06").expect("an archive");
    for cut in [archive, archive + 8, whole.len() - 1] {
        folder.put("l.tflite", &whole[..cut]);
        folder.done(&["l.tflite", "-o", "net.o"]);
        assert!(!fs::read_to_string(folder.at("net.h")).expect("a header").contains("_LABELS"), "{cut}");
    }
}
