//! Convolutions of all kinds, for every machine: windows, groups, sparse weights, shifted weights, panels that are no multiple of a vector.

mod channel_planes;
mod depthwise;
mod extremes;
mod long_rows;

use super::{check, check_everywhere, check_level, hot_loops, names, number, objects};
use crate::support::texts::elements;
use modelc::ir::WindowGeometry;
use modelc::ir::{Data, ElementType, ExpressionBuilder, FunctionBuilder, Module, Node, ScalarOp, Tensor, TensorType, Type, ZeroPoints};
use modelc::ir::{NanRule, RequantizeRule, Scalar, SourceData, Value};
use modelc::lower;
use modelc::machine::{CpuMachine, GPUS, Isa, MACHINES};
use modelc::program::{Program, Step, calls};
use modelc::{passes, pipeline};

/// Adds weights that the file stores without zeros. Halves are converted to binary32.
fn sparse_weights(builder: &mut FunctionBuilder<'_>, ty: &TensorType, bytes: Vec<u8>) -> Value {
    let constant = builder.module.add_constant(ty.clone(), Data::sparse(bytes));
    let weights = builder.constant(constant).expect("a constant");
    if ty.element != ElementType::F16 {
        return weights;
    }
    let mut expression = ExpressionBuilder::new(&[ty.element]);
    let x = expression.input(0);
    let wide = expression.convert(x, ElementType::F32);
    builder.map(&[weights], expression.finish(vec![wide])).expect("a conversion")
}

/// Makes a convolution whose file stores one of eight weights, with `groups` and `input_dilation`.
fn sparse_convolution(stored: ElementType, groups: u64, input_dilation: i64) -> (Module, Vec<Tensor>) {
    let element = if stored == ElementType::I8 { ElementType::I8 } else { ElementType::F32 };
    let accumulator = if element == ElementType::I8 { ElementType::I32 } else { ElementType::F32 };
    let (channels, outputs, image) = (40, 52, [1, 5, 7]);
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [&image[..], &[channels]].concat();
    let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let filter = [outputs, 3, 3, channels / groups];
    let weights = (0..filter.iter().product::<u64>()).map(|i| if i * 7919 % 8 == 0 { i * 31 % 17 } else { 0 } as i8);
    let bytes: Vec<u8> = match stored {
        ElementType::I8 => weights.map(|w| w as u8).collect(),
        ElementType::F16 => weights.flat_map(|w| half::f16::from_f32(f32::from(w) / 16.0).to_le_bytes()).collect(),
        _ => weights.flat_map(|w| (f32::from(w) / 16.0).to_le_bytes()).collect(),
    };
    let weights = sparse_weights(&mut builder, &TensorType::of(stored, &filter), bytes);
    let window = WindowGeometry {
        strides: vec![1, 1],
        dilation: vec![1, 1],
        padding_low: vec![1, 1],
        padding_high: vec![2, 2],
        ..WindowGeometry::default()
    };
    let window = (window, vec![input_dilation; 2]);
    let result = builder.dilated_conv(input, weights, window, groups, ZeroPoints::NONE, accumulator).expect("a convolution");
    builder.finish_method("forward", vec![result]);
    let numbers = (0..shape.iter().product::<u64>()).map(|i| (i * 7919 % 101) as i8 - 50);
    let bytes = match element {
        ElementType::I8 => numbers.map(|n| n as u8).collect(),
        _ => numbers.flat_map(|n| (f32::from(n) / 8.0).to_le_bytes()).collect(),
    };
    (module, vec![Tensor { element, shape, bytes }])
}

#[test]
fn sparse_weights_stay_sparse_on_every_machine() {
    for stored in [ElementType::F32, ElementType::F16, ElementType::I8] {
        for (groups, input_dilation) in [(1, 1), (2, 1), (1, 2)] {
            let (mut module, inputs) = sparse_convolution(stored, groups, input_dilation);
            passes::run_all(&mut module);
            for machines in objects() {
                let what = format!("{stored} in {groups} groups, dilated by {input_dilation}, on {}", names(&machines));
                assert_eq!(check(&module, &inputs, &machines), Ok(Ok(())), "{what}");
                let options = lower::Options::new(machines[0]);
                let lowered = pipeline::lower(&module, "module", options).expect("a convolution has a schedule");
                let embedded: usize = lowered.program.constants.iter().map(|blob| blob.data.bytes().len()).sum();
                let dense: usize = module.constants.values().map(|constant| constant.data.bytes().len()).sum();
                assert!(embedded * 2 < dense, "{what}: {embedded} bytes are embedded of {dense}");
            }
        }
    }
}

