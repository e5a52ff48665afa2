//! Pooling over windows, channels last.

use super::activation::Activation;
use super::terms::{Term, Terms};
use super::windows::{Padding, Windows};
use super::{Error, Graph};
use crate::ir::{ElementType, Extent, Interval, Node, Reduction, Scalar, ScalarOp, Search, Summation, Value, WindowGeometry};
use std::ops::Range;

mod measured;

/// Borders with more positions than this are no real model's.
const MOST_POSITIONS: u64 = 1 << 24;

/// The largest element of each window, found as `search` has it: [`Search::Max`] leaves NaN out, [`Search::MaxOrNan`] keeps it. Padding takes no part.
///
/// # Errors
/// When the windows do not fit.
pub fn max(g: &mut Graph<'_>, input: Value, windows: &Windows, search: Search) -> Result<Value, Error> {
    let geometry = windows.geometry(g, &spatial(g, input))?;
    let search = if g.element(input).is_float() { search } else { search.of_integers() };
    reduced(g, input, search.reduction(), &windows.signed_size()?, geometry)
}

/// The largest element of each window by XNNPACK's rule for NaN ([`Summation::Nines`]). A window of only NaN gives −∞ for up to nine elements, and +∞
/// for more. Windows with gaps leave NaN out.
///
/// # Errors
/// When elements are no binary32, or the windows do not fit.
pub fn max_of_nines(g: &mut Graph<'_>, input: Value, windows: &Windows) -> Result<Value, Error> {
    let geometry = windows.geometry(g, &spatial(g, input))?;
    if geometry.has_gaps() {
        return reduced(g, input, Search::Max.reduction(), &windows.signed_size()?, geometry);
    }
    Ok(g.builder.window_in(input, Reduction::Max, Summation::Nines, windows.signed_size()?, geometry)?)
}

/// Reduces windows of an image. Windows of more than two dimensions are reduced along the last two and then along the others, which changes only the
/// order of sums.
fn reduced(g: &mut Graph<'_>, input: Value, reduction: Reduction, size: &[i64], geometry: WindowGeometry) -> Result<Value, Error> {
    let Some(outer) = size.len().checked_sub(2).filter(|&n| n > 0) else {
        return Ok(g.builder.window(input, reduction, size.to_vec(), geometry)?);
    };
    let shape = g.extents(input);
    let (lead, image) = shape.split_at(outer + 1);
    let images = g.product(lead)?;
    let input = g.reshape(input, &[&[images], image].concat())?;
    let planes = g.builder.window(input, reduction, size[outer..].to_vec(), part(&geometry, outer..size.len()))?;
    let [_, rows, columns, channels] = g.extents(planes)[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let plane = g.product(&[rows, columns])?;
    let input = g.reshape(planes, &[lead, &[plane, channels]].concat())?;
    // One element of the plane at a time.
    let mut along = part(&geometry, 0..outer);
    along.strides.push(1);
    along.dilation.push(1);
    along.padding_low.push(0);
    along.padding_high.push(0);
    if !along.positions.is_empty() {
        along.positions.push(plane);
        along.shift.push(Extent::Static(0));
    }
    let y = reduced(g, input, reduction, &[&size[..outer], &[1]].concat(), along)?;
    let kept = g.extents(y)[..=outer].to_vec();
    g.reshape(y, &[&kept[..], &[rows, columns, channels]].concat())
}

/// Some dimensions of a geometry.
fn part(geometry: &WindowGeometry, dimensions: Range<usize>) -> WindowGeometry {
    let of_extents = |list: &[Extent]| list.get(dimensions.clone()).unwrap_or_default().to_vec();
    let numbers = |list: &[i64]| list[dimensions.clone()].to_vec();
    WindowGeometry {
        strides: numbers(&geometry.strides),
        dilation: numbers(&geometry.dilation),
        padding_low: numbers(&geometry.padding_low),
        padding_high: numbers(&geometry.padding_high),
        positions: of_extents(&geometry.positions),
        shift: of_extents(&geometry.shift),
    }
}

/// The numerics of means.
#[derive(Clone, PartialEq, Debug)]
pub struct Means {
    /// The type of sums.
    pub accumulator: ElementType,
    /// The order in which elements are added.
    pub summation: Summation,
    /// The divisor of a sum.
    pub divisor: Divisor,
    /// The layout of divisors that differ between windows.
    pub counts: Counts,
    /// The division.
    pub quotient: Quotient,
    /// Type of the result.
    pub result: ElementType,
}

/// The divisor of a window's sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Divisor {
    /// The number of its taps inside the image.
    Inside,
    /// The number of its taps inside the image or the explicit padding.
    Padded,
    /// A fixed number.
    Number(i64),
}

