//! Queries on an instruction that do not depend on its operator.

use super::entities::{Constant, Inst};
use super::module::{Function, InstData, Module};
use super::operators::{Context, Op, Operation};
use super::scalar::Expression;
use super::{Axes, TensorType, Value};

impl InstData {
    /// The operator without its fields.
    pub fn op(&self) -> Op {
        self.operation.op()
    }

    /// The constant of a `constant`; `None` for other operators.
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

    /// The rough number of scalar operations of the instruction; `None` for run-time extents.
    pub fn work(&self, module: &Module, function: &Function) -> Option<u64> {
        let elements = |v: &Value| function.values[*v].ty.as_tensor().map_or(Some(1), TensorType::static_elements);
        let count = |list: &[Value]| list.iter().try_fold(0u64, |sum, value| sum.checked_add(elements(value)?));
        let each = self.operation.work(&Context { module, function, operands: &self.operands })?;
        count(&self.operands)?.checked_add(count(&self.results)?.checked_mul(each)?)
    }

    /// The effect along each axis of the operands.
    pub fn axes(&self, module: &Module, function: &Function) -> Axes {
        self.operation.axes(&Context { module, function, operands: &self.operands })
    }
}

impl Function {
    /// The operation that defines a value; `None` for a parameter.
    pub fn operation_of(&self, value: Value) -> Option<&Operation> {
        self.defining_inst(value).map(|inst: Inst| &self.insts[inst].operation)
    }
}