/// Makes a convolution of pixels whose file stores one of four weights. The epilogue reads another tensor.
pub fn sparse_pixels(stored: ElementType, image: [u64; 2], [channels, outputs]: [u64; 2]) -> (Module, Vec<Tensor>) {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = |channels: u64| [1, image[0], image[1], channels];
    let [input, added] =
        [channels, outputs].map(|channels| builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape(channels))), None));
    let filter = [outputs, 1, 1, channels];
    // The weights of the first output channels are far apart.
    let is_kept = |i: u64| if i < 2 * channels { i % channels + 1 == channels } else { number(i).is_multiple_of(4) };
    let weights = (0..filter.iter().product::<u64>()).map(|i| if is_kept(i) { (number(i) % 251) as f32 / 64.0 - 2.0 } else { 0.0 });
    let bytes: Vec<u8> = match stored {
        ElementType::F16 => weights.flat_map(|w| half::f16::from_f32(w).to_le_bytes()).collect(),
        _ => weights.flat_map(f32::to_le_bytes).collect(),
    };
    let weights = sparse_weights(&mut builder, &TensorType::of(stored, &filter), bytes);
    let window = WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: vec![0; 2],
        padding_high: vec![0; 2],
        ..WindowGeometry::default()
    };
    let sums = builder.conv(input, weights, window, 1, ZeroPoints::NONE, ElementType::F32).expect("a convolution");
    let mut expression = ExpressionBuilder::new(&[ElementType::F32; 2]);
    let [x, y] = [0, 1].map(|i| expression.input(i));
    let sum = expression.op(ScalarOp::Add, &[x, y]).expect("a sum of floats");
    let result = builder.map(&[sums, added], expression.finish(vec![sum])).expect("a sum");
    builder.finish_method("forward", vec![result]);
    let tensor = |channels: u64| {
        let bytes = (0..shape(channels).iter().product::<u64>()).flat_map(|i| ((i * 7919 % 101) as f32 / 8.0 - 6.0).to_le_bytes());
        Tensor { element: ElementType::F32, shape: shape(channels).to_vec(), bytes: bytes.collect() }
    };
    (module, vec![tensor(channels), tensor(outputs)])
}

#[test]
fn sparse_weights_of_pixels_are_multiplied_without_zeros() {
    for (stored, image, channels) in [
        (ElementType::F16, [12, 12], [64, 48]),
        (ElementType::F32, [6, 6], [300, 90]),
        (ElementType::F16, [8, 6], [128, 61]),
        (ElementType::F32, [7, 9], [64, 64]),
    ] {
        let (mut module, inputs) = sparse_pixels(stored, image, channels);
        passes::run_all(&mut module);
        let is_whole = image.iter().product::<u64>().is_multiple_of(4);
        for machines in objects() {
            let what = format!("{stored} of {image:?} pixels with {channels:?} channels on {}", names(&machines));
            assert_eq!(check(&module, &inputs, &machines), Ok(Ok(())), "{what}");
            let options = lower::Options::new(machines[0]);
            let lowered = pipeline::lower_levels(&module, "module", options, &machines[1..]).expect("a convolution has a schedule");
            for level in lowered.levels() {
                let Step::Call(call) = &level.program.methods[0].steps[0] else { panic!("a call") };
                let may = matches!(level.machine.isa, Isa::X86_64 | Isa::Aarch64);
                assert_eq!(call.origin.schedule.contains("without zeros"), is_whole && may, "{what}: {}", call.origin.schedule);
            }
        }
    }
}

