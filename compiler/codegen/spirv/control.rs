//! The position of an invocation, loops, branches, and early ends.

use super::assembler::{Incoming, Kind, Register};
use super::dispatch::groups;
use super::lower::{Lowering, Position, Rounds};
use super::place::View;
use crate::CodegenError;
use crate::bug::Mistake;
use crate::unsupported::Lack;
use modelc_kernel::{Grid, Region, Value};
use rspirv::dr::Operand;
use rspirv::spirv::{BuiltIn, Decoration, LoopControl, MemorySemantics, Op, Scope, SelectionControl, StorageClass, Word};

/// A phi: its id, its register, and what each predecessor hands on.
type Handed = (Word, Register, Vec<Incoming>);

impl Lowering<'_> {
    /// Begins the function: computes the position, and returns early if it is outside the grid. Returns the input variables of the entry point.
    pub fn begin(&mut self, grid: Grid) -> Vec<Word> {
        let first = self.out.id();
        self.out.begin(first);
        let [in_row, rows, _] = groups(&grid);
        let (group, of_group) = self.built_in(BuiltIn::WorkgroupId);
        let (place, of_place) = self.built_in(BuiltIn::LocalInvocationId);
        let mut number = of_group[0];
        if rows > 1 {
            let width = self.out.int(Register::INT, Grid::MOST_GROUPS);
            let before = self.out.op(Op::IMul, Register::INT, &[of_group[1], width]);
            number = self.out.op(Op::IAdd, Register::INT, &[before, number]);
        }
        let workgroup = self.out.int(Register::INT, grid.workgroup);
        let before = self.out.op(Op::IMul, Register::INT, &[number, workgroup]);
        let position = self.out.op(Op::IAdd, Register::INT, &[before, of_place[0]]);
        if u64::from(in_row) * u64::from(rows) * u64::from(grid.workgroup) > grid.positions {
            let count = self.out.int(Register::INT, grid.positions as u32);
            let is_beyond = self.out.op(Op::UGreaterThanEqual, Register { kind: Kind::Bool, lanes: 1 }, &[position, count]);
            self.end_if(is_beyond, |_| {});
        }
        if let Some(&value) = self.kernel.body.params.first() {
            self.set(value, vec![position]);
            self.position = Some(Position { value, workgroup: grid.workgroup, group: number, place: of_place[0] });
        }
        vec![group, place]
    }

    /// Loads a built-in vector of three integers; returns its variable and its first two components.
    fn built_in(&mut self, which: BuiltIn) -> (Word, [Word; 2]) {
        let register = Register { kind: Kind::Int, lanes: 3 };
        let ty = self.out.ty(register);
        let variable = self.out.global(StorageClass::Input, ty);
        self.out.decorate(variable, Decoration::BuiltIn, &[Operand::BuiltIn(which)]);
        let loaded = self.out.result(Op::Load, ty, vec![Operand::IdRef(variable)]);
        (variable, [0, 1].map(|lane| self.out.component(loaded, register, lane)))
    }

    fn jump(&mut self, to: Word) {
        self.out.effect(Op::Branch, vec![Operand::IdRef(to)]);
    }

    fn jump_if(&mut self, condition: Word, yes: Word, no: Word) {
        self.out.effect(Op::BranchConditional, [condition, yes, no].map(Operand::IdRef).to_vec());
    }

    fn merge_selection(&mut self, merge: Word) {
        self.out.effect(Op::SelectionMerge, vec![Operand::IdRef(merge), Operand::SelectionControl(SelectionControl::NONE)]);
    }

    fn merge_loop(&mut self, merge: Word, again: Word) {
        let control = Operand::LoopControl(LoopControl::NONE);
        self.out.effect(Op::LoopMerge, vec![Operand::IdRef(merge), Operand::IdRef(again), control]);
    }

    /// Ends the invocation if a condition holds, after the instructions that `before` adds.
    fn end_if(&mut self, condition: Word, before: impl FnOnce(&mut Self)) {
        let [ends, goes_on] = [(); 2].map(|()| self.out.id());
        self.merge_selection(goes_on);
        self.jump_if(condition, ends, goes_on);
        self.out.begin(ends);
        before(self);
        self.out.effect(Op::Return, vec![]);
        self.out.begin(goes_on);
    }

    /// Stores a status and ends the invocation if a mask holds.
    pub fn fail_if(&mut self, condition: Value, status: i32) -> Result<(), CodegenError> {
        let word = self.kernel.status().ok_or_else(|| CodegenError::lowering(self.kernel, Mistake::NoStatus))?;
        let condition = self.one(condition);
        self.end_if(condition, |l| {
            let zero = l.out.int(Register::INT, 0);
            let (pointer, ..) = l.pointer(word, View::Words, zero);
            let status = l.out.int(Register::INT, status as u32);
            // Several invocations may store a status.
            let [scope, order] = l.atomic_operands();
            l.out.effect(Op::AtomicStore, vec![Operand::IdRef(pointer), scope, order, Operand::IdRef(status)]);
        });
        Ok(())
    }

    /// Adds a barrier: the invocations of a workgroup wait for each other, and see each other's writes.
    pub fn barrier(&mut self) {
        let order = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::UNIFORM_MEMORY | MemorySemantics::WORKGROUP_MEMORY;
        let (scope, order) = (self.out.int(Register::INT, Scope::Workgroup as u32), self.out.int(Register::INT, order.bits()));
        self.out.effect(Op::ControlBarrier, vec![Operand::IdScope(scope), Operand::IdScope(scope), Operand::IdMemorySemantics(order)]);
    }

    /// Assigns new ids to the values that a block receives.
    fn taken(&mut self, values: &[Value]) -> Result<Vec<(Value, Vec<Word>, Register)>, CodegenError> {
        let mut taken = Vec::new();
        for &value in values {
            let registers = self.registers(self.ty(value))?;
            let ids: Vec<Word> = registers.iter().map(|_| self.out.id()).collect();
            self.set(value, ids.clone());
            taken.push((value, ids, registers[0]));
        }
        Ok(taken)
    }

    /// Makes the phis of a block: for each register of each value, its sources in the two predecessors.
    fn handed(&self, taken: &[(Value, Vec<Word>, Register)], from: [(&[Value], Word); 2]) -> Vec<Handed> {
        let mut handed = Vec::new();
        for (i, (_, ids, register)) in taken.iter().enumerate() {
            for (part, &id) in ids.iter().enumerate() {
                let sources = from.map(|(values, label)| Incoming { value: self.part(values[i], part), label });
                handed.push((id, *register, sources.to_vec()));
            }
        }
        handed
    }

    fn part(&self, value: Value, part: usize) -> Word {
        self.get(value)[part]
    }

    fn hand_on(&mut self, block: usize, handed: Vec<Handed>) {
        for (id, register, from) in handed {
            self.out.phi(block, id, register, &from);
        }
    }

    /// Lowers a counted loop.
    pub fn counted_loop(
        &mut self,
        results: &[Value],
        Rounds { start, end, step }: Rounds,
        carried: &[Value],
        body: &Region,
    ) -> Result<(), CodegenError> {
        let step = i32::try_from(step).map_err(|_| self.lack(Lack::Step(step)))?;
        let [head, inside, again, after] = [(); 4].map(|()| self.out.id());
        let before = self.out.label();
        self.jump(head);
        self.out.begin(head);
        let block = self.out.block();
        let taken = self.taken(&body.params)?;
        let counter = self.one(body.params[0]);
        let goes_on = self.out.op(Op::SLessThan, Register { kind: Kind::Bool, lanes: 1 }, &[counter, self.one(end)]);
        self.merge_loop(after, again);
        self.jump_if(goes_on, inside, after);
        self.out.begin(inside);
        self.region(body)?;
        self.jump(again);
        self.out.begin(again);
        let next = self.plus(counter, step as u32);
        self.jump(head);
        let mut handed = self.handed(&taken[1..], [(carried, before), (&body.yields, again)]);
        handed.push((
            counter,
            Register::INT,
            vec![Incoming { value: self.one(start), label: before }, Incoming { value: next, label: again }],
        ));
        self.hand_on(block, handed);
        self.out.begin(after);
        for (&result, (_, ids, _)) in results.iter().zip(&taken[1..]) {
            self.set(result, ids.clone());
        }
        Ok(())
    }

    /// Lowers a loop that repeats while its first yield holds.
    pub fn repeated_loop(&mut self, results: &[Value], carried: &[Value], body: &Region) -> Result<(), CodegenError> {
        let [head, inside, again, after] = [(); 4].map(|()| self.out.id());
        let before = self.out.label();
        self.jump(head);
        self.out.begin(head);
        let block = self.out.block();
        let taken = self.taken(&body.params)?;
        self.merge_loop(after, again);
        self.jump(inside);
        self.out.begin(inside);
        self.region(body)?;
        self.jump(again);
        self.out.begin(again);
        let goes_on = self.one(body.yields[0]);
        self.jump_if(goes_on, head, after);
        let handed = self.handed(&taken, [(carried, before), (&body.yields[1..], again)]);
        self.hand_on(block, handed);
        self.out.begin(after);
        for (&result, &last) in results.iter().zip(&body.yields[1..]) {
            let held = self.get(last);
            self.set(result, held);
        }
        Ok(())
    }

    /// Lowers a branch.
    pub fn branch(&mut self, results: &[Value], condition: Value, then: &Region, otherwise: &Region) -> Result<(), CodegenError> {
        let [yes, no, after] = [(); 3].map(|()| self.out.id());
        self.merge_selection(after);
        self.jump_if(self.one(condition), yes, no);
        let mut ends = [0; 2];
        for (end, (label, region)) in ends.iter_mut().zip([(yes, then), (no, otherwise)]) {
            self.out.begin(label);
            self.region(region)?;
            *end = self.out.label();
            self.jump(after);
        }
        self.out.begin(after);
        let block = self.out.block();
        let taken = self.taken(results)?;
        let handed = self.handed(&taken, [(&then.yields, ends[0]), (&otherwise.yields, ends[1])]);
        self.hand_on(block, handed);
        Ok(())
    }
}
