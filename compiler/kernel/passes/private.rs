//! Copies of private buffers. A machine that runs independent rounds at the same time gives each round of a loop its own copy. All copies are one
//! larger buffer, and the counter of the loop says where a copy begins. The mark names the buffer no longer.
//!
//! Copies of loops in a row begin at the same place. So these loops run one after the other, as they did.

use super::values::Values;
use super::whole::of_all_rounds;
use crate::dependence::{Loops, apart};
use crate::intervals::Assumed;
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashSet;

/// Maximum bytes of all copies of a buffer. A device has this much memory to spare.
const MOST_BYTES: u64 = 1 << 28;

/// Makes the copies of a kernel that is called with these integers. A buffer stays private if the number of its copies is unknown, if they are too
/// large, or if the buffer is gathered from. `assumed` are facts about the kernel's buffers.
pub fn with_copies(kernel: &mut Kernel, integers: &[i64], assumed: &Assumed) {
    let private: FxHashSet<Buffer> = kernel.statements().flat_map(|statement| named(&statement.inst)).copied().collect();
    if private.is_empty() {
        return;
    }
    let whole = of_all_rounds(kernel, integers);
    let loops = Loops::of(&whole, assumed, &apart(whole.pointer_params().count()));
    for buffer in (0..kernel.buffers.len()).map(Buffer::new).filter(|buffer| private.contains(buffer)) {
        let data = kernel.buffer(buffer);
        let copies = Copies { loops: &loops, buffer, elements: data.elements };
        let most = MOST_BYTES / u64::from(data.lane.bytes());
        let Some(elements) = copies.elements(&kernel.body).filter(|&elements| elements <= most) else { continue };
        let mut values = Values::of(kernel);
        copies.write(&mut values, &mut kernel.body, None);
        kernel.types = values.types();
        kernel.buffers[buffer.index()].elements = elements;
    }
}

/// Returns the private buffers that a loop names.
fn named(inst: &Inst) -> &[Buffer] {
    if let Inst::For { private, .. } = inst { private } else { &[] }
}

/// The copies of a buffer.
struct Copies<'l> {
    /// The loops of the kernel.
    loops: &'l Loops<'l>,
    buffer: Buffer,
    /// Elements of one copy.
    elements: u64,
}

/// A loop whose rounds have copies.
struct Apart {
    /// Elements between the copies of two counters that differ by 1.
    step: i64,
    /// Elements of all copies.
    elements: u64,
}

