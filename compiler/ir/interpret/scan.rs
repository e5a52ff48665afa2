//! `scan`: a reduction that shows all its partial results.

use super::array::Array;
use super::column::Column;
use super::contract::floats;
use super::error::{Step, fail};
use super::reduce::Reducer;
use crate::operators::Reduction;

/// Calls `visit` for the elements of every line along an axis in the order of the scan, with whether the line begins.
fn lines(shape: &[usize], axis: usize, reverse: bool, mut visit: impl FnMut(usize, bool)) {
    let (extent, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let outer: usize = shape[..axis].iter().product();
    if extent == 0 {
        return;
    }
    for line in 0..outer * inner {
        let first = line / inner * extent * inner + line % inner;
        for i in 0..extent {
            let position = if reverse { extent - 1 - i } else { i };
            visit(first + position * inner, i == 0);
        }
    }
}

/// The elements that a partial result holds.
pub(crate) struct Course {
    /// The axis along which elements are combined.
    pub axis: usize,
    /// `true` if the element itself is left out.
    pub exclusive: bool,
    /// `true` if the scan begins at the end.
    pub reverse: bool,
}

/// `scan`
pub(crate) fn scan<'m>(input: &Array<'m>, reduction: Reduction, course: Course) -> Step<Array<'m>> {
    let Course { axis, exclusive, reverse } = course;
    let (element, shape) = (input.element, input.shape.clone());
    let reduction = Reducer { reduction, element };
    match Column::decode(element, &input.bytes, 0..input.len()) {
        Column::Int(mut values) => {
            let mut partial = 0;
            lines(&shape, axis, reverse, |i, begins| {
                let before = if begins { reduction.start_int() } else { partial };
                partial = reduction.int(before, values[i]);
                values[i] = if exclusive { before } else { partial };
            });
            let mut bytes = Vec::new();
            Column::Int(values).store(element, input.len(), &mut bytes);
            Ok(Array::new(element, shape, bytes))
        }
        column => {
            let Some(mut values) = column.wide() else { return fail("complex numbers are not scanned") };
            let mut partial = 0.0;
            lines(&shape, axis, reverse, |i, begins| {
                let before = if begins { reduction.start_float() } else { partial };
                partial = reduction.narrow(reduction.float(before, values[i]));
                values[i] = if exclusive { before } else { partial };
            });
            Ok(floats(element, shape, values))
        }
    }
}
