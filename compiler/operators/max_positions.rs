//! Where the largest elements of windows lie.

use super::windows::Windows;
use super::{Error, Graph, extents};
use crate::ir::{Comparison, ElementType, Extent, Node, Scalar, Value};
use crate::operators::terms::{Term, Terms};
use ElementType::I64;

/// Windows of more taps are no real model's.
const MOST_TAPS: u64 = 1 << 10;

/// The largest element of each window of an image `[N, C, H, W]` and its position in its plane, in i64: of equal ones the first, and NaN counts as
/// the largest. Padding takes no part. The taps are compared one after another.
///
/// # Errors
/// [`Error::DynamicExtent`] of the plane, and when the windows do not fit or are too large.
pub fn max_with_positions(g: &mut Graph<'_>, input: Value, windows: &Windows) -> Result<[Value; 2], Error> {
    let shape = g.extents(input);
    let [batch, channels, height, width] = shape[..] else { return Err(Error::NoImage { rank: shape.len() }) };
    let plane = [height.as_static().ok_or(Error::DynamicExtent)?, width.as_static().ok_or(Error::DynamicExtent)?];
    if windows.size.iter().product::<u64>() > MOST_TAPS {
        return Err(Error::WindowTooLarge);
    }
    let geometry = windows.known_geometry(&plane)?;
    let (low, high) = (&geometry.padding_low, &geometry.padding_high);
    let reach = |d: usize| (windows.size[d] as i64 - 1) * geometry.dilation[d] + 1;
    let counts = [0, 1].map(|d| ((plane[d] as i64 + low[d] + high[d] - reach(d)) / geometry.strides[d] + 1).max(0));
    let zero = Scalar::from_bits(g.element(input), 0);
    let padded = g.pad(input, &[0, 0, low[0], low[1]], &[0, 0, high[0], high[1]], zero)?;
    let result = [batch, channels, Extent::Static(counts[0] as u64), Extent::Static(counts[1] as u64)];
    let rows = g.iota(result[2], I64)?;
    let rows = g.reshape(rows, &[result[2], Extent::Static(1)])?;
    let columns = g.iota(result[3], I64)?;
    let mut found: Option<[Value; 2]> = None;
    for row in 0..windows.size[0] as i64 {
        for column in 0..windows.size[1] as i64 {
            let start = [row * geometry.dilation[0], column * geometry.dilation[1]];
            let starts = extents(&[0, 0, start[0] as u64, start[1] as u64]);
            let tap = g.slice(padded, &starts, &result, &[1, 1, geometry.strides[0], geometry.strides[1]])?;
            let place = Place { strides: &geometry.strides, offset: [start[0] - low[0], start[1] - low[1]], plane };
            found = Some(larger(g, found, tap, [rows, columns], &place)?);
        }
    }
    found.ok_or(Error::WindowTooLarge)
}

/// Where a tap lies in the plane: at `offset` and a stride for each window before.
struct Place<'a> {
    strides: &'a [i64],
    offset: [i64; 2],
    plane: [u64; 2],
}

impl Place<'_> {
    /// The position of a tap of the window in this row and column, and whether it is inside the image.
    fn of(&self, terms: &mut Terms, coordinates: [Node; 2]) -> Result<[Node; 2], Error> {
        let mut position = terms.i64(0);
        let mut inside = terms.constant(Scalar::bool(true));
        for (d, coordinate) in coordinates.into_iter().enumerate() {
            let (stride, offset, extent) = (terms.i64(self.strides[d]), terms.i64(self.offset[d]), terms.i64(self.plane[d] as i64));
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

/// The larger of what was found so far and a tap, with its position; −1 as long as nothing was found.
fn larger(
    g: &mut Graph<'_>,
    found: Option<[Value; 2]>,
    tap: Value,
    coordinates: [Value; 2],
    place: &Place<'_>,
) -> Result<[Value; 2], Error> {
    let mut operands = vec![tap];
    operands.extend(coordinates);
    operands.extend(found.into_iter().flatten());
    let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
    let mut terms = Terms::new(&elements);
    let nodes: Vec<Node> = (0..operands.len()).map(|i| terms.input(i)).collect();
    let [position, inside] = place.of(&mut terms, [nodes[1], nodes[2]])?;
    let nowhere = terms.i64(-1);
    let (value, position) = match nodes[3..] {
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

/// Whether a tap inside the image takes the place of the largest so far.
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
            for open in [&[][..], &[(0, 0)]] {
                let found = run_with(&[&x], open, &|g, v| {
                    let found = max_with_positions(g, v[0], &windows)?;
                    g.convert(found[result], ElementType::F32)
                });
                assert_eq!((found.shape, found.numbers), (vec![1, 1, 2, 2], expected.clone()));
            }
        }
    }
}
