//! Two pixels in a vector: for output channels that fill half of a vector, beside others that fill whole ones. Products of the others already
//! have the operand of each pixel in a register. Halves of two of these are the operand of a product for both pixels.

use crate::kernel::{KernelBuilder, Value};

/// Joins pixels to vectors of two; the last pixel of an odd number is alone.
pub(in crate::schedule::contraction) fn joined(b: &mut KernelBuilder, pixels: &[Value]) -> Vec<Value> {
    let mut join = |pair: &[Value]| if let &[a, c] = pair { b.join(a, c) } else { pair[0] };
    pixels.chunks(2).map(&mut join).collect()
}

/// Splits vectors of two into their pixels.
pub(in crate::schedule::contraction) fn apart(b: &mut KernelBuilder, vectors: &[Value], pixels: u64) -> Vec<Value> {
    let mut all = vec![];
    for (&vector, first) in vectors.iter().zip((0..pixels).step_by(2)) {
        let count = (pixels - first).min(2) as u16;
        let lanes = b.ty(vector).lanes / count;
        all.extend((0..count).map(|pixel| b.part(vector, pixel * lanes, lanes)));
    }
    all
}

/// The weights of a group of k, once and for each pixel of a vector. `before` is the operand of a pixel whose product waits for the next one.
pub(in crate::schedule::contraction) struct Weights {
    one: Value,
    both: Value,
    before: Option<Value>,
}

impl Weights {
    pub(in crate::schedule::contraction) fn new(b: &mut KernelBuilder, load: impl FnOnce(&mut KernelBuilder) -> Value) -> Self {
        let one = load(b);
        Self { one, both: b.join(one, one), before: None }
    }

    /// Takes the operand of the next pixel. Returns the factors of a product once it has two pixels, or the last one alone.
    pub(in crate::schedule::contraction) fn operands(&mut self, b: &mut KernelBuilder, x: Value, is_last: bool) -> Option<(Value, Value)> {
        let lanes = b.ty(self.one).lanes;
        let x = b.part(x, 0, lanes);
        match self.before.take() {
            Some(before) => Some((b.join(before, x), self.both)),
            None if is_last => Some((x, self.one)),
            None => {
                self.before = Some(x);
                None
            }
        }
    }
}
