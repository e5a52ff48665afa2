//! TFLite's metadata other than labels: mean and standard deviation, description, author and licence.

use super::folder::{Folder, json, text};
use super::made::Made;
use flatbuffers::FlatBufferBuilder;
use modelc::schema::metadata::{
    ModelMetadata, ModelMetadataArgs, NormalizationOptions, NormalizationOptionsArgs, ProcessUnit, ProcessUnitArgs, ProcessUnitOptions,
    SubGraphMetadata, SubGraphMetadataArgs, TensorMetadata, TensorMetadataArgs, finish_model_metadata_buffer,
};
use modelc::schema::tflite::{BuiltinOperator, TensorType};
use std::fs;

/// Makes metadata that normalize each input by its mean and standard deviation.
fn metadata(numbers: &[(&[f32], &[f32])]) -> Vec<u8> {
    let mut b = FlatBufferBuilder::new();
    let mut tensors = Vec::new();
    for (mean, std) in numbers {
        let (mean, std) = (Some(b.create_vector(mean)), Some(b.create_vector(std)));
        let options = NormalizationOptions::create(&mut b, &NormalizationOptionsArgs { mean, std });
        let (options_type, options) = (ProcessUnitOptions::NormalizationOptions, Some(options.as_union_value()));
        let unit = ProcessUnit::create(&mut b, &ProcessUnitArgs { options_type, options });
        let process_units = Some(b.create_vector(&[unit]));
        tensors.push(TensorMetadata::create(&mut b, &TensorMetadataArgs { process_units, ..Default::default() }));
    }
    let input_tensor_metadata = Some(b.create_vector(&tensors));
    let subgraph = SubGraphMetadata::create(&mut b, &SubGraphMetadataArgs { input_tensor_metadata, ..Default::default() });
    let subgraph_metadata = Some(b.create_vector(&[subgraph]));
    let [description, license] = ["Knows */ \"cats\".", "MIT"].map(|text| Some(b.create_string(text)));
    let root = ModelMetadata::create(&mut b, &ModelMetadataArgs { subgraph_metadata, description, license, ..Default::default() });
    finish_model_metadata_buffer(&mut b, root);
    b.finished_data().to_vec()
}

/// Makes a sum with an input for each normalization.
fn model(numbers: &[(&[f32], &[f32])]) -> Vec<u8> {
    let mut made = Made::with_metadata("TFLITE_METADATA", metadata(numbers));
    let inputs: Vec<_> = numbers.iter().map(|_| made.tensor(TensorType::FLOAT32, &[1, 3])).collect();
    let y = made.tensor(TensorType::FLOAT32, &[1, 3]);
    made.built_in(BuiltinOperator::ADD_N, &inputs, &[y]);
    made.finish(&inputs, &[y])
}

#[test]
fn headers_and_inspect_tell_how_inputs_are_normalized() {
    let folder = Folder::new();
    folder.put("n.tflite", model(&[(&[127.5], &[0.25]), (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.5])]));
    folder.done(&["n.tflite", "-o", "net.o", "--emit", "json=net.json"]);
    let header = fs::read_to_string(folder.at("net.h")).expect("the header");
    for line in [
        "#define NET_FORWARD_IN0_MEAN (127.5f)",
        "#define NET_FORWARD_IN0_STD (0.25f)",
        "static const float NET_FORWARD_IN1_STD[3] = { 4.0f, 5.0f, 6.5f };",
        "#define NET_DESCRIPTION \"Knows */ \\\"cats\\\".\"",
        "#define NET_LICENSE \"MIT\"",
    ] {
        assert!(header.contains(line), "{line}\n{header}");
    }
    folder.put("use.c", "#include \"net.h\"\nfloat f(float x) { return (x - NET_FORWARD_IN0_MEAN) / NET_FORWARD_IN1_STD[2]; }\n");
    let compiled = folder.shell("cc -std=c99 -Wall -Wextra -Wpedantic -Werror -Wno-unused-const-variable -c use.c");
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let shown = text(&folder.done(&["inspect", "n.tflite"]).stdout);
    assert!(shown.contains("mean 127.5, std 0.25") && shown.contains("license") && shown.contains("MIT"), "{shown}");
    let inspected = json(&folder.done(&["inspect", "n.tflite", "--json"]));
    assert_eq!(inspected["methods"][0]["inputs"][1]["mean"][2], 3.0);
    assert_eq!(inspected["about"]["license"], "MIT");
}

/// Invalid numbers are left out; the graph does not depend on them.
#[test]
fn useless_numbers_are_left_out() {
    let folder = Folder::new();
    folder.put("n.tflite", model(&[(&[0.0], &[0.0]), (&[1.0, 2.0], &[1.0]), (&[f32::NAN], &[1.0]), (&[], &[])]));
    folder.done(&["n.tflite", "-o", "net.o"]);
    let header = fs::read_to_string(folder.at("net.h")).expect("the header");
    assert!(!header.contains("_MEAN") && !header.contains("_STD"), "{header}");
}
