//! Custom operators: arrays of `modelc_tensor` on the stack, a call of the application's function, its status.

use super::emitter::{Emitter, POINTER, function, record};
use super::method::Body;
use crate::interface::{E_CUSTOM, TENSOR_BYTES, element_number, tensor};
use crate::program::{External, ExternalTensor};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, Value, condcodes::IntCC, types};
use cranelift_codegen::isa::TargetIsa;

/// `int NAME(void *user, const modelc_tensor *in, uint32_t n_in, modelc_tensor *out, uint32_t n_out, const void *options, size_t
/// options_bytes)`. riscv64 passes 32-bit numbers sign-extended; the other conventions do not look at the upper half.
pub fn signature(isa: &dyn TargetIsa) -> Signature {
    let mut signature = Signature::new(isa.default_call_conv());
    let (pointer, word) = (AbiParam::new(POINTER), AbiParam::new(types::I32).sext());
    signature.params = vec![pointer, pointer, word, pointer, word, pointer, pointer];
    signature.returns = vec![AbiParam::new(types::I32)];
    signature
}

/// A function that calls the one at an address, with the same arguments: code reaches only so far, and a function of the process
/// that runs the JIT may be further away.
pub fn forward(isa: &dyn TargetIsa, address: u64) -> ir::Function {
    let external = signature(isa);
    function(isa, external.clone(), |e, arguments| {
        let target = e.number(address);
        let callee = e.builder.import_signature(external);
        let call = e.builder.ins().call_indirect(callee, target, arguments);
        let status = e.builder.inst_results(call)[0];
        e.leave_with(status);
    })
}

/// The step itself: `MODELC_E_CUSTOM` unless the function returns 0.
pub(super) fn call(body: &Body<'_>, e: &mut Emitter<'_>, external: &External) {
    let inputs = tensors(body, e, &external.inputs);
    let outputs = tensors(body, e, &external.outputs);
    let user = e.load(POINTER, body.state, record::USER);
    let counts = [&external.inputs, &external.outputs].map(|list| e.builder.ins().iconst(types::I32, list.len() as i64));
    let constant = |number: u32| body.context.program.constants.get(number as usize).map_or(0, |blob| blob.data.bytes().len() as u64);
    let options_bytes = e.number(external.options.map_or(0, constant));
    let options = constant_or_null(body, e, external.options);
    let arguments = [user, inputs, counts[0], outputs, counts[1], options, options_bytes];
    let number = body.context.externals.iter().position(|symbol| *symbol == external.symbol).unwrap_or_default();
    let status = e.call_external(number as u32, &arguments);
    let failed = e.builder.ins().icmp_imm_u(IntCC::NotEqual, status, 0);
    e.leave_if(failed, E_CUSTOM);
}

fn constant_or_null(body: &Body<'_>, e: &mut Emitter<'_>, constant: Option<u32>) -> Value {
    match constant {
        Some(constant) => body.address(e, crate::program::Address::Constant(constant, 0)),
        None => e.number(0),
    }
}

/// An array of `modelc_tensor`.
fn tensors(body: &Body<'_>, e: &mut Emitter<'_>, list: &[ExternalTensor]) -> Value {
    let bytes = TENSOR_BYTES * list.len() as u32;
    let slot = e.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
    let array = e.builder.ins().stack_addr(POINTER, slot, 0);
    for (number, item) in list.iter().enumerate() {
        let start = TENSOR_BYTES as i32 * number as i32;
        let words = [
            (tensor::DATA, body.address(e, item.address)),
            (tensor::BYTES, e.number(item.bytes)),
            (tensor::SHAPE, constant_or_null(body, e, item.shape)),
        ];
        for (field, value) in words {
            e.store(value, array, start + field);
        }
        let numbers = [(tensor::RANK, item.rank), (tensor::TYPE, element_number(item.element))];
        for (field, number) in numbers {
            let value = e.builder.ins().iconst(types::I32, i64::from(number));
            e.store(value, array, start + field);
        }
        for (field, address) in [(tensor::SCALE, item.scale), (tensor::ZERO_POINT, item.zero_point)] {
            let from = body.address(e, address);
            let value = e.load(types::I32, from, 0);
            e.store(value, array, start + field);
        }
    }
    array
}
