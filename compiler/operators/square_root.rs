//! Roots of integers.

use super::terms::{Term, Terms, number, shifted_right};
use crate::ir::ElementType::{F64, I64, U64};
use crate::ir::{Comparison, Node, ScalarOp};

/// The nearest integer to the root of a 64-bit number, with two exceptions of the reference. For numbers of 32 bits whose root rounds to 65536, it
/// gives 65535, since it computes in 16 bits. The largest result is 2³² − 1. The root in binary64 is less than one off, and the remainder corrects it
/// exactly.
///
/// # Errors
/// A mistake of type: x is no unsigned integer of 64 bits.
pub fn nearest_root(terms: &mut Terms, x: Node) -> Term {
    let [one, most] = [1, 0xffff_ffff].map(|n| number(terms, U64, n));
    let (high, low) = (shifted_right(terms, x, 32)?, terms.op(ScalarOp::And, &[x, most])?);
    // Both halves are numbers with a sign, which all machines convert.
    let [high, low] = [high, low].map(|half| {
        let half = terms.convert(half, I64);
        terms.convert(half, F64)
    });
    let unit = terms.f64(4_294_967_296.0);
    let high = terms.mul(high, unit)?;
    let float = terms.add(high, low)?;
    let root = terms.op(ScalarOp::Sqrt, &[float])?;
    let root = terms.convert(root, I64);
    let root = terms.convert(root, U64);
    let root = terms.min(root, most)?;
    let square = terms.mul(root, root)?;
    let above = terms.compare(Comparison::Greater, square, x)?;
    let less = terms.sub(root, one)?;
    let root = terms.select(above, less, root)?;
    let rest = remainder(terms, x, root)?;
    let twice = terms.add(root, root)?;
    let below = terms.compare(Comparison::Greater, rest, twice)?;
    let more = terms.add(root, one)?;
    let root = terms.select(below, more, root)?;
    let rest = remainder(terms, x, root)?;
    let (short, limit) = (number(terms, U64, 0xffff), number(terms, U64, 1 << 32));
    let is_short = terms.compare(Comparison::Less, x, limit)?;
    let largest = terms.select(is_short, short, most)?;
    let up = terms.compare(Comparison::Greater, rest, root)?;
    let next = terms.add(root, one)?;
    let next = terms.min(next, largest)?;
    terms.select(up, next, root)
}

/// x − root².
fn remainder(terms: &mut Terms, x: Node, root: Node) -> Term {
    let square = terms.mul(root, root)?;
    terms.sub(x, square)
}

#[cfg(test)]
mod tests {
    use super::nearest_root;
    use crate::ir::interpret::Interpreter;
    use crate::ir::{ElementType::U64, Module};
    use crate::operators::Graph;
    use crate::operators::terms::Terms;

    #[test]
    fn roots_are_the_nearest_integers() {
        let squares = [0u64, 1, 2, 3, 6, 7, 12, 13, 65535 * 65535, 65535 * 65535 + 65535, 65535 * 65535 + 65536, 1 << 32, u64::MAX];
        let expected = [0u64, 1, 1, 2, 2, 3, 3, 4, 65535, 65535, 65535, 65536, 0xffff_ffff];
        let mut module = Module::default();
        let mut g = Graph::new(&mut module, "f");
        let input = g.constant(U64, &[13], squares.iter().flat_map(|n| n.to_le_bytes()).collect()).unwrap();
        let mut terms = Terms::new(&[U64]);
        let x = terms.input(0);
        let root = nearest_root(&mut terms, x).unwrap();
        let roots = g.map(&[input], terms.finish(root)).unwrap();
        let function = g.finish(vec![roots]);
        let found = Interpreter::new(&module).run_function(function, &[], None).unwrap();
        let found: Vec<u64> = found[0].bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(found, expected);
    }
}
