//! The generated readers. Real files verify and can be read field by field. Models made here are read whole and damaged.
//!
//! Files are from `MODELC_CORPUS`, from `../shared/models`, or from `examples/`.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};

use flatbuffers::{FlatBufferBuilder, InvalidFlatbuffer};
use modelc::schema::{self, bundled_program, program, tflite};

/// A writer that only counts bytes.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// Reads every field of `root` through its `Debug` form.
fn walk(root: &dyn fmt::Debug) -> usize {
    let mut length = Length(0);
    write!(length, "{root:?}").expect("a length takes any text");
    length.0
}

/// Returns the folder with models.
fn corpus() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = project.join("../shared/models");
    match std::env::var_os("MODELC_CORPUS") {
        Some(folder) => PathBuf::from(folder),
        None if beside.is_dir() => beside,
        None => project.join("examples"),
    }
}

/// Returns all files below `folder` with an extension, in order.
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
    // The header, if any, has the end of the FlatBuffer at byte 16.
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

/// Offsets of vtable slots, known from the format's own tools.
#[test]
fn fields_stand_in_the_slots_of_the_format() {
    use tflite::{Buffer, Model, Operator, Tensor};
    assert_eq!((Operator::VT_OPCODE_INDEX, Operator::VT_BUILTIN_OPTIONS_TYPE, Operator::VT_BUILTIN_OPTIONS), (4, 10, 12));
    assert_eq!((Operator::VT_INTERMEDIATES, Operator::VT_BUILTIN_OPTIONS_2_TYPE, Operator::VT_BUILTIN_OPTIONS_2), (20, 26, 28));
    assert_eq!((Tensor::VT_QUANTIZATION, Tensor::VT_SHAPE_SIGNATURE, Tensor::VT_VARIANT_TENSORS), (12, 18, 22));
    assert_eq!((Buffer::VT_DATA, Buffer::VT_OFFSET, Buffer::VT_SIZE, Model::VT_SIGNATURE_DEFS), (4, 6, 8, 18));
    assert_eq!((tflite::Conv2DOptions::VT_DILATION_W_FACTOR, tflite::LSTMOptions::VT_KERNEL_TYPE), (12, 10));
    assert_eq!((program::Program::VT_NAMED_DATA, program::Tensor::VT_EXTRA_TENSOR_INFO), (18, 22));
    assert_eq!((program::ExecutionPlan::VT_NON_CONST_BUFFER_SIZES, bundled_program::Tensor::VT_DIM_ORDER), (20, 10));

    let tags = |tag: tflite::BuiltinOptions| tag.0;
    assert_eq!(tags(tflite::BuiltinOptions::StridedSliceOptions), 32);
    assert_eq!(tags(tflite::BuiltinOptions::RightShiftOptions), 126);
    assert_eq!(tflite::BuiltinOptions2::StableHLOCompositeOptions.0, 21);
    assert_eq!(program::KernelTypes::OptionalTensorList.0, 11);
    assert_eq!(tflite::BuiltinOperator::KNOWN.len(), 210);
    assert_eq!(tflite::BuiltinOperator(206).variant_name(), Some("STABLEHLO_COMPOSITE"));
}

/// Moves all bytes of a file by `by` bytes, so that its numbers are unaligned. All offsets except the first are relative.
fn moved(file: &[u8], by: usize) -> Vec<u8> {
    let root = u32::from_le_bytes(file[..4].try_into().expect("four bytes")) + by as u32;
    [&root.to_le_bytes()[..], &file[4..8], &vec![0; by], &file[8..]].concat()
}

#[test]
fn numbers_are_read_wherever_they_lie() {
    let file = unusual_model();
    let read = |file: &[u8]| {
        let options = schema::verifier_options(file.len());
        format!("{:?}", tflite::root_as_model_with_opts(&options, file).expect("the model verifies"))
    };
    for by in 1..8 {
        assert_eq!(read(&moved(&file, by)), read(&file), "{by} bytes further");
    }
}

