//! Nested loops whose rounds are the digits of a position's number.

use super::limits::WORKGROUP;
use super::tree::Item;
use crate::Value;

/// Nested loops, down to the code of one position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The loops: each one is the only item of the loop around it.
    pub item: Item,
    /// The digits of a position's number, outermost loop first.
    pub digits: Vec<Digit>,
    /// The digit whose loop ends at a run-time number. Its last rounds have the last workgroups.
    pub open: Option<usize>,
}

/// A loop as a digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    /// Number of rounds.
    pub rounds: u64,
    /// `true` if all lanes of a workgroup are in the same round.
    pub is_uniform: bool,
    /// The loop's counter.
    pub counter: Value,
}

impl Chain {
    /// Tests whether the uniform digits are the low part of a workgroup's number. Otherwise they are the high part, so that consecutive workgroups
    /// read the same places. If the open digit belongs to lanes, this would scatter its last rounds.
    pub fn is_uniform_low(&self) -> bool {
        self.open.is_some_and(|digit| !self.digits[digit].is_uniform) && self.uniform() > 1
    }

    /// Returns the numbers of the digits, fastest first.
    pub fn low_first(&self) -> Vec<usize> {
        let others = (0..self.digits.len()).rev().filter(|&digit| Some(digit) != self.open);
        others.chain(self.open).collect()
    }

    /// Returns the number of rounds of all uniform digits together.
    pub fn uniform(&self) -> u64 {
        self.product(true)
    }

    fn product(&self, is_uniform: bool) -> u64 {
        self.digits.iter().filter(|digit| digit.is_uniform == is_uniform).map(|digit| digit.rounds).product()
    }

    /// Returns the number of busy lanes in each round of the uniform digits.
    pub fn lanes(&self) -> u64 {
        self.product(false)
    }

    /// Returns the number of workgroups in each round of the uniform digits.
    pub fn groups_of_round(&self) -> u64 {
        self.lanes().div_ceil(WORKGROUP.into())
    }

    /// Returns the number of workgroups.
    pub fn groups(&self) -> u64 {
        self.uniform() * self.groups_of_round()
    }
}