/// The layout of divisors that differ from window to window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// One number for each window: fewest operations.
    Table,
    /// One number for each row and each column of windows: fewest bytes.
    Sides,
}

/// The division of a sum to a mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quotient {
    /// Division of floats, then a clamp.
    Float(Activation),
    /// Multiplication of floats by the divisor's rounded reciprocal.
    Reciprocal,
    /// Division of integers, halves away from zero, then a clamp between optional bounds.
    Integer(Option<Interval<i32>>),
    /// Division of integers, truncated.
    Truncated,
}

/// The mean of each window.
///
/// # Errors
/// When the windows do not fit, or one has no divisor.
pub fn average(g: &mut Graph<'_>, input: Value, windows: &Windows, means: &Means) -> Result<Value, Error> {
    let geometry = windows.geometry(g, &spatial(g, input))?;
    let wide = g.convert(input, means.accumulator)?;
    let size = windows.signed_size()?;
    let sums = match means.summation {
        Summation::Rows => reduced(g, wide, Reduction::Sum, &size, geometry.clone())?,
        order @ Summation::Nines => g.builder.window_in(wide, Reduction::Sum, order, size, geometry.clone())?,
    };
    let divisors = Divisors { input, sums, windows, geometry: &geometry, element: means.accumulator };
    let divisors = divisors.of(g, means.divisor, means.counts)?;
    divided(g, sums, divisors, means)
}

/// The root of the mean of the squares of each window's taps inside the image, of f32.
///
/// # Errors
/// When the windows do not fit.
pub fn root_mean_square(g: &mut Graph<'_>, input: Value, windows: &Windows, activation: Activation) -> Result<Value, Error> {
    let element = g.element(input);
    let geometry = windows.geometry(g, &spatial(g, input))?;
    let mut terms = Terms::new(&[element]);
    let x = terms.input(0);
    let square = terms.mul(x, x)?;
    let squares = g.map(&[input], terms.finish(square))?;
    let sums = reduced(g, squares, Reduction::Sum, &windows.signed_size()?, geometry.clone())?;
    let divisors = Divisors { input, sums, windows, geometry: &geometry, element };
    let counts = match divisors.of(g, Divisor::Inside, Counts::Table)? {
        Found::All(count) => g.scalar(number(element, count))?,
        Found::Each(counts) => counts[0],
    };
    let mut terms = Terms::new(&[element, element]);
    let (sum, count) = (terms.input(0), terms.input(1));
    let mean = terms.div(sum, count)?;
    let root = terms.op(ScalarOp::Sqrt, &[mean])?;
    let x = activation.clamp_float(&mut terms, root)?;
    g.map(&[sums, counts], terms.finish(x))
}

/// The spatial extents of an image.
fn spatial(g: &Graph<'_>, image: Value) -> Vec<Extent> {
    let shape = g.extents(image);
    shape.get(1..shape.len().saturating_sub(1)).unwrap_or_default().to_vec()
}

fn number(element: ElementType, number: i64) -> Scalar {
    if element.is_float() { Scalar::float(element, number as f64) } else { Scalar::int(element, number) }
}

fn divided(g: &mut Graph<'_>, sums: Value, divisors: Found, means: &Means) -> Result<Value, Error> {
    let mut operands = vec![sums];
    if let Found::Each(counts) = &divisors {
        operands.extend(counts);
    }
    let mut terms = Terms::new(&vec![means.accumulator; operands.len()]);
    let sum = terms.input(0);
    let divisor = match divisors {
        Found::All(count) => terms.constant(number(means.accumulator, count)),
        Found::Each(counts) if counts.len() == 1 => terms.input(1),
        Found::Each(_) => {
            let (rows, columns) = (terms.input(1), terms.input(2));
            terms.mul(rows, columns)?
        }
    };
    let mean = means.quotient.of(&mut terms, means.accumulator, [sum, divisor])?;
    let mean = terms.convert(mean, means.result);
    g.map(&operands, terms.finish(mean))
}

