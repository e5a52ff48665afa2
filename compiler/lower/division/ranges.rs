//! Runs of kernel calls that threads divide into the same ranges. A task of `parallel_for` computes range *i* of all calls of a run, one call after the
//! other. Threads meet once for the run.
//!
//! In a run, no range accesses bytes that another range writes, in any call, including working memory. This is checked for every possible number of
//! ranges, with the addresses of the plan and the indices of a range of rounds ([`crate::kernel::dependence::footprint`]). So pointwise layers follow
//! a depthwise one row by row. A new run begins at a window that reads rows of neighbouring ranges. It also begins at a call whose output overwrites
//! bytes that another range still reads.

use super::touch::{Touch, are_disjoint};
use crate::kernel::dependence::footprint::{Touched, footprint};
use crate::kernel::{BufferKind, Kernel};
use crate::lower::options::Options;
use crate::program::{Address, Call, Division, Parallel, Ranges, Step, Tasks, change_lists};
use crate::schedule::Threads;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;

/// Maximum number of threads for which calls are joined. Every number of ranges must be checked, so this limits the work of the compiler.
const MOST_THREADS: u32 = 8;

/// Maximum growth of a call's largest range if it runs together with others, in percent.
const UNEVEN: u64 = 3;

/// Tests whether calls are joined to runs: for several threads, if there is no device.
pub(in crate::lower) fn takes(options: Options) -> bool {
    options.gpu.is_none() && (2..=MOST_THREADS).contains(&options.threads.count)
}

/// Joins consecutive calls to runs. `kernels` are the kernels of the level.
pub(in crate::lower) fn join(steps: &mut Vec<Step>, kernels: &[Kernel], threads: Threads) {
    let mut joining = Joining { kernels, threads, known: FxHashMap::default() };
    change_lists(steps, &mut |list| joining.list(list));
}

struct Joining<'k> {
    kernels: &'k [Kernel],
    threads: Threads,
    /// Elements that a range of a kernel accesses, by kernel and range.
    known: FxHashMap<(usize, [i64; 2]), Rc<Vec<Touched>>>,
}

/// A call that may be divided.
struct Member<'c> {
    call: &'c Call,
    ranges: &'c Ranges,
}

/// Memories that never overlap. Callers must ensure this for their buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Scratch,
    Area(u32),
    Variables,
    Input(u32),
    Output(u32),
}

/// One of the ranges of a run: its number among `count`.
#[derive(Clone, Copy)]
struct Nth {
    number: u32,
    count: u32,
}

impl Joining<'_> {
    /// Joins calls of a list, without the lists inside it.
    fn list(&mut self, steps: &mut Vec<Step>) {
        let mut run: Vec<Step> = Vec::new();
        for step in std::mem::take(steps) {
            run.push(step);
            if self.rounds(&run).is_none()
                && let Some(last) = run.pop()
            {
                self.finish(std::mem::replace(&mut run, vec![last]), steps);
            }
        }
        self.finish(run, steps);
    }

    /// Adds a run to the steps: as one step if it has several calls, else unchanged.
    fn finish(&mut self, run: Vec<Step>, steps: &mut Vec<Step>) {
        match self.rounds(&run) {
            Some(rounds) if run.len() > 1 => {
                let most = members(&run).unwrap_or_default().iter().map(|member| member.ranges.most).min().unwrap_or(1);
                let tasks = Tasks::Ranges { rounds, most: most.min(self.threads.count) };
                steps.push(Step::Parallel(Parallel { calls: run, tasks }));
            }
            _ => steps.extend(run),
        }
    }

    /// Returns the common rounds of a run: the greatest common divisor of its calls' rounds. `None` if the calls cannot run together.
    fn rounds(&mut self, run: &[Step]) -> Option<u64> {
        let members = members(run)?;
        let rounds = members.iter().map(|member| member.ranges.rounds).reduce(greatest_common_divisor)?;
        let most = members.iter().map(|member| member.ranges.most).min()?.min(self.threads.count);
        let alone = members.len() == 1;
        let fits = alone || self.is_even(&members, rounds) && (2..=most).all(|count| self.are_apart(&members, rounds, count));
        (fits && most > 1).then_some(rounds)
    }

    /// Tests whether each call is divided about as evenly as it would be alone.
    fn is_even(&self, members: &[Member<'_>], rounds: u64) -> bool {
        // With a limit of 0, which tests use, every possible run is made.
        let threads = u64::from(self.threads.count);
        let whole = |extent: u64| extent.div_ceil(threads) * threads;
        let even = |member: &Member<'_>| {
            let (together, alone) = (whole(rounds) * member.ranges.rounds, whole(member.ranges.rounds) * rounds);
            100 * u128::from(together) <= u128::from(100 + UNEVEN) * u128::from(alone)
        };
        self.threads.least_instructions == 0 || members.iter().all(even)
    }

    /// Tests whether `count` ranges are independent: no range accesses bytes that another one writes.
    fn are_apart(&mut self, members: &[Member<'_>], rounds: u64, count: u32) -> bool {
        let touched = |number: u32| -> Option<Vec<Touch<Memory>>> {
            let mut all = Vec::new();
            for member in members {
                all.extend(self.touched(member, rounds, Nth { number, count })?);
            }
            Some(all)
        };
        (0..count).map(touched).collect::<Option<Vec<_>>>().is_some_and(|ranges| are_disjoint(&ranges))
    }

    /// Returns the bytes that a range of a call accesses. `None` if an address or an index is not known.
    fn touched(&mut self, member: &Member<'_>, rounds: u64, Nth { number, count }: Nth) -> Option<Vec<Touch<Memory>>> {
        let (call, kernel) = (member.call, self.kernels.get(member.call.kernel)?);
        let bound = |number: u32| i64::try_from(u64::from(number) * rounds / u64::from(count) * (member.ranges.rounds / rounds)).ok();
        let range = [bound(number)?, bound(number + 1)?];
        let touched = self.known.entry((call.kernel, range)).or_insert_with(|| Rc::new(footprint(kernel, &range))).clone();
        let mut all = Vec::new();
        for (argument, (buffer, data)) in kernel.pointer_params().enumerate() {
            let address = *call.arguments.get(argument)?;
            if matches!(address, Address::Constant(..)) {
                continue;
            }
            let most = *member.ranges.bytes.get(argument)?;
            let mut add = |address: Address, bytes: Range<u64>, writes: bool| {
                let (memory, start) = place(address)?;
                all.push(Touch { memory, bytes: start + bytes.start.min(most)..start + bytes.end.min(most), stride: None, writes });
                Some(())
            };
            if data.kind == BufferKind::Scratch {
                add(private(member.ranges, argument, number).unwrap_or(address), 0..most, true)?;
                continue;
            }
            let size = u64::from(data.lane.bytes());
            for Touched { elements, writes, .. } in touched.iter().filter(|touched| touched.buffer == buffer) {
                add(address, elements.start.saturating_mul(size)..elements.end.saturating_mul(size), *writes)?;
            }
        }
        Some(all)
    }
}

