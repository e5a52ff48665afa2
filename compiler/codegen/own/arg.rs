//! Operands of instructions over virtual registers.

use super::address::{Address, Base};
use super::error::Missing;
use regalloc2::{Operand, OperandConstraint, OperandKind, OperandPos, PReg, VReg};

/// An operand. `N` is the type of numbers. Operands are in the order of the machine's manual; each set has those that its instructions need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg<N> {
    /// A written register.
    Def(VReg),
    /// A register that is written before other operands are read.
    EarlyDef(VReg),
    /// A read register.
    Use(VReg),
    /// A register that is read after results are written.
    LateUse(VReg),
    /// The register whose old contents the definition before it overwrites; it has no field.
    Tied(VReg),
    /// A written register that must be a certain physical register.
    FixedDef(VReg, PReg),
    /// A certain physical register that is overwritten before other operands are read; it has no field.
    FixedTemp(VReg, PReg),
    /// A read register that must be a certain physical register.
    FixedUse(VReg, PReg),
    /// The mask register of the instruction.
    Masked(VReg),
    /// An operand in memory.
    Memory(Address),
    /// A number.
    Number(N),
}

impl<N> Arg<N> {
    /// Tests whether it is a written register.
    fn is_written(&self) -> bool {
        matches!(self, Self::Def(_) | Self::EarlyDef(_) | Self::FixedDef(..) | Self::FixedTemp(..))
    }
}

/// Adds the registers of operands in their order. A memory operand has base and index.
pub fn registers_of<N>(args: &[Arg<N>], list: &mut Vec<Operand>) {
    let start = list.len();
    let tied = args.iter().position(|arg| matches!(arg, Arg::Tied(_)));
    for (i, arg) in args.iter().enumerate() {
        match *arg {
            // The tied operand follows the definition.
            Arg::Def(v) if tied == Some(i + 1) => list.push(Operand::reg_reuse_def(v, list.len() + 1 - start)),
            Arg::Def(v) => list.push(Operand::reg_def(v)),
            Arg::EarlyDef(v) => list.push(Operand::new(v, OperandConstraint::Reg, OperandKind::Def, OperandPos::Early)),
            Arg::LateUse(v) => list.push(Operand::new(v, OperandConstraint::Reg, OperandKind::Use, OperandPos::Late)),
            Arg::Use(v) | Arg::Tied(v) | Arg::Masked(v) => list.push(Operand::reg_use(v)),
            Arg::FixedDef(v, p) => list.push(Operand::reg_fixed_def(v, p)),
            Arg::FixedTemp(v, p) => list.push(Operand::new(v, OperandConstraint::FixedReg(p), OperandKind::Def, OperandPos::Early)),
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

/// Tests whether operands include the kernel's arrays on the stack.
pub fn has_locals<N>(args: &[Arg<N>]) -> bool {
    args.iter().any(|arg| matches!(arg, Arg::Memory(address) if address.base == Base::Locals))
}

/// Returns the memory operand, and the numbers of the physical registers from its own on. `at` has the registers of all operands. Those of written
/// registers come first.
///
/// # Errors
/// [`Missing::Memory`] if there is none.
pub fn memory_of<'a, N>(args: &'a [Arg<N>], at: &'a [PReg]) -> Result<(&'a Address, impl Iterator<Item = u8> + use<'a, N>), Missing> {
    let address = args.iter().find_map(|arg| if let Arg::Memory(address) = arg { Some(address) } else { None });
    let written = args.iter().filter(|arg| arg.is_written()).count();
    Ok((address.ok_or(Missing::Memory)?, at.iter().skip(written).map(|register| register.hw_enc() as u8)))
}
