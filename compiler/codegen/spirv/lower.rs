//! Lowering of the kernel language to SPIR-V instructions.
//!
//! A value is in registers of at most four lanes. Integers of 8 and 16 bits are in lanes of 32 bits, with the sign repeated; results that may leave
//! this form are extended again. A mask is a vector of truth values.

use super::assembler::{Assembler, Kind, Register};
use super::place::Place;
use crate::bug::{Mistake, Route};
use crate::unsupported::{Excess, GPU, Lack};
use crate::{CodegenError, Operation, Unsupported};
use cranelift_entity::EntityRef;
use modelc_kernel::indices::Indices;
use modelc_kernel::{Buffer, DotOp, Inst, Kernel, Lane, Region, Statement, Type, Value};
use modelc_machine::Gpu;
use rspirv::spirv::{Op, Word};
use std::collections::HashSet;

/// Maximum number of terms of an analyzed index.
const MOST_TERMS: usize = 16;

/// The registers of a value, in order of their lanes.
pub type Held = Vec<Word>;

/// The rounds of a counted loop.
pub struct Rounds {
    /// The counter in the first round.
    pub start: Value,
    /// The end of the counter.
    pub end: Value,
    /// The step of the counter.
    pub step: i64,
}

/// The lowering of one kernel to a module.
pub struct Lowering<'k> {
    pub kernel: &'k Kernel,
    pub gpu: &'k Gpu,
    pub indices: Indices,
    pub out: Assembler,
    /// Place of each buffer, by its number.
    pub places: Vec<Place>,
    /// Registers of each value, by its number. Empty before the value is computed, and if it is only in packed words.
    values: Vec<Held>,
    /// Packed words of each value, by its number, if its bytes are factors of dot products or stored as words.
    words: Vec<Vec<Word>>,
    /// Values that are only factors of dot products of bytes, or only stored as whole words.
    factors: HashSet<Value>,
    /// Bits of each constant, by the number of the value.
    constants: Vec<Option<u64>>,
    /// Position of this invocation.
    pub position: Option<Position>,
}

/// Position in a grid, and its workgroup.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Value of the position in the kernel.
    pub value: Value,
    /// Positions in a workgroup.
    pub workgroup: u32,
    /// Id of the number of the workgroup.
    pub group: Word,
    /// Id of the number of the position in its workgroup.
    pub place: Word,
}

impl<'k> Lowering<'k> {
    /// Makes a lowering with an empty module.
    pub fn new(kernel: &'k Kernel, gpu: &'k Gpu) -> Self {
        let count = kernel.types.len();
        Self {
            kernel,
            gpu,
            indices: Indices::of(kernel, MOST_TERMS),
            out: Assembler::new(),
            places: vec![],
            values: vec![vec![]; count],
            words: vec![vec![]; count],
            factors: HashSet::new(),
            constants: vec![None; count],
            position: None,
        }
    }

    /// Makes an error of the user, who asked for an operation that GPUs lack.
    pub fn unsupported(&self, operation: Operation, of: Type) -> CodegenError {
        self.lack(Lack::Operation { operation, of })
    }

    /// Makes an error of the user, who asked for a feature that GPUs lack.
    pub fn lack(&self, lack: Lack) -> CodegenError {
        CodegenError::lack(self.kernel, GPU, lack)
    }

    /// Makes an error of a kernel beyond a limit of the device.
    pub fn excess(&self, excess: Excess) -> CodegenError {
        Unsupported::Excess { kernel: self.kernel.name.clone(), excess }.into()
    }

    /// Returns the registers of a value.
    pub fn get(&self, value: Value) -> Held {
        self.values[value.index()].clone()
    }

    /// Returns the only register of a value with at most four lanes.
    pub fn one(&self, value: Value) -> Word {
        self.values[value.index()][0]
    }

