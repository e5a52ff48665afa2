//! Encodings against another's decoder, and listings of hot loops. What the instructions compute is tested beside Cranelift's, by the
//! same cases.

mod encodings;
mod loops;

use crate::machine::{Machine, machine};

/// A level as this back end has it: x86-64-v4 with its whole registers.
pub(crate) fn wide_machine(level: &str) -> Machine {
    let machine = machine(level).expect("a level").clone();
    match level {
        "x86-64-v4" => Machine { vector_bits: 512, vector_registers: 32, ..machine },
        _ => machine,
    }
}
