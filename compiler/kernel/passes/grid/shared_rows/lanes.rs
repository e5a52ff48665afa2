//! Values of indices at each lane of a workgroup, if they follow from the position alone.

use crate::interpret::lane;
use crate::*;
use rustc_hash::FxHashMap;

/// Bytes of a cache line. Most devices have lines of this size or longer.
const LINE: i64 = 64;

/// Operations that indices consist of.
const OPERATIONS: [BinaryOp; 7] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::SignedMax, BinaryOp::SignedMin, BinaryOp::UnsignedDiv, BinaryOp::UnsignedRem];

/// The lanes of the first workgroup of a kernel.
pub struct Lanes<'k> {
    definitions: FxHashMap<Value, &'k Inst>,
    /// Initial value of each counter.
    starts: FxHashMap<Value, Value>,
    position: Value,
    /// Number of lanes.
    pub count: i64,
}

impl<'k> Lanes<'k> {
    /// Analyses a kernel with a grid. Returns `None` if the kernel has no position.
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

    /// Returns an affine sum at each lane, in the first round of all loops.
    pub fn sums(&self, terms: &[(Value, i64)]) -> Option<Vec<i64>> {
        let sum =
            |lane| terms.iter().try_fold(0i64, |sum, &(term, factor)| Some(sum.wrapping_add(self.at(term, lane)?.wrapping_mul(factor))));
        (0..self.count).map(sum).collect()
    }

    fn at(&self, value: Value, own: i64) -> Option<i64> {
        if value == self.position {
            return Some(own);
        }
        if let Some(&start) = self.starts.get(&value) {
            return self.at(start, own);
        }
        match **self.definitions.get(&value)? {
            Inst::Constant { bits } => Some(bits as i64),
            Inst::Binary { op, a, b } if OPERATIONS.contains(&op) => {
                let (a, b) = (self.at(a, own)?, self.at(b, own)?);
                Some(lane::binary(op, Lane::I64, a as u64, b as u64) as i64)
            }
            _ => None,
        }
    }
}

/// Returns the number of cache lines that lanes touch. Each loads `elements` elements of `bytes` bytes from its own place.
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
