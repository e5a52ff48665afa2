//! The operators: one file a family. Each file has a list of names with the functions that translate a call.

mod attention;
mod backward;
mod binary;
mod call;
mod close;
mod compare;
mod complex;
pub mod convolution;
mod cortex_m;
mod create;
mod displace;
mod distance;
mod embedding;
mod experts;
mod fourier;
mod gated;
mod index;
mod masked;
mod matrix;
mod mixed;
mod movement;
mod normalize;
mod number;
mod order;
mod place;
pub mod pool;
mod quantized;
mod random;
mod reduce;
mod resample;
mod scan;
mod select;
mod shape;
mod tensors;
mod unary;
mod whole;

pub use call::{Call, Translate};

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A family: operator names with overload, and their translations.
type Family = &'static [(&'static str, Translate)];

const FAMILIES: &[Family] = &[
    attention::OPERATORS,
    backward::OPERATORS,
    binary::OPERATORS,
    close::OPERATORS,
    compare::OPERATORS,
    complex::OPERATORS,
    convolution::OPERATORS,
    cortex_m::OPERATORS,
    create::OPERATORS,
    displace::OPERATORS,
    distance::OPERATORS,
    embedding::OPERATORS,
    experts::OPERATORS,
    fourier::OPERATORS,
    gated::OPERATORS,
    index::OPERATORS,
    masked::OPERATORS,
    matrix::OPERATORS,
    mixed::OPERATORS,
    movement::OPERATORS,
    normalize::OPERATORS,
    number::OPERATORS,
    order::OPERATORS,
    place::OPERATORS,
    pool::OPERATORS,
    quantized::OPERATORS,
    random::OPERATORS,
    reduce::OPERATORS,
    resample::OPERATORS,
    scan::OPERATORS,
    select::OPERATORS,
    shape::OPERATORS,
    unary::OPERATORS,
];

static TABLE: LazyLock<BTreeMap<&'static str, Translate>> = LazyLock::new(|| FAMILIES.iter().flat_map(|f| f.iter().copied()).collect());

/// The translation of an operator such as `aten::add.out`.
pub fn find(name: &str) -> Option<Translate> {
    TABLE.get(name).copied()
}

/// The names of all operators that are supported, in order.
pub fn operators() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_stands_in_two_families() {
        assert_eq!(TABLE.len(), FAMILIES.iter().map(|f| f.len()).sum::<usize>());
    }
}
