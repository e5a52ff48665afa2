//! A pass after lowering for a loaded vector that several instructions overwrite. Each of them would need a copy. They load it again instead, if the
//! memory is read-only in the kernel: two loads are one instruction.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::registers::VECTOR;
use crate::own::{Address, Base, count_uses};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A loaded vector that is only overwritten.
struct Vector {
    place: Address,
    /// Number of overwriting instructions that have no register for it yet.
    left: u32,
    /// `true` if the first register is already overwritten.
    gone: bool,
}

/// The overwritten vectors of a block.
#[derive(Default)]
struct Vectors {
    /// Vectors by their first registers.
    all: FxHashMap<VReg, Vector>,
    /// First registers by base and displacement of the memory.
    at: FxHashMap<(VReg, i32), VReg>,
    /// Reloaded registers by the first register, for the next instruction that overwrites it.
    ready: FxHashMap<VReg, VReg>,
}

impl Vectors {
    /// Loads a vector into a new register, if its first register is overwritten and others still need it.
    fn load(&mut self, register: VReg, new: impl FnOnce() -> VReg) -> Option<Inst> {
        let vector = self.all.get_mut(&register).filter(|vector| vector.gone && vector.left > 0)?;
        vector.left -= 1;
        let again = new();
        self.ready.insert(register, again);
        Some(Inst { op: Op::LoadInput, args: vec![Arg::Def(again), Arg::Memory(vector.place)] })
    }

    /// Returns the register that an instruction overwrites: a reloaded one if it is ready, else the first.
    fn overwrite(&mut self, register: VReg) -> VReg {
        if let Some(again) = self.ready.remove(&register) {
            return again;
        }
        if let Some(vector) = self.all.get_mut(&register) {
            vector.left -= 1;
            vector.gone = true;
        }
        register
    }

    /// Returns the vector that follows in memory, unless a reloaded register of it is ready.
    fn next(&self, register: VReg) -> Option<VReg> {
        let Address { base: Base::Register(base), displacement, .. } = self.all.get(&register)?.place else { return None };
        let next = *self.at.get(&(base, displacement + WIDTH as i32))?;
        (!self.ready.contains_key(&next)).then_some(next)
    }
}

/// Lets instructions reload a vector that each of them overwrites.
pub(super) fn load_again(function: &mut Function) {
    let uses = count_uses(function);
    for index in 0..function.blocks.len() {
        let insts = std::mem::take(&mut function.blocks[index].insts);
        let mut vectors = overwritten(&insts, &uses);
        let mut result = Vec::with_capacity(insts.len());
        for mut inst in insts {
            for arg in &mut inst.args {
                let Arg::Tied(register) = *arg else { continue };
                if !vectors.ready.contains_key(&register)
                    && let Some(load) = vectors.load(register, || function.register(VECTOR))
                {
                    result.push(load);
                    // Two neighbouring loads become one instruction.
                    let next = vectors.next(register);
                    result.extend(next.and_then(|next| vectors.load(next, || function.register(VECTOR))));
                }
                *arg = Arg::Tied(vectors.overwrite(register));
            }
            result.push(inst);
        }
        function.blocks[index].insts = result;
    }
}

/// Finds the loaded registers of a block that are only overwritten.
fn overwritten(insts: &[Inst], uses: &[u32]) -> Vectors {
    let mut vectors = Vectors::default();
    for inst in insts {
        if let (Op::LoadInput, [Arg::Def(register), Arg::Memory(address @ Address { base: Base::Register(base), index: None, .. })]) =
            (inst.op, &inst.args[..])
        {
            vectors.all.insert(*register, Vector { place: *address, left: 0, gone: false });
            vectors.at.insert((*base, address.displacement), *register);
        }
        for arg in &inst.args {
            if let Arg::Tied(register) = arg
                && let Some(vector) = vectors.all.get_mut(register)
            {
                vector.left += 1;
            }
        }
    }
    vectors.all.retain(|register, vector| uses.get(register.vreg()) == Some(&vector.left));
    vectors.at.retain(|_, register| vectors.all.contains_key(register));
    vectors
}
