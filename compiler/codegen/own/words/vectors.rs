//! Bytes in vector registers, for machines that multiply sixteen of them at a time. Only products, minima, maxima and stores use such values.

use super::held::Held;
use super::ops::Words;
use super::vector_ops::{ByteOp, Element, REGISTERS, VECTOR, VectorOps};
use crate::bug::{Form, Mistake};
use crate::own::lowering::Holding;
use crate::own::{Access, Lowering, Select};
use crate::{CodegenError, Operation};
use cranelift_entity::EntitySet;
use modelc_kernel::{BinaryOp, Buffer, DotOp, Inst, Kernel, Lane, Statement, Type, Value};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Use of a value.
#[derive(Clone, Copy)]
enum Use {
    /// A factor of sixteen products, with the other factor.
    Factor(Value),
    /// Bytes, beside this value or for it.
    Bytes(Value),
    /// Stored bytes.
    Stored,
    /// Any other use.
    Other,
}

/// Returns the parameters of regions, and all values, that become a result of an instruction with regions.
pub(super) fn passed(inst: &Inst, number: usize) -> (Vec<Value>, Vec<Value>) {
    match inst {
        Inst::For { carried, body, .. } => (vec![body.params[number + 1]], vec![carried[number], body.yields[number]]),
        Inst::Loop { carried, body } => (vec![body.params[number]], vec![carried[number], body.yields[number + 1]]),
        Inst::If { then, otherwise, .. } => (vec![], vec![then.yields[number], otherwise.yields[number]]),
        _ => (vec![], vec![]),
    }
}

/// Values that may be bytes in vector registers, and all uses of values.
#[derive(Default)]
struct Candidates {
    found: EntitySet<Value>,
    /// Constants, which are copied to vector registers where these are wanted.
    numbers: EntitySet<Value>,
    uses: FxHashMap<Value, Vec<Use>>,
}

impl Candidates {
    fn note(&mut self, value: Value, of: Use) {
        self.uses.entry(value).or_default().push(of);
    }

    /// Notes a result that is in vector registers only if all of these values are, or are constants.
    fn computed(&mut self, result: Value, of: &[Value]) {
        self.found.insert(result);
        for &value in of {
            self.note(value, Use::Bytes(result));
            self.note(result, Use::Bytes(value));
        }
    }

    fn statement(&mut self, kernel: &Kernel, Statement { results, inst }: &Statement) {
        let are_bytes = |value: Value| are_whole(kernel.ty(value)) && kernel.ty(value).lane == Lane::I8;
        for (number, &result) in results.iter().enumerate() {
            let (params, passed) = passed(inst, number);
            if passed.is_empty() {
                break;
            }
            match are_bytes(result) {
                true => {
                    self.found.extend(params.iter().copied());
                    self.computed(result, &[params, passed].concat());
                }
                false => passed.into_iter().for_each(|value| self.note(value, Use::Other)),
            }
        }
        match *inst {
            Inst::Constant { .. } => self.numbers.extend(results.iter().copied()),
            Inst::Binary { op, a, b } if byte_op(op).is_some() && results.iter().all(|&result| are_bytes(result)) => {
                results.iter().for_each(|&result| self.computed(result, &[a, b]));
            }
            ref inst => uses_of(kernel, inst, &mut |value, becomes| self.note(value, becomes)),
        }
        if let &[result] = &results[..]
            && is_load(inst, kernel.ty(result))
        {
            self.found.insert(result);
        }
    }
}

