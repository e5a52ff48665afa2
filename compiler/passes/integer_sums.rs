//! Integer sums for products of dequantized operands.
//!
//! Contract: `q` and `r` are bytes or less. A contraction of `s·(q − z)` and `t·(r − y)` is `s·t` times the sum of `(q − z)·(r − y)`.
//! That integer sum is exact. It is used if it fits in 32 bits for all values of the bytes.
//! The factors do not depend on the summed axes, so they are applied after the sum.
//! Float sums have no order in this language, and the exact sum is at most as far from the real one as any order's.
//!
//! If only the weights are dequantized, the contraction sums floats times stored weights, and the weights' factor is applied after it, too.
//! Packed weights of a product become rows of one block (`block_matmul`), if possible.
//!
//! If `z` is known only at run time, `z·Σ(r − y)` is subtracted after the sum. Then `r` must be constant, and no tap may be padding.

use super::dequantized::{Amount, Dequantized, Zero, dequantized};
use super::edit::{Edit, replace};
use crate::ir::*;

/// Applies the rewrite.
pub(super) fn run(module: &mut Module) -> bool {
    replace(module, |edit, inst| {
        let rewritten = edit.attempt(|edit| contraction(edit, inst)).or_else(|| weights_alone(edit, inst));
        Some(vec![rewritten?])
    })
}

/// The two operands of a contraction of floats.
struct Operands {
    left: Dequantized,
    right: Dequantized,
    /// The axes of the right operand that are summed: all but batches and the axis of the result's last dimension.
    depth: Vec<usize>,
}

fn contraction(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    if !sums_floats(&data.operation) {
        return None;
    }
    let padded = matches!(&data.operation, Operation::Conv(conv) if !is_dense(conv));
    let rank = edit.function.tensor(data.operands[1]).rank();
    let depth = if data.op() == Op::Conv { (1..rank).collect() } else { vec![rank - 1] };
    let left = dequantized(edit, data.operands[0])?;
    let right = dequantized(edit, data.operands[1])?;
    right.zero.known()?;
    let operands = Operands { left, right, depth };
    let unknown_zero = matches!(operands.left.zero, Zero::Tensor(_));
    if !fits(edit, &operands) || (unknown_zero && (padded || edit.moved_constant(operands.right.integers).is_none())) {
        return None;
    }
    let sums = edit.insert_one(summed(&data.operation, &operands)?, &[operands.left.integers, operands.right.integers])?;
    let result = scaled(edit, &operands, sums, data.op())?;
    (edit.function.tensor(result).shape == edit.function.tensor(data.results[0]).shape).then_some(result)
}

/// A contraction of floats with weights of bytes: their factor comes after the sum.
fn weights_alone(edit: &mut Edit<'_>, inst: Inst) -> Option<Value> {
    let data = edit.function.insts[inst].clone();
    let right = if sums_floats(&data.operation) { dequantized(edit, data.operands[1])? } else { return None };
    edit.moved_constant(right.integers)?;
    if data.op() == Op::Matmul && edit.function.tensor(right.integers).element.is_packed() {
        // A transpose of the constant is another constant when it has been folded.
        edit.constant_of(right.integers)?;
        if let Some(value) = edit.attempt(|edit| rows_of_one_block(edit, &data, &right)) {
            return Some(value);
        }
    }
    let weights = without_zero_point(edit, &right)?;
    let sums = edit.insert_one(data.operation.clone(), &[data.operands[0], weights])?;
    let mut factors = Factors::default();
    factors.add_right(edit, right.scale, data.op())?;
    let result = factors.times(edit, sums, None)?;
    (edit.function.tensor(result).shape == edit.function.tensor(data.results[0]).shape).then_some(result)
}

