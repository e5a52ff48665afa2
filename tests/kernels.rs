//! Lowered programs in the interpreter of kernels, for every machine, even if this computer cannot run its code. Each kernel is valid and stays
//! inside its buffers, and outputs match the tensor interpreter.

#[allow(dead_code, reason = "other tests use the rest")]
mod chains;
mod convolutions;
mod hot_loops;
mod support;

use modelc::ir::interpret::Interpreter;
use modelc::ir::random::{self, Options};
use modelc::ir::text::{Constants, print_module};
use modelc::ir::{ElementType, ExpressionBuilder, FunctionBuilder, Module, Op, ScalarOp, Tensor, TensorType, Type};
use modelc::ir::{Extent, NanRule, Order, Reduction, RequantizeRule, Scalar, Summation, WindowGeometry};
use modelc::kernel::Lane;
use modelc::kernel::verify::verify;
use modelc::lower::{self};
use modelc::machine::{Isa, MACHINES, MICROCONTROLLERS, Machine};
use modelc::program::Program;
use modelc::{passes, pipeline};
use std::collections::BTreeMap;
use support::program::Memory;

/// Returns the machines of each object: each machine alone, and all levels of an instruction set together.
fn objects() -> Vec<Vec<&'static Machine>> {
    let mut objects: Vec<Vec<&Machine>> = MACHINES.iter().chain(MICROCONTROLLERS).map(|machine| vec![machine]).collect();
    for isa in [Isa::X86_64, Isa::Aarch64] {
        objects.push(MACHINES.iter().filter(|machine| machine.isa() == Some(isa)).collect());
    }
    objects
}

/// Formats the levels of an object.
fn names(machines: &[&Machine]) -> String {
    machines.iter().map(|machine| machine.level).collect::<Vec<_>>().join(",")
}

