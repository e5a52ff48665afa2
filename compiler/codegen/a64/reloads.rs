//! What a lowering of one instruction at a time leaves: a vector that several instructions overwrite, each of which would have a copy. They load it again,
//! where nothing writes it while the kernel runs, for two loads are one instruction.

use super::held::WIDTH;
use super::inst::{Arg, Function, Inst, Op};
use super::registers::VECTOR;
use crate::codegen::own::{Address, Base, count_uses};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// A vector that is loaded and only overwritten.
struct Vector {
    place: Address,
    /// Instructions that overwrite it and have no register with it yet.
    left: u32,
    /// Whether the register that was loaded first is overwritten already.
    gone: bool,
}

/// Vectors that are overwritten in a block.
#[derive(Default)]
struct Vectors {
    /// By their registers.
    all: FxHashMap<VReg, Vector>,
    /// By where they come from.
    at: FxHashMap<(VReg, i32), VReg>,
    /// Registers that hold one already, for the next instruction that overwrites it.
    ready: FxHashMap<VReg, VReg>,
}

impl Vectors {
    /// Loads a vector into a register, if that which had it is overwritten.
    fn load(&mut self, register: VReg, new: impl FnOnce() -> VReg) -> Option<Inst> {
        let vector = self.all.get_mut(&register).filter(|vector| vector.gone && vector.left > 0)?;
        vector.left -= 1;
        let again = new();
        self.ready.insert(register, again);
        Some(Inst { op: Op::LoadInput, args: vec![Arg::Def(again), Arg::Memory(vector.place)] })
    }

    /// Overwrites a register, or the one that was loaded in its place.
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

    /// The vector after one in memory, if none is ready.
    fn next(&self, register: VReg) -> Option<VReg> {
        let Address { base: Base::Register(base), displacement, .. } = self.all.get(&register)?.place else { return None };
        let next = *self.at.get(&(base, displacement + WIDTH as i32))?;
        (!self.ready.contains_key(&next)).then_some(next)
    }
}

/// Has instructions load what they overwrite and others overwrite after them.
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
                    // Two loads are one instruction.
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

/// Registers that are loaded and only overwritten in a block.
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
