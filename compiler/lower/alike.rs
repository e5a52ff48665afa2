//! Kernels that differ in numbers only become one that reads them from memory: layers of one shape have zero points, scales and shifts of
//! their own, and the same code otherwise. What is a constant in all of them stays one.

use super::pool::Pool;
use crate::ir::Data;
use crate::kernel::{Bounds, Buffer, BufferData, BufferKind, Inst, Kernel, Lane, Region, Statement, Type, Value};
use crate::machine::Machine;
use crate::program::{Address, Step, change_calls};
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Kernels of fewer statements are hardly longer than what a call and its numbers take.
const FEWEST_STATEMENTS: usize = 32;

/// Bytes of code that a statement becomes at least, one with another.
const LEAST_BYTES: usize = 8;

/// The lane types of numbers, each of which has a buffer of its own; wide ones first, so that all are aligned.
const LANES: [Lane; 6] = [Lane::I64, Lane::F64, Lane::I32, Lane::F32, Lane::I16, Lane::I8];

/// A number in a kernel: what may differ in kernels that become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Number {
    lane: Lane,
    bits: u64,
}

/// Bytes that a number has in memory: a vector that repeats it, which instructions read as they read constants, without a register for it.
fn stored_bytes(machine: &Machine) -> u32 {
    u32::from(machine.vector_bytes()).max(8)
}

