//! Kernel calls in parts, where the configuration brings a `parallel_for`: the caller of the kernel leaves what the parts share on its
//! stack, and each part works out its range and its working memory from its number. How many parts there are changes no result.

use super::context::Context;
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use crate::interface::Layout;
use crate::program::{Call, Parts};

/// Of a configuration that does not say how many threads there are.
pub const USUAL_THREADS: i32 = 8;

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
pub fn shared_bytes(call: &Call, layout: Layout) -> u32 {
    let working = call.parts.as_ref().map_or(0, |parts| parts.working.len());
    argument(call.arguments.len() + working, layout) as u32
}

/// Where the address of an argument is in what parts share.
pub fn argument(number: usize, layout: Layout) -> i32 {
    shared::ARGUMENTS + (layout.pointer as usize * number) as i32
}

/// `void part(void *shared, uint32_t number)`.
fn part_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single], None)
}

/// `void parallel_for(void *user, uint32_t count, void (*part)(void *, uint32_t), void *shared)`.
pub fn parallel_for_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single, Width::Word, Width::Word], None)
}

/// A part of a kernel call on the level of a number.
pub fn part(context: &Context<'_>, level: usize, call: &Call, parts: &Parts) -> Function {
    let level = &context.levels[level];
    function(context.interface.layout, part_signature(), |e, parameters| {
        let &[shared, number] = parameters else { unreachable!("a part has two parameters") };
        let layout = e.layout;
        let number = e.extend(Width::Word, number);
        let mut arguments: Vec<Value> = (0..call.arguments.len()).map(|i| e.load(Width::Word, shared, argument(i, layout))).collect();
        for (i, working) in parts.working.iter().enumerate() {
            let second = e.load(Width::Word, shared, argument(call.arguments.len() + i, layout));
            arguments[working.argument] = working_memory(e, arguments[working.argument], second, number, working.step);
        }
        let count = e.load(Width::Single, shared, shared::PARTS);
        let count = e.extend(Width::Word, count);
        let next = e.at(number, 1);
        let extent = call.integers.last().copied().unwrap_or(0);
        for bound in [number, next] {
            let product = e.mul(bound, extent as u64);
            arguments.push(e.binary(BinaryOp::Div, product, count));
        }
        let arguments: Vec<Operand> = arguments.into_iter().map(Operand::Value).collect();
        let callee = Callee::Kernel(level.first + call.kernel as u32, level.convention);
        let status = e.call(callee, Signature::status(arguments.len()), arguments);
        e.when(status, |e| e.store(Width::Single, status, shared, shared::STATUS));
    })
}

/// The first part works where the call would, the others side by side in another place.
fn working_memory(e: &mut Builder, first: Value, second: Value, number: Value, step: u64) -> Value {
    let behind = e.add(number, -1);
    let offset = e.mul(behind, step);
    let own = e.add(second, offset);
    let is_first = e.compare(CompareOp::Equal, number, 0);
    e.select(is_first, first, own)
}
