//! 64-bit numbers in memory for a device that has none. Each number is read as two words, and is clamped to the nearest 32-bit number.
//!
//! This keeps the results of a kernel that only compares such a number and uses it in indices. A comparison is safe with a 32-bit number that is neither
//! the smallest nor the largest. An index is safe, because an index out of range stays out of range.

use crate::kernel::indices::Indices;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, Inst, Kernel, Lane, Region, Statement, Type, Value};
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// Maximum number of terms of an index that are analyzed.
const MOST_TERMS: usize = 16;

/// Range of the numbers that a clamped number may be compared with.
const COMPARED: Interval = Interval { low: i32::MIN as i64 + 1, high: i32::MAX as i64 - 1 };

/// Changes a read-only buffer of i64 to words, and clamps its loads. Returns `false` if this could change results; then the kernel is unchanged.
pub fn as_words(kernel: &mut Kernel, buffer: Buffer, assumed: &Assumed) -> bool {
    let uses = Uses { kernel, indices: Indices::assuming(kernel, assumed, MOST_TERMS) };
    let loaded: Option<Vec<Value>> = kernel.statements().filter(|statement| statement.inst.buffer() == Some(buffer)).map(loaded).collect();
    let is_sound = loaded.is_some_and(|loaded| loaded.into_iter().all(|value| uses.are_sound(value, true)));
    if is_sound {
        let data = &mut kernel.buffers[buffer.index()];
        (data.lane, data.elements) = (Lane::I32, 2 * data.elements);
        let mut body = std::mem::take(&mut kernel.body);
        cut_loads(&mut body, buffer, &mut kernel.types);
        kernel.body = body;
    }
    is_sound
}

/// Returns the number that a statement loads. `None` if it loads a vector.
fn loaded(statement: &Statement) -> Option<Value> {
    match (&statement.inst, &statement.results[..]) {
        (Inst::Load { active: 1, .. } | Inst::LoadSplat { .. }, &[result]) => Some(result),
        _ => None,
    }
}

struct Uses<'k> {
    kernel: &'k Kernel,
    indices: Indices,
}

impl Uses<'_> {
    /// Tests whether all uses of a number are safe after clamping. Sums and products with it must be indices only, and not compared.
    fn are_sound(&self, value: Value, may_compare: bool) -> bool {
        let is_yielded = self.kernel.regions().any(|region| region.yields.contains(&value));
        let mut users = self.kernel.statements().filter(|statement| statement.inst.operands().contains(&value));
        self.kernel.ty(value) == Type::INDEX && !is_yielded && users.all(|user| self.is_sound(value, user, may_compare))
    }

    fn is_sound(&self, value: Value, Statement { results, inst }: &Statement, may_compare: bool) -> bool {
        match *inst {
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } => true,
            Inst::Store { value: stored, .. } => stored != value,
            Inst::Compare { op, a, b } => may_compare && self.is_ordered(op, if a == value { b } else { a }),
            Inst::Binary { op: BinaryOp::Add | BinaryOp::Mul, a, b } => {
                let other = self.indices.interval(if a == value { b } else { a });
                a != b && other.is_natural() && other.fits(Lane::I32) && self.are_sound(results[0], false)
            }
            Inst::ShiftConstant { op: BinaryOp::ShiftLeft, count, .. } => count < 31 && self.are_sound(results[0], false),
            _ => false,
        }
    }

    /// Tests whether a comparison of the clamped number with `other` has the same result as one of the whole number.
    fn is_ordered(&self, op: CompareOp, other: Value) -> bool {
        let Interval { low, high } = self.indices.interval(other);
        let has_no_sign = matches!(op, CompareOp::UnsignedLess | CompareOp::UnsignedLessEqual);
        COMPARED.low <= low && high <= COMPARED.high && (low >= 0 || !has_no_sign)
    }
}

fn cut_loads(region: &mut Region, buffer: Buffer, types: &mut Vec<Type>) {
    let mut out = Writer { types, statements: vec![] };
    for mut statement in std::mem::take(&mut region.statements) {
        statement.inst.regions_mut().into_iter().for_each(|inner| cut_loads(inner, buffer, out.types));
        match statement.inst {
            Inst::Load { buffer: read, index, offset, .. } | Inst::LoadSplat { buffer: read, index, offset } if read == buffer => {
                let cut = out.cut(buffer, index, offset);
                out.statements.push(Statement { results: statement.results, inst: Inst::Convert { op: ConvertOp::SignExtend, a: cut } });
            }
            _ => out.statements.push(statement),
        }
    }
    region.statements = out.statements;
}

