//! `load_state`: the contents of a state.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::State;
use crate::fault::Misfit;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::storage::StateData;
use crate::types::Type;

/// The contents of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadState {
    /// The state.
    pub state: State,
}

impl Operator for LoadState {
    const NAME: &'static str = "load_state";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The contents of a state, and the effect token after reading it.";

    fields! { "state" => state }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.effect(0)?;
        Ok(vec![Type::Effect, Type::Tensor(state_of(cx, self.state)?.ty.clone())])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.unexpected()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let state = generator.state();
        Some((vec![generator.token?], Self { state }))
    }
}

/// The state that a field names.
pub(super) fn state_of<'a>(cx: &Context<'a>, state: State) -> Result<&'a StateData, Box<Misfit>> {
    cx.module.state(state).ok_or_else(|| Box::new(Misfit::Missing { field: "state" }))
}
