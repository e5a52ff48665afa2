//! Small programs on inputs with run-time extents. For each size the interpreter must give PyTorch's results.

mod control;
mod cortex_m;
mod images;

use super::data_file::DataFile;
use super::program::{EValue, Form, Instruction, Plan, Storage, TensorMeta};
use super::shared::Shared;
use super::{reader, translate};
use crate::diagnostic::Diagnostic;
use crate::frontend::{Bound, LoadOptions};
use crate::ir::interpret::Interpreter;
use crate::ir::text::{Constants, parse_module, print_module};
use crate::ir::{ElementType, Extent, Module, Tensor};
use std::sync::Arc;

/// A method that is put together value by value.
#[derive(Default)]
struct Program {
    values: Vec<EValue>,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    operators: Vec<String>,
    instructions: Vec<Instruction>,
    /// Bytes of constants, which stand in a file beside the program.
    constants: Vec<(String, Vec<u8>)>,
}

impl Program {
    fn value(&mut self, value: EValue) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    fn int(&mut self, n: i64) -> usize {
        self.value(EValue::Int(n))
    }

    fn ints(&mut self, registers: &[usize]) -> usize {
        self.value(EValue::Ints(registers.to_vec()))
    }

    fn tensor(&mut self, element: ElementType, shape: &[u64], dynamic: bool) -> usize {
        let form = Form::row_major(element, shape.to_vec());
        self.value(EValue::Tensor(TensorMeta { form, storage: Storage::Unplanned, dynamic, name: None }))
    }

    fn constant(&mut self, element: ElementType, shape: &[u64], bytes: Vec<u8>) -> usize {
        let name = format!("constant {}", self.constants.len());
        self.constants.push((name.clone(), bytes));
        let form = Form::row_major(element, shape.to_vec());
        self.value(EValue::Tensor(TensorMeta { form, storage: Storage::External(name), dynamic: false, name: None }))
    }

    /// The first bytes of planned memory. If they are read before they are written, they are a state.
    fn planned(&mut self, element: ElementType, shape: &[u64]) -> usize {
        let form = Form::row_major(element, shape.to_vec());
        let storage = Storage::Planned { memory_id: 1, offset: 0, initial: None };
        self.value(EValue::Tensor(TensorMeta { form, storage, dynamic: false, name: None }))
    }

    fn input(&mut self, element: ElementType, shape: &[u64], dynamic: bool) -> usize {
        let register = self.tensor(element, shape, dynamic);
        self.inputs.push(register);
        register
    }

    fn output(&mut self, element: ElementType, shape: &[u64]) -> usize {
        let register = self.tensor(element, shape, true);
        self.outputs.push(register);
        register
    }

    fn call(&mut self, operator: &str, args: &[usize]) {
        self.operators.push(operator.to_owned());
        self.instructions.push(Instruction::Kernel { operator: self.operators.len() - 1, args: args.to_vec() });
    }

    /// The extent of an input's dimension in a register.
    fn size(&mut self, input: usize, dimension: i64) -> usize {
        let (dimension, size) = (self.int(dimension), self.int(0));
        self.call("aten::sym_size.int", &[input, dimension, size]);
        size
    }

    fn module_with(self, options: &LoadOptions) -> Result<Module, Vec<Diagnostic>> {
        // An empty table, which is a sound program without contents.
        let bytes = [&12u32.to_le_bytes()[..], b"ET12", &[4, 0, 4, 0], &4i32.to_le_bytes()].concat();
        let Self { values, inputs, outputs, operators, instructions, constants } = self;
        let constants = DataFile::of(constants.into_iter().map(|(name, bytes)| (name, bytes.into())));
        let mut shared = Shared::new(reader::File::open(Arc::new(bytes)).unwrap(), options, vec![constants], &[]);
        let name = "forward".to_owned();
        let plan = Plan {
            name,
            values,
            inputs,
            outputs,
            operators,
            delegates: vec![],
            instructions,
            area_bytes: vec![0, 64],
            drawn: None,
            traced: vec![],
        };
        let (module, faults) = translate(&mut shared, &[plan]).map_err(|fault| vec![fault])?;
        if faults.is_empty() { Ok(module) } else { Err(faults) }
    }

