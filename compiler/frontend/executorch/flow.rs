//! Control flow graph of jumps: basic blocks, the point where the ways of a branch meet again, and live registers.
//!
//! `torch.cond` becomes `JumpFalse c → else; …then…; Move; JumpFalse false → end; …else…; Move; end:`. The second jump tests a register that
//! is never written, so it is known. The remaining branch has ways that meet at its *immediate postdominator*: the first block that every path to
//! the end of the method goes through.

use super::effects::{Effects, effects, range_in_file};
use super::program::{EValue, Instruction, Plan};
use crate::diagnostic::{Diagnostic, codes};

/// The blocks of a method. Block number `starts.len()` is the end of the method.
pub struct Flow {
    starts: Vec<usize>,
    length: usize,
    successors: Vec<Vec<usize>>,
    join: Vec<Option<usize>>,
    live: Vec<BitSet>,
}

/// The maximum number of blocks times registers. Larger methods are too tangled to follow.
const MAX_LIVE_BITS: u64 = 1 << 31;

impl Flow {
    /// The blocks of a method. `kept` are registers that must have their values at the end.
    ///
    /// # Errors
    /// When the method has too many branches.
    pub fn of(plan: &Plan, kept: &[usize]) -> Result<Self, Diagnostic> {
        let starts = leaders(plan);
        if starts.len() as u64 * plan.values.len() as u64 > MAX_LIVE_BITS {
            return Err(Diagnostic::new(codes::TOO_MANY_BRANCHES, "the method has too many branches").in_function(&plan.name));
        }
        let known = known_conditions(plan);
        let mut flow = Self { length: plan.instructions.len(), successors: Vec::new(), join: Vec::new(), live: Vec::new(), starts };
        for block in 0..flow.starts.len() {
            let successors = flow.block_successors(plan, &known, block);
            flow.successors.push(successors);
        }
        flow.join = postdominators(&flow.successors);
        flow.live = flow.liveness(plan, kept);
        Ok(flow)
    }

    fn end(&self, block: usize) -> usize {
        self.starts.get(block + 1).copied().unwrap_or(self.length)
    }

    fn block_at(&self, pc: usize) -> usize {
        if pc >= self.length { self.starts.len() } else { self.starts.partition_point(|&start| start <= pc) - 1 }
    }

    fn block_successors(&self, plan: &Plan, known: &[Option<bool>], block: usize) -> Vec<usize> {
        let last = self.end(block) - 1;
        let next = self.block_at(last + 1);
        match plan.instructions[last] {
            Instruction::JumpFalse { condition, target } => match known[condition] {
                Some(true) => vec![next],
                Some(false) => vec![self.block_at(target)],
                None => vec![next, self.block_at(target)],
            },
            _ => vec![next],
        }
    }

    /// The instruction where both ways of the jump at `pc` meet again, or the number of instructions for the end. `None` if some way never ends.
    pub fn join(&self, pc: usize) -> Option<usize> {
        let block = self.join[self.block_at(pc)]?;
        Some(self.starts.get(block).copied().unwrap_or(self.length))
    }

    /// The registers whose values may be read from the block that starts at `pc` on.
    pub fn live(&self, pc: usize) -> impl Iterator<Item = usize> + '_ {
        self.live[self.block_at(pc)].iter()
    }

    fn liveness(&self, plan: &Plan, kept: &[usize]) -> Vec<BitSet> {
        let aliases = Aliases::of(plan);
        let mut live = vec![BitSet::new(plan.values.len()); self.starts.len() + 1];
        for &register in kept {
            live[self.starts.len()].insert(register);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..self.starts.len()).rev() {
                let mut now = BitSet::new(plan.values.len());
                for &successor in &self.successors[block] {
                    now.union(&live[successor]);
                }
                for pc in (self.starts[block]..self.end(block)).rev() {
                    aliases.step_back(&effects(plan, &plan.instructions[pc]), &mut now);
                }
                if now != live[block] {
                    live[block] = now;
                    changed = true;
                }
            }
        }
        live
    }
}

