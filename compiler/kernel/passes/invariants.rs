//! What is the same in every round of a loop is computed before it. That is what has operands from outside only and cannot go wrong:
//! no load, which may be inside its buffer only where the loop runs, and no shift by a number that is not known. Constants stay where they
//! are used, and so does what is converted from them; a back end knows best whether one costs a register.

use super::common;
use crate::kernel::*;
use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// The pass.
pub(super) fn run(kernel: &mut Kernel) {
    hoist(kernel, None);
}

/// The same for integer quotients and remainders alone, and for what they are computed from; what is computed a second time is gone first. A
/// processor takes as long for one as for ten other instructions, so it is worth its register. Other kernels stay as they are.
pub(super) fn quotients(kernel: &mut Kernel) {
    if divisions(kernel).is_empty() {
        return;
    }
    common::run(kernel);
    let mut open = divisions(kernel);
    let definitions: FxHashMap<Value, &Inst> =
        kernel.statements().flat_map(|statement| statement.results.iter().map(|&result| (result, &statement.inst))).collect();
    let mut wanted = EntitySet::new();
    while let Some(value) = open.pop() {
        if wanted.insert(value) {
            open.extend(definitions.get(&value).filter(|inst| inst.regions().is_empty()).into_iter().flat_map(|inst| inst.operands()));
        }
    }
    hoist(kernel, Some(wanted));
}

/// The integer quotients and remainders of a kernel that are scalars.
fn divisions(kernel: &Kernel) -> Vec<Value> {
    let divides = |statement: &&Statement| matches!(statement.inst, Inst::Binary { op, .. } if op.is_division());
    let results = kernel.statements().filter(divides).flat_map(|statement| statement.results.iter().copied());
    results.filter(|&result| kernel.ty(result).lanes == 1).collect()
}

/// Computes before loops what is the same in all rounds, if it is among what is wanted.
fn hoist(kernel: &mut Kernel, wanted: Option<EntitySet<Value>>) {
    let mut constants = EntitySet::new();
    for statement in kernel.statements() {
        if matches!(statement.inst, Inst::Constant { .. }) {
            constants.extend(statement.results.iter().copied());
        }
    }
    let mut hoist = Hoist { constants, wanted, defined: vec![], types: std::mem::take(&mut kernel.types) };
    hoist.defined = vec![0; hoist.types.len()];
    hoist.region(&mut kernel.body, 0);
    kernel.types = hoist.types;
}

struct Hoist {
    constants: EntitySet<Value>,
    /// What may leave loops, if not everything may.
    wanted: Option<EntitySet<Value>>,
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
            if self.can_leave(&statement, loops) {
                self.define(&statement, loops);
                self.bring_constants(&mut statement, &mut outside, &inside, loops);
                outside.push(statement);
            } else {
                inside.push(statement);
            }
        }
        (outside, inside)
    }

    fn can_leave(&self, statement: &Statement, loops: usize) -> bool {
        let inst = &statement.inst;
        let is_wanted = |wanted: &EntitySet<Value>| statement.results.iter().any(|&result| wanted.contains(result));
        let operands = inst.operands();
        let is_outside = |value: &Value| self.constants.contains(*value) || self.defined[value.index()] <= loops;
        let is_safe = match inst {
            Inst::Constant { .. } | Inst::FailIf { .. } | Inst::Barrier => false,
            Inst::Convert { a, .. } if self.constants.contains(*a) => false,
            Inst::Binary { op: BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned, .. }
            | Inst::RoundingDivideByPowerOfTwo { .. } => false,
            inst => inst.buffer().is_none() && inst.regions().is_empty(),
        };
        is_safe && self.wanted.as_ref().is_none_or(is_wanted) && operands.iter().all(is_outside)
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
            outside.push(Statement { results: smallvec![again], inst: inst.clone() });
            *operand = again;
        }
    }
}
