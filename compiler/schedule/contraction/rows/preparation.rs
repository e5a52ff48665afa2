//! The time at which operands of products are prepared: rows are staged, and panels are filled.

use crate::machine::Machine;

/// The time at which operands are prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preparation {
    /// In the round whose products read them. Rounds follow each other, and keep in scratch memory what the next one reads again.
    InRounds,
    /// Before the first product, all of them. Products are then independent. A copy of a ring for each round would stage a row once for each row of
    /// windows that reads it.
    Ahead,
}

impl Preparation {
    /// Returns the time that suits a machine.
    pub fn on(machine: &Machine) -> Self {
        if machine.shares_scratch() { Self::InRounds } else { Self::Ahead }
    }
}
