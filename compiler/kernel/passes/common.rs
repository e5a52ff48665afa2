//! Common subexpression elimination. An instruction is removed if the same region, or one around it, already computed the same result. This includes
//! loads from buffers that nothing writes while the kernel runs.
//!
//! Only scalars are merged. Schedules have counted the registers of their vectors: keeping a vector for a second use may cost more than a second
//! load. Constants stay, too: a back end knows best whether a constant deserves a register.

use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Runs the pass.
pub(super) fn run(kernel: &mut Kernel) {
    let mut body = std::mem::take(&mut kernel.body);
    let values: Vec<Value> = (0..kernel.types.len()).map(Value::new).collect();
    Merge { kernel, scopes: vec![], constants: FxHashMap::default(), results: values.clone(), classes: values }.region(&mut body);
    kernel.body = body;
}

struct Merge<'k> {
    /// The kernel without its body.
    kernel: &'k Kernel,
    /// Instructions already computed in each open region.
    scopes: Vec<FxHashMap<(Inst, Type), Value>>,
    /// The first constant of each type and bit pattern.
    constants: FxHashMap<(Type, u64), Value>,
    /// Replacement of each value.
    results: Vec<Value>,
    /// The first of all values that are equal to each value.
    classes: Vec<Value>,
}

impl Merge<'_> {
    fn region(&mut self, region: &mut Region) {
        self.scopes.push(FxHashMap::default());
        region.statements.retain_mut(|statement| self.keeps(statement));
        region.yields.iter_mut().for_each(|value| *value = self.results[value.index()]);
        self.scopes.pop();
    }

    /// Renames the operands of a statement, and returns whether the statement stays.
    fn keeps(&mut self, statement: &mut Statement) -> bool {
        statement.inst.operands_mut().into_iter().for_each(|operand| *operand = self.results[operand.index()]);
        statement.inst.regions_mut().into_iter().for_each(|inner| self.region(inner));
        let &[result] = &statement.results[..] else { return true };
        let ty = self.kernel.ty(result);
        if let Inst::Constant { bits } = statement.inst {
            self.classes[result.index()] = *self.constants.entry((ty, bits)).or_insert(result);
            return true;
        }
        if !self.is_repeatable(&statement.inst, ty) {
            return true;
        }
        let key = (self.class_of(&statement.inst), ty);
        if let Some(&known) = self.scopes.iter().find_map(|scope| scope.get(&key)) {
            self.results[result.index()] = known;
            return false;
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, result);
        }
        true
    }

    /// Tests whether an instruction gives the same scalar at any place.
    fn is_repeatable(&self, inst: &Inst, ty: Type) -> bool {
        let is_constant = |buffer: Buffer| self.kernel.buffer(buffer).kind == BufferKind::Input;
        ty.lanes == 1 && inst.regions().is_empty() && inst.buffer().is_none_or(is_constant)
    }

    /// Returns the instruction in a form that equal instructions share. Operands of commutative integer operations are ordered; for floats the order
    /// may decide which NaN results.
    fn class_of(&self, inst: &Inst) -> Inst {
        let mut class = inst.clone();
        class.operands_mut().into_iter().for_each(|operand| *operand = self.classes[operand.index()]);
        if let Inst::Binary { op: BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b } = &mut class
            && b < a
            && !self.kernel.ty(*a).lane.is_float()
        {
            std::mem::swap(a, b);
        }
        class
    }
}
