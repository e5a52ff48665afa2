//! Places in the scratch memory whose offsets depend on the caller's extents, and the scratch memory that a call needs.

use super::context::Context;
use super::language::{BinaryOp, Builder, CompareOp, Function, Operand, Signature, Value, Width, function};
use super::ports;
use modelc_machine::Alignment;
use modelc_program::{End, Moving};

/// Computes the offsets of the places from the start of the scratch memory.
pub fn offsets(e: &mut Builder, moving: &Moving, extents: &[Value]) -> Vec<Value> {
    let mut offsets = Vec::with_capacity(moving.places.len());
    for place in &moving.places {
        let after = last(e, &place.after, &offsets, extents);
        let remainder = place.bound % moving.alignment.bytes();
        let aligned = down(e, after, moving.alignment.bytes() - 1 - remainder, moving.alignment);
        offsets.push(e.at(aligned, remainder));
    }
    offsets
}

/// Writes `size_t method_scratch(const inputs *in)`. It returns the scratch memory of a call with inputs of these shapes. Larger extents count as
/// their bound; without inputs all extents are at their bound.
pub fn scratch(context: &Context<'_>, method: usize) -> Function {
    let (method, interface) = (&context.program.methods[method], &context.interface.methods[method]);
    function(context.interface.layout, Signature::new(&[Width::Word], Some(Width::Word)), |e, arguments| {
        let &[inputs] = arguments else { unreachable!("the function has one parameter") };
        let alignment = context.program.alignment;
        let all = e.add(alignment.up(method.scratch_bytes), 0);
        let missing = e.compare(CompareOp::Equal, inputs, 0);
        let given = e.region(|e| {
            if method.moving.is_empty() && method.moving.ends.is_empty() {
                return vec![all.into()];
            }
            let extents = ports::clamped(e, method, inputs, &interface.inputs);
            let offsets = offsets(e, &method.moving, &extents);
            let end = last(e, &method.moving.ends, &offsets, &extents);
            vec![down(e, end, alignment.bytes() - 1, alignment).into()]
        });
        let missed = e.region(|_| vec![all.into()]);
        let bytes = e.branch(missing, &[Width::Word], missed, given)[0];
        e.leave_always(bytes);
    })
}

/// Computes the largest of some ends.
fn last(e: &mut Builder, ends: &[End], offsets: &[Value], extents: &[Value]) -> Value {
    let mut last: Option<Value> = None;
    for end in ends {
        let end = value(e, end, offsets, extents);
        last = Some(match last {
            None => end,
            Some(last) => {
                let further = e.compare(CompareOp::Greater, end, last);
                e.select(further, end, last)
            }
        });
    }
    last.unwrap_or_else(|| e.add(0, 0))
}

/// Computes the offset at which a value ends; 0 instead of a negative offset.
fn value(e: &mut Builder, end: &End, offsets: &[Value], extents: &[Value]) -> Value {
    let size = end.size.extents.iter().map(|&extent| extents[extent as usize]);
    let size = size.fold(Operand::Number(end.size.factor), |size, extent| e.mul(extent, size).into());
    let place = end.place.map_or(Operand::Number(0), |place| offsets[place as usize].into());
    let beyond = u64::try_from(end.plus).unwrap_or(0);
    let sum = e.add(place, size);
    let sum = e.at(sum, beyond);
    let missing = end.plus.min(0).unsigned_abs();
    if missing == 0 {
        return sum;
    }
    let less = e.binary(BinaryOp::Sub, sum, missing);
    let is_beyond = e.compare(CompareOp::Greater, sum, missing);
    e.select(is_beyond, less, 0)
}

/// Adds `further` bytes and rounds down to a multiple of the alignment.
fn down(e: &mut Builder, value: Value, further: u64, alignment: Alignment) -> Value {
    let sum = e.at(value, further);
    let over = e.binary(BinaryOp::And, sum, alignment.bytes() - 1);
    e.binary(BinaryOp::Sub, sum, over)
}
