//! Addresses of tensors and variables while a method runs.

use super::context::Context;
use super::language::{Builder, Value};
use crate::program::{Address, Method};

/// Bases of the program's addresses, as values of the driver function.
pub struct Addresses<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) method: &'a Method,
    pub(super) state: Value,
    pub(super) scratch: Value,
    /// Base of each memory area beside the arena.
    pub(super) areas: Vec<Value>,
    /// Moving places in the scratch memory: the address in this call, and the largest offset.
    pub(super) moving: Vec<(Value, u64)>,
    /// Address of a separate file of weights.
    pub(super) weights: Option<Value>,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
}

impl Addresses<'_> {
    /// Computes an address of the program.
    pub fn address(&self, e: &mut Builder, address: Address) -> Value {
        match address {
            Address::Scratch(offset) => e.at(self.scratch, offset),
            Address::Area(number, offset) => e.at(self.areas[number as usize], offset),
            Address::Moving(place, offset) => {
                let (at, bound) = self.moving[place as usize];
                e.at(at, offset - bound)
            }
            Address::Variable(offset) => e.at(self.state, self.context.interface.state.variables.offset + offset),
            Address::Resident(_) => unreachable!("the check of programs lets no step of the host have what is on the device"),
            Address::Input(port, offset) => e.at(self.inputs[port as usize], offset),
            Address::Output(port, offset) => e.at(self.outputs[port as usize], offset),
            Address::Constant(constant, offset) => e.constant(self.weights, self.context.constants.offsets[constant as usize] + offset),
        }
    }
}
