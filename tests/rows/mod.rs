//! Work along rows: reductions, windows, transposes, and the largest elements of a row.

use super::support::{self, program::Memory};
use super::{check, check_everywhere, names, number, objects};
use modelc::ir::interpret::Interpreter;
use modelc::ir::{ElementType, ExpressionBuilder, FunctionBuilder, Module, ScalarOp, Tensor, TensorType, Type};
use modelc::ir::{Extent, Order, Reduction, Scalar, Summation, WindowGeometry};
use modelc::lower;
use modelc::machine::{CpuMachine, MACHINES};
use modelc::pipeline;

/// Returns the bytes of each output of a program.
fn outputs(module: &Module, input: &Tensor, machine: &'static CpuMachine) -> Vec<Vec<u8>> {
    let lowered = pipeline::lower(module, "module", lower::Options::new(machine)).expect("rows have a schedule");
    Memory::new(&lowered.program).call(&lowered.program.methods[0], std::slice::from_ref(input)).expect("a program that runs")
}

/// Makes a softmax of floats. It is scaled by an operand for each element of a row, and shifted by one for each row and by a scalar. Without the
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

/// Short rows are side by side in lanes. Some rows fill vectors, others do not, and there are more or fewer rows than are computed at once.
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
                assert_eq!(in_order, machine.combines_lanes() && (2..=most).contains(&count), "{what} on {}", machine.level);
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
