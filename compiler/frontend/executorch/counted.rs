//! Loops that count their rounds. Exporters write `map` and `scan` like this.
//!
//! ```text
//! begin: …one round…; counter ← counter + step; done ← counter = count; if not done go to begin
//! ```
//!
//! Nothing else in a round writes the counter or the count, and no jump leads into a round or out of it.

use super::effects::effects;
use super::program::{Instruction, Plan};

/// A loop that counts its rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The first instruction of a round.
    pub begin: usize,
    /// The jump back to it.
    pub jump: usize,
    /// The register that counts.
    pub counter: usize,
    /// The register with the step.
    pub step: usize,
    /// The register with the number of rounds.
    pub count: usize,
    /// The register with the result of the test: the last round is over.
    pub done: usize,
}

/// The counted loops of a method.
pub fn counted_loops(plan: &Plan) -> Vec<Counted> {
    let jumps = plan.instructions.iter().enumerate();
    jumps.filter_map(|(pc, instruction)| counted(plan, pc, instruction)).collect()
}

fn counted(plan: &Plan, jump: usize, instruction: &Instruction) -> Option<Counted> {
    let &Instruction::JumpFalse { condition: done, target: begin } = instruction else { return None };
    let rounds = plan.instructions.get(begin..jump)?;
    let [body @ .., Instruction::Kernel { operator: add, args: sum }, Instruction::Kernel { operator: compare, args: test }] = rounds
    else {
        return None;
    };
    let names = [&plan.operators[*add][..], &plan.operators[*compare][..]];
    let (&[counter, step, next], &[left, count, verdict]) = (&sum[..], &test[..]) else { return None };
    let counts =
        names == ["executorch_prim::add.Scalar", "executorch_prim::eq.Scalar"] && counter == next && counter == left && verdict == done;
    let apart = [step, count, done].iter().all(|&register| register != counter) && count != done && step != done;
    let stays = |instruction: &Instruction| {
        let effects = effects(plan, instruction);
        let mut written = effects.defines.iter().chain(&effects.updates);
        !written.any(|register| [counter, step, count].contains(register))
    };
    (counts && apart && body.iter().all(stays) && is_closed(plan, begin, jump)).then_some(Counted {
        begin,
        jump,
        counter,
        step,
        count,
        done,
    })
}

/// Tests whether only the last jump leads into or out of the loop's rounds. Jumps to its beginning from before are allowed.
fn is_closed(plan: &Plan, begin: usize, jump: usize) -> bool {
    plan.instructions.iter().enumerate().all(|(pc, instruction)| match *instruction {
        Instruction::JumpFalse { .. } if pc == jump => true,
        Instruction::JumpFalse { target, .. } if (begin..jump).contains(&pc) => (begin + 1..jump).contains(&target),
        Instruction::JumpFalse { target, .. } => !(begin + 1..=jump).contains(&target) && (target != begin || pc < begin),
        _ => true,
    })
}
