//! Sums of multiples of registers, and which of them have been computed.

use super::function::Block;
use crate::kernel::Buffer;
use regalloc2::VReg;
use std::collections::HashMap;

/// Registers with factors, in the order of the registers, none twice and no factor 0.
pub type Terms = Vec<(VReg, i64)>;

/// A sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Linear {
    /// What is not constant.
    pub terms: Terms,
    /// What is.
    pub constant: i64,
}

/// Sums of more registers are computed.
const MOST_TERMS: usize = 6;

impl Linear {
    /// This and another one times a number, if it is a sum of few registers and small numbers.
    pub fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for &(register, multiple) in &other.terms {
            let multiple = multiple.checked_mul(factor)?;
            match sum.terms.binary_search_by_key(&register.vreg(), |term| term.0.vreg()) {
                Ok(i) => sum.terms[i].1 = sum.terms[i].1.checked_add(multiple)?,
                Err(i) => sum.terms.insert(i, (register, multiple)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }

    /// This times a number.
    pub fn times(&self, factor: i64) -> Option<Self> {
        Self::default().plus(self, factor)
    }
}

/// What has been computed in a region and may be used again in it and in regions inside it.
#[derive(Default)]
pub struct Scope {
    /// The block in which what is wanted inside a nested region can be computed.
    pub outlet: Option<Block>,
    /// Whether it is a loop that hands values to its next round.
    pub carries: bool,
    /// Registers times a number.
    pub products: HashMap<(VReg, i64), VReg>,
    /// Sums in registers.
    pub sums: HashMap<Linear, VReg>,
    /// Addresses in registers: of a buffer, some terms further on.
    pub addresses: HashMap<(Buffer, Terms), VReg>,
}

impl Scope {
    /// A region of which nothing is computed yet.
    pub fn new(carries: bool) -> Self {
        Self { carries, ..Self::default() }
    }
}
