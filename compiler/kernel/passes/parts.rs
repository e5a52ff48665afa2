//! Splits a kernel into parts, if it has a loop with independent rounds. The new kernel computes a range of these rounds. Its two integer parameters
//! are the first round of the range and the first round after it. Ranges that cover all rounds give the same result as the kernel, in any order and
//! at the same time.
//!
//! Rounds are independent if each writes only elements that no other round writes or reads. The indices of all accesses prove this. Per round they
//! grow by at least the span that one round accesses. Per round of a loop around, they grow by at least the span of the whole loop. Statements after
//! the loop, such as the rest of a row, run with the last round.

use super::super::indices::{Indices, Sum};
use super::super::visit::Run;
use super::range::InRanges;
use crate::kernel::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// A number of rounds that is enough for any useful number of threads. Loops inside are not searched then.
const MANY_ROUNDS: i64 = 8;

/// Maximum number of terms in an index that is analysed.
const MOST_TERMS: usize = 16;

/// Returns the kernel split into parts, or `None` if it has no suitable loop. `writes_scratch_first` promises that each round writes scratch memory
/// before it reads it.
pub fn in_parts(kernel: &Kernel, writes_scratch_first: bool) -> Option<InRanges> {
    let mut found = found(kernel, writes_scratch_first);
    let many = found.iter().position(|found| found.rounds >= MANY_ROUNDS);
    let best = many.or_else(|| (0..found.len()).max_by_key(|&i| (found[i].rounds, std::cmp::Reverse(i))))?;
    let Found { path, rounds } = found.swap_remove(best);
    let mut kernel = kernel.clone();
    cut(&mut kernel, &path, rounds);
    Some(InRanges { kernel, rounds: u64::try_from(rounds).ok()? })
}

/// The loops whose rounds are apart by their indices. A path is the numbers of the statements that lead to a loop, the outermost first.
pub fn independent(kernel: &Kernel) -> Vec<Vec<usize>> {
    found(kernel, false).into_iter().map(|found| found.path).collect()
}

fn found(kernel: &Kernel, writes_scratch_first: bool) -> Vec<Found> {
    let mut found = Vec::new();
    if kernel.integers == 0 {
        let search = Search { kernel, indices: Indices::of(kernel, MOST_TERMS), writes_scratch_first };
        search.region(&kernel.body, &mut vec![], &mut vec![], &mut found);
    }
    found
}

/// A loop with independent rounds.
struct Found {
    /// Position of a statement in its region, for each loop on the path, outermost first.
    path: Vec<usize>,
    rounds: i64,
}

/// A loop with constant bounds.
#[derive(Clone, Copy)]
struct Counted {
    counter: Value,
    first: i64,
    step: i64,
    rounds: i64,
}

struct Search<'k> {
    kernel: &'k Kernel,
    indices: Indices,
    writes_scratch_first: bool,
}

/// An access to memory that outlives the kernel.
struct Access {
    buffer: Buffer,
    index: Value,
    offset: i64,
    /// Number of elements.
    reach: i64,
    stores: bool,
}

