//! Addresses of tensors and variables while a method runs.

use super::context::Context;
use super::language::{Builder, Value};
use modelc_program::{Address, Method};

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

/// Constants with their addresses: those of a call and of the call before it, so that no address is kept for long.
#[derive(Default)]
pub struct NearConstants {
    last: Vec<(u64, Value)>,
    these: Vec<(u64, Value)>,
}

/// Largest distance between constants of which one's address is the other's plus a number. Every instruction set adds so much in one instruction,
/// or in no more code than an address takes.
const NEAR: u64 = 2047;

impl NearConstants {
    /// Begins a call.
    pub fn next(&mut self) {
        self.last = std::mem::take(&mut self.these);
    }
}

impl Addresses<'_> {
    /// Computes an address of the program. On machines of 32 bits, a constant's address comes from one that is near, if there is one.
    pub fn near(&self, e: &mut Builder, address: Address, known: &mut NearConstants) -> Value {
        let (Address::Constant(constant, offset), None, 4) = (address, self.weights, e.layout.pointer) else {
            return self.address(e, address);
        };
        let at = self.context.constants.offsets[constant as usize] + offset;
        let is_near = |(other, _): &&(u64, Value)| *other <= at && at - other <= NEAR;
        let near = known.these.iter().chain(&known.last).filter(is_near).max_by_key(|(other, _)| *other);
        let value = match near {
            Some(&(other, value)) => e.at(value, at - other),
            None => self.address(e, address),
        };
        known.these.push((at, value));
        value
    }

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