impl Quotient {
    fn of(self, terms: &mut Terms, element: ElementType, [sum, divisor]: [Node; 2]) -> Term {
        match self {
            Self::Float(activation) => {
                let mean = terms.div(sum, divisor)?;
                activation.clamp_float(terms, mean)
            }
            Self::Reciprocal => {
                let one = terms.constant(Scalar::float(element, 1.0));
                let reciprocal = terms.div(one, divisor)?;
                terms.mul(sum, reciprocal)
            }
            Self::Truncated => terms.div(sum, divisor),
            Self::Integer(bounds) => {
                let mean = terms.half_away_quotient(sum, divisor)?;
                // A mean is within the type; bounds are an activation's.
                bounds.map_or(Ok(mean), |bounds| terms.clamp_i32(mean, bounds))
            }
        }
    }
}

/// The divisors of all windows.
enum Found {
    /// One divisor for all windows.
    All(i64),
    /// A tensor that broadcasts to the sums, or two whose product does.
    Each(Vec<Value>),
}

impl Found {
    /// Divisors that are products of one number for each position along each side.
    fn along(g: &mut Graph<'_>, element: ElementType, sides: &[Vec<i64>], counts: Counts) -> Result<Self, Error> {
        let mut table = vec![1i64];
        for side in sides {
            table = table.iter().flat_map(|&n| side.iter().map(move |&m| n.saturating_mul(m))).collect();
        }
        if table.iter().any(|&n| n > i64::from(i32::MAX)) {
            return Err(Error::WindowTooLarge);
        }
        match table[..] {
            [first, ref rest @ ..] if rest.iter().all(|&n| n == first) => return Ok(Self::All(first)),
            _ => {}
        }
        let list = |numbers: &[i64]| numbers.iter().map(|&n| number(element, n)).collect::<Vec<Scalar>>();
        if counts == Counts::Table || sides.len() != 2 {
            let positions: Vec<u64> = sides.iter().map(|side| side.len() as u64).collect();
            let shape = [&[1], &positions[..], &[1]].concat();
            return Ok(Self::Each(vec![g.numbers(element, &shape, &list(&table))?]));
        }
        let mut factors = Vec::new();
        for (d, side) in sides.iter().enumerate() {
            let mut shape = vec![1; sides.len() + 2];
            shape[d + 1] = side.len() as u64;
            factors.push(g.numbers(element, &shape, &list(side))?);
        }
        Ok(Self::Each(factors))
    }
}

/// The source of the divisors of windows.
struct Divisors<'w> {
    input: Value,
    sums: Value,
    windows: &'w Windows,
    geometry: &'w WindowGeometry,
    element: ElementType,
}

