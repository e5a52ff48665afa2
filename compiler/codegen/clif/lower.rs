//! Lowering of a kernel to one Cranelift function, instruction by instruction.

use super::held::{Held, lane_type, part_count, part_type};
use super::scope::{Address, LOCAL_ALIGNMENT_SHIFT, Scope};
use crate::bug::{Form, Mistake, Route};
use crate::fold::widened_loads;
use crate::unsupported::Lack;
use crate::{CodegenError, Operation, index};
use cranelift_codegen::ir::{self, AbiParam, Block, Function, InstBuilder, Signature, StackSlot, StackSlotData, StackSlotKind, types};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_entity::EntityRef;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use modelc_kernel::indices::Indices;
use modelc_kernel::passes::DEAD;
use modelc_kernel::{BufferKind, ConvertOp, Inst, Kernel, Region, Rounding, Type, Value};
use modelc_machine::{CpuMachine, DotProduct, Isa};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Properties of the machine that the lowering needs.
#[derive(Clone, Copy)]
pub(super) struct Features {
    /// Name of the CPU level.
    pub level: &'static str,
    /// Instruction set.
    pub isa: Isa,
    /// Presence of vector registers of 128 bits.
    pub vectors: bool,
    /// Presence of an instruction for fused products.
    pub fma: bool,
    /// Kind of dot product of four bytes; `None` without an instruction.
    pub dot8: Option<DotProduct>,
}

impl Features {
    fn of(machine: &CpuMachine) -> Self {
        let dot8 = machine.byte_fours.then_some(machine.dot);
        Self { level: machine.level, isa: machine.isa, vectors: machine.combines_lanes(), fma: machine.fma, dot8 }
    }

    /// Tests whether the machine is x86-64.
    pub fn x86(self) -> bool {
        self.isa == Isa::X86_64
    }

    /// Tests whether the machine is riscv64 with its V extension.
    pub fn riscv_vectors(self) -> bool {
        self.isa == Isa::Riscv64 && self.vectors
    }
}

/// The state of the lowering of one kernel.
pub(super) struct Lowering<'a> {
    pub kernel: &'a Kernel,
    pub features: Features,
    pub builder: FunctionBuilder<'a>,
    /// Cranelift values of each kernel value; `None` before it is lowered.
    values: Vec<Option<Held>>,
    /// Indices as affine sums.
    pub indices: Indices,
    /// Roots of affine indices: their terms without the constant.
    pub roots: FxHashMap<Value, ir::Value>,
    /// Bits of constant values.
    pub constants: FxHashMap<Value, u64>,
    /// Address of each buffer's first element.
    pub bases: Vec<ir::Value>,
    pub scopes: Vec<Scope>,
    /// Blocks that return a status other than 0.
    failures: BTreeMap<i32, Block>,
    /// Loads that are folded into a widening conversion.
    widened_loads: FxHashMap<Value, Inst>,
    /// Space for a register on the stack, through which single lanes are moved.
    spare: Option<StackSlot>,
}

/// Lowers a kernel to a Cranelift function of the target's C calling convention.
///
/// # Errors
/// [`CodegenError::Bug`] if the kernel breaks a rule of its language. [`CodegenError::Unsupported`] if the machine cannot do an instruction.
pub fn lower(kernel: &Kernel, isa: &dyn TargetIsa, machine: &CpuMachine) -> Result<Function, CodegenError> {
    index::check(kernel, Type::INDEX)?;
    // Cranelift drops unused instructions, but keeps every load.
    let kernel = &DEAD.of(kernel);
    let mut signature = Signature::new(CallConv::triple_default(isa.triple()));
    let pointers = kernel.pointer_params().count();
    signature.params = vec![AbiParam::new(types::I64); pointers + kernel.integers];
    signature.returns = vec![AbiParam::new(types::I32)];
    let mut function = Function::with_name_signature(ir::UserFuncName::default(), signature);
    let mut context = FunctionBuilderContext::new();
    let mut lowering = Lowering {
        kernel,
        features: Features::of(machine),
        builder: FunctionBuilder::new(&mut function, &mut context),
        values: vec![None; kernel.types.len()],
        indices: Indices::of(kernel, usize::MAX),
        roots: FxHashMap::default(),
        constants: FxHashMap::default(),
        bases: vec![],
        scopes: vec![Scope::default()],
        failures: BTreeMap::new(),
        widened_loads: if machine.combines_lanes() { widened_loads(kernel) } else { FxHashMap::default() },
        spare: None,
    };
    lowering.enter();
    lowering.statements(&kernel.body)?;
    lowering.leave();
    lowering.builder.seal_all_blocks();
    lowering.builder.finalize(isa.frontend_config());
    Ok(function)
}

