//! `scatter`: elements combined with updates at the places that `gather` reads.

use super::array::Array;
use super::column::Column;
use super::contract::floats;
use super::error::{Step, fail};
use super::reduce::Reducer;
use crate::operators::Combination;
use crate::scalar::Scalar;

/// The slices that indices name.
pub(crate) struct Named {
    /// The axis along which slices are placed.
    pub axis: usize,
    /// The number of leading dimensions that the target and the indices have in common.
    pub batch: usize,
    /// `true` if a negative index leaves its slice out; otherwise it is an error.
    pub skips_negative: bool,
}

/// The target positions of the updates' slices.
pub(crate) struct Places {
    /// The number of elements of a slice.
    row: usize,
    /// The first element of each slice in the target, in the order of the updates; `None` for a slice that is left out.
    starts: Vec<Option<usize>>,
}

impl Places {
    /// The places that the decoded `indices` name in a target.
    pub fn new(named: Named, target: &Array<'_>, indices: &[i64], indices_shape: &[usize]) -> Step<Self> {
        let Named { axis, batch, skips_negative: skips } = named;
        if target.shape[..batch] != indices_shape[..batch] {
            return fail(format!("batch dimensions of {:?} and {indices_shape:?} differ", target.shape));
        }
        let extent = target.shape[axis];
        let row = target.shape[axis + 1..].iter().product::<usize>();
        let batches: usize = target.shape[..batch].iter().product();
        let outer: usize = target.shape[batch..axis].iter().product();
        let each: usize = indices_shape[batch..].iter().product();
        let wrong = |i: i64| i >= extent as i64 || (i < 0 && !skips);
        if let Some(bad) = indices.iter().find(|&&i| wrong(i)) {
            return fail(format!("index {bad} is outside 0..{extent}"));
        }
        if target.len() == 0 {
            return Ok(Self { row, starts: vec![] });
        }
        let mut starts = Vec::with_capacity(batches * outer * each);
        for slice in 0..batches * outer {
            let list = &indices[slice / outer * each..][..each];
            starts.extend(list.iter().map(|&index| usize::try_from(index).ok().map(|index| (slice * extent + index) * row)));
        }
        Ok(Self { row, starts })
    }

    /// Calls `visit` with the position of every updated element of the target and the position of its update, in order.
    fn visit(&self, mut visit: impl FnMut(usize, usize)) {
        for (slice, start) in self.starts.iter().enumerate() {
            let Some(start) = start else { continue };
            (0..self.row).for_each(|i| visit(start + i, slice * self.row + i));
        }
    }
}

/// `scatter`
pub(crate) fn scatter<'m>(target: &Array<'m>, updates: &Array<'m>, combination: Combination, places: &Places) -> Step<Array<'m>> {
    let element = target.element;
    let reducer = combination.reduction().map(|reduction| Reducer { reduction, element });
    let columns = (Column::decode(element, &target.bytes, 0..target.len()), Column::decode(element, &updates.bytes, 0..updates.len()));
    let shape = target.shape.clone();
    let mut bytes = Vec::new();
    match (columns, reducer) {
        ((Column::Int(mut values), Column::Int(new)), reducer) => {
            places.visit(|to, from| values[to] = reducer.as_ref().map_or(new[from], |reducer| reducer.int(values[to], new[from])));
            Column::Int(values).store(element, target.len(), &mut bytes);
        }
        ((Column::C64(mut values), Column::C64(new)), _) => {
            places.visit(|to, from| values[to] = new[from]);
            Column::C64(values).store(element, target.len(), &mut bytes);
        }
        // A number that is set keeps its bits, NaN's too.
        (_, None) => {
            let width = super::array::width(element);
            bytes.extend_from_slice(&target.bytes);
            places.visit(|to, from| {
                bytes[to * width..][..width].copy_from_slice(&updates.bytes[from * width..][..width]);
            });
        }
        ((old, new), Some(reducer)) => {
            let (Some(mut values), Some(new)) = (old.wide(), new.wide()) else { return fail("the operands differ in type") };
            // One update after another: each leaves a number of the target's type.
            places.visit(|to, from| values[to] = Scalar::float(element, reducer.float(values[to], new[from])).as_f64());
            return Ok(floats(element, shape, values));
        }
    }
    Ok(Array::new(element, shape, bytes))
}