impl Search<'_> {
    /// Searches a region whose first access to an output is inside a loop. `around` are the enclosing loops.
    fn region(&self, region: &Region, path: &mut Vec<usize>, around: &mut Vec<Counted>, found: &mut Vec<Found>) {
        let Some(number) = region.statements.iter().position(|statement| self.works(&statement.inst)) else { return };
        let Inst::For { start, end, step, carried, body, .. } = &region.statements[number].inst else { return };
        let rest = &region.statements[number + 1..];
        let has_rest = rest.iter().any(|statement| self.works(&statement.inst));
        let (Some(first), Some(end)) = (self.indices.number(*start), self.indices.number(*end)) else { return };
        if !carried.is_empty() || end <= first {
            return;
        }
        let counted = Counted { counter: body.params[0], first, step: *step, rounds: (end - first - 1) / step + 1 };
        path.push(number);
        if counted.rounds > 1 && self.rounds_are_apart((body, rest), counted, around) {
            found.push(Found { path: path.clone(), rounds: counted.rounds });
        }
        if counted.rounds < MANY_ROUNDS && !has_rest {
            around.push(counted);
            self.region(body, path, around, found);
            around.pop();
        }
        path.pop();
    }

    /// Tests whether an instruction accesses an output, which outlives the kernel.
    fn works(&self, inst: &Inst) -> bool {
        let writes_tensor = |buffer: Buffer| self.kernel.buffer(buffer).kind == BufferKind::Output;
        let inside = |region: &&Region| region.statements.iter().any(|statement| self.works(&statement.inst));
        inst.buffer().is_some_and(writes_tensor) || inst.regions().iter().any(inside)
    }

    /// Tests whether the rounds of a loop are independent of each other and of the statements after the loop.
    fn rounds_are_apart(&self, (body, rest): (&Region, &[Statement]), counted: Counted, around: &[Counted]) -> bool {
        if !self.writes_scratch_first && self.stores_scratch(body) || self.scratch_goes_on(body) {
            return false;
        }
        let (mut accesses, mut after) = (Vec::new(), Vec::new());
        if !self.accesses(&body.statements, &mut accesses) || !self.accesses(rest, &mut after) {
            return false;
        }
        let both = || accesses.iter().chain(&after);
        let buffers: Vec<Buffer> = {
            let mut seen = FxHashSet::default();
            both().map(|access| access.buffer).filter(|buffer| seen.insert(*buffer)).collect()
        };
        let is_written = |buffer: Buffer| both().any(|access| access.buffer == buffer && access.stores);
        let are_apart = |unit: &dyn Fn(&Access) -> Option<i64>| {
            let of = |list: &[Access]| -> Option<Vec<Reach>> {
                let reach = |access: &Access| unit(access).map(|unit| self.reach(access, unit, counted, around));
                list.iter().filter_map(reach).collect()
            };
            let (Some(inside), Some(after)) = (of(&accesses), of(&after)) else { return false };
            are_apart(&inside, &after, counted, around)
        };
        // A buffer that is only read may overlap a buffer that is written, with elements of another size. All are treated as one buffer of bytes.
        if !buffers.iter().all(|&buffer| is_written(buffer)) {
            return are_apart(&|access| Some(i64::from(self.kernel.buffer(access.buffer).lane.bytes())));
        }
        buffers.iter().all(|&buffer| are_apart(&|access| (access.buffer == buffer).then_some(1)))
    }

    /// Returns the place of an access: its growth per round of each loop, innermost first, and the range that it covers otherwise. `unit` scales
    /// elements. Returns `None` on overflow.
    fn reach(&self, access: &Access, unit: i64, counted: Counted, around: &[Counted]) -> Option<Reach> {
        let sum: Sum<Value> = self.indices.sum(access.index);
        let loops: Vec<Counted> = std::iter::once(counted).chain(around.iter().rev().copied()).collect();
        let mut growth = vec![0; loops.len()];
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        for &(term, factor) in &sum.terms {
            if let Some(number) = loops.iter().position(|counted| counted.counter == term) {
                growth[number] = i128::from(factor) * i128::from(loops[number].step) * i128::from(unit);
                continue;
            }
            let interval = self.indices.interval(term);
            let ends = [interval.low, interval.high].map(|end| i128::from(end).checked_mul(i128::from(factor)));
            let (Some(a), Some(b)) = (ends[0], ends[1]) else { return None };
            (low, high) = (low.checked_add(a.min(b))?, high.checked_add(a.max(b))?);
        }
        let (offset, unit) = (i128::from(access.offset), i128::from(unit));
        let (low, high) = ((low + offset).checked_mul(unit)?, (high + offset + i128::from(access.reach)).checked_mul(unit)?);
        Some(Reach { growth, low, high })
    }

    /// Collects all accesses to outputs. Returns false if the place of one is unknown.
    fn accesses(&self, statements: &[Statement], list: &mut Vec<Access>) -> bool {
        for Statement { inst, .. } in statements {
            if !inst.regions().into_iter().all(|inner| self.accesses(&inner.statements, list)) {
                return false;
            }
            let Some(buffer) = inst.buffer().filter(|&buffer| self.kernel.buffer(buffer).kind == BufferKind::Output) else { continue };
            let Some(Run { index, offset, elements, stores }) = inst.run() else { return false };
            list.push(Access { buffer, index, offset, reach: i64::from(elements), stores });
        }
        true
    }

    /// Tests whether a region writes scratch memory or local arrays.
    fn stores_scratch(&self, region: &Region) -> bool {
        region.statements.iter().any(|statement| {
            let own = matches!(statement.inst, Inst::Store { buffer, .. } if self.is_scratch(buffer));
            own || statement.inst.regions().into_iter().any(|inner| self.stores_scratch(inner))
        })
    }

    fn is_scratch(&self, buffer: Buffer) -> bool {
        matches!(self.kernel.buffer(buffer).kind, BufferKind::Scratch | BufferKind::Local)
    }

    /// Tests whether scratch memory that the loop's body writes is accessed outside the body, too.
    fn scratch_goes_on(&self, body: &Region) -> bool {
        let mut written = FxHashSet::default();
        body.for_each(&mut |inst| {
            if let Inst::Store { buffer, .. } = inst
                && self.is_scratch(*buffer)
            {
                written.insert(*buffer);
            }
        });
        let (mut inside, mut all) = (0, 0);
        let count = |number: &mut usize, region: &Region| {
            region.for_each(&mut |inst| *number += usize::from(inst.buffer().is_some_and(|buffer| written.contains(&buffer))));
        };
        count(&mut inside, body);
        count(&mut all, &self.kernel.body);
        inside < all
    }
}

