//! Copies for the moves between different places, one after the other.

use super::resolver::Resolver;
use crate::fuse::{Group, Move};
use crate::ir::Value;
use crate::lower::stages::chosen::Item;
use crate::lower::stages::work::Work;
use rustc_hash::FxHashMap;

/// Returns, for each entry of the list, the copies that its moves need.
pub(in crate::lower) fn of_list(items: &[Item<'_>], resolver: &Resolver<'_>, spares: &FxHashMap<Value, Value>) -> Vec<Vec<Group>> {
    let copies = |item: &Item<'_>| match item.work {
        Work::Moves(moves) => {
            let costly = moves.iter().filter(|m| !resolver.is_free(**m));
            sequence(costly.copied().collect(), |from, to| resolver.is_free(Move { from, to }), spares)
        }
        _ => vec![],
    };
    items.iter().map(copies).collect()
}

/// Orders simultaneous moves as copies, so that no copy overwrites a value that a later copy reads. `same` tests whether two values have one place.
/// In a cycle, one value is first copied to the spare of the value that it moves to.
fn sequence(mut moves: Vec<Move>, same: impl Fn(Value, Value) -> bool, spares: &FxHashMap<Value, Value>) -> Vec<Group> {
    let mut copies = Vec::new();
    while !moves.is_empty() {
        let harmless = |m: &Move| !moves.iter().any(|other| other.to != m.to && same(other.from, m.to));
        match moves.iter().position(harmless) {
            Some(next) => {
                let moved = moves.remove(next);
                copies.push(Group::copy(moved.from, moved.to));
            }
            None => {
                let moved = &mut moves[0];
                let spare = spares[&moved.to];
                copies.push(Group::copy(moved.from, spare));
                moved.from = spare;
            }
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    /// Returns the copies for moves between numbered values. The spare of value `n` is `n + 100`.
    fn copies(moves: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let spares = moves.iter().map(|&(_, to)| (Value::new(to), Value::new(to + 100))).collect();
        let moves = moves.iter().map(|&(from, to)| Move { from: Value::new(from), to: Value::new(to) }).collect();
        let copies = sequence(moves, |from, to| from == to, &spares);
        copies.iter().map(|group| (group.copied().expect("a copy").index(), group.outputs[0].index())).collect()
    }

    #[test]
    fn what_is_still_read_is_not_overwritten() {
        assert_eq!(copies(&[]), []);
        assert_eq!(copies(&[(1, 2), (3, 4)]), [(1, 2), (3, 4)]);
        assert_eq!(copies(&[(1, 2), (2, 3), (3, 4)]), [(3, 4), (2, 3), (1, 2)]);
    }

    #[test]
    fn values_that_change_places_go_through_a_spare() {
        assert_eq!(copies(&[(1, 2), (2, 1)]), [(1, 102), (2, 1), (102, 2)]);
        assert_eq!(copies(&[(1, 2), (2, 3), (3, 1)]), [(1, 102), (3, 1), (2, 3), (102, 2)]);
        // Value 1 is moved twice, and is also part of a cycle.
        assert_eq!(copies(&[(1, 2), (2, 1), (1, 3)]).last(), Some(&(102, 2)));
    }
}