/// Makes a model with rare features: new operators, options of the second set, blocks, sparsity.
fn unusual_model() -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let details = tflite::BlockwiseQuantizationArgs { scales: 3, zero_points: -1, block_size: 32 };
    let details = tflite::BlockwiseQuantization::create(&mut builder, &details);
    let quantization = tflite::QuantizationParametersArgs {
        details_type: tflite::QuantizationDetails::BlockwiseQuantization,
        details: Some(details.as_union_value()),
        ..Default::default()
    };
    let quantization = tflite::QuantizationParameters::create(&mut builder, &quantization);
    let values = Some(builder.create_vector(&[0u16, 4, 300]));
    let segments = tflite::Uint16Vector::create(&mut builder, &tflite::Uint16VectorArgs { values });
    let metadata = tflite::DimensionMetadataArgs {
        format: tflite::DimensionType::SPARSE_CSR,
        array_segments_type: tflite::SparseIndexVector::Uint16Vector,
        array_segments: Some(segments.as_union_value()),
        ..Default::default()
    };
    let metadata = tflite::DimensionMetadata::create(&mut builder, &metadata);
    let dim_metadata = Some(builder.create_vector(&[metadata]));
    let sparsity = tflite::SparsityParametersArgs { dim_metadata, ..Default::default() };
    let sparsity = tflite::SparsityParameters::create(&mut builder, &sparsity);
    let shape = builder.create_vector(&[2, 64]);
    let tensor = tflite::TensorArgs {
        shape: Some(shape),
        type_: tflite::TensorType::INT4,
        quantization: Some(quantization),
        sparsity: Some(sparsity),
        ..Default::default()
    };
    let tensor = tflite::Tensor::create(&mut builder, &tensor);
    let strange = tflite::TensorArgs { type_: tflite::TensorType(77), ..Default::default() };
    let strange = tflite::Tensor::create(&mut builder, &strange);
    let tensors = Some(builder.create_vector(&[tensor, strange]));
    let name = Some(builder.create_string("odml.rms_norm"));
    let composite = tflite::StableHLOCompositeOptionsArgs { name, decomposition_subgraph_index: 1, ..Default::default() };
    let composite = tflite::StableHLOCompositeOptions::create(&mut builder, &composite);
    let operator = tflite::OperatorArgs {
        builtin_options_2_type: tflite::BuiltinOptions2::StableHLOCompositeOptions,
        builtin_options_2: Some(composite.as_union_value()),
        ..Default::default()
    };
    let operator = tflite::Operator::create(&mut builder, &operator);
    let operators = Some(builder.create_vector(&[operator]));
    let graph = tflite::SubGraphArgs { tensors, operators, ..Default::default() };
    let graph = tflite::SubGraph::create(&mut builder, &graph);
    let subgraphs = Some(builder.create_vector(&[graph]));
    let code = tflite::OperatorCodeArgs { deprecated_builtin_code: 127, builtin_code: tflite::BuiltinOperator(5000), ..Default::default() };
    let code = tflite::OperatorCode::create(&mut builder, &code);
    let operator_codes = Some(builder.create_vector(&[code]));
    let model = tflite::ModelArgs { version: 3, operator_codes, subgraphs, ..Default::default() };
    let model = tflite::Model::create(&mut builder, &model);
    tflite::finish_model_buffer(&mut builder, model);
    builder.finished_data().to_vec()
}

fn read(file: &[u8]) -> Result<tflite::Model<'_>, InvalidFlatbuffer> {
    tflite::root_as_model_with_opts(&schema::verifier_options(file.len()), file)
}

