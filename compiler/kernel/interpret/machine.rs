//! A kernel that runs: the values of its instructions, statement by statement.

use super::error::{InterpretError, RuleFault};
use super::memory::Memory;
use super::{lane, wide};
use crate::types::signed;
use crate::*;
use cranelift_entity::EntityRef;

/// The bits of each lane of a value, zero above the lane's width; 0 or 1 for masks.
pub(super) type Lanes = Vec<u64>;

/// Reason why a region stopped before its end.
pub(super) enum Stop {
    /// A status that the kernel returns.
    Status(i32),
    /// An error in the kernel.
    Error(Box<InterpretError>),
}

impl From<InterpretError> for Stop {
    fn from(error: InterpretError) -> Self {
        Self::Error(Box::new(error))
    }
}

/// A kernel that runs.
pub(super) struct Machine<'k, 'b> {
    pub(super) kernel: &'k Kernel,
    pub(super) memory: Memory<'k, 'b>,
    /// The lanes of each value.
    pub(super) values: Vec<Lanes>,
    /// The seed for the order of independent rounds.
    pub(super) seed: u64,
}

impl<'k, 'b> Machine<'k, 'b> {
    pub(super) fn new(kernel: &'k Kernel, memory: Memory<'k, 'b>) -> Self {
        Self { kernel, memory, values: vec![Lanes::new(); kernel.types.len()], seed: 0 }
    }

    pub(super) fn get(&self, value: Value) -> &Lanes {
        &self.values[value.index()]
    }

    pub(super) fn set(&mut self, value: Value, lanes: Lanes) {
        debug_assert_eq!(lanes.len(), usize::from(self.kernel.ty(value).lanes), "{value}");
        self.values[value.index()] = lanes;
    }

    pub(super) fn lane(&self, value: Value) -> Lane {
        self.kernel.ty(value).lane
    }

    /// Returns a scalar index.
    pub(super) fn index(&self, value: Value) -> i64 {
        signed(self.lane(value), self.get(value)[0])
    }

    /// Returns the lanes among the first `active` where a mask is true: the distance of each lane's element, and the lane.
    fn wanted(&self, mask: Value, active: u16) -> Vec<(i64, usize)> {
        let lanes = self.get(mask).iter().take(usize::from(active)).enumerate();
        lanes.filter(|(_, truth)| **truth != 0).map(|(lane, _)| (lane as i64, lane)).collect()
    }

    pub(super) fn truth(&self, value: Value) -> bool {
        self.get(value)[0] != 0
    }

    /// Copies values to other values, all at once, because a region may yield its parameters in another order.
    pub(super) fn assign(&mut self, to: &[Value], from: &[Value]) {
        let lanes: Vec<Lanes> = from.iter().map(|&value| self.get(value).clone()).collect();
        for (&value, lanes) in to.iter().zip(lanes) {
            self.set(value, lanes);
        }
    }

    pub(super) fn region(&mut self, region: &'k Region) -> Result<(), Stop> {
        region.statements.iter().try_for_each(|statement| self.statement(statement))
    }

    pub(super) fn statement(&mut self, statement: &'k Statement) -> Result<(), Stop> {
        let results = &statement.results;
        match &statement.inst {
            Inst::Store { buffer, index, offset, active, value, mask } => {
                let first = self.index(*index).wrapping_add(*offset);
                let lanes = &self.values[value.index()][..usize::from(*active)];
                let Some(mask) = mask else { return Ok(self.memory.store(*buffer, first, lanes)?) };
                for (i, lane) in self.wanted(*mask, *active) {
                    self.memory.store(*buffer, first.wrapping_add(i), &lanes[lane..=lane])?;
                }
            }
            Inst::For { start, end, step, each: true, private, body, .. } => self.each([*start, *end], *step, private, body)?,
            Inst::Divide { extent, private, body } => self.divide(*extent, private, body)?,
            Inst::For { start, end, step, each: false, carried, body, .. } => {
                let (mut counter, end) = (self.index(*start), self.index(*end));
                self.assign(results, carried);
                while counter < end {
                    self.assign(&body.params[1..], results);
                    self.set(body.params[0], vec![lane::cut(self.lane(body.params[0]), counter.into())]);
                    self.region(body)?;
                    self.assign(results, &body.yields);
                    counter = counter.saturating_add(*step);
                }
            }
            Inst::Loop { carried, body } => {
                self.assign(results, carried);
                loop {
                    self.assign(&body.params, results);
                    self.region(body)?;
                    self.assign(results, &body.yields[1..]);
                    if !self.truth(body.yields[0]) {
                        break;
                    }
                }
            }
            Inst::If { condition, then, otherwise } => {
                let taken = if self.truth(*condition) { then } else { otherwise };
                self.region(taken)?;
                self.assign(results, &taken.yields);
            }
            Inst::FailIf { condition, status } => {
                if self.truth(*condition) {
                    return Err(Stop::Status(*status));
                }
            }
            Inst::Barrier => {
                return Err(InterpretError::Rule { kernel: self.kernel.name.clone(), value: None, fault: RuleFault::Barrier }.into());
            }
            inst => {
                let result = results[0];
                let lanes = self.compute(inst, self.kernel.ty(result)).map_err(|error| error.place(&self.kernel.name, result))?;
                self.set(result, lanes);
            }
        }
        Ok(())
    }

