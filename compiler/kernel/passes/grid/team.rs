//! Rows by whole workgroups: where there are few positions and each of them goes through a long row, the lanes of a workgroup do that together.
//!
//! A loop whose rounds only meet in what it carries is shared out with a stride: each lane takes every n-th round, of n lanes. What is carried is then partial: lanes put it
//! into memory of the workgroup, and a tree makes it one. All else each lane computes for itself, and the first one stores. The order of sums is
//! another one than that of a single position.

use super::super::super::intervals::{Assumed, Interval};
use super::super::super::verify::verify;
use super::Places;
use super::accesses::{Access, Loops};
use super::collide::Rounds;
use super::writes::{Writes, barrier};
use crate::kernel::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// As many positions are enough for every GPU.
const ENOUGH: u64 = 1024;
/// Shorter rows are not worth the barriers.
const LEAST_ROUNDS: i64 = 16;
/// Lanes of a workgroup at most, and at least.
const LANES: std::ops::RangeInclusive<u64> = 8..=super::WORKGROUP as u64;
/// What workgroups of all devices have for sums.
const SHARED_BYTES: u64 = 16 << 10;

/// A kernel with a grid in which workgroups take the place of positions, if that is better. Its pointer parameters are at some places.
///
/// # Panics
/// In debug builds, if it breaks a rule of the language.
pub fn team(kernel: &Kernel, places: &Places) -> Option<Kernel> {
    let grid = kernel.grid.filter(|grid| grid.positions < ENOUGH)?;
    let is_own = |data: &BufferData| matches!(data.kind, BufferKind::Local | BufferKind::Shared);
    if kernel.may_fail() || kernel.has_barrier() || kernel.buffers.iter().any(is_own) {
        return None;
    }
    let steps = Plan::new(kernel, grid, places)?.steps()?;
    let cut = || steps.iter().filter_map(|step| if let Step::Cut { rounds, sums, .. } = step { Some((*rounds, sums)) } else { None });
    let rounds = cut().map(|(rounds, _)| rounds).max().filter(|&rounds| rounds >= LEAST_ROUNDS)?;
    // Of a sum a lane and half as many have room: see `Writer::tree`.
    let bytes = |sums: &Vec<Sum>| sums.iter().map(|sum| 4 * u64::from(sum.ty.lanes)).sum::<u64>();
    let lane_bytes = cut().map(|(_, sums)| bytes(sums)).max().unwrap_or(0);
    let mut lanes = 1u64 << (rounds as u64).min(*LANES.end()).ilog2();
    while lane_bytes * (lanes + lanes / 2) > SHARED_BYTES {
        lanes /= 2;
    }
    if !LANES.contains(&lanes) {
        return None;
    }
    let written = Writer::new(kernel, grid, lanes).kernel(&steps);
    debug_assert_eq!(verify(&written), Ok(()), "{written}");
    Some(written)
}

/// What a loop carries: it begins at the operation's neutral number at each lane.
#[derive(Clone, Copy, Debug)]
struct Sum {
    op: BinaryOp,
    ty: Type,
    neutral: u64,
}

/// What is done with a statement of the body.
enum Step {
    /// Each lane does it.
    All,
    /// The first lane does it.
    First,
    /// A loop with this first round and number of rounds. One lane does each round.
    Cut { rounds: i64, first: i64, sums: Vec<Sum> },
    /// Before it, lanes wait for each other.
    Wait(Box<Step>),
}

/// Finds what can be done by lanes.
struct Plan<'k> {
    kernel: &'k Kernel,
    /// What all lanes of a workgroup have in common, values of the body itself, is computed before all loops.
    loops: Loops<'k>,
}

impl<'k> Plan<'k> {
    fn new(kernel: &'k Kernel, grid: Grid, places: &Places) -> Option<Self> {
        let last = i64::try_from(grid.positions).ok()? - 1;
        let assumed = Assumed { parameters: vec![Interval { low: 0, high: last }], ..Assumed::default() };
        Some(Self { kernel, loops: Loops::of(kernel, &assumed, places) })
    }