    /// Returns the bytes of a value as packed words.
    pub fn packed_words(&mut self, value: Value) -> Vec<Word> {
        if !self.words[value.index()].is_empty() {
            return self.words[value.index()].clone();
        }
        let (held, lane) = (self.get(value), self.ty(value).lane);
        held.iter()
            .map(|&part| {
                let lanes = self.lanes(&[part], Register { kind: Kind::Int, lanes: 4 });
                self.packed(lane, &lanes)
            })
            .collect()
    }

    /// Returns the packed words of a value that has no registers; `None` otherwise.
    pub fn only_words(&self, value: Value) -> Option<Vec<Word>> {
        Some(&self.words[value.index()]).filter(|words| !words.is_empty()).cloned()
    }

    /// Finds the values whose bytes stay in packed words. Only devices with dot products of packed bytes have such values.
    pub fn find_factors(&mut self) {
        if self.gpu.byte_dots {
            self.factors = factors(self.kernel, |buffer| matches!(self.places[buffer.index()], Place::Words(_)));
        }
    }

    /// Sets the registers of a value.
    pub fn set(&mut self, value: Value, held: Held) {
        self.values[value.index()] = held;
    }

    /// Returns the bits of each lane, if the value is a constant.
    pub fn constant_of(&self, value: Value) -> Option<u64> {
        self.constants[value.index()]
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// Returns the types of the registers that hold a value of a type.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] if its lanes have 64 bits.
    pub fn registers(&self, ty: Type) -> Result<Vec<Register>, CodegenError> {
        let kind = match ty.lane {
            Lane::Mask => Kind::Bool,
            Lane::I8 | Lane::I16 | Lane::I32 => Kind::Int,
            Lane::F32 => Kind::Float,
            Lane::I64 | Lane::F64 => return Err(self.lack(Lack::Numbers(ty))),
        };
        Ok(vec![Register { kind, lanes: ty.lanes.min(4) }; usize::from(ty.lanes.div_ceil(4))])
    }

    /// Returns the common type of the registers that hold a value of a type.
    pub fn register(&self, ty: Type) -> Result<Register, CodegenError> {
        Ok(self.registers(ty)?[0])
    }

    /// Extracts all lanes of a value into scalars.
    pub fn lanes(&mut self, held: &[Word], register: Register) -> Vec<Word> {
        let mut lanes = Vec::with_capacity(held.len() * usize::from(register.lanes));
        for &part in held {
            lanes.extend((0..register.lanes).map(|lane| self.out.component(part, register, lane)));
        }
        lanes
    }

    /// Combines scalars to the registers of a value.
    pub fn gathered(&mut self, lanes: &[Word], register: Register) -> Held {
        lanes.chunks(register.lanes.into()).map(|lanes| self.out.vector(register, lanes)).collect()
    }

    /// Lowers the statements of a region, in the current block.
    pub fn region(&mut self, region: &Region) -> Result<(), CodegenError> {
        region.statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, Statement { results, inst }: &Statement) -> Result<(), CodegenError> {
        match inst {
            Inst::For { start, end, step, carried, body, .. } => {
                self.counted_loop(results, Rounds { start: *start, end: *end, step: *step }, carried, body)
            }
            Inst::Loop { carried, body } => self.repeated_loop(results, carried, body),
            Inst::If { condition, then, otherwise } => self.branch(results, *condition, then, otherwise),
            Inst::FailIf { condition, status } => self.fail_if(*condition, *status),
            Inst::Barrier => {
                self.barrier();
                Ok(())
            }
            Inst::Store { mask: Some(_), value, .. } => Err(self.unsupported(Operation::MaskedStore, self.kernel.ty(*value))),
            Inst::Store { buffer, index, offset, active, value, mask: None } => self.store(*buffer, (*index, *offset), *active, *value),
            inst => {
                let result = results[0];
                if self.factors.contains(&result)
                    && let Some(words) = self.loaded_words(inst, self.ty(result))
                {
                    self.words[result.index()] = words;
                    return Ok(());
                }
                let held = self.compute(inst, self.ty(result))?;
                if let Inst::Constant { bits } = inst {
                    self.constants[result.index()] = Some(*bits);
                }
                self.set(result, held);
                Ok(())
            }
        }
    }

    /// Lowers an instruction with one result.
    fn compute(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        Ok(match inst {
            Inst::Constant { bits } => self.number(ty, *bits)?,
            Inst::Binary { op, a, b } => self.binary(*op, ty, *a, *b)?,
            Inst::Unary { op, a } => self.unary(*op, ty, *a)?,
            Inst::ShiftConstant { op, a, count } => {
                let a = self.get(*a);
                let count = self.out.int(register, (*count).into());
                a.iter().map(|&a| self.shift(*op, ty.lane, register, a, count)).collect()
            }
            Inst::Fma { a, b, c, rounding } => self.fma(register, [*a, *b, *c], *rounding)?,
            Inst::Compare { op, a, b } => self.compare(*op, *a, *b)?,
            Inst::Select { mask, a, b } => {
                let (mask, a, b) = (self.get(*mask), self.get(*a), self.get(*b));
                (0..a.len()).map(|i| self.out.op(Op::Select, register, &[mask[i], a[i], b[i]])).collect()
            }
            Inst::Convert { op, a } => self.convert(*op, *a, ty)?,
            Inst::Splat { a } => {
                let a = self.one(*a);
                let part = self.out.vector(register, &vec![a; register.lanes.into()]);
                vec![part; usize::from(ty.lanes.div_ceil(4))]
            }
            Inst::Extract { .. } | Inst::Join { .. } | Inst::Part { .. } | Inst::Shuffle { .. } => self.permuted(inst, ty)?,
            Inst::MulHigh { signed, a, b } => {
                let product = if *signed { Op::SMulExtended } else { Op::UMulExtended };
                self.on_both(*a, *b, |l, a, b| l.extended_product(product, register, a, b)[1])
            }
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => {
                self.on_both(*a, *b, |l, a, b| l.doubling_high_product(register, a, b, *saturates))
            }
            Inst::RoundingDivideByPowerOfTwo { a, b } => self.on_both(*a, *b, |l, a, b| l.rounding_quotient(register, a, b)),
            Inst::Dot { op, accumulator, a, b } => self.dot(*op, *accumulator, *a, *b)?,
            Inst::Horizontal { op, a } => self.horizontal(*op, *a)?,
            Inst::FirstLanes { .. } => return Err(self.unsupported(Operation::FirstLanes, ty)),
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } => self.loaded(inst, ty)?,
            Inst::Store { .. }
            | Inst::For { .. }
            | Inst::Divide { .. }
            | Inst::Loop { .. }
            | Inst::If { .. }
            | Inst::FailIf { .. }
            | Inst::Barrier => {
                return Err(CodegenError::lowering(self.kernel, Mistake::Route(Route::Value)));
            }
        })
    }

