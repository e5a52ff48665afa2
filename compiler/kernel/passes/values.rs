//! New values of a kernel, and the statements that compute them.

use crate::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// Makes new values of a kernel.
pub(super) struct Values {
    types: Vec<Type>,
}

impl Values {
    /// Takes the types of a kernel's values.
    pub fn of(kernel: &mut Kernel) -> Self {
        Self { types: std::mem::take(&mut kernel.types) }
    }

    /// Returns the types of all values, old and new.
    pub fn types(self) -> Vec<Type> {
        self.types
    }

    /// Makes an index that no statement computes yet.
    pub fn index(&mut self) -> Value {
        self.of_type(Type::INDEX)
    }

    fn of_type(&mut self, ty: Type) -> Value {
        self.types.push(ty);
        Value::new(self.types.len() - 1)
    }

    fn add(&mut self, list: &mut Vec<Statement>, ty: Type, inst: Inst) -> Value {
        let value = self.of_type(ty);
        list.push(Statement { results: smallvec![value], inst });
        value
    }

    /// Adds a constant index to a list of statements.
    pub fn constant(&mut self, list: &mut Vec<Statement>, number: i64) -> Value {
        self.add(list, Type::INDEX, Inst::Constant { bits: number as u64 })
    }

    /// Adds a comparison to a list of statements.
    pub fn mask(&mut self, list: &mut Vec<Statement>, op: CompareOp, a: Value, b: Value) -> Value {
        self.add(list, Type::scalar(Lane::Mask), Inst::Compare { op, a, b })
    }

    /// Adds an operation on two indices to a list of statements.
    pub fn binary(&mut self, list: &mut Vec<Statement>, op: BinaryOp, a: Value, b: Value) -> Value {
        self.add(list, Type::INDEX, Inst::Binary { op, a, b })
    }
}
