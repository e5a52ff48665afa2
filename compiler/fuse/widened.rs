//! Conversions of weights that contractions perform while they read the weights: see [`stored_right`].

use super::flow::Item;
use super::uses::read_only_so;
use crate::ir::{Function, Inst, Op, Value, stored_right};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the conversions whose only readers are contractions, as right operand. They get no kernel of their own.
pub(super) fn absorbed(function: &Function, items: &[Item], uses: &FxHashMap<Value, usize>) -> FxHashSet<Inst> {
    read_only_so(function, items, uses, |data| {
        let reads_stored = matches!(data.op(), Op::Conv | Op::Matmul) && stored_right(function, data).0 != data.operands[1];
        reads_stored.then(|| data.operands[1])
    })
}
