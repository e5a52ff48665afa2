//! `store_state`: new contents of a state.

use super::field::fields;
use super::load_state::state_of;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::entities::State;
use crate::fault::Misfit;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Type;

/// New contents of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoreState {
    /// The state.
    pub state: State,
}

impl Operator for StoreState {
    const NAME: &'static str = "store_state";
    const OPERANDS: Arity = Arity::Exactly(2);
    const MEANING: &'static str = "New contents of a state (effect, tensor); gives the effect token after writing it.";

    fields! { "state" => state }

    fn infer(&self, cx: &Context<'_>) -> Types {
        cx.effect(0)?;
        let (state, have) = (state_of(cx, self.state)?, cx.tensor(1)?);
        let fits = state.ty.element == have.element && state.ty.static_shape() == have.static_shape();
        cx.require(fits, || Misfit::Argument {
            operand: 1,
            of: format!("state {:?}", state.name),
            expected: Type::Tensor(state.ty.clone()),
            found: Type::Tensor(have.clone()),
        })?;
        Ok(vec![Type::Effect])
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        cx.unexpected()
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let (operands, state) = generator.store_state()?;
        Some((operands, Self { state }))
    }
}
