//! Choice of merges: all that the rules of fusion allow, except those that enlarge the arena. A merged group needs the operands of both groups at the
//! same time, and may no longer overwrite an operand. The planner computes the arena.

use crate::diagnostic::Diagnostics;
use crate::fuse::{Fusions, Merge};
use crate::parallel;
use rustc_hash::FxHashSet;

/// Maximum number of plans that search for the merges that enlarge the arena. Merges that are not tested by then are not made.
const MOST_TRIALS: usize = 32;

/// Chooses some of the possible merges. `arena` plans a method with given merges and returns the size of its arena.
///
/// # Errors
/// The error of `arena` without merges.
pub(in crate::lower) fn choose(
    merges: &[Merge],
    arena: impl Fn(&Fusions) -> Result<u64, Diagnostics> + Sync,
) -> Result<Fusions, Diagnostics> {
    if merges.is_empty() {
        return Ok(Fusions::none());
    }
    let these = |list: &[Merge]| Fusions::These(list.iter().copied().collect());
    // Usually all merges are taken, so both plans are made at the same time.
    let (without, all) = parallel::both(|| arena(&Fusions::none()), || arena(&these(merges)));
    let without = without?;
    // A merged group without a schedule is an error, so it is not merged.
    let is_harmless = |bytes: &Result<u64, Diagnostics>| bytes.as_ref().is_ok_and(|bytes| *bytes <= without);
    let fits = |list: &[Merge]| if list.len() == merges.len() { is_harmless(&all) } else { is_harmless(&arena(&these(list))) };
    Ok(Fusions::These(harmless(merges, fits).into_iter().collect::<FxHashSet<_>>()))
}

/// Returns many elements of a list that pass a test together. The empty list must pass. A half that passes is taken as a whole, else it is halved.
fn harmless<T: Copy>(list: &[T], passes: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut taken: Vec<T> = Vec::new();
    let mut open = vec![list];
    for _ in 0..MOST_TRIALS {
        let Some(half) = open.pop() else { break };
        let together = [&taken[..], half].concat();
        if passes(&together) {
            taken = together;
        } else if half.len() > 1 {
            let (first, second) = half.split_at(half.len() / 2);
            open.extend([second, first]);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn all_but_those_at_fault_are_taken() {
        let list: Vec<u32> = (0..64).collect();
        let without = |faults: &'static [u32]| harmless(&list, |tried| !tried.iter().any(|n| faults.contains(n)));
        assert_eq!(without(&[]).len(), 64);
        assert_eq!(without(&[17]).len(), 63);
        assert_eq!(without(&[0, 63]).len(), 62);
        assert_eq!(harmless(&list, |tried| tried.len() < 2).len(), 1);
        assert!(harmless(&list, |tried| tried.is_empty()).is_empty());
    }

    #[test]
    fn what_was_not_tried_is_not_taken() {
        let list: Vec<u32> = (0..4096).collect();
        let taken = harmless(&list, |tried| tried.iter().all(|n| n % 2 == 0));
        assert!(taken.iter().all(|n| n % 2 == 0));
    }
}
