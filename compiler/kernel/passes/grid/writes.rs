//! Helpers that write statements with one new value each.

use crate::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// A writer that adds values to a kernel, and their definitions to a list.
pub trait Writes {
    /// Returns the types of the kernel's values.
    fn types(&mut self) -> &mut Vec<Type>;

    /// Makes a value.
    fn value(&mut self, ty: Type) -> Value {
        self.types().push(ty);
        Value::new(self.types().len() - 1)
    }

    /// Appends an instruction and returns its result.
    fn push(&mut self, ty: Type, inst: Inst, out: &mut Vec<Statement>) -> Value {
        let result = self.value(ty);
        out.push(Statement { results: smallvec![result], inst });
        result
    }

    /// Appends a constant index.
    fn number(&mut self, number: i64, out: &mut Vec<Statement>) -> Value {
        self.push(Type::INDEX, Inst::Constant { bits: number as u64 }, out)
    }

    /// Appends an operation on an index and a constant.
    fn binary(&mut self, op: BinaryOp, a: Value, b: i64, out: &mut Vec<Statement>) -> Value {
        let b = self.number(b, out);
        self.binary_of(op, a, b, out)
    }

    /// Appends an operation on two indices.
    fn binary_of(&mut self, op: BinaryOp, a: Value, b: Value, out: &mut Vec<Statement>) -> Value {
        self.push(Type::INDEX, Inst::Binary { op, a, b }, out)
    }

    /// Appends an index times a constant.
    fn scaled(&mut self, value: Value, factor: i64, out: &mut Vec<Statement>) -> Value {
        if factor == 1 { value } else { self.binary(BinaryOp::Mul, value, factor, out) }
    }

    /// Appends an index plus a constant.
    fn moved(&mut self, value: Value, by: i64, out: &mut Vec<Statement>) -> Value {
        if by == 0 { value } else { self.binary(BinaryOp::Add, value, by, out) }
    }
}

/// Appends a barrier: the positions of a workgroup wait for each other.
pub fn barrier(out: &mut Vec<Statement>) {
    out.push(Statement { results: smallvec![], inst: Inst::Barrier });
}
