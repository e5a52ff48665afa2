//! Merging of kernels that differ only in constants. The merged kernel reads the constants from memory (`kernel/passes/numbers.rs`). Layers of one
//! shape often differ only in zero points, scales and shifts. Kernels are merged only if this makes code and constants together smaller.

use super::Pool;
use crate::kernel::passes::numbers::{Number, Reading, Slots, outline};
use crate::kernel::passes::renumbered;
use crate::kernel::{Inst, Kernel, Lane, Region, Statement};
use crate::lower::division::ranges;
use crate::lower::options::Options;
use crate::machine::Machine;
use crate::program::{Address, Division, Step, change_calls};
use crate::schedule::Goal;
use rustc_hash::{FxHashMap, FxHashSet};

/// Minimum number of statements of a kernel to be merged. Shorter kernels are hardly longer than a call and its constants.
const FEWEST_STATEMENTS: usize = 32;

/// Estimated minimum bytes of machine code for a statement, on average.
const LEAST_BYTES: usize = 8;

/// Returns the way in which a merged kernel reads numbers. An instruction that shifts and saturates takes no loaded count. So kernels for speed that
/// shift in an innermost loop keep their counts, on machines that have it.
fn reading(kernel: &Kernel, machine: &Machine, over: Over) -> Reading {
    let keeps_counts = machine.clamps && over == Over::Constants && shifts_in_innermost_loop(kernel);
    let shifts_by_lane = machine.shifts_by_lane && !keeps_counts;
    let stored = u32::from(machine.vector_bytes());
    match over {
        Over::Everything => Reading { stored, shifts_by_lane, indices: true },
        Over::Constants | Over::Counts => Reading { stored: stored.max(8), shifts_by_lane, indices: false },
    }
}

/// The numbers in which merged kernels may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) enum Over {
    /// Constants of values, for speed.
    Constants,
    /// Counts of shifts in innermost loops, too.
    Counts,
    /// Bounds of loops, strides and offsets, too.
    Everything,
}

impl Over {
    /// Returns the numbers for options. Ranges for threads and the estimate of a GPU's work read bounds of loops in kernels.
    pub(in crate::lower) fn of(options: &Options) -> Self {
        match options.goal {
            Goal::Speed => Self::Constants,
            Goal::Size if ranges::takes(*options) || options.gpu.is_some() || options.areas.weights.is_some() => Self::Counts,
            Goal::Size => Self::Everything,
        }
    }

    /// Returns the numbers over which kernels are merged, one after the other. A class over everything may hold too many numbers to pay, and parts of
    /// it may differ in fewer.
    fn in_turn(self) -> &'static [Self] {
        match self {
            Self::Constants => &[Self::Constants],
            Self::Counts => &[Self::Counts],
            Self::Everything => &[Self::Everything, Self::Counts],
        }
    }
}

/// Tests whether an innermost loop shifts words by a constant.
fn shifts_in_innermost_loop(kernel: &Kernel) -> bool {
    let is_shift = |statement: &Statement| {
        let of_words = statement.results.iter().all(|&result| kernel.ty(result).lane == Lane::I32);
        matches!(statement.inst, Inst::ShiftConstant { .. }) && of_words
    };
    kernel.statements().any(|statement| match &statement.inst {
        Inst::For { body, .. } => {
            body.statements.iter().all(|inner| inner.inst.regions().is_empty()) && body.statements.iter().any(is_shift)
        }
        _ => false,
    })
}

/// Merges kernels of a level. The calls in `steps` are changed to the merged kernels, and pass the addresses of their constants.
pub(in crate::lower) fn join(level: usize, (machine, over): (&Machine, Over), steps: Vec<&mut [Step]>, pool: &mut Pool) {
    let mut kernels = pool.take_kernels(level);
    if over == Over::Everything {
        kernels.iter_mut().for_each(|kernel| *kernel = renumbered(kernel));
    }
    let mut joined: Vec<Joined> = (0..kernels.len()).map(|into| Joined { into, numbers: None }).collect();
    let mut tables = Tables { share_one: over == Over::Everything, alignment: u64::from(machine.vector_bytes()).max(8), list: vec![] };
    // Positions of the kernels that are not merged yet.
    let mut open: Vec<usize> = (0..kernels.len()).collect();
    for &over in over.in_turn() {
        let outlines: Vec<(Kernel, Vec<Number>)> =
            open.iter().map(|&i| outline(&kernels[i], reading(&kernels[i], machine, over))).collect();
        let mut merged = FxHashSet::default();
        for class in classes(&outlines) {
            let members: Vec<(&Kernel, &[Number])> = class.iter().map(|&i| (&kernels[open[i]], &outlines[i].1[..])).collect();
            // Kernels with equal outlines read in one way.
            let reading = reading(members[0].0, machine, over);
            let slots = Slots::new(&members, reading);
            if !pay(&slots, &members) || !slots.are_proven(&members) {
                continue;
            }
            let kernel = slots.kernel(&members);
            let into = open[class[0]];
            for (&i, (_, numbers)) in class.iter().zip(&members) {
                joined[open[i]] = Joined { into, numbers: tables.add(&slots, numbers, &kernel.name) };
                merged.insert(open[i]);
            }
            kernels[into] = kernel;
        }
        open.retain(|i| !merged.contains(i));
    }
    let arguments = tables.arguments(&joined, pool);
    let mut left = 0;
    let mut places = Vec::new();
    for (i, joined) in joined.iter().enumerate() {
        places.push(left);
        left += usize::from(joined.into == i);
    }
    for steps in steps {
        change_calls(steps, &mut |call| {
            let arguments = &arguments[call.kernel];
            call.kernel = places[joined[call.kernel].into];
            call.arguments.extend(arguments);
            if let Division::Blocks(blocks) = &mut call.division {
                blocks.strides.extend(arguments.iter().map(|_| 0));
            }
        });
    }
    let kept = kernels.into_iter().zip(&joined).enumerate().filter(|(i, (_, joined))| joined.into == *i);
    pool.set_kernels(level, kept.map(|(_, (kernel, _))| kernel).collect());
}