/// The place of an access.
struct Reach {
    /// Distance from one round to the next, for the loop and the loops around it, innermost first.
    growth: Vec<i128>,
    /// Range of elements or bytes in round 0 of each loop, `high` excluded.
    low: i128,
    high: i128,
}

/// Tests whether accesses of different rounds are disjoint from each other, and from the accesses `after` the last round.
fn are_apart(inside: &[Reach], after: &[Reach], counted: Counted, around: &[Counted]) -> bool {
    let Some(first) = inside.first() else { return true };
    let growth = &first.growth;
    if inside.iter().any(|reach| reach.growth != *growth)
        || after.iter().any(|reach| reach.growth[0] != 0 || reach.growth[1..] != growth[1..])
    {
        return false;
    }
    let low = inside.iter().map(|reach| reach.low).min().unwrap_or(0);
    let high = inside.iter().map(|reach| reach.high).max().unwrap_or(0);
    if growth[0] < high - low {
        return false;
    }
    // The counter begins at `first`, and these positions are relative to counter 0.
    let end = high + growth[0] * i128::from(counted.rounds - 1) + growth[0] / i128::from(counted.step) * i128::from(counted.first);
    if after.iter().any(|reach| reach.low < end) {
        return false;
    }
    let begin = low + growth[0] / i128::from(counted.step) * i128::from(counted.first);
    let mut span = after.iter().map(|reach| reach.high).max().unwrap_or(end).max(end) - begin;
    // Equal rounds of this loop belong to the same part, in any round of a loop around it. So they may overlap.
    for (outer, &growth) in around.iter().rev().zip(&growth[1..]) {
        if growth == 0 {
            continue;
        }
        if growth < span {
            return false;
        }
        span += growth * i128::from(outer.rounds - 1);
    }
    true
}

/// Changes the loop at the end of a path to run over a range of its rounds.
fn cut(kernel: &mut Kernel, path: &[usize], rounds: i64) {
    let Some((&last, outer)) = path.split_last() else { return };
    let mut values = Values { types: std::mem::take(&mut kernel.types) };
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
    kernel.types = values.types;
}

/// Makes new values of a kernel.
struct Values {
    types: Vec<Type>,
}

impl Values {
    fn index(&mut self) -> Value {
        self.types.push(Type::INDEX);
        Value::new(self.types.len() - 1)
    }

    fn add(&mut self, list: &mut Vec<Statement>, inst: Inst) -> Value {
        let value = self.index();
        list.push(Statement { results: smallvec![value], inst });
        value
    }

    fn constant(&mut self, list: &mut Vec<Statement>, number: i64) -> Value {
        self.add(list, Inst::Constant { bits: number as u64 })
    }

    fn mask(&mut self, list: &mut Vec<Statement>, op: CompareOp, a: Value, b: Value) -> Value {
        self.types.push(Type::scalar(Lane::Mask));
        let value = Value::new(self.types.len() - 1);
        list.push(Statement { results: smallvec![value], inst: Inst::Compare { op, a, b } });
        value
    }

