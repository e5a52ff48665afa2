//! Operators that move elements: concatenations of parts, padding, gathers, variables.

use super::Program;
use modelc::ir::{Combination, ElementType, Extent, Interval, Order, Scatter, Search, TensorType, Value};

impl Program<'_> {
    /// Moves the first positions to the end.
    pub fn rolled(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let cut = 1 + self.below(extent - 1);
        let parts = [self.part(value, axis, cut, extent - cut, 1), self.part(value, axis, 0, cut, 1)];
        self.builder.concat(&parts, axis).expect("parts of one tensor")
    }

    /// Repeats one part as often as it fits, and fills the rest from another tensor.
    pub fn repeated(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let size = 1 + self.below(extent / 2);
        let start = self.below(extent - size + 1);
        let part = self.part(value, axis, start, size, 1);
        let mut parts = vec![part; (extent / size) as usize];
        if !extent.is_multiple_of(size) {
            let other = self.pick_like(value);
            parts.push(self.part(other, axis, 0, extent % size, 1));
        }
        if self.below(3) == 0 {
            parts.reverse();
        }
        self.builder.concat(&parts, axis).expect("parts that fit")
    }

    /// Concatenates parts of two tensors, or two parts of one.
    pub fn joined(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let other = if self.below(2) == 0 { value } else { self.pick_like(value) };
        let size = 1 + self.below(extent - 1);
        let (first, second) = (self.below(extent - size + 1), self.below(size + 1));
        let parts = [self.part(value, axis, first, size, 1), self.part(other, axis, second, extent - size, 1)];
        self.builder.concat(&parts, axis).expect("parts that fit")
    }

    /// Pads a part.
    pub fn padded(&mut self, value: Value, axis: usize) -> Value {
        let amount = 1 + self.below(self.extent_of(value, axis) - 1) as i64;
        let amount = if self.below(2) == 0 { amount } else { -amount };
        let rank = self.shape_of(value).len();
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        (low[axis], high[axis]) = (amount, -amount);
        let (border, shape) = (self.border(), self.shape_of(value));
        let padded = if self.opens.is_empty() { vec![] } else { shape };
        self.builder.pad_to(value, low, high, border, padded).expect("a border of this type")
    }

    /// Pads a part with a mirrored border.
    pub fn mirrored(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let amount = 1 + self.below(extent / 2);
        let shape = self.shape_of(value);
        // The edge itself is repeated, so a border may be as long as the part.
        let (mut low, mut high) = (vec![0; shape.len()], vec![0; shape.len()]);
        let before = self.below(2) * amount;
        (low[axis], high[axis]) = (before as i64, (amount - before) as i64);
        let start = self.below(amount + 1);
        let part = self.part(value, axis, start, extent - amount, 1);
        let padded = if self.opens.is_empty() { vec![] } else { shape };
        self.builder.mirror_pad(part, low, high, true, padded).expect("a border no longer than the part")
    }

    pub fn transposed(&mut self, value: Value) -> Value {
        let mut permutation: Vec<usize> = (0..self.shape_of(value).len()).collect();
        for i in (1..permutation.len()).rev() {
            permutation.swap(i, self.below(i as u64 + 1) as usize);
        }
        self.builder.transpose(value, permutation).expect("a permutation")
    }

    /// Repeats one position everywhere.
    pub fn spread(&mut self, value: Value, axis: usize) -> Value {
        let one = self.one(value, axis);
        let shape = self.shape_of(value);
        self.builder.broadcast(one, shape).expect("one position")
    }

    /// Puts even positions before odd ones.
    pub fn apart(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let parts = [self.part(value, axis, 0, extent.div_ceil(2), 2), self.part(value, axis, 1, extent / 2, 2)];
        self.builder.concat(&parts, axis).expect("parts of one tensor")
    }

    fn positions(&mut self, count: u64, extent: u64) -> Value {
        let bytes = (0..count).flat_map(|_| (self.below(extent) as i32).to_le_bytes()).collect();
        self.builder.literal(TensorType::of(ElementType::I32, &[count]), bytes).expect("four bytes each")
    }

    pub fn gathered(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let positions = self.positions(extent, extent);
        self.builder.gather(value, positions, axis, 0).expect("positions along a dimension")
    }

    /// Scatters parts of a tensor into another one, or into itself.
    pub fn scattered(&mut self, value: Value, axis: usize) -> Value {
        let extent = self.extent_of(value, axis);
        let other = if self.below(2) == 0 { value } else { self.pick_like(value) };
        let size = 1 + self.below(extent);
        let positions = self.positions(size, extent);
        let updates = self.part(other, axis, extent - size, size, 1);
        let combination = self.one_of(&[Combination::Set, Combination::Set, Combination::Max, Combination::Min]);
        let scatter = Scatter { axis, batch: 0, combination, skips_negative: false };
        self.builder.scatter([value, positions, updates], scatter).expect("updates of this size")
    }

    /// Slices two concatenated tensors at the index of the greatest element of one.
    pub fn found(&mut self, value: Value) -> Value {
        let flat = self.flat(value);
        let other = self.pick_like(flat);
        let exact = self.exact();
        let place = self.builder.arg_reduce(exact, Search::Max, 0, ElementType::I32).expect("one dimension");
        let place = self.builder.index_load(place, Interval { low: 0, high: self.count as i64 - 1 }).expect("one integer");
        let twice = self.builder.concat(&[flat, other], 0).expect("tensors of one type");
        self.part_from(twice, 0, Extent::Value(place), self.count, 1)
    }

    pub fn sorted(&mut self, value: Value) -> Value {
        let shape = self.shape_of(value);
        let order = self.one_of(&[Order::Largest, Order::Smallest]);
        self.builder.top_k(value, order, shape[shape.len() - 1]).expect("all of them")[0]
    }

    /// Reads a variable; often another value is stored before or after.
    pub fn remembered(&mut self, value: Value) -> Value {
        let (Some(mut token), [_, ..]) = (self.token, &self.states[..]) else { return self.map(&[value]) };
        let states = self.states.clone();
        let state = self.one_of(&states);
        let mut held = value;
        for stores in [self.below(2) == 0, false, self.below(2) == 0] {
            if stores {
                let shape = self.builder.module.states[state].ty.shape.clone();
                let stored = self.pick();
                let stored = self.reshaped(stored, &shape);
                token = self.builder.store_state(token, stored, state).expect("a tensor of its type");
            } else {
                [token, held] = self.builder.load_state(token, state).expect("a state");
            }
        }
        self.token = Some(token);
        held
    }
}