struct Writer<'t> {
    types: &'t mut Vec<Type>,
    statements: Vec<Statement>,
}

impl Writer<'_> {
    /// Loads an element as two words, and clamps it to the nearest 32-bit number.
    fn cut(&mut self, buffer: Buffer, index: Value, offset: i64) -> Value {
        let word = Type::scalar(Lane::I32);
        let index = self.push(Type::INDEX, Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a: index, count: 1 });
        let [low, high] =
            [0, 1].map(|half| self.push(word, Inst::Load { buffer, index, offset: 2 * offset + half, active: 1, mask: None }));
        let [sign, sign_of_all] =
            [low, high].map(|a| self.push(word, Inst::ShiftConstant { op: BinaryOp::ShiftRightSigned, a, count: 31 }));
        let fits = self.push(Type::scalar(Lane::Mask), Inst::Compare { op: CompareOp::Equal, a: high, b: sign });
        let most = self.push(word, Inst::Constant { bits: i32::MAX as u64 });
        let nearest = self.push(word, Inst::Binary { op: BinaryOp::Xor, a: sign_of_all, b: most });
        self.push(word, Inst::Select { mask: fits, a: low, b: nearest })
    }

    fn push(&mut self, ty: Type, inst: Inst) -> Value {
        self.types.push(ty);
        let result = Value::new(self.types.len() - 1);
        self.statements.push(Statement { results: smallvec![result], inst });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpret::interpret;
    use crate::kernel::text::parse_kernel;
    use crate::kernel::verify::verify;

    fn kernel(body: &str) -> Kernel {
        let text = format!(
            "kernel @k(n: input i64[2] align 8, x: input i32[8] align 4, y: output i32[8] align 4, z: output i64[2] align 8) {{ {body} }}"
        );
        parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn words(kernel: &mut Kernel) -> bool {
        as_words(kernel, Buffer::new(0), &Assumed::default())
    }

    #[test]
    fn a_checked_index_is_read_as_words() {
        let whole = kernel(
            "%0: i64 = load n[1]
             %1: mask = unsigned_less 3, %0
             fail_if %1, 7
             %2: i64 = mul %0, 2
             %3: i64 = add %2, 1
             %4: i32 = load x[%3]
             store y[%0], %4",
        );
        let mut cut = whole.clone();
        assert!(words(&mut cut));
        assert_eq!((verify(&cut), cut.buffer(Buffer::new(0)).lane), (Ok(()), Lane::I32), "{cut}");
        for number in [0, 3, 4, -1, i64::from(i32::MAX) + 1, 1 << 32, -(1 << 32), (1 << 40) + 2, i64::MIN, i64::MAX] {
            let new = || {
                let numbers = [5, number].map(i64::to_le_bytes).concat();
                vec![numbers, (0..32).collect(), vec![0; 32], vec![0; 16]]
            };
            let (mut one, mut other) = (new(), new());
            assert_eq!(interpret(&whole, &mut one, &[]), interpret(&cut, &mut other, &[]), "{number}");
            assert_eq!(one, other, "{number}");
        }
    }

    #[test]
    fn what_bits_beyond_count_for_stays() {
        let stays = |body: &str| {
            let whole = kernel(body);
            let mut same = whole.clone();
            !words(&mut same) && same == whole
        };
        assert!(stays("%0: i64 = load n[0] store z[0], %0"));
        assert!(stays("%0: i64 = load n[0] %1: mask = less %0, 2147483647 fail_if %1, 1"));
        assert!(stays("%0: i64 = load n[0] %1: mask = unsigned_less %0, -1 fail_if %1, 1"));
        assert!(stays("%0: i64 = load n[0] %1: i64 = add %0, 1 %2: mask = less %1, 4 fail_if %2, 1"));
        assert!(stays("%0: i64 = load n[0] %1: i32 = wrap %0 store y[0], %1"));
        assert!(stays("%0: i64x2 = load n[0] store z[0], %0"));
        assert!(!stays("%0: i64 = load n[0] %1: mask = less %0, 7 fail_if %1, 1"));
    }
}
