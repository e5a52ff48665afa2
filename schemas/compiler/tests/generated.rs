//! The generated text: as blessed in `files/`, and run.
//!
//! `BLESS=1 cargo test -p modelc-schema` writes it anew.

use std::fs;
use std::path::Path;

use flatbuffers::{FlatBufferBuilder, InvalidFlatbuffer, VerifierOptions};

#[allow(
    missing_docs,
    dead_code,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated: see compiler/schema.rs"
)]
mod generated {
    pub mod colors {
        include!("files/colors.rs");
    }
    pub mod sample {
        include!("files/sample.rs");
    }
}

use generated::colors::Color;
use generated::sample::{self, Sample, SampleArgs, Sign, Value, Vector, VectorArgs};

#[test]
fn generated_text_is_as_blessed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    for name in ["colors", "sample"] {
        let schema = folder.join(name).with_extension("fbs");
        let generated = modelc_schema::compile_file(&schema).unwrap().rust;
        let blessed = schema.with_extension("rs");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&blessed, &generated).unwrap();
        }
        assert_eq!(generated, fs::read_to_string(&blessed).unwrap(), "{name}: run with BLESS=1 and look at the difference");
    }
}

#[test]
fn files_read_are_reported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let output = modelc_schema::compile_file(&folder.join("sample.fbs")).unwrap();
    assert_eq!(output.files, [folder.join("sample.fbs"), folder.join("colors.fbs")]);
}

fn read(buffer: &[u8]) -> Result<Sample<'_>, InvalidFlatbuffer> {
    sample::root_as_sample_with_opts(&VerifierOptions::default(), buffer)
}

/// A sample with nothing at its default.
fn full_sample() -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    // Written first, and so at the end of the file, with no padding after it.
    let items = builder.create_vector(&[7, -7]);
    let name = builder.create_string("näme");
    let bytes = builder.create_vector(&[1u8, 2, 3]);
    let signs = builder.create_vector(&[Sign::MINUS, Sign(9)]);
    let texts = ["a", "", "ccc"].map(|text| builder.create_string(text));
    let names = builder.create_vector(&texts);
    let other = Vector::create(&mut builder, &VectorArgs { items: Some(items) });
    let halves = builder.create_vector(&[-2i16]);
    let child = Sample::create(&mut builder, &SampleArgs { small: 3, ..SampleArgs::default() });
    let children = builder.create_vector(&[child, child]);
    let root = Sample::create(
        &mut builder,
        &SampleArgs {
            flag: false,
            small: 127,
            bytes: Some(bytes),
            wide: 1,
            ratio: -0.5,
            limit: 2.0,
            type_: Sign::MINUS,
            color: Color::GREEN,
            value_type: Value::Other,
            value: Some(other.as_union_value()),
            name: Some(name),
            signs: Some(signs),
            names: Some(names),
            children: Some(children),
            only: Some(other),
            halves: Some(halves),
        },
    );
    sample::finish_sample_buffer(&mut builder, root);
    builder.finished_data().to_vec()
}

#[test]
fn what_is_written_is_read_back() {
    let buffer = full_sample();
    assert!(sample::sample_buffer_has_identifier(&buffer));
    let sample = read(&buffer).unwrap();
    assert!(!sample.flag());
    assert_eq!((sample.small(), sample.wide(), sample.ratio(), sample.limit()), (127, 1, -0.5, 2.0));
    assert_eq!((sample.type_(), sample.color()), (Sign::MINUS, Color::GREEN));
    assert_eq!(sample.bytes().unwrap().bytes(), [1, 2, 3]);
    assert_eq!(sample.name(), Some("näme"));
    assert_eq!(sample.signs().unwrap().iter().collect::<Vec<_>>(), [Sign::MINUS, Sign(9)]);
    assert_eq!(sample.names().unwrap().iter().collect::<Vec<_>>(), ["a", "", "ccc"]);
    assert_eq!(sample.halves().unwrap().get(0), -2);
    assert_eq!(sample.only().unwrap().items().unwrap().get(1), -7);
    let small: Vec<_> = sample.children().unwrap().iter().map(|child| child.small()).collect();
    assert_eq!(small, [3, 3]);
    assert_eq!(sample.value_type(), Value::Other);
    assert_eq!(sample.value_as_other().unwrap().items().unwrap().get(0), 7);
    // The same table under another member's tag is not that member.
    assert!(sample.value_as_vector().is_none() && sample.value_as_empty().is_none());
}

#[test]
fn absent_fields_have_the_defaults_of_the_schema() {
    let mut builder = FlatBufferBuilder::new();
    let root = Sample::create(&mut builder, &SampleArgs::default());
    sample::finish_sample_buffer(&mut builder, root);
    let buffer = builder.finished_data();
    // Offset, identifier, an empty vtable padded to a multiple of four, the table's one word.
    assert_eq!(buffer.len(), 16);
    let sample = read(buffer).unwrap();
    assert!(sample.flag());
    assert_eq!((sample.small(), sample.wide(), sample.ratio()), (-5, u64::MAX, 1.5e-3));
    assert_eq!((sample.limit(), sample.type_(), sample.color()), (f32::INFINITY, Sign::PLUS, Color::CLEAR));
    assert_eq!(sample.value_type(), Value::NONE);
    assert!(sample.value().is_none() && sample.name().is_none() && sample.children().is_none());
}

