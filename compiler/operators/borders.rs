//! Borders made of the image's own elements. Extents may be run-time extents.

use super::indexing::known;
use super::{Error, Graph};
use crate::ir::{ElementType, Extent, NanRule, ScalarOp, Value};
use ElementType::I64;

/// The source of a border's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// The image mirrored at the centres of its first and last elements, once.
    Mirrored,
    /// The first and the last element again and again.
    Repeated,
}

/// Adds `amounts` of elements before the first and after the last element of a dimension. Negative amounts cut elements off. With a run-time extent,
/// a mirrored border wider than the image is an error of the call.
///
/// # Errors
/// [`Error::NoAxis`]; [`Error::BorderTooWide`] if nothing is left, or nothing lies inside.
pub fn bordered(g: &mut Graph<'_>, x: Value, axis: usize, amounts: [i64; 2], inside: Inside) -> Result<Value, Error> {
    let extent = *g.extents(x).get(axis).ok_or(Error::NoAxis)?;
    let [before, after] = amounts;
    let most = i64::try_from(g.bound(extent)).map_err(|_| Error::DimensionTooLarge)?;
    let misfit = Error::BorderTooWide { extent: g.bound(extent), before, after };
    if amounts.iter().any(|n| n.abs() > i64::from(i32::MAX)) || most > i64::from(i32::MAX) || most + before + after < 0 {
        return Err(misfit);
    }
    if amounts == [0, 0] {
        return Ok(x);
    }
    match extent {
        Extent::Static(_) => {
            let positions = inside.positions(most, amounts).ok_or(misfit)?;
            known::picked(g, x, &positions, &[positions.len() as u64], axis)
        }
        Extent::Value(_) => {
            let positions = inside.measured_positions(g, extent, amounts)?;
            g.gather(x, positions, axis)
        }
    }
}

impl Inside {
    /// Returns the source position of each element of a dimension with its border.
    fn positions(self, extent: i64, [before, after]: [i64; 2]) -> Option<Vec<i64>> {
        let last = extent - 1;
        let source = |i: i64| match self {
            Self::Mirrored => last - (last - i.abs()).abs(),
            Self::Repeated => i.clamp(0, last),
        };
        let fits = match self {
            Self::Mirrored => before < extent && after < extent,
            Self::Repeated => extent > 0,
        };
        fits.then(|| (-before..extent + after).map(source).collect())
    }

    /// Computes the source positions for a run-time extent.
    fn measured_positions(self, g: &mut Graph<'_>, extent: Extent, amounts: [i64; 2]) -> Result<Value, Error> {
        let mut count = extent;
        for amount in amounts {
            let more = Extent::Static(amount.unsigned_abs());
            count = if amount < 0 { g.sub(count, more)? } else { g.add(count, more)? };
        }
        let (places, extent) = (g.iota(count, I64)?, g.extent_tensor(extent, I64)?);
        g.compute(&[places, extent], |terms, x| {
            let (before, one, zero) = (terms.i64(amounts[0]), terms.i64(1), terms.i64(0));
            let (place, last) = (terms.sub(x[0], before)?, terms.sub(x[1], one)?);
            match self {
                Self::Mirrored => {
                    let place = terms.op(ScalarOp::Abs, &[place])?;
                    let from_last = terms.sub(last, place)?;
                    let from_last = terms.op(ScalarOp::Abs, &[from_last])?;
                    Ok::<_, Error>(terms.sub(last, from_last)?)
                }
                Self::Repeated => {
                    let place = terms.op(ScalarOp::Max(NanRule::Ignore), &[place, zero])?;
                    Ok(terms.op(ScalarOp::Min(NanRule::Ignore), &[place, last])?)
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run, run_with};

    #[test]
    fn borders_are_mirrored_or_repeated() {
        assert_eq!(Inside::Mirrored.positions(4, [2, 3]), Some(vec![2, 1, 0, 1, 2, 3, 2, 1, 0]));
        assert_eq!(Inside::Mirrored.positions(4, [-1, -1]), Some(vec![1, 2]));
        assert_eq!(Inside::Mirrored.positions(3, [3, 0]), None);
        assert_eq!(Inside::Repeated.positions(2, [2, 1]), Some(vec![0, 0, 0, 1, 1]));
        assert_eq!(Inside::Repeated.positions(3, [-1, 1]), Some(vec![1, 2, 2]));
        assert_eq!(Inside::Repeated.positions(0, [1, 1]), None);
    }

    #[test]
    fn extents_of_run_time_have_the_same_borders() {
        let x = Floats::varied(&[2, 4]);
        for inside in [Inside::Mirrored, Inside::Repeated] {
            for amounts in [[2, 3], [-1, 1], [0, -2]] {
                let bordered = |g: &mut Graph<'_>, v: &[Value]| bordered(g, v[0], 1, amounts, inside);
                assert_eq!(run_with(&[&x], &[[0, 1]], &bordered), run(&[&x], &bordered), "{inside:?} {amounts:?}");
            }
        }
    }
}
