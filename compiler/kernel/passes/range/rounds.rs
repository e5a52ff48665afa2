//! Ranges of the rounds of an independent loop. The marks of loops say which rounds are independent, and which scratch buffers are private to a round.
//!
//! The loop is the first one that accesses an output, or is inside such loops. A range repeats what is before the loop, which accesses no output.
//! Statements after the loop, such as the rest of a row, run with the last round. A mark says nothing about statements in a row, so the places of
//! accesses decide if the rounds are independent of them (`kernel/dependence/`).

use super::super::values::Values;
use super::in_ranges::InRanges;
use crate::dependence::{Access, Loops, Places, Rounds, contradicted};
use crate::intervals::Assumed;
use crate::*;
use smallvec::smallvec;

/// A number of rounds that is enough for any useful number of threads. Loops inside are not searched then.
const MANY_ROUNDS: i64 = 8;

/// Returns the kernel that computes a range of the rounds of a loop. `places` says where its pointer parameters are. `None` if the kernel has no
/// suitable loop, or has integer parameters.
///
/// # Panics
/// In debug builds, if rounds that are marked overwrite what others read, because parameters overlap.
pub fn of_rounds(kernel: &Kernel, places: &Places) -> Option<InRanges> {
    if kernel.integers > 0 {
        return None;
    }
    let search = Search { kernel, loops: Loops::of(kernel, &Assumed::default(), places), outputs: outputs(kernel, places) };
    let mut found = search.all();
    let many = found.iter().position(|found| found.rounds >= MANY_ROUNDS);
    let best = many.or_else(|| (0..found.len()).max_by_key(|&i| (found[i].rounds, std::cmp::Reverse(i))))?;
    let Found { path, rounds } = found.swap_remove(best);
    debug_assert_eq!(contradicted(kernel, places), None, "marked rounds that overwrite what others read in\n{kernel}");
    let mut kernel = kernel.clone();
    cut(&mut kernel, &path, rounds);
    Some(InRanges { kernel, rounds: u64::try_from(rounds).ok()? })
}

/// Returns the memories of the outputs.
fn outputs(kernel: &Kernel, places: &Places) -> Vec<usize> {
    let of_outputs = kernel.pointer_params().zip(places).filter(|((_, data), _)| data.kind == BufferKind::Output);
    of_outputs.map(|(_, place)| place.0).collect()
}

/// A loop whose rounds can be divided into ranges.
struct Found {
    /// Position of a statement in its region, for each loop on the path, outermost first.
    path: Vec<usize>,
    rounds: i64,
}

struct Search<'k> {
    kernel: &'k Kernel,
    loops: Loops<'k>,
    /// The memories of the outputs.
    outputs: Vec<usize>,
}

