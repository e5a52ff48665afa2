//! Innermost loops of schedules on machines with long vectors: sums stay in registers between iterations.

use modelc::codegen::listing::{Listing, listing};
use modelc::ir::operators::BlockMatmul;
use modelc::ir::{ElementType, ExpressionBuilder, FunctionBuilder, Module, NanRule, RequantizeRule, Scalar, ScalarOp, ZeroPoints};
use modelc::ir::{TensorType, Type, Value, WindowGeometry};
use modelc::lower::{self};
use modelc::machine::{Isa, machine};
use modelc::pipeline;
use modelc::target::target;

/// Work of a loop.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A convolution with a square window, in groups of this many channels.
    Conv { window: u64, channels: u64, outputs: u64, groups: u64 },
    /// Such a convolution whose sums are requantized to bytes around a zero point.
    Quantized { window: u64, channels: u64, outputs: u64, groups: u64, zero_point: i32 },
    /// A product of matrices.
    Matmul { rows: u64, inner: u64, outputs: u64 },
    /// A product of a row with weights of four bits, in blocks of this size.
    Blocks { inner: u64, outputs: u64, size: u64 },
    /// A product of tensors, element by element.
    Map,
    /// A function of each element.
    Function(ScalarOp),
}

fn bytes(ty: &TensorType) -> Vec<u8> {
    let elements = ty.static_elements().expect("static extents");
    match ty.element {
        ElementType::F32 => (0..elements).flat_map(|i| ((i % 23) as f32 / 8.0).to_le_bytes()).collect(),
        _ => (0..elements).map(|i| (i * 31 % 251) as u8).collect(),
    }
}

/// Makes a square window with an odd number of taps a side, which keeps the size of images.
pub fn same_size(window: u64) -> WindowGeometry {
    let padding = vec![window as i64 / 2; 2];
    WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: padding.clone(),
        padding_high: padding,
        ..WindowGeometry::default()
    }
}

/// Scales sums by a factor for each channel, from 2⁻⁹ to 2⁻⁸, with TFLite's double rounding.
fn requantized(builder: &mut FunctionBuilder<'_>, sums: Value, outputs: u64, zero_point: i32) -> Value {
    let mut row = |number: &dyn Fn(u64) -> i32| {
        let bytes = (0..outputs).flat_map(|i| number(i).to_le_bytes()).collect();
        builder.literal(TensorType::of(ElementType::I32, &[outputs]), bytes).expect("a constant")
    };
    let [multipliers, shifts] = [row(&|i| (1 << 30) + i as i32 * 7_654_321), row(&|i| -7 - i as i32 % 2)];
    let mut e = ExpressionBuilder::new(&[ElementType::I32; 3]);
    let inputs: Vec<_> = (0..3).map(|i| e.input(i)).collect();
    let scaled = e.op(ScalarOp::Requantize(RequantizeRule::TfliteDouble), &inputs).expect("numbers of 32 bits");
    let number = e.constant(Scalar::i32(zero_point));
    let mut result = e.op(ScalarOp::Add, &[scaled, number]).expect("numbers of 32 bits");
    for (op, limit) in [(ScalarOp::Max(NanRule::First), -128), (ScalarOp::Min(NanRule::First), 127)] {
        let limit = e.constant(Scalar::i32(limit));
        result = e.op(op, &[result, limit]).expect("numbers of 32 bits");
    }
    let narrow = e.convert(result, ElementType::I8);
    builder.map(&[sums, multipliers, shifts], e.finish(vec![narrow])).expect("shapes that broadcast")
}