/// Returns the values that vector registers can hold as bytes: products of sixteen, minima, maxima and stores are their only uses. Both
/// operands are in vector registers, or none.
pub fn vectors(kernel: &Kernel) -> EntitySet<Value> {
    let mut candidates = Candidates::default();
    kernel.statements().for_each(|statement| candidates.statement(kernel, statement));
    let Candidates { found, numbers, uses } = candidates;
    let stays = |found: &EntitySet<Value>, value: Value| {
        uses.get(&value).is_some_and(|all| {
            all.iter().all(|becomes| match *becomes {
                Use::Factor(other) => found.contains(other),
                Use::Bytes(other) => found.contains(other) || numbers.contains(other),
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

/// Tests whether integers fill vector registers, and no more than there are.
fn are_whole(ty: Type) -> bool {
    ty.lane.is_integer() && bytes_of(ty).is_multiple_of(VECTOR) && bytes_of(ty) <= VECTOR * u32::from(REGISTERS)
}

/// Returns the operation on bytes for one of the kernel language.
fn byte_op(op: BinaryOp) -> Option<ByteOp> {
    Some(match op {
        BinaryOp::SignedMin => ByteOp::SignedMin,
        BinaryOp::SignedMax => ByteOp::SignedMax,
        BinaryOp::UnsignedMin => ByteOp::UnsignedMin,
        BinaryOp::UnsignedMax => ByteOp::UnsignedMax,
        _ => return None,
    })
}

/// Tests whether only the last vector register of a type has lanes after the active ones.
fn ends_in_last(ty: Type, active: u16) -> bool {
    active > 0 && u32::from(ty.lanes - active) * ty.lane.bytes() < VECTOR
}

/// Tests whether an instruction loads vectors of bytes. Integers that are only copied are as good as bytes.
fn is_load(inst: &Inst, ty: Type) -> bool {
    match *inst {
        Inst::Load { active, mask: None, .. } => are_whole(ty) && ends_in_last(ty, active),
        Inst::LoadSplatGroup { group, .. } => are_whole(ty) && group == ty.lanes,
        _ => false,
    }
}

/// Returns the element with which a vector register has the first ones of some bytes. The second value is the number of elements, if they do not fill
/// it. Bytes are counted in the same way at all addresses, so that a load and a store can share a count.
fn first_bytes(bytes: u32, aligned: bool) -> (Element, Option<u32>) {
    if bytes < VECTOR { (Element::Byte, Some(bytes)) } else { (Element::of_bytes(aligned), None) }
}

fn uses_of(kernel: &Kernel, inst: &Inst, note: &mut impl FnMut(Value, Use)) {
    match *inst {
        Inst::Dot { op: DotOp::SignedSixteens, accumulator, a, b } => {
            note(accumulator, Use::Other);
            note(a, Use::Factor(b));
            note(b, Use::Factor(a));
        }
        Inst::Store { index, value, active, mask: None, .. } if ends_in_last(kernel.ty(value), active) => {
            note(index, Use::Other);
            note(value, Use::Stored);
        }
        // Values that become results are noted with these.
        Inst::For { start, end, .. } => [start, end].into_iter().for_each(|value| note(value, Use::Other)),
        Inst::Loop { ref body, .. } => body.yields.iter().take(1).for_each(|&condition| note(condition, Use::Other)),
        ref inst => inst.operands().into_iter().for_each(|value| note(value, Use::Other)),
    }
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Loads the active lanes of a type to vector registers, as bytes. The others are zero.
    pub(super) fn load_vectors(&mut self, buffer: Buffer, at: (Value, i64), active: u16, ty: Type) -> Result<Held, CodegenError> {
        let key = (self.block, buffer, at, active, ty, Holding::Vectors);
        if let Some(known) = self.loads.get(&key) {
            return Ok(known.clone());
        }
        let bytes = bytes_of(ty);
        let address = self.address(buffer, at, Access::Memory { unit: VECTOR, bytes })?;
        let (aligned, active) = (self.is_aligned(buffer, at), bytes_of(Type { lanes: active, ..ty }));
        let vectors = (0..bytes).step_by(VECTOR as usize).map(|i| {
            let (element, first) = first_bytes(active - i, aligned);
            self.load_vector(address.plus(i as i32), element, first)
        });
        let loaded = Held::Vectors(vectors.collect::<Result<_, _>>()?);
        self.loads.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// Lowers a minimum or maximum of bytes in vector registers.
    pub(super) fn byte_value(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Held, CodegenError> {
        let Some(op) = byte_op(op) else {
            return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: self.ty(a) });
        };
        let [x, y] = [self.get(a)?, self.get(b)?];
        let (x, y) = (self.as_bytes(a, x)?, self.as_bytes(b, y)?);
        let both = x.into_iter().zip(y);
        Ok(Held::Vectors(both.map(|(x, y)| self.two_bytes(op, x, y)).collect::<Result<_, _>>()?))
    }

    /// Returns the vector registers of a value's held bytes. Registers of a constant are equal, and are copied.
    pub(super) fn as_bytes(&mut self, value: Value, held: Held) -> Result<Vec<VReg>, CodegenError> {
        match held {
            Held::Vectors(vectors) => Ok(vectors),
            Held::Words(_, words) if words.iter().all(|word| *word == words[0]) => {
                let vector = self.vector_of_byte(words[0])?;
                Ok(vec![vector; words.len() / VECTOR as usize])
            }
            _ => self.is_not(value, Form::Vector),
        }
    }

    /// Stores the first bytes of vector registers, of which only the last one may be stored in part.
    pub(super) fn store_vectors(&mut self, buffer: Buffer, at: (Value, i64), bytes: u32, vectors: &[VReg]) -> Result<(), CodegenError> {
        let address = self.address(buffer, at, Access::Memory { unit: VECTOR, bytes: VECTOR * vectors.len() as u32 })?;
        let aligned = self.is_aligned(buffer, at);
        (0..).step_by(VECTOR as usize).zip(vectors).try_for_each(|(i, &vector)| {
            let (element, first) = first_bytes(bytes - i, aligned);
            self.store_vector(address.plus(i as i32), element, first, vector)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::text::parse_kernel;

    #[test]
    fn loops_carry_greatest_bytes() {
        let body = |last: &str| {
            format!(
                "kernel @k(x: input i8[96] align 4, y: output i8[16] align 4) {{
          %1: i8x16 = for %2 in 0..6 step 1 carry %3 = -128 {{
            %4: i64 = mul %2, 16
            %5: i8x16 = load x[%4]
            %6: i8x16 = signed_max %3, %5
            yield %6
          }}
          {last}
        }}"
            )
        };
        let found = |last: &str| vectors(&parse_kernel(&body(last)).expect("a kernel")).iter().count();
        assert_eq!(found("store y[0], %1"), 4, "a result, a parameter, a load and a maximum");
        assert_eq!(found("%7: i8x16 = add %1, %1\n store y[0], %7"), 0, "vectors of bytes have no sums");
    }

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