    fn module(self) -> Module {
        let module = self.module_with(&LoadOptions::default()).unwrap_or_else(|faults| panic!("{faults:#?}"));
        crate::ir::verify::verify(&module).unwrap_or_else(|error| panic!("{error}"));
        module
    }
}

fn longs(shape: &[u64], numbers: impl IntoIterator<Item = i64>) -> Tensor {
    let bytes = numbers.into_iter().flat_map(i64::to_le_bytes).collect();
    Tensor { element: ElementType::I64, shape: shape.to_vec(), bytes }
}

fn numbers(tensor: &Tensor) -> Vec<i64> {
    tensor.bytes.chunks_exact(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn run(module: &Module, inputs: &[Tensor]) -> Result<Tensor, String> {
    Interpreter::new(module).run(0, inputs).map(|mut outputs| outputs.remove(0)).map_err(|error| error.to_string())
}

/// The elements of Python's slice of `count` elements.
fn sliced(count: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Vec<i64> {
    let clip = |n: i64| (if n < 0 { n + count } else { n }).clamp(0, count);
    let (start, end) = (clip(start.unwrap_or(0)), clip(end.unwrap_or(count)));
    (start..end).step_by(step as usize).collect()
}

/// The dimensions of inputs that vary, and their bounds.
fn varying(module: &Module) -> Vec<(usize, usize, i64)> {
    let function = &module.functions[module.methods[0].function];
    let mut varying = Vec::new();
    for (input, &param) in function.params.iter().take(module.methods[0].inputs.len()).enumerate() {
        for (dimension, &extent) in function.tensor(param).shape.iter().enumerate() {
            if let Extent::Value(_) = function.resolved(extent) {
                varying.push((input, dimension, function.interval(extent).high));
            }
        }
    }
    varying
}

#[test]
fn slices_of_a_run_time_extent_are_those_of_python() {
    for (start, end, step) in [
        (None, None, 1),
        (Some(-3), None, 1),
        (Some(2), Some(-1), 1),
        (None, Some(3), 1),
        (Some(1), Some(6), 2),
        (Some(-1), None, 1),
        (Some(5), Some(2), 1),
    ] {
        let mut p = Program::default();
        let x = p.input(ElementType::I64, &[8], true);
        let bound = |p: &mut Program, n: Option<i64>| match n {
            Some(n) => p.int(n),
            None => p.value(EValue::None),
        };
        let (axis, from, to, by) = (p.int(0), bound(&mut p, start), bound(&mut p, end), p.int(step));
        let y = p.output(ElementType::I64, &[8]);
        p.call("aten::slice_copy.Tensor_out", &[x, axis, from, to, by, y, y]);
        let module = p.module();
        for count in 1..=8 {
            let found = run(&module, &[longs(&[count], 0..count as i64)]).unwrap();
            let expected = sliced(count as i64, start, end, step);
            assert_eq!((found.shape[0], numbers(&found)), (expected.len() as u64, expected), "{start:?}..{end:?} by {step} of {count}");
        }
    }
}

#[test]
fn slices_end_where_a_tensor_says() {
    // x[: end], and x[start : start + 2], where an input holds end and start.
    let mut p = Program::default();
    let (x, at) = (p.input(ElementType::I64, &[8], false), p.input(ElementType::I64, &[], false));
    let (axis, zero, one, two) = (p.int(0), p.int(0), p.int(1), p.int(2));
    let (position, end) = (p.int(0), p.int(0));
    p.call("aten::_local_scalar_dense", &[at, position]);
    p.call("executorch_prim::add.Scalar", &[position, two, end]);
    let (first, second) = (p.output(ElementType::I64, &[8]), p.output(ElementType::I64, &[2]));
    p.call("aten::slice_copy.Tensor_out", &[x, axis, zero, position, one, first, first]);
    p.call("aten::slice_copy.Tensor_out", &[x, axis, position, end, one, second, second]);
    let module = p.module();
    let x = longs(&[8], 0..8);
    for at in -9..=9 {
        let outputs = Interpreter::new(&module).run(0, &[x.clone(), longs(&[], [at])]);
        if !(0..=6).contains(&at) {
            assert!(outputs.is_err(), "two elements from {at}");
            continue;
        }
        let outputs = outputs.unwrap();
        assert_eq!(numbers(&outputs[0]), sliced(8, None, Some(at), 1));
        assert_eq!(numbers(&outputs[1]), [at, at + 1]);
    }
}

#[test]
fn a_slice_may_end_before_the_beginning() {
    let mut p = Program::default();
    let (x, at) = (p.input(ElementType::I64, &[8], true), p.input(ElementType::I64, &[], false));
    let (axis, zero, one, position) = (p.int(0), p.int(0), p.int(1), p.int(0));
    p.call("aten::_local_scalar_dense", &[at, position]);
    let y = p.output(ElementType::I64, &[8]);
    p.call("aten::slice_copy.Tensor_out", &[x, axis, zero, position, one, y, y]);
    let module = p.module();
    for count in 1..=8 {
        for at in -10..=10 {
            let found = run(&module, &[longs(&[count], 0..count as i64), longs(&[], [at])]).unwrap();
            assert_eq!(numbers(&found), sliced(count as i64, None, Some(at), 1), "[:{at}] of {count}");
        }
    }
}

#[test]
fn selected_positions_count_from_the_end() {
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[8, 3], true);
    let (axis, position) = (p.int(0), p.int(-2));
    let y = p.output(ElementType::I64, &[3]);
    p.call("aten::select_copy.int_out", &[x, axis, position, y, y]);
    let module = p.module();
    for count in 1..=8u64 {
        let found = run(&module, &[longs(&[count, 3], 0..3 * count as i64)]);
        match count {
            1 => assert!(found.is_err(), "there is no last but one of one"),
            _ => assert_eq!(numbers(&found.unwrap())[0], 3 * (count as i64 - 2)),
        }
    }
}

#[test]
fn views_take_extents_and_an_open_size() {
    // [s, 6] as [2·s, 3], then as [s, 2, 3], then as [-1].
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[5, 6], true);
    let s = p.size(x, 0);
    let (open, two, three, twice) = (p.int(-1), p.int(2), p.int(3), p.int(0));
    p.call("executorch_prim::mul.Scalar", &[s, two, twice]);
    let lists = [p.ints(&[twice, three]), p.ints(&[s, two, three]), p.ints(&[open])];
    let (a, b) = (p.tensor(ElementType::I64, &[10, 3], true), p.tensor(ElementType::I64, &[5, 2, 3], true));
    let y = p.output(ElementType::I64, &[30]);
    p.call("aten::view_copy.out", &[x, lists[0], a, a]);
    p.call("executorch_prim::et_view.default", &[a, lists[1], b]);
    p.call("aten::view_copy.out", &[b, lists[2], y, y]);
    let module = p.module();
    assert_eq!(varying(&module), [(0, 0, 5)], "six columns, or the views would not fit");
    for count in 1..=5u64 {
        let found = run(&module, &[longs(&[count, 6], 0..6 * count as i64)]).unwrap();
        assert_eq!((found.shape.clone(), numbers(&found)), (vec![6 * count], (0..6 * count as i64).collect()));
    }
}

#[test]
fn ranges_fills_and_sums_follow_extents() {
    // arange(1, s, 2) + full([…], 10), whose extents are computed twice.
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[9], true);
    let s = p.size(x, 0);
    let (one, two, ten) = (p.int(1), p.int(2), p.int(10));
    let range = p.tensor(ElementType::I64, &[4], true);
    p.call("aten::arange.start_out", &[one, s, two, range, range]);
    // ⌊s ÷ 2⌋ is as many.
    let half = p.int(0);
    p.call("executorch_prim::floordiv.int", &[s, two, half]);
    let list = p.ints(&[half]);
    let filled = p.output(ElementType::I64, &[4]);
    p.call("aten::full.out", &[list, ten, filled, filled]);
    p.outputs.insert(0, range);
    let module = p.module();
    for count in 1..=9i64 {
        let outputs = Interpreter::new(&module).run(0, &[longs(&[count as u64], 0..count)]).unwrap();
        assert_eq!(numbers(&outputs[0]), (1..count).step_by(2).collect::<Vec<_>>());
        assert_eq!(numbers(&outputs[1]), vec![10; count as usize / 2]);
    }
}

