//! Sequences of a tensor, each with its own length.

use crate::ir::{Comparison, Extent, Scalar, Value};
use crate::operators::graph::movement::inverse;
use crate::operators::{Error, Graph};

/// Reverses the first elements of each sequence along `sequence`, up to its length. The rest stays. Sequences are numbered along
/// `batch`, another axis.
///
/// # Errors
/// [`Error::NoAxis`], and lengths that are no integers, or of another number than sequences.
pub fn reversed(g: &mut Graph<'_>, x: Value, lengths: Value, sequence: usize, batch: usize) -> Result<Value, Error> {
    let shape = g.extents(x);
    let (Some(&extent), Some(&count)) = (shape.get(sequence), shape.get(batch)) else { return Err(Error::NoAxis) };
    let order = reversed_order(g, lengths, count, extent)?;
    // Sequences stand in dimension 1 after their number, as `gather` wants them.
    let rest = (0..shape.len()).filter(|&d| d != batch && d != sequence);
    let permutation: Vec<usize> = [batch, sequence].into_iter().chain(rest).collect();
    let turned = g.transpose(x, &permutation)?;
    let picked = g.builder.gather(turned, order, 1, 1)?;
    g.transpose(picked, &inverse(&permutation))
}

/// The source position of each element of each sequence.
fn reversed_order(g: &mut Graph<'_>, lengths: Value, count: Extent, extent: Extent) -> Result<Value, Error> {
    let element = g.element(lengths);
    let column = g.reshape(lengths, &[count, Extent::Static(1)])?;
    let along = g.positions(&[Extent::Static(1), extent], 1, element)?;
    g.compute(&[column, along], |terms, x| {
        let (length, position) = (x[0], x[1]);
        let one = terms.constant(Scalar::int(element, 1));
        let last = terms.sub(length, one)?;
        let mirrored = terms.sub(last, position)?;
        let inside = terms.compare(Comparison::Less, position, length)?;
        Ok(terms.select(inside, mirrored, position)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ElementType::I32;
    use crate::operators::testing::{Floats, run_with};

    #[test]
    fn each_sequence_is_reversed_up_to_its_length() {
        let x = Floats::varied(&[2, 3]);
        let at = |i: usize| x.numbers[i];
        let lengths = Floats::new(&[2], vec![2.0, 3.0]);
        for open in [&[][..], &[[0, 0], [1, 0]], &[[0, 1]]] {
            let found = run_with(&[&x, &lengths], open, &|g, v| {
                let lengths = g.convert(v[1], I32)?;
                reversed(g, v[0], lengths, 1, 0)
            });
            assert_eq!(found.numbers, [at(1), at(0), at(2), at(5), at(4), at(3)]);
        }
        let lengths = Floats::new(&[3], vec![2.0, 0.0, 1.0]);
        let found = run_with(&[&x, &lengths], &[], &|g, v| {
            let lengths = g.convert(v[1], I32)?;
            reversed(g, v[0], lengths, 0, 1)
        });
        assert_eq!(found.numbers, [at(3), at(1), at(2), at(0), at(4), at(5)]);
    }
}
