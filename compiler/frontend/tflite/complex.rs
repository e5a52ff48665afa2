//! Complex numbers, inside as pairs of floats in a last dimension: REAL, IMAG, COMPLEX_ABS, RFFT2D and products; BITCAST.

use super::binary::Binary;
use super::error::invalid;
use super::operator::{Lowered, Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Node, Scalar, ScalarOp, Value};
use crate::operators::joins;
use crate::operators::terms::{Term, Terms};
use ElementType::{C64, C128, F32, F64};

/// A reinterpretation of the bytes as elements of another type.
pub(super) fn bitcast(operator: &mut Operator<'_, '_, '_>, value: Value, element: ElementType) -> Result<Value, Diagnostic> {
    Ok(operator.builder().bitcast(value, element)?)
}

/// Real parts (0) or imaginary parts (1) of complex numbers.
pub(super) fn part(operator: &mut Operator<'_, '_, '_>, input: &Operand, index: u64) -> Result<Value, Diagnostic> {
    let pairs = parts(operator, input.value)?;
    let g = operator.graph();
    let parts = g.slice_along(pairs, input.rank(), Extent::Static(index), Extent::Static(1))?;
    Ok(g.reshape(parts, &input.extents)?)
}

/// Complex numbers as floats with a last dimension of two.
pub(super) fn parts(operator: &mut Operator<'_, '_, '_>, value: Value) -> Result<Value, Diagnostic> {
    let part = operator.builder().tensor(value).element.part();
    bitcast(operator, value, part)
}

/// The `c64` of binary32 parts in a last dimension of two.
pub(super) fn from_parts(operator: &mut Operator<'_, '_, '_>, pairs: Value) -> Result<Value, Diagnostic> {
    bitcast(operator, pairs, C64)
}

/// Complex numbers from real and imaginary parts, which have one shape and type.
fn join(operator: &mut Operator<'_, '_, '_>, parts: [Value; 2]) -> Result<Value, Diagnostic> {
    let mut shape = operator.extents_of(parts[0]);
    let rank = shape.len();
    shape.push(Extent::Static(1));
    let mut columns = Vec::new();
    for part in parts {
        columns.push(operator.reshape_to(part, &shape)?);
    }
    let pairs = operator.builder().concat(&columns, rank)?;
    from_parts(operator, pairs)
}

/// The `c64` of binary32 real parts.
pub(super) fn from_real(operator: &mut Operator<'_, '_, '_>, value: Value) -> Result<Value, Diagnostic> {
    let mut shape = operator.extents_of(value);
    let mut high = vec![0; shape.len()];
    shape.push(Extent::Static(1));
    high.push(1);
    let column = operator.reshape_to(value, &shape)?;
    let pairs = operator.graph().pad(column, &vec![0; high.len()], &high, Scalar::f32(0.0))?;
    bitcast(operator, pairs, C64)
}

fn complex(operator: &mut Operator<'_, '_, '_>) -> Result<Operand, Diagnostic> {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    let types = [input.element(), output.element];
    if matches!(types, [C64, F32] | [C128, F64]) { Ok(input) } else { Err(operator.type_error(&types)) }
}

/// REAL and IMAG.
pub(super) fn one_part(operator: &mut Operator<'_, '_, '_>, index: u64) -> Lowered {
    let input = complex(operator)?;
    let value = part(operator, &input, index)?;
    operator.bind(0, value)
}

/// COMPLEX_ABS. Parts of binary32 are squared in binary64, where squares neither overflow nor vanish. Parts of binary64 use their ratio.
pub(super) fn magnitude(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    let input = complex(operator)?;
    let parts = [part(operator, &input, 0)?, part(operator, &input, 1)?];
    let element = input.element().part();
    let mut terms = Terms::new(&[element, element]);
    let result = if element == F32 { length(&mut terms)? } else { scaled_length(&mut terms)? };
    let result = terms.convert(result, element);
    let value = operator.map(&parts, terms.finish(result))?;
    operator.bind(0, value)
}

fn length(terms: &mut Terms) -> Term {
    let (x, y) = (terms.input_as(0, F64), terms.input_as(1, F64));
    let (x, y) = (terms.mul(x, x)?, terms.mul(y, y)?);
    let sum = terms.add(x, y)?;
    terms.op(ScalarOp::Sqrt, &[sum])
}