/// Returns the divisible calls of steps. `None` if a step is not a divisible call.
fn members(run: &[Step]) -> Option<Vec<Member<'_>>> {
    run.iter().map(member).collect()
}

fn member(step: &Step) -> Option<Member<'_>> {
    let Step::Call(call) = step else { return None };
    let Division::Ranges(ranges) = &call.division else { return None };
    (ranges.most > 1 && ranges.rounds > 0 && call.bounds.is_empty()).then_some(Member { call, ranges })
}

/// Returns the address of a range's private memory. `None` for the first range, which uses the call's own.
fn private(ranges: &Ranges, argument: usize, number: u32) -> Option<Address> {
    let further = u64::from(number.checked_sub(1)?);
    let private = ranges.private.iter().find(|private| private.argument == argument)?;
    Some(private.second.plus(further * private.step))
}

/// Returns the memory and the offset of an address. `None` for constants, moving places and addresses on a device.
fn place(address: Address) -> Option<(Memory, u64)> {
    match address {
        Address::Scratch(offset) => Some((Memory::Scratch, offset)),
        Address::Variable(offset) => Some((Memory::Variables, offset)),
        Address::Input(number, offset) => Some((Memory::Input(number), offset)),
        Address::Output(number, offset) => Some((Memory::Output(number), offset)),
        Address::Area(number, offset) => Some((Memory::Area(number), offset)),
        Address::Moving(..) | Address::Resident(_) | Address::Constant(..) => None,
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::dependence::apart;
    use crate::kernel::passes::range::of_rounds;
    use crate::kernel::text::parse_kernel;
    use crate::machine::MACHINES;
    use crate::program::{Origin, Private};

    /// Makes a kernel that writes a row of eight elements in each of `rows` rounds. Its input has `above` more rows, which each round reads as a window.
    fn rows(rows: u64, above: u64) -> Kernel {
        let text = format!(
            "kernel @k(x: input i8[{}] align 1, y: output i8[{}] align 1) {{
              for each %1 in 0..{rows} step 1 {{
                %2: i64 = mul %1, 8
                for %5 in 0..{} step 1 {{
                  %6: i64 = mul %5, 8
                  %3: i64 = add %2, %6
                  %4: i8x8 = load x[%3]
                  store y[%2], %4
                }}
              }}
            }}",
            (rows + above) * 8,
            rows * 8,
            above + 1
        );
        of_rounds(&parse_kernel(&text).expect("a kernel"), &apart(2)).expect("independent rounds").kernel
    }

    fn call(kernel: usize, rounds: u64, [from, to]: [u64; 2]) -> Step {
        Step::Call(Call {
            kernel,
            arguments: vec![Address::Scratch(from), Address::Scratch(to)],
            bounds: vec![],
            division: Division::Ranges(Ranges { rounds, most: 64, private: vec![], bytes: vec![160; 2] }),
            origin: Origin::default(),
        })
    }

    /// Returns the number of rounds and calls of each run. A single call has 0 rounds.
    fn runs(mut steps: Vec<Step>, threads: Threads) -> Vec<(u64, usize)> {
        let kernels = [rows(16, 0), rows(16, 2), rows(8, 0)];
        join(&mut steps, &kernels, threads);
        let of = |step: &Step| match step {
            Step::Parallel(Parallel { calls, tasks: Tasks::Ranges { rounds, most } }) => {
                assert_eq!(*most, threads.count);
                (*rounds, calls.len())
            }
            _ => (0, 1),
        };
        steps.iter().map(of).collect()
    }

    #[test]
    fn rows_follow_rows_and_windows_begin() {
        let chain = || vec![call(1, 16, [0, 200]), call(0, 16, [200, 400]), call(0, 16, [400, 600]), call(1, 16, [600, 800])];
        for threads in 2..=8 {
            assert_eq!(runs(chain(), Threads::new(threads)), [(16, 3), (0, 1)]);
        }
        let takes = |threads| takes(Options { threads: Threads::new(threads), ..Options::new(&MACHINES[0]) });
        assert_eq!([1, 2, 8, 9].map(takes), [false, true, true, false]);
    }

    #[test]
    fn what_a_range_overwrites_no_other_reads() {
        // The last call writes to the operand of the first one, in place in the first case and shifted in the second.
        let in_place = vec![call(0, 16, [0, 200]), call(0, 16, [200, 0])];
        assert_eq!(runs(in_place, Threads::new(2)), [(16, 2)]);
        let aside = vec![call(0, 16, [0, 200]), call(0, 16, [200, 8])];
        assert_eq!(runs(aside, Threads::new(2)), [(0, 1); 2]);
        // The second range of the first call has its working memory where the first range of the second call writes.
        let mut first = call(0, 16, [0, 200]);
        let Step::Call(working) = &mut first else { unreachable!("a call") };
        let second = Private { argument: 1, second: Address::Scratch(400), step: 128 };
        working.division = Division::Ranges(Ranges { rounds: 16, most: 2, private: vec![second], bytes: vec![128; 2] });
        let mut kernel = rows(16, 0);
        kernel.buffers[1].kind = BufferKind::Scratch;
        let mut steps = vec![first, call(1, 16, [600, 400])];
        join(&mut steps, &[kernel, rows(16, 0)], Threads::new(2));
        assert_eq!(steps.len(), 2);
    }

    #[test]
    fn rounds_are_shared_where_parts_stay_even() {
        // The second call has twice as many rounds as the first one. A row of the first is two rows of the second.
        let steps = || vec![call(2, 8, [0, 200]), call(0, 16, [400, 600])];
        assert_eq!(runs(steps(), Threads::new(2)), [(8, 2)]);
        assert_eq!(runs(steps(), Threads::new(6)), [(0, 1); 2], "2 of 8 are more than 3 of 16");
        let tested = Threads { count: 6, least_instructions: 0 };
        assert_eq!(runs(steps(), tested), [(8, 2)]);
    }

    #[test]
    fn a_kernel_of_smaller_tensors_too_touches_what_the_call_does() {
        // With 16 rows, the second call writes 128 bytes from offset 8 on. With the 8 rows of the kernel's buffers it would write half of them.
        let mut kernel = rows(16, 0);
        kernel.buffers.iter_mut().for_each(|buffer| buffer.elements = 64);
        let mut steps = vec![call(0, 16, [80, 400]), call(0, 16, [400, 8])];
        join(&mut steps, &[kernel], Threads::new(2));
        assert_eq!(steps.len(), 2, "the last rows are written where the first range reads");
    }

    #[test]
    fn other_steps_and_whole_calls_are_between_runs() {
        let mut whole = call(0, 16, [200, 400]);
        if let Step::Call(call) = &mut whole {
            call.division = call.division.clone().undivided();
        }
        let then = vec![call(0, 16, [0, 200]), call(0, 16, [200, 400])];
        let branch = Step::If { condition: Address::Scratch(800), then, otherwise: vec![] };
        let mut steps = vec![call(0, 16, [0, 200]), whole, call(0, 16, [200, 400]), branch];
        join(&mut steps, &[rows(16, 0)], Threads::new(2));
        let Step::If { then, .. } = &steps[3] else { panic!("{steps:?}") };
        assert!(matches!(then[..], [Step::Parallel(_)]), "{then:?}");
    }
}