/// Instructions that begin a block.
fn leaders(plan: &Plan) -> Vec<usize> {
    let length = plan.instructions.len();
    let mut starts = vec![0];
    for (pc, instruction) in plan.instructions.iter().enumerate() {
        if let Instruction::JumpFalse { target, .. } = instruction {
            starts.extend([pc + 1, *target]);
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|&start| start < length);
    starts
}

/// The truth value that each register always has, if it is in the file and nothing writes it.
fn known_conditions(plan: &Plan) -> Vec<Option<bool>> {
    let truth = |value: &EValue| if let EValue::Bool(truth) = value { Some(*truth) } else { None };
    let mut known: Vec<Option<bool>> = plan.values.iter().map(truth).collect();
    for instruction in &plan.instructions {
        let effects = effects(plan, instruction);
        for register in effects.defines.into_iter().chain(effects.updates) {
            known[register] = None;
        }
    }
    for &input in &plan.inputs {
        known[input] = None;
    }
    known
}

/// The registers that a write makes meaningless: all that lie inside the bytes written.
struct Aliases {
    /// (range start, range end, register) of every tensor whose memory never changes, by area and start.
    by_start: Vec<(super::memory::ByteRange, usize)>,
    of_register: Vec<Option<super::memory::ByteRange>>,
}

impl Aliases {
    fn of(plan: &Plan) -> Self {
        let mut of_register: Vec<_> = (0..plan.values.len()).map(|register| range_in_file(plan, register)).collect();
        for instruction in &plan.instructions {
            // A moved register lies where its source lies.
            if let Instruction::Move { to, .. } = instruction {
                of_register[*to] = None;
            }
        }
        let mut by_start: Vec<_> = of_register.iter().enumerate().filter_map(|(i, range)| Some(((*range)?, i))).collect();
        by_start.sort_unstable_by_key(|(range, register)| (range.area, range.start, *register));
        Self { by_start, of_register }
    }

    fn step_back(&self, effects: &Effects, live: &mut BitSet) {
        for &register in &effects.defines {
            live.remove(register);
            let Some(written) = self.of_register[register] else { continue };
            let first = self.by_start.partition_point(|(range, _)| (range.area, range.start) < (written.area, written.start));
            for (range, alias) in &self.by_start[first..] {
                if range.area != written.area || range.start >= written.end {
                    break;
                }
                if range.end <= written.end {
                    live.remove(*alias);
                }
            }
        }
        for &register in effects.uses.iter().chain(&effects.updates) {
            live.insert(register);
        }
    }
}

/// The immediate postdominator of every block (Cooper, Harvey, Kennedy: "A simple, fast dominance algorithm", on the reversed graph). `None` for
/// blocks from which the end cannot be reached.
fn postdominators(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let end = successors.len();
    let mut predecessors = vec![Vec::new(); end + 1];
    for (block, list) in successors.iter().enumerate() {
        for &successor in list {
            predecessors[successor].push(block);
        }
    }
    let order = postorder(end, &predecessors);
    let mut number = vec![None; end + 1];
    for (i, &block) in order.iter().enumerate() {
        number[block] = Some(i);
    }
    let mut immediate: Vec<Option<usize>> = vec![None; end + 1];
    immediate[end] = Some(end);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|&&block| block != end) {
            let known = successors[block].iter().copied().filter(|&s| immediate[s].is_some());
            let meet = known.reduce(|a, b| intersect(&immediate, &number, a, b));
            if immediate[block] != meet {
                immediate[block] = meet;
                changed = true;
            }
        }
    }
    immediate.truncate(end);
    immediate
}

fn intersect(immediate: &[Option<usize>], number: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let lower = if number[a] < number[b] { &mut a } else { &mut b };
        *lower = immediate[*lower].unwrap_or(immediate.len() - 1);
    }
    a
}