/// m · √(1 + (n ÷ m)²) for the larger part m and the smaller n; infinite if either is, whatever the other.
fn scaled_length(terms: &mut Terms) -> Term {
    use crate::ir::{Comparison, NanRule};
    let [x, y] = [terms.input(0), terms.input(1)];
    let mut size = |x: Node| terms.op(ScalarOp::Abs, &[x]);
    let (x, y) = (size(x)?, size(y)?);
    let large = terms.op(ScalarOp::Max(NanRule::Propagate), &[x, y])?;
    let small = terms.op(ScalarOp::Min(NanRule::Propagate), &[x, y])?;
    let (zero, one, infinity) = (terms.f64(0.0), terms.f64(1.0), terms.f64(f64::INFINITY));
    let ratio = terms.div(small, large)?;
    let none = terms.compare(Comparison::Equal, large, zero)?;
    let ratio = terms.select(none, zero, ratio)?;
    let square = terms.mul(ratio, ratio)?;
    let sum = terms.add(one, square)?;
    let root = terms.op(ScalarOp::Sqrt, &[sum])?;
    let length = terms.mul(large, root)?;
    let mut endless = |x: Node| terms.compare(Comparison::Equal, x, infinity);
    let (first, second) = (endless(x)?, endless(y)?);
    let either = terms.op(ScalarOp::Or, &[first, second])?;
    terms.select(either, infinity, length)
}

/// MUL of complex numbers.
pub(super) fn product(operator: &mut Operator<'_, '_, '_>, binary: &Binary) -> Lowered {
    let mut parts = Vec::new();
    for operand in [&binary.left, &binary.right] {
        parts.push(part(operator, operand, 0)?);
        parts.push(part(operator, operand, 1)?);
    }
    let mut terms = Terms::new(&[F32; 4]);
    let [a, b, c, d] = [0, 1, 2, 3].map(|input| terms.input(input));
    let (ac, bd, ad, bc) = (terms.mul(a, c)?, terms.mul(b, d)?, terms.mul(a, d)?, terms.mul(b, c)?);
    let (real, imaginary) = (terms.sub(ac, bd)?, terms.add(ad, bc)?);
    let expression = terms.finish_many(vec![real, imaginary]);
    let results = operator.builder().map_many(&parts, expression)?;
    let value = join(operator, [results[0], results[1]])?;
    operator.bind(0, value)
}

/// A tensor with the given extents of its last dimensions: cropped, or padded with zeros at the end.
fn of_lengths(operator: &mut Operator<'_, '_, '_>, input: &Operand, lengths: &[i64]) -> Result<Value, Diagnostic> {
    let g = operator.graph();
    let (first, none) = (input.rank() - lengths.len(), vec![0; input.rank()]);
    let (mut value, mut high, mut missing) = (input.value, extents(&vec![0; input.rank()]), none.clone());
    for (d, &length) in (first..).zip(lengths) {
        let whole = Extent::Static(length as u64);
        match input.extents[d] {
            Extent::Static(extent) => missing[d] = length - extent as i64,
            open => {
                let kept = g.min(open, whole)?;
                value = g.slice_along(value, d, Extent::Static(0), kept)?;
                high[d] = g.sub(whole, kept)?;
            }
        }
    }
    let value = g.pad(value, &none, &missing, Scalar::f32(0.0))?;
    Ok(joins::bordered(g, value, &extents(&vec![0; input.rank()]), &high, Scalar::f32(0.0))?)
}

/// RFFT2D of the last two dimensions, which the lengths crop or pad with zeros. Rows of real numbers are transformed first, then the columns of the
/// result.
pub(super) fn real_fourier(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let (input, list, output) = (operator.any_input(0)?, operator.input(1)?, operator.output(0)?);
    if [input.element(), output.element] != [F32, C64] {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let lengths = operator.integers(&list, "lengths")?;
    let rank = input.rank();
    let sound = lengths.len() == 2 && rank >= 2 && lengths.iter().all(|n| (1..=1 << 24).contains(n) && (*n as u64).is_power_of_two());
    if !sound {
        let found = format!("{lengths:?} for {:?}", input.shape);
        return Err(invalid(codes::OPTION_RANGE, "the lengths of the transform do not fit")
            .expected("two powers of two for two dimensions or more", found));
    }
    let mut value = of_lengths(operator, &input, &lengths)?;
    value = operator.builder().real_fourier(value)?;
    if lengths[0] > 1 {
        let mut swapped: Vec<usize> = (0..=rank).collect();
        swapped.swap(rank - 2, rank - 1);
        value = operator.builder().transpose(value, swapped.clone())?;
        value = operator.builder().fourier(value)?;
        value = operator.builder().transpose(value, swapped)?;
    }
    let value = bitcast(operator, value, C64)?;
    operator.bind(0, value)
}

/// BITCAST: the same bytes under another type; a wider one takes a last dimension of as many elements as it holds.
pub(super) fn bitcast_operator(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.any_input(0)?, operator.output(0)?);
    if input.element().bits() < 8 || output.element.bits() < 8 {
        return Err(operator.type_error(&[input.element(), output.element]));
    }
    let value = if output.element == ElementType::Bool {
        // Every byte but zero is true.
        let bytes = bitcast(operator, input.value, ElementType::U8)?;
        operator.graph().convert(bytes, ElementType::Bool)?
    } else {
        bitcast(operator, input.value, output.element)?
    };
    operator.bind(0, value)
}