/// Makes a convolution with binary16 weights, of an image with the size of the window, so that there is one output pixel.
pub fn one_window() -> (Module, Tensor) {
    let (channels, outputs) = (24, 52);
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [1, 3, 3, channels];
    let image = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
    let filter = [outputs, 3, 3, channels];
    let halves = (0..filter.iter().product::<u64>()).flat_map(|i| half::f16::from_f32((number(i) % 251) as f32 / 64.0 - 2.0).to_le_bytes());
    let halves = builder.literal(TensorType::of(ElementType::F16, &filter), halves.collect()).expect("a filter");
    let mut expression = ExpressionBuilder::new(&[ElementType::F16]);
    let x = expression.input(0);
    let wide = expression.convert(x, ElementType::F32);
    let weights = builder.map(&[halves], expression.finish(vec![wide])).expect("a conversion");
    let geometry = WindowGeometry {
        strides: vec![1; 2],
        dilation: vec![1; 2],
        padding_low: vec![0; 2],
        padding_high: vec![0; 2],
        ..WindowGeometry::default()
    };
    let sums = builder.conv(image, weights, geometry, 1, ZeroPoints::NONE, ElementType::F32).expect("a convolution");
    builder.finish_method("forward", vec![sums]);
    let bytes = (0..shape.iter().product::<u64>()).flat_map(|i| ((i * 7919 % 101) as f32 / 8.0 - 6.0).to_le_bytes()).collect();
    (module, Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes })
}

#[test]
fn weights_that_one_window_reads_are_widened_as_they_are_loaded() {
    let (mut module, image) = one_window();
    passes::run_all(&mut module);
    for machines in objects() {
        assert_eq!(check(&module, std::slice::from_ref(&image), &machines), Ok(Ok(())), "on {}", names(&machines));
        let options = lower::Options::new(machines[0]);
        let lowered = pipeline::lower_levels(&module, "module", options, &machines[1..]).expect("a convolution has a schedule");
        for level in lowered.levels() {
            let Step::Call(call) = &level.program.methods[0].steps[0] else { panic!("a call") };
            let is_filled = call.origin.schedule.contains("filled");
            assert_eq!(is_filled, !level.machine.widens_halves, "{}: {}", level.machine.level, call.origin.schedule);
        }
    }
}

/// Makes a convolution of bytes with its input, 1×1 or depthwise 3×3. It is requantized with a scale a channel around 2^(−31 − shift). For
/// every fourth seed, it is multiplied and requantized once more.
fn requantized(seed: u64, rule: RequantizeRule, shift: i32, least: i32, depthwise: bool) -> (Module, Tensor) {
    // Channels that fill vectors of every length, and channels that do not.
    let channels = if !depthwise { 9 } else { [20, 64][seed as usize % 2] };
    let outputs = if depthwise { channels } else { 20 };
    let (window, groups, depth) = if depthwise { (3, channels, 1) } else { (1, 1, channels) };
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    // Enough results to make rounding towards zero worthwhile.
    let shape = [1, 8, 7, channels];
    let image = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), None);
    let random = |count: u64, salt: u64| (0..count).map(move |i| number(i + (salt << 20) + (seed << 32)));
    let bytes = |count: u64, salt: u64| random(count, salt).map(|n| n as u8).collect::<Vec<u8>>();
    let words = |salt: u64, word: &dyn Fn(u64) -> i32| random(outputs, salt).flat_map(|n| word(n).to_le_bytes()).collect::<Vec<u8>>();
    let filter = [outputs, window, window, depth];
    let filter = builder.literal(TensorType::of(ElementType::I8, &filter), bytes(filter.iter().product(), 1)).expect("a filter");
    let sums =
        builder.conv(image, filter, hot_loops::same_size(window), groups, ZeroPoints::of_left(5), ElementType::I32).expect("a convolution");
    let row = TensorType::of(ElementType::I32, &[outputs]);
    let bias = builder.literal(row.clone(), words(2, &|n| (n % 4001) as i32 - 2000)).expect("a bias");
    let multipliers = builder.literal(row.clone(), words(3, &|n| ((1 << 30) + n % (1 << 30)) as i32)).expect("multipliers");
    let shifts = builder.literal(row, words(4, &|n| -(shift + (n % 2) as i32))).expect("shifts");
    let mut e = ExpressionBuilder::new(&[ElementType::I32; 4]);
    let inputs: Vec<_> = (0..4).map(|i| e.input(i)).collect();
    let mut op = |op, operands: &[_]| e.op(op, operands).expect("operations on i32");
    let sum = op(ScalarOp::Add, &[inputs[0], inputs[1]]);
    let scaled = op(ScalarOp::Requantize(rule), &[sum, inputs[2], inputs[3]]);
    let [zero, low, high, factor, multiplier, last] = [-7, least, 127, 77, 1_515_870_811, -6].map(|n| e.constant(Scalar::i32(n)));
    let mut op = |op, operands: &[_]| e.op(op, operands).expect("operations on i32");
    let clamped = |op: &mut dyn FnMut(ScalarOp, &[Node]) -> Node, scaled: Node| {
        let moved = op(ScalarOp::Add, &[scaled, zero]);
        let above = op(ScalarOp::Max(NanRule::First), &[moved, low]);
        op(ScalarOp::Min(NanRule::First), &[above, high])
    };
    let mut clamped_last = clamped(&mut op, scaled);
    if seed % 4 == 1 {
        let product = op(ScalarOp::Mul, &[clamped_last, factor]);
        let scaled = op(ScalarOp::Requantize(rule), &[product, multiplier, last]);
        clamped_last = clamped(&mut op, scaled);
    }
    let narrow = e.convert(clamped_last, ElementType::I8);
    let expression = e.finish(vec![narrow]);
    let result = builder.map(&[sums, bias, multipliers, shifts], expression).expect("shapes that broadcast");
    builder.finish_method("forward", vec![result]);
    let tensor = Tensor { element: ElementType::I8, bytes: bytes(shape.iter().product(), 5), shape: shape.to_vec() };
    (module, tensor)
}