impl<'a> Lowering<'a> {
    /// Makes the entry block: parameters and stack arrays.
    fn enter(&mut self) {
        let entry = self.builder.create_block();
        self.builder.append_block_params_for_function_params(entry);
        self.builder.switch_to_block(entry);
        let params = self.builder.block_params(entry).to_vec();
        let mut params = params.into_iter();
        for buffer in &self.kernel.buffers {
            let base = if buffer.kind == BufferKind::Local {
                let bytes = buffer.bytes();
                let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, LOCAL_ALIGNMENT_SHIFT);
                let slot = self.builder.create_sized_stack_slot(slot);
                self.builder.ins().stack_addr(types::I64, slot, 0)
            } else {
                params.next().expect("a parameter for each pointer")
            };
            self.bases.push(base);
        }
        for (&value, param) in self.kernel.body.params.iter().zip(params) {
            self.define(value, Held::of_scalar(types::I64, param));
        }
    }

    /// Makes the return with status 0, and the blocks of failures.
    fn leave(&mut self) {
        let good = self.builder.ins().iconst(types::I32, 0);
        self.builder.ins().return_(&[good]);
        for (status, block) in std::mem::take(&mut self.failures) {
            self.builder.switch_to_block(block);
            let status = self.builder.ins().iconst(types::I32, i64::from(status));
            self.builder.ins().return_(&[status]);
        }
    }

    /// Returns the address of a register's space on the stack.
    pub fn spare(&mut self) -> Address {
        let builder = &mut self.builder;
        let slot = *self.spare.get_or_insert_with(|| {
            let bytes = super::held::REGISTER_BITS / 8;
            builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, LOCAL_ALIGNMENT_SHIFT))
        });
        let base = builder.ins().stack_addr(types::I64, slot, 0);
        Address { base, displacement: 0, alignment: u32::from(LOCAL_ALIGNMENT_SHIFT), readonly: false }
    }

    /// Returns the block that returns `status`.
    pub fn failure(&mut self, status: i32) -> Block {
        let builder = &mut self.builder;
        *self.failures.entry(status).or_insert_with(|| {
            let block = builder.create_block();
            builder.set_cold_block(block);
            block
        })
    }

    /// Makes an error about this kernel that is our mistake.
    pub fn bug<T>(&self, mistake: Mistake) -> Result<T, CodegenError> {
        Err(CodegenError::lowering(self.kernel, mistake))
    }

    /// Makes an error about an operation that the machine lacks.
    pub fn unsupported<T>(&self, operation: Operation, of: Type) -> Result<T, CodegenError> {
        Err(CodegenError::lack(self.kernel, self.features.level, Lack::Operation { operation, of }))
    }

    /// Returns the type of a kernel value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// Tests whether values of a type are held lane by lane.
    pub fn is_scalar(&self, ty: Type) -> bool {
        ty.lanes == 1 || !self.features.vectors
    }

    /// Returns the Cranelift values of a kernel value.
    pub fn get(&self, value: Value) -> Result<Held, CodegenError> {
        match self.values.get(value.index()) {
            Some(Some(held)) => Ok(held.clone()),
            _ => self.bug(Mistake::Undefined(value)),
        }
    }

    /// Returns the Cranelift value of a scalar.
    pub fn get_scalar(&self, value: Value) -> Result<ir::Value, CodegenError> {
        let held = self.get(value)?;
        if held.parts.len() == 1 && held.scalar { Ok(held.single()) } else { self.bug(Mistake::Form { value, wanted: Form::Scalar }) }
    }

    /// Sets the Cranelift values of a kernel value.
    pub fn define(&mut self, value: Value, held: Held) {
        self.values[value.index()] = Some(held);
    }

    /// Returns the shape of a type, without parts.
    pub fn shape(&self, ty: Type) -> Held {
        let scalar = self.is_scalar(ty);
        Held { lane: lane_type(ty, scalar), lanes: ty.lanes, scalar, parts: vec![] }
    }

    /// Adds block parameters that hold a value of a type.
    pub fn block_params(&mut self, block: Block, ty: Type) -> Held {
        let shape = self.shape(ty);
        let count = part_count(shape.lane, shape.lanes, shape.scalar);
        let part = part_type(shape.lane, shape.scalar);
        let parts = (0..count).map(|_| self.builder.append_block_param(block, part)).collect();
        shape.with_parts(parts)
    }

    /// Lowers the statements of a region, in its own scope.
    pub fn region(&mut self, region: &Region) -> Result<(), CodegenError> {
        self.scopes.push(Scope::default());
        let result = self.statements(region);
        self.scopes.pop();
        result
    }

    fn statements(&mut self, region: &Region) -> Result<(), CodegenError> {
        for statement in &region.statements {
            match &statement.inst {
                Inst::For { .. } | Inst::Loop { .. } | Inst::If { .. } | Inst::FailIf { .. } => {
                    self.control(&statement.inst, &statement.results)?;
                }
                Inst::Store { mask: Some(_), value, .. } => return self.unsupported(Operation::MaskedStore, self.ty(*value)),
                Inst::Store { buffer, index, offset, active, value, mask: None } => {
                    let value = self.get(*value)?;
                    self.store(*buffer, *index, *offset, *active, &value)?;
                }
                inst => {
                    let [result] = statement.results[..] else {
                        return self.bug(Mistake::Results(statement.results.len()));
                    };
                    if self.widened_loads.contains_key(&result) {
                        continue;
                    }
                    let held = self.value(inst, result)?;
                    self.define(result, held);
                    self.note_index(inst, result)?;
                }
            }
        }
        Ok(())
    }

    /// Lowers an instruction with one result.
    fn value(&mut self, inst: &Inst, result: Value) -> Result<Held, CodegenError> {
        let ty = self.ty(result);
        match inst {
            Inst::Constant { bits } => Ok(self.constant(result, ty, *bits)),
            Inst::Binary { op, a, b } => self.binary_values(*op, *a, *b),
            Inst::Unary { op, a } => {
                let mask = self.ty(*a).lane == modelc_kernel::Lane::Mask;
                let a = self.get(*a)?;
                self.unary(*op, &a, mask)
            }
            Inst::ShiftConstant { op, a, count } => {
                let a = self.get(*a)?;
                self.shift_constant(*op, &a, *count)
            }
            Inst::Fma { rounding: rounding @ Rounding::TowardZero, .. } => self.unsupported(Operation::Fused(*rounding), ty),
            Inst::Fma { a, b, c, .. } => {
                let (a, b, c) = (self.get(*a)?, self.get(*b)?, self.get(*c)?);
                self.fma(&a, &b, &c)
            }
            Inst::Compare { op, a, b } => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.compare(*op, &a, &b))
            }
            Inst::Select { mask, a, b } => {
                let (mask, a, b) = (self.get(*mask)?, self.get(*a)?, self.get(*b)?);
                Ok(self.select(&mask, &a, &b))
            }
            Inst::Convert { op, a } => self.converted(*op, *a, ty),
            Inst::Splat { .. } | Inst::Extract { .. } | Inst::Join { .. } | Inst::Part { .. } | Inst::Shuffle { .. } => {
                self.permuted(inst, ty)
            }
            Inst::MulHigh { signed, a, b } => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.multiply_high(*signed, &a, &b))
            }
            Inst::SaturatingRoundingDoublingHighMul { a, b, saturates } => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.doubling_high_multiply(&a, &b, *saturates))
            }
            Inst::RoundingDivideByPowerOfTwo { a, b } => self.rounding_divide_values(*a, *b),
            Inst::Dot { op, .. } if op.is_of_few_machines() => self.unsupported(Operation::Dot(*op), ty),
            Inst::Dot { op, accumulator, a, b } => {
                let (accumulator, a, b) = (self.get(*accumulator)?, self.get(*a)?, self.get(*b)?);
                Ok(self.dot(*op, &accumulator, &a, &b))
            }
            Inst::Horizontal { op, a } => {
                let a = self.get(*a)?;
                self.horizontal(*op, a)
            }
            Inst::FirstLanes { .. } => self.unsupported(Operation::FirstLanes, ty),
            Inst::Load { .. } | Inst::LoadSplat { .. } | Inst::LoadSplatGroup { .. } | Inst::Gather { .. } => self.loaded(inst, ty),
            Inst::Store { .. }
            | Inst::For { .. }
            | Inst::Divide { .. }
            | Inst::Loop { .. }
            | Inst::If { .. }
            | Inst::FailIf { .. }
            | Inst::Barrier => self.bug(Mistake::Route(Route::Value)),
        }
    }

    /// Lowers a conversion. A load that is only widened is a part of it.
    fn converted(&mut self, op: ConvertOp, a: Value, ty: Type) -> Result<Held, CodegenError> {
        let from = self.ty(a);
        let a = match self.widened_loads.get(&a).cloned() {
            Some(load) => self.load_widened(&load, op == ConvertOp::SignExtend, from)?,
            None => self.get(a)?,
        };
        self.convert(op, &a, from.lane, ty.lane)
    }

    /// Lowers an instruction that moves lanes between registers.
    fn permuted(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        match inst {
            Inst::Splat { a } => {
                let a = self.get(*a)?;
                Ok(self.splat(&a, ty))
            }
            Inst::Extract { a, lane } => {
                let mask = ty.lane == modelc_kernel::Lane::Mask;
                let a = self.get(*a)?;
                Ok(self.extract(&a, *lane, mask))
            }
            Inst::Join { a, b } => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.join(&a, &b, ty))
            }
            Inst::Part { a, first } => {
                let a = self.get(*a)?;
                Ok(self.part(&a, *first, ty))
            }
            Inst::Shuffle { a, b, lanes } => {
                let (a, b) = (self.get(*a)?, self.get(*b)?);
                Ok(self.shuffle(&a, &b, lanes, ty))
            }
            _ => self.bug(Mistake::Route(Route::Value)),
        }
    }

    /// Lowers a load.
    fn loaded(&mut self, inst: &Inst, ty: Type) -> Result<Held, CodegenError> {
        match inst {
            Inst::Load { mask: Some(_), .. } => self.unsupported(Operation::MaskedLoad, ty),
            Inst::Load { buffer, index, offset, active, mask: None } => self.load(*buffer, *index, *offset, *active, ty),
            Inst::LoadSplat { buffer, index, offset } => self.load_splat(*buffer, *index, *offset, ty),
            Inst::LoadSplatGroup { buffer, index, offset, group } => self.load_splat_group(*buffer, *index, *offset, *group, ty),
            Inst::Gather { buffer, indices, offset, bounds } => self.gather(*buffer, *indices, *offset, *bounds, ty),
            _ => self.bug(Mistake::Route(Route::Value)),
        }
    }
}
