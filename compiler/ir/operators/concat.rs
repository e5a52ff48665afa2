//! `concat`: tensors joined along an axis.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::axes::{Axes, Axis, Taps};
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::{Evaluation, Slot, Step};
use crate::interpret::{fail, movement};
use crate::random::Generator;
use crate::types::Extent;

/// Tensors joined along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
    /// The extent of the concatenation, if it is known only at run time.
    pub extent: Option<Extent>,
}

impl Concat {
    /// A join of extents that are known.
    pub fn along(axis: usize) -> Self {
        Self { axis, extent: None }
    }
}

impl Operator for Concat {
    const NAME: &'static str = "concat";
    const OPERANDS: Arity = Arity::AtLeast(1);
    const MEANING: &'static str =
        "Tensors joined along an axis; `extent` is the joined extent where it is known only when the program runs, and else nothing.";

    fields! { "axis" => axis, "extent" => extent }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let first = cx.tensor(0)?;
        let axis = cx.axis("axis", self.axis, first.rank())?;
        let mut shape = first.shape.clone();
        for i in 1..cx.operands.len() {
            let ty = cx.tensor(i)?;
            cx.operand_element(i, Elements::Among(vec![first.element]))?;
            cx.rank(Subject::Operand(i), ty.rank(), Ranks::Exactly(first.rank()))?;
            for (d, joined) in shape.iter_mut().enumerate() {
                if d != axis {
                    cx.extent(Subject::Operand(i), d, ty.shape[d], first.shape[d])?;
                    continue;
                }
                if self.extent.is_some() {
                    continue;
                }
                let dynamic = |operand: usize| Box::new(Misfit::Dynamic { operand, dimension: axis, field: Some("extent") });
                let Extent::Static(a) = cx.function.resolved(*joined) else { return Err(dynamic(0)) };
                let Extent::Static(b) = cx.function.resolved(ty.shape[d]) else { return Err(dynamic(i)) };
                let sum = a.checked_add(b).ok_or_else(|| Box::new(Misfit::TooLarge { subject: Subject::Result }))?;
                *joined = Extent::Static(sum);
            }
        }
        if let Some(found) = self.extent {
            let operands = (0..cx.operands.len()).map(|i| cx.tensor(i).ok()?.shape.get(axis)?.as_static());
            let sum = operands.collect::<Option<Vec<u64>>>().and_then(|known| known.into_iter().try_fold(0u64, u64::checked_add));
            if let (Some(sum), Extent::Static(_)) = (sum, found) {
                cx.extent(Subject::Field("extent"), axis, found, Extent::Static(sum))?;
            }
            shape[axis] = found;
        }
        cx.one(first.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let joined = movement::concat(&cx.tensors()?, self.axis)?;
        match cx.shape(self.extent.as_slice())?[..] {
            [extent] if extent != joined.shape[self.axis] => {
                fail(format!("the joined extent is {}, not {extent}", joined.shape[self.axis]))
            }
            _ => Ok(Slot::one(joined)),
        }
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let first = generator.tensor_where(|ty| ty.static_shape().is_some() && ty.rank() > 0)?;
        let (element, shape) = (generator.tensor_type(first).element, generator.shape_of(first));
        let axis = generator.random.below(shape.len());
        let mut operands = vec![first];
        for _ in 0..generator.random.below(3) {
            let mut other = shape.clone();
            other[axis] = generator.random.between(0, 3) as u64;
            let same = generator.tensor_where(|ty| ty.element == element && ty.static_shape().as_ref() == Some(&shape));
            let leaf = generator.leaf(element, &other)?;
            operands.push(if generator.random.one_in(2) { same.unwrap_or(leaf) } else { leaf });
        }
        Some((operands, Self::along(axis)))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let mut offset = Some(0);
        let mut operands = Vec::with_capacity(cx.operands.len());
        for i in 0..cx.operands.len() {
            let Ok(ty) = cx.tensor(i) else { return Axes::opaque(cx) };
            let joined = match offset {
                _ if cx.operands.len() == 1 => Axis::Kept(self.axis),
                Some(offset) => Axis::Windowed(self.axis, Taps::single(1, offset)),
                None => Axis::Opaque,
            };
            operands.push((0..ty.rank()).map(|axis| if axis == self.axis { joined } else { Axis::Kept(axis) }).collect());
            let extent = ty.shape[self.axis].as_static().and_then(|n| i64::try_from(n).ok());
            offset = offset.zip(extent).and_then(|(offset, extent): (i64, i64)| offset.checked_add(extent));
        }
        Axes::of(operands).moving()
    }

    fn permuted(&self, permutation: &[usize]) -> Option<Self> {
        Some(Self { axis: *permutation.get(self.axis)?, extent: self.extent })
    }

    fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        (axis != self.axis && low == 0 && high == 0).then(|| self.clone())
    }
}
