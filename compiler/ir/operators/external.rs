//! `external`: a function of the application.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::Constant;
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::fail;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Type};

/// Names of functions are no longer.
const MAX_SYMBOL: usize = 256;

/// A function of the application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct External {
    /// The name of the function.
    pub symbol: String,
    /// The bytes of its options.
    pub options: Constant,
    /// One f32 an operand and result.
    pub scales: Constant,
    /// One i32 an operand and result.
    pub zero_points: Constant,
    /// The types of its results.
    pub results: Vec<Type>,
}

impl Operator for External {
    const NAME: &'static str = "external";
    const OPERANDS: Arity = Arity::AtLeast(0);
    const MEANING: &'static str = "A function of the application (a custom operator) on whole tensors, with the bytes of its options, and a scale and zero point for each operand and result.";

    fields! {
        "symbol" => symbol,
        "options" => options,
        "scales" => scales,
        "zero_points" => zero_points,
        "results" => results,
    }

    /// The result types that the file declares.
    fn infer(&self, cx: &Context<'_>) -> Types {
        let symbol = &self.symbol;
        let identifier = symbol.chars().enumerate().all(|(i, c)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit()));
        let expected = "an identifier of C with at most 256 characters";
        cx.require(identifier && (1..=MAX_SYMBOL).contains(&symbol.len()), || Misfit::Malformed {
            field: "symbol",
            expected,
            found: format!("{symbol:?}"),
        })?;
        for operand in 0..cx.operands.len() {
            (0..cx.tensor(operand)?.rank()).try_for_each(|dimension| cx.known(operand, dimension).map(drop))?;
        }
        let count = (cx.operands.len() + self.results.len()) as u64;
        for (field, constant, element, length) in [
            ("options", self.options, ElementType::U8, None),
            ("scales", self.scales, ElementType::F32, Some(count)),
            ("zero_points", self.zero_points, ElementType::I32, Some(count)),
        ] {
            let ty = &cx.module.constant(constant).ok_or_else(|| Box::new(Misfit::Missing { field }))?.ty;
            cx.element(Subject::Field(field), ty.element, Elements::Among(vec![element]))?;
            cx.rank(Subject::Field(field), ty.rank(), Ranks::Exactly(1))?;
            if let Some(expected) = length {
                let found = ty.static_elements();
                cx.require(found == Some(expected), || Misfit::Count { subject: Subject::Field(field), expected, found })?;
            }
        }
        for ty in &self.results {
            let tensor = ty.as_tensor().filter(|ty| ty.static_shape().is_some());
            let misfit = || Misfit::Malformed { field: "results", expected: "tensors of static shape", found: crate::fault::shown(ty) };
            cx.shape(Subject::Field("results"), &tensor.ok_or_else(|| Box::new(misfit()))?.shape)?;
        }
        Ok(self.results.clone())
    }

    fn evaluate<'m>(&self, _cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        fail("a custom operator is computed by the application, whose function is not here")
    }

    /// Proposes no instance: only an application knows what the function computes.
    fn propose(_generator: &mut Generator<'_>) -> Proposal<Self> {
        None
    }
}
