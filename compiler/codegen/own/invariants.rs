//! A pass after lowering that moves constants out of innermost loops.

use super::function::Function;
use super::instruction::{Flow, Instruction};
use regalloc2::{Operand, OperandKind, RegClass};

/// Moves instructions without operands out of innermost loops, while registers are left. `most` returns the number of registers of a class that a
/// loop may fill with carried values and moved constants.
pub fn move_numbers<I: Instruction>(function: &mut Function<I>, most: impl Fn(RegClass) -> usize) {
    let places = function.places();
    for head in 0..function.order.len() {
        if !function.ordered(head).hot {
            continue;
        }
        let goes_to_head = |place: &usize| function.ordered(*place).edges().iter().any(|edge| places[edge.to.0 as usize] == head);
        let Some(before) = (0..head).rfind(goes_to_head) else { continue };
        let Some(latch) = (head..function.order.len()).find(goes_to_head) else { continue };
        let mut held = [RegClass::Int, RegClass::Float, RegClass::Vector].map(|class| {
            let params = &function.ordered(head).params;
            params.iter().filter(|param| param.class() == class).count()
        });
        let mut moved = vec![];
        for place in head..=latch {
            let block = function.order[place];
            let insts = std::mem::take(&mut function.at(block).insts);
            let (numbers, rest): (Vec<I>, Vec<I>) = insts.into_iter().partition(|inst| {
                let Some(class) = class_of_number(inst) else { return false };
                let fits = held[class as usize] < most(class);
                held[class as usize] += usize::from(fits);
                fits
            });
            moved.extend(numbers);
            function.at(block).insts = rest;
        }
        let before = function.order[before];
        function.at(before).insts.extend(moved);
    }
}

/// Returns the register class of an instruction that only defines one register, with the same value at any place. `None` for other instructions.
fn class_of_number(inst: &impl Instruction) -> Option<RegClass> {
    let mut list: Vec<Operand> = vec![];
    inst.operands(&mut list);
    let pure = inst.flow() == Flow::Straight { pure: true };
    match list[..] {
        [only] if pure && !inst.reads_locals() && only.kind() == OperandKind::Def => Some(only.class()),
        _ => None,
    }
}
