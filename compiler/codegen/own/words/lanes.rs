//! Lanes of 32 bits in vector registers, four in each: requantization, and other work on several sums at a time.

use super::arithmetic::is_shift;
use super::held::Held;
use super::ops::{Ops, Words};
use super::permute::repeated;
use super::vector_ops::{Element, LaneOp, LaneShift, LaneTest, REGISTERS, VECTOR, VectorOps, WithWord};
use super::vectors::{passed, settled};
use crate::bug::{Form, Mistake, Route};
use crate::own::lowering::Holding;
use crate::own::{Access, Address, Lowering, Select};
use crate::{CodegenError, Operation};
use cranelift_entity::EntitySet;
use modelc_kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, Inst, Kernel, Lane, Statement, Type, Value};
use regalloc2::VReg;
use rustc_hash::FxHashMap;

/// Lanes of a vector register.
const LANES: u16 = 4;

/// Use of a value.
#[derive(Clone, Copy)]
enum Use {
    /// Lanes, by an instruction with this result.
    Lanes(Value),
    /// Lanes whose upper bits count, by an instruction with this result.
    Extended(Value),
    /// Stored lanes.
    Stored,
    /// Any other use.
    Other,
}

/// Returns the operation on lanes for one of the kernel language. Shifts are apart.
fn lane_op(op: BinaryOp) -> Option<LaneOp> {
    Some(match op {
        BinaryOp::Add | BinaryOp::SignedAddInRange => LaneOp::Add,
        BinaryOp::Sub => LaneOp::Sub,
        BinaryOp::Mul => LaneOp::Mul,
        BinaryOp::SignedMin => LaneOp::Min,
        BinaryOp::SignedMax => LaneOp::Max,
        BinaryOp::And => LaneOp::And,
        BinaryOp::Or => LaneOp::Or,
        BinaryOp::Xor => LaneOp::Xor,
        _ => return None,
    })
}

fn shifts(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned)
}

/// Tests whether instructions compare lanes so.
fn compares(op: CompareOp) -> bool {
    !matches!(op, CompareOp::UnsignedLess | CompareOp::UnsignedLessEqual)
}

/// Tests whether vector registers can hold a type.
fn fits(ty: Type) -> bool {
    ty.lanes.is_multiple_of(LANES) && ty.lanes <= LANES * REGISTERS && matches!(ty.lane, Lane::I8 | Lane::I16 | Lane::I32)
}

/// Tests whether vector registers can hold a type of which so many lanes are in memory: at least one of the last register.
fn fits_active(ty: Type, active: u16) -> bool {
    fits(ty) && active > ty.lanes - LANES
}

/// Tests whether comparisons of vector registers give a mask.
fn fits_mask(ty: Type) -> bool {
    ty.lanes.is_multiple_of(LANES) && ty.lane == Lane::Mask
}

/// Returns the element with which a type's lanes are in a buffer. `None` if instructions need another alignment.
fn element_in(kernel: &Kernel, buffer: Buffer, lane: Lane) -> Option<Element> {
    match lane {
        Lane::I8 => Some(Element::ByteOfLane),
        Lane::I16 if kernel.buffer(buffer).alignment.is_multiple_of(2) => Some(Element::HalfOfLane),
        Lane::I32 => Some(Element::Byte),
        _ => None,
    }
}

/// Returns the operands that an instruction takes as lanes in vector registers, with their uses. `None` if its result cannot be in these.
fn operands(kernel: &Kernel, inst: &Inst, result: Value) -> Option<Vec<(Value, Use)>> {
    let ty = kernel.ty(result);
    let (of_words, both) = (ty.lane == Lane::I32, |a, b| Some(vec![(a, Use::Lanes(result)), (b, Use::Lanes(result))]));
    match *inst {
        Inst::Load { buffer, active, mask: None, .. } if fits_active(ty, active) => element_in(kernel, buffer, ty.lane).map(|_| vec![]),
        Inst::LoadSplat { .. } | Inst::Splat { .. } if of_words => Some(vec![]),
        Inst::Join { a, b } if fits(kernel.ty(a)) && fits(kernel.ty(b)) => both(a, b),
        Inst::Join { .. } if of_words => Some(vec![]),
        Inst::Convert { op: ConvertOp::SignExtend, a } if of_words => Some(vec![(a, Use::Extended(result))]),
        Inst::Convert { op: ConvertOp::NarrowSigned | ConvertOp::NarrowUnsigned, a } if kernel.ty(a).lane == Lane::I32 => {
            Some(vec![(a, Use::Lanes(result))])
        }
        Inst::MulHigh { signed: true, a, b } | Inst::SaturatingRoundingDoublingHighMul { a, b, .. } if of_words => both(a, b),
        Inst::Binary { op, a, b } if of_words && (lane_op(op).is_some() || shifts(op)) => both(a, b),
        Inst::ShiftConstant { op, a, .. } if of_words && (shifts(op) || op == BinaryOp::ShiftRightUnsigned) => {
            Some(vec![(a, Use::Lanes(result))])
        }
        Inst::Compare { op, a, b } if kernel.ty(a).lane == Lane::I32 && compares(op) => both(a, b),
        Inst::Select { mask, a, b } if of_words => Some(vec![(mask, Use::Lanes(result)), (a, Use::Lanes(result)), (b, Use::Lanes(result))]),
        _ => None,
    }
}