/// The replacement of a kernel: the position of the kernel that does its work, and the numbers that its calls pass.
struct Joined {
    into: usize,
    numbers: Option<Placed>,
}

/// The place of a kernel's numbers: a table, and the offset of each buffer in it.
struct Placed {
    table: usize,
    starts: Vec<u64>,
}

/// Tables of numbers, which become constants.
struct Tables {
    /// `true` if kernels share a table. Each constant is aligned, so one needs less memory than many.
    share_one: bool,
    /// Alignment of a kernel's numbers in a table.
    alignment: u64,
    /// Names and contents.
    list: Vec<(String, Vec<u8>)>,
}

impl Tables {
    /// Adds the numbers of a kernel. Returns their place; `None` if there are none.
    fn add(&mut self, slots: &Slots, numbers: &[Number], name: &str) -> Option<Placed> {
        if slots.is_empty() {
            return None;
        }
        let contents = slots.contents(numbers);
        if !self.share_one || self.list.is_empty() {
            let name = if self.share_one { "numbers".into() } else { format!("{name}_numbers") };
            self.list.push((name, vec![]));
        }
        let table = self.list.len() - 1;
        let bytes = &mut self.list[table].1;
        bytes.resize((bytes.len() as u64).next_multiple_of(self.alignment) as usize, 0);
        let first = bytes.len() as u64;
        bytes.extend(contents);
        Some(Placed { table, starts: slots.starts().into_iter().map(|start| first + start).collect() })
    }

    /// Makes constants of the tables. Returns the arguments that calls of each kernel add.
    fn arguments(self, joined: &[Joined], pool: &mut Pool) -> Vec<Vec<Address>> {
        let constants: Vec<u32> = self.list.into_iter().map(|(name, bytes)| pool.constant(&bytes.into(), || name)).collect();
        let addresses = |placed: &Placed| placed.starts.iter().map(|&start| Address::Constant(constants[placed.table], start)).collect();
        joined.iter().map(|joined| joined.numbers.as_ref().map_or(vec![], addresses)).collect()
    }
}

/// Returns classes of kernels with equal outlines, as lists of positions. Each class has at least two kernels.
fn classes(outlines: &[(Kernel, Vec<Number>)]) -> Vec<Vec<usize>> {
    let mut classes: Vec<Vec<usize>> = Vec::new();
    let mut by_outline: FxHashMap<&Kernel, usize> = FxHashMap::default();
    for (number, (outline, _)) in outlines.iter().enumerate().filter(|(_, (outline, _))| statements(&outline.body) >= FEWEST_STATEMENTS) {
        let class = *by_outline.entry(outline).or_insert(classes.len());
        if class == classes.len() {
            classes.push(vec![]);
        }
        classes[class].push(number);
    }
    classes.retain(|class| class.len() > 1);
    classes
}

fn statements(region: &Region) -> usize {
    let inner = |statement: &Statement| statement.inst.regions().into_iter().map(statements).sum::<usize>();
    region.statements.iter().map(|statement| 1 + inner(statement)).sum()
}

/// Tests whether a merge pays: the estimated code that it saves must be at least twice the bytes of all members' constants.
fn pay(slots: &Slots, members: &[(&Kernel, &[Number])]) -> bool {
    let numbers = members.len() * slots.bytes();
    let code = (members.len() - 1) * statements(&members[0].0.body) * LEAST_BYTES;
    2 * numbers <= code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::text::parse_kernel;
    use crate::machine::machine;

    #[test]
    fn counts_of_innermost_loops_stay_where_shifts_saturate() {
        let kernel = |inner: &str, outer: &str| {
            let text = format!(
                "kernel @k(x: input i32[8] align 4, y: output i32[16] align 4) {{
                  for %1 in 0..8 step 1 {{
                    %2: i32 = load x[%1]
                    {inner}
                  }}
                  %5: i32 = load x[0]
                  {outer}
                }}"
            );
            parse_kernel(&text).expect("a kernel")
        };
        let inside = kernel("%3: i32 = shift_right_signed %2, 3\n store y[%1], %3", "store y[8], %5");
        let outside = kernel("store y[%1], %2", "%6: i32 = shift_right_signed %5, 3\n store y[8], %6");
        let reads = |kernel: &Kernel, level, over| reading(kernel, machine(level).expect("a level"), over).shifts_by_lane;
        assert!(!reads(&inside, "cortex-m4f", Over::Constants));
        assert!(reads(&outside, "cortex-m4f", Over::Constants));
        assert!(reads(&inside, "cortex-m4f", Over::Counts));
        assert!(reads(&inside, "rv32imc", Over::Constants), "a shift and a saturation are two instructions");
    }
}
