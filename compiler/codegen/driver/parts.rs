//! Kernel calls in parts, where the configuration brings a `parallel_for`: the caller of the kernel leaves what the parts share on its
//! stack, and each part works out its range and its working memory from its number. How many parts there are changes no result.

use super::emitter::{Emitter, POINTER, function};
use super::{Context, LevelKernels};
use crate::program::{Call, Parts};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, Value, condcodes::IntCC, types};
use cranelift_codegen::isa::TargetIsa;

/// Of a configuration that does not say how many threads there are.
pub const USUAL_THREADS: i64 = 8;

/// Offsets in what parts share. Behind it are the arguments, then the working memory of the second part.
pub mod shared {
    /// A status that is not 0, if a part ended so.
    pub const STATUS: i32 = 0;
    /// The number of parts, 32 bits.
    pub const PARTS: i32 = 4;
    /// The first argument.
    pub const ARGUMENTS: i32 = 8;
}

/// Bytes of what the parts of a call share.
pub fn shared_bytes(call: &Call) -> u32 {
    let working = call.parts.as_ref().map_or(0, |parts| parts.working.len());
    shared::ARGUMENTS as u32 + 8 * (call.arguments.len() + working) as u32
}

/// Where the address of an argument is in what parts share.
pub fn argument(number: usize) -> i32 {
    shared::ARGUMENTS + 8 * number as i32
}

/// The signature of `void part(void *shared, uint32_t number)`.
pub fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params = vec![AbiParam::new(POINTER), AbiParam::new(types::I32).sext()];
    signature
}

/// A part of a call.
pub fn part(context: &Context<'_>, level: &LevelKernels<'_>, call: &Call, parts: &Parts) -> ir::Function {
    function(context.isa, signature(context.isa), |e, parameters| {
        let &[shared, number] = parameters else { unreachable!("a part has two parameters") };
        let number = e.builder.ins().uextend(POINTER, number);
        let mut arguments: Vec<Value> = (0..call.arguments.len()).map(|i| e.load(POINTER, shared, argument(i))).collect();
        for (i, &(position, _)) in parts.working.iter().enumerate() {
            let second = e.load(POINTER, shared, argument(call.arguments.len() + i));
            arguments[position] = working_memory(e, arguments[position], second, number, parts.step);
        }
        let count = e.load(types::I32, shared, shared::PARTS);
        let count = e.builder.ins().uextend(POINTER, count);
        let next = e.at(number, 1);
        let extent = call.integers.last().copied().unwrap_or(0);
        for bound in [number, next] {
            let product = e.builder.ins().imul_imm_u(bound, extent);
            arguments.push(e.builder.ins().udiv(product, count));
        }
        let convention = e.kernel_convention(level.convention);
        let status = e.call_by(convention, level.first + call.kernel as u32, &arguments, Some(types::I32)).expect("a kernel has a status");
        let (failed, after) = (e.builder.create_block(), e.builder.create_block());
        e.builder.ins().brif(status, failed, &[], after, &[]);
        e.builder.switch_to_block(failed);
        e.store(status, shared, shared::STATUS);
        e.builder.ins().jump(after, &[]);
        e.builder.switch_to_block(after);
    })
}

/// The first part works where the call would; those behind it one behind the other in another place.
fn working_memory(e: &mut Emitter<'_>, first: Value, second: Value, number: Value, step: u64) -> Value {
    let behind = e.builder.ins().iadd_imm_s(number, -1);
    let offset = e.builder.ins().imul_imm_u(behind, step as i64);
    let own = e.builder.ins().iadd(second, offset);
    let is_first = e.builder.ins().icmp_imm_u(IntCC::Equal, number, 0);
    e.builder.ins().select(is_first, first, own)
}
