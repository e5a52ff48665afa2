//! Quantization of floats, with the rounding of the header's `NAME_quantize`, and the reverse conversion.

use crate::ir::{ElementType, Interval, Quantization, Scalar, Tensor};

/// Returns the quantization of a port if it can convert floats: scales are usable, and the header declares the conversion.
pub fn usable(quantization: Option<&Quantization>, element: ElementType) -> Option<&Quantization> {
    let quantization = quantization?;
    let scales = &quantization.scales;
    let usable = !scales.is_empty() && scales.len() == quantization.zero_points.len() && scales.iter().all(|s| s.is_finite() && *s > 0.0);
    (usable && carrier(element).is_some()).then_some(quantization)
}

/// Returns the type of an array with one element a byte or more; packed integers share bytes otherwise.
fn carrier(element: ElementType) -> Option<ElementType> {
    match element {
        _ if element.is_integer() && element.bits() <= 8 => Some(element.unpacked()),
        ElementType::I16 | ElementType::U16 => Some(element),
        _ => None,
    }
}

/// Quantizes an array of floats. `None` for an array of another type, or without the dimension of the scales.
pub fn quantized(floats: &Tensor, quantization: &Quantization, element: ElementType) -> Option<Tensor> {
    let carrier = carrier(element).filter(|_| floats.element == ElementType::F32)?;
    let (low, high) = element.integer_range()?;
    let range = Interval::new(i64::try_from(low).ok()?, i64::try_from(high).ok()?);
    let inner = channel_elements(&floats.shape, quantization)?;
    let channels = quantization.scales.len();
    let size = (carrier.bits() / 8) as usize;
    let mut bytes = Vec::with_capacity(floats.bytes.len() / 4 * size);
    for (position, value) in floats.bytes.chunks_exact(4).enumerate() {
        let channel = position / inner % channels;
        let value = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
        let (scale, zero_point) = (quantization.scales[channel], quantization.zero_points[channel]);
        bytes.extend_from_slice(&quantize(value, scale, zero_point, range).to_le_bytes()[..size]);
    }
    Some(Tensor { element: carrier, shape: floats.shape.clone(), bytes })
}

/// Converts an array of integers to floats, as the header's `NAME_dequantize` does. `None` where [`quantized`] returns `None`.
pub fn dequantized(integers: &Tensor, quantization: &Quantization, element: ElementType) -> Option<Tensor> {
    let carrier = carrier(element).filter(|carrier| integers.element == *carrier)?;
    let inner = channel_elements(&integers.shape, quantization)?;
    let channels = quantization.scales.len();
    let size = (carrier.bits() / 8) as usize;
    let mut bytes = Vec::with_capacity(integers.bytes.len() / size * 4);
    for (position, integer) in integers.bytes.chunks_exact(size).enumerate() {
        let channel = position / inner % channels;
        let integer = Scalar::from_bytes(carrier, integer).as_i64();
        let real = (integer - quantization.zero_points[channel]) as f32 * quantization.scales[channel];
        bytes.extend_from_slice(&real.to_le_bytes());
    }
    Some(Tensor { element: ElementType::F32, shape: integers.shape.clone(), bytes })
}

/// Returns the distance between channels in elements, for an array with as many channels as scales.
fn channel_elements(shape: &[u64], quantization: &Quantization) -> Option<usize> {
    let channels = quantization.scales.len();
    if channels == 1 {
        return Some(1);
    }
    let axis = quantization.axis;
    (*shape.get(axis)? == channels as u64).then_some(())?;
    Some(shape[axis + 1..].iter().product::<u64>().max(1) as usize)
}

/// Quantizes a number: rounds to nearest, halves away from zero. NaN becomes the zero point.
fn quantize(value: f32, scale: f32, zero_point: i64, Interval { low, high }: Interval) -> i64 {
    /// Threshold above which all floats are integers outside of every range.
    const LARGE: f32 = 16_777_216.0;
    let scaled = value / scale;
    match scaled {
        _ if scaled.is_nan() => zero_point,
        _ if scaled >= LARGE => high,
        _ if scaled <= -LARGE => low,
        _ => (scaled.round() as i64 + zero_point).clamp(low, high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(shape: &[u64], values: &[f32]) -> Tensor {
        Tensor { element: ElementType::F32, shape: shape.to_vec(), bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect() }
    }

    fn quantization(scales: &[f32], zero_points: &[i64], axis: usize) -> Quantization {
        Quantization { scales: scales.to_vec(), zero_points: zero_points.to_vec(), axis }
    }

    #[test]
    fn halves_go_away_from_zero_and_ends_hold() {
        let values = [0.24, 0.25, -0.25, -0.24, 0.75, 1e9, -1e9, f32::NAN, f32::INFINITY, 63.0, -70.0, 0.249_999_99];
        let found = quantized(&floats(&[12], &values), &quantization(&[0.5], &[-3], 0), ElementType::I8).unwrap();
        let integers: Vec<i8> = found.bytes.iter().map(|&byte| byte as i8).collect();
        assert_eq!(integers, [-3, -2, -4, -3, -1, 127, -128, -3, 127, 123, -128, -3]);
        let found = quantized(&floats(&[2], &[-1.0, 300.0]), &quantization(&[1.0], &[10], 0), ElementType::U8).unwrap();
        assert_eq!(found.bytes, [9, 255]);
        let found = quantized(&floats(&[2], &[-1.0, 300.0]), &quantization(&[1.0], &[0], 0), ElementType::I4).unwrap();
        assert_eq!((found.element, found.bytes), (ElementType::I8, vec![255, 7]));
    }

    #[test]
    fn integers_become_floats_again() {
        let integers = Tensor { element: ElementType::I8, shape: vec![1, 2, 1], bytes: vec![255, 4] };
        let found = dequantized(&integers, &quantization(&[0.5, 0.25], &[1, 0], 1), ElementType::I8).unwrap();
        assert_eq!(found, floats(&[1, 2, 1], &[-1.0, 1.0]));
        assert!(dequantized(&integers, &quantization(&[0.5], &[1], 0), ElementType::U8).is_none());
    }

    #[test]
    fn channels_have_scales_of_their_own() {
        let found =
            quantized(&floats(&[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]), &quantization(&[1.0, 0.5], &[0, 1], 1), ElementType::I16).unwrap();
        assert_eq!(found.bytes, [1, 0, 2, 0, 7, 0, 9, 0]);
        assert!(quantized(&floats(&[2], &[1.0, 2.0]), &quantization(&[1.0, 0.5], &[0, 1], 1), ElementType::I8).is_none());
    }
}
