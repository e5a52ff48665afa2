//! What is the same in every round of a loop is computed before it. That is what has operands from outside only and cannot go wrong:
//! no load, which may be inside its buffer only where the loop runs, and no shift by a number that is not known. Constants stay where they
//! are used; a back end knows best whether one costs a register.

use crate::kernel::*;
use cranelift_entity::{EntityRef, EntitySet};

/// The pass.
pub(super) fn run(kernel: &mut Kernel) {
    let mut constants = EntitySet::new();
    for statement in kernel.statements() {
        if matches!(statement.inst, Inst::Constant { .. }) {
            constants.extend(statement.results.iter().copied());
        }
    }
    let mut hoist = Hoist { constants, defined: vec![], types: std::mem::take(&mut kernel.types) };
    hoist.defined = vec![0; hoist.types.len()];
    hoist.region(&mut kernel.body, 0);
    kernel.types = hoist.types;
}

struct Hoist {
    constants: EntitySet<Value>,
    /// How many loops are around the definition of each value.
    defined: Vec<usize>,
    types: Vec<Type>,
}

impl Hoist {
    /// A region with some loops around it. What leaves a loop goes before it, and perhaps further on.
    fn region(&mut self, region: &mut Region, loops: usize) {
        region.params.iter().for_each(|param| self.defined[param.index()] = loops);
        let mut statements = Vec::with_capacity(region.statements.len());
        for mut statement in std::mem::take(&mut region.statements) {
            if let Inst::For { body, .. } | Inst::Loop { body, .. } = &mut statement.inst {
                self.region(body, loops + 1);
                let (outside, inside) = self.split(std::mem::take(&mut body.statements), loops);
                body.statements = inside;
                statements.extend(outside);
            } else {
                statement.inst.regions_mut().into_iter().for_each(|inner| self.region(inner, loops));
            }
            self.define(&statement, loops);
            statements.push(statement);
        }
        region.statements = statements;
    }

    fn define(&mut self, statement: &Statement, loops: usize) {
        statement.results.iter().for_each(|result| self.defined[result.index()] = loops);
    }

    /// The statements of a loop's body that go before it, in the region with `loops` loops around it, and those that stay.
    fn split(&mut self, body: Vec<Statement>, loops: usize) -> (Vec<Statement>, Vec<Statement>) {
        let (mut outside, mut inside) = (vec![], vec![]);
        for mut statement in body {
            if self.can_leave(&statement.inst, loops) {
                self.define(&statement, loops);
                self.bring_constants(&mut statement, &mut outside, &inside, loops);
                outside.push(statement);
            } else {
                inside.push(statement);
            }
        }
        (outside, inside)
    }

    fn can_leave(&self, inst: &Inst, loops: usize) -> bool {
        let operands = inst.operands();
        let is_outside = |value: &Value| self.constants.contains(*value) || self.defined[value.index()] <= loops;
        let is_safe = match inst {
            Inst::Constant { .. } | Inst::FailIf { .. } | Inst::Barrier => false,
            Inst::Binary { op: BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, .. }
            | Inst::RoundingDivideByPowerOfTwo { .. } => false,
            inst => inst.buffer().is_none() && inst.regions().is_empty(),
        };
        is_safe && operands.iter().all(is_outside)
    }

    /// Constants of the loop's body that a statement which leaves it needs are defined again before it.
    fn bring_constants(&mut self, statement: &mut Statement, outside: &mut Vec<Statement>, inside: &[Statement], loops: usize) {
        for operand in statement.inst.operands_mut() {
            if self.defined[operand.index()] <= loops {
                continue;
            }
            let definition = inside.iter().find(|known| known.results.contains(operand));
            let Some(Statement { inst, .. }) = definition else { continue };
            let again = Value::new(self.types.len());
            self.types.push(self.types[operand.index()]);
            self.defined.push(loops);
            self.constants.insert(again);
            outside.push(Statement { results: vec![again], inst: inst.clone() });
            *operand = again;
        }
    }
}
