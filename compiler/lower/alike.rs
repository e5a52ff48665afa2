//! Kernels that differ in numbers only become one that reads them from memory (`kernel/passes/numbers.rs`), where that makes less of code and
//! numbers: layers of one shape have zero points, scales and shifts of their own, and the same code otherwise.

use super::pool::Pool;
use crate::kernel::passes::numbers::{Number, Reading, Slots, outline};
use crate::kernel::{Kernel, Region, Statement};
use crate::machine::Machine;
use crate::program::{Address, Step, change_calls};
use rustc_hash::FxHashMap;

/// Kernels of fewer statements are hardly longer than what a call and its numbers take.
const FEWEST_STATEMENTS: usize = 32;

/// Bytes of code that a statement becomes at least, one with another.
const LEAST_BYTES: usize = 8;

/// Joins the kernels of a level, whose machine and steps are given, and lets calls pass what they then read.
pub(super) fn join(level: usize, machine: &Machine, steps: Vec<&mut [Step]>, pool: &mut Pool) {
    let mut kernels = pool.take_kernels(level);
    let reading = Reading { stored: u32::from(machine.vector_bytes()).max(8), shifts_by_lane: machine.shifts_by_lane };
    let outlines: Vec<(Kernel, Vec<Number>)> = kernels.iter().map(|kernel| outline(kernel, reading)).collect();
    let mut joined: Vec<Joined> = (0..kernels.len()).map(|into| Joined { into, arguments: vec![] }).collect();
    for class in classes(&outlines) {
        let members: Vec<(&Kernel, &[Number])> = class.iter().map(|&i| (&kernels[i], &outlines[i].1[..])).collect();
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
            if let Some(slices) = &mut call.slices {
                slices.strides.extend(arguments.iter().map(|_| 0));
            }
        });
    }
    let kept = kernels.into_iter().zip(&joined).enumerate().filter(|(i, (_, joined))| joined.into == *i);
    pool.set_kernels(level, kept.map(|(_, (kernel, _))| kernel).collect());
}

/// The kernel that a kernel becomes: itself or another one, with further arguments.
struct Joined {
    into: usize,
    arguments: Vec<Address>,
}

/// The positions of kernels that become one.
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

/// Tells whether one kernel and the numbers of all are clearly smaller than the kernels: by code for at least each number twice over.
fn pay(slots: &Slots, members: &[(&Kernel, &[Number])], reading: Reading) -> bool {
    let numbers = members.len() * slots.len() * reading.stored as usize;
    let code = (members.len() - 1) * statements(&members[0].0.body) * LEAST_BYTES;
    2 * numbers <= code
}

/// The further arguments of a kernel's call: the place of each buffer in a constant with its numbers.
fn arguments(slots: &Slots, numbers: &[Number], name: &str, pool: &mut Pool) -> Vec<Address> {
    if slots.is_empty() {
        return vec![];
    }
    let constant = pool.constant(&slots.contents(numbers).into(), || format!("{name}_numbers"));
    slots.starts().into_iter().map(|offset| Address::Constant(constant, offset)).collect()
}