/// Returns the product of float rows and packed weights as a `block_matmul` with one block a row. `None` unless the weights have zero point 0.
fn rows_of_one_block(edit: &mut Edit<'_>, data: &InstData, right: &Dequantized) -> Option<Value> {
    let constant = &edit.module.constants[edit.constant_of(right.integers)?];
    let (element, weights) = (constant.ty.element, constant.data.clone());
    let shape = constant.ty.static_shape()?;
    let [batches @ .., units, depth] = &shape[..] else { return None };
    let (units, depth) = (*units, *depth);
    let is_one_block = depth > 0 && depth.is_multiple_of(operators::block_unit(element)) && batches.iter().all(|&n| n == 1);
    let is_of_singles = edit.function.tensor(data.operands[0]).element == ElementType::F32;
    if !is_one_block || !is_of_singles || !element.is_signed_integer() || right.zero.known()? != 0 {
        return None;
    }
    let scales = match right.scale {
        Amount::Number(number) => {
            let bytes: Vec<u8> = (0..units).flat_map(|_| number.to_le_bytes()).collect();
            edit.module.add_constant(TensorType::of(ElementType::F32, &[units, 1]), bytes.into())
        }
        Amount::Tensor(scale) => {
            let scales = &edit.module.constants[edit.constant_of(scale)?];
            let (scales, is_a_unit) = (scales.data.clone(), scales.ty.static_shape()?.ends_with(&[units, 1]));
            let is_of_singles = edit.function.tensor(scale).element == ElementType::F32 && scales.len() as u64 == 4 * units;
            (is_a_unit && is_of_singles).then_some(())?;
            edit.module.add_constant(TensorType::of(ElementType::F32, &[units, 1]), scales)
        }
    };
    let weights = edit.module.add_constant(TensorType::of(element, &[units, depth]), weights);
    let [weights, scales] = [weights, scales].map(|data| edit.insert_one(operators::Constant { data }, &[]));
    let value = edit.insert_one(operators::BlockMatmul { excess: false }, &[data.operands[0], weights?, scales?])?;
    (edit.function.tensor(value).shape == edit.function.tensor(data.results[0]).shape).then_some(value)
}

/// Returns weights in binary32 that are plain conversions of bytes. A zero point is subtracted from the constants, if signed bytes hold the
/// differences.
fn without_zero_point(edit: &mut Edit<'_>, right: &Dequantized) -> Option<Value> {
    let element = edit.function.tensor(right.integers).element;
    let zero = right.zero.known()?;
    let mut integers = right.integers;
    if zero != 0 && element.is_packed() {
        // Contractions subtract it as they read the weights.
        (!edit.module.open_constants).then_some(())?;
        return edit.insert_one(operators::Map { expression: difference(element, zero, ElementType::F32)? }, &[integers]);
    }
    if zero != 0 {
        // Other constants may take the place of open ones, and these have the zero point in them.
        (!edit.module.open_constants).then_some(())?;
        let ((low, high), (least, greatest)) = (element.integer_range()?, ElementType::I8.integer_range()?);
        (low - i128::from(zero) >= least && high - i128::from(zero) <= greatest).then_some(())?;
        let difference = difference(element, zero, ElementType::I8)?;
        integers = edit.insert_one(operators::Map { expression: difference }, &[integers])?;
    }
    let mut b = ExpressionBuilder::new(&[edit.function.tensor(integers).element]);
    let x = b.input(0);
    let x = b.convert(x, ElementType::F32);
    edit.insert_one(operators::Map { expression: b.finish(vec![x]) }, &[integers])
}

/// An integer less a zero point, taken in 32 bits.
fn difference(element: ElementType, zero: i64, result: ElementType) -> Option<Expression> {
    let mut b = ExpressionBuilder::new(&[element]);
    let x = b.input(0);
    let (x, zero) = (b.convert(x, ElementType::I32), b.constant(Scalar::int(ElementType::I32, zero)));
    let x = b.op(ScalarOp::Sub, &[x, zero]).ok()?;
    let x = b.convert(x, result);
    Some(b.finish(vec![x]))
}

/// Tests whether an operator is a contraction that sums in binary32.
fn sums_floats(operation: &Operation) -> bool {
    match operation {
        Operation::Conv(conv) => conv.accumulator == ElementType::F32,
        Operation::Matmul(matmul) => matmul.accumulator == ElementType::F32,
        _ => false,
    }
}

