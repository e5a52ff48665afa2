//! The fast Hadamard transform.

use super::{Error, Graph};
use crate::ir::{Extent, Scalar, Value};

/// The last dimension of floats, a power of two long, times the Hadamard matrix of its size, over the root of the size. It takes sums and differences
/// of pairs ever further apart.
///
/// # Errors
/// [`Error::DynamicExtent`], and [`Error::NoBlocks`] of another size.
pub fn transform(g: &mut Graph<'_>, x: Value) -> Result<Value, Error> {
    let (shape, element) = (g.extents(x), g.element(x));
    let Some((&last, outer)) = shape.split_last() else { return Err(Error::NoMatrix { rank: 0 }) };
    let size = last.as_static().ok_or(Error::DynamicExtent)?;
    if !size.is_power_of_two() {
        return Err(Error::NoBlocks { what: "the size of a transform", extent: size, divisor: size.next_power_of_two() });
    }
    let rows = g.product(outer)?;
    let mut y = x;
    let mut step = 1;
    while step < size {
        let apart = [rows, Extent::Static(size / step / 2), Extent::Static(2), Extent::Static(step)];
        let pairs = g.reshape(y, &apart)?;
        let (first, second) = (
            g.slice_along(pairs, 2, Extent::Static(0), Extent::Static(1))?,
            g.slice_along(pairs, 2, Extent::Static(1), Extent::Static(1))?,
        );
        let sum = g.compute::<Error>(&[first, second], |terms, x| Ok(terms.add(x[0], x[1])?))?;
        let difference = g.compute::<Error>(&[first, second], |terms, x| Ok(terms.sub(x[0], x[1])?))?;
        y = g.concat(&[sum, difference], 2)?;
        step *= 2;
    }
    let y = g.reshape(y, &shape)?;
    g.compute(&[y], |terms, x| {
        let factor = terms.constant(Scalar::float(element, 1.0 / (size as f64).sqrt()));
        Ok(terms.mul(x[0], factor)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, run_with};

    #[test]
    fn four_numbers_become_their_signed_sums() {
        let x = Floats::new(&[1, 4], vec![1.0, 2.0, 3.0, 6.0]);
        for open in [&[][..], &[[0, 0]]] {
            assert_eq!(run_with(&[&x], open, &|g, v| transform(g, v[0])).numbers, [6.0, -2.0, -3.0, 1.0]);
        }
    }
}