/// Blocks from which the end is reached, each after all that it leads to on the reversed graph; the end is last.
fn postorder(end: usize, predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; predecessors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((block, next)) = stack.pop() {
        match predecessors[block].get(next) {
            Some(&predecessor) => {
                stack.push((block, next + 1));
                if !std::mem::replace(&mut seen[predecessor], true) {
                    stack.push((predecessor, 0));
                }
            }
            None => order.push(block),
        }
    }
    order
}

/// A set of small numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    fn remove(&mut self, n: usize) {
        self.0[n / 64] &= !(1 << (n % 64));
    }

    fn union(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, &word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit))
    }
}

#[cfg(test)]
mod tests {
    use super::super::program::{Form, Storage, TensorMeta};
    use super::*;
    use crate::ir::ElementType;

    fn tensor(offset: u64) -> EValue {
        let form = Form::row_major(ElementType::F32, vec![4]);
        let storage = Storage::Planned { memory_id: 1, offset, initial: None };
        EValue::Tensor(TensorMeta { form, storage, dynamic: false, name: None })
    }

    fn plan(values: Vec<EValue>, instructions: Vec<Instruction>, outputs: Vec<usize>) -> Plan {
        let operators = vec!["aten::relu.out".to_owned()];
        Plan {
            name: "f".into(),
            values,
            inputs: vec![],
            outputs,
            operators,
            delegates: vec![],
            instructions,
            area_bytes: vec![0, 64],
            drawn: None,
            traced: vec![],
        }
    }

    fn relu(from: usize, to: usize) -> Instruction {
        Instruction::Kernel { operator: 0, args: vec![from, to, to] }
    }

    /// Registers: 0 condition tensor, 1 input, 2 and 3 results of the ways, 4 the result, 5 always false.
    fn cond() -> Plan {
        let values = vec![tensor(0), tensor(16), tensor(32), tensor(48), tensor(32), EValue::Bool(false)];
        let jump = |condition, target| Instruction::JumpFalse { condition, target };
        let moved = |from, to| Instruction::Move { from, to };
        plan(values, vec![jump(0, 4), relu(1, 2), moved(2, 4), jump(5, 6), relu(1, 3), moved(3, 4), relu(4, 2)], vec![2])
    }

    #[test]
    fn both_ways_of_a_cond_meet_behind_it() {
        let flow = Flow::of(&cond(), &[2]).unwrap();
        assert_eq!(flow.join(0), Some(6));
        assert_eq!(flow.live(6).collect::<Vec<_>>(), [4]);
        assert_eq!(flow.live(1).collect::<Vec<_>>(), [1, 5], "the way that is taken, and the register that its jump tests");
        assert_eq!(flow.live(0).collect::<Vec<_>>(), [0, 1, 5]);
    }

    #[test]
    fn a_cond_at_the_end_joins_at_the_end() {
        let mut plan = cond();
        plan.instructions.pop();
        let flow = Flow::of(&plan, &[4]).unwrap();
        assert_eq!(flow.join(0), Some(6));
        assert_eq!(flow.live(6).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_write_ends_the_life_of_every_view_of_its_bytes() {
        // Register 1 is a view of register 0.
        let values = vec![tensor(0), tensor(0), tensor(16)];
        let flow = Flow::of(&plan(values, vec![relu(2, 0), relu(1, 2)], vec![2]), &[2]).unwrap();
        assert_eq!(flow.live(0).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_way_that_never_ends_has_no_join() {
        let values = vec![tensor(0), EValue::Bool(false)];
        let jump = |condition, target| Instruction::JumpFalse { condition, target };
        // 0: if c goto 2; 1: goto end; 2: goto 2.
        let flow = Flow::of(&plan(values, vec![jump(0, 2), jump(1, 3), jump(1, 2)], vec![]), &[]).unwrap();
        assert_eq!(flow.join(2), None);
        assert_eq!(flow.join(1), Some(3));
    }

    #[test]
    fn a_method_without_instructions_is_its_end() {
        let flow = Flow::of(&plan(vec![EValue::Int(1)], vec![], vec![0]), &[0]).unwrap();
        assert_eq!(flow.live(0).collect::<Vec<_>>(), [0]);
    }
}