/// Joins the kernels of a level, whose machine and steps are given, and lets calls pass what they then read.
pub(super) fn join(level: usize, machine: &Machine, steps: Vec<&mut [Step]>, pool: &mut Pool) {
    let mut kernels = pool.take_kernels(level);
    let outlines: Vec<(Kernel, Vec<Number>)> = kernels.iter().map(|kernel| outline(kernel, machine)).collect();
    let mut joined: Vec<Joined> = (0..kernels.len()).map(|into| Joined { into, arguments: vec![] }).collect();
    for class in classes(&outlines) {
        let members: Vec<(&Kernel, &[Number])> = class.iter().map(|&i| (&kernels[i], &outlines[i].1[..])).collect();
        let slots = Slots::new(&members, machine);
        if !slots.pay(&members) {
            continue;
        }
        let kernel = slots.kernel(&members, machine);
        for (&i, (_, numbers)) in class.iter().zip(&members) {
            joined[i] = Joined { into: class[0], arguments: slots.arguments(numbers, &kernel.name, pool) };
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

/// What a kernel becomes: itself or another one, with further arguments.
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

/// A kernel without its name and its numbers, and these in the order of the statements. Sizes of buffers are numbers too, for kernels of
/// the same statements need the same of them.
fn outline(kernel: &Kernel, machine: &Machine) -> (Kernel, Vec<Number>) {
    let mut outline = kernel.clone();
    let mut numbers = Vec::new();
    let mut clamps = false;
    for_each_statement(&mut outline.body, &mut |statement| {
        clamps |= matches!(statement.inst, Inst::Gather { bounds: Bounds::Clamp, .. });
        let Some(number) = number_of(kernel, statement, machine) else { return };
        numbers.push(number);
        match &mut statement.inst {
            Inst::Constant { bits } => *bits = 0,
            Inst::ShiftConstant { count, .. } => *count = 0,
            _ => {}
        }
    });
    outline.name.clear();
    if !clamps {
        outline.buffers.iter_mut().for_each(|buffer| buffer.elements = 0);
    }
    (outline, numbers)
}

/// The number in a statement, if it may as well be read. Indices are what bounds are proven with; a shift whose count is read takes an
/// instruction that not every machine has.
fn number_of(kernel: &Kernel, statement: &Statement, machine: &Machine) -> Option<Number> {
    let [result] = statement.results[..] else { return None };
    let ty = kernel.ty(result);
    match statement.inst {
        Inst::Constant { bits } if ty != Type::INDEX && ty.lane != Lane::Mask => Some(Number { lane: ty.lane, bits }),
        Inst::ShiftConstant { count, .. } if ty.lane == Lane::I32 && machine.shifts_by_lane => {
            Some(Number { lane: Lane::I32, bits: count.into() })
        }
        _ => None,
    }
}

/// Calls `change` for all statements, those of regions after the one that holds them.
fn for_each_statement(region: &mut Region, change: &mut impl FnMut(&mut Statement)) {
    for statement in &mut region.statements {
        change(statement);
        for region in statement.inst.regions_mut() {
            for_each_statement(region, change);
        }
    }
}

fn statements(region: &Region) -> usize {
    let inner = |statement: &Statement| statement.inst.regions().into_iter().map(statements).sum::<usize>();
    region.statements.iter().map(|statement| 1 + inner(statement)).sum()
}

/// What kernels that become one read. Numbers that are equal to each other in every kernel have one place.
struct Slots {
    /// For each number of the outline, its place in the buffer of its lane type, if it is read.
    of_numbers: Vec<Option<usize>>,
    /// For each lane type that there is, the numbers of the outline, one a place.
    places: Vec<(Lane, Vec<usize>)>,
    /// Bytes of a place.
    stored: u32,
}

impl Slots {
    fn new(members: &[(&Kernel, &[Number])], machine: &Machine) -> Self {
        let column = |i: usize| members.iter().map(|(_, numbers)| numbers[i]).collect::<Vec<_>>();
        let mut places = LANES.map(|lane| (lane, Vec::new()));
        let mut known: FxHashMap<Vec<Number>, usize> = FxHashMap::default();
        let of_numbers = (0..members[0].1.len()).map(|i| {
            let column = column(i);
            if column.iter().all(|number| *number == column[0]) {
                return None;
            }
            let (_, list) = places.iter_mut().find(|(lane, _)| *lane == column[0].lane)?;
            let next = list.len();
            let place = *known.entry(column).or_insert(next);
            if place == next {
                list.push(i);
            }
            Some(place)
        });
        let of_numbers = of_numbers.collect();
        let places = places.into_iter().filter(|(_, list)| !list.is_empty()).collect();
        Self { of_numbers, places, stored: stored_bytes(machine) }
    }

    /// Whether one kernel and the numbers of all are clearly smaller than the kernels: by code for at least each number twice over.
    fn pay(&self, members: &[(&Kernel, &[Number])]) -> bool {
        let places: usize = self.places.iter().map(|(_, list)| list.len()).sum();
        let numbers = members.len() * places * self.stored as usize;
        let code = (members.len() - 1) * statements(&members[0].0.body) * LEAST_BYTES;
        2 * numbers <= code
    }

    /// What the call of a kernel of the class passes: the place of each buffer in a constant with its numbers.
    fn arguments(&self, numbers: &[Number], name: &str, pool: &mut Pool) -> Vec<Address> {
        if self.places.is_empty() {
            return vec![];
        }
        let constant = pool.constant(&self.contents(numbers), || format!("{name}_numbers"));
        let starts = self.places.iter().scan(0, |offset, (_, list)| {
            let start = *offset;
            *offset += list.len() as u64 * u64::from(self.stored);
            Some(start)
        });
        starts.map(|offset| Address::Constant(constant, offset)).collect()
    }

    /// The numbers of a kernel, buffer after buffer.
    fn contents(&self, numbers: &[Number]) -> Data {
        let mut bytes: Vec<u8> = Vec::new();
        for (lane, list) in &self.places {
            let (size, repeated) = (lane.bytes() as usize, (self.stored / lane.bytes()) as usize);
            bytes.extend(list.iter().flat_map(|&i| numbers[i].bits.to_le_bytes()[..size].repeat(repeated)));
        }
        bytes.into()
    }

    /// The kernel that does for all.
    fn kernel(&self, members: &[(&Kernel, &[Number])], machine: &Machine) -> Kernel {
        let mut kernel = members[0].0.clone();
        for (i, buffer) in kernel.buffers.iter_mut().enumerate() {
            buffer.elements = members.iter().map(|(member, _)| member.buffers[i].elements).min().unwrap_or(0);
        }
        let mut buffers = HashMap::new();
        for (lane, list) in &self.places {
            buffers.insert(*lane, Buffer::new(kernel.buffers.len()));
            let elements = list.len() as u64 * u64::from(self.stored / lane.bytes());
            let (name, kind, alignment) = (format!("numbers_{}", Type::scalar(*lane)), BufferKind::Input, self.stored);
            kernel.buffers.push(BufferData { name, kind, lane: *lane, elements, alignment });
        }
        let start = Value::new(kernel.types.len());
        kernel.types.push(Type::INDEX);
        let mut body = std::mem::take(&mut kernel.body);
        let numbers = members[0].1.iter().zip(&self.of_numbers);
        let mut reader = Reader { types: &mut kernel.types, buffers: &buffers, start, stored: self.stored, numbers };
        reader.region(&mut body, &|statement| number_of(members[0].0, statement, machine).is_some());
        body.statements.insert(0, Statement { results: vec![start], inst: Inst::Constant { bits: 0 } });
        kernel.body = body;
        kernel
    }
}

/// Puts loads in the place of constants.
struct Reader<'a, N> {
    types: &'a mut Vec<Type>,
    buffers: &'a HashMap<Lane, Buffer>,
    /// The index 0.
    start: Value,
    /// Bytes of a place.
    stored: u32,
    /// The numbers that are still to come, and which of them are read.
    numbers: N,
}

impl<'a, N: Iterator<Item = (&'a Number, &'a Option<usize>)>> Reader<'_, N> {
    fn region(&mut self, region: &mut Region, is_number: &impl Fn(&Statement) -> bool) {
        let mut statements = Vec::with_capacity(region.statements.len());
        for mut statement in std::mem::take(&mut region.statements) {
            let number = if is_number(&statement) { self.numbers.next() } else { None };
            if let Some((number, Some(place))) = number {
                let lanes = self.types[statement.results[0].index()].lanes;
                let read = self.read(&mut statements, number.lane, *place, lanes);
                statement.inst = match statement.inst {
                    Inst::ShiftConstant { op, a, .. } => {
                        let b = self.add(&mut statements, Type::vector(number.lane, lanes), read);
                        Inst::Binary { op, a, b }
                    }
                    _ => read,
                };
            }
            for region in statement.inst.regions_mut() {
                self.region(region, is_number);
            }
            statements.push(statement);
        }
        region.statements = statements;
    }

    /// The instruction that gives a number in this many lanes, which may be more than a place has.
    fn read(&mut self, statements: &mut Vec<Statement>, lane: Lane, place: usize, lanes: u16) -> Inst {
        let per_place = (self.stored / lane.bytes()) as u16;
        let mut held = lanes.min(per_place);
        let offset = place as i64 * i64::from(per_place);
        let mut inst = Inst::Load { buffer: self.buffers[&lane], index: self.start, offset, active: held };
        while held < lanes {
            let half = self.add(statements, Type::vector(lane, held), inst);
            inst = Inst::Join { a: half, b: half };
            held *= 2;
        }
        inst
    }

    fn add(&mut self, statements: &mut Vec<Statement>, ty: Type, inst: Inst) -> Value {
        let value = Value::new(self.types.len());
        self.types.push(ty);
        statements.push(Statement { results: vec![value], inst });
        value
    }
}
