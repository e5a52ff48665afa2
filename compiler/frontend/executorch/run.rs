//! Running a method's instructions at compile time: numbers are computed, kernels become IR, memory is followed byte by byte.
//!
//! Static numbers in registers stay numbers. Shape arithmetic and counted loops (`map`, `scan`) thus run here, and
//! leave only the kernels of each round. A jump on a run-time value is a branch (`branch.rs`). A loop with a run-time number
//! of rounds stays a loop (`rounds.rs`).

use super::effects::effects;
use super::fault::Fault;
use super::ops;
use super::program::Instruction;
use super::translate::Translator;
use crate::frontend::delegates::known::{Known, known};
use crate::frontend::delegates::{vulkan, xnnpack};
use crate::ir::{Source, SourceData};

impl<'a> Translator<'a, '_> {
    /// Runs instructions from `from` on until `until` is reached.
    ///
    /// # Errors
    /// Control that cannot be followed any further. Faults of single instructions are reported, and their results are unavailable.
    pub fn run(&mut self, from: usize, until: usize) -> Result<(), Fault> {
        let plan = self.plan;
        let mut pc = from;
        while pc != until && pc < plan.instructions.len() {
            let instruction = &plan.instructions[pc];
            let touched = effects(plan, instruction);
            self.steps += 1 + touched.uses.len();
            if self.steps > self.shared.most_steps {
                let fault = Fault::unsupported("the method runs through too many instructions: a loop that is long or never ends");
                return Err(self.report(pc, fault));
            }
            self.graph.builder.source = Some(self.source(pc));
            if let Some(counted) = self.loop_at(pc) {
                pc = self.repeat(&counted).map_err(|f| self.report(counted.jump, f))?;
                continue;
            }
            let next = match instruction {
                Instruction::JumpFalse { condition, target } => self.jump(pc, *condition, *target).map_err(|f| self.report(pc, f))?,
                _ => {
                    if let Err(fault) = self.step(instruction) {
                        let _ = self.report(pc, fault);
                        for register in touched.defines.into_iter().chain(touched.updates) {
                            self.forget(register);
                        }
                    }
                    pc + 1
                }
            };
            pc = next;
        }
        Ok(())
    }

    fn step(&mut self, instruction: &'a Instruction) -> Result<(), Fault> {
        match instruction {
            Instruction::Kernel { operator, args } => match ops::find(&self.plan.operators[*operator]) {
                Some(translate) => translate(&mut ops::Call { translator: self, args }),
                // Unknown operators are reported once a program, before any method is translated.
                None => Err(Fault::Consequence),
            },
            Instruction::Move { from, to } => {
                self.environment.registers[*to] = self.environment.registers[*from].clone();
                Ok(())
            }
            Instruction::Delegate { delegate, args } => match self.plan.delegates[*delegate].graph.as_deref().and_then(known) {
                Some(Known::Xnnpack(graph)) => xnnpack::call(self, graph, args),
                Some(Known::Vulkan(graph)) => vulkan::call(self, graph, args, &self.plan.delegates[*delegate].buffers),
                // Unknown back ends are reported once a program too.
                None => Err(Fault::Consequence),
            },
            Instruction::Free | Instruction::JumpFalse { .. } => Ok(()),
        }
    }

    /// Tests whether an instruction of the method reads a register, or the register is a result or a state.
    pub fn is_used(&self, register: usize) -> bool {
        let reads = |instruction: &Instruction| effects(self.plan, instruction).uses.contains(&register);
        self.kept.contains(&register) || self.plan.instructions.iter().any(reads)
    }

    fn source(&mut self, pc: usize) -> Source {
        let data = SourceData {
            function: self.plan.name.clone(),
            operator: pc as u32,
            operator_name: self.plan.instruction_name(pc).to_owned(),
            tensor: self.plan.result_of(pc).map(|register| self.plan.register_name(register)).unwrap_or_default(),
            gpu: false,
        };
        self.graph.builder.module.sources.push(data)
    }
}