/// Lowers a module for the levels of an object, and compares each with the tensor interpreter. `Ok(Err(…))` is the reason why it has no
/// lowering.
fn check(module: &Module, inputs: &[Tensor], machines: &[&'static Machine]) -> Result<Result<(), String>, String> {
    let options = lower::Options::new(machines[0]);
    let lowered = match pipeline::lower_levels(module, "module", options, &machines[1..]) {
        Ok(lowered) => lowered,
        Err(diagnostics) => return Ok(Err(diagnostics.to_string())),
    };
    for level in lowered.levels() {
        check_level(module, inputs, level.program).map_err(|error| format!("{}: {error}", level.machine.level))?;
    }
    Ok(Ok(()))
}

/// Lowers and checks a module for every object.
fn check_everywhere(module: &Module, input: &Tensor, what: &str) {
    for machines in objects() {
        let result = check(module, std::slice::from_ref(input), &machines);
        assert_eq!(result, Ok(Ok(())), "{what} on {}", names(&machines));
    }
}

/// Compares two calls of a program with two of the tensor interpreter.
fn check_level(module: &Module, inputs: &[Tensor], program: &Program) -> Result<(), String> {
    for kernel in &program.kernels {
        verify(kernel).map_err(|error| format!("{error}\n{kernel}"))?;
    }
    let method = &program.methods[0];
    let mut memory = Memory::new(program);
    let mut interpreter = Interpreter::new(module);
    for call in 0..2 {
        let wanted = interpreter.run(0, inputs).map_err(|error| error.to_string())?;
        let found = memory.call(method, inputs).map_err(|error| format!("call {call}: {error}"))?;
        for (index, (bytes, wanted)) in found.into_iter().zip(&wanted).enumerate() {
            let found = Tensor { element: wanted.element, shape: wanted.shape.clone(), bytes };
            support::compare(&found, wanted, 1e-5).map_err(|error| format!("output {index} of call {call}: {error}"))?;
        }
    }
    Ok(())
}

/// Returns the number of seeds: `MODELC_SEEDS`.
fn seeds() -> u64 {
    std::env::var("MODELC_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

#[test]
fn random_modules_match_the_tensor_interpreter() {
    let elements = vec![ElementType::F32, ElementType::I8, ElementType::I32, ElementType::Bool];
    // These do not specify shift counts outside the width, which random operands contain; real models test them.
    let limited = |op: &ScalarOp| matches!(op, ScalarOp::RoundingDivideByPowerOfTwo | ScalarOp::Requantize(_));
    let scalar_operations = Options::exact_operations().into_iter().filter(|op| !limited(op)).collect();
    let operators = Options::exact_operators();
    let options = Options { instructions: 4, dynamic: false, elements, scalar_operations, operators };
    let objects = objects();
    let (mut good, mut unsupported) = (0, BTreeMap::<String, usize>::new());
    for seed in 0..seeds() {
        let (mut module, inputs) = random::module(seed, &options);
        passes::run_all(&mut module);
        let machines = &objects[seed as usize % objects.len()];
        match check(&module, &inputs, machines) {
            Ok(Ok(())) => good += 1,
            Ok(Err(why)) => *unsupported.entry(why.lines().next().unwrap_or_default().into()).or_default() += 1,
            Err(error) => panic!("seed {seed} on {}: {error}\n{}", names(machines), print_module(&module, Constants::Whole)),
        }
    }
    for (why, count) in &unsupported {
        println!("{count} times {why}");
    }
    println!("{good} match");
    // A third compiled when this was written; fewer means that an operator is no longer compiled.
    assert!(good * 5 >= seeds(), "only {good} of {} modules are compiled: {unsupported:#?}", seeds());
}

/// Diamonds, several results, rows.
#[test]
fn random_graphs_match_the_tensor_interpreter() {
    let objects = objects();
    for seed in 0..seeds() / 10 {
        let (mut module, inputs) = chains::graphs::module(seed);
        passes::run_all(&mut module);
        let machines = &objects[seed as usize % objects.len()];
        let checked = check(&module, &inputs, machines).and_then(|compiled| compiled);
        checked.unwrap_or_else(|error| panic!("seed {seed} on {}: {error}\n{}", names(machines), print_module(&module, Constants::Whole)));
    }
}

/// Extremes of saturated values are the same whether the values are stored or not.
#[test]
fn extremes_of_what_saturates_match_on_every_machine() {
    for (name, module, input) in chains::extremes::modules() {
        modelc::ir::verify(&module).unwrap_or_else(|error| panic!("{name}: {error}"));
        check_everywhere(&module, &input, &name);
    }
}

#[test]
fn fourier_transforms_of_every_length_match_on_every_machine() {
    for (op, length) in (0..10).flat_map(|n| [(Op::Fourier, 1u64 << n), (Op::RealFourier, 1 << n)]) {
        let shape = if op == Op::Fourier { vec![3, length, 2] } else { vec![3, length] };
        let count = shape.iter().product::<u64>();
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let input = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
        let result = if op == Op::Fourier { builder.fourier(input) } else { builder.real_fourier(input) };
        let result = result.unwrap_or_else(|error| panic!("{length}: {error}"));
        builder.finish_method("forward", vec![result]);
        let bytes = (0..count).flat_map(|i| ((i * i * 7919 % 1000) as f32 / 500.0 - 1.0).to_le_bytes()).collect();
        let inputs = [Tensor { element: ElementType::F32, shape, bytes }];
        for machine in MACHINES {
            let result = check(&module, &inputs, &[machine]);
            assert_eq!(result, Ok(Ok(())), "{op:?} of {length} on {}", machine.level);
        }
    }
}

#[test]
fn small_models_match_the_tensor_interpreter_on_every_machine() {
    let Some(folder) = support::corpus("tflite") else { return };
    for name in ["tflm-hello_world_int8", "tflm-hello_world_float", "tflm-micro_speech_quantized", "mlperftiny-ad01_int8"] {
        let path = folder.join(name).with_extension("tflite");
        let mut module = support::load(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        passes::run_all(&mut module);
        let recorded = support::recorded(&path, "inputs.npz").expect("recorded inputs");
        let function = &module.functions[module.methods[0].function];
        let inputs: Vec<Tensor> = (0..function.params.len()).filter_map(|i| recorded.input(0, i).cloned()).collect();
        for machines in objects() {
            let result = check(&module, &inputs, &machines);
            assert_eq!(result, Ok(Ok(())), "{name} on {}", names(&machines));
        }
    }
}

/// SplitMix64, as a function of the index.
fn number(i: u64) -> u64 {
    let z = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 29)
}

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
            for machine in MACHINES.iter().chain(MICROCONTROLLERS) {
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
        for machine in MACHINES.iter().chain(MICROCONTROLLERS) {
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
        for machine in MACHINES.iter().chain(MICROCONTROLLERS) {
            let what = format!("({first}, {second}) to {zero_point} with {gate:?} on {}", machine.level);
            assert_eq!(check(&module, &inputs, &[machine]), Ok(Ok(())), "{what}");
            let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("a map has a schedule");
            let text = lowered.program.kernels.iter().map(ToString::to_string).collect::<String>();
            let is_fitted = machine.requantize == modelc::machine::Requantize::Fitted;
            let is_of_products = machine.requantize == modelc::machine::Requantize::Products;
            assert!(!is_of_products || !text.contains("f32"), "{what}:\n{text}");
            assert!(!is_fitted || !text.lines().any(|line| line.contains(": i32x") && line.contains("= mul ")), "{what}:\n{text}");
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

/// Returns the bytes of each output of a program.
fn outputs(module: &Module, input: &Tensor, machine: &'static Machine) -> Vec<Vec<u8>> {
    let lowered = pipeline::lower(module, "module", lower::Options::new(machine)).expect("rows have a schedule");
    Memory::new(&lowered.program).call(&lowered.program.methods[0], std::slice::from_ref(input)).expect("a program that runs")
}

/// Makes a softmax of floats, scaled by an operand for each element of a row, and shifted by one for each row and by a scalar. Without the
/// first maximum it has one more sum, and the maximum is an output.
fn rows_of_floats(rows: u64, length: u64) -> Module {
    let mut module = Module::default();
    let numbers =
        |count: u64, first: u64| (0..count).flat_map(move |i| ((first + i) as f32 * 0.25 - 1.0).to_le_bytes()).collect::<Vec<u8>>();
    let [scales, moves, one] = [(vec![length], length, 3), (vec![rows, 1], rows, 1), (vec![1, 1], 1, 9)]
        .map(|(shape, count, first)| module.add_constant(TensorType::of(ElementType::F32, &shape), numbers(count, first).into()));
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let x = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[rows, length])), None);
    let map = |builder: &mut FunctionBuilder<'_>, op, operands: &[_]| {
        let mut e = ExpressionBuilder::new(&vec![ElementType::F32; operands.len()]);
        let inputs: Vec<_> = (0..operands.len()).map(|i| e.input(i)).collect();
        let result = e.op(op, &inputs).expect("floats");
        builder.map(operands, e.finish(vec![result])).expect("shapes that broadcast")
    };
    let greatest = builder.reduce(x, Reduction::Max, vec![1]).expect("two dimensions");
    let difference = map(&mut builder, ScalarOp::Sub, &[x, greatest]);
    let power = map(&mut builder, ScalarOp::Exp, &[difference]);
    let sum = builder.reduce(power, Reduction::Sum, vec![1]).expect("two dimensions");
    let share = map(&mut builder, ScalarOp::Div, &[power, sum]);
    let [scales, moves, one] = [scales, moves, one].map(|constant| builder.constant(constant).expect("a constant"));
    let scaled = map(&mut builder, ScalarOp::Mul, &[share, scales]);
    let moved = map(&mut builder, ScalarOp::Add, &[scaled, moves]);
    let moved = map(&mut builder, ScalarOp::Sub, &[moved, one]);
    builder.finish_method("forward", vec![moved, greatest]);
    module
}

/// Makes a power of each element, which may overwrite the element, beside the greatest element.
fn rows_in_place(rows: u64, length: u64) -> Module {
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let x = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &[rows, length])), None);
    let greatest = builder.reduce(x, Reduction::Max, vec![1]).expect("two dimensions");
    let mut e = ExpressionBuilder::new(&[ElementType::F32]);
    let element = e.input(0);
    let power = e.op(ScalarOp::Exp, &[element]).expect("floats");
    let power = builder.map(&[x], e.finish(vec![power])).expect("one operand");
    let mut e = ExpressionBuilder::new(&[ElementType::F32; 2]);
    let operands = [0, 1].map(|input| e.input(input));
    let sum = e.op(ScalarOp::Add, &operands).expect("floats");
    let sum = builder.map(&[power, greatest], e.finish(vec![sum])).expect("rows");
    builder.finish_method("forward", vec![sum]);
    module
}