/// Makes a module with some work on floats or bytes.
fn module(work: Work, element: ElementType) -> Module {
    let accumulator = if element == ElementType::F32 { ElementType::F32 } else { ElementType::I32 };
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let constant = |builder: &mut FunctionBuilder<'_>, shape: &[u64]| -> Value {
        let ty = TensorType::of(element, shape);
        let bytes = bytes(&ty);
        builder.literal(ty, bytes).expect("a constant")
    };
    let parameter = |builder: &mut FunctionBuilder<'_>, shape: &[u64]| builder.param(Type::Tensor(TensorType::of(element, shape)), None);
    let result = match work {
        Work::Conv { window, channels, outputs, groups } => {
            let image = parameter(&mut builder, &[1, 24, 24, channels]);
            let filter = constant(&mut builder, &[outputs, window, window, channels / groups]);
            builder.conv(image, filter, same_size(window), groups, ZeroPoints::NONE, accumulator).expect("a convolution")
        }
        Work::Quantized { window, channels, outputs, groups, zero_point } => {
            let image = parameter(&mut builder, &[1, 24, 24, channels]);
            let filter = constant(&mut builder, &[outputs, window, window, channels / groups]);
            let sums = builder.conv(image, filter, same_size(window), groups, ZeroPoints::NONE, accumulator).expect("a convolution");
            requantized(&mut builder, sums, outputs, zero_point)
        }
        Work::Matmul { rows, inner, outputs } => {
            let left = parameter(&mut builder, &[rows, inner]);
            let right = constant(&mut builder, &[outputs, inner]);
            builder.matmul(left, right, ZeroPoints::NONE, accumulator).expect("a product")
        }
        Work::Blocks { inner, outputs, size } => {
            let left = parameter(&mut builder, &[1, inner]);
            let weights = (0..outputs * inner / 2).map(|i| (i * 31 % 251) as u8).collect();
            let weights = builder.literal(TensorType::of(ElementType::I4, &[outputs, inner]), weights).expect("a constant");
            let scales = TensorType::of(ElementType::F32, &[outputs, inner / size]);
            let scales = builder.literal(scales.clone(), bytes(&scales)).expect("a constant");
            builder.block_matmul([left, weights, scales], BlockMatmul { excess: false }).expect("a product")
        }
        Work::Map => {
            let operands = [0, 1].map(|_| parameter(&mut builder, &[4096]));
            let mut expression = ExpressionBuilder::new(&[element; 2]);
            let (a, b) = (expression.input(0), expression.input(1));
            let product = expression.op(ScalarOp::Mul, &[a, b]).expect("a product");
            builder.map(&operands, expression.finish(vec![product])).expect("equal shapes")
        }
        Work::Function(function) => {
            let operand = parameter(&mut builder, &[4096]);
            let mut expression = ExpressionBuilder::new(&[element]);
            let x = expression.input(0);
            let result = expression.op(function, &[x]).expect("a function of floats");
            builder.map(&[operand], expression.finish(vec![result])).expect("one shape")
        }
    };
    builder.finish_method("forward", vec![result]);
    module
}