    /// Computes an instruction without regions, with one result of type `ty`.
    fn compute(&mut self, inst: &Inst, ty: Type) -> Result<Lanes, Fault> {
        let lanes = usize::from(ty.lanes);
        Ok(match inst {
            Inst::Constant { bits } => vec![*bits; lanes],
            Inst::Binary { op, a, b } => self.binary(*op, *a, *b)?,
            Inst::Unary { op, a } => self.get(*a).iter().map(|&a| lane::unary(*op, ty.lane, a)).collect(),
            Inst::ShiftConstant { op, a, count } => {
                let count = u64::from(*count);
                shift_fits(ty.lane, count)?;
                self.get(*a).iter().map(|&a| lane::binary(*op, ty.lane, a, count)).collect()
            }
            Inst::Fma { a, b, c, rounding } => {
                let (a, b, c) = (self.get(*a), self.get(*b), self.get(*c));
                (0..lanes).map(|i| lane::fma(ty.lane, a[i], b[i], c[i], *rounding)).collect()
            }
            Inst::Compare { op, a, b } => {
                let lane = self.lane(*a);
                self.zip(*a, *b, |a, b| u64::from(lane::compare(*op, lane, a, b)))
            }
            Inst::Select { mask, a, b } => {
                let (mask, a, b) = (self.get(*mask), self.get(*a), self.get(*b));
                (0..lanes).map(|i| if mask[i] != 0 { a[i] } else { b[i] }).collect()
            }
            Inst::Convert { op, a } => {
                let from = self.lane(*a);
                self.get(*a).iter().map(|&a| lane::convert(*op, from, ty.lane, a)).collect()
            }
            Inst::Splat { .. } | Inst::Extract { .. } | Inst::Join { .. } | Inst::Part { .. } | Inst::Shuffle { .. } => {
                self.permuted(inst, lanes)?
            }
            Inst::MulHigh { signed, a, b } => self.zip(*a, *b, |a, b| wide::mul_high(*signed, a, b)),
            Inst::SaturatingRoundingDoublingHighMul { a, b, .. } => self.zip(*a, *b, wide::saturating_rounding_doubling_high_mul),
            Inst::RoundingDivideByPowerOfTwo { a, b } => {
                self.get(*b).iter().try_for_each(|&count| shift_fits(ty.lane, count))?;
                self.zip(*a, *b, wide::rounding_divide_by_power_of_two)
            }
            Inst::Dot { op, accumulator, a, b } => wide::dot(*op, self.get(*accumulator), self.get(*a), self.get(*b)),
            Inst::Horizontal { op, a } => wide::horizontal(*op, ty.lane, self.get(*a)),
            Inst::FirstLanes { count } => {
                let count = self.index(*count);
                (0..lanes as i64).map(|lane| u64::from(lane < count)).collect()
            }
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } => self.loaded(inst, lanes)?,
            Inst::Store { .. }
            | Inst::For { .. }
            | Inst::Divide { .. }
            | Inst::Loop { .. }
            | Inst::If { .. }
            | Inst::FailIf { .. }
            | Inst::Barrier => {
                return Err(Fault::Rule(RuleFault::NoResult));
            }
        })
    }

    /// Moves lanes between values.
    fn permuted(&self, inst: &Inst, lanes: usize) -> Result<Lanes, Fault> {
        Ok(match inst {
            Inst::Splat { a } => vec![self.get(*a)[0]; lanes],
            Inst::Extract { a, lane } => vec![self.get(*a)[usize::from(*lane)]],
            Inst::Join { a, b } => [&self.get(*a)[..], &self.get(*b)[..]].concat(),
            Inst::Part { a, first } => self.get(*a)[usize::from(*first)..][..lanes].to_vec(),
            Inst::Shuffle { a, b, lanes } => {
                let both = [&self.get(*a)[..], &self.get(*b)[..]].concat();
                lanes.iter().map(|&lane| both[usize::from(lane)]).collect()
            }
            _ => return Err(Fault::Rule(RuleFault::NoResult)),
        })
    }

    /// Loads lanes from memory. Lanes that are not active are 0.
    fn loaded(&mut self, inst: &Inst, lanes: usize) -> Result<Lanes, Fault> {
        Ok(match inst {
            Inst::Load { buffer, index, offset, active, mask: Some(mask) } => {
                let first = self.index(*index).wrapping_add(*offset);
                let mut loaded = vec![0; lanes];
                for (i, lane) in self.wanted(*mask, *active) {
                    loaded[lane] = self.memory.load(*buffer, first.wrapping_add(i), 1)?[0];
                }
                loaded
            }
            Inst::Load { buffer, index, offset, active, mask: None } => {
                let first = self.index(*index).wrapping_add(*offset);
                let mut loaded = self.memory.load(*buffer, first, usize::from(*active))?;
                loaded.resize(lanes, 0);
                loaded
            }
            Inst::LoadSplat { buffer, index, offset } => {
                let first = self.index(*index).wrapping_add(*offset);
                vec![self.memory.load(*buffer, first, 1)?[0]; lanes]
            }
            Inst::LoadSplatGroup { buffer, index, offset, group } => {
                let first = self.index(*index).wrapping_add(*offset);
                let elements = self.memory.load(*buffer, first, usize::from(*group))?;
                elements.iter().copied().cycle().take(lanes).collect()
            }
            Inst::Gather { buffer, indices, offset, bounds } => self.gather(*buffer, *indices, *offset, *bounds)?,
            _ => return Err(Fault::Rule(RuleFault::NoResult)),
        })
    }

    fn zip(&self, a: Value, b: Value, op: impl Fn(u64, u64) -> u64) -> Lanes {
        self.get(a).iter().zip(self.get(b)).map(|(&a, &b)| op(a, b)).collect()
    }

    fn binary(&self, op: BinaryOp, a: Value, b: Value) -> Result<Lanes, Fault> {
        let lane = self.lane(a);
        if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRightSigned | BinaryOp::ShiftRightUnsigned) {
            self.get(b).iter().try_for_each(|&count| shift_fits(lane, count))?;
        }
        Ok(self.zip(a, b, |a, b| lane::binary(op, lane, a, b)))
    }

    /// Computes a gather. With clamped indices, an empty buffer gives zeros.
    fn gather(&mut self, buffer: Buffer, indices: Value, offset: i64, bounds: Bounds) -> Result<Lanes, Fault> {
        let lane = self.lane(indices);
        let last = self.kernel.buffer(buffer).elements as i64 - 1;
        let Self { memory, values, .. } = self;
        let element = |&index: &u64| {
            let index = signed(lane, index).wrapping_add(offset);
            match bounds {
                Bounds::Clamp if last < 0 => Ok(0),
                Bounds::Clamp => Ok(memory.load(buffer, index.clamp(0, last), 1)?[0]),
                Bounds::Proven => Ok(memory.load(buffer, index, 1)?[0]),
            }
        };
        values[indices.index()].iter().map(element).collect()
    }
}

/// A mistake of one instruction, without its place.
enum Fault {
    Rule(RuleFault),
    Error(InterpretError),
}

impl From<InterpretError> for Fault {
    fn from(error: InterpretError) -> Self {
        Self::Error(error)
    }
}

impl Fault {
    fn place(self, kernel: &str, value: Value) -> InterpretError {
        match self {
            Self::Rule(fault) => InterpretError::Rule { kernel: kernel.into(), value: Some(value), fault },
            Self::Error(error) => error,
        }
    }
}

fn shift_fits(lane: Lane, count: u64) -> Result<(), Fault> {
    let bits = 8 * u64::from(lane.bytes());
    if count < bits { Ok(()) } else { Err(Fault::Rule(RuleFault::Shift { count: signed(lane, count), bits })) }
}