/// Makes a lookup of the differences of bytes from the greatest of a row, divided by their sum.
fn rows_of_bytes(element: ElementType, rows: u64, length: u64) -> Module {
    let mut module = Module::default();
    let table = module.add_constant(
        TensorType::of(ElementType::I32, &[256]),
        (0..256).flat_map(|i| ((number(i) >> 40) as i32).to_le_bytes()).collect::<Vec<u8>>().into(),
    );
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let x = builder.param(Type::Tensor(TensorType::of(element, &[rows, length])), None);
    let greatest = builder.reduce(x, Reduction::Max, vec![1]).expect("two dimensions");
    let mut e = ExpressionBuilder::new(&[element; 2]);
    let [x_node, greatest_node] = [0, 1].map(|input| e.input(input));
    let distance = e.op(ScalarOp::Sub, &[greatest_node, x_node]).expect("bytes");
    let mut index = e.convert(distance, ElementType::I32);
    if element == ElementType::I8 {
        let zero = e.constant(Scalar::i32(128));
        index = e.op(ScalarOp::Add, &[index, zero]).expect("numbers of 32 bits");
    }
    let entry = e.lut(table, ElementType::I32, index);
    let entries = builder.map(&[x, greatest], e.finish(vec![entry])).expect("rows");
    let sum = builder.reduce(entries, Reduction::Sum, vec![1]).expect("two dimensions");
    let mut e = ExpressionBuilder::new(&[ElementType::I32, ElementType::I32, element]);
    let [entry, sum_node, x_node] = [0, 1, 2].map(|input| e.input(input));
    let seven = e.constant(Scalar::i32(7));
    let divisor = e.op(ScalarOp::ShiftRight, &[sum_node, seven]).expect("numbers of 32 bits");
    let quotient = e.op(ScalarOp::Div, &[entry, divisor]).expect("numbers of 32 bits");
    let wide = e.convert(x_node, ElementType::I32);
    let total = e.op(ScalarOp::Add, &[quotient, wide]).expect("numbers of 32 bits");
    let result = e.convert_saturating(total, element);
    let result = builder.map(&[entries, sum, x], e.finish(vec![result])).expect("rows");
    builder.finish_method("forward", vec![result, sum]);
    module
}

