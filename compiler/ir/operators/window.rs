//! `window`: reductions over a sliding window.

use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use super::{Reduction, Summation, WindowGeometry, Word};
use crate::axes::Axes;
use crate::fault::{Elements, Misfit, Ranks, Subject};
use crate::interpret::{Evaluation, Slot, Step};
use crate::interpret::{contract, nines, reduce};
use crate::random::Generator;
use crate::types::ElementType;

/// A reduction over a sliding window, channels last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// The operation that combines elements.
    pub reduction: Reduction,
    /// The order of summation.
    pub summation: Summation,
    /// Taps in each spatial dimension.
    pub size: Vec<i64>,
    /// The positions of the windows.
    pub geometry: WindowGeometry,
}

impl Window {
    /// Checks that windows summed in nines are sums or maxima of f32 over at most two dimensions.
    fn check_summation(&self, cx: &Context<'_>) -> Result<(), Box<Misfit>> {
        if self.summation == Summation::Rows {
            return Ok(());
        }
        cx.operand_element(0, Elements::Among(vec![ElementType::F32]))?;
        cx.rank(Subject::Field("size"), self.size.len(), Ranks::AtMost(2))?;
        let found = || self.reduction.word().to_owned();
        let is_known = matches!(self.reduction, Reduction::Sum | Reduction::Max);
        cx.require(is_known, || Misfit::Malformed { field: "reduction", expected: "sum or max", found: found() })?;
        // Padding reads the nearest element, which is a tap of the window only if it has no gaps.
        let gaps = self.reduction == Reduction::Max && self.geometry.has_gaps();
        cx.require(!gaps, || Misfit::Malformed { field: "dilation", expected: "1", found: format!("{:?}", self.geometry.dilation) })
    }
}

impl Operator for Window {
    const NAME: &'static str = "window";
    const OPERANDS: Arity = Arity::Exactly(1);
    const MEANING: &'static str = "A reduction over each position of a sliding window on [N, spatial…, C]; padded taps are left out. `summation` is the order of sums: row by row, or nines, of f32 and of one spatial dimension or two, down the columns: of i0 to i8 `((i2 + i3) + (i4 + i5)) + (((i0 + i1) + i8) + (i6 + i7))`, which is added to the sum of those before them, with 0 for padding. Maxima of nines go the same way; where one of two is NaN the second one is the result, missing taps repeat the first, padding the nearest element; the first nine are left out if they come out as NaN, and if later ones do the result is +∞. `positions` and `shift` as `conv` has them.";

    fields! {
        "reduction" => reduction,
        "summation" => summation,
        "size" => size,
        "strides" => geometry.strides,
        "dilation" => geometry.dilation,
        "padding_low" => geometry.padding_low,
        "padding_high" => geometry.padding_high,
        "positions" => geometry.positions,
        "shift" => geometry.shift,
    }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let input = cx.tensor(0)?;
        cx.operand_element(0, Elements::AllBut(ElementType::C128))?;
        cx.numbers("size", &self.size, 1, i32::MAX.into())?;
        let size: Vec<u64> = self.size.iter().map(|&n| n as u64).collect();
        self.geometry.check(cx, &size)?;
        self.check_summation(cx)?;
        cx.rank(Subject::Operand(0), input.rank(), Ranks::Exactly(size.len() + 2))?;
        let mut shape = input.shape.clone();
        for (d, &taps) in size.iter().enumerate() {
            shape[d + 1] = self.geometry.positions(cx, d, taps, input.shape[d + 1])?;
        }
        cx.one(input.element, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let (input, run_time) = (cx.tensor(0)?, contract::RunTime::new(&self.geometry, cx)?);
        let size: Vec<usize> = self.size.iter().map(|&n| n as usize).collect();
        match self.summation {
            Summation::Rows => reduce::window(input, self.reduction, &size, &self.geometry, &run_time),
            Summation::Nines => nines::window(input, self.reduction, &size, &self.geometry, &run_time),
        }
        .map(Slot::one)
    }

    fn work(&self, _cx: &Context<'_>) -> Option<u64> {
        self.size.iter().try_fold(1u64, |product, &n| product.checked_mul(u64::try_from(n).ok()?))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let input = generator.image()?;
        let (element, spatial) = (generator.tensor_type(input).element, generator.tensor_type(input).rank() - 2);
        let (reduction, size) = (generator.reduction(element), generator.ints(spatial, 1, 3));
        let may_be_nines = matches!(reduction, Reduction::Sum | Reduction::Max) && element == ElementType::F32 && spatial <= 2;
        let wants_nines = may_be_nines && generator.random.one_in(2);
        let geometry = generator.geometry(input)?;
        let are_nines = wants_nines && (reduction == Reduction::Sum || !geometry.has_gaps());
        let summation = if are_nines { Summation::Nines } else { Summation::Rows };
        Some((vec![input], Self { reduction, summation, size, geometry }))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let Ok(input) = cx.tensor(0) else { return Axes::opaque(cx) };
        let spatial = |axis: usize| axis.checked_sub(1).filter(|&d| d < self.size.len());
        Axes::kept(input.rank(), |axis| spatial(axis).map(|d| self.geometry.axis(cx, d, self.size[d] as u64, input.shape[axis])))
    }

    fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        Some(Self { geometry: self.geometry.part(axis, low, high)?, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionBuilder, Module, TensorType, Type};

    #[test]
    fn a_part_has_its_own_border_along_one_axis() {
        let ones = || vec![1, 1];
        let geometry =
            WindowGeometry { strides: ones(), dilation: ones(), padding_low: ones(), padding_high: ones(), ..WindowGeometry::default() };
        let window = Window { reduction: Reduction::Max, summation: Summation::Rows, size: vec![3, 3], geometry };
        let part = window.part(1, 0, 2).expect("axis 1 is spatial");
        assert_eq!((part.geometry.padding_low, part.geometry.padding_high), (vec![0, 1], vec![2, 1]));
        assert_eq!((window.part(0, 0, 0), window.part(3, 0, 0)), (None, None));
    }

    #[test]
    fn nines_are_sums_and_maxima_of_singles_in_a_plane() {
        let refused = |element, spatial: usize, reduction| {
            let mut module = Module::default();
            let mut b = FunctionBuilder::new(&mut module, "f");
            let input = b.param(Type::Tensor(TensorType::of(element, &vec![4; spatial + 2])), None);
            let (ones, zeros) = (vec![1; spatial], vec![0; spatial]);
            let (padding_low, padding_high) = (zeros.clone(), zeros);
            let geometry = WindowGeometry { strides: ones.clone(), dilation: ones, padding_low, padding_high, ..Default::default() };
            b.window_in(input, reduction, Summation::Nines, vec![2; spatial], geometry).is_err()
        };
        assert!(!refused(ElementType::F32, 1, Reduction::Sum) && !refused(ElementType::F32, 2, Reduction::Sum));
        assert!(!refused(ElementType::F32, 2, Reduction::Max));
        assert!(refused(ElementType::F16, 2, Reduction::Sum), "halves");
        assert!(refused(ElementType::F32, 3, Reduction::Sum), "a volume");
        assert!(refused(ElementType::F32, 2, Reduction::Product), "products");
    }
}
