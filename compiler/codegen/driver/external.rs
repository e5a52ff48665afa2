//! Custom operators: arrays of `modelc_tensor` on the stack, a call of the application's function, and a check of its status.

use super::addresses::Addresses;
use super::language::{Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use modelc_interface::{E_CUSTOM, Layout, RECORD, Record, TENSOR, Tensor, element_number};
use modelc_program::{Address, External, ExternalTensor};

/// Returns the signature of custom operators: `int NAME(void *user, const modelc_tensor *in, uint32_t n_in, modelc_tensor *out, uint32_t n_out, const
/// void *options, size_t options_bytes)`.
pub fn signature() -> Signature {
    use Width::{Single, Word};
    Signature::new(&[Word, Word, Single, Word, Single, Word, Word], Some(Single))
}

/// Writes a function that calls a fixed address with its own arguments. The JIT needs it: a function of the process may be further away than a direct
/// call reaches.
pub fn forward(layout: Layout, signature: &Signature, address: u64) -> Function {
    function(layout, signature.clone(), |e, arguments| {
        let arguments = arguments.iter().copied().map(Operand::Value).collect();
        let result = e.call(Callee::Pointer(address.into()), signature.clone(), arguments);
        e.leave_always(result);
    })
}

/// Calls the custom operator. Returns `MODELC_E_CUSTOM` unless its status is 0.
pub(super) fn call(addresses: &Addresses<'_>, e: &mut Builder, external: &External) {
    let inputs = tensors(addresses, e, &external.inputs);
    let outputs = tensors(addresses, e, &external.outputs);
    let user = e.member(&RECORD, addresses.state, Record::User);
    let [in_count, out_count] = [&external.inputs, &external.outputs].map(|list| Operand::Number(list.len() as u64));
    let constant = |number: u32| addresses.context.program.constants.get(number as usize).map_or(0, |blob| blob.data.len() as u64);
    let options_bytes = Operand::Number(external.options.map_or(0, constant));
    let options = constant_or_null(addresses, e, external.options);
    let arguments = vec![user.into(), inputs.into(), in_count, outputs.into(), out_count, options, options_bytes];
    let number = addresses.context.imports.iter().position(|import| import.symbol == external.symbol).unwrap_or_default();
    let status = e.call(Callee::Import(number as u32), signature(), arguments);
    let failed = e.compare(CompareOp::NotEqual, status, 0);
    e.leave_if(failed, E_CUSTOM);
}

fn constant_or_null(addresses: &Addresses<'_>, e: &mut Builder, constant: Option<u32>) -> Operand {
    match constant {
        Some(constant) => addresses.address(e, Address::Constant(constant, 0)).into(),
        None => Operand::Number(0),
    }
}

/// Writes an array of `modelc_tensor` to the stack; returns its address.
fn tensors(addresses: &Addresses<'_>, e: &mut Builder, list: &[ExternalTensor]) -> Value {
    let layout = e.layout;
    let bytes = TENSOR.bytes(layout);
    let array = e.memory(bytes as u32 * list.len() as u32);
    for (number, item) in list.iter().enumerate() {
        let place = |member: Tensor| (bytes * number as u64) as i32 + TENSOR.offset(member, layout);
        let words = [
            (Tensor::Data, addresses.address(e, item.address).into()),
            (Tensor::Bytes, Operand::Number(item.bytes)),
            (Tensor::Shape, constant_or_null(addresses, e, item.shape)),
        ];
        for (member, value) in words {
            e.store(Width::Word, value, array, place(member));
        }
        for (member, number) in [(Tensor::Rank, item.rank), (Tensor::Type, element_number(item.element))] {
            e.store(Width::Single, u64::from(number), array, place(member));
        }
        for (member, address) in [(Tensor::Scale, item.scale), (Tensor::ZeroPoint, item.zero_point)] {
            let from = addresses.address(e, address);
            let value = e.load(Width::Single, from, 0);
            e.store(Width::Single, value, array, place(member));
        }
    }
    array
}