/// Short rows are side by side in lanes: rows that fill vectors, rows that do not, and more or fewer rows than are computed at once.
#[test]
fn short_rows_match_on_every_machine() {
    for (rows, length) in [(70, 2), (9, 3), (64, 4), (33, 10), (16, 16), (75, 16), (40, 17), (20, 33), (35, 64)] {
        let numbers = |count: u64| (0..count).map(number);
        let bytes = numbers(rows * length).flat_map(|n| ((n >> 40) as f32 / (1u64 << 21) as f32 - 4.0).to_le_bytes()).collect();
        let floats = Tensor { element: ElementType::F32, shape: vec![rows, length], bytes };
        check_everywhere(&rows_of_floats(rows, length), &floats, &format!("{rows} rows of {length} floats"));
        check_everywhere(&rows_in_place(rows, length), &floats, &format!("{rows} rows of {length} floats in place"));
        for element in [ElementType::I8, ElementType::U8] {
            let bytes = numbers(rows * length).map(|n| (n >> 20) as u8).collect();
            let input = Tensor { element, shape: vec![rows, length], bytes };
            check_everywhere(&rows_of_bytes(element, rows, length), &input, &format!("{rows} rows of {length} {element}"));
        }
    }
}

/// A row of floats alone gives the same bits as beside others.
#[test]
fn rows_side_by_side_give_the_bits_of_single_ones() {
    const ROWS: u64 = 21;
    for length in [2, 3, 5, 10, 17, 33, 63] {
        let bytes: Vec<u8> = (0..ROWS * length).flat_map(|i| ((number(i) >> 40) as f32 / (1u64 << 21) as f32).to_le_bytes()).collect();
        let tensor = |rows: u64, bytes: &[u8]| Tensor { element: ElementType::F32, shape: vec![rows, length], bytes: bytes.to_vec() };
        for machine in MACHINES {
            let together = outputs(&rows_of_floats(ROWS, length), &tensor(ROWS, &bytes), machine);
            let row = 4 * length as usize;
            let alone = outputs(&rows_of_floats(1, length), &tensor(1, &bytes[..row]), machine);
            assert_eq!(together[0][..row], alone[0], "{length} on {}", machine.level);
            assert_eq!(together[1][..4], alone[1], "{length} on {}", machine.level);
        }
    }
}

