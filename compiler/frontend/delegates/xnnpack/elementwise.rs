//! Nodes that compute element by element.

use super::run::{Datum, Run};
use super::subgraph::{Combination, Function, Node, Quantization};
use crate::frontend::executorch::fault::Fault;
use crate::ir::{Extent, Node as Term, ScalarOp, Value};
use crate::operators::contraction::rows::spanning_rows;
use crate::operators::nonlinear::{self, Below, Gelu, Sixth};
use crate::operators::terms::Terms;
use crate::operators::{Error, quantized_arithmetic};

impl Run<'_, '_> {
    pub(super) fn unary(&mut self, node: &Node, function: Function, input: usize) -> Result<(), Fault> {
        match function {
            Function::Convert => return self.convert(node, input),
            // A clamp from one scale to another is computed in floats.
            Function::Clamp if self.affine(input) != self.affine(node.output) => {}
            Function::Copy | Function::Clamp => {
                let value = self.tensor(input)?;
                return self.finish_moved(node, value, input);
            }
            _ => {}
        }
        let value = self.real(input)?;
        let value = self.graph().compute::<Error>(&[value], |terms, x| apply(terms, function, x[0]))?;
        self.finish_real(node, value)
    }

    /// Another type, or another scale.
    fn convert(&mut self, node: &Node, input: usize) -> Result<(), Fault> {
        let Quantization::Rows { dimensions } = self.info(node.output).quantization else {
            let value = self.tensor(input)?;
            return self.finish_moved(node, value, input);
        };
        let floats = self.real(input)?;
        let rank = self.graph().rank(floats);
        let axes: Vec<usize> = (rank.saturating_sub(dimensions)..rank).collect();
        let rows = spanning_rows(self.graph(), floats, &axes)?;
        self.set(node.output, Datum::Rows { rows, floats });
        Ok(())
    }

    pub(super) fn binary(&mut self, node: &Node, combination: Combination, inputs: [usize; 2]) -> Result<(), Fault> {
        if let [Some(a), Some(b)] = inputs.map(|input| self.affine(input)) {
            let (to, output) = self.integer_output(node)?;
            let operands = [(self.tensor(inputs[0])?, a), (self.tensor(inputs[1])?, b)];
            let value = match combination {
                Combination::Add => quantized_arithmetic::sum(self.graph(), operands, to.scale, &output, false)?,
                Combination::Subtract => quantized_arithmetic::sum(self.graph(), operands, to.scale, &output, true)?,
                Combination::Multiply => quantized_arithmetic::product(self.graph(), operands, to.scale, &output)?,
                _ => return Err(Fault::unsupported("this node is not defined on integers with a scale")),
            };
            self.set(node.output, Datum::Tensor(value));
            return Ok(());
        }
        let mut operands = [self.real(inputs[0])?, self.real(inputs[1])?];
        if matches!(combination, Combination::Maximum | Combination::Minimum) && self.is_first_repeated(operands) {
            operands.reverse();
        }
        let value = self.graph().compute::<Error>(&operands, |terms, x| combine(terms, combination, [x[0], x[1]]))?;
        self.finish_real(node, value)
    }

    /// Tests whether only the first of two operands is repeated along the innermost dimension that has more than one element. The runtime's kernels
    /// take the repeated operand second.
    fn is_first_repeated(&mut self, operands: [Value; 2]) -> bool {
        let [first, second] = operands.map(|operand| self.graph().extents(operand));
        let one = Extent::Static(1);
        let innermost_first = |shape: Vec<Extent>| shape.into_iter().rev().chain(std::iter::repeat(one));
        let dimensions = first.len().max(second.len());
        let mut pairs = innermost_first(first).zip(innermost_first(second)).take(dimensions);
        pairs.find(|pair| *pair != (one, one)).is_some_and(|(first, _)| first == one)
    }
}

/// A function of a binary32.
fn apply(terms: &mut Terms, function: Function, x: Term) -> Result<Term, Error> {
    let plain = |terms: &mut Terms, op: ScalarOp| Ok(terms.op(op, &[x])?);
    match function {
        Function::Abs => plain(terms, ScalarOp::Abs),
        Function::Ceiling => plain(terms, ScalarOp::Ceil),
        Function::Clamp | Function::Convert | Function::Copy => Ok(x),
        Function::Cos => plain(terms, ScalarOp::Cos),
        Function::Exp => plain(terms, ScalarOp::Exp),
        Function::Floor => plain(terms, ScalarOp::Floor),
        Function::Log => plain(terms, ScalarOp::Log),
        Function::Negate => plain(terms, ScalarOp::Neg),
        Function::ReciprocalSquareRoot => plain(terms, ScalarOp::Rsqrt),
        Function::Sigmoid => plain(terms, ScalarOp::Logistic),
        Function::Sin => plain(terms, ScalarOp::Sin),
        Function::SquareRoot => plain(terms, ScalarOp::Sqrt),
        Function::Tanh => plain(terms, ScalarOp::Tanh),
        Function::Square => Ok(terms.mul(x, x)?),
        Function::Gelu => Ok(nonlinear::gelu(terms, x, Gelu::Sum)?),
        Function::HardSwish => Ok(nonlinear::hard_swish(terms, x, Sixth::Factor)?),
        Function::LeakyRelu(slope) => {
            let slope = terms.f32(slope);
            Ok(nonlinear::leaky_relu(terms, x, slope, Below::Less)?)
        }
        Function::Elu(alpha) => Ok(nonlinear::elu(terms, x, alpha)?),
    }
}

/// A function of two binary32.
fn combine(terms: &mut Terms, combination: Combination, [a, b]: [Term; 2]) -> Result<Term, Error> {
    Ok(match combination {
        Combination::Add => terms.add(a, b)?,
        Combination::Subtract => terms.sub(a, b)?,
        Combination::Multiply => terms.mul(a, b)?,
        Combination::Divide => terms.div(a, b)?,
        // Where one of two is NaN the second one is the result, as of the instructions of x86.
        Combination::Maximum => terms.max(b, a)?,
        Combination::Minimum => terms.min(b, a)?,
        Combination::Prelu => nonlinear::leaky_relu(terms, a, b, Below::Less)?,
    })
}