#[test]
fn operators_tell_which_dimensions_vary() {
    // Both inputs are [s, 4]: the first has the smaller bound, and the expansion fixes the second one's columns to 4.
    let mut p = Program::default();
    let (x, y) = (p.input(ElementType::I64, &[6, 4], true), p.input(ElementType::I64, &[8, 4], true));
    let z = p.input(ElementType::I64, &[4], false);
    let alpha = p.int(1);
    let (sum, all) = (p.tensor(ElementType::I64, &[6, 4], true), p.output(ElementType::I64, &[6, 4]));
    p.call("aten::add.out", &[x, y, alpha, sum, sum]);
    p.call("aten::add.out", &[sum, z, alpha, all, all]);
    let module = p.module();
    assert_eq!(varying(&module), [(0, 0, 6), (1, 0, 6)]);
    let (a, b) = (longs(&[3, 4], 0..12), longs(&[3, 4], 100..112));
    let found = run(&module, &[a.clone(), b, longs(&[4], [0; 4])]).unwrap();
    assert_eq!(numbers(&found), (0..12).map(|i| 100 + 2 * i).collect::<Vec<_>>());
    assert!(run(&module, &[a, longs(&[2, 4], 0..8), longs(&[4], [0; 4])]).is_err(), "three rows and two");
}

