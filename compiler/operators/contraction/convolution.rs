//! Convolutions, channels last.

use super::{Numerics, reduced};
use crate::ir::{ElementType, Extent, Value, WindowGeometry, ZeroPoints};
use crate::operators::{Error, Graph, extents};

/// A convolution.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// `[N, spatial…, C]`
    pub input: Value,
    /// `[O, window…, C ÷ groups]`
    pub filter: Value,
    /// Groups of channels.
    pub groups: u64,
    /// Windows.
    pub geometry: WindowGeometry,
    /// Steps between the input's elements, one a spatial dimension.
    pub input_dilation: Vec<i64>,
    /// The part of the windows' results that is computed; `None` for all.
    pub crop: Option<Crop>,
}

/// A box of the spatial dimensions.
#[derive(Clone, Debug)]
pub struct Crop {
    /// The first element in each dimension.
    pub start: Vec<Extent>,
    /// Its extents.
    pub size: Vec<Extent>,
}

/// The transpose of a convolution, channels last.
#[derive(Clone, Debug)]
pub struct Transposed {
    /// `[N, spatial…, C]`
    pub input: Value,
    /// `[O, window…, C ÷ groups]`, with the taps in the order of the original convolution.
    pub filter: Value,
    /// Groups of channels.
    pub groups: u64,
    /// The distance in the result between the targets of neighbouring elements.
    pub strides: Vec<i64>,
    /// The distance in the result between the targets of neighbouring taps.
    pub dilation: Vec<i64>,
    /// Elements that are cut off before the result's first one.
    pub cut: Vec<Extent>,
    /// Spatial extents of the result.
    pub wanted: Vec<Extent>,
}

impl Convolution {
    /// A convolution of an input whose elements are side by side.
    pub fn new(input: Value, filter: Value, groups: u64, geometry: WindowGeometry) -> Self {
        let input_dilation = vec![1; geometry.strides.len()];
        Self { input, filter, groups, geometry, input_dilation, crop: None }
    }

    /// The convolution, `[N, spatial…, O]`. A bias has shape `[O]`.
    ///
    /// # Errors
    /// When operands do not fit each other or the numerics.
    pub fn build(&self, g: &mut Graph<'_>, bias: Option<Value>, numerics: &Numerics) -> Result<Value, Error> {
        let sums = self.sums(g, numerics.zero_points(), numerics.accumulator())?;
        numerics.output(g, sums, bias)
    }

    /// The sums of products alone.
    ///
    /// # Errors
    /// When operands do not fit each other.
    pub fn sums(&self, g: &mut Graph<'_>, zero_points: ZeroPoints, accumulator: ElementType) -> Result<Value, Error> {
        if let (Some(&channels @ Extent::Value(_)), Some(&Extent::Static(of_group))) =
            (g.extents(self.input).last(), g.extents(self.filter).last())
        {
            g.equate(channels, Extent::Static(of_group.saturating_mul(self.groups)))?;
        }
        let sums = if reduced::is_reduced(g.element(self.filter)) {
            let Self { input, filter, groups, geometry, input_dilation, .. } = self;
            let patches = reduced::Patches { input: *input, filter: *filter, groups: *groups, geometry, input_dilation };
            reduced::convolution(g, &patches, accumulator)?
        } else {
            let geometry = (self.geometry.clone(), self.input_dilation.clone());
            g.builder.dilated_conv(self.input, self.filter, geometry, self.groups, zero_points, accumulator)?
        };
        let Some(crop) = &self.crop else { return Ok(sums) };
        let mut size = g.extents(sums);
        let rank = size.len();
        let mut start = extents(&vec![0; rank]);
        start[1..rank - 1].copy_from_slice(&crop.start);
        size[1..rank - 1].copy_from_slice(&crop.size);
        g.slice(sums, &start, &size, &vec![1; rank])
    }
}

/// A depthwise filter `[1, height, width, O]` as `[O, height, width, 1]`: a constant is rearranged here, another by the program.
///
/// # Errors
/// When the filter has other extents.
pub fn depthwise_filter(g: &mut Graph<'_>, filter: Value) -> Result<Value, Error> {
    let shape = g.shape(filter)?;
    let element = g.element(filter);
    let [_, height, width, channels] = shape[..] else { return Err(Error::Permutation) };
    let Some(bytes) = g.known(filter).filter(|_| element.bits() >= 8) else {
        return Ok(g.builder.transpose(filter, vec![3, 1, 2, 0])?);
    };
    let (size, channels, taps) = (element.bits() as usize / 8, channels as usize, (height * width) as usize);
    let mut rearranged = Vec::with_capacity(bytes.len());
    for channel in 0..channels {
        for tap in 0..taps {
            let start = (tap * channels + channel) * size;
            rearranged.extend_from_slice(&bytes[start..start + size]);
        }
    }
    let value = g.constant(element, &[channels as u64, height, width, 1], rearranged)?;
    g.name_after(value, filter);
    Ok(value)
}
