//! The footprint of a range of a kernel: the elements of its tensors that it may read and write, as far as indices tell. Each buffer has one run of
//! elements for reads and one for writes. A run may contain elements that are not accessed. Buffer sizes do not limit the runs: one kernel serves
//! calls with several extents, and its buffers have the smallest size.

use crate::indices::Indices;
use crate::intervals::{Assumed, Interval};
use crate::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of terms in an index that is analysed.
const MOST_TERMS: usize = 16;

/// Elements of a buffer that a kernel may access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The buffer.
    pub buffer: Buffer,
    /// `true` if the elements are written, `false` if they are read.
    pub writes: bool,
    /// Range of elements. It ends at `u64::MAX` if the indices do not bound it.
    pub elements: Range<u64>,
}

/// Returns the footprint of a kernel with these integer parameters, in its inputs and outputs.
pub fn footprint(kernel: &Kernel, parameters: &[i64]) -> Vec<Touched> {
    let parameters = parameters.iter().map(|&number| Interval::number(number)).collect();
    let indices = Indices::assuming(kernel, &Assumed { parameters, ..Assumed::default() }, MOST_TERMS);
    let mut search = Search { kernel, indices, masks: FxHashMap::default(), found: BTreeMap::new() };
    search.region(&kernel.body);
    let touched = |((buffer, writes), elements)| Touched { buffer: Buffer::from_u32(buffer), writes, elements };
    search.found.into_iter().map(touched).collect()
}

struct Search<'k> {
    kernel: &'k Kernel,
    indices: Indices,
    /// Definitions of the scalar masks.
    masks: FxHashMap<Value, &'k Inst>,
    /// Elements by the number of the buffer and whether they are written.
    found: BTreeMap<(u32, bool), Range<u64>>,
}

impl<'k> Search<'k> {
    fn region(&mut self, region: &'k Region) {
        for Statement { results, inst } in &region.statements {
            if let [result] = results[..]
                && self.kernel.ty(result) == Type::scalar(Lane::Mask)
            {
                self.masks.insert(result, inst);
            }
            match inst {
                Inst::For { start, end, .. } if self.is_empty(*start, *end) => {}
                Inst::If { condition, then, otherwise } => {
                    let truth = self.truth(*condition);
                    if truth != Some(false) {
                        self.region(then);
                    }
                    if truth != Some(true) {
                        self.region(otherwise);
                    }
                }
                inst => {
                    self.access(inst);
                    inst.regions().into_iter().for_each(|inner| self.region(inner));
                }
            }
        }
    }

    /// Tests whether a loop certainly has no rounds.
    fn is_empty(&self, start: Value, end: Value) -> bool {
        self.indices.interval(end).high <= self.indices.interval(start).low
    }

    /// Returns the truth of a scalar mask, if it is known.
    fn truth(&self, mask: Value) -> Option<bool> {
        match **self.masks.get(&mask)? {
            Inst::Compare { op, a, b } if self.kernel.ty(a).lane.is_integer() => {
                compare(op, self.indices.interval(a), self.indices.interval(b))
            }
            Inst::Binary { op: BinaryOp::And, a, b } => match (self.truth(a), self.truth(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), other) | (other, Some(true)) => other,
                (None, None) => None,
            },
            _ => None,
        }
    }

    fn access(&mut self, inst: &Inst) {
        let Some(buffer) = inst.buffer() else { return };
        let data = self.kernel.buffer(buffer);
        if !matches!(data.kind, BufferKind::Input | BufferKind::Output) {
            return;
        }
        let (elements, writes) = match inst.run() {
            Some(run) => {
                let Interval { low, high } = self.indices.interval(run.index);
                let low = low.saturating_add(run.offset);
                let end = high.saturating_add(run.offset).saturating_add(run.elements.into());
                // Buffers have no elements before the first.
                let inside = |place: i64| u64::try_from(place).unwrap_or(0);
                let end = if high == i64::MAX { u64::MAX } else { inside(end) };
                (inside(low)..end, run.stores)
            }
            None => (0..u64::MAX, matches!(inst, Inst::Store { .. })),
        };
        let known = self.found.entry((buffer.as_u32(), writes)).or_insert(elements.clone());
        *known = known.start.min(elements.start)..known.end.max(elements.end);
    }
}

