//! Extents that a branch sets to one of two values. If such an extent must equal another one, both values must.

use super::translate::{Chosen, Translator};
use crate::ir::Extent;

impl Translator<'_, '_> {
    /// The two extents between which a branch decides for this extent.
    fn choices(&self, extent: Extent) -> Option<[Extent; 2]> {
        let function = self.graph.function();
        let same = |chosen: &&Chosen| chosen.depth == 0 && function.resolved(Extent::Value(chosen.index)) == extent;
        self.chosen.iter().find(same).map(|chosen| chosen.among.map(|extent| function.resolved(extent)))
    }

    /// Tests whether an extent depends on a branch.
    pub fn is_chosen(&self, extent: Extent) -> bool {
        self.choices(extent).is_some()
    }

    /// Notes the conditions on inputs under which an extent that depends on a branch equals another one. Returns `true` if something was noted.
    pub fn note_choices(&mut self, a: Extent, b: Extent) -> bool {
        let (among, other) = match (self.choices(a), self.choices(b)) {
            (Some(among), _) => (among, b),
            (None, Some(among)) => (among, a),
            (None, None) => return false,
        };
        // Choices among choices are not followed: there may be very many.
        let unequal: Vec<Extent> = among.into_iter().filter(|&extent| extent != other).collect();
        if unequal.is_empty() || unequal.iter().any(|&extent| self.is_chosen(extent)) {
            return false;
        }
        unequal.into_iter().all(|extent| self.note_equality(extent, other))
    }
}
