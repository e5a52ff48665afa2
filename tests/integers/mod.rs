//! Element-wise work on integers: scaled sums and products, saturation, and tables of bytes.

use super::{check, names, number, objects};
use modelc::ir::{
    ElementType, ExpressionBuilder, FunctionBuilder, Module, NanRule, RequantizeRule, Scalar, ScalarOp, Tensor, TensorType, Type,
};
use modelc::kernel::Lane;
use modelc::lower;
use modelc::machine::MACHINES;
use modelc::pipeline;

/// Factors that differ between rows are not factors of channels.
#[test]
fn requantization_by_a_factor_an_element_matches_on_every_machine() {
    let shape = [3, 5];
    for shift in [-9, 0, 13] {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let ty = TensorType::of(ElementType::I32, &shape);
        let numbers = |first: u64| (0..15).flat_map(move |i| ((number(first + i) >> 40) as i32).to_le_bytes()).collect::<Vec<u8>>();
        let input = builder.param(Type::Tensor(ty.clone()), None);
        let factors = builder.literal(ty, numbers(0)).expect("factors");
        let mut expression = ExpressionBuilder::new(&[ElementType::I32, ElementType::I32]);
        let (x, factor, count) = (expression.input(0), expression.input(1), expression.constant(Scalar::i32(shift)));
        let scaled = expression.op(ScalarOp::Requantize(RequantizeRule::TfliteDouble), &[x, factor, count]).expect("numbers of 32 bits");
        let result = builder.map(&[input, factors], expression.finish(vec![scaled])).expect("a map");
        builder.finish_method("forward", vec![result]);
        let input = Tensor { element: ElementType::I32, shape: shape.to_vec(), bytes: numbers(99) };
        for machines in objects() {
            assert_eq!(check(&module, std::slice::from_ref(&input), &machines), Ok(Ok(())), "{shift} on {}", names(&machines));
        }
    }
}

/// Sums scaled by binary64 factors, halves away from zero: one factor for all or one a channel. Some products are halves only after rounding,
/// and others are just below halves. Results are bytes, and 16-bit numbers, which are too many for thresholds.
#[test]
fn sums_scaled_in_binary64_match_on_every_machine() {
    // Products by the first three are halves; for some, only after rounding.
    let factors = [0.5, 1.0 / 6.0, 0.1, 1.0 / 3.0, 3.5, 0.002_979_507_770_665_836, 1e-9, 1e-20];
    let sums = |i: u64| match i % 4 {
        0 => (number(i) >> 32) as i32,
        1 => (i as i32 - 300) * 3,
        2 => (i as i32 - 300) * 5,
        _ => [i32::MIN, i32::MAX, -1, 0][i as usize / 4 % 4],
    };
    let shape = [80, factors.len() as u64];
    let bytes = (0..8 * shape[0]).flat_map(|i| sums(i).to_le_bytes()).collect();
    let input = Tensor { element: ElementType::I32, shape: shape.to_vec(), bytes };
    for (element, (low, high), only) in
        [(ElementType::I8, (-128, 127), true), (ElementType::I16, (-32_768, 32_767), true), (ElementType::I16, (-32_768, 32_767), false)]
    {
        for factors in if only { factors.iter().map(|&factor| vec![factor]).collect() } else { vec![factors.to_vec()] } {
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let sums = builder.param(Type::Tensor(TensorType::of(ElementType::I32, &shape)), None);
            let of_channels = factors.iter().flat_map(|factor: &f64| factor.to_le_bytes()).collect();
            let of_channels = builder.literal(TensorType::of(ElementType::F64, &[1, factors.len() as u64]), of_channels).expect("factors");
            let mut e = ExpressionBuilder::new(&[ElementType::I32, ElementType::F64]);
            let (x, of_channel) = (e.input(0), e.input(1));
            let factor = if only { e.constant(Scalar::float(ElementType::F64, factors[0])) } else { of_channel };
            let x = e.convert(x, ElementType::F64);
            let product = e.op(ScalarOp::Mul, &[x, factor]).expect("numbers of binary64");
            let rounded = e.op(ScalarOp::RoundAway, &[product]).expect("a number of binary64");
            let mut x = e.convert(rounded, ElementType::I32);
            for (op, number) in [(ScalarOp::Max(NanRule::First), low), (ScalarOp::Min(NanRule::First), high)] {
                let number = e.constant(Scalar::i32(number));
                x = e.op(op, &[x, number]).expect("numbers of 32 bits");
            }
            let narrow = e.convert(x, element);
            let result = builder.map(&[sums, of_channels], e.finish(vec![narrow])).expect("a map");
            builder.finish_method("forward", vec![result]);
            for machine in crate::support::machines() {
                let what = format!("{element} by {factors:?} on {}", machine.level);
                assert_eq!(check(&module, std::slice::from_ref(&input), &[machine]), Ok(Ok(())), "{what}");
                let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("a map has a schedule");
                let is_of_products = machine.requantize == modelc::machine::Requantize::Products;
                let holds = |lane: Lane| lowered.program.kernels.iter().any(|kernel| kernel.types.iter().any(|ty| ty.lane == lane));
                assert!(!is_of_products || !holds(Lane::F64), "{what}");
            }
        }
    }
}

