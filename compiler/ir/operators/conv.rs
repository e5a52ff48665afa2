//! `conv`: convolution.

use super::WindowGeometry;
use super::field::fields;
use super::{Arity, Context, Operator, Proposal, Types};
use crate::Accumulation;
use crate::axes::{Axes, Axis};
use crate::entities::Value;
use crate::fault::{Misfit, Ranks, Subject};
use crate::interpret::contract;
use crate::interpret::{Evaluation, Slot, Step};
use crate::random::Generator;
use crate::types::{ElementType, Extent, ZeroPoints};

/// N-dimensional convolution, channels last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conv {
    /// Strides, dilation and padding.
    pub geometry: WindowGeometry,
    /// Steps between neighbouring input elements; 1 or a stride of 1 in each dimension.
    pub input_dilation: Vec<i64>,
    /// Groups of channels.
    pub groups: u64,
    /// Subtracted from each input element; padded taps contribute nothing.
    pub input_zero_point: i64,
    /// Subtracted from each filter element.
    pub filter_zero_point: i64,
    /// The type of the sums.
    pub accumulator: ElementType,
    /// The rounding of float sums.
    pub accumulation: Accumulation,
}

impl Operator for Conv {
    const NAME: &'static str = "conv";
    const OPERANDS: Arity = Arity::Exactly(2);
    const MEANING: &'static str = "Sum of (input − input zero point) × (filter − filter zero point) over the window and the group's channels; input [N, spatial…, C], its elements `input_dilation` apart, filter [O, window…, C ÷ groups], result [N, spatial…, O] in the accumulator's type; taps on padding and between elements contribute nothing. `positions` and `shift` say how many windows there are and how much further the first one is, where that is known only when the program runs, and else nothing.";

    fields! {
        "strides" => geometry.strides,
        "dilation" => geometry.dilation,
        "padding_low" => geometry.padding_low,
        "padding_high" => geometry.padding_high,
        "positions" => geometry.positions,
        "shift" => geometry.shift,
        "input_dilation" => input_dilation,
        "groups" => groups,
        "input_zero_point" => input_zero_point,
        "filter_zero_point" => filter_zero_point,
        "accumulator" => accumulator,
        "accumulation" => accumulation,
    }

    fn infer(&self, cx: &Context<'_>) -> Types {
        let (input, filter) = (cx.tensor(0)?, cx.tensor(1)?);
        cx.rank(Subject::Operand(0), input.rank(), Ranks::AtLeast(3))?;
        cx.rank(Subject::Operand(1), filter.rank(), Ranks::Exactly(input.rank()))?;
        let last = input.rank() - 1;
        let window = (0..filter.rank()).map(|d| cx.known(1, d)).collect::<Result<Vec<u64>, _>>()?;
        let (channels, groups) = (cx.known(0, last)?, self.groups);
        cx.number("groups", None, i64::try_from(groups).unwrap_or(i64::MAX), 1, i64::MAX)?;
        let whole = window[last].checked_mul(groups).ok_or_else(|| Box::new(Misfit::TooLarge { subject: Subject::Operand(1) }))?;
        cx.extent(Subject::Operand(0), last, input.shape[last], Extent::Static(whole))?;
        cx.require(channels >= 1, || Misfit::TooLarge { subject: Subject::Field("groups") })?;
        let of = Some(groups);
        cx.require(window[0] % groups == 0, || Misfit::Multiple { operand: 1, dimension: 0, of, found: filter.shape[0] })?;
        cx.accumulator(self.accumulator)?;
        cx.zero_point(0, "input_zero_point", self.input_zero_point)?;
        cx.zero_point(1, "filter_zero_point", self.filter_zero_point)?;
        let size = &window[1..last];
        self.geometry.check(cx, size)?;
        cx.rank(Subject::Field("input_dilation"), self.input_dilation.len(), Ranks::Exactly(last - 1))?;
        let mut shape = vec![input.shape[0]];
        for (d, &taps) in size.iter().enumerate() {
            // An input is dilated where the stride is 1.
            let most = if self.geometry.strides[d] == 1 { i32::MAX.into() } else { 1 };
            cx.number("input_dilation", Some(d), self.input_dilation[d], 1, most)?;
            let extent = self.dilated(d, input.shape[d + 1]);
            let extent = extent.ok_or_else(|| Box::new(Misfit::TooLarge { subject: Subject::Field("input_dilation") }))?;
            shape.push(self.geometry.positions(cx, d, taps, extent)?);
        }
        shape.push(Extent::Static(window[0]));
        cx.one(self.accumulator, shape)
    }

    fn evaluate<'m>(&self, cx: &Evaluation<'_, 'm>) -> Step<Vec<Slot<'m>>> {
        let convolution = contract::Convolution {
            geometry: &self.geometry,
            run_time: &contract::RunTime::new(&self.geometry, cx)?,
            input_dilation: &self.input_dilation,
            groups: self.groups as usize,
            zero_points: ZeroPoints { left: self.input_zero_point, right: self.filter_zero_point },
            accumulator: self.accumulator,
        };
        contract::conv(cx.tensor(0)?, cx.tensor(1)?, &convolution).map(Slot::one)
    }