    /// What is done with each statement; nothing where some of it cannot be shared out.
    fn steps(&self) -> Option<Vec<Step>> {
        let mut open: Vec<Access> = Vec::new();
        let mut steps = Vec::new();
        for statement in &self.kernel.body.statements {
            let step = self.step(statement)?;
            let own = self.accesses(statement)?;
            let waits = own.iter().any(|a| open.iter().any(|b| self.meet(a, b, None)));
            if waits {
                open.clear();
            }
            open.extend(own);
            steps.push(if waits { Step::Wait(Box::new(step)) } else { step });
        }
        Some(steps)
    }

    fn accesses(&self, statement: &Statement) -> Option<Vec<Access>> {
        let mut list = Vec::new();
        self.loops.accesses(std::slice::from_ref(statement), &mut vec![], &mut list)?;
        Some(list)
    }

    /// Whether two accesses of lanes can meet; in rounds of a loop that differ, where one is given.
    fn meet(&self, a: &Access, b: &Access, counter: Option<Value>) -> bool {
        self.loops.meet(a, b, |other| if Some(other) == counter { Rounds::Differ } else { Rounds::Any })
    }

    fn step(&self, statement: &Statement) -> Option<Step> {
        match &statement.inst {
            Inst::Store { .. } => Some(Step::First),
            Inst::For { carried, body, .. } => match self.cut(statement, carried, body) {
                Some(step) => Some(step),
                None => (!statement.inst.has_effect()).then_some(Step::All),
            },
            inst => (!inst.has_effect()).then_some(Step::All),
        }
    }

    /// The loop as one whose rounds lanes do, if these meet in nothing but sums.
    fn cut(&self, statement: &Statement, carried: &[Value], body: &Region) -> Option<Step> {
        let counter = body.params[0];
        let counted = self.loops.counted(counter).filter(|counted| counted.end.is_none() && counted.rounds > 1)?;
        let sums = (0..carried.len()).map(|number| sum(self.kernel, body, number)).collect::<Option<Vec<_>>>()?;
        let inside = self.accesses(statement)?;
        let apart = !inside.iter().any(|a| inside.iter().any(|b| self.meet(a, b, Some(counter))));
        let first = counted.first.as_number()?;
        apart.then_some(Step::Cut { rounds: counted.rounds, first, sums })
    }
}

/// What a loop does with the value that it carries at a number, if that is one operation, in whatever order of rounds.
fn sum(kernel: &Kernel, body: &Region, number: usize) -> Option<Sum> {
    let (param, last) = (body.params[number + 1], body.yields[number]);
    let ty = kernel.ty(param);
    let mut links = vec![param];
    let mut found: Option<BinaryOp> = None;
    for statement in &body.statements {
        let chain = links[links.len() - 1];
        if !uses(statement, chain) {
            continue;
        }
        let op = match statement.inst {
            Inst::Binary { op: op @ (BinaryOp::Add | BinaryOp::Mul), a, b } if (a == chain) != (b == chain) => op,
            Inst::Binary { op: BinaryOp::Sub, a, b } if a == chain && b != chain => BinaryOp::Add,
            // Of these the first operand is the one that is kept.
            Inst::Binary { op, a, b } if a == chain && b != chain => op,
            Inst::Fma { a, b, c, rounding: Rounding::Nearest } if c == chain && a != chain && b != chain => BinaryOp::Add,
            Inst::Dot { accumulator, a, b, .. } if accumulator == chain && a != chain && b != chain => BinaryOp::Add,
            _ => return None,
        };
        if found.is_some_and(|known| known != op) {
            return None;
        }
        found = Some(op);
        links.push(statement.results[0]);
    }
    let op = found.filter(|_| links.last() == Some(&last))?;
    // Nobody but the next link has a link, and nobody but the end has the last one.
    let is_used_once = |link: &Value| {
        let inside = body.statements.iter().filter(|statement| uses(statement, *link)).count();
        inside + body.yields.iter().filter(|value| *value == link).count() == 1
    };
    if !links.iter().all(is_used_once) {
        return None;
    }
    Some(Sum { op, ty, neutral: neutral(op, ty)? })
}

/// Whether a statement, or one inside it, has a value as an operand.
fn uses(statement: &Statement, value: Value) -> bool {
    let inside = |region: &&Region| region.yields.contains(&value) || region.statements.iter().any(|statement| uses(statement, value));
    statement.inst.operands().contains(&value) || statement.inst.regions().iter().any(inside)
}

