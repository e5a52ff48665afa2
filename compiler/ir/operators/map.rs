//! `map`: element-wise work.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{self, Axes};
use crate::fault::{Elements, Misfit, Subject};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::scalar::Expression;
use crate::types::{ElementType, TensorType, Type};

/// An element-wise expression over broadcast operands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// The expression of one element of each operand. Each of its results is a result of the instruction.
    pub expression: Expression,
}

impl Operator for Map {
    const NAME: &'static str = "map";
    const OPERANDS: Arity = Arity::AtLeast(0);
    const MEANING: &'static str =
        "An element-wise scalar expression over operands broadcast as NumPy does; one tensor a result of the expression.";

    fields! { "expression" => expression }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let expression = &self.expression;
        let (expected, found) = (Arity::Exactly(expression.inputs.len()), cx.operands.len());
        cx.require(expected.allows(found), || Misfit::Operands { expected, found })?;
        let mut shapes = Vec::with_capacity(cx.operands.len());
        for (i, &want) in expression.inputs.iter().enumerate() {
            cx.operand_element(i, Elements::Among(vec![want]))?;
            cx.element(Subject::Operand(i), want, Elements::AllBut(ElementType::C128))?;
            shapes.push(cx.tensor(i)?.shape.as_slice());
        }
        let shape = cx.broadcast(&shapes)?;
        let shape = cx.shape(Subject::Result, &shape)?;
        cx.require(!expression.results.is_empty(), || Misfit::NoResult)?;
        Ok(expression.results.iter().map(|&n| Type::Tensor(TensorType::new(expression.nodes[n].ty, shape.clone()))).collect())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.map(&self.expression)
    }

    fn work(&self, _cx: &Context<'_>) -> Option<u64> {
        Some(self.expression.nodes.len() as u64)
    }

    /// Proposes a map of one to three operands: values of the pool, or leaves that broadcast to the first.
    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let first = generator.tensor_where(|_| true)?;
        let shape = generator.tensor_type(first).shape.clone();
        let mut operands = vec![first];
        for _ in 0..generator.random.below(3) {
            let same = generator.tensor_where(|ty| ty.shape == shape);
            match (generator.random.below(3), same) {
                (0, Some(value)) => operands.push(value),
                _ => {
                    let element = generator.element();
                    let shape = generator.narrowed(&shape);
                    operands.push(generator.leaf(element, &shape)?);
                }
            }
        }
        let elements: Vec<ElementType> = operands.iter().map(|&v| generator.tensor_type(v).element).collect();
        let expression = generator.expression(&elements);
        Some((operands, Self { expression }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let shapes: Vec<_> = (0..cx.operands.len()).filter_map(|i| Some(cx.tensor(i).ok()?.shape.as_slice())).collect();
        let Ok(result) = cx.broadcast(&shapes) else { return Axes::opaque(cx) };
        Axes::of(shapes.iter().map(|shape| axes::broadcast(cx, shape, &result)).collect())
    }

    fn permuted(&self, _permutation: &[usize]) -> Option<Self> {
        Some(self.clone())
    }

    fn part(&self, _axis: usize, low: i64, high: i64) -> Option<Self> {
        (low == 0 && high == 0).then(|| self.clone())
    }
}
