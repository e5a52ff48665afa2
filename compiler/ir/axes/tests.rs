//! Random instances of every operator, checked against the axes that they declare.

use super::*;
use crate::interpret::Interpreter;
use crate::random::{self, Options, Random};
use crate::*;
use std::collections::{HashMap, HashSet};

/// An instruction with the contents of its operands and results in a run.
struct Instance {
    operation: Operation,
    axes: Axes,
    operands: Vec<Tensor>,
    results: Vec<Tensor>,
}

/// The instructions of a random module that compute tensors from tensors alone.
fn instances(seed: u64) -> (Module, Vec<Instance>) {
    let options = Options { dynamic: false, ..Options::default() };
    let (module, inputs) = random::module(seed, &options);
    let main = module.methods[0].function;
    let function = &module.functions[main];
    let is_data = |value: &&Value| function.values[**value].ty.as_tensor().is_some();
    let mut tensors: HashMap<Value, Tensor> = function.params.iter().filter(is_data).copied().zip(inputs.iter().cloned()).collect();
    let mut record = |func: Func, inst: Inst, results: &[Tensor]| {
        if func == main {
            tensors.extend(function.insts[inst].results.iter().copied().zip(results.iter().cloned()));
        }
    };
    Interpreter::new(&module).run_with_trace(0, &inputs, &mut record).expect("random modules run");
    let instance = |&inst: &Inst| {
        let data = &function.insts[inst];
        let of = |list: &[Value]| {
            let whole = |t: &&Tensor| t.element.bits() >= 8;
            list.iter().filter(is_data).map(|v| tensors.get(v).filter(whole).cloned()).collect::<Option<Vec<_>>>()
        };
        let all_tensors = data.operands.iter().chain(&data.results).all(|v| is_data(&v));
        let usable = all_tensors && !data.operation.has_effect();
        let (operands, results) = of(&data.operands).zip(of(&data.results)).filter(|_| usable)?;
        Some(Instance { operation: data.operation.clone(), axes: data.axes(&module, function), operands, results })
    };
    let found = function.body.iter().filter_map(instance).collect();
    (module, found)
}

/// Evaluates an operator on other operands; `None` if it fails on these data.
fn compute(module: &Module, operation: &Operation, operands: &[Tensor]) -> Option<Vec<Tensor>> {
    let mut alone = Module { constants: module.constants.clone(), ..Module::default() };
    let mut b = FunctionBuilder::new(&mut alone, "alone");
    let params: Vec<Value> = operands.iter().map(|t| b.param(Type::Tensor(TensorType::of(t.element, &t.shape)), None)).collect();
    let results = b.inst(operation.clone(), &params).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
    let function = b.finish(results);
    Interpreter::new(&alone).run_function(function, operands, None).ok()
}

/// The bytes of a tensor with all NaN made equal, since no operation guarantees a certain NaN.
fn comparable(tensor: &Tensor) -> Vec<u8> {
    let (width, infinity) = match tensor.element {
        ElementType::F16 => (2, 0x7c00),
        ElementType::Bf16 => (2, 0x7f80),
        ElementType::F32 | ElementType::C64 => (4, 0x7f80_0000),
        ElementType::F64 => (8, 0x7ff0_0000_0000_0000),
        _ => return tensor.bytes.clone(),
    };
    let magnitude =
        |number: &[u8]| number.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)) & ((1 << (8 * width - 1)) - 1);
    let canonical = |number: &[u8]| if magnitude(number) > infinity { vec![255; width] } else { number.to_vec() };
    tensor.bytes.chunks(width).flat_map(canonical).collect()
}

/// The number of positions along an axis, and the bytes at one position of one line.
fn runs(tensor: &Tensor, axis: usize) -> (usize, usize) {
    let width = tensor.element.bits() as u64 / 8;
    let inner = tensor.shape[axis + 1..].iter().product::<u64>() * width;
    (tensor.shape[axis] as usize, inner as usize)
}

fn slice(tensor: &Tensor, axis: usize, position: usize) -> Tensor {
    let (extent, inner) = runs(tensor, axis);
    let lines = tensor.bytes.chunks_exact((extent * inner).max(1));
    let bytes = lines.flat_map(|line| line[position * inner..][..inner].to_vec()).collect();
    let mut shape = tensor.shape.clone();
    shape[axis] = 1;
    Tensor { element: tensor.element, shape, bytes }
}

/// Copies one slice of the tensor over another.
fn replaced(tensor: &Tensor, axis: usize, [from, to]: [usize; 2]) -> Tensor {
    let (extent, inner) = runs(tensor, axis);
    let mut changed = tensor.clone();
    for line in changed.bytes.chunks_exact_mut((extent * inner).max(1)) {
        line.copy_within(from * inner..(from + 1) * inner, to * inner);
    }
    changed
}

