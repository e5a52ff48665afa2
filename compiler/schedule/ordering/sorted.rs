//! The few best elements of a row, in order in a register. A better element is inserted without a branch, and the elements after it move on.

use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, KernelBuilder, Lane, Type, UnaryOp, Value};
use crate::schedule::indexed::slices::any;
use crate::schedule::quantity::Number;
use std::ops::Range;

/// Position that marks an empty place.
const EMPTY: i64 = i32::MAX as i64;
/// Position that marks the lane before the first place.
const BEFORE: i64 = -1;

/// Rows whose best elements fit registers.
pub struct Sorted<'a> {
    /// Buffer of the elements.
    pub input: Buffer,
    /// Number of elements wanted.
    pub count: u16,
    /// Lanes of the registers of the best elements.
    pub lanes: u16,
    /// Number of elements that are compared at a time.
    pub row_lanes: u16,
    /// Comparison of values: true if the first element comes before the second.
    pub better: &'a dyn Fn(&mut KernelBuilder, Value, Value) -> Value,
}

/// The best elements so far, and their positions.
#[derive(Clone, Copy)]
pub struct Best {
    /// The elements.
    pub values: Value,
    /// Positions in the row.
    pub positions: Value,
}

/// An element that may be among the best.
#[derive(Clone, Copy)]
struct Candidate {
    /// The index of the element.
    place: Value,
    /// The position in its row.
    position: Value,
}

impl Sorted<'_> {
    /// Returns the best elements of a row of `extent` elements that begins at `base`.
    pub fn row(&self, b: &mut KernelBuilder, base: Value, extent: Number) -> Best {
        let lane = b.lane_of(self.input);
        let values = b.zero(Type::vector(lane, self.lanes));
        let positions = b.int(Type::vector(Lane::I32, self.lanes), EMPTY);
        let count = i64::from(self.count);
        let first =
            self.each(b, base, Number::Known(0)..Number::Known(count), Best { values, positions }, |b, at, best| self.insert(b, at, best));
        let whole = match extent {
            Number::Known(extent) => Number::Known(count + (extent - count) / i64::from(self.row_lanes) * i64::from(self.row_lanes)),
            Number::Computed(extent) => {
                let (count, lanes) = (b.index(count), b.index(self.row_lanes.into()));
                let rest = b.sub(extent, count);
                let rest = b.binary(BinaryOp::SignedRem, rest, lanes);
                Number::Computed(b.sub(extent, rest))
            }
        };
        let (start, end) = (b.index(count), whole.value(b));
        let best = b.for_carry(start, end, self.row_lanes.into(), &[first.values, first.positions], |b, i, best| {
            let best = Best { values: best[0], positions: best[1] };
            let place = b.add(base, i);
            let elements = b.load(self.input, place, 0, self.row_lanes);
            let worst = self.worst(b, best);
            let worst = b.splat(worst, self.row_lanes);
            let better = (self.better)(b, elements, worst);
            let some = any(b, better);
            let look = |b: &mut KernelBuilder| {
                let end = b.scale_index(i, 1, self.row_lanes.into());
                let best = self.each(b, base, Number::Computed(i)..Number::Computed(end), best, |b, at, best| self.offer(b, at, best));
                vec![best.values, best.positions]
            };
            b.if_else(some, look, |_| vec![best.values, best.positions])
        });
        let best = Best { values: best[0], positions: best[1] };
        self.each(b, base, whole..extent, best, |b, at, best| self.offer(b, at, best))
    }

    /// Repeats a body for elements one by one. `body` gets each.
    fn each(
        &self,
        b: &mut KernelBuilder,
        base: Value,
        Range { start, end }: Range<Number>,
        best: Best,
        body: impl Fn(&mut KernelBuilder, Candidate, Best) -> Best,
    ) -> Best {
        let (start, end) = (start.value(b), end.value(b));
        let best = b.for_carry(start, end, 1, &[best.values, best.positions], |b, i, best| {
            let place = b.add(base, i);
            let best = body(b, Candidate { place, position: i }, Best { values: best[0], positions: best[1] });
            vec![best.values, best.positions]
        });
        Best { values: best[0], positions: best[1] }
    }

    /// Returns the last of the best elements.
    fn worst(&self, b: &mut KernelBuilder, best: Best) -> Value {
        b.extract(best.values, self.count - 1)
    }

    /// Inserts an element if it is better than the last one.
    fn offer(&self, b: &mut KernelBuilder, at: Candidate, best: Best) -> Best {
        let (element, worst) = (b.load(self.input, at.place, 0, 1), self.worst(b, best));
        let better = (self.better)(b, element, worst);
        let insert = |b: &mut KernelBuilder| {
            let best = self.insert(b, at, best);
            vec![best.values, best.positions]
        };
        let best = b.if_else(better, insert, |_| vec![best.values, best.positions]);
        Best { values: best[0], positions: best[1] }
    }

    /// Inserts an element after all better or equal ones.
    fn insert(&self, b: &mut KernelBuilder, Candidate { place, position }: Candidate, best: Best) -> Best {
        let lanes = self.lanes;
        let element = b.load_splat(self.input, place, 0, lanes);
        let position = b.convert(ConvertOp::Wrap, position, Lane::I32);
        let position = b.splat(position, lanes);
        // Each lane gets its left neighbour; the first lane gets a marker.
        let order: Vec<u16> = std::iter::once(lanes).chain(0..lanes - 1).collect();
        let before = b.int(Type::vector(Lane::I32, lanes), BEFORE);
        let moved =
            Best { values: b.shuffle(best.values, best.values, order.clone()), positions: b.shuffle(best.positions, before, order) };
        let [goes_before, moves] = [best, moved].map(|best| {
            let better = (self.better)(b, element, best.values);
            let empty = b.int(Type::vector(Lane::I32, lanes), EMPTY);
            let empty = b.compare(CompareOp::Equal, best.positions, empty);
            b.binary(BinaryOp::Or, better, empty)
        });
        let is_first = b.compare(CompareOp::Equal, moved.positions, before);
        let is_after = b.unary(UnaryOp::Not, is_first);
        let moves = b.binary(BinaryOp::And, moves, is_after);
        let mut place = |new: Value, moved: Value, old: Value| {
            let new = b.select(moves, moved, new);
            b.select(goes_before, new, old)
        };
        Best { values: place(element, moved.values, best.values), positions: place(position, moved.positions, best.positions) }
    }
}
