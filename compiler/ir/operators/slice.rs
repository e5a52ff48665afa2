//! `slice`: a strided box.

use super::field::fields;
use super::transpose::Transpose;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis, Taps};
use crate::fault::{Misfit, Ranks, Subject};
use crate::interpret::movement;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::Extent;

/// A strided box.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// The position of the first element in each dimension.
    pub start: Vec<Extent>,
    /// The number of elements in each dimension.
    pub size: Vec<Extent>,
    /// The distance from one element to the next, negative to go backwards.
    pub stride: Vec<i64>,
}

impl Operator for Slice {
    const NAME: &'static str = "slice";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "Element i of the result is element start + i × stride; a negative stride walks backwards from start.";

    fields! { "start" => start, "size" => size, "stride" => stride }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        let start = cx.shape(Subject::Field("start"), &self.start)?;
        let (size, stride, rank) = (&self.size, &self.stride, input.rank());
        for (field, length) in [("start", start.len()), ("size", size.len()), ("stride", stride.len())] {
            cx.rank(Subject::Field(field), length, Ranks::Exactly(rank))?;
        }
        for dimension in 0..rank {
            let stride = stride[dimension];
            cx.require(stride != 0, || Misfit::Zero { field: "stride", dimension })?;
            // A slice that exceeds the largest extent exceeds every one.
            let bound = u64::try_from(cx.function.interval(input.shape[dimension]).high).ok();
            let (Extent::Static(first), Extent::Static(count), Some(extent)) = (start[dimension], size[dimension], bound) else {
                continue;
            };
            let last = i128::from(first) + (i128::from(count) - 1) * i128::from(stride);
            let inside = count == 0 || (first < extent && (0..i128::from(extent)).contains(&last));
            cx.require(inside, || Misfit::Outside { dimension, start: first, size: count, stride, extent })?;
        }
        cx.one(input.element, size.clone())
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        movement::slice(cx.tensor(0)?, &cx.numbers(&self.start)?, &cx.shape(&self.size)?, &self.stride).map(Slot::one)
    }

    /// A box; where extents may be dynamic, sometimes one whose first size is read from a tensor.
    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.tensor_where(|ty| ty.static_shape().is_some())?;
        let (mut start, mut size, mut stride) = (Vec::new(), Vec::new(), Vec::new());
        for extent in generator.shape_of(input) {
            let count = generator.random.between(i64::from(extent > 0), extent as i64);
            let step = if count > 1 { generator.random.between(1, ((extent as i64 - 1) / (count - 1)).max(1)) } else { 1 };
            let reach = (count - 1).max(0) * step;
            let first = generator.random.between(0, (extent as i64 - 1 - reach).max(0));
            let backwards = generator.random.one_in(4);
            start.push(Extent::Static(if backwards { first + reach } else { first } as u64));
            size.push(Extent::Static(count as u64));
            stride.push(if backwards { -step } else { step });
        }
        if generator.dynamic && !size.is_empty() && stride[0] > 0 && generator.random.one_in(2) {
            let bound = size[0].as_static()? as i64;
            size[0] = Extent::Value(generator.dynamic_index(bound)?);
        }
        Some((vec![input], Self { start, size, stride }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(input) = cx.tensor(0) else { return Axes::opaque(cx) };
        Axes::kept(input.rank(), |axis| {
            let (start, stride) = (cx.function.resolved(self.start[axis]), self.stride[axis]);
            let is_whole = cx.function.resolved(self.size[axis]) == cx.function.resolved(input.shape[axis]);
            match start.as_static().and_then(|start| i64::try_from(start).ok()) {
                Some(0) if stride == 1 && is_whole => None,
                Some(start) => Some(Axis::Windowed(axis, Taps::single(stride, -start))),
                None => Some(Axis::Opaque),
            }
        })
        .moving()
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        let inverse = Transpose { permutation: permutation.to_vec() }.inverse().permutation;
        let (start, size) = [&self.start, &self.size].map(|list| inverse.iter().map(|&i| list[i]).collect()).into();
        Some(Self { start, size, stride: inverse.iter().map(|&i| self.stride[i]).collect() })
    }
}