#[test]
fn requantized_convolutions_match_on_every_machine() {
    // Scales from 1 to 2⁻¹⁴, for the sequences of large and small scales; results with and without negative numbers.
    for seed in 0..48 {
        let rule = if seed % 3 == 2 { RequantizeRule::TfliteSingle } else { RequantizeRule::TfliteDouble };
        let (shift, least) = ((seed % 14) as i32, if seed % 2 == 0 { -128 } else { -7 });
        let (mut module, image) = requantized(seed, rule, shift, least, seed % 5 == 0);
        passes::run_all(&mut module);
        for machine in MACHINES {
            let result = check(&module, std::slice::from_ref(&image), &[machine]);
            assert_eq!(result, Ok(Ok(())), "{rule:?}, shift {shift}, from {least}, on {}", machine.level);
        }
    }
}

/// Makes convolutions of one image that differ in zero points and in the addends of their sums, one a channel or one for all.
fn alike(count: i64) -> (Module, Tensor) {
    let (channels, outputs) = (12, 40);
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [1, 5, 6, channels];
    let image = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), None);
    let bytes = |count: u64, salt: u64| (0..count).map(|i| number(i + (salt << 20)) as u8).collect::<Vec<u8>>();
    let mut results = Vec::new();
    for k in 0..count {
        let filter = builder.literal(TensorType::of(ElementType::I8, &[outputs, 3, 3, channels]), bytes(outputs * 9 * channels, k as u64));
        let sums = builder
            .conv(image, filter.expect("a filter"), hot_loops::same_size(3), 1, ZeroPoints::of_left(3 * k - 4), ElementType::I32)
            .expect("a convolution");
        let mut e = ExpressionBuilder::new(&[ElementType::I32]);
        let sum = e.input(0);
        let [added, most] = [100 - 7 * k as i32, 5000 + 900 * k as i32].map(|n| e.constant(Scalar::i32(n)));
        let moved = e.op(ScalarOp::Add, &[sum, added]).expect("a sum");
        let low = e.op(ScalarOp::Min(NanRule::First), &[moved, most]).expect("a minimum");
        let float = e.convert(low, ElementType::F32);
        let scale = e.constant(Scalar::f32(0.25 + k as f32));
        let scaled = e.op(ScalarOp::Mul, &[float, scale]).expect("a product");
        results.push(builder.map(&[sums], e.finish(vec![scaled])).expect("a map"));
    }
    builder.finish_method("forward", results);
    let tensor = Tensor { element: ElementType::I8, bytes: bytes(shape.iter().product(), 77), shape: shape.to_vec() };
    (module, tensor)
}

