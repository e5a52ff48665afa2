//! Common parts of the driver's functions: checks of pointers and of the state, and addresses of constants.

use super::context::{Context, Numbers};
use super::language::{BinaryOp, Builder, CompareOp, Value, Width};
use crate::weights::HEADER_BYTES;
use modelc_interface::{E_ALIGN, E_NULL, E_STATE, Record};

impl Builder {
    /// Returns `MODELC_E_NULL` if the pointer is NULL.
    pub fn leave_if_null(&mut self, pointer: Value) {
        let null = self.compare(CompareOp::Equal, pointer, 0);
        self.leave_if(null, E_NULL);
    }

    /// Returns `MODELC_E_ALIGN` if the pointer is not a multiple of `alignment`.
    pub fn leave_if_misaligned(&mut self, pointer: Value, alignment: u64) {
        let low = self.binary(BinaryOp::And, pointer, alignment - 1);
        self.leave_if(low, E_ALIGN);
    }

    /// Checks a state: NULL, alignment, magic and model hash.
    pub(crate) fn check_state(&mut self, context: &Context<'_>, state: Value) {
        self.leave_if_null(state);
        self.leave_if_misaligned(state, context.program.alignment.bytes());
        for (field, bits) in [(Record::Magic, Record::INITIALISED), (Record::Hash, context.model_hash)] {
            let wrong = self.differs(state, field.offset(), bits);
            self.leave_if(wrong, E_STATE);
        }
    }

    /// Stores 64 bits: one word, or two on machines of 32 bits.
    pub fn store_long(&mut self, bits: u64, base: Value, offset: i32) {
        if self.layout.pointer == 8 {
            self.store(Width::Word, bits, base, offset);
        } else {
            self.store(Width::Single, u64::from(bits as u32), base, offset);
            self.store(Width::Single, bits >> 32, base, offset + 4);
        }
    }

    /// Computes the address of a byte of the constants, in the object's data or in a file of weights at a given address.
    pub fn constant(&mut self, weights: Option<Value>, offset: u64) -> Value {
        match weights {
            Some(weights) => self.at(weights, HEADER_BYTES + offset),
            None => self.data(Numbers::WEIGHTS, offset),
        }
    }
}
