//! `top_k`: the first elements in order.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use super::{Order, Word};
use crate::axes::{Axes, Axis};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::search;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent, Interval};

/// The largest or smallest elements of the last dimension, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct TopK {
    /// The elements that come first.
    pub order: Order,
    /// The number of elements.
    pub count: Extent,
}

impl Default for TopK {
    fn default() -> Self {
        Self { order: Order::default(), count: Extent::Static(0) }
    }
}

impl Operator for TopK {
    const NAME: &'static str = "top_k";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "The `count` largest or smallest elements of the last dimension in order, and their positions in i32; of equal elements the first comes first, and NaN is larger than any number.";

    fields! { "order" => order, "count" => count }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.operand_element(0, Elements::AllBut(ElementType::C64))?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(1))?;
        let (last, outer) = (input.rank() - 1, &input.shape[..input.rank() - 1]);
        cx.shape(Subject::Field("count"), &[self.count])?;
        let (count, extent) = (cx.function.resolved(self.count), cx.function.interval(input.shape[last]));
        let found = cx.function.interval(count);
        let expected = Interval { low: 0, high: extent.high };
        let fits = (0..=extent.high).contains(&found.low);
        cx.require(fits, || Misfit::Interval { field: "count", dimension: last, expected, found })?;
        // Positions have 31 bits.
        cx.require(extent.high <= i64::from(i32::MAX), || Misfit::TooLarge { subject: Subject::Operand(0) })?;
        let shape = [outer, &[count]].concat();
        let positions = cx.one(ElementType::I32, shape.clone())?;
        Ok([cx.one(input.element, shape)?, positions].concat())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        Ok(Slot::all(search::top_k(cx.tensor(0)?, self.order == Order::Largest, cx.shape(&[self.count])?[0])?))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|ty| ty.rank() > 0 && ty.element != ElementType::C64)?;
        let extent = *generator.tensor_type(input).shape.last()?;
        let least = generator.interval(extent).low.max(0);
        let count = match extent {
            // All of them.
            Extent::Value(_) if generator.random.one_in(3) => extent,
            _ if generator.dynamic && generator.random.one_in(3) => Extent::Value(generator.dynamic_index(least)?),
            _ => Extent::Static(generator.random.between(0, least) as u64),
        };
        Some((vec![input], Self { order: *generator.random.pick(Order::ALL), count }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let rank = cx.tensor(0).map_or(0, |ty| ty.rank());
        Axes::kept(rank, |axis| (axis + 1 == rank).then_some(Axis::Opaque))
    }
}