#[test]
fn kernels_that_differ_in_numbers_are_one() {
    let (mut module, image) = alike(3);
    passes::run_all(&mut module);
    for machines in objects() {
        let result = check(&module, std::slice::from_ref(&image), &machines);
        assert_eq!(result, Ok(Ok(())), "on {}", names(&machines));
        let options = lower::Options::new(machines[0]);
        let lowered = pipeline::lower_levels(&module, "module", options, &machines[1..]).expect("convolutions have schedules");
        for level in lowered.levels() {
            let kernels: Vec<_> = level.program.kernels.iter().map(|kernel| &kernel.name).collect();
            assert_eq!(kernels.len(), 1, "{}: {kernels:?}", level.machine.level);
            assert_eq!(level.program.methods[0].steps.len(), 3);
        }
    }
}

/// Makes a convolution of bytes, with an image.
fn of_bytes(
    element: ElementType,
    [shape, filter]: [[u64; 4]; 2],
    geometry: WindowGeometry,
    groups: u64,
    zero_points: ZeroPoints,
) -> (Module, Tensor) {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let bytes = |count: u64, salt: u64| (0..count).map(|i| number(i + (salt << 20)) as u8).collect::<Vec<u8>>();
    let image = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let filter = builder.literal(TensorType::of(element, &filter), bytes(filter.iter().product(), 1)).expect("a filter");
    let sums = builder.conv(image, filter, geometry, groups, zero_points, ElementType::I32).expect("a convolution");
    builder.finish_method("forward", vec![sums]);
    (module, Tensor { element, bytes: bytes(shape.iter().product(), 2), shape: shape.to_vec() })
}

/// Makes a convolution of unsigned bytes, with weights from 0 to 255 and a zero point.
fn unsigned(window: u64, [channels, outputs, dilation]: [u64; 3], zero_point: i64) -> (Module, Tensor) {
    let mut geometry = hot_loops::same_size(window);
    geometry.dilation[1] = dilation as i64;
    geometry.padding_high[1] += (window as i64 - 1) * (dilation as i64 - 1);
    of_bytes(
        ElementType::U8,
        [[1, 5, 6, channels], [outputs, window, window, channels]],
        geometry,
        1,
        ZeroPoints { left: 77, right: zero_point },
    )
}

#[test]
fn products_of_weights_that_are_moved_match_on_every_machine() {
    // Segments shorter and longer than a vector, unrolled and in loops. The fifth is too small. In the last, signed bytes cannot reach all weights
    // from the zero point.
    let cases =
        [(1, [300, 24, 1], 120), (3, [21, 40, 1], 1), (3, [8, 17, 1], 255), (7, [5, 9, 2], 130), (1, [8, 8, 1], 130), (3, [16, 16, 1], 0)];
    for (number, (window, sizes, zero_point)) in cases.into_iter().enumerate() {
        let (module, image) = unsigned(window, sizes, zero_point);
        check_everywhere(&module, &image, &format!("case {number}"));
        // The level that multiplies bytes, and the levels that read its panels as pairs.
        for isa in [Isa::X86_64, Isa::Aarch64] {
            let moved = of_levels(&module, isa, "lacking");
            assert!(moved.iter().all(|(_, moved)| *moved == (number < 4)), "case {number}: {moved:?}");
        }
    }
}

/// A single pixel is staged in chunks. Its bytes are summed directly from the input, the tail in part of a vector.
#[test]
fn moved_weights_of_a_single_pixel_match_on_every_machine() {
    for channels in [260, 300, 511, 512] {
        let (module, image) = of_bytes(
            ElementType::U8,
            [[1, 1, 1, channels], [24, 1, 1, channels]],
            hot_loops::same_size(1),
            1,
            ZeroPoints { left: 77, right: 120 },
        );
        check_everywhere(&module, &image, &format!("{channels} channels"));
        let moved = of_levels(&module, Isa::Aarch64, "lacking");
        assert!(moved.iter().all(|(_, moved)| *moved), "{channels} channels: {moved:?}");
    }
}

