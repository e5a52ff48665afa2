//! Techniques that are switched off: the kernels of an example change, and its results stay right.

use super::convolutions::{one_window, sparse_pixels};
use super::support::program::Memory;
use super::support::texts;
use super::{check_level, number};
use modelc::ir::{ElementType, Extent, FunctionBuilder, Module, Tensor, TensorType, Type, WindowGeometry, ZeroPoints};
use modelc::lower::{self, TECHNIQUES, Technique, Techniques};
use modelc::machine::{CpuMachine, machine};
use modelc::{passes, pipeline};

/// A convolution of an image, in groups of channels.
#[derive(Clone, Copy)]
struct Conv {
    element: ElementType,
    /// Rows, columns and channels.
    image: [u64; 3],
    /// Rows and columns of the window, which is moved by `stride` and keeps its place in the middle.
    window: [u64; 2],
    stride: i64,
    outputs: u64,
    groups: u64,
    zero_points: ZeroPoints,
}

/// A convolution of bytes with a window of one pixel.
const PIXELS: Conv = Conv {
    element: ElementType::I8,
    image: [4, 5, 32],
    window: [1, 1],
    stride: 1,
    outputs: 8,
    groups: 1,
    zero_points: ZeroPoints { left: -3, right: 0 },
};

/// A window of nine pixels.
const NINE: Conv = Conv { window: [3, 3], ..PIXELS };

/// A product of a row with a matrix.
const ROW: Conv = Conv { image: [1, 1, 512], outputs: 16, ..PIXELS };

/// A convolution of floats.
const FLOATS: Conv = Conv { element: ElementType::F32, zero_points: ZeroPoints::NONE, ..PIXELS };

fn elements(element: ElementType, count: u64, salt: u64) -> Vec<u8> {
    let numbers = (0..count).map(|i| number(i + (salt << 20)) as i8);
    match element {
        ElementType::F32 => numbers.flat_map(|n| (f32::from(n) / 64.0).to_le_bytes()).collect(),
        _ => numbers.map(|n| n as u8).collect(),
    }
}

impl Conv {
    /// Makes the module of this many convolutions, each of the result before it.
    fn chain(&self, count: u64) -> Module {
        let Self { element, image: [rows, columns, channels], window: [height, width], groups, .. } = *self;
        let accumulator = if element == ElementType::F32 { element } else { ElementType::I32 };
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let mut value = builder.param(Type::Tensor(TensorType::of(element, &[1, rows, columns, channels])), None);
        for layer in 0..count {
            let filter = [self.outputs, height, width, channels / groups];
            let weights = elements(element, filter.iter().product(), layer + 1);
            let filter = builder.literal(TensorType::of(element, &filter), weights).expect("a filter");
            let padding: Vec<i64> = [height, width].map(|taps| taps as i64 / 2).to_vec();
            let geometry = WindowGeometry {
                strides: vec![self.stride; 2],
                dilation: vec![1; 2],
                padding_low: padding.clone(),
                padding_high: padding,
                ..WindowGeometry::default()
            };
            value = builder.conv(value, filter, geometry, groups, self.zero_points, accumulator).expect("a convolution");
        }
        builder.finish_method("forward", vec![value]);
        module
    }

    fn module(&self) -> Module {
        self.chain(1)
    }
}

/// A module with some text. Tests of schedules have kernels below it.
fn text(text: &str) -> Module {
    let module = text.split(texts::SEPARATOR).next().unwrap_or_default();
    texts::module(module).unwrap_or_else(|error| panic!("{error}\n{module}"))
}

macro_rules! schedule {
    ($name:literal) => {
        text(include_str!(concat!("../schedules/", $name, ".mt")))
    };
}

/// The sum of two scaled bytes, scaled to a byte.
const SUM_OF_TWO: &str = "func @main(v0: i8[64], v1: i8[64]) {
  v2 = map v0, v1 {
    expression = (i8, i8) {
      n0: i8 = input 0
      n1: i8 = input 1
      n2: i32 = convert n0
      n3: i32 = convert n1
      n4: i32 = constant -128
      n5: i32 = sub n2, n4
      n6: i32 = constant 4
      n7: i32 = sub n3, n6
      n8: i32 = constant 20
      n9: i32 = shl n5, n8
      n10: i32 = shl n7, n8
      n11: i32 = constant 1623821475
      n12: i32 = constant -2
      n13: i32 = requant.tflite_double n9, n11, n12
      n14: i32 = constant 1073741824
      n15: i32 = constant 0
      n16: i32 = requant.tflite_double n10, n14, n15
      n17: i32 = add n13, n16
      n18: i32 = constant 1098017566
      n19: i32 = constant -17
      n20: i32 = requant.tflite_double n17, n18, n19
      n21: i32 = add n20, n4
      n22: i32 = max.first n21, n4
      n23: i32 = constant 127
      n24: i32 = min.first n22, n23
      n25: i8 = convert n24
      return n25
    }
  }
  return v2
}
method \"main\" = @main {
  input \"0\"
  input \"1\"
  output \"0\"
}
";