/// All pairs of bytes, scaled, added or subtracted, and scaled again, as in quantized additions.
#[test]
fn sums_of_scaled_bytes_match_on_every_machine() {
    let shape = [256, 256];
    let half = (4, 1 << 30, 0, 1_098_017_566, -17);
    // Scales that differ by little cannot be represented in binary32.
    let alike = (-1, 2_144_018_359, -1, 1_074_999_088, -19);
    let cases = [
        (ScalarOp::Add, (1_623_821_475, -2, -128), half),
        (ScalarOp::Add, (1_907_000_001, -2, 17), half),
        (ScalarOp::Sub, (1_262_626_262, -2, -3), half),
        (ScalarOp::Sub, (1 << 30, 0, 5), alike),
    ];
    for (op, (multiplier, shift, zero_point), second) in cases {
        let (second_zero_point, second_multiplier, second_shift, last_multiplier, last_shift) = second;
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let ty = TensorType::of(ElementType::I8, &shape);
        let inputs = [0, 1].map(|_| builder.param(Type::Tensor(ty.clone()), None));
        let mut e = ExpressionBuilder::new(&[ElementType::I8; 2]);
        let scale = |e: &mut ExpressionBuilder, x, multiplier, shift| {
            let [multiplier, shift] = [multiplier, shift].map(|n| e.constant(Scalar::i32(n)));
            e.op(ScalarOp::Requantize(RequantizeRule::TfliteDouble), &[x, multiplier, shift]).expect("numbers of 32 bits")
        };
        let number = |e: &mut ExpressionBuilder, op, x, n| {
            let number = e.constant(Scalar::i32(n));
            e.op(op, &[x, number]).expect("numbers of 32 bits")
        };
        let terms = [(0, zero_point, multiplier, shift), (1, second_zero_point, second_multiplier, second_shift)];
        let terms = terms.map(|(input, zero_point, multiplier, shift)| {
            let x = e.input(input);
            let wide = e.convert(x, ElementType::I32);
            let moved = number(&mut e, ScalarOp::Sub, wide, zero_point);
            let shifted = number(&mut e, ScalarOp::ShiftLeft, moved, 20);
            scale(&mut e, shifted, multiplier, shift)
        });
        let sum = e.op(op, &terms).expect("numbers of 32 bits");
        let scaled = scale(&mut e, sum, last_multiplier, last_shift);
        let moved = number(&mut e, ScalarOp::Add, scaled, zero_point);
        let above = number(&mut e, ScalarOp::Max(NanRule::First), moved, -128);
        let clamped = number(&mut e, ScalarOp::Min(NanRule::First), above, 127);
        let narrow = e.convert(clamped, ElementType::I8);
        let result = builder.map(&inputs, e.finish(vec![narrow])).expect("tensors of one shape");
        builder.finish_method("forward", vec![result]);
        let bytes = |value: fn(u32) -> u32| (0..1 << 16).map(|i| value(i) as u8).collect();
        let inputs = [bytes(|i| i >> 8), bytes(|i| i)].map(|bytes| Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes });
        for machine in crate::support::machines() {
            assert_eq!(check(&module, &inputs, &[machine]), Ok(Ok(())), "{op:?} by {multiplier} on {}", machine.level);
            let options = lower::Options::new(machine);
            let lowered = pipeline::lower(&module, "module", options).expect("a map has a schedule");
            let is_fitted = machine.requantize == modelc::machine::Requantize::Fitted;
            let text = lowered.program.kernels.iter().map(ToString::to_string).collect::<String>();
            let found = [text.contains("fma"), text.contains("high_mul")];
            let is_by_rule = machine.requantize == modelc::machine::Requantize::ByRule;
            assert_eq!(found, [is_fitted && second == half, is_by_rule], "{op:?} by {multiplier} on {}", machine.level);
        }
    }
}

