//! `while`: a function repeated as long as a condition holds.

use super::call::{callee, check_arguments, compatible, results_of, returns};
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::{Func, Value};
use crate::fault::ResultsExpected;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::surroundings::FunctionTypes;
use crate::types::{ElementType, Extent, Type};

/// A function repeated as long as a condition holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct While {
    /// The function that decides on another iteration.
    pub condition: Func,
    /// The function of one iteration.
    pub body: Func,
}

impl Operator for While {
    const NAME: &'static str = "while";
    const OPERANDS: Arity = Arity::AtLeast(1);
    const MEANING: &'static str = "The body applied to the operands as long as the condition on them is true.";

    fields! { "condition" => condition, "body" => body }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let (condition, body) = (callee(cx, "condition", self.condition)?, callee(cx, "body", self.body)?);
        check_arguments(cx, condition, 0)?;
        check_arguments(cx, body, 0)?;
        let verdict = results_of(cx, condition, 0)?;
        let is_truth = matches!(verdict.first(), Some(Type::Tensor(t)) if t.element == ElementType::Bool && t.static_elements() == Some(1));
        cx.require(is_truth, || returns(condition, ResultsExpected::Truth))?;
        let types = results_of(cx, body, 0)?;
        let params: Vec<Type> = body.params().iter().map(|&p| body.values()[p].ty.clone()).collect();
        let fits = types.len() == params.len() && params.iter().zip(&types).all(|(p, t)| compatible(p, t));
        cx.require(fits, || returns(body, ResultsExpected::Types(params)))?;
        cx.require(keeps_extents(body), || returns(body, ResultsExpected::SameExtents))?;
        Ok(types)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.unexpected()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (operands, [condition, body]) = generator.while_loop()?;
        Some((operands, Self { condition, body }))
    }
}

/// Tests whether every index parameter of a loop's body that is an extent stays the same from one iteration to the next.
fn keeps_extents(body: &dyn FunctionTypes) -> bool {
    let types = body.params().iter().chain(body.results()).filter_map(|&v| body.values()[v].ty.as_tensor());
    let indices =
        types.flat_map(|ty| &ty.shape).filter_map(|&e| if let Extent::Value(index) = body.resolved(e) { Some(index) } else { None });
    let kept =
        |index: Value| body.params().iter().position(|&param| param == index).is_none_or(|at| body.results().get(at) == Some(&index));
    indices.into_iter().all(kept)
}