impl Divisors<'_> {
    fn of(&self, g: &mut Graph<'_>, divisor: Divisor, counts: Counts) -> Result<Found, Error> {
        if let Divisor::Number(n) = divisor {
            return if n == 0 { Err(Error::ZeroDivisor) } else { Ok(Found::All(n)) };
        }
        let whole = self.windows.size.iter().try_fold(1i64, |product, &n| product.checked_mul(i64::try_from(n).ok()?));
        let (sums, input) = (spatial(g, self.sums), spatial(g, self.input));
        let numbers = |list: &[Extent]| list.iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>();
        match (numbers(&sums), numbers(&input), whole) {
            (_, _, Some(whole)) if !self.is_padded() && whole <= i64::from(i32::MAX) => Ok(Found::All(whole)),
            (Some(positions), Some(extents), _) if self.geometry.positions.is_empty() => {
                self.known(g, &positions, &extents, divisor, counts)
            }
            _ => Ok(Found::Each(vec![self.run_time(g, &input, divisor)?])),
        }
    }

    /// Tests whether windows may reach beyond the image.
    fn is_padded(&self) -> bool {
        let is_padded = self.geometry.padding_low.iter().chain(&self.geometry.padding_high).any(|&n| n != 0);
        is_padded || !self.geometry.positions.is_empty() && self.windows.padding != Padding::Valid
    }

    /// The padding that counts for the divisor: the explicit padding, or none.
    fn counted(&self, d: usize, divisor: Divisor) -> i64 {
        match (&self.windows.padding, divisor) {
            (Padding::Symmetric { elements, .. }, Divisor::Padded) => elements[d],
            _ => 0,
        }
    }

    fn known(&self, g: &mut Graph<'_>, positions: &[u64], extents: &[u64], divisor: Divisor, counts: Counts) -> Result<Found, Error> {
        let windows = positions.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).filter(|&n| n <= MOST_POSITIONS);
        if windows.is_none() {
            return Err(Error::TooManyWindows { most: MOST_POSITIONS });
        }
        let mut sides = Vec::new();
        for (d, &positions) in positions.iter().enumerate() {
            let padding = self.counted(d, divisor);
            let size = i64::try_from(self.windows.size[d]).map_err(|_| Error::WindowTooLarge)?;
            let taps = |position: u64| {
                let start = position as i64 * self.geometry.strides[d] - self.geometry.padding_low[d];
                (start + size).min(extents[d] as i64 + padding) - start.max(-padding)
            };
            let side: Vec<i64> = (0..positions).map(taps).collect();
            if side.iter().any(|&n| n < 1) {
                return Err(Error::WindowOutside);
            }
            sides.push(side);
        }
        Found::along(g, self.element, &sides, counts)
    }

    /// The divisors for an image with run-time extents: along each side, the sums of ones under one-dimensional windows, multiplied with each other.
    fn run_time(&self, g: &mut Graph<'_>, extents: &[Extent], divisor: Divisor) -> Result<Value, Error> {
        let one = g.scalar(number(self.element, 1))?;
        let rank = extents.len() + 2;
        let mut along = Vec::new();
        for (d, &extent) in extents.iter().enumerate() {
            let only = |list: &[i64]| list.get(d).copied().into_iter().collect::<Vec<i64>>();
            let of_extent = |list: &[Extent]| list.get(d).copied().into_iter().collect::<Vec<Extent>>();
            let counted = self.counted(d, divisor);
            let low = self.geometry.padding_low.get(d).map_or(0, |low| low - counted);
            let geometry = WindowGeometry {
                strides: only(&self.geometry.strides),
                dilation: only(&self.geometry.dilation),
                padding_low: vec![low],
                padding_high: only(&self.geometry.padding_high),
                positions: of_extent(&self.geometry.positions),
                shift: of_extent(&self.geometry.shift),
            };
            let counted = g.add(extent, Extent::Static(2 * counted.unsigned_abs()))?;
            let ones = g.broadcast(one, &[Extent::Static(1), counted, Extent::Static(1)])?;
            let counts = g.builder.window(ones, Reduction::Sum, vec![self.windows.signed_size()?[d]], geometry)?;
            let mut shape = vec![Extent::Static(1); rank];
            shape[d + 1] = g.extents(counts)[1];
            along.push(g.reshape(counts, &shape)?);
        }
        let mut product = along[0];
        for &other in &along[1..] {
            let mut terms = Terms::new(&[self.element, self.element]);
            let (rows, columns) = (terms.input(0), terms.input(1));
            let term = terms.mul(rows, columns)?;
            product = g.map(&[product, other], terms.finish(term))?;
        }
        Ok(product)
    }
}

/// Means over parts of the spatial dimensions of an image, channels last. Part i of n is ⌊i·extent ÷ n⌋ to ⌈(i + 1)·extent ÷ n⌉. Elements of a part
/// are added row by row, like elements of a window. Shorter parts are filled with zeros to the longest.
///
/// # Errors
/// [`Error::WindowMisfit`] of an empty extent, and [`Error::TooManyWindows`].
pub fn average_parts(g: &mut Graph<'_>, image: Value, parts: &[Extent], means: &Means) -> Result<Value, Error> {
    let windows = parts.iter().try_fold(1u64, |product, &n| product.checked_mul(g.bound(n))).filter(|&n| n <= MOST_POSITIONS);
    if windows.is_none() {
        return Err(Error::TooManyWindows { most: MOST_POSITIONS });
    }
    if (0..parts.len()).any(|d| g.extents(image)[d + 1].as_static().is_none()) {
        let image = g.convert(image, means.accumulator)?;
        let averages = measured::average_measured_parts(g, image, parts)?;
        return g.convert(averages, means.result);
    }
    let parts = known_parts(parts)?;
    let mut x = g.convert(image, means.accumulator)?;
    let (mut longest, mut sides) = (Vec::new(), Vec::new());
    for (d, &count) in parts.iter().enumerate() {
        let side = Parts::of(g, x, d + 1, count)?;
        x = side.picked(g, x, d + 1)?;
        x = side.without_rest(g, x, d + 1)?;
        longest.push(side.longest() as i64);
        sides.push(side.ranges.iter().map(|range| range.end as i64 - range.start as i64).collect::<Vec<i64>>());
    }
    let zeros = vec![0; parts.len()];
    let geometry = WindowGeometry {
        strides: longest.clone(),
        dilation: vec![1; parts.len()],
        padding_low: zeros.clone(),
        padding_high: zeros,
        ..WindowGeometry::default()
    };
    let sums = reduced(g, x, Reduction::Sum, &longest, geometry)?;
    let divisors = Found::along(g, means.accumulator, &sides, means.counts)?;
    divided(g, sums, divisors, means)
}

