//! Variables that live on the device: the variables that only the device uses, if the program always runs with it. The host does not have them, and they
//! are never copied. A separate region writes their initial contents.

use super::dispatches::Dispatches;
use super::flow::Flow;
use super::hazards::Work;
use super::joined::Operand;
use super::mirror::Mirror;
use super::ranges::Bytes;
use crate::kernel::intervals::{Assumed, Interval};
use crate::kernel::passes::grid::WORKGROUP;
use crate::kernel::passes::narrow;
use crate::kernel::{BufferKind, Grid, Kernel, KernelBuilder, Lane, Type};
use crate::machine::Alignment;
use crate::program::{Address, DeviceMemory, DeviceRegion, Method, Variable, change_addresses};

/// Bytes of a word.
const WORD: u64 = 4;

/// Words that a position writes, if the number of words is a multiple of this.
const WORDS: u64 = 4;

/// The bytes that a method accesses.
pub struct Touched<'a> {
    /// Bytes of the host's calls.
    pub host: &'a Bytes,
    /// Bytes of the device's calls.
    pub device: &'a Bytes,
}

/// Chooses the variables that only the device uses. `touched` has the bytes that each method accesses.
pub fn choose(variables: &[Variable], mirror: &Mirror, touched: &[Touched<'_>]) -> Vec<bool> {
    let lives_there = |variable: &Variable| {
        let bytes = place(variable, mirror)..place(variable, mirror) + variable.bytes;
        touched.iter().all(|touched| !touched.host.meets(&bytes)) && touched.iter().any(|touched| touched.device.meets(&bytes))
    };
    variables.iter().map(lives_there).collect()
}

/// Returns the chosen variables, with their offsets in the area.
pub fn in_area(variables: &[Variable], chosen: &[bool], mirror: &Mirror) -> Vec<Variable> {
    let chosen = variables.iter().zip(chosen).filter(|(_, chosen)| **chosen);
    chosen.map(|(variable, _)| Variable { offset: place(variable, mirror), ..variable.clone() }).collect()
}

fn place(variable: &Variable, mirror: &Mirror) -> u64 {
    mirror.place(Address::Variable(variable.offset)).unwrap_or(0)
}

/// Makes the region that writes the initial contents of variables in the area. `None` if a part of a variable cannot be bound.
pub fn first_contents(variables: &[Variable], dispatches: &mut Dispatches<'_>) -> Option<DeviceRegion> {
    // An operand may begin up to the offset alignment after the start of its bound range.
    let most = dispatches.gpu.range_bytes - dispatches.gpu.offset_alignment;
    let mut works: Vec<Work> = Vec::new();
    for variable in variables {
        let bytes = variable.bytes.next_multiple_of(WORD);
        let from = variable.initial.map(|constant| dispatches.constant(constant));
        for start in (0..bytes).step_by(most as usize) {
            let piece = (bytes - start).min(most);
            let operand = |memory, first: u64, is_written| {
                let start = first + start;
                Operand { memory, start, end: start + piece, is_written, begins: false }
            };
            let mut operands: Vec<Operand> = from.iter().map(|&from| operand(DeviceMemory::Constants, from, false)).collect();
            operands.push(operand(DeviceMemory::Area, variable.offset, true));
            works.push(dispatches.of_no_call(fill(piece / WORD, from.is_some()), &operands)?);
        }
    }
    let mut flow = Flow::default();
    flow.dispatches(&works);
    Some(DeviceRegion { steps: flow.steps, ..DeviceRegion::default() })
}

/// Makes a kernel that writes a number of words: a copy of another buffer, or zeros.
fn fill(words: u64, copies: bool) -> Kernel {
    let lanes = if words.is_multiple_of(WORDS) { WORDS } else { 1 };
    let positions = words / lanes;
    let mut b = KernelBuilder::new(if copies { "first_contents" } else { "zeros" });
    let from = copies.then(|| b.buffer("initial", BufferKind::Input, Lane::I32, words, WORD as u32));
    let to = b.buffer("variable", BufferKind::Output, Lane::I32, words, WORD as u32);
    let position = b.grid(Grid { positions, workgroup: WORKGROUP });
    let index = b.scale_index(position, lanes as i64, 0);
    let value = match from {
        Some(from) => b.load(from, index, 0, lanes as u16),
        None => b.zero(Type { lane: Lane::I32, lanes: lanes as u16 }),
    };
    b.store(to, index, 0, value);
    let last = Interval { low: 0, high: positions as i64 - 1 };
    narrow(&b.finish(), &Assumed { parameters: vec![last], ..Assumed::default() })
}

/// Removes the chosen variables from the host. Their addresses become addresses on the device, and the remaining variables move together. Returns the
/// bytes of the remaining variables.
pub fn move_out<'m>(
    variables: &mut Vec<Variable>,
    chosen: &[bool],
    mirror: &Mirror,
    methods: impl Iterator<Item = &'m mut Method>,
    regions: &mut [DeviceRegion],
) -> u64 {
    let moves = moves(variables, chosen, mirror);
    let mut change = |address: &mut Address| {
        if let Address::Variable(offset) = *address
            && let Some(moved) = moves.iter().rev().find(|moved| moved.from <= offset)
        {
            *address = moved.to.plus(offset - moved.from);
        }
    };
    for method in methods {
        change_addresses(&mut method.steps, &mut change);
        method.input_extents.iter_mut().chain(&mut method.output_extents).for_each(|extent| change(&mut extent.cell));
    }
    regions.iter_mut().flat_map(|region| region.enter.iter_mut().chain(&mut region.leave)).for_each(|crossing| change(&mut crossing.host));
    let mut stays = chosen.iter().map(|chosen| !chosen);
    variables.retain(|_| stays.next().unwrap_or(true));
    for variable in variables.iter_mut() {
        let mut address = Address::Variable(variable.offset);
        change(&mut address);
        if let Address::Variable(offset) = address {
            variable.offset = offset;
        }
    }
    variables.last().map_or(0, |last| last.offset + last.bytes)
}

/// New address of a variable.
struct Move {
    /// Its old offset.
    from: u64,
    to: Address,
}

/// Returns the new address of each variable. A variable that stays keeps its distance to a multiple of the alignment, because kernels rely on it.
fn moves(variables: &[Variable], chosen: &[bool], mirror: &Mirror) -> Vec<Move> {
    let mut end = 0;
    let to = |(variable, chosen): (&Variable, &bool)| {
        if *chosen {
            return Move { from: variable.offset, to: Address::Resident(place(variable, mirror)) };
        }
        let offset = end + (variable.offset - end) % Alignment::LINE.bytes();
        end = offset + variable.bytes;
        Move { from: variable.offset, to: Address::Variable(offset) }
    };
    variables.iter().zip(chosen).map(to).collect()
}