    fn work(&self, cx: &Context<'_>) -> Option<u64> {
        let filter = cx.known_shape(1)?;
        filter.get(1..)?.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
    }

    fn propose(generator: &mut Generator<'_>) -> Proposal<Self> {
        let mut input = generator.image()?;
        let (element, spatial) = (generator.tensor_type(input).element, generator.tensor_type(input).rank() - 2);
        let channels = generator.tensor_type(input).shape[spatial + 1].as_static()?;
        if generator.random.one_in(8) {
            return one_tap(generator, input, channels);
        }
        let groups = if generator.random.one_in(2) { channels } else { 1 };
        let mut filter_shape = vec![groups * generator.random.between(1, 3) as u64];
        filter_shape.extend(generator.ints(spatial, 1, 3).iter().map(|&n| n as u64));
        filter_shape.push(channels / groups);
        // A rewrite takes a border of zeros for padding, which only an infinite weight tells apart.
        generator.finite = true;
        let filter = generator.weights(element, &filter_shape);
        generator.finite = false;
        let filter = filter?;
        if generator.random.one_in(4) {
            input = generator.shifted(input)?;
        }
        let zero_points = [generator.tensor_type(input).element, element].map(|element| generator.zero_point(element));
        let [input_zero_point, filter_zero_point] = zero_points;
        let input = if generator.random.one_in(2) { generator.bordered(input, input_zero_point)? } else { input };
        let mut geometry = generator.geometry(input)?;
        let is_counted = !geometry.positions.is_empty();
        let is_dilated = !is_counted && generator.random.one_in(3);
        let input_dilation = if is_dilated { generator.ints(spatial, 1, 3) } else { vec![1; spatial] };
        if input_dilation.iter().any(|&n| n != 1) {
            geometry.strides = vec![1; spatial];
        }
        let accumulator = generator.accumulator(element)?;
        Some((
            vec![input, filter],
            Self { geometry, input_dilation, groups, input_zero_point, filter_zero_point, accumulator, ..Self::default() },
        ))
    }

    fn axes(&self, cx: &Context<'_>) -> Axes {
        let (Ok(input), Ok(filter)) = (cx.tensor(0), cx.tensor(1)) else { return Axes::opaque(cx) };
        let last = input.rank() - 1;
        // Which channels meet which depends on the number of groups.
        let channels = if self.groups == 1 { Axis::Reduced } else { Axis::Opaque };
        let outputs = if self.groups == 1 { Axis::Kept(last) } else { Axis::Opaque };
        let spatial = |axis: usize| match filter.shape[axis].as_static() {
            Some(size) if self.input_dilation[axis - 1] == 1 => self.geometry.axis(cx, axis - 1, size, input.shape[axis]),
            _ => Axis::Opaque,
        };
        let window = std::iter::once(Axis::Kept(0)).chain((1..last).map(spatial)).chain([channels]);
        let weights = std::iter::once(outputs).chain((1..=last).map(|_| Axis::Reduced));
        Axes::of(vec![window.collect(), weights.collect()])
    }

    fn part(&self, axis: usize, low: i64, high: i64) -> Option<Self> {
        let geometry = self.geometry.part(axis, low, high)?;
        self.input_dilation.iter().all(|&n| n == 1).then(|| Self { geometry, ..self.clone() })
    }
}

impl Conv {
    /// An extent of the input, with the gaps between its elements.
    fn dilated(&self, d: usize, extent: Extent) -> Option<Extent> {
        match extent {
            Extent::Static(n) if n > 0 => {
                (n - 1).checked_mul(self.input_dilation[d] as u64).and_then(|n| n.checked_add(1)).map(Extent::Static)
            }
            other => Some(other),
        }
    }
}

/// A depthwise convolution of a single tap.
fn one_tap(generator: &mut Generator<'_>, input: Value, groups: u64) -> Proposal<Conv> {
    let (element, spatial) = (generator.tensor_type(input).element, generator.tensor_type(input).rank() - 2);
    let filter_shape = [vec![groups], vec![1; spatial + 1]].concat();
    generator.finite = true;
    let filter = generator.weights(element, &filter_shape);
    generator.finite = false;
    let geometry = WindowGeometry {
        strides: vec![1; spatial],
        dilation: vec![1; spatial],
        padding_low: vec![0; spatial],
        padding_high: vec![0; spatial],
        ..WindowGeometry::default()
    };
    let accumulator = generator.accumulator(element)?;
    let conv = Conv { geometry, input_dilation: vec![1; spatial], groups, accumulator, ..Conv::default() };
    Some((vec![input, filter?], conv))
}
