//! Operators on two tensors: their operands and their result.

use super::operator::{Affine, Lowered, Operand, Operator};
use super::tensor::TensorInfo;
use crate::diagnostic::Diagnostic;
use crate::ir::{ElementType, Node};
use crate::operators::terms::{Term, Terms};
use std::rc::Rc;

/// The two operands and the result.
pub(super) struct Binary {
    /// Operand 0.
    pub left: Operand,
    /// Operand 1.
    pub right: Operand,
    /// The file's description of the result.
    pub output: Rc<TensorInfo>,
}

impl Binary {
    /// The operator's operands and result, which must be two and one.
    pub fn new(operator: &mut Operator<'_, '_, '_>) -> Result<Self, Diagnostic> {
        operator.arity(2..=2, 1..=1)?;
        Ok(Self { left: operator.any_input(0)?, right: operator.any_input(1)?, output: operator.output(0)? })
    }

    /// Types of operands and result.
    pub fn types(&self) -> [ElementType; 3] {
        [self.left.element(), self.right.element(), self.output.element]
    }

    /// Scales and zero points of operands and result.
    pub fn quantizations(&self, operator: &Operator<'_, '_, '_>) -> Result<[Affine; 3], Diagnostic> {
        Ok([operator.affine(&self.left.info)?, operator.affine(&self.right.info)?, operator.affine(&self.output)?])
    }

    /// Tests whether operand 0 is quantized.
    pub fn is_quantized(&self) -> bool {
        self.left.info.quantization.is_some()
    }

    /// Appends an expression of both operands and binds it.
    pub fn bind(&self, operator: &mut Operator<'_, '_, '_>, build: impl FnOnce(&mut Terms, Node, Node) -> Term) -> Lowered {
        let mut terms = Terms::new(&[self.left.element(), self.right.element()]);
        let (a, b) = (terms.input(0), terms.input(1));
        let result = build(&mut terms, a, b)?;
        let value = operator.map(&[self.left.value, self.right.value], terms.finish(result))?;
        operator.bind(0, value)
    }
}