/// The best elements, in order: few enough for a register, and more. Many are equal, and floats may be NaN.
#[test]
fn best_elements_match_on_every_machine() {
    let elements = [ElementType::F32, ElementType::I8, ElementType::U8, ElementType::F16, ElementType::I64];
    for (element, order) in elements.into_iter().flat_map(|element| [Order::Largest, Order::Smallest].map(|order| (element, order))) {
        for (count, length) in [(1, 9), (2, 2), (3, 40), (5, 5), (8, 61), (16, 70), (17, 70)] {
            let shape = [3, length];
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
            let best = builder.top_k(input, order, Extent::Static(count)).expect("so many elements");
            builder.finish_method("forward", best.to_vec());
            let value = |i: u64| match ((number(i) >> 33) % 31, element) {
                (n, ElementType::F32) => (if n == 7 { f32::NAN } else { n as f32 - 9.0 }).to_le_bytes().to_vec(),
                (n, ElementType::F16) => (if n == 7 { half::f16::NAN } else { half::f16::from_f32(n as f32 - 9.0) }).to_le_bytes().to_vec(),
                (n, ElementType::I64) => (n as i64 - 9).to_le_bytes().to_vec(),
                (n, _) => vec![(n * 8) as u8],
            };
            let bytes = (0..3 * length).flat_map(value).collect();
            let input = Tensor { element, shape: shape.to_vec(), bytes };
            let what = format!("{count} of {length} {element}, {order:?}");
            check_everywhere(&module, &input, &what);
            for machine in MACHINES {
                let lowered = pipeline::lower(&module, "module", lower::Options::new(machine)).expect("top_k has a schedule");
                let in_order = lowered.program.kernels.iter().any(|kernel| kernel.to_string().contains("shuffle"));
                let most = machine.lanes((element.bits() / 8).max(4)).into();
                assert_eq!(in_order, machine.has_vector_registers() && (2..=most).contains(&count), "{what} on {}", machine.level);
            }
        }
    }
}

/// Matrices are transposed in squares, or their rows interleaved, with vectors as long as a machine selects lanes from.
#[test]
fn transposes_match_on_every_machine() {
    for element in [ElementType::I8, ElementType::I16, ElementType::F32, ElementType::I64] {
        for [rows, columns] in [[3, 40], [40, 3], [8, 21], [33, 8], [16, 18], [17, 35], [5, 64], [64, 5], [71, 37], [130, 81]] {
            let shape = [2, rows, columns];
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
            let turned = builder.transpose(input, vec![0, 2, 1]).expect("a permutation");
            builder.finish_method("forward", vec![turned]);
            let elements = shape.iter().product::<u64>();
            let bytes =
                (0..elements).flat_map(|i| (i as f32).to_le_bytes().into_iter().cycle().take(element.bits() as usize / 8)).collect();
            let input = Tensor { element, shape: shape.to_vec(), bytes };
            check_everywhere(&module, &input, &format!("{element} {rows}x{columns}"));
        }
    }
}

/// Rows with padding after each: as long as several vectors and a part of one, inside the operand, and too short for a vector.
#[test]
fn rows_with_a_border_match_on_every_machine() {
    for (columns, border, cut) in [(40, 5, 0), (64, 64, 0), (21, 1, 3), (3, 2, 0)] {
        for element in [ElementType::F32, ElementType::I8] {
            let shape = [1, 3, 4, columns];
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
            let value = if element == ElementType::F32 { Scalar::float(element, -2.5) } else { Scalar::int(element, -7) };
            let padded = builder.pad(input, vec![0, 0, 0, -cut], vec![0, 0, 0, border], value).expect("a border");
            builder.finish_method("forward", vec![padded]);
            let numbers = (0..shape.iter().product::<u64>()).map(|i| number(i) as i8);
            let bytes = match element {
                ElementType::F32 => numbers.flat_map(|n| f32::from(n).to_le_bytes()).collect(),
                _ => numbers.map(|n| n as u8).collect(),
            };
            let input = Tensor { element, shape: shape.to_vec(), bytes };
            check_everywhere(&module, &input, &format!("{element} {columns} and {border}"));
        }
    }
}

