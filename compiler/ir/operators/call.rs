//! `call`, and the rules for every operator that names functions.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::{Func, Value};
use crate::fault::{Misfit, ResultsExpected};
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::surroundings::FunctionTypes;
use crate::types::{Extent, TensorType, Type};

/// A function called on the operands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Func,
}

impl Operator for Call {
    const NAME: &'static str = "call";
    const OPERANDS: Arity = Arity::AtLeast(0);
    const MEANING: &'static str = "A function called on the operands.";

    fields! { "function" => function }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let callee = callee(cx, "function", self.function)?;
        check_arguments(cx, callee, 0)?;
        results_of(cx, callee, 0)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.unexpected()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (operands, function) = generator.call()?;
        Some((operands, Self { function }))
    }
}

/// The function that a field names.
pub(super) fn callee<'a>(cx: &Context<'a>, field: &'static str, function: Func) -> Result<&'a dyn FunctionTypes, Box<Misfit>> {
    cx.module.function(function).ok_or_else(|| Box::new(Misfit::Missing { field }))
}

/// Checks the operands after the first `skip` against a callee's parameters; only element types and ranks must agree where extents are
/// dynamic.
pub(super) fn check_arguments(cx: &Context<'_>, callee: &dyn FunctionTypes, skip: usize) -> Result<(), Box<Misfit>> {
    let operands = &cx.operands[skip..];
    cx.require(callee.params().len() == operands.len(), || Misfit::Arguments {
        function: callee.name().to_owned(),
        expected: callee.params().len(),
        found: operands.len(),
    })?;
    for (i, (&param, &operand)) in callee.params().iter().zip(operands).enumerate() {
        let (expected, found) = (&callee.values()[param].ty, &cx.function.values()[operand].ty);
        cx.require(compatible(expected, found), || Misfit::Argument {
            operand: skip + i,
            of: format!("@{}", callee.name()),
            expected: expected.clone(),
            found: found.clone(),
        })?;
    }
    Ok(())
}

/// Tests whether a value of one type may be passed where the other is declared, in another function.
pub(super) fn compatible(want: &Type, have: &Type) -> bool {
    match (want, have) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            let extents = |(x, y): (&Extent, &Extent)| x.as_static().zip(y.as_static()).is_none_or(|(x, y)| x == y);
            a.element == b.element && a.rank() == b.rank() && a.shape.iter().zip(&b.shape).all(extents)
        }
        (Type::Index(_), Type::Index(_)) | (Type::Effect, Type::Effect) => true,
        _ => false,
    }
}

/// The result types of a callee as the caller sees them. The callee's operands follow the first `skip` operands. An extent that is an index parameter
/// becomes the operand given for it. Other index values of the callee are not visible outside.
pub(super) fn results_of(cx: &Context<'_>, callee: &dyn FunctionTypes, skip: usize) -> Types {
    let outside = |extent: &Extent| match callee.resolved(*extent) {
        Extent::Static(n) => Some(Extent::Static(n)),
        Extent::Value(index) => {
            let position = callee.params().iter().position(|&param| param == index)?;
            Some(cx.function.resolved(Extent::Value(*cx.operands.get(skip + position)?)))
        }
    };
    let typed = |&value: &Value| match &callee.values()[value].ty {
        Type::Tensor(t) if t.static_shape().is_none() => {
            let shape = t.shape.iter().map(outside).collect::<Option<Vec<Extent>>>();
            let misfit = || returns(callee, ResultsExpected::VisibleShapes);
            Ok(Type::Tensor(TensorType { shape: shape.ok_or_else(|| Box::new(misfit()))?, ..t.clone() }))
        }
        ty => Ok(ty.clone()),
    };
    callee.results().iter().map(typed).collect()
}

/// The error of a function that does not return the required results.
pub(super) fn returns(callee: &dyn FunctionTypes, expected: ResultsExpected) -> Misfit {
    let found = callee.results().iter().map(|&value| callee.values()[value].ty.clone()).collect();
    Misfit::Results { function: callee.name().to_owned(), expected, found }
}