/// The largest elements of parts of the spatial dimensions of an image `[N, C, …]`, with parts as in [`average_parts`]. Shorter parts repeat their
/// last element up to the longest. NaN is kept.
///
/// # Errors
/// [`Error::WindowMisfit`] of an empty extent.
pub fn max_parts(g: &mut Graph<'_>, input: Value, parts: &[Extent]) -> Result<Value, Error> {
    if (0..parts.len()).any(|d| g.extents(input)[d + 2].as_static().is_none()) {
        return measured::max_measured_parts(g, input, 2, parts);
    }
    let parts = known_parts(parts)?;
    let mut x = input;
    for (d, &count) in parts.iter().enumerate() {
        let axis = d + 2;
        let side = Parts::of(g, x, axis, count)?;
        let picked = side.picked(g, x, axis)?;
        let mut shape = g.extents(picked);
        shape.splice(axis..=axis, [Extent::Static(count), Extent::Static(side.longest())]);
        let picked = g.reshape(picked, &shape)?;
        x = super::reduction::reduce(g, picked, Reduction::MaxOrNan, &[axis + 1], super::reduction::Axes::Dropped)?;
    }
    Ok(x)
}

/// The numbers of parts along each dimension of an image of static extents.
fn known_parts(parts: &[Extent]) -> Result<Vec<u64>, Error> {
    parts.iter().map(|count| count.as_static().ok_or(Error::DynamicExtent)).collect()
}

/// An axis in parts that may overlap and differ in length.
struct Parts {
    ranges: Vec<Range<u64>>,
}

impl Parts {
    fn of(g: &Graph<'_>, x: Value, axis: usize, count: u64) -> Result<Self, Error> {
        let extent = g.extents(x)[axis].as_static().ok_or(Error::DynamicExtent)?;
        if extent == 0 || count == 0 {
            return Err(Error::WindowMisfit { extent, size: count });
        }
        if extent.saturating_mul(count) > MOST_POSITIONS {
            return Err(Error::TooManyWindows { most: MOST_POSITIONS });
        }
        Ok(Self { ranges: (0..count).map(|part| part * extent / count..((part + 1) * extent).div_ceil(count)).collect() })
    }

    fn longest(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).max().unwrap_or(0)
    }

    /// The axis with the parts one after the other, each as long as the longest: the last element of a shorter one is there again.
    fn picked(&self, g: &mut Graph<'_>, x: Value, axis: usize) -> Result<Value, Error> {
        let longest = self.longest();
        let positions = self.ranges.iter().flat_map(|range| (0..longest).map(|i| (range.start + i).min(range.end - 1)));
        let positions: Vec<Scalar> = positions.map(|position| Scalar::int(ElementType::I64, position as i64)).collect();
        let positions = g.numbers(ElementType::I64, &[positions.len() as u64], &positions)?;
        g.gather(x, positions, axis)
    }

    /// The parts with 0 in place of repeated elements.
    fn without_rest(&self, g: &mut Graph<'_>, picked: Value, axis: usize) -> Result<Value, Error> {
        let (element, longest) = (g.element(picked), self.longest());
        let inside: Vec<bool> = self.ranges.iter().flat_map(|range| (0..longest).map(|i| i < range.end - range.start)).collect();
        if inside.iter().all(|&is_inside| is_inside) {
            return Ok(picked);
        }
        let mut shape = vec![1; g.rank(picked)];
        shape[axis] = inside.len() as u64;
        let inside: Vec<Scalar> = inside.into_iter().map(Scalar::bool).collect();
        let inside = g.numbers(ElementType::Bool, &shape, &inside)?;
        let mut terms = Terms::new(&[ElementType::Bool, element]);
        let (is_inside, x, zero) = (terms.input(0), terms.input(1), terms.constant(number(element, 0)));
        let x = terms.select(is_inside, x, zero)?;
        g.map(&[inside, picked], terms.finish(x))
    }
}

#[cfg(test)]
mod tests;