/// Lowers for all levels of an instruction set in one program. Tells for each level if one of its kernels contains a text.
fn of_levels(module: &Module, isa: Isa, text: &str) -> Vec<(&'static str, bool)> {
    let levels: Vec<&CpuMachine> = MACHINES.iter().filter(|machine| machine.isa == isa).collect();
    let lowered = pipeline::lower_levels(module, "module", lower::Options::new(levels[0]), &levels[1..]).expect("a schedule");
    let has = |program: &Program| program.kernels.iter().any(|kernel| kernel.to_string().contains(text));
    lowered.levels().iter().map(|level| (level.machine.level, has(level.program))).collect()
}

/// Panels of a group are padded to the size of all groups together, and their pixels are not contiguous.
#[test]
fn groups_of_one_channel_match_on_every_machine() {
    let (module, image) = of_bytes(ElementType::I8, [[1, 5, 9, 4], [2, 3, 3, 2]], hot_loops::same_size(3), 2, ZeroPoints::of_left(-3));
    check_everywhere(&module, &image, "groups");
}

/// Images of few pixels, whose rows form one row, so that weights are read once: rows cut into several tiles, strides, panels of fewer
/// channels.
#[test]
fn images_of_few_pixels_match_on_every_machine() {
    let strided = |stride: i64| WindowGeometry { strides: vec![stride; 2], ..hot_loops::same_size(3) };
    let cases = [
        ([2, 4, 4, 64], [64, 3, 3, 64], strided(1), true),
        ([1, 9, 8, 48], [80, 3, 3, 48], strided(2), true),
        ([1, 5, 5, 256], [264, 1, 1, 256], hot_loops::same_size(1), false),
    ];
    for (image, filter, geometry, joined) in cases {
        let (module, input) = of_bytes(ElementType::I8, [image, filter], geometry, 1, ZeroPoints::of_left(-13));
        let what = format!("{image:?} by {filter:?}");
        check_everywhere(&module, &input, &what);
        let schedule = &schedules(&at_v4(&module))[0];
        assert_eq!(schedule.contains("staged images"), joined, "{what}: {schedule}");
    }
}

/// Assigns a whole module to a device.
fn marked(mut module: Module) -> Module {
    let (function, operator_name, tensor) = ("main".into(), "conv".into(), "sums".into());
    let source = module.sources.push(SourceData { function, operator: 0, operator_name, tensor, gpu: true });
    module.functions.values_mut().flat_map(|function| function.insts.values_mut()).for_each(|inst| inst.source = Some(source));
    module
}

/// Lowers a module for x86-64-v4 alone.
fn at_v4(module: &Module) -> Program {
    let v4 = MACHINES.iter().find(|machine| machine.level == "x86-64-v4").expect("a level");
    pipeline::lower(module, "module", lower::Options::new(v4)).expect("a schedule").program
}

/// Returns the schedules of the kernels of a program's first method.
fn schedules(program: &Program) -> Vec<String> {
    calls(&program.methods[0].steps).iter().map(|call| call.origin.schedule.clone()).collect()
}

/// Returns the zero points of an image and its filter, and the type of sums.
fn sums_of(element: ElementType) -> (ZeroPoints, ElementType) {
    match element {
        ElementType::F32 => (ZeroPoints::NONE, ElementType::F32),
        ElementType::U8 => (ZeroPoints { left: 77, right: 130 }, ElementType::I32),
        _ => (ZeroPoints::of_left(-3), ElementType::I32),
    }
}

/// Makes a convolution to some output channels, of floats or bytes; the image has rows of odd length.
fn to_channels(element: ElementType, window: u64, [channels, outputs, groups]: [u64; 3]) -> (Module, Tensor) {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [1, 3, 9, channels];
    let image = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let filter = [outputs, window, window, channels / groups];
    let filter = builder.literal(TensorType::of(element, &filter), elements(element, filter.iter().product(), 1)).expect("a filter");
    let (zero_points, accumulator) = sums_of(element);
    let sums = builder.conv(image, filter, hot_loops::same_size(window), groups, zero_points, accumulator).expect("a convolution");
    builder.finish_method("forward", vec![sums]);
    let bytes = elements(element, shape.iter().product(), 2);
    (module, Tensor { element, bytes, shape: shape.to_vec() })
}

