//! The largest elements of windows, and their positions.

use super::windows::Windows;
use super::{Error, Graph, extents};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, Value};
use crate::operators::terms::{Term, Terms};
use ElementType::I64;

/// Windows of more taps are no real model's.
const MOST_TAPS: u64 = 1 << 10;

/// The largest element of each window of an image `[N, C, …]` and its position in its channel, in i64. Of equal ones the first counts, and NaN is the
/// largest. Padding takes no part. The taps are compared one after another.
///
/// # Errors
/// When the windows do not fit or are too large; [`Error::DynamicExtent`] of padding that follows from the extents.
pub fn max_with_positions(g: &mut Graph<'_>, input: Value, windows: &Windows) -> Result<[Value; 2], Error> {
    let shape = g.extents(input);
    let [batch, channels, spatial @ ..] = &shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let rank = spatial.len();
    if windows.size.len() != rank {
        return Err(Error::NoImage { rank: shape.len() });
    }
    if windows.size.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).is_none_or(|taps| taps > MOST_TAPS) {
        return Err(Error::WindowTooLarge);
    }
    let Standing { low, high, counts } = Standing::of(g, windows, spatial)?;
    let zero = Scalar::from_bits(g.element(input), 0);
    let padded = g.pad(input, &[&[0, 0], &low[..]].concat(), &[&[0, 0], &high[..]].concat(), zero)?;
    let result = [&[*batch, *channels], &counts[..]].concat();
    let strides = [&[1, 1], &windows.strides[..]].concat();
    let (coordinates, sides) = (coordinates(g, &counts)?, sides(g, spatial)?);
    let mut found: Option<[Value; 2]> = None;
    for tap in taps(&windows.size) {
        let start: Vec<i64> = (0..rank).map(|d| tap[d] as i64 * windows.dilation[d]).collect();
        let starts: Vec<u64> = [0, 0].into_iter().chain(start.iter().map(|&n| n as u64)).collect();
        let offset = (0..rank).map(|d| start[d] - low[d]).collect();
        let tap = g.slice(padded, &extents(&starts), &result, &strides)?;
        let place = TapPlace { strides: &windows.strides, offset, image: spatial };
        found = Some(larger(g, found, tap, [&coordinates, &sides], &place)?);
    }
    found.ok_or(Error::WindowTooLarge)
}

/// The geometry of windows along the dimensions of an image.
struct Standing {
    low: Vec<i64>,
    /// The padding after the image, enough for the last window.
    high: Vec<i64>,
    counts: Vec<Extent>,
}

impl Standing {
    fn of(g: &mut Graph<'_>, windows: &Windows, image: &[Extent]) -> Result<Self, Error> {
        let geometry = windows.geometry(g, image)?;
        let (low, mut high, mut counts) = (geometry.padding_low, geometry.padding_high, geometry.positions);
        if geometry.shift.iter().any(|&shift| shift != Extent::Static(0)) {
            return Err(Error::DynamicExtent);
        }
        let is_known = counts.is_empty();
        for (d, extent) in image.iter().enumerate() {
            let reach = (windows.size[d] as i64 - 1) * windows.dilation[d] + 1;
            match extent.as_static().filter(|_| is_known) {
                Some(extent) => {
                    let count = (extent as i64 + low[d] + high[d] - reach) / windows.strides[d] + 1;
                    counts.push(Extent::Static(count.max(0) as u64));
                }
                // A window begins inside the image or the padding before it.
                None => high[d] = reach,
            }
        }
        Ok(Self { low, high, counts })
    }
}

/// The sides of an image that are known only when the program runs.
fn sides(g: &mut Graph<'_>, image: &[Extent]) -> Result<Vec<Value>, Error> {
    image.iter().filter(|extent| extent.as_static().is_none()).map(|&extent| g.extent_tensor(extent, I64)).collect()
}

/// All taps of a window, in row-major order.
fn taps(size: &[u64]) -> Vec<Vec<u64>> {
    size.iter().fold(vec![vec![]], |taps, &n| taps.iter().flat_map(|tap| (0..n).map(|i| [&tap[..], &[i]].concat())).collect())
}

/// The number of a window along each spatial dimension, shaped to broadcast against the windows.
fn coordinates(g: &mut Graph<'_>, counts: &[Extent]) -> Result<Vec<Value>, Error> {
    let mut coordinates = Vec::new();
    for (d, &count) in counts.iter().enumerate() {
        let along = g.iota(count, I64)?;
        let mut shape = vec![Extent::Static(1); counts.len()];
        shape[d] = count;
        coordinates.push(g.reshape(along, &shape)?);
    }
    Ok(coordinates)
}

/// The place of a tap in the image: `offset` plus a stride for each window before.
struct TapPlace<'a> {
    strides: &'a [i64],
    offset: Vec<i64>,
    image: &'a [Extent],
}