/// Sums of 40 bytes.
const BYTE_SUMS: &str = "func @main(v0: i8[40, 32]) {
  v1 = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      return n1
    }
  }
  v2 = reduce v1 { reduction = sum, axes = [0] }
  return v2
}
method \"main\" = @main {
  input \"0\"
  output \"0\"
}
";

/// A query of two heads that reads a large cache.
const LARGE_CACHE: &str = "func @main(v0: f32[1, 1, 2, 64], v1: f32[1, 512, 2, 64], v2: f32[1, 512, 2, 64]) {
  v3 = attention v0, v1, v2 { scale = f32 0.125, keys = [512], causal_from = [] }
  return v3
}
method \"main\" = @main {
  input \"0\"
  input \"1\"
  input \"2\"
  output \"0\"
}
";

/// Bytes that are looked up.
fn look_ups() -> Module {
    let entries: String = (0..256).map(|i| format!("{:02x}", number(i) as u8)).collect();
    text(&format!(
        "const0: u8[256] = hex \"{entries}\"
func @main(v0: u8[100]) {{
  v1 = map v0 {{
    expression = (u8) {{
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: u8 = lut const0, n1
      return n2
    }}
  }}
  return v1
}}
method \"main\" = @main {{
  input \"0\"
  output \"0\"
}}
"
    ))
}

/// Returns an example of a technique, and the levels of an object whose kernels use it.
fn example(technique: Technique) -> (Module, &'static str) {
    match technique {
        Technique::Lanes => (Conv { groups: 8, image: [5, 7, 8], ..NINE }.module(), "cortex-m55"),
        Technique::RowPairs => (schedule!("depthwise_of_bytes"), "x86-64-v4"),
        Technique::Planes => (schedule!("depthwise_in_words"), "cortex-m4f"),
        Technique::InPlace => {
            (Conv { window: [3, 3], image: [4, 192, 48], outputs: 48, groups: 48, stride: 2, ..FLOATS }.module(), "x86-64-v3")
        }
        Technique::Sparse => (sparse_pixels(ElementType::F32, [8, 8], [64, 64]).0, "x86-64-v3"),
        Technique::Squares => (schedule!("squares"), "aarch64+i8mm"),
        Technique::Sixteens => (PIXELS.module(), "cortex-m55"),
        Technique::PixelPairs => (PIXELS.module(), "cortex-m0plus"),
        Technique::Halves => (PIXELS.module(), "cortex-m4f"),
        Technique::Moved => {
            let zero_points = ZeroPoints { left: 77, right: 130 };
            (Conv { element: ElementType::U8, image: [5, 6, 8], outputs: 16, zero_points, ..NINE }.module(), "x86-64-v4")
        }
        Technique::In16Bits => (PIXELS.module(), "aarch64"),
        Technique::Neighbours => (schedule!("few_channels_of_floats"), "x86-64-v4"),
        Technique::Direct => (PIXELS.module(), "aarch64+dotprod"),
        Technique::Staging => (Conv { image: [24, 24, 8], ..FLOATS }.chain(8), "x86-64-v3"),
        Technique::Sections => (schedule!("long_row"), "x86-64-v3"),
        Technique::JoinedRows => (Conv { image: [4, 4, 64], outputs: 64, ..NINE }.module(), "x86-64-v4"),
        Technique::Windows => (Conv { image: [5, 6, 3], outputs: 32, ..NINE }.module(), "cortex-m55"),
        Technique::SharedTaps => (Conv { image: [5, 8, 4], outputs: 16, ..NINE }.module(), "x86-64-v4"),
        Technique::Chains => (ROW.module(), "x86-64-v4"),
        Technique::Pairs => (Conv { image: [3, 9, 36], outputs: 24, ..FLOATS }.module(), "x86-64-v4"),
        Technique::JoinedRests => (Conv { image: [3, 9, 4], outputs: 10, ..NINE }.module(), "x86-64-v4"),
        Technique::TallTiles => (Conv { image: [2, 13, 160], window: [1, 3], outputs: 64, ..PIXELS }.module(), "x86-64-v4"),
        Technique::Widening => (one_window().0, "x86-64-v3"),
        Technique::KeyByKey => (text(LARGE_CACHE), "x86-64-v3"),
        Technique::SideBySide => (schedule!("norm_of_short_rows"), "x86-64-v4"),
        Technique::ByteSums => (text(BYTE_SUMS), "x86-64-v3"),
        Technique::SumOfTwo => (text(SUM_OF_TWO), "x86-64-v3"),
        Technique::LookUps => (look_ups(), "x86-64-v3"),
        Technique::Streams => (schedule!("long_map"), "x86-64-v4"),
        Technique::Sorted => (schedule!("top_k"), "x86-64-v3"),
        Technique::Spread => (schedule!("spread_rows"), "x86-64-v4"),
        Technique::ChannelsOutermost | Technique::FloatProducts => (schedule!("gated_image"), "x86-64-v3"),
        Technique::KeyBlocks => (text(LARGE_CACHE), "x86-64-v3"),
        Technique::TurnedColumns => (schedule!("dynamic_products_by_panels"), "x86-64-v3"),
        Technique::Turns | Technique::TurnedBlocks => (schedule!("turned_bytes"), "x86-64-v3"),
        Technique::SeveralResults => (schedule!("running_sum"), "x86-64-v3"),
        Technique::NarrowWindows => (schedule!("pooled_bytes"), "x86-64-v3"),
        Technique::Extremes => (schedule!("clamped_bytes"), "x86-64-v3"),
        Technique::WordLookUps => (schedule!("looked_up_words"), "x86-64-v4"),
        Technique::LongVectors => (schedule!("long_function"), "x86-64-v4"),
        Technique::NarrowedTogether => (schedule!("few_channels_of_floats"), "x86-64-v4"),
        Technique::Quotients => (schedule!("quotients"), "cortex-m4f"),
        Technique::Fitted | Technique::Rounded => (schedule!("scaled_bytes"), "x86-64-v4"),
        Technique::TowardZero => (schedule!("sums_to_16_bits"), "x86-64-v3"),
        Technique::Steps => (schedule!("sums_to_16_bits"), "aarch64"),
        Technique::Unshifted => (schedule!("scaled_bytes"), "cortex-m4f"),
        Technique::EvenAndOdd => (schedule!("products_of_levels"), "x86-64-v3, x86-64-v4"),
        Technique::Kept => (schedule!("kept_rows"), "x86-64-v3"),
    }
}

