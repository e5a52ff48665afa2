//! Values that have no memory of their own: views of a tensor, and slices that are a run of its bytes.

use crate::ir::{Function, Inst, Op, Operation, Value};

/// Whether an instruction gives its operand's memory another type. Where a caller's buffer need only be aligned for the one type, the other
/// one is copied.
pub fn is_view(function: &Function, inst: Inst) -> bool {
    let data = &function.insts[inst];
    let alignment = |value: Value| function.tensor(value).element.alignment();
    match data.op() {
        // Shapes that are equal only in the numbers that come are checked, and copied.
        Op::Reshape => {
            let size = |value: Value| function.size(&function.tensor(value).shape);
            size(data.operands[0]).is_some_and(|elements| size(data.results[0]) == Some(elements))
        }
        Op::Bitcast => alignment(data.operands[0]) == alignment(data.results[0]),
        _ => false,
    }
}

/// The byte of its operand at which the result of a slice starts, if the result is a run of the operand's bytes and so needs no memory
/// of its own.
pub fn part_of(function: &Function, inst: Inst) -> Option<u64> {
    let data = &function.insts[inst];
    let Operation::Slice(slice) = &data.operation else { return None };
    if slice.stride.iter().any(|&stride| stride != 1) {
        return None;
    }
    let shape = row_major(function, data.operands[0])?;
    let size = row_major(function, data.results[0])?;
    // All dimensions in front of the outermost one that is cut have one position, and all after it are whole.
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

/// The shape of a tensor with known extents whose last dimension is the contiguous one.
pub fn row_major(function: &Function, value: Value) -> Option<Vec<u64>> {
    let ty = function.values[value].ty.as_tensor()?;
    if ty.layout.order().is_some() {
        return None;
    }
    ty.static_shape()
}

/// The value whose memory a value has: views share that of their operand.
pub fn viewed(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value).filter(|&inst| is_view(function, inst)) {
        value = function.insts[inst].operands[0];
    }
    value
}
