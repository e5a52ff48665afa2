//! Bytes in vector registers, for machines that multiply sixteen of them at a time. Only products and stores use such values.

use super::held::Held;
use super::ops::Words;
use super::vector_ops::{Element, VECTOR, VectorOps};
use crate::codegen::CodegenError;
use crate::codegen::own::lowering::Holding;
use crate::codegen::own::{Access, Lowering, Select};
use crate::kernel::{Buffer, DotOp, Inst, Kernel, Lane, Statement, Type, Value};
use cranelift_entity::EntitySet;
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Use of a value.
#[derive(Clone, Copy)]
enum Use {
    /// A factor of sixteen products, with the other factor.
    Factor(Value),
    /// A whole value that is stored.
    Stored,
    /// Any other use.
    Other,
}

/// Returns the loaded bytes that vector registers can hold: products of sixteen and stores of whole values are their only uses. Both factors of a
/// product are in vector registers, or none.
pub fn vectors(kernel: &Kernel) -> EntitySet<Value> {
    let mut uses: FxHashMap<Value, Vec<Use>> = FxHashMap::default();
    let mut found: EntitySet<Value> = EntitySet::new();
    for region in kernel.regions() {
        region.yields.iter().for_each(|&value| uses.entry(value).or_default().push(Use::Other));
        for Statement { results, inst } in &region.statements {
            uses_of(kernel, inst, &mut |value, becomes| uses.entry(value).or_default().push(becomes));
            if let &[result] = &results[..]
                && is_load(inst, kernel.ty(result))
            {
                found.insert(result);
            }
        }
    }
    let stays = |found: &EntitySet<Value>, value: Value| {
        uses.get(&value).is_some_and(|all| {
            all.iter().all(|becomes| match *becomes {
                Use::Factor(other) => found.contains(other),
                Use::Stored => true,
                Use::Other => false,
            })
        })
    };
    settled(found, stays)
}

/// Removes values from a set until the test holds for each of the others, given these.
pub(super) fn settled(mut found: EntitySet<Value>, stays: impl Fn(&EntitySet<Value>, Value) -> bool) -> EntitySet<Value> {
    loop {
        let lost: Vec<Value> = found.iter().filter(|&value| !stays(&found, value)).collect();
        if lost.is_empty() {
            return found;
        }
        lost.into_iter().for_each(|value| _ = found.remove(value));
    }
}

fn bytes_of(ty: Type) -> u32 {
    u32::from(ty.lanes) * ty.lane.bytes()
}

/// Tests whether an instruction loads whole vectors of bytes.
fn is_load(inst: &Inst, ty: Type) -> bool {
    let are_whole = ty.lane == Lane::I8 && bytes_of(ty).is_multiple_of(VECTOR);
    match *inst {
        Inst::Load { active, .. } => are_whole && active == ty.lanes,
        Inst::LoadSplatGroup { group, .. } => are_whole && group == ty.lanes,
        _ => false,
    }
}

fn uses_of(kernel: &Kernel, inst: &Inst, note: &mut impl FnMut(Value, Use)) {
    match *inst {
        Inst::Dot { op: DotOp::SignedSixteens, accumulator, a, b } => {
            note(accumulator, Use::Other);
            note(a, Use::Factor(b));
            note(b, Use::Factor(a));
        }
        Inst::Store { index, value, active, mask: None, .. } if active == kernel.ty(value).lanes => {
            note(index, Use::Other);
            note(value, Use::Stored);
        }
        ref inst => inst.operands().into_iter().for_each(|value| note(value, Use::Other)),
    }
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Loads bytes to vector registers.
    pub(super) fn load_vectors(&mut self, buffer: Buffer, at: (Value, i64), ty: Type) -> Result<Held, CodegenError> {
        let key = (self.block, buffer, at, ty.lanes, ty, Holding::Vectors);
        if let Some(known) = self.loads.get(&key) {
            return Ok(known.clone());
        }
        let bytes = bytes_of(ty);
        let address = self.address(buffer, at, Access::Memory { unit: VECTOR, bytes })?;
        let element = Element::of_bytes(self.is_aligned(buffer, at));
        let vectors = (0..bytes).step_by(VECTOR as usize).map(|i| self.load_vector(address.plus(i as i32), element));
        let loaded = Held::Vectors(vectors.collect::<Result<_, _>>()?);
        self.loads.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// Stores the bytes of vector registers.
    pub(super) fn store_vectors(&mut self, buffer: Buffer, at: (Value, i64), vectors: &[VReg]) -> Result<(), CodegenError> {
        let address = self.address(buffer, at, Access::Memory { unit: VECTOR, bytes: VECTOR * vectors.len() as u32 })?;
        let element = Element::of_bytes(self.is_aligned(buffer, at));
        (0..).zip(vectors).try_for_each(|(i, &vector)| self.store_vector(address.plus(i * VECTOR as i32), element, vector))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::text::parse_kernel;

    #[test]
    fn vectors_are_used_by_products_and_stores_alone() {
        let text = "kernel @k(x: input i8[96] align 4, y: output i32[4] align 4, z: output i8[64] align 4) {
          %1: i8x16 = load x[0]
          %2: i8x16 = load x[16]
          %3: i8x16 = load x[32]
          %4: i8x16 = load x[48]
          %5: i8x16 = load x[64]
          %6: i32 = load y[0]
          %7: i32 = dot_signed_sixteens %6, %1, %2
          %8: i32 = dot_signed_sixteens %7, %3, %4
          %9: i8x16 = add %4, %4
          store z[0], %5
          store z[16], %9
          store y[0], %8
        }";
        let kernel = parse_kernel(text).expect("a kernel");
        let found = vectors(&kernel);
        let loads = kernel.statements().filter(|s| matches!(s.inst, Inst::Load { .. })).map(|s| found.contains(s.results[0]));
        // The fourth one is also an addend, so the third one is multiplied without vectors, too.
        assert_eq!(loads.collect::<Vec<_>>(), [true, true, false, false, true, false]);
    }
}
