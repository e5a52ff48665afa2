//! Depthwise convolutions: windows, strides, blocks of channels beside others, shifted weights.

use super::super::{check, check_everywhere, hot_loops, names, number, objects};
use super::{at_v4, of_bytes, of_levels, schedules};
use modelc::ir::{ElementType, FunctionBuilder, Module, Tensor, TensorType, Type, WindowGeometry, ZeroPoints};
use modelc::machine::{Isa, MACHINES, machine};
use modelc::{lower, passes, pipeline};

/// Makes a depthwise convolution of bytes with its input: windows of two to five rows, and various strides, padding and numbers of channels.
fn random(seed: u64) -> (Module, Tensor) {
    let pick = |salt: u64, from: &[u64]| from[(number(seed + (salt << 40)) % from.len() as u64) as usize];
    let element = if seed % 4 == 3 { ElementType::U8 } else { ElementType::I8 };
    let channels = pick(1, &[4, 16, 20, 32, 37, 64, 96]);
    let window = [pick(2, &[2, 3, 3, 3, 4, 5]), pick(3, &[1, 3, 3, 4])];
    let strides = [pick(4, &[1, 1, 2]), pick(5, &[1, 1, 2, 3])];
    let (low, high) = ([pick(6, &[0, 1, 2]), pick(7, &[0, 1])], [pick(8, &[0, 1, 3]), pick(9, &[0, 1, 2])]);
    let dilation = [1, pick(10, &[1, 1, 2])];
    let input = [pick(11, &[5, 6, 7, 9]), pick(12, &[7, 8, 11])];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let shape = [pick(13, &[1, 1, 2]), input[0], input[1], channels];
    let image = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let bytes = |count: u64, salt: u64| (0..count).map(move |i| number(i + (salt << 20) + (seed << 32)) as u8).collect::<Vec<u8>>();
    let filter = [channels, window[0], window[1], 1];
    let filter = builder.literal(TensorType::of(ElementType::I8, &filter), bytes(filter.iter().product(), 1)).expect("a filter");
    let geometry = WindowGeometry {
        strides: strides.map(|n| n as i64).to_vec(),
        dilation: dilation.map(|n| n as i64).to_vec(),
        padding_low: low.map(|n| n as i64).to_vec(),
        padding_high: high.map(|n| n as i64).to_vec(),
        ..WindowGeometry::default()
    };
    let zero_point = if element == ElementType::U8 { 130 } else { -3 };
    let sums = builder.conv(image, filter, geometry, channels, ZeroPoints::of_left(zero_point), ElementType::I32).expect("a convolution");
    builder.finish_method("forward", vec![sums]);
    (module, Tensor { element, bytes: bytes(shape.iter().product(), 5), shape: shape.to_vec() })
}

#[test]
fn depthwise_windows_match_on_every_machine() {
    let mut paired = 0;
    for seed in 0..60 {
        let (mut module, image) = random(seed);
        passes::run_all(&mut module);
        let objects = objects();
        for machines in &objects[if seed < 12 { 0 } else { objects.len() - 2 }..] {
            let result = check(&module, std::slice::from_ref(&image), machines);
            assert_eq!(result, Ok(Ok(())), "seed {seed} on {}", names(machines));
        }
        let lowered = pipeline::lower(&module, "module", lower::Options::new(&MACHINES[0])).expect("a lowering");
        paired += usize::from(lowered.levels()[0].program.kernels.iter().any(|kernel| kernel.buffers.iter().any(|b| b.name == "panel")));
    }
    assert!(paired > 20, "{paired} are computed from rows in pairs");
}

/// Floats of few channels, with neighbouring pixels in one vector, and of many channels; rows of even and odd length.
#[test]
fn depthwise_windows_of_floats_match_on_every_machine() {
    for (channels, width, stride) in [(4, 9, 1), (8, 16, 1), (8, 33, 1), (8, 12, 2), (16, 19, 1), (24, 10, 2), (32, 7, 1), (48, 14, 1)] {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let shape = [1, 6, width, channels];
        let image = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
        let floats = |count: u64, salt: u64| (0..count).flat_map(move |i| ((number(i + salt) % 64) as f32 / 8.0 - 4.0).to_le_bytes());
        let filter = TensorType::of(ElementType::F32, &[channels, 3, 3, 1]);
        let filter = builder.literal(filter, floats(9 * channels, 7).collect::<Vec<u8>>()).expect("a filter");
        let geometry = WindowGeometry {
            strides: vec![stride; 2],
            dilation: vec![1; 2],
            padding_low: vec![1; 2],
            padding_high: vec![1; 2],
            ..WindowGeometry::default()
        };
        let sums = builder.conv(image, filter, geometry, channels, ZeroPoints::NONE, ElementType::F32).expect("a convolution");
        builder.finish_method("forward", vec![sums]);
        let image = Tensor { element: ElementType::F32, bytes: floats(shape.iter().product(), 1 << 30).collect(), shape: shape.to_vec() };
        check_everywhere(&module, &image, &format!("{channels} channels, {width} pixels, stride {stride}"));
    }
}

