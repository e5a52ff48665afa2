//! Removal of clamps after a scaled sum that change no distinguished result. A rule clamps so that a later addition of a zero point never wraps, but
//! scaled sums of integers leave room for that addition.

use super::Rewriter;
use crate::ir::{Interval, Node, ScalarOp};

impl Rewriter<'_> {
    /// Returns the clamps after a requantization of integers that are wider than the distinguished results, in order.
    pub(super) fn inert_clamps(&self, mut node: Node) -> Vec<Node> {
        let Interval { low, high } = self.told_apart(node);
        let mut clamps = vec![];
        while let Some(reader) = self.only_reader(node).filter(|_| self.of_integers()) {
            let is_inert = match (self.old.nodes[reader].op, self.number_beside(reader, node)) {
                (ScalarOp::Max(_), Some(number)) => number < low,
                (ScalarOp::Min(_), Some(number)) => number > high,
                _ => false,
            };
            if !is_inert {
                break;
            }
            clamps.push(reader);
            node = reader;
        }
        clamps
    }
}