    fn binary(&mut self, list: &mut Vec<Statement>, op: BinaryOp, a: Value, b: Value) -> Value {
        self.add(list, Inst::Binary { op, a, b })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpret::interpret;
    use crate::kernel::text::parse_kernel;
    use crate::kernel::verify::verify;

    /// Returns the number of rounds of the split loop. Checks that parts in any order leave the same last buffer as the kernel.
    fn rounds(text: &str) -> Option<u64> {
        let kernel = parse_kernel(text).expect("a kernel");
        let cut = in_parts(&kernel, false)?;
        assert_eq!(verify(&cut.kernel), Ok(()), "{}", cut.kernel);
        let new = || -> Vec<Vec<u8>> {
            let of = |data: &BufferData| (0..data.bytes()).map(|i| i as u8).collect();
            kernel.pointer_params().map(|(_, data)| of(data)).collect()
        };
        let (mut whole, mut parts) = (new(), new());
        assert_eq!(interpret(&kernel, &mut whole, &[]), Ok(0));
        let rounds = cut.rounds as i64;
        for (first, end) in [(2, rounds), (0, 1), (1, 2)] {
            assert_eq!(interpret(&cut.kernel, &mut parts, &[first, end]), Ok(0));
        }
        assert_eq!(whole, parts, "{}", cut.kernel);
        Some(cut.rounds)
    }

    #[test]
    fn rows_that_are_apart_are_rounds_with_what_follows_them() {
        let rows = |step: u64| {
            rounds(&format!(
                "kernel @k(x: input i32[80] align 4, y: output i32[80] align 4) {{
                  for %1 in 0..9 step {step} {{
                    %2: i64 = mul %1, 8
                    for %3 in 0..8 step 4 {{
                      %4: i64 = add %2, %3
                      %5: i32x4 = load x[%4]
                      %6: i32x4 = add %5, %5
                      store y[%4], %6
                    }}
                  }}
                  %7: i32x8 = load x[72]
                  store y[72], %7
                }}"
            ))
        };
        assert_eq!(rows(1), Some(9));
        assert_eq!(rows(2), Some(5));
    }

    #[test]
    fn loops_of_few_rounds_are_looked_into() {
        let text = "kernel @k(x: input i32[64] align 4, y: output i32[64] align 4) {
          for %1 in 0..2 step 1 {
            %2: i64 = mul %1, 32
            for %3 in 0..32 step 2 {
              %4: i64 = add %2, %3
              %5: i32x2 = load x[%4]
              store y[%4], %5
            }
          }
        }";
        assert_eq!(rounds(text), Some(16));
    }

    #[test]
    fn rounds_that_reach_into_each_other_are_no_parts() {
        let over = |offset: u64, read: &str| {
            rounds(&format!(
                "kernel @k(x: output i32[80] align 4, y: output i32[80] align 4) {{
                  for %1 in 0..64 step 4 {{
                    %5: i32x4 = load {read}[%1 + {offset}]
                    store y[%1], %5
                  }}
                }}"
            ))
        };
        assert_eq!(over(0, "y"), Some(16));
        assert_eq!(over(1, "y"), None);
        // `x` may overlap `y`.
        assert_eq!((over(0, "x"), over(4, "x")), (Some(16), None));
        let sum = "kernel @k(x: input i32[64] align 4, y: output i32[1] align 4) {
          for %1 in 0..64 step 1 {
            %2: i32 = load y[0]
            %3: i32 = load x[%1]
            %4: i32 = add %2, %3
            store y[0], %4
          }
        }";
        assert_eq!(rounds(sum), None);
    }

    #[test]
    fn what_rounds_leave_in_scratch_memory_ties_them() {
        let text = "kernel @k(x: input i32[64] align 4, y: output i32[64] align 4, s: scratch i32[1] align 4) {
          for %1 in 0..64 step 1 {
            %2: i32 = load x[%1]
            store s[0], %2
            %3: i32 = load s[0]
            store y[%1], %3
          }
        }";
        assert_eq!(rounds(text), None);
        let kernel = parse_kernel(text).expect("a kernel");
        assert_eq!(in_parts(&kernel, true).map(|cut| cut.rounds), Some(64));
    }
}