/// Size of dynamic dimensions.
const DYNAMIC: u64 = 21;

/// Makes inputs of a module's first method.
fn inputs_of(module: &Module) -> Vec<Tensor> {
    let function = &module.functions[module.methods[0].function];
    let tensor = |(salt, &param): (u64, _)| {
        let ty = function.stored_type(param);
        let shape: Vec<u64> = ty.shape.iter().map(|extent: &Extent| extent.as_static().unwrap_or(DYNAMIC)).collect();
        let bytes = elements(ty.element, shape.iter().product(), 100 + salt);
        Tensor { element: ty.element, shape, bytes }
    };
    (0..).zip(&function.params).map(tensor).collect()
}

/// Returns the text of a module's kernels for some machines, and its outputs on the first one. The outputs of all are right.
fn compiled(
    module: &Module,
    inputs: &[Tensor],
    machines: &[&'static CpuMachine],
    techniques: Techniques,
) -> Result<(String, Vec<Vec<u8>>), String> {
    let options = lower::Options { techniques, ..lower::Options::new(machines[0]) };
    let lowered = pipeline::lower_levels(module, "module", options, &machines[1..]).map_err(|error| error.to_string())?;
    let mut kernels = String::new();
    for level in lowered.levels() {
        check_level(module, inputs, level.program)?;
        kernels.extend(level.program.kernels.iter().map(ToString::to_string));
    }
    Ok((kernels, Memory::new(&lowered.program).call(&lowered.program.methods[0], inputs)?))
}

/// Compares an example with and without its technique.
fn compare(technique: Technique) -> Result<(), String> {
    let (mut module, levels) = example(technique);
    passes::run_all(&mut module);
    let inputs = inputs_of(&module);
    let machines: Vec<_> = levels.split(", ").map(|level| machine(level).expect("a level")).collect();
    let (kernels, outputs) = compiled(&module, &inputs, &machines, Techniques::ALL)?;
    let without = compiled(&module, &inputs, &machines, Techniques::ALL.without(technique));
    let (others, other_outputs) = without.map_err(|error| format!("without it: {error}"))?;
    if kernels == others {
        return Err(format!("no difference on {levels}"));
    }
    let function = &module.functions[module.methods[0].function];
    let is_exact = function.results.iter().all(|&result| !function.stored_type(result).element.is_float());
    if is_exact && outputs != other_outputs { Err("other integers".into()) } else { Ok(()) }
}

#[test]
fn schedules_do_without_each_technique() {
    let failures = TECHNIQUES.iter().filter_map(|row| Some(format!("{}: {}", row.name, compare(row.technique).err()?)));
    let failures: Vec<String> = failures.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
