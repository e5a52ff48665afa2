//! Merging of kernels that differ only in constants. The merged kernel reads the constants from memory (`kernel/passes/numbers.rs`). Layers of one
//! shape often differ only in zero points, scales and shifts. Kernels are merged only if this makes code and constants together smaller.

use super::pool::Pool;
use crate::kernel::passes::numbers::{Number, Reading, Slots, outline};
use crate::kernel::{Inst, Kernel, Lane, Region, Statement};
use crate::machine::Machine;
use crate::program::{Address, Division, Step, change_calls};
use crate::schedule::Goal;
use rustc_hash::FxHashMap;

/// Minimum number of statements of a kernel to be merged. Shorter kernels are hardly longer than a call and its constants.
const FEWEST_STATEMENTS: usize = 32;

/// Estimated minimum bytes of machine code for a statement, on average.
const LEAST_BYTES: usize = 8;

/// Returns the way in which a merged kernel reads numbers. An instruction that shifts and saturates takes no loaded count. So kernels for speed that
/// shift in an innermost loop keep their counts, on machines that have it.
fn reading(kernel: &Kernel, machine: &Machine, goal: Goal) -> Reading {
    let keeps_counts = machine.clamps && goal == Goal::Speed && shifts_in_innermost_loop(kernel);
    Reading { stored: u32::from(machine.vector_bytes()).max(8), shifts_by_lane: machine.shifts_by_lane && !keeps_counts }
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
pub(super) fn join(level: usize, (machine, goal): (&Machine, Goal), steps: Vec<&mut [Step]>, pool: &mut Pool) {
    let mut kernels = pool.take_kernels(level);
    let outlines: Vec<(Kernel, Vec<Number>)> = kernels.iter().map(|kernel| outline(kernel, reading(kernel, machine, goal))).collect();
    let mut joined: Vec<Joined> = (0..kernels.len()).map(|into| Joined { into, arguments: vec![] }).collect();
    for class in classes(&outlines) {
        let members: Vec<(&Kernel, &[Number])> = class.iter().map(|&i| (&kernels[i], &outlines[i].1[..])).collect();
        // Kernels with equal outlines read in one way.
        let reading = reading(members[0].0, machine, goal);
        let slots = Slots::new(&members, reading);
        if !pay(&slots, &members, reading) {
            continue;
        }
        let kernel = slots.kernel(&members);
        for (&i, (_, numbers)) in class.iter().zip(&members) {
            joined[i] = Joined { into: class[0], arguments: arguments(&slots, numbers, &kernel.name, pool) };
        }
        kernels[class[0]] = kernel;
    }
    let mut left = 0;
    let mut places = Vec::new();
    for (i, joined) in joined.iter().enumerate() {
        places.push(left);
        left += usize::from(joined.into == i);
    }
    for steps in steps {
        change_calls(steps, &mut |call| {
            let Joined { into, arguments } = &joined[call.kernel];
            call.kernel = places[*into];
            call.arguments.extend(arguments);
            if let Division::Blocks(blocks) = &mut call.division {
                blocks.strides.extend(arguments.iter().map(|_| 0));
            }
        });
    }
    let kept = kernels.into_iter().zip(&joined).enumerate().filter(|(i, (_, joined))| joined.into == *i);
    pool.set_kernels(level, kept.map(|(_, (kernel, _))| kernel).collect());
}

/// The replacement of a kernel: the position of the kernel that does its work, and the arguments that its calls add.
struct Joined {
    into: usize,
    arguments: Vec<Address>,
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
fn pay(slots: &Slots, members: &[(&Kernel, &[Number])], reading: Reading) -> bool {
    let numbers = members.len() * slots.len() * reading.stored as usize;
    let code = (members.len() - 1) * statements(&members[0].0.body) * LEAST_BYTES;
    2 * numbers <= code
}

/// Returns the arguments that a kernel's calls add: the address of each slot in a new constant, which holds the kernel's numbers.
fn arguments(slots: &Slots, numbers: &[Number], name: &str, pool: &mut Pool) -> Vec<Address> {
    if slots.is_empty() {
        return vec![];
    }
    let constant = pool.constant(&slots.contents(numbers).into(), || format!("{name}_numbers"));
    slots.starts().into_iter().map(|offset| Address::Constant(constant, offset)).collect()
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
        let reads = |kernel: &Kernel, level, goal| reading(kernel, machine(level).expect("a level"), goal).shifts_by_lane;
        assert!(!reads(&inside, "cortex-m4f", Goal::Speed));
        assert!(reads(&outside, "cortex-m4f", Goal::Speed));
        assert!(reads(&inside, "cortex-m4f", Goal::Size));
        assert!(reads(&inside, "rv32imc", Goal::Speed), "a shift and a saturation are two instructions");
    }
}
