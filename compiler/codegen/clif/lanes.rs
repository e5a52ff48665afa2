//! Partial loads and stores on riscv64's V, through a register's space on the stack. An access is only as aligned as its lanes, so no wider access is
//! allowed. Vectors shorter than a register have their own types in Cranelift, which it cannot convert to and from full registers.

use super::held::{Held, REGISTER_BITS, register_lanes, vector_of};
use super::lower::Lowering;
use super::scope::Address;
use cranelift_codegen::ir::{self, InstBuilder, types};

/// Bytes of a register.
const REGISTER: u32 = REGISTER_BITS / 8;

/// Lists the powers of two that add up to a number, the largest first, each with the sum of the earlier ones.
fn pieces(number: u16) -> impl Iterator<Item = (u16, u16)> {
    let bits = (0..16).rev().map(|bit| 1 << bit);
    bits.filter(move |bit| number & bit != 0).map(move |bit| (number & !(2 * bit - 1), bit))
}

/// Returns the type of a short vector; for one lane, the scalar type.
fn short(lane: ir::Type, lanes: u16) -> ir::Type {
    lane.by(u32::from(lanes)).unwrap_or(lane)
}

impl Lowering<'_> {
    /// Loads the first `active` of `lanes` lanes; the others are zero.
    pub fn load_lanes(&mut self, address: Address, lane: ir::Type, active: u16, lanes: u16) -> Vec<ir::Value> {
        let per_part = register_lanes(lane);
        let starts = (0..lanes).step_by(usize::from(per_part));
        starts
            .map(|first| {
                let at = u32::from(first) * lane.bytes();
                match active.saturating_sub(first) {
                    0 => self.number(lane, false, 0),
                    some if some >= per_part => self.load_at(vector_of(lane), address, at),
                    some => self.load_some(address, at, lane, some, per_part.min(lanes)),
                }
            })
            .collect()
    }

    /// Loads some lanes of a part, with zeros in the other lanes that count.
    fn load_some(&mut self, address: Address, at: u32, lane: ir::Type, some: u16, count: u16) -> ir::Value {
        let spare = self.spare();
        if some < count {
            let zero = self.number(lane, false, 0);
            self.store_at(zero, spare, 0);
        }
        for (first, lanes) in pieces(some) {
            let offset = u32::from(first) * lane.bytes();
            let piece = self.load_at(short(lane, lanes), address, at + offset);
            self.store_at(piece, spare, offset);
        }
        self.load_at(vector_of(lane), spare, 0)
    }

    /// Stores the first `active` lanes.
    pub fn store_lanes(&mut self, value: &Held, address: Address, active: u16) {
        let per_part = register_lanes(value.lane);
        for (&part, first) in value.parts.iter().zip((0..active).step_by(usize::from(per_part))) {
            let at = u32::from(first) * value.lane.bytes();
            if active - first >= per_part {
                self.store_at(part, address, at);
                continue;
            }
            let spare = self.spare();
            self.store_at(part, spare, 0);
            for (done, lanes) in pieces(active - first) {
                let offset = u32::from(done) * value.lane.bytes();
                let piece = self.load_at(short(value.lane, lanes), spare, offset);
                self.store_at(piece, address, at + offset);
            }
        }
    }

    /// Moves the first `lanes` lanes of a register to scalars.
    pub fn spill_lanes(&mut self, part: ir::Value, lane: ir::Type, lanes: u16) -> Vec<ir::Value> {
        let spare = self.spare();
        self.store_at(part, spare, 0);
        (0..u32::from(lanes)).map(|i| self.load_at(lane, spare, i * lane.bytes())).collect()
    }

    /// Combines scalars to the lanes of a register.
    pub fn collect_lanes(&mut self, lane: ir::Type, scalars: &[ir::Value]) -> ir::Value {
        let spare = self.spare();
        for (&scalar, i) in scalars.iter().zip(0..) {
            self.store_at(scalar, spare, i * lane.bytes());
        }
        self.load_at(vector_of(lane), spare, 0)
    }

    /// Loads an integer of 8 or 16 bits, sign-extended to 32 bits.
    fn load_signed(&mut self, lane: ir::Type, address: Address, further: u32) -> ir::Value {
        let flags = address.flags(further, lane.bytes());
        let at = address.displacement + further as i32;
        let ins = self.builder.ins();
        if lane == types::I8 { ins.sload8(types::I32, flags, address.base, at) } else { ins.sload16(types::I32, flags, address.base, at) }
    }

    /// Loads a group of up to half a register, element by element, and repeats it over the lanes.
    pub fn load_group(&mut self, lane: ir::Type, group: u16, address: Address) -> ir::Value {
        let (ty, places) = (vector_of(lane), (0..u32::from(group)).map(|i| i * lane.bytes()));
        if !lane.is_float() && u32::from(group) * lane.bits() == 32 && group > 1 {
            let numbers = places.map(|at| self.load_signed(lane, address, at)).collect();
            return self.splat_fields(ty, lane.bits(), numbers);
        }
        let scalars: Vec<_> = places.map(|at| self.load_at(lane, address, at)).collect();
        if group == 1 {
            return self.builder.ins().splat(ty, scalars[0]);
        }
        let repeated: Vec<_> = scalars.into_iter().cycle().take((REGISTER / lane.bytes()) as usize).collect();
        self.collect_lanes(lane, &repeated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other() {
        assert_eq!(pieces(13).collect::<Vec<_>>(), [(0, 8), (8, 4), (12, 1)]);
        assert_eq!(pieces(0).count(), 0);
        assert_eq!(short(types::I16, 4), types::I16X4);
        assert_eq!(short(types::F32, 1), types::F32);
    }
}