#[test]
fn users_narrow_and_fix() {
    let program = || {
        let mut p = Program::default();
        let x = p.input(ElementType::I64, &[6, 4], true);
        let y = p.output(ElementType::I64, &[6, 4]);
        p.call("aten::abs.out", &[x, y, y]);
        p
    };
    let bound = |dimension, most| Bound { is_output: false, port: 0, dimension, most };
    let with = |bounds: &[Bound], shapes: &[(usize, Vec<u64>)]| LoadOptions {
        bounds: bounds.to_vec(),
        shapes: shapes.to_vec(),
        ..LoadOptions::default()
    };
    let open = |options: &LoadOptions| program().module_with(options).map(|module| varying(&module));
    assert_eq!(open(&with(&[], &[])), Ok(vec![(0, 0, 6), (0, 1, 4)]));
    assert_eq!(open(&with(&[bound(0, 3)], &[])), Ok(vec![(0, 0, 3), (0, 1, 4)]));
    assert_eq!(open(&with(&[], &[(0, vec![5, 4])])), Ok(vec![]));
    assert_eq!(open(&with(&[bound(0, 3)], &[(0, vec![6, 4])])), Ok(vec![(0, 0, 3)]));
    assert!(open(&with(&[bound(0, 7)], &[])).is_err());
    assert!(open(&with(&[], &[(0, vec![7, 4])])).is_err());
}

#[test]
fn extents_that_cannot_be_equal_are_an_error_that_says_what_to_do() {
    // [s] and [2·s] do not broadcast, whatever s is.
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[4], true);
    let (axis, alpha) = (p.int(0), p.int(1));
    let list = p.value(EValue::Tensors(vec![x, x]));
    let (twice, y) = (p.tensor(ElementType::I64, &[8], true), p.output(ElementType::I64, &[8]));
    p.call("aten::cat.out", &[list, axis, twice, twice]);
    p.call("aten::add.out", &[x, twice, alpha, y, y]);
    let faults = p.module_with(&LoadOptions::default()).unwrap_err();
    assert!(faults.iter().any(|fault| fault.help.as_deref().is_some_and(|help| help.contains("--shape"))), "{faults:#?}");
}