/// Blocks of channels that are whole vectors at some levels, beside a remainder, under windows of five rows.
#[test]
fn depthwise_blocks_beside_others_match_on_every_machine() {
    for channels in [24, 40, 72, 144] {
        let image = [1, 4, 5, channels];
        let (module, image) =
            of_bytes(ElementType::I8, [image, [channels, 5, 5, 1]], hot_loops::same_size(5), channels, ZeroPoints::of_left(-13));
        check_everywhere(&module, &image, &format!("{channels} channels"));
    }
}

/// Last channels that nearly fill a vector, and keep their order in staged rows whose other blocks are reordered.
#[test]
fn channels_that_nearly_fill_a_vector_match_on_every_machine() {
    let apart = WindowGeometry { dilation: vec![2, 1], ..hot_loops::same_size(1) };
    for channels in [25, 28, 31, 47] {
        let (module, image) =
            of_bytes(ElementType::I8, [[1, 6, 5, channels], [channels, 2, 1, 1]], apart.clone(), channels, ZeroPoints::of_left(-1));
        check_everywhere(&module, &image, &format!("{channels} channels"));
    }
}

/// Windows of more than four rows: pairs are taken in fours, and a remaining pair is combined with one of the next column.
#[test]
fn depthwise_windows_of_many_rows_match_on_every_machine() {
    let cases = [
        ([5, 5], 64, 1, 1),
        ([5, 5], 48, 2, 1),
        ([5, 4], 8, 1, 1),
        ([5, 3], 37, 1, 2),
        ([4, 3], 32, 1, 1),
        ([4, 1], 20, 1, 1),
        ([6, 3], 96, 2, 2),
        ([7, 7], 32, 1, 1),
        ([7, 2], 16, 2, 1),
        ([8, 2], 20, 2, 1),
        ([2, 3], 64, 2, 1),
    ];
    for (window, channels, stride, dilation) in cases {
        let geometry = WindowGeometry {
            strides: vec![stride; 2],
            dilation: vec![1, dilation],
            padding_low: vec![2, 1],
            padding_high: vec![2, 3],
            ..WindowGeometry::default()
        };
        let shapes = [[1, 9, 11, channels], [channels, window[0], window[1], 1]];
        let (module, image) = of_bytes(ElementType::I8, shapes, geometry, channels, ZeroPoints::of_left(-13));
        let what = format!("{window:?} of {channels} channels by {stride}, dilated by {dilation}");
        check_everywhere(&module, &image, &what);
        let schedule = &schedules(&at_v4(&module))[0];
        assert!(schedule.starts_with("depthwise, products of bytes in fours"), "{what}: {schedule}");
    }
}

/// Makes a depthwise convolution of unsigned bytes, with weights from 0 to 255 and a zero point.
fn unsigned(window: [u64; 2], channels: u64, (stride, dilation): (i64, i64), zero_point: i64) -> (Module, Tensor) {
    let geometry = WindowGeometry {
        strides: vec![stride; 2],
        dilation: vec![1, dilation],
        padding_low: vec![1, 1],
        padding_high: vec![1, 2],
        ..WindowGeometry::default()
    };
    of_bytes(
        ElementType::U8,
        [[1, 7, 9, channels], [channels, window[0], window[1], 1]],
        geometry,
        channels,
        ZeroPoints { left: 77, right: zero_point },
    )
}

#[test]
fn depthwise_weights_that_are_moved_match_on_every_machine() {
    // Blocks with weights in registers and others, windows that omit rows and columns; a zero point from which signed bytes cannot reach all
    // weights.
    let cases = [
        ([3, 3], 32, (1, 1), 120),
        ([3, 3], 64, (2, 1), 255),
        ([3, 3], 37, (1, 2), 1),
        ([2, 4], 16, (2, 1), 130),
        ([2, 1], 20, (2, 1), 140),
        ([4, 3], 96, (2, 1), 90),
        ([5, 5], 64, (1, 1), 120),
        ([4, 3], 32, (1, 1), 90),
        ([6, 2], 37, (2, 2), 130),
        ([3, 3], 160, (1, 1), 0),
    ];
    for (number, (window, channels, steps, zero_point)) in cases.into_iter().enumerate() {
        let (module, image) = unsigned(window, channels, steps, zero_point);
        check_everywhere(&module, &image, &format!("case {number}"));
        let of_bytes = of_levels(&module, Isa::X86_64, "unsigned_signed");
        let expected = |level: &str| zero_point > 0 && level == "x86-64-v4";
        assert!(of_bytes.iter().all(|(level, found)| *found == expected(level)), "case {number}: {of_bytes:?}");
        let dotprod = machine("aarch64+dotprod").expect("a level");
        let alone = pipeline::lower(&module, "module", lower::Options::new(dotprod)).expect("a schedule");
        let found = schedules(&alone.program).iter().any(|schedule| schedule.starts_with("depthwise, products of bytes in fours"));
        assert_eq!(found, zero_point > 0, "case {number}");
    }
}
