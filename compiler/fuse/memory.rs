//! Values without memory of their own: views of a tensor, and slices that are a contiguous range of bytes.

use crate::ir::{Function, Inst, Op, Operation, Value};

/// Tests whether an instruction only gives its operand's memory another type. A bitcast to a type with another alignment is no view. It is copied,
/// because a caller's buffer has only the alignment of its own type.
pub fn is_view(function: &Function, inst: Inst) -> bool {
    let data = &function.insts[inst];
    let alignment = |value: Value| function.tensor(value).element.alignment();
    match data.op() {
        // Shapes that are equal only at run time are checked, and the tensor is copied.
        Op::Reshape => {
            let size = |value: Value| function.size(&function.tensor(value).shape);
            size(data.operands[0]).is_some_and(|elements| size(data.results[0]) == Some(elements))
        }
        Op::Bitcast => alignment(data.operands[0]) == alignment(data.results[0]),
        _ => false,
    }
}

/// Returns the byte offset of a slice in its operand, if the result is a contiguous range of the operand. Such a result needs no memory of its own.
pub fn subtensor_start(function: &Function, inst: Inst) -> Option<u64> {
    let data = &function.insts[inst];
    let Operation::Slice(slice) = &data.operation else { return None };
    if slice.stride.iter().any(|&stride| stride != 1) {
        return None;
    }
    let shape = row_major(function, data.operands[0])?;
    let size = row_major(function, data.results[0])?;
    // Dimensions before the outermost cut one have extent 1 in the slice, and the dimensions after it are whole.
    let outermost = size.iter().position(|&n| n != 1).map_or(size.len(), |d| d + 1);
    if size.iter().zip(&shape).skip(outermost).any(|(n, whole)| n != whole) {
        return None;
    }
    let starts = shape.iter().zip(&slice.start);
    let start = starts.map(|(&n, start)| Some((n, start.as_static()?))).try_fold(0u64, |sum, dimension| {
        let (extent, start) = dimension?;
        sum.checked_mul(extent)?.checked_add(start)
    })?;
    let element = function.tensor(data.results[0]).element;
    (element.bits() >= 8).then(|| element.bytes_for(start))?
}

/// Returns the shape of a row-major tensor with static extents; `None` for other values.
pub fn row_major(function: &Function, value: Value) -> Option<Vec<u64>> {
    let ty = function.values[value].ty.as_tensor()?;
    if ty.layout.order().is_some() {
        return None;
    }
    ty.static_shape()
}

/// Returns the value whose memory a value uses: a view uses its operand's.
pub fn viewed(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value).filter(|&inst| is_view(function, inst)) {
        value = function.insts[inst].operands[0];
    }
    value
}