/// Returns the instructions of some work at a level of x86-64 or aarch64.
fn instructions(work: Work, element: ElementType, level: &str) -> String {
    let machine = machine(level).expect("a level");
    let options = lower::Options::new(machine);
    let lowered = pipeline::lower(&module(work, element), "module", options);
    let lowered = lowered.unwrap_or_else(|error| panic!("{work:?} of {element} on {level}: {error}"));
    let name = if machine.isa == Isa::Aarch64 { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
    let target = target(name).expect("a target");
    listing(&lowered.levels()[0], target, Listing::Machine).expect("instructions")
}

/// Returns the innermost loop with the most uses of an instruction: a block that jumps to its own start.
fn hot_loop(text: &str, instruction: &str) -> Vec<String> {
    let loops = text.split("block_").filter_map(|block| {
        let (label, body) = block.split_once(":\n")?;
        let lines: Vec<String> = body.lines().map(|line| line.trim().to_owned()).collect();
        let jumps_back = |line: &String| {
            let target = line.split(' ').nth(1).map(|target| target.trim_start_matches('0').trim_end_matches('h').to_lowercase());
            line.starts_with('j') && target.as_deref() == Some(label)
        };
        let end = lines.iter().position(jumps_back)?;
        Some(lines[..=end].to_vec())
    });
    let count = |lines: &[String]| lines.iter().filter(|line| line.starts_with(instruction)).count();
    loops.max_by_key(|lines| count(lines)).filter(|lines| count(lines) > 0).unwrap_or_default()
}

#[test]
fn innermost_loops_of_schedules_stay_in_registers() {
    let pointwise = Work::Conv { window: 1, channels: 96, outputs: 192, groups: 1 };
    let window = Work::Conv { window: 3, channels: 32, outputs: 64, groups: 1 };
    let depthwise = Work::Conv { window: 3, channels: 128, outputs: 128, groups: 128 };
    let matmul = Work::Matmul { rows: 64, inner: 256, outputs: 128 };
    let row = Work::Matmul { rows: 1, inner: 256, outputs: 512 };
    let products = |level: &str, element: ElementType, work: Work| match (level, element, work) {
        (_, ElementType::F32, Work::Map) => "vmulps",
        (_, ElementType::F32, _) => "vfmadd231ps",
        (_, _, Work::Map) => "vpmulld",
        ("x86-64-v3", ..) => "vpmaddwd",
        _ => "vpdpbusd",
    };
    for level in ["x86-64-v3", "x86-64-v4"] {
        for element in [ElementType::F32, ElementType::I8] {
            for work in [pointwise, window, depthwise, matmul, row, Work::Map] {
                let what = format!("{work:?} of {element} on {level}");
                let text = instructions(work, element, level);
                let instruction = products(level, element, work);
                let hot = hot_loop(&text, instruction);
                let all = hot.join("\n");
                assert!(!hot.is_empty(), "{what} has no loop with {instruction}:\n{text}");
                // Weights of a depthwise convolution are widened once for many pixels, into an array on the stack. The loop writes nothing
                // there.
                let is_widened = instruction == "vpmaddwd" && matches!(work, Work::Conv { groups: 2.., .. });
                let stack = if is_widened { " [rsp" } else { "[rsp" };
                assert!(!all.contains(stack), "{what} keeps something on the stack:\n{all}");
                // Pixels of a depthwise tile start with one vector of sums, which all but the last pixel copy.
                let begins = if matches!(work, Work::Conv { groups: 2.., .. }) { 8 } else { 0 };
                let moves = hot.iter().filter(|line| line.starts_with("vmovaps")).count();
                assert!(moves <= begins, "{what} moves {moves} registers:\n{all}");
            }
        }
    }
}

#[test]
fn windows_of_few_channels_share_what_they_load() {
    let work = Work::Conv { window: 3, channels: 16, outputs: 16, groups: 1 };
    let text = instructions(work, ElementType::I8, "x86-64-v4");
    let hot = hot_loop(&text, "vpdpbusd");
    let count = |instruction: &str| hot.iter().filter(|line| line.starts_with(instruction)).count();
    let (loads, products) = (count("vbroadcastss") + count("vmovups"), count("vpdpbusd"));
    assert!(2 * loads < products, "{loads} loads for {products} products:\n{}", hot.join("\n"));
    assert!(!hot.join("\n").contains("[rsp"), "something is on the stack:\n{}", hot.join("\n"));
}

#[test]
fn neighbouring_pixels_are_stored_together() {
    // The eight sums of a pixel fill half a vector.
    let work = Work::Conv { window: 1, channels: 32, outputs: 8, groups: 1 };
    let text = instructions(work, ElementType::I8, "x86-64-v4");
    let stores = |register: &str| text.lines().filter(|line| line.contains("vmovups [") && line.contains(register)).count();
    assert!(stores("],zmm") > 0 && stores("],ymm") == 0, "half a vector is stored:\n{text}");
}

#[test]
fn functions_take_some_registers_at_a_time_and_stay_in_them() {
    use ScalarOp::{Erf, Erfc, Exp, Log, Logistic, NormalCdf, Tanh};
    for (function, registers) in [(Exp, 8), (Logistic, 4), (Log, 4), (Tanh, 4), (Erf, 4), (Erfc, 4), (NormalCdf, 4)] {
        let text = instructions(Work::Function(function), ElementType::F32, "x86-64-v4");
        let hot = hot_loop(&text, "vfmadd");
        // Masks may be on the stack.
        let spills = hot.iter().filter(|line| line.contains("[rsp") && line.contains("zmm")).count();
        let stores = hot.iter().filter(|line| line.starts_with("vmovups [")).count();
        assert_eq!((stores, spills), (registers, 0), "{function:?}:\n{}", hot.join("\n"));
    }
}

#[test]
fn powers_of_two_are_one_product_where_the_machine_has_it() {
    for (level, scales) in [("x86-64-v3", false), ("x86-64-v4", true)] {
        let text = instructions(Work::Function(ScalarOp::Exp), ElementType::F32, level);
        let hot = hot_loop(&text, "vfmadd");
        let count = |instruction: &str| hot.iter().filter(|line| line.starts_with(instruction)).count();
        // Register operands: nine fused products, and one with a power of two, or two after shifts.
        let registers = count("vmovups [");
        assert_eq!(count("vscalefps"), if scales { registers } else { 0 }, "{level}:\n{}", hot.join("\n"));
        assert_eq!(count("vfmadd"), 9 * registers, "{level}:\n{}", hot.join("\n"));
    }
}

#[test]
fn functions_by_fused_products_take_no_division() {
    use ScalarOp::{Erfc, NormalCdf, Tanh};
    for (function, level) in [Erfc, NormalCdf, Tanh].into_iter().flat_map(|f| ["x86-64-v3", "x86-64-v4"].map(|level| (f, level))) {
        let text = instructions(Work::Function(function), ElementType::F32, level);
        assert!(!text.contains("vdivps"), "{function:?} at {level}:\n{text}");
    }
}

/// Tests a row with weights of four bits: 16 output channels × 32 elements take at most 95 instructions, and eight sums are in flight.
#[test]
fn rows_take_two_blocks_of_four_bits_at_a_time() {
    let text = instructions(Work::Blocks { inner: 256, outputs: 64, size: 32 }, ElementType::I8, "aarch64+dotprod");
    let is_hot = |block: &&str| block.matches("sdot").count() == 64;
    let block = text.split("block_").find(is_hot).unwrap_or_else(|| panic!("no loop has the products of two blocks:\n{text}"));
    let end = block.lines().position(|line| line.trim().starts_with("b.")).unwrap_or_else(|| panic!("no loop:\n{block}"));
    let hot: Vec<&str> = block.lines().skip(1).take(end).map(str::trim).collect();
    assert!(hot.len() <= 2 * 95, "{} instructions:\n{}", hot.len(), hot.join("\n"));
    assert!(hot.iter().all(|line| !line.contains("sp")), "something is on the stack:\n{}", hot.join("\n"));
    // Sums that follow each other in the code are eight different ones.
    let sums: Vec<&str> = hot.iter().filter_map(|line| line.strip_prefix("sdot ")?.split('.').next()).collect();
    let waits = sums.windows(4).filter(|window| window[..3].contains(&window[3])).count();
    assert_eq!(waits, 0, "products wait for the one before:\n{}", hot.join("\n"));
}

/// Returns the straight run of code with the most uses of an instruction: it ends at a conditional jump or where a block begins.
fn straight<'a>(text: &'a str, instruction: &str) -> Vec<&'a str> {
    let blocks = text.split("block_").map(|block| block.lines().skip(1).map(str::trim).collect::<Vec<_>>());
    let runs = blocks.flat_map(|lines| lines.split_inclusive(|line| line.starts_with("b.")).map(<[&str]>::to_vec).collect::<Vec<_>>());
    runs.max_by_key(|run| run.iter().filter(|line| line.starts_with(instruction)).count()).unwrap_or_default()
}

