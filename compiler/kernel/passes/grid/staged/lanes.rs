//! What indices are at each lane of a workgroup, where they follow from the position alone.

use crate::kernel::*;
use rustc_hash::FxHashMap;

/// Bytes of a line of a cache: those of most devices have as many or more.
const LINE: i64 = 64;

/// The lanes of the first workgroup of a kernel.
pub struct Lanes<'k> {
    definitions: FxHashMap<Value, &'k Inst>,
    /// What counters begin at.
    starts: FxHashMap<Value, Value>,
    position: Value,
    /// How many lanes there are.
    pub count: i64,
}

impl<'k> Lanes<'k> {
    /// Those of a kernel with a grid; none where it has no position.
    pub fn of(kernel: &'k Kernel, grid: Grid) -> Option<Self> {
        let (mut definitions, mut starts) = (FxHashMap::default(), FxHashMap::default());
        for Statement { results, inst } in kernel.statements() {
            if let Inst::For { start, body, .. } = inst {
                starts.extend(body.params.first().map(|&counter| (counter, *start)));
            }
            definitions.extend(results.iter().map(|&result| (result, inst)));
        }
        let position = *kernel.body.params.first()?;
        Some(Self { definitions, starts, position, count: grid.workgroup.into() })
    }

    /// A sum of multiples of values, at each lane and in the first round of all loops.
    pub fn sums(&self, terms: &[(Value, i64)]) -> Option<Vec<i64>> {
        let sum =
            |lane| terms.iter().try_fold(0i64, |sum, &(term, factor)| Some(sum.wrapping_add(self.at(term, lane)?.wrapping_mul(factor))));
        (0..self.count).map(sum).collect()
    }

    fn at(&self, value: Value, lane: i64) -> Option<i64> {
        if value == self.position {
            return Some(lane);
        }
        if let Some(&start) = self.starts.get(&value) {
            return self.at(start, lane);
        }
        match **self.definitions.get(&value)? {
            Inst::Constant { bits } => Some(bits as i64),
            Inst::Binary { op, a, b } => {
                let (a, b) = (self.at(a, lane)?, self.at(b, lane)?);
                match op {
                    BinaryOp::Add => Some(a.wrapping_add(b)),
                    BinaryOp::Sub => Some(a.wrapping_sub(b)),
                    BinaryOp::Mul => Some(a.wrapping_mul(b)),
                    BinaryOp::SignedMax => Some(a.max(b)),
                    BinaryOp::SignedMin => Some(a.min(b)),
                    BinaryOp::UnsignedDiv => (a as u64).checked_div(b as u64).map(|quotient| quotient as i64),
                    BinaryOp::UnsignedRem => (a as u64).checked_rem(b as u64).map(|rest| rest as i64),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// How many lines lanes touch that load some elements of a number of bytes, each from where it says.
pub fn lines(places: impl Iterator<Item = i64>, elements: i64, bytes: i64) -> i64 {
    let mut touched: Vec<i64> = places
        .flat_map(|place| {
            let [first, last] = [place * bytes, (place + elements) * bytes - 1].map(|byte| byte.div_euclid(LINE));
            first..=last
        })
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched.len() as i64
}
