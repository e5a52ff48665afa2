//! Writing the driver's functions: loads and stores, checks that leave with a status, calls by number.

use super::Numbers;
use crate::codegen::back_end::KernelConvention;
use crate::codegen::code::{DATA, EXTERNALS, FUNCTIONS};
use crate::codegen::weights::HEADER_BYTES;
use crate::interface::{E_ALIGN, E_NULL, E_STATE};
use crate::program::ALIGNMENT;
use cranelift_codegen::ir::{
    self, AbiParam, Block, ExtFuncData, ExternalName, FuncRef, GlobalValueData, InstBuilder, MemFlagsData, Signature, StackSlotData,
    StackSlotKind, Type, UserExternalName, UserFuncName, Value, condcodes::IntCC, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use std::collections::BTreeMap;

/// The state's record: offsets of its fields. Everything else in the state is variables.
pub mod record {
    /// `MAGIC` while the state is initialised.
    pub const MAGIC: i32 = 0;
    /// Hash of the model.
    pub const HASH: i32 = 8;
    /// Which CPU level's code is used, 16 bits.
    pub const LEVEL: i32 = 16;
    /// 1 when the scratch memory follows the state, 16 bits.
    pub const WHOLE: i32 = 18;
    /// Of the configuration.
    pub const THREADS: i32 = 20;
    /// Of the configuration.
    pub const PARALLEL_FOR: i32 = 24;
    /// Of the configuration.
    pub const ON_KERNEL: i32 = 32;
    /// Of the configuration.
    pub const USER: i32 = 40;
    /// Of the configuration.
    pub const WEIGHTS: i32 = 48;
    /// Of the configuration.
    pub const AREAS: i32 = 56;
    /// What an initialised state starts with: the letters `modelcS` and the ABI number.
    pub const INITIALISED: u64 = u64::from_le_bytes(*b"modelcS\x01");
}

/// Offsets in `modelc_config`.
pub mod config {
    /// `uint32_t struct_size`.
    pub const STRUCT_SIZE: i32 = 0;
    /// `uint32_t flags`.
    pub const FLAGS: i32 = 4;
    /// `const void *weights`.
    pub const WEIGHTS: i32 = 8;
    /// `size_t weights_bytes`.
    pub const WEIGHTS_BYTES: i32 = 16;
    /// `void *const *areas`.
    pub const AREAS: i32 = 24;
    /// `modelc_parallel_for_fn parallel_for`.
    pub const PARALLEL_FOR: i32 = 40;
    /// `uint32_t threads`.
    pub const THREADS: i32 = 48;
    /// `modelc_on_kernel_fn on_kernel`.
    pub const ON_KERNEL: i32 = 56;
    /// `void *user`.
    pub const USER: i32 = 64;
    /// `uint64_t cpu_features`.
    pub const CPU_FEATURES: i32 = 72;
}

/// Pointers are 64 bits wide on every target.
pub const POINTER: Type = types::I64;

/// A C signature of pointers and 64-bit numbers to an `int`, or to nothing. The result is extended, as some conventions ask.
pub fn signature(isa: &dyn TargetIsa, parameters: usize, status: bool) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params = vec![AbiParam::new(POINTER); parameters];
    if status {
        signature.returns.push(AbiParam::new(types::I32).sext());
    }
    signature
}

/// One function being written. Its current block is where instructions go.
pub struct Emitter<'a> {
    /// Cranelift's builder.
    pub builder: FunctionBuilder<'a>,
    isa: &'a dyn TargetIsa,
    /// Takes the status that the function returns; absent in functions that return nothing.
    exit: Option<Block>,
    callees: BTreeMap<u32, FuncRef>,
}

