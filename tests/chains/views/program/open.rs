//! Operations along a run-time extent.

use super::Program;
use modelc::ir::{Extent, IndexOperation, Value};

impl Program<'_> {
    /// Returns the least value of a run-time extent.
    pub fn least(&self, extent: Extent) -> u64 {
        self.opens.iter().find(|(open, _)| *open == extent).map_or(1, |(_, least)| *least)
    }

    /// Subtracts positions from a run-time extent.
    fn without(&mut self, extent: Extent, positions: u64) -> Extent {
        let Extent::Value(index) = extent else { return extent };
        let positions = self.builder.index_constant(positions as i64).expect("a number");
        Extent::Value(self.builder.index_binary(IndexOperation::Subtract, index, positions).expect("numbers"))
    }

    /// Shifts positions along a dynamic axis; the gap is filled from this tensor or from another one.
    pub fn shifted(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.shape_of(value)[axis];
        let least = self.least(extent);
        if least < 2 {
            return self.map(&[value]);
        }
        let some = 1 + self.below(least - 1);
        let rest = self.without(extent, some);
        let other = if self.below(2) == 0 { value } else { self.pick_like(value) };
        let start = self.below(some + 1);
        let (long, short) = (self.part(value, axis, start, rest, 1), self.part(other, axis, 0, some, 1));
        let parts = self.one_of(&[[long, short], [short, long]]);
        if self.below(3) == 0 {
            let rank = self.shape_of(value).len();
            let (mut low, high) = (vec![0; rank], vec![0; rank]);
            low[axis] = some as i64;
            let (border, padded) = (self.border(), self.shape_of(value));
            return self.builder.pad_to(long, low, high, border, padded).expect("a border of this type");
        }
        self.builder.concat_to(&parts, axis, extent).expect("parts that fit")
    }

    /// Applies another operation along a dynamic axis.
    pub fn moved(&mut self, value: Value, axis: usize) -> Value {
        match self.below(5) {
            0 => self.spread(value, axis),
            1 => self.scanned(value, axis),
            2 => self.reduced(value, axis),
            3 => self.transposed(value),
            _ => {
                let extent = self.shape_of(value)[axis];
                let last = self.without(extent, 1);
                self.part_from(value, axis, last, extent, -1)
            }
        }
    }
}