#[test]
fn extents_that_only_a_call_makes_equal_are_compared_when_it_runs() {
    // x[2:] + y, of up to ten and eight elements.
    let mut p = Program::default();
    let (x, y) = (p.input(ElementType::I64, &[10], true), p.input(ElementType::I64, &[8], true));
    let (axis, from, none, step, alpha) = (p.int(0), p.int(2), p.value(EValue::None), p.int(1), p.int(1));
    let (rest, sum) = (p.tensor(ElementType::I64, &[10], true), p.output(ElementType::I64, &[10]));
    p.call("aten::slice_copy.Tensor_out", &[x, axis, from, none, step, rest, rest]);
    p.call("aten::add.out", &[rest, y, alpha, sum, sum]);
    let module = p.module();
    assert_eq!(varying(&module).len(), 2);
    for count in [1, 4, 8] {
        let found = run(&module, &[longs(&[count + 2], 0..count as i64 + 2), longs(&[count], 0..count as i64)]).unwrap();
        assert_eq!(numbers(&found), (0..count as i64).map(|i| 2 * i + 2).collect::<Vec<_>>());
    }
    assert!(run(&module, &[longs(&[5], 0..5), longs(&[4], 0..4)]).is_err(), "three and four");
}

#[test]
fn an_integer_that_is_read_is_at_most_what_its_tensor_has_room_for() {
    // 0, 2, 4, … below n, of at most five numbers: n is at most ten.
    let mut p = Program::default();
    let n = p.input(ElementType::I64, &[], false);
    let (start, step, count) = (p.int(0), p.int(2), p.int(0));
    let y = p.output(ElementType::I64, &[5]);
    p.call("aten::_local_scalar_dense", &[n, count]);
    p.call("aten::arange.start_out", &[start, count, step, y, y]);
    let module = p.module();
    let function = &module.functions[module.methods[0].function];
    let extent = function.tensor(function.results[0]).shape[0];
    assert_eq!(function.interval(function.resolved(extent)).high, 5);
    for count in [0, 1, 7, 10] {
        let found = run(&module, &[longs(&[], [count])]).unwrap();
        assert_eq!(numbers(&found), (0..count).step_by(2).collect::<Vec<_>>());
    }
    assert!(run(&module, &[longs(&[], [11])]).is_err(), "six numbers");
}

#[test]
fn a_border_cuts_off_what_an_input_has_and_adds_to_the_rest() {
    for (low, high) in [(-2, 1), (-1, -2), (1, -3), (0, -1)] {
        let mut p = Program::default();
        let (x, least) = (p.input(ElementType::I64, &[8], true), (-low.min(0) - high.min(0)) as u64);
        let amounts = [low, high].map(|amount| p.int(amount));
        let (amounts, filler, y) = (p.ints(&amounts), p.int(7), p.output(ElementType::I64, &[(8 + low + high) as u64]));
        p.call("aten::constant_pad_nd.out", &[x, amounts, filler, y, y]);
        let module = p.module();
        for count in least..=8 {
            let found = run(&module, &[longs(&[count], 0..count as i64)]).unwrap();
            let inside = |i: i64| if (0..count as i64).contains(&i) { i } else { 7 };
            let expected: Vec<i64> = (-low..count as i64 + high).map(inside).collect();
            assert_eq!(numbers(&found), expected, "{low} and {high} of {count}");
        }
    }
}

