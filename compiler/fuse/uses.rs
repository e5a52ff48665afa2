//! Readers of values, and values that moves pass on.

use super::flow::{Flow, Item, each_inst};
use crate::ir::{Function, Inst, InstData, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Counts the uses of each value: as an operand, in a move, as a result of the method, or as a state's final contents.
pub fn uses_of(flow: &Flow) -> FxHashMap<Value, usize> {
    let mut uses: FxHashMap<Value, usize> = FxHashMap::default();
    count_uses(&flow.function, &flow.items, &mut uses);
    for &result in flow.function.results.iter().chain(flow.states.iter().map(|s| &s.exit)) {
        *uses.entry(result).or_default() += 1;
    }
    uses
}

fn count_uses(function: &Function, items: &[Item], uses: &mut FxHashMap<Value, usize>) {
    for item in items {
        match item {
            Item::Inst(inst) => {
                for value in function.uses(*inst) {
                    *uses.entry(value).or_default() += 1;
                }
            }
            Item::If { condition, then, otherwise, .. } => {
                *uses.entry(*condition).or_default() += 1;
                for (body, results) in [then, otherwise] {
                    count_uses(function, body, uses);
                    for &value in results {
                        *uses.entry(value).or_default() += 1;
                    }
                }
            }
            Item::While { carried, head, condition, body } => {
                count_uses(function, head, uses);
                count_uses(function, body, uses);
                let handed = carried.iter().flat_map(|c| [c.initial, c.next]);
                for value in handed.chain([*condition]) {
                    *uses.entry(value).or_default() += 1;
                }
            }
        }
    }
}

/// Returns the instructions whose results all readers read in the same way. `read` returns the operand that an instruction reads in this way.
pub(super) fn read_only_so(
    function: &Function,
    items: &[Item],
    uses: &FxHashMap<Value, usize>,
    read: impl Fn(&InstData) -> Option<Value>,
) -> FxHashSet<Inst> {
    let mut counts: FxHashMap<Value, usize> = FxHashMap::default();
    each_inst(items, &mut |inst| {
        if let Some(operand) = read(&function.insts[inst]) {
            *counts.entry(operand).or_default() += 1;
        }
    });
    let only_so = |(value, count): (&Value, &usize)| function.defining_inst(*value).filter(|_| uses.get(value) == Some(count));
    counts.iter().filter_map(only_so).collect()
}

/// Collects the values that moves at the edges of branches and loops pass on.
pub(super) fn collect_handed_on(items: &[Item], list: &mut FxHashSet<Value>) {
    for item in items {
        match item {
            Item::Inst(_) => {}
            Item::If { then, otherwise, .. } => {
                for (body, results) in [then, otherwise] {
                    collect_handed_on(body, list);
                    list.extend(results);
                }
            }
            Item::While { carried, head, body, .. } => {
                collect_handed_on(head, list);
                collect_handed_on(body, list);
                list.extend(carried.iter().flat_map(|c| [c.initial, c.next]));
            }
        }
    }
}