/// Tests a depthwise 3×3 layer of bytes. A pixel of sixteen channels takes at most 45 instructions with its requantization, and 55 if this follows
/// the rule step by step.
#[test]
fn depthwise_pixels_take_few_instructions() {
    for (zero_point, most, step) in [(-128, 45, "scvtf"), (0, 55, "sqrdmulh")] {
        let work = Work::Quantized { window: 3, channels: 64, outputs: 64, groups: 64, zero_point };
        let text = instructions(work, ElementType::I8, "aarch64+dotprod");
        let hot = straight(&text, "sdot");
        let count = |what: &str| hot.iter().filter(|line| line.starts_with(what)).count();
        let pixels = count("sdot") / 12;
        assert!(pixels > 0 && count(step) == 4 * pixels, "zero point {zero_point}:\n{}", hot.join("\n"));
        assert!(hot.len() <= most * pixels, "{} instructions for {pixels} pixels:\n{}", hot.len(), hot.join("\n"));
    }
}

/// Tests requantization without limits: four pixels of sixteen channels take at most 75 instructions, and 100 if it follows the rule step by step.
#[test]
fn requantization_takes_few_instructions() {
    for (zero_point, most, step) in [(-128, 75, "scvtf"), (0, 100, "sqrdmulh")] {
        let work = Work::Quantized { window: 1, channels: 96, outputs: 64, groups: 1, zero_point };
        let text = instructions(work, ElementType::I8, "aarch64+dotprod");
        let epilogue = straight(&text, step);
        let steps = epilogue.iter().filter(|line| line.starts_with(step)).count();
        assert!(
            steps >= 16 && 16 * epilogue.len() <= most * steps,
            "{} instructions for {steps}:\n{}",
            epilogue.len(),
            epilogue.join("\n")
        );
    }
}