    /// Lowers a load.
    fn loaded(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        match inst {
            Inst::Load { mask: Some(_), .. } => Err(self.unsupported(Operation::MaskedLoad, ty)),
            Inst::Load { buffer, index, offset, active, mask: None } => self.load(*buffer, (*index, *offset), *active, ty),
            Inst::LoadSplat { buffer, index, offset } => {
                let element = self.load(*buffer, (*index, *offset), 1, Type::scalar(ty.lane))?;
                let part = self.out.vector(register, &vec![element[0]; register.lanes.into()]);
                Ok(vec![part; usize::from(ty.lanes.div_ceil(4))])
            }
            Inst::LoadSplatGroup { buffer, index, offset, group } => {
                let of_group = Type::vector(ty.lane, *group);
                let loaded = self.load(*buffer, (*index, *offset), *group, of_group)?;
                let of_group = self.register(of_group)?;
                if of_group == register {
                    return Ok(loaded.iter().copied().cycle().take(ty.lanes.div_ceil(4).into()).collect());
                }
                let lanes = self.lanes(&loaded, of_group);
                let part = self.out.vector(register, &lanes.into_iter().cycle().take(register.lanes.into()).collect::<Vec<_>>());
                Ok(vec![part; usize::from(ty.lanes.div_ceil(4))])
            }
            Inst::Gather { buffer, indices, offset, bounds } => self.gather(*buffer, *indices, *offset, *bounds, ty),
            _ => Err(CodegenError::lowering(self.kernel, Mistake::Route(Route::Value))),
        }
    }