/// Tests whether every tap of every window lies on an element of the input.
fn is_dense(conv: &operators::Conv) -> bool {
    let geometry = &conv.geometry;
    let none = |list: &[i64]| list.iter().all(|&n| n == 0);
    none(&geometry.padding_low)
        && none(&geometry.padding_high)
        && geometry.positions.is_empty()
        && conv.input_dilation.iter().all(|&n| n == 1)
}

/// Tests whether no sum overflows 32 bits: the product of the largest differences, times the number of terms.
fn fits(edit: &Edit<'_>, operands: &Operands) -> bool {
    let Operands { left, right, depth } = operands;
    let shape = &edit.function.tensor(right.integers).shape;
    let terms = depth.iter().try_fold(1u64, |n, &axis| n.checked_mul(shape[axis].as_static()?));
    let types = [left, right].map(|operand| edit.function.tensor(operand.integers).element);
    let largest = [left, right].map(|operand| operand.largest_difference(edit));
    let most = terms.and_then(|n| n.checked_mul(largest[0].checked_mul(largest[1])?));
    types[0] == types[1].unpacked() && most.is_some_and(|most| most <= i32::MAX as u64)
}

/// The contraction of the integers.
fn summed(operation: &Operation, operands: &Operands) -> Option<Operation> {
    let zeros = [&operands.left, &operands.right].map(|operand| operand.zero.known().unwrap_or(0));
    Some(match operation {
        Operation::Conv(conv) => {
            let (input_zero_point, filter_zero_point) = (zeros[0], zeros[1]);
            operators::Conv { input_zero_point, filter_zero_point, accumulator: ElementType::I32, ..conv.clone() }.into()
        }
        Operation::Matmul(_) => {
            operators::Matmul { left_zero_point: zeros[0], right_zero_point: zeros[1], accumulator: ElementType::I32, ..Default::default() }
                .into()
        }
        _ => return None,
    })
}

/// Integer sums as floats: an unknown zero point's part taken off, times the factors.
fn scaled(edit: &mut Edit<'_>, operands: &Operands, sums: Value, op: Op) -> Option<Value> {
    let Operands { left, right, depth } = operands;
    let mut factors = Factors::default();
    factors.add_left(edit, left.scale)?;
    factors.add_right(edit, right.scale, op)?;
    factors.joined(edit)?;
    let zero = match left.zero {
        Zero::Known(_) => None,
        Zero::Tensor(zero) => Some([beside_rows(edit, zero)?, weight_sums(edit, right, depth, op)?]),
    };
    factors.times(edit, sums, zero)
}

/// The factors of a contraction's result.
#[derive(Default)]
struct Factors {
    number: Option<f32>,
    /// Tensors that broadcast over the result.
    tensors: Vec<Value>,
}

impl Factors {
    fn add_number(&mut self, factor: f32) {
        self.number = Some(self.number.map_or(factor, |number| number * factor));
    }

    fn add_left(&mut self, edit: &mut Edit<'_>, factor: Amount) -> Option<()> {
        match factor {
            Amount::Number(number) => self.add_number(number),
            Amount::Tensor(tensor) => self.tensors.push(beside_rows(edit, tensor)?),
        }
        Some(())
    }

    fn add_right(&mut self, edit: &mut Edit<'_>, factor: Amount, op: Op) -> Option<()> {
        match factor {
            Amount::Number(number) => self.add_number(number),
            Amount::Tensor(tensor) => self.tensors.push(beside_columns(edit, tensor, op)?),
        }
        Some(())
    }

    /// A number and a constant tensor are multiplied when the model is compiled.
    fn joined(&mut self, edit: &mut Edit<'_>) -> Option<()> {
        let constant = self.tensors.iter_mut().find(|tensor| edit.moved_constant(**tensor).is_some());
        if let (Some(number), Some(tensor)) = (self.number, constant) {
            let mut b = ExpressionBuilder::new(&[edit.function.tensor(*tensor).element]);
            let (x, number) = (b.input(0), b.constant(Scalar::f32(number)));
            let x = b.convert(x, ElementType::F32);
            let product = b.op(ScalarOp::Mul, &[x, number]).ok()?;
            *tensor = edit.insert_one(operators::Map { expression: b.finish(vec![product]) }, &[*tensor])?;
            self.number = None;
        }
        Some(())
    }