/// A file written by hand: root offset, identifier, vtable, table. Fields stand at two bytes a slot
/// after the two sizes; a deprecated field has a slot, and a union has two.
#[test]
fn fields_stand_in_the_slots_of_the_format() {
    let slots = [Sample::VT_FLAG, Sample::VT_SMALL, Sample::VT_BYTES, Sample::VT_COLOR];
    assert_eq!(slots, [4, 6, 10, 20]);
    assert_eq!((Sample::VT_VALUE_TYPE, Sample::VT_VALUE, Sample::VT_NAME), (22, 24, 26));

    let mut file = vec![20, 0, 0, 0];
    file.extend(b"SMPL");
    file.extend([12, 0, 16, 0]); // vtable at 8: its own size, the table's size
    file.extend([5, 0, 4, 0, 0, 0, 8, 0]); // flag, small, old, bytes
    file.extend([12, 0, 0, 0]); // table at 20: how far back the vtable is
    file.extend([0x85, 0, 0, 0]); // small, flag
    file.extend([8, 0, 0, 0]); // bytes: the vector is 8 further
    file.extend([0, 0, 0, 0]);
    file.extend([2, 0, 0, 0, 70, 71]);
    let sample = read(&file).unwrap();
    assert!(!sample.flag());
    assert_eq!(sample.small(), 0x85u8 as i8);
    assert_eq!(sample.bytes().unwrap().bytes(), [70, 71]);
    assert_eq!(sample.type_(), Sign::PLUS);
}

#[test]
fn unknown_values_survive() {
    assert_eq!(Sign::KNOWN.iter().map(|(_, name)| *name).collect::<Vec<_>>(), ["MINUS", "ZERO", "PLUS"]);
    assert_eq!((Sign::PLUS.variant_name(), Sign(7).variant_name()), (Some("PLUS"), None));
    assert_eq!(format!("{:?} {:?} {:?}", Sign::MINUS, Sign(7), Color(3)), "MINUS Sign(7) Color(3)");

    // A tag that the schema does not know, on a value that is no table at all.
    let mut builder = FlatBufferBuilder::new();
    let text = builder.create_string("?");
    let value = Some(flatbuffers::WIPOffset::new(text.value()));
    let arguments = SampleArgs { type_: Sign(7), value_type: Value(200), value, ..SampleArgs::default() };
    let root = Sample::create(&mut builder, &arguments);
    sample::finish_sample_buffer(&mut builder, root);
    let sample = read(builder.finished_data()).unwrap();
    assert_eq!((sample.type_(), sample.value_type()), (Sign(7), Value(200)));
    assert_eq!(sample.value_type().variant_name(), None);
    assert!(sample.value_as_string().is_none() && sample.value_as_other().is_none());
    assert!(format!("{sample:?}").contains("value_type: Value(200)"));
}

#[test]
fn a_union_is_verified_as_the_table_its_tag_names() {
    let with_tag = |tag| {
        let mut builder = FlatBufferBuilder::new();
        // As the text of a `String` these items are one byte, which is not UTF-8.
        let items = builder.create_vector(&[-1]);
        let vector = Vector::create(&mut builder, &VectorArgs { items: Some(items) });
        let value = Some(vector.as_union_value());
        let arguments = SampleArgs { value_type: tag, value, ..SampleArgs::default() };
        let root = Sample::create(&mut builder, &arguments);
        sample::finish_sample_buffer(&mut builder, root);
        read(builder.finished_data()).map(|sample| sample.value_as_vector().is_some())
    };
    assert_eq!(with_tag(Value::Vector), Ok(true));
    assert_eq!(with_tag(Value(99)), Ok(false));
    assert!(matches!(with_tag(Value::String), Err(InvalidFlatbuffer::Utf8Error { .. })));
    // A value without a tag.
    assert!(matches!(with_tag(Value::NONE), Err(InvalidFlatbuffer::InconsistentUnion { .. })));
}

/// Every prefix and every flipped bit is refused, or read without a panic.
#[test]
fn damaged_files_never_panic() {
    let buffer = full_sample();
    let mut accepted = 0;
    for length in 0..buffer.len() {
        if let Ok(sample) = read(&buffer[..length]) {
            accepted += format!("{sample:?}").len();
        }
    }
    assert_eq!(accepted, 0, "the last bytes are part of a vector");
    for bit in 0..buffer.len() * 8 {
        let mut damaged = buffer.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(sample) = read(&damaged) {
            accepted += usize::from(!format!("{sample:?}").is_empty());
        }
    }
    // Flips of numbers and of bytes are as good as the originals; most offsets are not.
    assert!(accepted > 100 && accepted < buffer.len() * 8, "{accepted}");
    assert!(!sample::sample_buffer_has_identifier(&buffer[..7]));
}