impl Search<'_> {
    /// Returns the loops that can be divided, outermost first.
    fn all(&self) -> Vec<Found> {
        let (mut found, mut path, mut around) = (vec![], vec![], vec![]);
        let mut region = &self.kernel.body;
        while let Some(number) = region.statements.iter().position(|statement| self.works(&statement.inst)) {
            let Inst::For { start, end, step, each: true, private, body, .. } = &region.statements[number].inst else { break };
            let Some(rounds) = self.rounds([*start, *end], *step) else { break };
            let rest = &region.statements[number + 1..];
            path.push(number);
            if rounds > 1 && self.keeps_scratch(private, body) && self.are_apart(body, rest, &around) {
                found.push(Found { path: path.clone(), rounds });
            }
            if rounds >= MANY_ROUNDS || rest.iter().any(|statement| self.works(&statement.inst)) {
                break;
            }
            around.push(body.params[0]);
            region = body;
        }
        found
    }

    /// Returns the number of rounds of a loop with constant ends. `None` if it has no rounds.
    fn rounds(&self, [start, end]: [Value; 2], step: i64) -> Option<i64> {
        let span = self.loops.number(end)?.checked_sub(self.loops.number(start)?)?;
        (span > 0).then(|| (span - 1) / step + 1)
    }

    /// Tests whether an instruction accesses an output, which ranges share.
    fn works(&self, inst: &Inst) -> bool {
        let inside = |region: &&Region| region.statements.iter().any(|statement| self.works(&statement.inst));
        inst.buffer().is_some_and(|buffer| self.kernel.buffer(buffer).kind == BufferKind::Output) || inst.regions().iter().any(inside)
    }

    /// Tests whether rounds write no scratch memory except their own. Other rounds or the rest may read the other.
    fn keeps_scratch(&self, private: &[Buffer], body: &Region) -> bool {
        let mut keeps = true;
        body.for_each(&mut |inst| {
            if let Inst::Store { buffer, .. } = inst {
                keeps &= self.kernel.buffer(*buffer).kind != BufferKind::Scratch || private.contains(buffer);
            }
        });
        keeps
    }

    /// Tests whether the rounds of a loop are independent of the statements after it, in the same rounds of the loops around.
    fn are_apart(&self, body: &Region, rest: &[Statement], around: &[Value]) -> bool {
        if !rest.iter().any(|statement| self.works(&statement.inst)) {
            return true;
        }
        let inside = self.accesses(&body.statements, [around, &body.params[..1]].concat());
        let (Some(inside), Some(after)) = (inside, self.accesses(rest, around.to_vec())) else { return false };
        !inside.iter().any(|a| after.iter().any(|b| self.loops.meet(a, b, |_| Rounds::Same)))
    }

    /// Returns the accesses to outputs, inside loops with these counters. `None` if the place of one is unknown.
    fn accesses(&self, statements: &[Statement], mut around: Vec<Value>) -> Option<Vec<Access>> {
        let mut list = Vec::new();
        self.loops.accesses(statements, &mut around, &mut list)?;
        list.retain(|access| self.outputs.contains(&access.memory));
        Some(list)
    }
}