    /// Makes a constant; an integer has its sign repeated.
    fn number(&mut self, ty: Type, bits: u64) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        let bits = match ty.lane {
            Lane::I8 => bits as u8 as i8 as u32,
            Lane::I16 => bits as u16 as i16 as u32,
            _ => bits as u32,
        };
        let part = self.out.constant(register, bits);
        Ok(vec![part; usize::from(ty.lanes.div_ceil(4))])
    }

    /// Applies an operation to the registers of two values, pair by pair.
    pub fn on_both(&mut self, a: Value, b: Value, mut op: impl FnMut(&mut Self, Word, Word) -> Word) -> Held {
        let (a, b) = (self.get(a), self.get(b));
        a.into_iter().zip(b).map(|(a, b)| op(self, a, b)).collect()
    }

    /// Lowers an instruction that moves lanes.
    fn permuted(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        let register = self.register(ty)?;
        Ok(match inst {
            Inst::Extract { a, lane } => vec![self.lane_of(*a, *lane)?],
            Inst::Join { a, b } => {
                let both = [self.get(*a), self.get(*b)].concat();
                // The operands of a construction may be vectors.
                if self.ty(*a).lanes < 4 { vec![self.out.vector(register, &both)] } else { both }
            }
            Inst::Part { a, first } if ty.lanes >= 4 => self.get(*a)[usize::from(first / 4)..][..usize::from(ty.lanes / 4)].to_vec(),
            Inst::Part { a, first } => {
                let lanes: Result<Vec<Word>, _> = (*first..first + ty.lanes).map(|lane| self.lane_of(*a, lane)).collect();
                self.gathered(&lanes?, register)
            }
            Inst::Shuffle { a, b, lanes } => {
                let of_a = self.ty(*a).lanes;
                let lane_of = |&lane: &u16| if lane < of_a { self.lane_of(*a, lane) } else { self.lane_of(*b, lane - of_a) };
                let lanes: Result<Vec<Word>, _> = lanes.iter().map(lane_of).collect();
                self.gathered(&lanes?, register)
            }
            _ => vec![],
        })
    }

    /// Extracts one lane of a value.
    fn lane_of(&mut self, value: Value, lane: u16) -> Result<Word, CodegenError> {
        let register = self.register(self.ty(value))?;
        let part = self.values[value.index()][usize::from(lane / 4)];
        Ok(self.out.component(part, register, lane % 4))
    }
}

/// Finds the values that are only factors of dot products of bytes, or only stored to buffers of words.
fn factors(kernel: &Kernel, has_words: impl Fn(Buffer) -> bool) -> HashSet<Value> {
    let (mut factors, mut others) = (HashSet::new(), HashSet::new());
    for region in kernel.regions() {
        others.extend(&region.yields);
        for statement in &region.statements {
            match statement.inst {
                Inst::Dot { op: DotOp::Signed8 | DotOp::UnsignedSigned8, accumulator, a, b } => {
                    others.insert(accumulator);
                    factors.extend([a, b]);
                }
                Inst::Store { buffer, index, active, value, mask: None, .. } if has_words(buffer) && active == kernel.ty(value).lanes => {
                    others.insert(index);
                    factors.insert(value);
                }
                _ => others.extend(statement.inst.operands()),
            }
        }
    }
    factors.retain(|value| !others.contains(value));
    factors
}