/// Decides a comparison of two intervals: `Some` if it holds for all integers or for none.
fn compare(op: CompareOp, a: Interval, b: Interval) -> Option<bool> {
    let always = |is: bool, is_not: bool| if is { Some(true) } else { is_not.then_some(false) };
    match op {
        CompareOp::Equal => always(a == b && a.low == a.high, a.high < b.low || b.high < a.low),
        CompareOp::NotEqual => compare(CompareOp::Equal, a, b).map(|equal| !equal),
        CompareOp::Less => always(a.high < b.low, a.low >= b.high),
        CompareOp::LessEqual => always(a.high <= b.low, a.low > b.high),
        CompareOp::Greater => compare(CompareOp::Less, b, a),
        CompareOp::GreaterEqual => compare(CompareOp::LessEqual, b, a),
        CompareOp::UnsignedLess if a.is_natural() && b.is_natural() => compare(CompareOp::Less, a, b),
        CompareOp::UnsignedLessEqual if a.is_natural() && b.is_natural() => compare(CompareOp::LessEqual, a, b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependence::apart;
    use crate::passes::range::of_rounds;
    use crate::text::parse_kernel;

    /// Returns the elements that a range of rounds accesses: reads of the first buffer and writes of the second.
    fn touched(text: &str, rounds: [i64; 2]) -> [Range<u64>; 2] {
        let kernel = parse_kernel(text).expect("a kernel");
        let cut = of_rounds(&kernel, &apart(2)).expect("independent rounds").kernel;
        let found = footprint(&cut, &rounds);
        let of = |number: u32, writes: bool| {
            found.iter().find(|touched| (touched.buffer.as_u32(), touched.writes) == (number, writes)).map_or(0..0, |t| t.elements.clone())
        };
        [of(0, false), of(1, true)]
    }

    #[test]
    fn ranges_of_rounds_touch_what_their_rounds_do() {
        let rows = "kernel @k(x: input i32[84] align 4, y: output i32[80] align 4) {
          for each %1 in 0..9 step 1 {
            %2: i64 = mul %1, 8
            for %3 in 0..8 step 4 {
              %4: i64 = add %2, %3
              %5: i32x4 = load x[%4 + 4]
              store y[%4], %5
            }
          }
          %7: i32x8 = load x[72]
          store y[72], %7
        }";
        assert_eq!(touched(rows, [0, 4]), [4..36, 0..32]);
        assert_eq!(touched(rows, [4, 8]), [36..68, 32..64]);
        assert_eq!(touched(rows, [4, 9]), [36..80, 32..80], "what follows the loop is done with the last round");
        assert_eq!(touched(rows, [4, 4]), [0..0, 0..0]);
    }

    #[test]
    fn the_last_round_of_steps_ends_where_its_step_does() {
        let text = "kernel @k(x: input i32[64] align 4, y: output i32[64] align 4) {
          for each %1 in 0..61 step 4 {
            %2: i32x4 = load x[%1]
            store y[%1], %2
          }
        }";
        assert_eq!(touched(text, [0, 8]), [0..32, 0..32]);
        assert_eq!(touched(text, [8, 16]), [32..64, 32..64]);
    }

    #[test]
    fn comparisons_hold_where_intervals_are_apart() {
        let interval = |low, high| Interval { low, high };
        assert_eq!(compare(CompareOp::Less, interval(0, 3), interval(4, 9)), Some(true));
        assert_eq!(compare(CompareOp::Less, interval(0, 4), interval(4, 9)), None);
        assert_eq!(compare(CompareOp::GreaterEqual, interval(0, 3), interval(4, 9)), Some(false));
        assert_eq!(compare(CompareOp::Equal, interval(4, 4), interval(4, 4)), Some(true));
        assert_eq!(compare(CompareOp::NotEqual, interval(0, 3), interval(4, 9)), Some(true));
        assert_eq!(compare(CompareOp::UnsignedLess, interval(-1, 0), interval(4, 9)), None);
    }
}