#[test]
fn a_slice_reaches_only_the_slices_that_its_axis_says() {
    let mut random = Random::new(7);
    let mut seen = HashSet::new();
    for seed in 0..400 {
        let (module, instances) = instances(seed);
        for Instance { operation, axes, operands, results } in instances {
            for (number, list) in axes.operands.iter().enumerate() {
                assert_eq!(list.len(), operands[number].shape.len(), "{operation:?}");
                for (axis, what) in list.iter().enumerate().filter(|_| !operands[number].bytes.is_empty()) {
                    let extent = operands[number].shape[axis] as usize;
                    let places = [random.below(extent), random.below(extent)];
                    let mut changed = operands.clone();
                    changed[number] = replaced(&operands[number], axis, places);
                    let Some(found) = compute(&module, &operation, &changed) else { continue };
                    let (at, reached): (usize, Box<dyn Fn(usize) -> bool>) = match *what {
                        Axis::Kept(at) => (at, Box::new(|position| position == places[1])),
                        Axis::Windowed(at, taps) => (at, Box::new(move |position| taps.sees(position as u64, places[1] as u64))),
                        _ => continue,
                    };
                    seen.insert(operation.op());
                    for (old, new) in results.iter().zip(&found) {
                        let same = |position: usize| comparable(&slice(old, at, position)) == comparable(&slice(new, at, position));
                        let wrong = (0..old.shape[at] as usize).find(|&position| !reached(position) && !same(position));
                        assert_eq!(wrong, None, "seed {seed}, operand {number}, axis {axis} ({what:?}) of {operation:?}");
                    }
                }
            }
        }
    }
    for op in [Op::Conv, Op::Window, Op::Pad, Op::Map, Op::Matmul, Op::Slice, Op::Concat, Op::Reshape, Op::Transpose, Op::Gather] {
        assert!(seen.contains(&op), "{op} was never tried");
    }
}

#[test]
fn an_operator_of_kept_slices_gives_slices() {
    let mut seen = HashSet::new();
    for seed in 0..400 {
        let (module, instances) = instances(seed);
        for Instance { operation, axes, operands, results } in instances {
            // Fields that hold extents would need other numbers.
            if operation.extents().next().is_some() || results.iter().any(|result| result.bytes.is_empty()) {
                continue;
            }
            for at in 0..results[0].shape.len() {
                let keepers: Vec<Option<usize>> = (0..operands.len()).map(|operand| axes.keeper(operand, at)).collect();
                if keepers.iter().all(Option::is_none) {
                    continue;
                }
                let position = results[0].shape[at] as usize - 1;
                let cut = |(operand, keeper): (&Tensor, &Option<usize>)| match keeper {
                    Some(axis) => slice(operand, *axis, position),
                    None => operand.clone(),
                };
                let slices: Vec<Tensor> = operands.iter().zip(&keepers).map(cut).collect();
                let found = compute(&module, &operation, &slices).unwrap_or_else(|| panic!("seed {seed}: {operation:?} fails"));
                let wanted = results.iter().map(|result| comparable(&slice(result, at, position)));
                assert!(wanted.eq(found.iter().map(comparable)), "seed {seed}: slices along axis {at} of {operation:?}");
                seen.insert(operation.op());
            }
        }
    }
    for op in [Op::Conv, Op::Window, Op::Map, Op::Matmul, Op::Concat, Op::Gather, Op::Scatter, Op::Scan, Op::Reduce, Op::Pad] {
        assert!(seen.contains(&op), "{op} was never tried");
    }
}

#[test]
fn what_moves_computes_nothing() {
    let mut seen = HashSet::new();
    for seed in 0..400 {
        let (_, instances) = instances(seed);
        for Instance { operation, axes, operands, results } in instances.into_iter().filter(|instance| instance.axes.moves) {
            let in_place = axes.places(0).is_some_and(|places| places.into_iter().eq(0..operands[0].shape.len()));
            let stays = operands.len() == 1 && operands[0].shape == results[0].shape && (axes.in_order || in_place);
            if stays {
                assert_eq!(operands[0].bytes, results[0].bytes, "seed {seed}: {operation:?}");
            }
            seen.insert((operation.op(), stays));
        }
    }
    for op in [Op::Reshape, Op::Transpose, Op::Broadcast, Op::Slice, Op::Pad, Op::MirrorPad, Op::Concat, Op::Gather] {
        assert!(seen.contains(&(op, false)) || seen.contains(&(op, true)), "{op} was never tried");
    }
    assert!(seen.iter().filter(|(_, stays)| *stays).count() > 2, "{seen:?}");
}

#[test]
fn what_is_picked_is_what_the_integers_name() {
    let mut seen = HashSet::new();
    for seed in 0..400 {
        for Instance { operation, operands, results, .. } in instances(seed).1 {
            let Some(axis) = operation.picked_along() else { continue };
            let numbers = operands[1].bytes.chunks_exact(operands[1].element.bits() as usize / 8);
            let named: Vec<i64> = numbers.map(|bytes| Scalar::from_bytes(operands[1].element, bytes).as_i64()).collect();
            let mut flat = results[0].clone();
            flat.shape.splice(axis..axis + operands[1].shape.len(), [named.len() as u64]);
            for (position, &index) in named.iter().enumerate() {
                let (found, expected) = (slice(&flat, axis, position), slice(&operands[0], axis, index as usize));
                assert_eq!(comparable(&found), comparable(&expected), "seed {seed}: {operation:?}");
            }
            seen.insert(operation.op());
        }
    }
    assert_eq!(seen, HashSet::from([Op::Gather]));
}

#[test]
fn taps_see_what_a_window_covers() {
    let taps = Taps { size: 3, stride: 2, dilation: 2, low: 1 };
    let seen: Vec<u64> = (0..10).filter(|&operand| taps.sees(1, operand)).collect();
    assert_eq!(seen, [1, 3, 5]);
    assert!(Taps::single(-1, -4).sees(3, 1));
}