/// Writes a function of a signature; `body` gets its parameters, and leaves the block of the normal return current.
pub fn function(isa: &dyn TargetIsa, signature: Signature, body: impl FnOnce(&mut Emitter<'_>, &[Value])) -> ir::Function {
    let status = !signature.returns.is_empty();
    let mut function = ir::Function::with_name_signature(UserFuncName::default(), signature);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut function, &mut context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let arguments = builder.block_params(entry).to_vec();
    let exit = builder.create_block();
    let result = status.then(|| builder.append_block_param(exit, types::I32));
    let mut emitter = Emitter { builder, isa, exit: Some(exit), callees: BTreeMap::new() };
    body(&mut emitter, &arguments);
    emitter.leave(0);
    let mut builder = emitter.builder;
    builder.switch_to_block(exit);
    builder.ins().return_(result.as_slice());
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    function
}

impl Emitter<'_> {
    fn exit(&self) -> Block {
        self.exit.expect("a function has an exit until it is finished")
    }

    fn exit_arguments(&mut self, status: i32) -> Vec<ir::BlockArg> {
        let exit = self.exit();
        if self.builder.block_params(exit).is_empty() {
            return vec![];
        }
        vec![self.builder.ins().iconst(types::I32, i64::from(status)).into()]
    }

    /// Ends the block: the function returns `status`.
    pub fn leave(&mut self, status: i32) {
        let arguments = self.exit_arguments(status);
        let exit = self.exit();
        self.builder.ins().jump(exit, &arguments);
    }

    /// Returns `status` if `condition` is not 0; goes on in a new block.
    pub fn leave_if(&mut self, condition: Value, status: i32) {
        let arguments = self.exit_arguments(status);
        let (exit, next) = (self.exit(), self.builder.create_block());
        self.builder.ins().brif(condition, exit, &arguments, next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Returns the value itself, a status, if it is not 0.
    pub fn leave_with(&mut self, status: Value) {
        let (exit, next) = (self.exit(), self.builder.create_block());
        self.builder.ins().brif(status, exit, &[status.into()], next, &[]);
        self.builder.switch_to_block(next);
    }

    /// Ends the block: the function returns the value.
    pub fn leave_always(&mut self, status: Value) {
        let exit = self.exit();
        self.builder.ins().jump(exit, &[status.into()]);
    }

    /// Returns `MODELC_E_NULL` if the pointer is NULL.
    pub fn leave_if_null(&mut self, pointer: Value) {
        let null = self.builder.ins().icmp_imm_u(IntCC::Equal, pointer, 0);
        self.leave_if(null, E_NULL);
    }

    /// Returns `MODELC_E_ALIGN` if the pointer is no multiple of `alignment`.
    pub fn leave_if_misaligned(&mut self, pointer: Value, alignment: u64) {
        let low = self.builder.ins().band_imm_u(pointer, alignment as i64 - 1);
        self.leave_if(low, E_ALIGN);
    }

    /// NULL, alignment, magic and model hash of a state.
    pub fn check_state(&mut self, state: Value, model_hash: u64) {
        self.leave_if_null(state);
        self.leave_if_misaligned(state, ALIGNMENT);
        let magic = self.load(POINTER, state, record::MAGIC);
        let wrong = self.builder.ins().icmp_imm_u(IntCC::NotEqual, magic, record::INITIALISED as i64);
        self.leave_if(wrong, E_STATE);
        let hash = self.load(POINTER, state, record::HASH);
        let wrong = self.builder.ins().icmp_imm_u(IntCC::NotEqual, hash, model_hash as i64);
        self.leave_if(wrong, E_STATE);
    }

    /// A load that the checks before it have made safe.
    pub fn load(&mut self, ty: Type, base: Value, offset: i32) -> Value {
        self.builder.ins().load(ty, flags(), base, offset)
    }

    /// A store that the checks before it have made safe.
    pub fn store(&mut self, value: Value, base: Value, offset: i32) {
        self.builder.ins().store(flags(), value, base, offset);
    }

    /// A 64-bit number.
    pub fn number(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(POINTER, value as i64)
    }

    /// A pointer `offset` bytes further.
    pub fn at(&mut self, base: Value, offset: u64) -> Value {
        if offset == 0 { base } else { self.builder.ins().iadd_imm_u(base, offset as i64) }
    }

    /// The address of a byte of the constants: of the object's data, or of the file of weights at an address.
    pub fn constant(&mut self, weights: Option<Value>, offset: u64) -> Value {
        match weights {
            Some(weights) => self.at(weights, HEADER_BYTES + offset),
            None => self.data(Numbers::WEIGHTS, offset),
        }
    }

    /// The address of a byte of the program's data.
    fn data(&mut self, data: u32, offset: u64) -> Value {
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace: DATA, index: data });
        let symbol = self.builder.create_global_value(GlobalValueData::Symbol {
            name: ExternalName::user(name),
            offset: (offset as i64).into(),
            colocated: true,
            tls: false,
        });
        self.builder.ins().symbol_value(POINTER, symbol)
    }

    /// Calls the function of a number; its result, if it has one. All calls of one function have one signature.
    pub fn call(&mut self, function: u32, arguments: &[Value], result: Option<Type>) -> Option<Value> {
        self.call_by(self.isa.default_call_conv(), function, arguments, result)
    }

    /// The same by some calling convention.
    pub fn call_by(&mut self, convention: CallConv, function: u32, arguments: &[Value], result: Option<Type>) -> Option<Value> {
        let callee = match self.callees.get(&function) {
            Some(&callee) => callee,
            None => {
                let callee = self.declare(convention, function, arguments.len(), result);
                self.callees.insert(function, callee);
                callee
            }
        };
        let call = self.builder.ins().call(callee, arguments);
        self.builder.inst_results(call).first().copied()
    }

    /// The convention of kernels in Cranelift's terms.
    pub fn kernel_convention(&self, convention: KernelConvention) -> CallConv {
        match convention {
            KernelConvention::SystemV => CallConv::SystemV,
            KernelConvention::Target => self.isa.default_call_conv(),
        }
    }

    fn declare(&mut self, convention: CallConv, function: u32, parameters: usize, result: Option<Type>) -> FuncRef {
        let mut signature = signature(self.isa, parameters, false);
        signature.call_conv = convention;
        // What the callee leaves above its result is not looked at.
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.builder.import_signature(signature);
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace: FUNCTIONS, index: function });
        self.builder.import_function(ExtFuncData { name: ExternalName::user(name), signature, colocated: true, patchable: false })
    }

    /// Calls the function of the application of a number.
    pub fn call_external(&mut self, external: u32, arguments: &[Value]) -> Value {
        let signature = self.builder.import_signature(super::external::signature(self.isa));
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace: EXTERNALS, index: external });
        let data = ExtFuncData { name: ExternalName::user(name), signature, colocated: true, patchable: false };
        let callee = self.builder.import_function(data);
        let call = self.builder.ins().call(callee, arguments);
        self.builder.inst_results(call)[0]
    }

    /// Calls `int callback(void *user, uint32_t a, uint32_t b)`.
    pub fn call_back(&mut self, callback: Value, user: Value, a: u32, b: u32) -> Value {
        let mut signature = Signature::new(self.isa.default_call_conv());
        // riscv64 passes 32-bit numbers sign-extended, unsigned ones too; the other conventions do not look at the upper half.
        let word = AbiParam::new(types::I32).sext();
        signature.params = vec![AbiParam::new(POINTER), word, word];
        signature.returns = vec![AbiParam::new(types::I32)];
        let signature = self.builder.import_signature(signature);
        let [a, b] = [a, b].map(|n| self.builder.ins().iconst(types::I32, i64::from(n)));
        let call = self.builder.ins().call_indirect(signature, callback, &[user, a, b]);
        self.builder.inst_results(call)[0]
    }

    /// Calls `void parallel_for(void *user, uint32_t count, void (*part)(void *, uint32_t), void *shared)` with the function of a number.
    pub fn call_parallel_for(&mut self, parallel_for: Value, user: Value, count: Value, part: u32, shared: Value) {
        let signature = self.builder.import_signature(super::parts::signature(self.isa));
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace: FUNCTIONS, index: part });
        let data = ExtFuncData { name: ExternalName::user(name), signature, colocated: true, patchable: false };
        let part = self.builder.import_function(data);
        let part = self.builder.ins().func_addr(POINTER, part);
        let mut signature = Signature::new(self.isa.default_call_conv());
        let pointer = AbiParam::new(POINTER);
        signature.params = vec![pointer, AbiParam::new(types::I32).sext(), pointer, pointer];
        let signature = self.builder.import_signature(signature);
        self.builder.ins().call_indirect(signature, parallel_for, &[user, count, part, shared]);
    }

    /// The address of memory of the function's own.
    pub fn stack_memory(&mut self, bytes: u32) -> Value {
        let slot = self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
        self.builder.ins().stack_addr(POINTER, slot, 0)
    }

    /// A loop: `index` runs from 0 while below `end`, by `step`.
    pub fn count(&mut self, end: Value, step: u64, body: impl FnOnce(&mut Self, Value)) {
        let (head, inside, after) = (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let index = self.builder.append_block_param(head, POINTER);
        let zero = self.number(0);
        self.builder.ins().jump(head, &[zero.into()]);
        self.builder.switch_to_block(head);
        let more = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, end);
        self.builder.ins().brif(more, inside, &[], after, &[]);
        self.builder.switch_to_block(inside);
        body(self, index);
        let next = self.at(index, step);
        self.builder.ins().jump(head, &[next.into()]);
        self.builder.switch_to_block(after);
    }

    /// Runs one of two bodies; each leaves the block current where it ends.
    pub fn branch(&mut self, condition: Value, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let (yes, no, after) = (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        self.builder.switch_to_block(yes);
        then(self);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(no);
        otherwise(self);
        self.builder.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
    }
}

/// No trap is expected; moving above a check is not allowed.
fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}