/// Panels of part of a vector, and two pixels in one vector: in loops and unrolled, with an odd number of pixels, in groups.
#[test]
fn output_channels_that_fill_no_vector_match_on_every_machine() {
    let cases = [
        (1, [8, 6, 1], "pixels x 8 channels"),
        (3, [3, 10, 1], "pixels x 16 channels"),
        (1, [36, 24, 1], "pixels x 24 channels"),
        (3, [4, 40, 1], "pixels x 40 channels"),
        (3, [12, 26, 1], "pixels x 16 channels"),
        (7, [1, 56, 1], "pixels x 32+24 channels"),
        (3, [6, 48, 2], "pixels x 24 channels"),
    ];
    for (window, sizes, panels) in cases {
        for element in [ElementType::F32, ElementType::I8, ElementType::U8] {
            let (module, image) = to_channels(element, window, sizes);
            check_everywhere(&module, &image, &format!("{element} {window} {sizes:?}"));
            let schedules = schedules(&at_v4(&module));
            assert!(schedules.iter().any(|schedule| schedule.contains(panels)), "{element} {window} {sizes:?}: {schedules:?}");
        }
    }
}

/// Depthwise convolutions with several output channels for each input channel: a power of two, another number, and more than a vector. Elements
/// are repeated as vectors on machines with vectors.
#[test]
fn channels_that_are_repeated_match_on_every_machine() {
    for (channels, repeat) in [(1, 8), (3, 2), (3, 5), (2, 40)] {
        for element in [ElementType::F32, ElementType::I8, ElementType::U8] {
            let what = format!("{element} {channels} by {repeat}");
            let (module, image) = to_channels(element, 3, [channels, channels * repeat, channels]);
            check_everywhere(&module, &image, &what);
            let text = at_v4(&module).kernels.iter().map(ToString::to_string).collect::<String>();
            let staged: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("store ring[")).collect();
            assert!(!staged.is_empty() && staged.iter().all(|line| !line.contains(" + 1]")), "{what}:\n{text}");
        }
    }
}

/// Floats of few output channels: several steps of k side by side, the last of an odd number alone. Pixels outside all windows may be NaN.
#[test]
fn floats_of_few_output_channels_match_on_every_machine() {
    let cases = [
        (3, [3, 8, 1], "floats in pairs, 9 pixels x 8 channels"),
        (3, [3, 5, 1], "floats in pairs"),
        (5, [1, 8, 1], "floats in pairs"),
        (1, [9, 4, 1], "floats in pairs"),
        (1, [16, 2, 1], "floats in fours"),
        (3, [4, 3, 1], "floats in fours"),
        (7, [3, 8, 1], "products of floats, 9 pixels x 8 channels"),
        (3, [3, 9, 1], "products of floats,"),
    ];
    for (window, sizes, expected) in cases {
        let (module, mut image) = to_channels(ElementType::F32, window, sizes);
        let first_of_pixel = |y: u64, x: u64| (4 * sizes[0] * (9 * y + x)) as usize;
        for (at, value) in [(first_of_pixel(1, 4), f32::INFINITY), (first_of_pixel(2, 8), f32::NAN)] {
            image.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        check_everywhere(&module, &image, &format!("{window} {sizes:?}"));
        let found = schedules(&at_v4(&module));
        assert!(found.iter().any(|schedule| schedule.contains(expected)), "{window} {sizes:?}: {found:?}");
    }
}

/// Machines without vectors, or with narrow ones, read the panels of a device that multiplies bytes.
#[test]
fn every_machine_reads_the_panels_of_a_device() {
    for sizes in [[5, 6, 1], [8, 12, 1]] {
        let (module, image) = to_channels(ElementType::I8, 3, sizes);
        let module = marked(module);
        for machine in MACHINES {
            for gpu in GPUS {
                let options = lower::Options { gpu: Some(gpu), ..lower::Options::new(machine) };
                let what = format!("{sizes:?} on {} and {}", machine.level, gpu.level);
                let lowered = pipeline::lower(&module, "module", options).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(lowered.program.device.is_some(), "{what}: nothing is for the device");
                check_level(&module, std::slice::from_ref(&image), &lowered.program).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
    }
}
