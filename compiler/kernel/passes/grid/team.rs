//! Rows by whole workgroups. If few positions each process a long row, the lanes of a workgroup process it together.
//!
//! Rounds of a loop that depend only on its carried values are dealt out: with n lanes, each lane takes every n-th round. Carried values are then
//! partial sums. Lanes store them in shared memory, and a tree combines them. Every lane computes everything else itself, and the first lane stores.
//! The order of sums differs from a single position's.

use super::super::super::intervals::{Assumed, Interval};
use super::super::super::verify::verify;
use super::limits::WORKGROUP;
use super::writes::{Writes, barrier};
use crate::dependence::{Access, Loops, Places, Rounds};
use crate::*;
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// Number of positions that is enough for every GPU.
const ENOUGH: u64 = 1024;
/// Minimum rounds of a row that is worth the barriers.
const LEAST_ROUNDS: i64 = 16;
/// Allowed numbers of lanes in a workgroup.
const LANES: std::ops::RangeInclusive<u64> = 8..=WORKGROUP as u64;
/// Shared memory for sums that all devices have.
const SHARED_BYTES: u64 = 16 << 10;

/// Rewrites a kernel with a grid so that workgroups replace positions, if that is better. `places` says where its pointer parameters are.
///
/// # Panics
/// In debug builds, if the new kernel breaks a rule of the language.
pub fn team(kernel: &Kernel, places: &Places) -> Option<Kernel> {
    let grid = kernel.grid.filter(|grid| grid.positions < ENOUGH)?;
    let is_own = |data: &BufferData| matches!(data.kind, BufferKind::Local | BufferKind::Shared);
    if kernel.may_fail() || kernel.has_barrier() || kernel.buffers.iter().any(is_own) {
        return None;
    }
    let steps = Plan::new(kernel, grid, places)?.steps()?;
    let cut = || steps.iter().filter_map(|step| if let Step::Cut(cut) = step { Some(cut) } else { None });
    let rounds = cut().map(|cut| cut.rounds).max().filter(|&rounds| rounds >= LEAST_ROUNDS)?;
    // The memory holds the sums of all lanes and half as many again; see `Writer::tree`.
    let bytes = |sums: &Vec<Sum>| sums.iter().map(|sum| 4 * u64::from(sum.ty.lanes)).sum::<u64>();
    let lane_bytes = cut().map(|cut| bytes(&cut.sums)).max().unwrap_or(0);
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

/// A carried value that is a reduction. Each lane begins with the operation's neutral element.
#[derive(Clone, Copy, Debug)]
struct Sum {
    op: BinaryOp,
    ty: Type,
    neutral: u64,
}

/// The way in which a statement of the body is run.
enum Step {
    /// Every lane runs it.
    All,
    /// Only the first lane runs it.
    First,
    /// A loop. Each round runs on one lane.
    Cut(Cut),
    /// A step with a barrier before it.
    Wait(Box<Step>),
}

/// A loop whose rounds lanes share.
struct Cut {
    rounds: i64,
    /// The counter in the first round.
    first: i64,
    sums: Vec<Sum>,
}

/// Finds statements that lanes can share.
struct Plan<'k> {
    kernel: &'k Kernel,
    /// Loops of the kernel. Values of the body itself count as fixed: all lanes of a workgroup share them.
    loops: Loops<'k>,
}

impl<'k> Plan<'k> {
    fn new(kernel: &'k Kernel, grid: Grid, places: &Places) -> Option<Self> {
        let last = i64::try_from(grid.positions).ok()? - 1;
        let assumed = Assumed { parameters: vec![Interval { low: 0, high: last }], ..Assumed::default() };
        Some(Self { kernel, loops: Loops::of(kernel, &assumed, places) })
    }

    /// Returns the step of each statement, or `None` if one of them cannot be shared.
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

    /// Tests whether accesses of two lanes can meet. With a counter, only different rounds of its loop count.
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

