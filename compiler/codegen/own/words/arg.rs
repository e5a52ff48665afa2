//! Operands of instructions over virtual registers, for sets of words.

use crate::own::{Address, Base};
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, VReg};

/// An operand, in the order in which the manual writes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A register written.
    Def(VReg),
    /// A register written while others are still to be read.
    EarlyDef(VReg),
    /// A register read.
    Use(VReg),
    /// A register read after results are written.
    LateUse(VReg),
    /// Contents of the register written before that; not written out.
    Tied(VReg),
    /// A register written that must be this one.
    FixedDef(VReg, PReg),
    /// A register read that must be this one.
    FixedUse(VReg, PReg),
    /// Memory.
    Memory(Address),
    /// A number.
    Number(i32),
}

/// Adds the registers of operands in their order; of memory, base and index.
pub fn registers_of(args: &[Arg], list: &mut Vec<Operand>) {
    let start = list.len();
    let tied = args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
    for (i, arg) in args.iter().enumerate() {
        match *arg {
            // The tied operand stands right after the definition.
            Arg::Def(v) if tied == Some(i + 1) => list.push(Operand::reg_reuse_def(v, list.len() + 1 - start)),
            Arg::Def(v) => list.push(Operand::reg_def(v)),
            Arg::EarlyDef(v) => list.push(Operand::new(v, OperandConstraint::Reg, OperandKind::Def, OperandPos::Early)),
            Arg::LateUse(v) => list.push(Operand::new(v, OperandConstraint::Reg, OperandKind::Use, OperandPos::Late)),
            Arg::Use(v) | Arg::Tied(v) => list.push(Operand::reg_use(v)),
            Arg::FixedDef(v, p) => list.push(Operand::reg_fixed_def(v, p)),
            Arg::FixedUse(v, p) => list.push(Operand::reg_fixed_use(v, p)),
            Arg::Memory(address) => {
                if let Base::Register(v) = address.base {
                    list.push(Operand::reg_use(v));
                }
                list.extend(address.index.map(|(v, _)| Operand::reg_use(v)));
            }
            Arg::Number(_) => {}
        }
    }
}
