//! `if`: one of two functions.

use super::call::{callee, check_arguments, results_of, returns};
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::Func;
use crate::fault::{Elements, ResultsExpected};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::ElementType;

/// A call of one of two functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct If {
    /// The function called if the condition, operand 0, is true.
    pub then: Func,
    /// The function called otherwise.
    pub otherwise: Func,
}

impl Operator for If {
    const NAME: &'static str = "if";
    const OPERANDS: Arity = Arity::AtLeast(1);
    const MEANING: &'static str = "One of two functions called on the operands after the condition, a one-element truth value.";

    fields! { "then" => then, "otherwise" => otherwise }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.operand_element(0, Elements::Among(vec![ElementType::Bool]))?;
        cx.count(0, 1)?;
        let (then, otherwise) = (callee(cx, "then", self.then)?, callee(cx, "otherwise", self.otherwise)?);
        check_arguments(cx, then, 1)?;
        check_arguments(cx, otherwise, 1)?;
        let types = results_of(cx, then, 1)?;
        cx.require(types == results_of(cx, otherwise, 1)?, || returns(otherwise, ResultsExpected::Types(types.clone())))?;
        Ok(types)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.unexpected()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (operands, [then, otherwise]) = generator.if_else()?;
        Some((operands, Self { then, otherwise }))
    }
}
