//! Fourier transforms, by halves in binary64.

use super::array::Array;
use super::column::Column;
use super::error::{Step, fail};

type Complex = (f64, f64);

/// Σ x[j] e^(−2πi jk/n) for n a power of two: the transforms of the even and odd numbers, put together.
fn transform(numbers: &[Complex]) -> Vec<Complex> {
    let half = numbers.len() / 2;
    if half == 0 {
        return numbers.to_vec();
    }
    let every_other = |first: usize| transform(&numbers.iter().skip(first).step_by(2).copied().collect::<Vec<_>>());
    let (even, odd) = (every_other(0), every_other(1));
    let mut result = vec![(0.0, 0.0); numbers.len()];
    for k in 0..half {
        let angle = -std::f64::consts::PI * k as f64 / half as f64;
        let (cosine, sine) = (libm::cos(angle), libm::sin(angle));
        let turned = (odd[k].0 * cosine - odd[k].1 * sine, odd[k].0 * sine + odd[k].1 * cosine);
        result[k] = (even[k].0 + turned.0, even[k].1 + turned.1);
        result[k + half] = (even[k].0 - turned.0, even[k].1 - turned.1);
    }
    result
}

/// `fft`, or `rfft` for real numbers.
pub(crate) fn fourier<'m>(source: &Array<'m>, real: bool) -> Step<Array<'m>> {
    let mut shape = source.shape.clone();
    let numbers: Vec<f64> = match Column::decode(source.element, &source.bytes, 0..source.len()) {
        Column::F32(numbers) => numbers.into_iter().map(f64::from).collect(),
        Column::F64(numbers) => numbers,
        _ => return fail("only floats are transformed"),
    };
    let numbers: Vec<Complex> = if real {
        numbers.into_iter().map(|x| (x, 0.0)).collect()
    } else {
        numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    };
    if !real {
        shape.pop();
    }
    let length = shape.last().copied().unwrap_or(1).max(1);
    let kept = if real { length / 2 + 1 } else { length };
    if let Some(last) = shape.last_mut() {
        *last = kept;
    }
    shape.push(2);
    let rows = numbers.chunks_exact(length).map(transform);
    let parts: Vec<f64> = rows.flat_map(|row| row.into_iter().take(kept).flat_map(|(re, im)| [re, im])).collect();
    let count = parts.len();
    let column = if source.element == crate::ElementType::F64 {
        Column::F64(parts)
    } else {
        Column::F32(parts.into_iter().map(|x| x as f32).collect())
    };
    let mut bytes = Vec::new();
    column.store(source.element, count, &mut bytes);
    Ok(Array::new(source.element, shape, bytes))
}