    /// Multiplies sums in binary32 by the factors. If `zero` is given, a zero point times sums of weights is subtracted first.
    fn times(&self, edit: &mut Edit<'_>, sums: Value, zero: Option<[Value; 2]>) -> Option<Value> {
        let read: Vec<Value> = std::iter::once(sums).chain(zero.into_iter().flatten()).chain(self.tensors.iter().copied()).collect();
        let elements: Vec<ElementType> = read.iter().map(|&v| edit.function.tensor(v).element).collect();
        let mut b = ExpressionBuilder::new(&elements);
        let mut x = b.input(0);
        if zero.is_some() {
            let (zero, weights) = (b.input(1), b.input(2));
            let zero = b.convert(zero, ElementType::I32);
            let part = b.op(ScalarOp::Mul, &[zero, weights]).ok()?;
            x = b.op(ScalarOp::Sub, &[x, part]).ok()?;
        }
        x = b.convert(x, ElementType::F32);
        let tensors = (read.len() - self.tensors.len()..read.len()).map(|i| {
            let factor = b.input(i);
            b.convert(factor, ElementType::F32)
        });
        let mut factors: Vec<Node> = tensors.collect();
        factors.extend(self.number.map(|number| b.constant(Scalar::f32(number))));
        for factor in factors {
            x = b.op(ScalarOp::Mul, &[x, factor]).ok()?;
        }
        edit.insert_one(operators::Map { expression: b.finish(vec![x]) }, &read)
    }
}

/// Reshapes a parameter of the left operand to broadcast over the result. It must not vary along the depth, whose place the result's last dimension
/// takes.
fn beside_rows(edit: &mut Edit<'_>, parameter: Value) -> Option<Value> {
    let shape = edit.static_shape(parameter);
    match shape {
        Some(shape) if shape.iter().all(|&n| n == 1) => reshaped(edit, parameter, &[]),
        _ => {
            let ty = edit.function.tensor(parameter);
            (ty.shape.last() == Some(&Extent::Static(1))).then_some(parameter)
        }
    }
}

/// Reshapes a parameter of the right operand to broadcast over the result. The result's last dimension is a filter's first, or a matrix's last but
/// one.
fn beside_columns(edit: &mut Edit<'_>, parameter: Value, op: Op) -> Option<Value> {
    let shape = edit.static_shape(parameter)?;
    let count = shape.iter().product();
    match (op, shape.len()) {
        _ if count == 1 => reshaped(edit, parameter, &[]),
        (Op::Conv, _) => (shape[0] == count).then(|| reshaped(edit, parameter, &[count]))?,
        (_, rank) if rank >= 2 && shape[rank - 1] == 1 => {
            let mut shape = shape;
            shape.swap(rank - 1, rank - 2);
            reshaped(edit, parameter, &shape)
        }
        _ => None,
    }
}

/// Computes `Σ(r − y)` over the depth, shaped to broadcast over the result, as a row of ones times the weights.
fn weight_sums(edit: &mut Edit<'_>, right: &Dequantized, depth: &[usize], op: Op) -> Option<Value> {
    let ty = edit.function.tensor(right.integers);
    let (element, shape) = (ty.element, ty.static_shape()?);
    let count: u64 = depth.iter().map(|&axis| shape[axis]).product();
    let rows = if op == Op::Conv { reshaped(edit, right.integers, &[shape[0], count])? } else { right.integers };
    let ones = vec![1; usize::try_from(count).ok()?];
    let ones = edit.module.add_constant(TensorType::of(element.unpacked(), &[1, count]), ones.into());
    let ones = edit.insert_one(operators::Constant { data: ones }, &[])?;
    let product = operators::Matmul {
        left_zero_point: 0,
        right_zero_point: right.zero.known()?,
        accumulator: ElementType::I32,
        ..Default::default()
    };
    edit.insert_one(product, &[ones, rows])
}

fn reshaped(edit: &mut Edit<'_>, value: Value, shape: &[u64]) -> Option<Value> {
    let shape = shape.iter().map(|&n| Extent::Static(n)).collect();
    edit.insert_one(operators::Reshape { shape }, &[value])
}