#[test]
fn an_unusual_model_is_read_back_and_unknown_numbers_survive() {
    let file = unusual_model();
    assert!(tflite::model_buffer_has_identifier(&file));
    let model = read(&file).expect("it verifies");
    let graph = model.subgraphs().expect("subgraphs").get(0);
    let tensor = graph.tensors().expect("tensors").get(0);
    let blocks = tensor.quantization().and_then(|quantization| quantization.details_as_blockwise_quantization());
    let blocks = blocks.expect("details");
    assert_eq!((blocks.scales(), blocks.zero_points(), blocks.block_size()), (3, -1, 32));
    let dimension = tensor.sparsity().and_then(|sparsity| sparsity.dim_metadata()).expect("sparsity").get(0);
    let segments = dimension.array_segments_as_uint16_vector().and_then(|vector| vector.values());
    assert_eq!(segments.map(|values| values.iter().collect()), Some(vec![0, 4, 300]));
    assert!(dimension.array_segments_as_uint8_vector().is_none() && dimension.array_indices().is_none());
    assert_eq!(graph.tensors().expect("tensors").get(1).type_(), tflite::TensorType(77));
    let operator = graph.operators().expect("operators").get(0);
    let composite = operator.builtin_options_2_as_stable_hlo_composite_options().expect("options");
    assert_eq!((composite.name(), composite.decomposition_subgraph_index()), (Some("odml.rms_norm"), 1));
    assert_eq!(operator.builtin_options_type(), tflite::BuiltinOptions::NONE);
    let code = model.operator_codes().expect("codes").get(0);
    assert_eq!(code.builtin_code(), tflite::BuiltinOperator(5000));
    assert_eq!((code.builtin_code().variant_name(), code.version()), (None, 1));
}

#[test]
fn absent_options_have_the_defaults_of_the_format() {
    let mut builder = FlatBufferBuilder::new();
    let empty = builder.start_table();
    let empty = builder.end_table(empty);
    builder.finish_minimal(empty);
    // A table without fields is valid for every type.
    let file = builder.finished_data();
    let convolution = flatbuffers::root::<tflite::Conv2DOptions>(file).expect("a table");
    assert_eq!((convolution.dilation_w_factor(), convolution.stride_w(), convolution.padding()), (1, 0, tflite::Padding::SAME));
    assert!(flatbuffers::root::<tflite::AddOptions>(file).expect("a table").pot_scale_int16());
    let lstm = flatbuffers::root::<tflite::BidirectionalSequenceLSTMOptions>(file).expect("a table");
    assert!(lstm.time_major() && !lstm.merge_outputs());
    let unique = flatbuffers::root::<tflite::UniqueOptions>(file).expect("a table");
    assert_eq!(unique.idx_out_type(), tflite::TensorType::INT32);
    assert_eq!(flatbuffers::root::<tflite::Operator>(file).expect("a table").debug_metadata_index(), -1);
}

/// Every prefix and every flipped bit of one model, and some of a real one, is rejected or read without a panic.
#[test]
fn damaged_models_never_panic() {
    let file = unusual_model();
    let mut accepted = 0;
    for length in 0..file.len() {
        accepted += read(&file[..length]).map_or(0, |model| walk(&model).min(1));
    }
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        accepted += read(&damaged).map_or(0, |model| walk(&model).min(1));
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let digits = fs::read(project.join("examples/digits/digits_int8.tflite")).expect("the example is there");
    let mut state = 1u64;
    for _ in 0..2000 {
        // Knuth's linear congruential generator gives the same positions in every run.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let place = (state >> 33) as usize % digits.len();
        let mut damaged = digits.clone();
        damaged[place] ^= 1 << ((state >> 30) % 8);
        accepted += read(&damaged).map_or(0, |model| walk(&model).min(1));
    }
    // Changed numbers are valid, too.
    assert!(accepted > 100, "{accepted}");
}

/// 200,000 references to one string of a megabyte, which would take minutes to follow.
#[test]
fn a_file_that_repeats_itself_is_refused_at_once() {
    let mut builder = FlatBufferBuilder::new();
    let name = Some(builder.create_string(&"x".repeat(1 << 20)));
    let entry = tflite::Metadata::create(&mut builder, &tflite::MetadataArgs { name, buffer: 0 });
    let metadata = Some(builder.create_vector(&vec![entry; 200_000]));
    let model = tflite::Model::create(&mut builder, &tflite::ModelArgs { metadata, ..Default::default() });
    tflite::finish_model_buffer(&mut builder, model);
    assert_eq!(read(builder.finished_data()).err(), Some(InvalidFlatbuffer::ApparentSizeTooLarge));
}