/// Extremes of narrow integers, of tensors, of numbers and of channels, alone and before arithmetic. They are taken in the stored type.
#[test]
fn extremes_of_narrow_integers_match_on_every_machine() {
    let elements = [ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16];
    for (element, length) in elements.into_iter().flat_map(|element| [1, 33, 200].map(|length| (element, length))) {
        let shapes = [vec![3, length], vec![3, length], vec![1, length]];
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let inputs = shapes.each_ref().map(|shape| builder.param(Type::Tensor(TensorType::of(element, shape)), None));
        let mut e = ExpressionBuilder::new(&[element; 3]);
        let [x, y, z] = [0, 1, 2].map(|input| e.input(input));
        let least = e.constant(Scalar::int(element, 100));
        let above = e.op(ScalarOp::Max(NanRule::First), &[x, least]).expect("one type");
        let below = e.op(ScalarOp::Min(NanRule::First), &[above, y]).expect("one type");
        let larger = e.op(ScalarOp::Max(NanRule::First), &[y, z]).expect("one type");
        let wide = [below, larger].map(|node| e.convert(node, ElementType::I32));
        let sum = e.op(ScalarOp::Add, &wide).expect("numbers of 32 bits");
        let results = builder.map_many(&inputs, e.finish(vec![below, larger, sum])).expect("tensors that fit");
        builder.finish_method("forward", results);
        let tensor = |shape: &Vec<u64>, salt: u64| {
            let numbers = (0..shape.iter().product::<u64>()).map(|i| number(i + salt) >> 30);
            let bytes = numbers.flat_map(|n| n.to_le_bytes().into_iter().take(element.bits() as usize / 8)).collect();
            Tensor { element, shape: shape.clone(), bytes }
        };
        let inputs = [tensor(&shapes[0], 0), tensor(&shapes[1], 1 << 20), tensor(&shapes[2], 1 << 21)];
        for machine in MACHINES {
            let what = format!("{length} of {element} on {}", machine.level);
            assert_eq!(check(&module, &inputs, &[machine]), Ok(Ok(())), "{what}");
            let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("a map has a schedule");
            let text = lowered.program.kernels.iter().map(ToString::to_string).collect::<String>();
            let lane = if element.bits() == 8 { "i8" } else { "i16" };
            let is_extreme = |line: &str| ["_max ", "_min "].iter().any(|name| line.contains(name));
            let of_lane = |line: &str| line.split(": ").nth(1).is_some_and(|ty| ty.starts_with(lane));
            let mut extremes = text.lines().filter(|line| is_extreme(line) && !line.contains(": i64"));
            assert!(extremes.clone().count() >= 3 && extremes.all(of_lane), "{what}:\n{text}");
        }
    }
}

/// All pairs of bytes, multiplied and scaled, as in quantized multiplications: of two tensors, and of a tensor with a gate of each channel.
/// Results have one sign, or both.
#[test]
fn scaled_products_of_bytes_match_on_every_machine() {
    let cases = [(3, -128, 1_600_000_003, -7, 2, -128), (-128, -128, 1_098_017_566, -8, -128, -128), (-1, 5, 1 << 30, -5, 0, 0)];
    let gates = [[1, 256], [256, 256]];
    for ((first, second, multiplier, shift, zero_point, least), gate) in cases.into_iter().flat_map(|case| gates.map(|gate| (case, gate))) {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let shapes = [[256, 256], gate];
        let inputs = shapes.map(|shape| builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), None));
        let mut e = ExpressionBuilder::new(&[ElementType::I8; 2]);
        let number = |e: &mut ExpressionBuilder, op, x, n| {
            let number = e.constant(Scalar::i32(n));
            e.op(op, &[x, number]).expect("numbers of 32 bits")
        };
        let factors = [(0, first), (1, second)].map(|(input, zero_point)| {
            let x = e.input(input);
            let wide = e.convert(x, ElementType::I32);
            number(&mut e, ScalarOp::Sub, wide, zero_point)
        });
        let product = e.op(ScalarOp::Mul, &factors).expect("numbers of 32 bits");
        let [multiplier, shift] = [multiplier, shift].map(|n| e.constant(Scalar::i32(n)));
        let rule = ScalarOp::Requantize(RequantizeRule::TfliteDouble);
        let scaled = e.op(rule, &[product, multiplier, shift]).expect("numbers of 32 bits");
        let moved = number(&mut e, ScalarOp::Add, scaled, zero_point);
        let above = number(&mut e, ScalarOp::Max(NanRule::First), moved, least);
        let clamped = number(&mut e, ScalarOp::Min(NanRule::First), above, 127);
        let narrow = e.convert(clamped, ElementType::I8);
        let result = builder.map(&inputs, e.finish(vec![narrow])).expect("tensors that fit");
        builder.finish_method("forward", vec![result]);
        let bytes = |shape: [u64; 2], value: fn(u64) -> u64| {
            let bytes = (0..shape[0] * shape[1]).map(|i| value(i) as u8).collect();
            Tensor { element: ElementType::I8, shape: shape.to_vec(), bytes }
        };
        let inputs = [bytes(shapes[0], |i| i >> 8), bytes(shapes[1], |i| i)];
        for machine in crate::support::machines() {
            let what = format!("({first}, {second}) to {zero_point} with {gate:?} on {}", machine.level);
            assert_eq!(check(&module, &inputs, &[machine]), Ok(Ok(())), "{what}");
            let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("a map has a schedule");
            let text = lowered.program.kernels.iter().map(ToString::to_string).collect::<String>();
            let is_fitted = machine.requantize == modelc::machine::Requantize::Fitted;
            let is_of_products = machine.requantize == modelc::machine::Requantize::Products;
            assert!(!is_of_products || !text.contains("f32"), "{what}:\n{text}");
            // The steps of the rule take products of integers where they are shorter.
            let of_floats = is_fitted && !machine.doubling_products;
            assert!(!of_floats || !text.lines().any(|line| line.contains(": i32x") && line.contains("= mul ")), "{what}:\n{text}");
        }
    }
}

