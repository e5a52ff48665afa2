//! What is asked of an instruction whatever its operator is.

use super::module::{Constant, Function, Inst, InstData, Module};
use super::operators::{Context, Op, Operation};
use super::scalar::Expression;
use super::{Axes, Value};

impl InstData {
    /// The operator without its fields.
    pub fn op(&self) -> Op {
        self.operation.op()
    }

    /// The constant of a `constant`; nothing of another operator.
    pub fn constant(&self) -> Option<Constant> {
        if let Operation::Constant(constant) = &self.operation { Some(constant.data) } else { None }
    }

    /// The expression of a `map`.
    ///
    /// # Panics
    /// When it is another operator: a bug of the caller.
    pub fn expression(&self) -> &Expression {
        let Operation::Map(map) = &self.operation else { unreachable!("{} has no expression", self.op()) };
        &map.expression
    }

    /// What the operator does along each axis of its operands.
    pub fn axes(&self, module: &Module, function: &Function) -> Axes {
        self.operation.axes(&Context { module, function, op: self.op(), operands: &self.operands })
    }
}

impl Function {
    /// The operator with its fields that defines a value; nothing for a parameter.
    pub fn operation_of(&self, value: Value) -> Option<&Operation> {
        self.defining_inst(value).map(|inst: Inst| &self.insts[inst].operation)
    }
}