#[test]
fn two_elements_of_an_input_need_what_lies_before_their_end() {
    // x[start:end] + y, of two elements. `least` is the lower bound of x's extent, not the upper one. `first` is the first of the two, of `count`.
    type First = fn(i64) -> i64;
    let rows: [(Option<i64>, Option<i64>, u64, First); 3] =
        [(None, Some(2), 2, |_| 0), (Some(3), Some(5), 5, |_| 3), (Some(-2), None, 2, |count| count - 2)];
    for (start, end, least, first) in rows {
        let mut p = Program::default();
        let (x, y) = (p.input(ElementType::I64, &[8], true), p.input(ElementType::I64, &[2], false));
        let [start_value, end_value] = [start, end].map(|at| p.value(at.map_or(EValue::None, EValue::Int)));
        let (axis, step, alpha) = (p.int(0), p.int(1), p.int(1));
        // Between two numbers the exporter knows how many there are.
        let is_open = start.is_none() || end.is_none();
        let (cut, sum) = (p.tensor(ElementType::I64, &[2], is_open), p.output(ElementType::I64, &[2]));
        p.call("aten::slice_copy.Tensor_out", &[x, axis, start_value, end_value, step, cut, cut]);
        p.call("aten::add.out", &[cut, y, alpha, sum, sum]);
        let module = p.module();
        assert_eq!(varying(&module), [(0, 0, 8)]);
        for count in least..=8 {
            let found = run(&module, &[longs(&[count], 0..count as i64), longs(&[2], [10, 20])]).unwrap();
            let first = first(count as i64);
            assert_eq!(numbers(&found), [first + 10, first + 21], "{start:?}:{end:?} of {count}");
        }
        assert!(run(&module, &[longs(&[least - 1], 0..least as i64 - 1), longs(&[2], [10, 20])]).is_err(), "{start:?}:{end:?}");
    }
}

#[test]
fn joined_extents_that_are_equal_only_for_one_extent_of_an_input_fix_it() {
    // [a + m] and [3 + m] have to be equal: a is 3.
    let mut p = Program::default();
    let (x, y) = (p.input(ElementType::I64, &[4], true), p.input(ElementType::I64, &[5], true));
    let three = p.input(ElementType::I64, &[3], false);
    let (axis, alpha) = (p.int(0), p.int(1));
    let lists = [p.value(EValue::Tensors(vec![x, y])), p.value(EValue::Tensors(vec![three, y]))];
    let joined = lists.map(|list| {
        let joined = p.tensor(ElementType::I64, &[9], true);
        p.call("aten::cat.out", &[list, axis, joined, joined]);
        joined
    });
    let sum = p.output(ElementType::I64, &[9]);
    p.call("aten::add.out", &[joined[0], joined[1], alpha, sum, sum]);
    let module = p.module();
    assert_eq!(varying(&module), [(1, 0, 5)]);
    let found = run(&module, &[longs(&[3], 0..3), longs(&[2], [5, 6]), longs(&[3], 10..13)]).unwrap();
    assert_eq!(numbers(&found), [10, 12, 14, 10, 12]);
}

#[test]
fn products_of_extents_are_equal_in_any_order() {
    // [b, s, 6] as [-1, 3] has 2·b·s rows, and ⌊(s·b)·12 ÷ 6⌋ is the same number.
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[3, 5, 6], true);
    let (b, s) = (p.size(x, 0), p.size(x, 1));
    let (open, three, six, twelve, product, many, rows) = (p.int(-1), p.int(3), p.int(6), p.int(12), p.int(0), p.int(0), p.int(0));
    p.call("executorch_prim::mul.Scalar", &[s, b, product]);
    p.call("executorch_prim::mul.Scalar", &[product, twelve, many]);
    p.call("executorch_prim::floordiv.int", &[many, six, rows]);
    let lists = [p.ints(&[open, three]), p.ints(&[rows, three]), p.ints(&[b, s, six])];
    let (left, right) = (p.tensor(ElementType::I64, &[30, 3], true), p.tensor(ElementType::I64, &[30, 3], true));
    let whole = p.tensor(ElementType::I64, &[3, 5, 6], true);
    p.call("executorch_prim::et_view.default", &[x, lists[2], whole]);
    p.call("executorch_prim::et_view.default", &[whole, lists[0], left]);
    p.call("executorch_prim::et_view.default", &[whole, lists[1], right]);
    let (alpha, y) = (p.int(1), p.output(ElementType::I64, &[30, 3]));
    p.call("aten::add.out", &[left, right, alpha, y, y]);
    let module = p.module();
    assert_eq!(varying(&module), [(0, 0, 3), (0, 1, 5)]);
    let found = run(&module, &[longs(&[2, 4, 6], 0..48)]).unwrap();
    assert_eq!((found.shape.clone(), numbers(&found)), (vec![16, 3], (0..48).map(|i| 2 * i).collect::<Vec<_>>()));
}

