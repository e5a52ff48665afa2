//! `bitcast`: the same bytes as elements of another type.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis};
use crate::fault::Ranks;
use crate::fault::{Elements, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent};

/// A reinterpretation of the bytes as elements of another type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bitcast {
    /// The type.
    pub element: ElementType,
}

impl Operator for Bitcast {
    const NAME: &'static str = "bitcast";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The same bytes as elements of another type: a narrower one adds a last dimension for the parts of each element, a wider one takes it away.";

    fields! { "element" => element }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let (from, to) = (u64::from(input.element.bits()), u64::from(self.element.bits()));
        let bytes = Elements::Among(ElementType::ALL.iter().map(|(element, _)| *element).filter(|e| e.bits() >= 8).collect());
        cx.operand_element(0, bytes)?;
        cx.element(Subject::Field("element"), self.element, Elements::WholeBytes)?;
        let mut shape = input.shape.clone();
        if from > to {
            shape.push(Extent::Static(from / to));
        } else if from < to {
            cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(1))?;
            let last = input.rank() - 1;
            cx.known(0, last)?;
            cx.extent(Subject::Operand(0), last, input.shape[last], Extent::Static(to / from))?;
            shape.pop();
        }
        cx.one(self.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::bitcast(cx.tensor(0)?, self.element).map(Slot::one)
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        // Not of floats: which NaN an operation gives is nobody's promise.
        let input = generator.tensor_where(|ty| ty.element.is_integer() && ty.element.bits() >= 8)?;
        Some((vec![input], Self { element: generator.element() }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(input) = cx.tensor(0) else { return Axes::opaque(cx) };
        let is_joined = input.element.bits() < self.element.bits();
        Axes::kept(input.rank(), |axis| (is_joined && axis + 1 == input.rank()).then_some(Axis::Reduced))
    }
}