impl Copies<'_> {
    /// Returns the elements of all copies in a region. `None` if their number is unknown, or if an index may be limited to the ends of the buffer.
    fn elements(&self, region: &Region) -> Option<u64> {
        region.statements.iter().try_fold(self.elements, |most, Statement { inst, .. }| {
            let elements = match inst {
                Inst::Gather { buffer, .. } if *buffer == self.buffer => return None,
                Inst::For { body, .. } if named(inst).contains(&self.buffer) => self.apart(body)?.elements,
                _ => inst.regions().into_iter().try_fold(0, |most, inner| Some(self.elements(inner)?.max(most)))?,
            };
            Some(elements.max(most))
        })
    }

    /// Returns the places of the copies for the rounds of a loop with this body.
    fn apart(&self, body: &Region) -> Option<Apart> {
        let counted = self.loops.counted(body.params[0]).filter(|counted| counted.first.terms.is_empty())?;
        let first = u64::try_from(counted.first.constant).ok()?;
        let (step, rounds) = (u64::try_from(counted.step).ok()?, u64::try_from(counted.rounds).ok()?);
        let last = rounds.saturating_sub(1).checked_mul(step)?.checked_add(first)?;
        let inner = self.elements(body)?;
        let step = inner.div_ceil(step);
        let elements = last.checked_mul(step)?.checked_add(inner)?;
        Some(Apart { step: i64::try_from(step).ok()?, elements })
    }

    /// Moves the accesses in a region to their copies. `start` is the first element of the copy of the rounds around.
    fn write(&self, values: &mut Values, region: &mut Region, start: Option<Value>) {
        for mut statement in std::mem::take(&mut region.statements) {
            let apart = match &statement.inst {
                Inst::For { body, .. } if named(&statement.inst).contains(&self.buffer) => self.apart(body),
                _ => None,
            };
            match (&mut statement.inst, apart) {
                (Inst::For { private, body, .. }, Some(apart)) => {
                    private.retain(|buffer| *buffer != self.buffer);
                    let mut before = Vec::new();
                    let step = values.constant(&mut before, apart.step);
                    let own = values.binary(&mut before, BinaryOp::Mul, body.params[0], step);
                    let start = start.map_or(own, |start| values.binary(&mut before, BinaryOp::Add, start, own));
                    self.write(values, body, Some(start));
                    body.statements.splice(0..0, before);
                }
                (inst, _) => {
                    inst.regions_mut().into_iter().for_each(|inner| self.write(values, inner, start));
                    let accesses = inst.buffer() == Some(self.buffer);
                    if let (true, Some(start), Some((index, _))) = (accesses, start, inst.place_mut()) {
                        *index = values.binary(&mut region.statements, BinaryOp::Add, start, *index);
                    }
                }
            }
            region.statements.push(statement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::interpret;
    use crate::text::parse_kernel;
    use crate::verify::verify;

    /// Returns the elements of the buffer `s` in a kernel with copies. Checks that the output `y` stays the same.
    fn elements(loops: &str) -> u64 {
        let text = format!("kernel @k(x: input i32[64] align 4, y: output i32[64] align 4, s: scratch i32[4] align 4) {{ {loops} }}");
        let kernel = parse_kernel(&text).expect("a kernel");
        let mut copied = kernel.clone();
        with_copies(&mut copied, &[], &Assumed::default());
        assert_eq!(verify(&copied), Ok(()), "{copied}");
        let outputs = [&kernel, &copied].map(|kernel| {
            let mut memory: Vec<Vec<u8>> =
                kernel.pointer_params().map(|(_, data)| (0..data.bytes()).map(|i| (i * 7) as u8).collect()).collect();
            assert_eq!(interpret(kernel, &mut memory, &[]), Ok(0), "{kernel}");
            memory.swap_remove(1)
        });
        assert_eq!(outputs[0], outputs[1], "{copied}");
        copied.buffers[2].elements
    }

    const COPY: &str = "%8: i32x4 = load x[%9] store s[0], %8 %7: i32x4 = load s[0] store y[%9], %7";

    #[test]
    fn each_round_has_a_copy() {
        assert_eq!(elements(&format!("for each %1 in 0..16 step 1 private s {{ %9: i64 = mul %1, 4 {COPY} }}")), 64);
        assert_eq!(elements(&format!("for each %9 in 0..64 step 4 private s {{ {COPY} }}")), 64, "steps of four elements");
        assert_eq!(elements(&format!("for %9 in 0..64 step 4 {{ {COPY} }}")), 4, "in order");
    }

    #[test]
    fn copies_of_nested_loops_are_apart() {
        let nested = |inner: &str| {
            format!(
                "for each %1 in 0..4 step 1 private s {{
                   for {inner} {{ %3: i64 = mul %1, 16 %4: i64 = mul %2, 4 %9: i64 = add %3, %4 {COPY} }} }}"
            )
        };
        assert_eq!(elements(&nested("each %2 in 0..4 step 1 private s")), 64);
        assert_eq!(elements(&nested("%2 in 0..4 step 1")), 16, "the inner loop stays in order");
    }

    /// A loop that begins at a loaded number has copies at unknown places.
    #[test]
    fn copies_at_unknown_places_are_not_made() {
        let text = "kernel @k(n: input i64[1] align 8, y: output i32[4] align 4, s: scratch i32[4] align 4) {
              for %5 in 0..2 step 1 {
                %1: i64 = load n[0]
                %2: i32 = load y[0]
                for each %3 in %1..4 step 1 private s { store s[0], %2 %4: i32 = load s[0] store y[%3], %4 }
              }
            }";
        let kernel = parse_kernel(text).expect("a kernel");
        let mut copied = kernel.clone();
        with_copies(&mut copied, &[], &Assumed::default());
        assert_eq!(copied, kernel);
    }
}