#[test]
fn an_open_size_makes_extents_of_inputs_equal() {
    // [b, s] as [-1, t], where the other input is [c, t]: their sum needs b = c, and s = t.
    let mut p = Program::default();
    let (x, y) = (p.input(ElementType::I64, &[3, 5], true), p.input(ElementType::I64, &[3, 5], true));
    let (open, t) = (p.int(-1), p.size(y, 1));
    let list = p.ints(&[open, t]);
    let view = p.tensor(ElementType::I64, &[3, 5], true);
    p.call("executorch_prim::et_view.default", &[x, list, view]);
    let (alpha, sum) = (p.int(1), p.output(ElementType::I64, &[3, 5]));
    p.call("aten::add.out", &[view, y, alpha, sum, sum]);
    let module = p.module();
    assert_eq!(varying(&module).len(), 4);
    let found = run(&module, &[longs(&[2, 4], 0..8), longs(&[2, 4], 0..8)]).unwrap();
    assert_eq!(numbers(&found), (0..8).map(|i| 2 * i).collect::<Vec<_>>());
    assert!(run(&module, &[longs(&[2, 4], 0..8), longs(&[4, 2], 0..8)]).is_err(), "two rows and four");
}

#[test]
fn extents_that_are_halved_and_doubled_again_are_even() {
    // Every other one of s, twice, is 2·⌈s ÷ 2⌉: as many as s where that is even.
    let mut p = Program::default();
    let x = p.input(ElementType::I64, &[7], true);
    let (none, axis, step, alpha) = (p.value(EValue::None), p.int(0), p.int(2), p.int(1));
    let half = p.tensor(ElementType::I64, &[4], true);
    let list = p.value(EValue::Tensors(vec![half, half]));
    let (twice, y) = (p.tensor(ElementType::I64, &[8], true), p.output(ElementType::I64, &[7]));
    p.call("aten::slice_copy.Tensor_out", &[x, axis, none, none, step, half, half]);
    p.call("aten::cat.out", &[list, axis, twice, twice]);
    p.call("aten::add.out", &[x, twice, alpha, y, y]);
    let module = p.module();
    assert_eq!((varying(&module), module.methods[0].inputs[0].multiples.clone()), (vec![(0, 0, 6)], vec![2]));
    let text = print_module(&module, Constants::Whole);
    assert_eq!(print_module(&parse_module(&text).unwrap(), Constants::Whole), text);
    let found = run(&module, &[longs(&[4], 0..4)]).unwrap();
    assert_eq!(numbers(&found), [0, 3, 2, 5]);
    assert!(run(&module, &[longs(&[5], 0..5)]).is_err(), "five of them");
}

#[test]
fn every_other_element_is_written_over() {
    for (start, end, step) in [(None, None, 2), (Some(1), None, 3), (Some(-3), Some(-1), 2), (Some(5), Some(2), 2)] {
        let written = sliced(7, start, end, step);
        let mut p = Program::default();
        let x = p.input(ElementType::I64, &[2, 7], false);
        let source = p.input(ElementType::I64, &[2, written.len() as u64], false);
        let bound = |p: &mut Program, n: Option<i64>| match n {
            Some(n) => p.int(n),
            None => p.value(EValue::None),
        };
        let (axis, from, to, by) = (p.int(1), bound(&mut p, start), bound(&mut p, end), p.int(step));
        let y = p.output(ElementType::I64, &[2, 7]);
        p.call("aten::slice_scatter.out", &[x, source, axis, from, to, by, y, y]);
        let count = written.len() as u64;
        let found = run(&p.module(), &[longs(&[2, 7], 0..14), longs(&[2, count], (0..2 * count as i64).map(|i| 100 + i))]).unwrap();
        let mut expected: Vec<i64> = (0..14).collect();
        for (from, &at) in written.iter().enumerate() {
            (expected[at as usize], expected[7 + at as usize]) = (100 + from as i64, 100 + (written.len() + from) as i64);
        }
        assert_eq!(numbers(&found), expected, "{start:?}..{end:?} by {step}");
    }
}