/// Returns the number of elements of so many lanes, if a register holds more.
fn first_lanes(lanes: u16, element: Element) -> Option<u32> {
    let in_lane = if element == Element::Byte { VECTOR / u32::from(LANES) } else { 1 };
    (lanes < LANES).then_some(u32::from(lanes) * in_lane)
}

/// Values that may be lanes in vector registers, and all uses of values.
#[derive(Default)]
struct Candidates {
    found: EntitySet<Value>,
    /// Loads among them.
    loaded: EntitySet<Value>,
    /// Constants, which are copied to lanes where these are wanted.
    numbers: EntitySet<Value>,
    /// Lanes that are copied from words, one by one.
    copied: EntitySet<Value>,
    /// Values that are stored in part.
    parts: Vec<Value>,
    /// Lanes of which others are computed.
    operands: FxHashMap<Value, Vec<Value>>,
    uses: FxHashMap<Value, Vec<Use>>,
}

impl Candidates {
    fn note(&mut self, value: Value, of: Use) {
        self.uses.entry(value).or_default().push(of);
    }

    /// Notes the result of a statement, if vector registers can hold its lanes, and the uses of its operands.
    fn statement(&mut self, kernel: &Kernel, bytes: &EntitySet<Value>, Statement { results, inst }: &Statement) {
        let mut others = inst.operands();
        for (number, &result) in results.iter().enumerate() {
            let (params, passed) = passed(inst, number);
            if passed.is_empty() {
                break;
            }
            others.retain(|value| !passed.contains(value));
            match kernel.ty(result).lane == Lane::I32 && fits(kernel.ty(result)) {
                true => self.passed(result, &params, &passed),
                false => passed.into_iter().for_each(|value| self.note(value, Use::Other)),
            }
        }
        if let Inst::Constant { .. } = inst {
            self.numbers.extend(results.iter().copied());
        }
        if let &[result] = &results[..]
            && (fits(kernel.ty(result)) || fits_mask(kernel.ty(result)))
            && !bytes.contains(result)
            && let Some(operands) = operands(kernel, inst, result)
        {
            self.found.insert(result);
            if matches!(inst, Inst::Load { .. }) {
                self.loaded.insert(result);
            }
            if let Inst::Select { mask, .. } = *inst {
                self.note(result, Use::Lanes(mask));
            }
            if operands.is_empty() && matches!(inst, Inst::Join { .. }) {
                self.copied.insert(result);
            }
            others.retain(|value| operands.iter().all(|(operand, _)| operand != value));
            self.operands.insert(result, operands.iter().map(|(operand, _)| *operand).collect());
            operands.into_iter().for_each(|(value, of)| self.note(value, of));
        }
        if let Inst::Store { buffer, value, active, mask: None, .. } = *inst
            && fits_active(kernel.ty(value), active)
            && element_in(kernel, buffer, kernel.ty(value).lane).is_some()
        {
            others.retain(|other| *other != value);
            self.note(value, Use::Stored);
            if active < kernel.ty(value).lanes {
                self.parts.push(value);
            }
        }
        others.into_iter().for_each(|value| self.note(value, Use::Other));
        if let Inst::Loop { body, .. } = inst {
            body.yields.first().into_iter().for_each(|&condition| self.note(condition, Use::Other));
        }
    }

    /// Notes a result of an instruction with regions. It is in vector registers if the parameters and all values that become it are, or are constants.
    fn passed(&mut self, result: Value, params: &[Value], passed: &[Value]) {
        for &value in params {
            self.found.insert(value);
            self.note(value, Use::Lanes(result));
        }
        self.found.insert(result);
        self.operands.insert(result, passed.to_vec());
        passed.iter().for_each(|&value| self.note(value, Use::Lanes(result)));
        params.iter().chain(passed).for_each(|&value| self.note(result, Use::Lanes(value)));
    }