/// The bits that change nothing, of operations that can be done in any order on lanes of 32 bits.
fn neutral(op: BinaryOp, ty: Type) -> Option<u64> {
    let is_float = match ty.lane {
        Lane::F32 => true,
        Lane::I32 => false,
        _ => return None,
    };
    let bits = match (op, is_float) {
        (BinaryOp::Add, true) => (-0.0f32).to_bits(),
        (BinaryOp::Mul, true) => 1f32.to_bits(),
        (BinaryOp::FloatMaxFirst | BinaryOp::FloatMaxPropagate | BinaryOp::FloatMaxIgnore, true) => f32::NEG_INFINITY.to_bits(),
        (BinaryOp::FloatMinFirst | BinaryOp::FloatMinPropagate | BinaryOp::FloatMinIgnore, true) => f32::INFINITY.to_bits(),
        (BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor | BinaryOp::UnsignedMax, false) => 0,
        (BinaryOp::Mul, false) => 1,
        (BinaryOp::And | BinaryOp::UnsignedMin, false) => u32::MAX,
        (BinaryOp::SignedMax, false) => i32::MIN as u32,
        (BinaryOp::SignedMin, false) => i32::MAX as u32,
        _ => return None,
    };
    Some(bits.into())
}

/// Writes the kernel.
struct Writer<'k> {
    from: &'k Kernel,
    kernel: Kernel,
    lanes: u64,
    /// The number of a position in its workgroup.
    lane: Value,
    /// Memory of the workgroup for sums, by their number in a loop.
    shared: Vec<Buffer>,
}

impl<'k> Writer<'k> {
    fn new(from: &'k Kernel, grid: Grid, lanes: u64) -> Self {
        let grid = Grid { positions: grid.positions * lanes, workgroup: lanes as u32 };
        let body = Region { params: vec![], statements: vec![], yields: from.body.yields.clone() };
        let kernel = Kernel { grid: Some(grid), body, ..from.clone() };
        Self { from, kernel, lanes, lane: from.body.params[0], shared: vec![] }
    }

    fn kernel(mut self, steps: &[Step]) -> Kernel {
        let position = self.value(Type::INDEX);
        let mut out = Vec::new();
        let lanes = self.number(self.lanes as i64, &mut out);
        // The row has the name that the position had.
        let row = Inst::Binary { op: BinaryOp::UnsignedDiv, a: position, b: lanes };
        out.push(Statement { results: self.from.body.params.clone().into(), inst: row });
        self.lane = self.push(Type::INDEX, Inst::Binary { op: BinaryOp::UnsignedRem, a: position, b: lanes }, &mut out);
        for (statement, step) in self.from.body.statements.iter().zip(steps) {
            self.step(statement, step, &mut out);
        }
        self.kernel.body.params = vec![position];
        self.kernel.body.statements = out;
        self.kernel
    }

    fn step(&mut self, statement: &Statement, step: &Step, out: &mut Vec<Statement>) {
        match step {
            Step::All => out.push(statement.clone()),
            Step::First => {
                let one = self.number(1, out);
                self.only_below(one, vec![statement.clone()], out);
            }
            Step::Cut { rounds, first, sums } => self.cut(statement, (*rounds, *first), sums, out),
            Step::Wait(step) => {
                barrier(out);
                self.step(statement, step, out);
            }
        }
    }

    /// Statements for the lanes below a number.
    fn only_below(&mut self, number: Value, statements: Vec<Statement>, out: &mut Vec<Statement>) {
        let compare = Inst::Compare { op: CompareOp::Less, a: self.lane, b: number };
        let condition = self.push(Type::scalar(Lane::Mask), compare, out);
        let then = Region { statements, ..Region::default() };
        out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
    }

