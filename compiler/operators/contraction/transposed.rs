//! Transposed convolutions: the step of a convolution from its result back to its input's extents. Element i of the input reaches elements
//! i·stride + tap·dilation of the result before some are cut off.

use super::phases::Phases;
use super::{Convolution, Crop, Numerics, Transposed};
use crate::ir::{Extent, Value, WindowGeometry};
use crate::operators::{Error, Graph, extents};

impl Transposed {
    /// The result, `[N, spatial…, O]`. A bias has shape `[O]`.
    ///
    /// With static extents it is one convolution over the dilated input, which schedules split into phases. Otherwise it is one convolution for each
    /// phase.
    ///
    /// # Errors
    /// When operands do not fit each other or the numerics.
    pub fn build(&self, g: &mut Graph<'_>, bias: Option<Value>, numerics: &Numerics) -> Result<Value, Error> {
        let shape = g.extents(self.input);
        let spatial = &shape[1..=self.strides.len()];
        let numbers = |list: &[Extent]| list.iter().map(|extent| extent.as_static()).collect::<Option<Vec<u64>>>();
        match (numbers(spatial), numbers(&self.wanted), numbers(&self.cut)) {
            (Some(input), Some(wanted), Some(cut)) => self.whole(g, [&input, &wanted, &cut])?.build(g, bias, numerics),
            _ => Phases::new(g, self)?.build(g, bias, numerics),
        }
    }

    /// Returns the convolution of the dilated input with the reversed filter. The rest of the filter's reach is padding.
    fn whole(&self, g: &mut Graph<'_>, [input, wanted, cut]: [&[u64]; 3]) -> Result<Convolution, Error> {
        let window = g.shape(self.filter)?;
        let mut geometry = WindowGeometry { strides: vec![1; input.len()], dilation: self.dilation.clone(), ..WindowGeometry::default() };
        // From the first element to the last; a sum of two fits too.
        let reach = |elements: u64, step: i64| {
            let reach = i64::try_from(elements).ok().and_then(|n| (n - 1).max(0).checked_mul(step));
            reach.filter(|&n| n < 1 << 62).ok_or(Error::ImageTooLarge)
        };
        let mut start = Vec::with_capacity(input.len());
        for d in 0..input.len() {
            let dilated = reach(input[d], self.strides[d])? + 1;
            let reach = reach(window[d + 1], self.dilation[d])?;
            let (cut, wanted) = (i64::try_from(cut[d]).ok(), i64::try_from(wanted[d]).ok());
            let (Some(cut), Some(wanted)) = (cut, wanted.filter(|&n| n < 1 << 62)) else { return Err(Error::ImageTooLarge) };
            let low = reach - cut;
            geometry.padding_low.push(low.max(0));
            start.push(low.min(0).unsigned_abs());
            // Where the filter reaches past the wanted extent already, the result is cut.
            geometry.padding_high.push((wanted + reach - low - dilated).max(0));
        }
        Ok(Convolution {
            input: self.input,
            filter: turned(g, self.filter)?,
            groups: self.groups,
            geometry,
            input_dilation: self.strides.clone(),
            crop: Some(Crop { start: extents(&start), size: extents(wanted) }),
        })
    }
}

/// A filter `[O, window…, C]` with its taps in reverse: a constant is rearranged here, another by the program.
fn turned(g: &mut Graph<'_>, filter: Value) -> Result<Value, Error> {
    let (shape, element) = (g.shape(filter)?, g.element(filter));
    let rank = shape.len();
    let Some(bytes) = g.known(filter).filter(|_| element.bits() >= 8) else {
        let inner = |d: usize| (1..rank - 1).contains(&d) && shape[d] > 0;
        let starts: Vec<u64> = (0..rank).map(|d| if inner(d) { shape[d] - 1 } else { 0 }).collect();
        let strides = (0..rank).map(|d| if inner(d) { -1 } else { 1 }).collect();
        return Ok(g.builder.slice(filter, extents(&starts), extents(&shape), strides)?);
    };
    let tap = shape[rank - 1] as usize * (element.bits() as usize / 8);
    let window = shape[1..rank - 1].iter().product::<u64>() as usize * tap;
    let turned = bytes.chunks_exact(window.max(1)).flat_map(|window| window.chunks_exact(tap.max(1)).rev().flatten().copied());
    let turned: Vec<u8> = turned.collect();
    g.constant(element, &shape, turned)
}

/// A filter `[C, O ÷ groups, window…]`, as programs with channels first have it, in the order of [`Transposed::filter`].
///
/// # Errors
/// [`Error::Groups`], and where extents are not known.
pub fn transposed_filter(g: &mut Graph<'_>, filter: Value, groups: u64) -> Result<Value, Error> {
    let shape = g.shape(filter)?;
    let rank = shape.len();
    if groups == 0 || !shape[0].is_multiple_of(groups) {
        return Err(Error::Groups { channels: shape[0], groups });
    }
    let split = [&[groups, shape[0] / groups], &shape[1..]].concat();
    let filter = g.reshape(filter, &extents(&split))?;
    // [groups, C ÷ groups, O ÷ groups, window…] to [groups, O ÷ groups, window…, C ÷ groups].
    let permutation: Vec<usize> = [0].into_iter().chain(2..=rank).chain([1]).collect();
    let filter = g.transpose(filter, &permutation)?;
    let outputs = groups.checked_mul(shape[1]).ok_or(Error::TooManyElements)?;
    let joined = [&[outputs], &shape[2..], &[shape[0] / groups]].concat();
    let filter = g.reshape(filter, &extents(&joined))?;
    g.settled(filter)
}