    /// Returns the values of which others are computed that are stored in part.
    fn in_part(&self) -> EntitySet<Value> {
        let (mut found, mut left) = (EntitySet::new(), self.parts.clone());
        while let Some(value) = left.pop() {
            if found.insert(value) {
                left.extend(self.operands.get(&value).into_iter().flatten());
            }
        }
        found
    }
}

/// Returns the values that are lanes in vector registers: instructions on lanes and stores are their only uses. Loops may carry them,
/// and branches choose among them. `bytes` are values that vector registers hold as bytes.
pub fn lanes(kernel: &Kernel, bytes: &EntitySet<Value>) -> EntitySet<Value> {
    let mut candidates = Candidates::default();
    for region in kernel.regions() {
        region.statements.iter().for_each(|statement| candidates.statement(kernel, bytes, statement));
    }
    let in_part = candidates.in_part();
    let Candidates { found, loaded, numbers, copied, operands, uses, .. } = candidates;
    // Words copy bytes and halves in fewer instructions.
    let is_copied = |value: Value| loaded.contains(value) && kernel.ty(value).lane != Lane::I32;
    let stays = |found: &EntitySet<Value>, value: Value| {
        let holds = |of: &Use| match *of {
            Use::Lanes(result) => (found.contains(result) || numbers.contains(result)) && !is_copied(value),
            // Narrowed lanes have undefined bits above them.
            Use::Extended(result) => found.contains(result) && loaded.contains(value),
            Use::Stored => !is_copied(value),
            Use::Other => false,
        };
        // Copies to lanes that nobody stores would cost more than what is saved.
        let has_operands =
            || operands.get(&value).into_iter().flatten().all(|&operand| found.contains(operand) || numbers.contains(operand));
        let pays = !in_part.contains(value) || !copied.contains(value) && has_operands();
        pays && uses.get(&value).is_some_and(|all| all.iter().all(holds))
    };
    settled(found, stays)
}

