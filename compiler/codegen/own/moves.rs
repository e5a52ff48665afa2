//! Removal of moves between registers and the stack that change nothing.
//!
//! The allocator splits the range of a value into parts. At the end of a part in a register, it stores the value. It does so even if the value came
//! from the same slot and the slot still holds it. Loops that reload a value then store it in each round.

use super::allocate::Flat;
use super::instruction::Instruction;
use regalloc2::{Allocation, Block, Edit, Inst, InstPosition, OperandKind, Output, PReg};
use rustc_hash::FxHashSet;

/// Registers and slots that hold the same value.
type Equal = FxHashSet<(PReg, Allocation)>;

/// Removes moves to a place that holds the value already, on every path.
pub fn remove_moves<I: Instruction>(flat: &Flat<'_, I>, output: &mut Output) {
    let entries = entries(flat, output);
    let mut kept = vec![true; output.edits.len()];
    for (block, entry) in entries.into_iter().enumerate() {
        if let Some(mut equal) = entry {
            walk(flat, output, block, &mut equal, |number, is_needed| kept[number] &= is_needed);
        }
    }
    let mut number = 0;
    output.edits.retain(|_| {
        number += 1;
        kept[number - 1]
    });
}

/// Returns what is equal at the start of each block, on all paths to it. `None` for a block without a path.
fn entries<I: Instruction>(flat: &Flat<'_, I>, output: &Output) -> Vec<Option<Equal>> {
    use regalloc2::Function;

    let mut entries: Vec<Option<Equal>> = vec![None; flat.num_blocks()];
    let mut open = vec![flat.entry_block().index()];
    entries[open[0]] = Some(Equal::default());
    while let Some(block) = open.pop() {
        let Some(mut equal) = entries[block].clone() else { continue };
        walk(flat, output, block, &mut equal, |_, _| {});
        for to in flat.block_succs(Block::new(block)) {
            let entry = &mut entries[to.index()];
            let both = entry.as_ref().map_or_else(|| equal.clone(), |known| known.intersection(&equal).copied().collect());
            if entry.as_ref() != Some(&both) {
                *entry = Some(both);
                open.push(to.index());
            }
        }
    }
    entries
}

/// Follows the moves and instructions of a block. `found` gets the number of each move, and `true` if it changes something.
fn walk<I: Instruction>(flat: &Flat<'_, I>, output: &Output, block: usize, equal: &mut Equal, mut found: impl FnMut(usize, bool)) {
    use regalloc2::Function;

    let range = flat.block_insns(Block::new(block));
    let mut next = output.edits.partition_point(|(point, _)| point.inst() < range.first());
    let mut moves = |inst: Inst, position: InstPosition, equal: &mut Equal| {
        while let Some((point, Edit::Move { from, to })) = output.edits.get(next)
            && (point.inst(), point.pos()) == (inst, position)
        {
            found(next, moved(*from, *to, equal));
            next += 1;
        }
    };
    for inst in range.iter() {
        moves(inst, InstPosition::Before, equal);
        let defined = flat.inst_operands(inst).iter().zip(output.inst_allocs(inst));
        for (_, &place) in defined.filter(|(operand, _)| operand.kind() == OperandKind::Def) {
            forget(place, equal);
        }
        let clobbers = flat.inst_clobbers(inst);
        equal.retain(|(register, _)| !clobbers.contains(*register));
        moves(inst, InstPosition::After, equal);
    }
}

/// Notes a move. Returns `false` if its target holds the value already.
fn moved(from: Allocation, to: Allocation, equal: &mut Equal) -> bool {
    let pair = |a: Allocation, b: Allocation| a.as_reg().zip(b.as_stack().map(|_| b));
    let both = pair(from, to).or_else(|| pair(to, from));
    if both.is_some_and(|both| equal.contains(&both)) {
        return false;
    }
    // The target is equal to what the source is equal to.
    let same: Vec<(PReg, Allocation)> = match (from.as_reg(), to.as_reg()) {
        (Some(from), Some(to)) => equal.iter().filter(|known| known.0 == from).map(|known| (to, known.1)).collect(),
        (None, None) => equal.iter().filter(|known| known.1 == from).map(|known| (known.0, to)).collect(),
        _ => both.into_iter().collect(),
    };
    forget(to, equal);
    equal.extend(same);
    true
}

/// Forgets what is known of a place.
fn forget(place: Allocation, equal: &mut Equal) {
    equal.retain(|(register, slot)| Some(*register) != place.as_reg() && *slot != place);
}

#[cfg(test)]
mod tests {
    use super::*;
    use regalloc2::{RegClass, SpillSlot};

    #[test]
    fn a_slot_that_holds_a_value_needs_no_store() {
        let register = |number| Allocation::reg(PReg::new(number, RegClass::Int));
        let slot = |number| Allocation::stack(SpillSlot::new(number));
        let mut equal = Equal::default();
        assert!(moved(slot(0), register(1), &mut equal), "a reload");
        assert!(!moved(register(1), slot(0), &mut equal), "the same value");
        assert!(moved(register(1), register(2), &mut equal), "a copy");
        assert!(!moved(register(2), slot(0), &mut equal), "the copy is equal, too");
        assert!(moved(register(1), slot(1), &mut equal), "another slot");
        forget(register(2), &mut equal);
        assert!(moved(register(2), slot(0), &mut equal), "the register has another value");
        assert!(moved(register(1), slot(0), &mut equal), "the slot has another value");
    }
}
