//! Interpreter of workgroups with barriers: between two barriers, one position runs after the other.

use super::order::shuffled;
use super::{InterpretError, Lanes, Machine, RuleFault, Stop};
use crate::*;

/// All workgroups of a grid.
pub struct Groups<'k, 'b> {
    machine: Machine<'k, 'b>,
    grid: Grid,
    seed: u64,
    /// The first position of the current workgroup.
    first: u32,
    /// The values of each position of the workgroup.
    values: Vec<Vec<Lanes>>,
}

impl<'k, 'b> Groups<'k, 'b> {
    /// Makes the workgroups of a grid, to run in an order drawn from a seed.
    pub fn new(machine: Machine<'k, 'b>, grid: Grid, seed: u64) -> Self {
        Self { machine, grid, seed, first: 0, values: vec![] }
    }

    /// Runs all workgroups, one after the other.
    pub fn run(mut self) -> Result<(), InterpretError> {
        let kernel = self.machine.kernel;
        let workgroup = self.grid.workgroup;
        for group in shuffled(self.grid.positions.div_ceil(workgroup.into()), self.seed) {
            self.first = group * workgroup;
            let count = (self.grid.positions - u64::from(self.first)).min(workgroup.into()) as usize;
            self.values = vec![vec![Lanes::new(); kernel.types.len()]; count];
            self.machine.memory.begin(count);
            let done = self.each(|machine, position| {
                machine.set(kernel.body.params[0], vec![position.into()]);
                Ok(())
            });
            match done.and_then(|()| self.region(&kernel.body)) {
                Ok(()) => {}
                // In a verified kernel with barriers, no position fails.
                Err(Stop::Status(status)) => self.machine.memory.fail(status),
                Err(Stop::Error(error)) => return Err(*error),
            }
        }
        Ok(())
    }

    /// Runs each position of the workgroup, in a new order.
    fn each(&mut self, mut run: impl FnMut(&mut Machine<'k, 'b>, u32) -> Result<(), Stop>) -> Result<(), Stop> {
        self.seed = self.seed.wrapping_add(1);
        for slot in shuffled(self.values.len() as u64, self.seed) {
            let position = self.first + slot;
            let slot = slot as usize;
            std::mem::swap(&mut self.machine.values, &mut self.values[slot]);
            self.machine.memory.go_on(position, slot);
            let done = run(&mut self.machine, position);
            std::mem::swap(&mut self.machine.values, &mut self.values[slot]);
            done?;
        }
        Ok(())
    }

    /// Runs a region that all positions reach.
    fn region(&mut self, region: &'k Region) -> Result<(), Stop> {
        let mut rest = &region.statements[..];
        while let Some(first) = rest.first() {
            let alone = rest.iter().take_while(|statement| !has_barrier(statement)).count();
            let (run, after) = rest.split_at(alone);
            if run.is_empty() {
                self.together(first)?;
                rest = &rest[1..];
            } else {
                self.each(|machine, _| run.iter().try_for_each(|statement| machine.statement(statement)))?;
                rest = after;
            }
        }
        Ok(())
    }

    /// Runs a barrier, or a statement with a barrier inside.
    fn together(&mut self, statement: &'k Statement) -> Result<(), Stop> {
        match &statement.inst {
            Inst::Barrier => {
                self.machine.memory.barrier();
                Ok(())
            }
            Inst::If { condition, then, otherwise } => self.branch(&statement.results, *condition, [then, otherwise]),
            Inst::For { .. } => self.counted(statement),
            _ => Err(self.differs(RuleFault::BarrierUnderCondition)),
        }
    }

    /// Runs a branch. All positions must take the same side.
    fn branch(&mut self, results: &'k [Value], condition: Value, [then, otherwise]: [&'k Region; 2]) -> Result<(), Stop> {
        let mut taken = vec![];
        self.each(|machine, _| {
            taken.push(machine.truth(condition));
            Ok(())
        })?;
        if taken.iter().any(|other| *other != taken[0]) {
            return Err(self.differs(RuleFault::BarrierInBranch));
        }
        let region = if taken[0] { then } else { otherwise };
        self.region(region)?;
        self.each(|machine, _| {
            machine.assign(results, &region.yields);
            Ok(())
        })
    }

    /// Runs a loop with the same bounds at all positions.
    fn counted(&mut self, Statement { results, inst }: &'k Statement) -> Result<(), Stop> {
        let Inst::For { start, end, step, carried, body, .. } = inst else { return Ok(()) };
        let mut ends = vec![];
        self.each(|machine, _| {
            ends.push((machine.index(*start), machine.index(*end)));
            machine.assign(results, carried);
            Ok(())
        })?;
        let (mut counter, end) = ends[0];
        if ends.iter().any(|other| *other != ends[0]) {
            return Err(self.differs(RuleFault::BarrierInLoop));
        }
        while counter < end {
            self.each(|machine, _| {
                machine.assign(&body.params[1..], results);
                let lane = machine.lane(body.params[0]);
                machine.set(body.params[0], vec![super::lane::cut(lane, counter.into())]);
                Ok(())
            })?;
            self.region(body)?;
            self.each(|machine, _| {
                machine.assign(results, &body.yields);
                Ok(())
            })?;
            counter = counter.saturating_add(*step);
        }
        Ok(())
    }

    fn differs(&self, fault: RuleFault) -> Stop {
        InterpretError::Rule { kernel: self.machine.kernel.name.clone(), value: None, fault }.into()
    }
}

fn has_barrier(statement: &Statement) -> bool {
    let inside = |region: &Region| region.statements.iter().any(has_barrier);
    statement.inst == Inst::Barrier || statement.inst.regions().into_iter().any(inside)
}
