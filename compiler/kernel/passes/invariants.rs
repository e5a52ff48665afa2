//! Loop-invariant code motion. An instruction moves before the loop if its operands come from outside and it cannot go wrong. Loads stay: their index
//! may be inside the buffer only if the loop runs. Shifts by a value stay, too. Constants and conversions of constants stay at their uses; a back end
//! knows best whether they deserve a register.

use super::common;
use crate::*;
use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Runs the pass.
pub(super) fn run(kernel: &mut Kernel) {
    hoist(kernel, None);
}

/// Hoists only integer quotients and remainders, and the values they are computed from. Common subexpressions are merged first. A division takes as
/// long as ten other instructions, so its result is worth a register. Kernels without divisions do not change.
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

/// Returns the scalar results of the kernel's integer divisions and remainders.
fn divisions(kernel: &Kernel) -> Vec<Value> {
    let divides = |statement: &&Statement| matches!(statement.inst, Inst::Binary { op, .. } if op.is_division());
    let results = kernel.statements().filter(divides).flat_map(|statement| statement.results.iter().copied());
    results.filter(|&result| kernel.ty(result).lanes == 1).collect()
}

/// Moves invariants before their loops: all of them, or only the `wanted` ones.
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
    /// Values that may leave loops; `None` allows all.
    wanted: Option<EntitySet<Value>>,
    /// Number of loops around the definition of each value.
    defined: Vec<usize>,
    types: Vec<Type>,
}

impl Hoist {
    /// Hoists from the loops of a region, which itself has `loops` loops around it. A statement that leaves one loop may leave the next one, too.
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

    /// Splits the body of a loop into statements that move before it and statements that stay. The loop itself has `loops` loops around it.
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

    /// Defines again, before the loop, the constants of its body that a hoisted statement uses.
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