    /// Returns the step that deals out a loop's rounds, if these depend on each other only through reductions.
    fn cut(&self, statement: &Statement, carried: &[Value], body: &Region) -> Option<Step> {
        let counter = body.params[0];
        let counted = self.loops.counted(counter).filter(|counted| counted.end.is_none() && counted.rounds > 1)?;
        let sums = (0..carried.len()).map(|number| sum(self.kernel, body, number)).collect::<Option<Vec<_>>>()?;
        let inside = self.accesses(statement)?;
        let apart = !inside.iter().any(|a| inside.iter().any(|b| self.meet(a, b, Some(counter))));
        let first = counted.first.as_number()?;
        apart.then_some(Step::Cut(Cut { rounds: counted.rounds, first, sums }))
    }
}

/// Returns the reduction of a loop's carried value, if one operation computes it and the order of rounds does not matter.
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
            // For these operations, the running value must be the first operand.
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
    // Each link is used only by the next link, and the last one only by the yield.
    let is_used_once = |link: &Value| {
        let inside = body.statements.iter().filter(|statement| uses(statement, *link)).count();
        inside + body.yields.iter().filter(|value| *value == link).count() == 1
    };
    if !links.iter().all(is_used_once) {
        return None;
    }
    Some(Sum { op, ty, neutral: neutral(op, ty)? })
}

/// Tests whether a statement, or a statement inside it, uses a value as an operand.
fn uses(statement: &Statement, value: Value) -> bool {
    let inside = |region: &&Region| region.yields.contains(&value) || region.statements.iter().any(|statement| uses(statement, value));
    statement.inst.operands().contains(&value) || statement.inst.regions().iter().any(inside)
}

/// Returns the neutral element of an operation that allows any order, for 32-bit lanes.
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

/// Writes the kernel of workgroups.
struct Writer<'k> {
    from: &'k Kernel,
    kernel: Kernel,
    lanes: u64,
    /// Number of the position in its workgroup.
    lane: Value,
    /// Shared memory for sums, by their number in a loop.
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
        // The row takes the name of the old position.
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
            Step::Cut(cut) => self.cut(statement, cut, out),
            Step::Wait(step) => {
                barrier(out);
                self.step(statement, step, out);
            }
        }
    }

    /// Runs statements only on lanes below a number.
    fn only_below(&mut self, number: Value, statements: Vec<Statement>, out: &mut Vec<Statement>) {
        let compare = Inst::Compare { op: CompareOp::Less, a: self.lane, b: number };
        let condition = self.push(Type::scalar(Lane::Mask), compare, out);
        let then = Region { statements, ..Region::default() };
        out.push(Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise: Region::default() } });
    }

    /// Deals out a loop's rounds: with n lanes, each lane runs every n-th round.
    fn cut(&mut self, statement: &Statement, cut: &Cut, out: &mut Vec<Statement>) {
        let &Cut { rounds, first, ref sums } = cut;
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
        let cut = Inst::For { start: self.lane, end, step: self.lanes as i64, each: false, private: vec![], carried: initial, body: inner };
        out.push(Statement { results: partial.clone().into(), inst: cut });
        if !sums.is_empty() {
            let whole = self.tree(&partial, sums, out);
            for (((sum, &result), &whole), &initial) in sums.iter().zip(&statement.results).zip(&whole).zip(carried) {
                out.push(Statement { results: smallvec![result], inst: Inst::Binary { op: sum.op, a: initial, b: whole } });
            }
        }
    }

    /// Combines the partial sums of all lanes. Lanes of the upper half read unused memory beyond the sums; their results are never read.
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
        // The next loop uses this memory, too.
        barrier(out);
        whole
    }

    /// Returns shared memory for one sum of each lane, and half as many again.
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
        self.kernel.buffers.push(BufferData::new(name, BufferKind::Shared, sum.ty.lane, elements, 16));
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