impl<S: Select<Held = Held>> Lowering<'_, S>
where
    Self: Words,
{
    /// Lowers an instruction whose result is lanes in vector registers.
    pub(super) fn lane_value(&mut self, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(result);
        let vectors = match *inst {
            Inst::Load { buffer, index, offset, active, .. } => return self.load_lane_vectors(buffer, (index, offset), active, ty),
            Inst::LoadSplat { buffer, index, offset } => {
                let words = self.load(buffer, (index, offset), 1, (result, Type { lanes: 1, ..ty }))?;
                self.vectors_of(ty, &repeated(&words, ty.lanes))?
            }
            Inst::Splat { a } => {
                let words = self.get(a)?;
                self.vectors_of(ty, &repeated(&words, ty.lanes))?
            }
            Inst::Join { a, b } if fits(self.ty(a)) && fits(self.ty(b)) => [self.lanes_of(a)?, self.lanes_of(b)?].concat(),
            Inst::Join { a, b } => {
                let words = self.join(a, b)?;
                self.vectors_of(ty, &words)?
            }
            Inst::Compare { op, a, b } => {
                let (x, y) = (self.lanes_of(a)?, self.lanes_of(b)?);
                return Ok(Held::LaneTests(x.into_iter().zip(y).map(|(a, b)| LaneTest { op, a, b }).collect()));
            }
            Inst::Select { mask, a, b } => self.chosen_lanes(mask, a, b)?,
            Inst::Convert { op: ConvertOp::SignExtend, a } => self.lanes_of(a)?,
            Inst::Convert { op, a } => {
                let (vectors, signed) = (self.lanes_of(a)?, op == ConvertOp::NarrowSigned);
                self.of_each(&vectors, |s, vector| s.narrow_lanes(vector, 8 * ty.lane.bytes(), signed))?
            }
            Inst::MulHigh { a, b, .. } => self.of_both(LaneOp::HighProduct, a, b)?,
            Inst::SaturatingRoundingDoublingHighMul { a, b, .. } => self.of_both(LaneOp::DoublingHighProduct, a, b)?,
            Inst::ShiftConstant { op, a, count } => self.shifted_lanes(op, a, count.into())?,
            Inst::Binary { op, a, b } if is_shift(op) => match self.number_of(b) {
                Some(count) => self.shifted_lanes(op, a, count as u32)?,
                None => self.shifted_by_lanes(op, a, b)?,
            },
            Inst::Binary { op, a, b } => match lane_op(op) {
                Some(op) => self.of_both(op, a, b)?,
                None => return self.bug(Mistake::Operation { operation: Operation::Binary(op), of: ty }),
            },
            _ => return self.bug(Mistake::Route(Route::Lanes)),
        };
        Ok(Held::Vectors(vectors))
    }

    fn of_each(
        &mut self,
        vectors: &[VReg],
        mut f: impl FnMut(&mut Self, VReg) -> Result<VReg, CodegenError>,
    ) -> Result<Vec<VReg>, CodegenError> {
        vectors.iter().map(|&vector| f(self, vector)).collect()
    }

    fn of_both(&mut self, op: LaneOp, a: Value, b: Value) -> Result<Vec<VReg>, CodegenError> {
        if let Some(op) = WithWord::of(op) {
            let (a, b) = if self.number_of(a).is_some() { (b, a) } else { (a, b) };
            if let Some(number) = self.number_of(b) {
                let (vectors, word) = (self.lanes_of(a)?, self.word(number));
                return self.of_each(&vectors, |s, vector| s.lanes_with_word(op, vector, word));
            }
        }
        let (x, y) = (self.lanes_of(a)?, self.lanes_of(b)?);
        x.into_iter().zip(y).map(|(x, y)| self.two_lanes(op, x, y)).collect()
    }

    fn shifted_lanes(&mut self, op: BinaryOp, a: Value, count: u32) -> Result<Vec<VReg>, CodegenError> {
        let vectors = self.lanes_of(a)?;
        if count == 0 {
            return Ok(vectors);
        }
        let shift = match op {
            BinaryOp::ShiftLeft => LaneShift::Left,
            BinaryOp::ShiftRightSigned => LaneShift::RightSigned,
            _ => LaneShift::Right,
        };
        self.of_each(&vectors, |s, vector| s.shift_lanes_by(vector, count, shift))
    }

    fn shifted_by_lanes(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Vec<VReg>, CodegenError> {
        if op == BinaryOp::ShiftLeft {
            return self.of_both(LaneOp::Shift, a, b);
        }
        let (vectors, counts) = (self.lanes_of(a)?, self.lanes_of(b)?);
        let each = vectors.into_iter().zip(counts);
        each.map(|(vector, count)| {
            let left = self.negate_lanes(count)?;
            self.two_lanes(LaneOp::Shift, vector, left)
        })
        .collect()
    }

    fn chosen_lanes(&mut self, mask: Value, a: Value, b: Value) -> Result<Vec<VReg>, CodegenError> {
        if let Some(&bits) = self.constants.get(&mask) {
            return self.lanes_of(if bits == 0 { b } else { a });
        }
        let Held::LaneTests(tests) = self.get(mask)? else { return self.is_not(mask, Form::LaneTests) };
        let (yes, no) = (self.lanes_of(a)?, self.lanes_of(b)?);
        tests.into_iter().zip(yes.into_iter().zip(no)).map(|(test, (yes, no))| self.choose_lanes(test, yes, no)).collect()
    }

    /// Returns the vector registers of a value. Lanes in other registers are copied.
    fn lanes_of(&mut self, value: Value) -> Result<Vec<VReg>, CodegenError> {
        let held = self.get(value)?;
        self.as_lanes(self.ty(value), held)
    }

    /// Returns the vector registers of a held value. Lanes in other registers are copied.
    pub(super) fn as_lanes(&mut self, ty: Type, held: Held) -> Result<Vec<VReg>, CodegenError> {
        match held {
            Held::Vectors(vectors) => Ok(vectors),
            held => self.vectors_of(ty, &held),
        }
    }

    fn vectors_of(&mut self, ty: Type, held: &Held) -> Result<Vec<VReg>, CodegenError> {
        let words = self.with_signs(ty.lane, held.clone());
        words.as_chunks::<{ LANES as usize }>().0.iter().map(|words| self.vector_of_words(*words)).collect()
    }

    fn load_lane_vectors(&mut self, buffer: Buffer, at: (Value, i64), active: u16, ty: Type) -> Result<Held, CodegenError> {
        let key = (self.block, buffer, at, active, ty, Holding::Vectors);
        if let Some(known) = self.loads.get(&key) {
            return Ok(known.clone());
        }
        let count = ty.lanes / LANES;
        let (first, element, step) = self.lane_places(buffer, at, (ty.lane, count))?;
        let vectors =
            (0..count).map(|i| self.load_vector(first.plus(i32::from(i) * step), element, first_lanes(active - LANES * i, element)));
        let loaded = Held::Vectors(vectors.collect::<Result<_, _>>()?);
        self.loads.insert(key, loaded.clone());
        Ok(loaded)
    }

    /// Stores the active lanes of vector registers, of which only the last one may be stored in part.
    pub(super) fn store_lane_vectors(
        &mut self,
        buffer: Buffer,
        at: (Value, i64),
        (lane, active): (Lane, u16),
        vectors: &[VReg],
    ) -> Result<(), CodegenError> {
        let (first, element, step) = self.lane_places(buffer, at, (lane, vectors.len() as u16))?;
        (0..).zip(vectors).try_for_each(|(i, &vector)| {
            let place = first.plus(i32::from(i) * step);
            self.store_vector(place, element, first_lanes(active - LANES * i, element), vector)
        })
    }

    /// Returns the first address of the lanes of some registers, their element, and the bytes from a register's lanes to those of the next one.
    fn lane_places(
        &mut self,
        buffer: Buffer,
        at: (Value, i64),
        (lane, count): (Lane, u16),
    ) -> Result<(Address, Element, i32), CodegenError> {
        let step = u32::from(LANES) * lane.bytes();
        let last = u32::from(count - 1) * step;
        let address = self.address(buffer, at, Access::Memory { unit: VECTOR, bytes: last + VECTOR })?;
        let element = match element_in(self.kernel, buffer, lane) {
            Some(Element::Byte) if self.is_aligned(buffer, at) => Element::Word,
            Some(element) => element,
            None => return self.bug(Mistake::LaneElements(self.kernel.buffer(buffer).name.clone())),
        };
        Ok((address, element, step as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::words::vectors;
    use modelc_kernel::text::parse_kernel;

    /// Returns the numbers of the statements of a kernel's body whose results are lanes in vector registers.
    fn found(body: &str) -> Vec<usize> {
        let parameters = "x: input i32[64] align 4, w: input i16[64] align 2, b: input i8[64] align 1, y: output i8[64] align 1";
        let kernel = parse_kernel(&format!("kernel @k({parameters}) {{ {body} }}")).expect("a kernel");
        let lanes = lanes(&kernel, &vectors(&kernel));
        let is_found = |statement: &Statement| statement.results.first().is_some_and(|&result| lanes.contains(result));
        (0..).zip(kernel.statements()).filter(|(_, statement)| is_found(statement)).map(|(number, _)| number).collect()
    }

    #[test]
    fn sums_are_requantized_in_vectors() {
        let body = "%1: i32x4 = load x[0]
          %2: i16x4 = load w[0]
          %3: i32x4 = sign_extend %2
          %4: i32x4 = mul_high_signed %1, %3
          %5: i32x4 = shift_right_signed %4, 5
          %6: i8x4 = narrow_signed %5
          store y[0], %6";
        assert_eq!(found(body).len(), 6);
    }

    /// The rounded mean of a window, as pools compute it.
    const MEAN: &str = "%1: i32x4 = for %2 in 0..16 step 1 carry %3 = 0 {
          %4: i64 = mul %2, 4
          %5: i8x4 = load b[%4]
          %6: i32x4 = sign_extend %5
          %7: i32x4 = add %3, %6
          yield %7
        }
        %8: maskx4 = greater %1, 0
        %9: i32x4 = add %1, 8
        %10: i32x4 = sub %1, 8
        %11: i32x4 = select %8, %9, %10
        %12: i32x4 = shift_right_unsigned %11, 4
        %13: i8x4 = narrow_signed %12
        store y[0], %13";

    #[test]
    fn loops_carry_lanes_and_comparisons_choose_them() {
        assert_eq!(found(MEAN).len(), 10);
        // Another use of the sum keeps it in words, but not what is computed of it.
        let also = format!("{MEAN}\n %14: i32 = extract %1, 0\n %15: i8 = narrow_signed %14\n store y[4], %15");
        assert_eq!(found(&also).len(), 6);
    }

    #[test]
    fn lanes_with_other_uses_are_words() {
        let body = "%1: i32x4 = load x[0]
          %2: i32 = extract %1, 0
          %3: i8x4 = load b[0]
          store y[8], %3";
        // Bytes are only copied.
        assert_eq!(found(body), [0; 0]);
    }

    #[test]
    fn parts_of_lanes_are_in_vectors_if_nothing_is_copied_to_them() {
        let body = |sum: &str| {
            format!(
                "%1: i32x4 = load x[0] active 3
          %2: i32x2 = load x[4]
          %3: i32x4 = join %2, %2
          %4: i32x4 = add %1, {sum}
          %5: i8x4 = narrow_signed %4
          store y[0], %5 active 3"
            )
        };
        assert_eq!(found(&body("7")).len(), 3);
        assert_eq!(found(&body("%3")).len(), 0);
    }
}