/// Changes the loop at the end of a path to run over a range of its rounds.
fn cut(kernel: &mut Kernel, path: &[usize], rounds: i64) {
    let Some((&last, outer)) = path.split_last() else { return };
    let mut values = Values::of(kernel);
    let range = [values.index(), values.index()];
    kernel.integers = 2;
    kernel.body.params = range.to_vec();
    let mut region = &mut kernel.body;
    for &number in outer {
        let Inst::For { body, .. } = &mut region.statements[number].inst else { unreachable!("the path leads through loops") };
        region = body;
    }
    let Inst::For { start, end, step, .. } = &mut region.statements[last].inst else { unreachable!("the path ends at a loop") };
    let mut before = Vec::new();
    let factor = values.constant(&mut before, *step);
    let [first, beyond] = range.map(|round| {
        let scaled = values.binary(&mut before, BinaryOp::Mul, round, factor);
        values.binary(&mut before, BinaryOp::Add, scaled, *start)
    });
    // The last round may be shorter than a step.
    *end = values.binary(&mut before, BinaryOp::SignedMin, beyond, *end);
    *start = first;
    let rest = region.statements.split_off(last + 1);
    if !rest.is_empty() {
        let mut after = Vec::new();
        let all = values.constant(&mut after, rounds);
        let condition = values.mask(&mut after, CompareOp::Equal, range[1], all);
        let then = Region { statements: rest, ..Region::default() };
        after.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
        region.statements.extend(after);
    }
    region.statements.splice(last..last, before);
    kernel.types = values.types();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependence::apart;
    use crate::interpret::interpret;
    use crate::text::parse_kernel;
    use crate::verify::verify;

    /// Returns the number of rounds of the divided loop. Checks that ranges in any order leave the same last output as the kernel.
    fn rounds(text: &str) -> Option<u64> {
        let kernel = parse_kernel(text).expect("a kernel");
        assert_eq!(verify(&kernel), Ok(()), "{kernel}");
        let InRanges { kernel: cut, rounds } = of_rounds(&kernel, &apart(kernel.pointer_params().count()))?;
        assert_eq!(verify(&cut), Ok(()), "{cut}");
        let new = || -> Vec<Vec<u8>> {
            let of = |data: &BufferData| (0..data.bytes()).map(|i| i as u8).collect();
            kernel.pointer_params().map(|(_, data)| of(data)).collect()
        };
        let (mut whole, mut ranges) = (new(), new());
        assert_eq!(interpret(&kernel, &mut whole, &[]), Ok(0));
        for (first, end) in [(2, rounds as i64), (0, 1), (1, 2)] {
            assert_eq!(interpret(&cut, &mut ranges, &[first, end]), Ok(0));
        }
        let outputs = |memory: &[Vec<u8>]| {
            let outputs = kernel.pointer_params().zip(memory).filter(|((_, data), _)| data.kind == BufferKind::Output);
            outputs.map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>()
        };
        assert_eq!(outputs(&whole), outputs(&ranges), "{cut}");
        Some(rounds)
    }

    #[test]
    fn the_last_range_does_what_follows_its_rounds() {
        let rows = |step: u64, each: &str, read: &str| {
            rounds(&format!(
                "kernel @k(x: input i32[80] align 4, y: output i32[80] align 4) {{
                  for {each} %1 in 0..9 step {step} {{
                    %2: i64 = mul %1, 8
                    for %3 in 0..8 step 4 {{
                      %4: i64 = add %2, %3
                      %5: i32x4 = load x[%4]
                      %6: i32x4 = add %5, %5
                      store y[%4], %6
                    }}
                  }}
                  %7: i32x8 = load {read}
                  store y[72], %7
                }}"
            ))
        };
        assert_eq!(rows(1, "each", "x[72]"), Some(9));
        assert_eq!(rows(2, "each", "x[72]"), Some(5));
        assert_eq!(rows(1, "", "x[72]"), None, "rounds in order");
        assert_eq!(rows(1, "each", "y[60]"), None, "what follows reads what a round writes");
    }

    #[test]
    fn loops_of_few_rounds_are_looked_into() {
        let text = |each: &str| {
            format!(
                "kernel @k(x: input i32[64] align 4, y: output i32[64] align 4) {{
                  for {each} %1 in 0..2 step 1 {{
                    %2: i64 = mul %1, 32
                    for each %3 in 0..32 step 2 {{
                      %4: i64 = add %2, %3
                      %5: i32x2 = load x[%4]
                      store y[%4], %5
                    }}
                  }}
                }}"
            )
        };
        assert_eq!(rounds(&text("each")), Some(16));
        assert_eq!(rounds(&text("")), None, "a range would run ahead in the outer loop");
    }

    #[test]
    fn rounds_divide_if_scratch_memory_is_their_own() {
        let text = |private: &str, read: &str| {
            format!(
                "kernel @k(x: input i32[65] align 4, y: output i32[65] align 4, s: scratch i32[1] align 4, t: scratch i32[1] align 4) {{
                  %4: i32 = load x[64]
                  store t[0], %4
                  for each %1 in 0..64 step 1 {private} {{
                    %2: i32 = load x[%1]
                    store s[0], %2
                    %3: i32 = load {read}[0]
                    store y[%1], %3
                  }}
                  store s[0], 5
                  %5: i32 = load s[0]
                  store y[64], %5
                }}"
            )
        };
        assert_eq!(rounds(&text("private s", "s")), Some(64));
        assert_eq!(rounds(&text("private s", "t")), Some(64), "each range repeats what is before the loop");
        // The mark is wrong, so this is no sound kernel.
        let shared = parse_kernel(&text("", "s")).expect("a kernel");
        assert!(of_rounds(&shared, &apart(4)).is_none());
    }

    /// Returns the number of rounds of a copy to `y` from `offset` elements further in memory that begins at the same place.
    fn in_place(offset: u64) -> Option<u64> {
        let text = format!(
            "kernel @k(x: output i32[80] align 4, y: output i32[80] align 4) {{
              for each %1 in 0..64 step 4 {{
                %5: i32x4 = load x[%1 + {offset}]
                store y[%1], %5
              }}
            }}"
        );
        of_rounds(&parse_kernel(&text).expect("a kernel"), &vec![(0, 0); 2]).map(|cut| cut.rounds)
    }

    #[test]
    fn operands_may_be_overwritten_in_place() {
        assert_eq!(in_place(0), Some(16));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "overwrite what others read")]
    fn marks_are_checked_where_parameters_overlap() {
        in_place(1);
    }
}