impl TapPlace<'_> {
    /// The position of a tap of the window with these coordinates, and a truth value: the tap is inside the image. `sides` are the run-time extents
    /// of the image.
    fn of(&self, terms: &mut Terms, coordinates: &[Node], sides: &[Node]) -> Result<[Node; 2], Error> {
        let mut sides = sides.iter();
        let mut position = terms.i64(0);
        let mut inside = terms.constant(Scalar::bool(true));
        for (d, &coordinate) in coordinates.iter().enumerate() {
            let (stride, offset) = (terms.i64(self.strides[d]), terms.i64(self.offset[d]));
            let extent = match self.image[d] {
                Extent::Static(n) => terms.i64(n as i64),
                Extent::Value(_) => *sides.next().ok_or(Error::DynamicExtent)?,
            };
            let zero = terms.i64(0);
            let scaled = terms.mul(coordinate, stride)?;
            let along = terms.add(scaled, offset)?;
            for (comparison, bound) in [(Comparison::GreaterEqual, zero), (Comparison::Less, extent)] {
                let holds = terms.compare(comparison, along, bound)?;
                inside = terms.op(crate::ir::ScalarOp::And, &[inside, holds])?;
            }
            let before = terms.mul(position, extent)?;
            position = terms.add(before, along)?;
        }
        Ok([position, inside])
    }
}

/// The larger of the maximum so far and a tap, with its position; −1 as long as no tap was inside.
fn larger(
    g: &mut Graph<'_>,
    found: Option<[Value; 2]>,
    tap: Value,
    [coordinates, sides]: [&[Value]; 2],
    place: &TapPlace<'_>,
) -> Result<[Value; 2], Error> {
    let mut operands = vec![tap];
    operands.extend(coordinates);
    let first_side = operands.len();
    operands.extend(sides);
    let known = operands.len();
    operands.extend(found.into_iter().flatten());
    let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
    let mut terms = Terms::new(&elements);
    let nodes: Vec<Node> = (0..operands.len()).map(|i| terms.input(i)).collect();
    let [position, inside] = place.of(&mut terms, &nodes[1..first_side], &nodes[first_side..known])?;
    let nowhere = terms.i64(-1);
    let (value, position) = match nodes[known..] {
        [largest, at] => {
            let takes = beats(&mut terms, nodes[0], largest, at)?;
            let takes = terms.op(crate::ir::ScalarOp::And, &[inside, takes])?;
            (terms.select(takes, nodes[0], largest)?, terms.select(takes, position, at)?)
        }
        _ => (nodes[0], terms.select(inside, position, nowhere)?),
    };
    let results = g.map_many(&operands, terms.finish_many(vec![value, position]))?;
    Ok([results[0], results[1]])
}

/// Tests whether a tap inside the image replaces the largest one so far.
fn beats(terms: &mut Terms, tap: Node, largest: Node, at: Node) -> Term {
    let zero = terms.i64(0);
    let none = terms.compare(Comparison::Less, at, zero)?;
    let above = terms.compare(Comparison::Greater, tap, largest)?;
    let unknown = terms.compare(Comparison::NotEqual, tap, tap)?;
    let takes = terms.op(crate::ir::ScalarOp::Or, &[none, above])?;
    terms.op(crate::ir::ScalarOp::Or, &[takes, unknown])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run_with};
    use crate::operators::windows::Padding;

    #[test]
    fn positions_are_those_of_the_first_of_the_largest() {
        let x = Floats::new(&[1, 1, 3, 3], vec![-1.0, -5.0, -2.0, -1.0, -9.0, -3.0, -4.0, -4.0, -3.0]);
        let padding = Padding::Symmetric { elements: vec![1, 1], partial: false };
        let windows = Windows { size: vec![2, 2], strides: vec![2, 2], dilation: vec![1, 1], padding };
        for (result, expected) in [(0, vec![-1.0, -2.0, -1.0, -3.0]), (1, vec![0.0, 2.0, 3.0, 5.0])] {
            for open in [&[][..], &[[0, 0]], &[[0, 2]], &[[0, 2], [0, 3]]] {
                let found = run_with(&[&x], open, &|g, v| {
                    let found = max_with_positions(g, v[0], &windows)?;
                    g.convert(found[result], ElementType::F32)
                });
                assert_eq!((found.shape, found.numbers), (vec![1, 1, 2, 2], expected.clone()));
            }
        }
    }

    #[test]
    fn positions_in_a_volume_count_planes_first() {
        let x = Floats::new(&[1, 1, 2, 2, 2], vec![1.0, 2.0, 3.0, 4.0, 8.0, 7.0, 6.0, 5.0]);
        let windows = Windows { size: vec![2, 1, 2], strides: vec![2, 1, 2], dilation: vec![1; 3], padding: Padding::Valid };
        for (result, expected) in [(0, vec![8.0, 6.0]), (1, vec![4.0, 6.0])] {
            let found = run_with(&[&x], &[], &|g, v| {
                let found = max_with_positions(g, v[0], &windows)?;
                g.convert(found[result], ElementType::F32)
            });
            assert_eq!((found.shape, found.numbers), (vec![1, 1, 1, 2, 1], expected));
        }
    }
}