/// Windows whose sums depend strongly on the order: large numbers of both signs, which cancel, and small ones that are lost beside them. A
/// window has an even number of rows inside the input. The last is a loop, the others are unrolled.
#[test]
fn windows_are_summed_nine_at_a_time_on_every_machine() {
    for (size, padding) in [([4, 3], 2), ([8, 7], 0), ([8, 9], 2)] {
        let mut module = Module::default();
        let mut builder = FunctionBuilder::new(&mut module, "main");
        let shape = [1, 18, 16, 5];
        let input = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
        let geometry = WindowGeometry {
            strides: vec![2, 1],
            dilation: vec![1; 2],
            padding_low: vec![padding; 2],
            padding_high: vec![padding; 2],
            ..WindowGeometry::default()
        };
        let nines = builder.window_in(input, Reduction::Sum, Summation::Nines, size.to_vec(), geometry.clone()).expect("a sum");
        let rows = builder.window(input, Reduction::Sum, size.to_vec(), geometry).expect("a sum");
        builder.finish_method("forward", vec![nines, rows]);
        // Columns of large numbers whose signs alternate between rows.
        let element = |i: u64| match (i / 5 % 16, i / 80 % 2) {
            (2 | 9, 0) => 3e7,
            (2 | 9, _) => -3e7,
            _ => (i % 11) as f32 / 7.0,
        };
        let bytes = (0..shape.iter().product()).flat_map(|i| element(i).to_le_bytes()).collect();
        let input = Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes };
        let sums = Interpreter::new(&module).run(0, std::slice::from_ref(&input)).expect("the sums are taken");
        assert!(support::compare(&sums[0], &sums[1], 1e-5).is_err(), "the orders differ for {size:?}");
        check_everywhere(&module, &input, &format!("a window of {size:?}"));
    }
}

/// Extremes of bytes stay bytes. Windows at the edges are loops, others are unrolled. Channels fill registers in part.
#[test]
fn windows_of_bytes_are_reduced_on_every_machine() {
    let geometry = |strides: [i64; 2], dilation: [i64; 2], padding: [i64; 2]| WindowGeometry {
        strides: strides.to_vec(),
        dilation: dilation.to_vec(),
        padding_low: padding.to_vec(),
        padding_high: padding.to_vec(),
        ..WindowGeometry::default()
    };
    let cases = [
        ([2, 2], geometry([2, 2], [1, 1], [0, 0])),
        ([3, 3], geometry([1, 1], [1, 1], [1, 1])),
        ([3, 2], geometry([2, 1], [2, 3], [1, 2])),
        ([5, 5], geometry([1, 1], [1, 1], [2, 2])),
        ([6, 5], geometry([1, 2], [1, 1], [0, 3])),
    ];
    for ((size, geometry), element) in cases.iter().flat_map(|case| [ElementType::I8, ElementType::U8].map(|element| (case, element))) {
        for channels in [3, 70] {
            let mut module = Module::default();
            let mut builder = FunctionBuilder::new(&mut module, "main");
            let shape = [1, 7, 6, channels];
            let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
            let extremes = [Reduction::Max, Reduction::Min].map(|kind| {
                let extreme = builder.window(input, kind, size.to_vec(), geometry.clone()).expect("an extreme");
                let mut expression = ExpressionBuilder::new(&[element]);
                let byte = expression.input(0);
                let complement = expression.node(ScalarOp::Not, &[byte], element);
                let complement = builder.map(&[extreme], expression.finish(vec![complement])).expect("its complement");
                [extreme, complement]
            });
            builder.finish_method("forward", extremes.concat());
            let count = shape.iter().product::<u64>();
            let bytes = (0..count).map(|i| (i * i % 251 + i / 7) as u8).collect();
            let input = Tensor { element, shape: shape.to_vec(), bytes };
            check_everywhere(&module, &input, &format!("{element} {channels} channels, windows of {size:?}"));
        }
    }
}

/// A product that overflows before a zero is NaN, and one that underflows stays zero, for any number of lanes.
#[test]
fn products_of_floats_are_taken_in_order_on_every_machine() {
    let shape = [3, 2, 2, 20];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let input = builder.param(Type::Tensor(TensorType::of(ElementType::F32, &shape)), None);
    let product = builder.reduce(input, Reduction::Product, vec![1, 3]).expect("a product");
    builder.finish_method("forward", vec![product]);
    // Rows that overflow and then have a zero, rows that underflow and then grow, and rows that stay small.
    let element = |i: u64| match (i / 80, i % 80) {
        (0, 3..8) => 1e30,
        (0, 19 | 39 | 59 | 79) => 0.0,
        (1, 5..9 | 21..29) => 1e-30,
        (1, 60..72) => 1e30,
        _ => 1.0 + (i % 7) as f32 / 8.0,
    };
    let bytes = (0..shape.iter().product()).flat_map(|i| element(i).to_le_bytes()).collect();
    let input = Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes };
    for machines in objects() {
        assert_eq!(check(&module, std::slice::from_ref(&input), &machines), Ok(Ok(())), "on {}", names(&machines));
    }
}
