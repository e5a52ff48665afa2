//! A pass after lowering that removes instructions without used results.

use super::function::Function;
use super::instruction::{Flow, Instruction};
use regalloc2::{Operand, OperandKind, VReg};

/// Counts the uses of each register.
pub fn count_uses<I: Instruction>(function: &Function<I>) -> Vec<u32> {
    let mut uses = vec![0; function.registers];
    let mut list = vec![];
    for block in &function.blocks {
        for inst in block.all() {
            operands(inst, &mut list);
            used(&list).for_each(|v| uses[v.vreg()] += 1);
        }
        for v in block.edges().iter().flat_map(|edge| &edge.arguments) {
            uses[v.vreg()] += 1;
        }
    }
    uses
}

/// Removes pure instructions whose results have no uses, and updates the counts of uses. It goes from the end of the code to its start. So it sees
/// uses before definitions, except for loops, whose values are block parameters.
pub fn sweep<I: Instruction>(function: &mut Function<I>, uses: &mut [u32]) {
    let mut list = vec![];
    for index in (0..function.order.len()).rev() {
        let block = function.order[index];
        let data = function.at(block);
        let mut kept = Vec::with_capacity(data.insts.len());
        while let Some(inst) = data.insts.pop() {
            operands(&inst, &mut list);
            let wanted = list.iter().any(|operand| operand.kind() == OperandKind::Def && uses[operand.vreg().vreg()] > 0);
            if inst.flow() == (Flow::Straight { pure: true }) && !wanted {
                used(&list).for_each(|v| uses[v.vreg()] -= 1);
            } else {
                kept.push(inst);
            }
        }
        kept.reverse();
        data.insts = kept;
    }
}

fn operands(inst: &impl Instruction, list: &mut Vec<Operand>) {
    list.clear();
    inst.operands(list);
}

fn used(list: &[Operand]) -> impl Iterator<Item = VReg> + '_ {
    list.iter().filter(|operand| operand.kind() == OperandKind::Use).map(|operand| operand.vreg())
}