/// Signed and unsigned bytes are looked up, alone and beside arithmetic; a clamped sum is looked up, too. Vectors have all lengths. Machines
/// with tables in registers use the stored bytes.
#[test]
fn bytes_are_looked_up_on_every_machine() {
    for (element, first) in [(ElementType::I8, 128), (ElementType::U8, 0)] {
        for length in [1, 7, 16, 33, 64, 100, 700] {
            let mut module = Module::default();
            let entries = |salt: u64| (0..256).map(|i| (number(i + salt) >> 30) as u8).collect::<Vec<u8>>();
            let tables =
                [element, ElementType::I8].map(|to| module.add_constant(TensorType::of(to, &[256]), entries(to.bits().into()).into()));
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let types = [element, ElementType::I8];
            let inputs = types.map(|ty| builder.param(Type::Tensor(TensorType::of(ty, &[length])), None));
            let mut e = ExpressionBuilder::new(&types);
            let [x, y] = [0, 1].map(|input| e.input(input));
            let number_of = |e: &mut ExpressionBuilder, op, x, n| {
                let number = e.constant(Scalar::i32(n));
                e.op(op, &[x, number]).expect("numbers of 32 bits")
            };
            let wide = e.convert(x, ElementType::I32);
            let index = if first == 0 { wide } else { number_of(&mut e, ScalarOp::Add, wide, first) };
            let alone = e.lut(tables[0], element, index);
            let terms = [alone, y].map(|term| e.convert(term, ElementType::I32));
            let sum = e.op(ScalarOp::Add, &terms).expect("numbers of 32 bits");
            let above = number_of(&mut e, ScalarOp::Max(NanRule::First), sum, -128);
            let clamped = number_of(&mut e, ScalarOp::Min(NanRule::First), above, 127);
            let narrow = e.convert(clamped, ElementType::I8);
            let wide = e.convert(narrow, ElementType::I32);
            let index = number_of(&mut e, ScalarOp::Add, wide, 128);
            let after = e.lut(tables[1], ElementType::I8, index);
            let expression = e.finish(vec![alone, after]);
            let results = builder.map_many(&inputs, expression).expect("tensors of one shape");
            builder.finish_method("forward", results);
            let bytes = |salt: u64| (0..length).map(|i| (number(i + salt) >> 20) as u8).collect();
            let inputs = [bytes(1 << 20), bytes(1 << 21)].into_iter().zip(types);
            let inputs: Vec<Tensor> = inputs.map(|(bytes, element)| Tensor { element, shape: vec![length], bytes }).collect();
            for machine in MACHINES {
                assert_eq!(check(&module, &inputs, &[machine]), Ok(Ok(())), "{length} of {element} on {}", machine.level);
                let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("a map has a schedule");
                let by_bytes = lowered.program.kernels.iter().any(|kernel| kernel.to_string().contains("+ 128] proven"));
                assert_eq!(by_bytes, machine.byte_tables, "{length} of {element} on {}", machine.level);
            }
        }
    }
}