    /// A loop shared out with a stride: each lane does every n-th round, of n lanes.
    fn cut(&mut self, statement: &Statement, (rounds, first): (i64, i64), sums: &[Sum], out: &mut Vec<Statement>) {
        let Inst::For { step, carried, body, .. } = &statement.inst else { return };
        let end = self.number(rounds, out);
        let initial: Vec<Value> = sums.iter().map(|sum| self.push(sum.ty, Inst::Constant { bits: sum.neutral }, out)).collect();
        let mut inner = body.clone();
        let round = self.value(Type::INDEX);
        let mut before = Vec::new();
        let scaled = self.scaled(round, *step, &mut before);
        let first = self.number(first, &mut before);
        before.push(Statement { results: smallvec![body.params[0]], inst: Inst::Binary { op: BinaryOp::Add, a: scaled, b: first } });
        inner.params[0] = round;
        inner.statements.splice(0..0, before);
        let partial: Vec<Value> = sums.iter().map(|sum| self.value(sum.ty)).collect();
        let cut = Inst::For { start: self.lane, end, step: self.lanes as i64, carried: initial, body: inner };
        out.push(Statement { results: partial.clone().into(), inst: cut });
        if !sums.is_empty() {
            let whole = self.tree(&partial, sums, out);
            for (((sum, &result), &whole), &initial) in sums.iter().zip(&statement.results).zip(&whole).zip(carried) {
                out.push(Statement { results: smallvec![result], inst: Inst::Binary { op: sum.op, a: initial, b: whole } });
            }
        }
    }

    /// The sums of all lanes from those of each. A lane of the upper half reads beyond the lanes, where nobody takes what it finds.
    fn tree(&mut self, partial: &[Value], sums: &[Sum], out: &mut Vec<Statement>) -> Vec<Value> {
        let places: Vec<(Buffer, Value)> = sums
            .iter()
            .enumerate()
            .map(|(number, sum)| {
                let width = i64::from(sum.ty.lanes);
                (self.memory(number, sum), self.scaled(self.lane, width, out))
            })
            .collect();
        for ((&value, sum), &(buffer, index)) in partial.iter().zip(sums).zip(&places) {
            out.push(Statement {
                results: smallvec![],
                inst: Inst::Store { buffer, index, offset: 0, active: sum.ty.lanes, value, mask: None },
            });
        }
        let mut half = self.lanes / 2;
        while half > 0 {
            barrier(out);
            let below = self.number(half as i64, out);
            let mut inside = Vec::new();
            for (sum, &(buffer, index)) in sums.iter().zip(&places) {
                let active = sum.ty.lanes;
                let [a, b] = [0, half as i64 * i64::from(active)]
                    .map(|offset| self.push(sum.ty, Inst::Load { buffer, index, offset, active, mask: None }, &mut inside));
                let value = self.push(sum.ty, Inst::Binary { op: sum.op, a, b }, &mut inside);
                inside.push(Statement { results: smallvec![], inst: Inst::Store { buffer, index, offset: 0, active, value, mask: None } });
            }
            self.only_below(below, inside, out);
            half /= 2;
        }
        barrier(out);
        let zero = self.number(0, out);
        let whole = sums.iter().zip(&places).map(|(sum, &(buffer, _))| {
            let load = Inst::Load { buffer, index: zero, offset: 0, active: sum.ty.lanes, mask: None };
            self.push(sum.ty, load, out)
        });
        let whole = whole.collect();
        // The memory serves the next loop too.
        barrier(out);
        whole
    }

    /// Memory for a sum of each lane, and half as many.
    fn memory(&mut self, number: usize, sum: &Sum) -> Buffer {
        let elements = (self.lanes + self.lanes / 2) * u64::from(sum.ty.lanes);
        let fits = |buffer: &&Buffer| self.kernel.buffer(**buffer).lane == sum.ty.lane;
        if let Some(&buffer) = self.shared.get(number).filter(fits) {
            let data = &mut self.kernel.buffers[buffer.index()];
            data.elements = data.elements.max(elements);
            return buffer;
        }
        let buffer = Buffer::from_u32(self.kernel.buffers.len() as u32);
        let name = format!("team{}", self.kernel.buffers.len());
        self.kernel.buffers.push(BufferData { name, kind: BufferKind::Shared, lane: sum.ty.lane, elements, alignment: 16 });
        self.shared.resize(self.shared.len().max(number + 1), buffer);
        self.shared[number] = buffer;
        buffer
    }
}

impl Writes for Writer<'_> {
    fn types(&mut self) -> &mut Vec<Type> {
        &mut self.kernel.types
    }
}
