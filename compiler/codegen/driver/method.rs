//! A method: the entry that takes the arena, the entry that takes state and scratch apart, and the steps.

use super::emitter::{Emitter, POINTER, function, record, signature};
use super::{Context, LevelKernels, parts};
use crate::interface::{E_ABORTED, E_ARENA, E_SHAPE, Field, RECORD_BYTES};
use crate::program::{ALIGNMENT, Address, Call, External, Method, Parts, Port, Slices, Step};
use cranelift_codegen::ir::{self, InstBuilder, Value, condcodes::IntCC, types};

/// `phase` of `on_kernel` before a kernel runs.
pub const BEFORE: u32 = 0;
/// `phase` of `on_kernel` after a kernel has run.
pub const AFTER: u32 = 1;

/// `int method(void *arena, const inputs *in, outputs *out)`: the arena must hold the scratch memory too.
pub fn whole(context: &Context<'_>, split: u32) -> ir::Function {
    function(context.isa, signature(context.isa, 3, true), |e, arguments| {
        let &[arena, inputs, outputs] = arguments else { unreachable!("a method has three parameters") };
        e.check_state(arena, context.model_hash);
        let whole = e.load(types::I16, arena, record::WHOLE);
        let apart = e.builder.ins().icmp_imm_u(IntCC::Equal, whole, 0);
        e.leave_if(apart, E_ARENA);
        let scratch = e.at(arena, context.interface.state_bytes);
        let status = e.call(split, &[arena, scratch, inputs, outputs], Some(types::I32)).expect("a method has a status");
        e.leave_with(status);
    })
}

/// `int method_split(void *state, void *scratch, const inputs *in, outputs *out)` of an object with several levels: the function that
/// stands at the place of the state's level from the one numbered `first` on.
pub fn by_level(context: &Context<'_>, first: u32) -> ir::Function {
    function(context.isa, signature(context.isa, 4, true), |e, arguments| {
        e.check_state(arguments[0], context.model_hash);
        let level = e.load(types::I16, arguments[0], record::LEVEL);
        let last = context.levels.len() - 1;
        for number in 0..=last {
            let (here, next) = (e.builder.create_block(), e.builder.create_block());
            let function = first + number as u32;
            if number < last {
                let chosen = e.builder.ins().icmp_imm_u(IntCC::Equal, level, number as i64);
                e.builder.ins().brif(chosen, here, &[], next, &[]);
                e.builder.switch_to_block(here);
            }
            let status = e.call(function, arguments, Some(types::I32)).expect("a method has a status");
            if number < last {
                e.leave_always(status);
                e.builder.switch_to_block(next);
            } else {
                e.leave_with(status);
            }
        }
    })
}

/// `int method_split(void *state, void *scratch, const inputs *in, outputs *out)` on a level. `first_call` is the number of the method's
/// first kernel call in profiles.
pub fn split(context: &Context<'_>, level: &LevelKernels<'_>, method: usize, first_call: u32, parts: &[u32]) -> ir::Function {
    let (method, interface) = (&level.level.program.methods[method], &context.interface.methods[method]);
    function(context.isa, signature(context.isa, 4, true), |e, arguments| {
        let &[state, scratch, inputs, outputs] = arguments else { unreachable!("a split method has four parameters") };
        e.check_state(state, context.model_hash);
        if context.interface.scratch_bytes > 0 {
            e.leave_if_null(scratch);
            e.leave_if_misaligned(scratch, ALIGNMENT);
        }
        for (base, ports) in [(inputs, &method.inputs), (outputs, &method.outputs)] {
            if !ports.is_empty() {
                e.leave_if_null(base);
            }
        }
        let records = (inputs, outputs);
        let inputs = buffers(e, inputs, &method.inputs, &interface.inputs);
        let outputs = buffers(e, outputs, &method.outputs, &interface.outputs);
        for (port, &buffer) in method.inputs.iter().zip(&inputs) {
            if let Some(value) = &port.value {
                leave_if_different(e, buffer, value.bytes(), port.element.alignment());
            }
        }
        let hooks =
            context.options.profile_hooks.then(|| (e.load(POINTER, state, record::ON_KERNEL), e.load(POINTER, state, record::USER)));
        let weights = context.weights_file.map(|_| e.load(POINTER, state, record::WEIGHTS));
        let bytes = calls(&method.steps).into_iter().filter(|call| call.parts.is_some()).map(parts::shared_bytes).max();
        let shared = bytes.map(|bytes| e.stack_memory(bytes));
        let mut body =
            Body { context, level, state, scratch, weights, inputs, outputs, hooks, call: first_call, parts: parts.iter(), shared };
        body.enter(e, method, records.0, &interface.inputs);
        body.steps(e, &method.steps);
        body.leave(e, method, records.1, &interface.outputs);
    })
}

/// The number of kernel calls in steps, each counted once however often it runs.
pub fn calls(steps: &[Step]) -> Vec<&Call> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Call(call) => found.push(call),
            Step::External(_) => {}
            Step::If { then, otherwise, .. } => found.extend(calls(then).into_iter().chain(calls(otherwise))),
            Step::While { head, body, .. } => found.extend(calls(head).into_iter().chain(calls(body))),
        }
    }
    found
}

/// The calls of functions of the application in steps.
pub fn externals(steps: &[Step]) -> Vec<&External> {
    let mut found = Vec::new();
    for step in steps {
        match step {
            Step::Call(_) => {}
            Step::External(external) => found.push(external),
            Step::If { then, otherwise, .. } => found.extend(externals(then).into_iter().chain(externals(otherwise))),
            Step::While { head, body, .. } => found.extend(externals(head).into_iter().chain(externals(body))),
        }
    }
    found
}

/// The addresses of the caller's buffers, checked.
fn buffers(e: &mut Emitter<'_>, base: Value, ports: &[Port], fields: &[Field]) -> Vec<Value> {
    let buffer = |(port, field): (&Port, &Field)| {
        if port.scalar {
            return e.at(base, field.offset);
        }
        let pointer = e.load(POINTER, base, field.offset as i32);
        if port.bytes > 0 {
            e.leave_if_null(pointer);
        }
        if port.element.alignment() > 1 {
            e.leave_if_misaligned(pointer, port.element.alignment());
        }
        pointer
    };
    ports.iter().zip(fields).map(buffer).collect()
}

/// Returns `MODELC_E_SHAPE` if a buffer of elements of so many bytes has other contents. The code has them as numbers, so that they hold
/// whatever weights it is given.
fn leave_if_different(e: &mut Emitter<'_>, buffer: Value, bytes: &[u8], size: u64) {
    let ty = ir::Type::int(size as u16 * 8).unwrap_or(types::I8);
    let mut difference = None;
    for (index, element) in bytes.chunks(ty.bytes() as usize).enumerate() {
        let wanted = element.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        let found = e.load(ty, buffer, (index * ty.bytes() as usize) as i32);
        let wanted = e.builder.ins().iconst(ty, wanted as i64);
        let bits = e.builder.ins().bxor(found, wanted);
        difference = Some(difference.map_or(bits, |others| e.builder.ins().bor(others, bits)));
    }
    if let Some(difference) = difference {
        e.leave_if(difference, E_SHAPE);
    }
}

/// What the steps of a method refer to.
pub(super) struct Body<'a> {
    pub(super) context: &'a Context<'a>,
    level: &'a LevelKernels<'a>,
    pub(super) state: Value,
    scratch: Value,
    /// Of a file of their own.
    weights: Option<Value>,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    /// `on_kernel` and `user`.
    hooks: Option<(Value, Value)>,
    /// The number of the next kernel call.
    call: u32,
    /// The functions that do parts of the calls that follow.
    parts: std::slice::Iter<'a, u32>,
    /// Where calls in parts leave what the parts share.
    shared: Option<Value>,
}

impl Body<'_> {
    fn steps(&mut self, e: &mut Emitter<'_>, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call(call) => self.call(e, call),
                Step::External(external) => super::external::call(self, e, external),
                Step::If { condition, then, otherwise } => {
                    let condition = self.truth(e, *condition);
                    // Both bodies borrow the counter, one after the other.
                    let this = std::cell::RefCell::new(&mut *self);
                    e.branch(condition, |e| this.borrow_mut().steps(e, then), |e| this.borrow_mut().steps(e, otherwise));
                }
                Step::While { head, condition, body } => self.repeat(e, head, *condition, body),
            }
        }
    }

    fn repeat(&mut self, e: &mut Emitter<'_>, head: &[Step], condition: Address, body: &[Step]) {
        let [start, inside, after] = [(); 3].map(|()| e.builder.create_block());
        let limit = self.context.program.max_iterations;
        let rounds = limit.map(|_| e.builder.append_block_param(start, POINTER));
        let none: Vec<ir::BlockArg> = limit.iter().map(|_| e.number(0).into()).collect();
        e.builder.ins().jump(start, &none);
        e.builder.switch_to_block(start);
        self.steps(e, head);
        let more = self.truth(e, condition);
        e.builder.ins().brif(more, inside, &[], after, &[]);
        e.builder.switch_to_block(inside);
        let mut next = Vec::new();
        if let Some((rounds, limit)) = rounds.zip(limit) {
            let enough = e.builder.ins().icmp_imm_u(IntCC::Equal, rounds, limit as i64);
            e.leave_if(enough, E_ABORTED);
            next.push(e.at(rounds, 1).into());
        }
        self.steps(e, body);
        e.builder.ins().jump(start, &next);
        e.builder.switch_to_block(after);
    }

    fn truth(&self, e: &mut Emitter<'_>, address: Address) -> Value {
        let address = self.address(e, address);
        e.load(types::I8, address, 0)
    }

    fn call(&mut self, e: &mut Emitter<'_>, call: &Call) {
        let number = self.call;
        self.call += 1;
        self.notify(e, number, BEFORE);
        let arguments: Vec<_> = call.arguments.iter().map(|&address| self.address(e, address)).collect();
        match &call.slices {
            None => self.whole(e, call, arguments),
            Some(slices) => self.slices(e, call, slices, &arguments),
        }
        self.notify(e, number, AFTER);
    }

    /// Calls a kernel once, or in parts.
    fn whole(&mut self, e: &mut Emitter<'_>, call: &Call, arguments: Vec<Value>) {
        match (&call.parts, self.shared) {
            (Some(parts), Some(shared)) => {
                let part = *self.parts.next().expect("each call that may be cut has a function for its parts");
                self.call_in_parts(e, (call, &arguments), (parts, part), shared);
            }
            _ => {
                let status = self.kernel(e, call, arguments);
                e.leave_with(status);
            }
        }
    }

    /// The status of a kernel.
    fn kernel(&self, e: &mut Emitter<'_>, call: &Call, mut arguments: Vec<Value>) -> Value {
        arguments.extend(call.integers.iter().map(|&n| e.number(n as u64)));
        let kernel = self.level.first + call.kernel as u32;
        let convention = e.kernel_convention(self.level.convention);
        e.call_by(convention, kernel, &arguments, Some(types::I32)).expect("a kernel has a status")
    }

    /// Calls a kernel for one block of slices after the other, as long as whole blocks are left.
    fn slices(&self, e: &mut Emitter<'_>, call: &Call, slices: &Slices, arguments: &[Value]) {
        let mut count = e.number(1);
        for &extent in &slices.extents {
            let cell = self.address(e, extent);
            let extent = e.load(POINTER, cell, 0);
            count = e.builder.ins().imul(count, extent);
        }
        let blocks = |e: &mut Emitter<'_>, size: u64| {
            let size = e.number(size);
            e.builder.ins().udiv(count, size)
        };
        let first = match slices.behind_blocks_of {
            Some(size) => {
                let whole = blocks(e, size);
                e.builder.ins().imul_imm_u(whole, size as i64)
            }
            None => e.number(0),
        };
        let rest = e.builder.ins().isub(count, first);
        let size = e.number(slices.block);
        let count = e.builder.ins().udiv(rest, size);
        e.count(count, 1, |e, block| {
            let slice = e.builder.ins().imul_imm_u(block, slices.block as i64);
            let slice = e.builder.ins().iadd(slice, first);
            let at = |(&argument, &stride): (&Value, &u64)| {
                if stride == 0 {
                    return argument;
                }
                let offset = e.builder.ins().imul_imm_u(slice, stride as i64);
                e.builder.ins().iadd(argument, offset)
            };
            let arguments = arguments.iter().zip(&slices.strides).map(at).collect();
            let status = self.kernel(e, call, arguments);
            e.leave_with(status);
        });
    }

    /// Checks the shapes that the caller gives and keeps what the method asks for. Nothing of the caller's is written before all are sound.
    fn enter(&self, e: &mut Emitter<'_>, method: &Method, record: Value, fields: &[Field]) {
        let mut kept = Vec::new();
        for (number, (port, field)) in (0..).zip(method.inputs.iter().zip(fields)) {
            let Some(start) = field.shape_offset else { continue };
            for (dimension, &most) in (0..).zip(&port.shape) {
                let extent = e.load(POINTER, record, (start + 8 * u64::from(dimension)) as i32);
                let dynamic = method.input_extents.iter().find(|x| (x.port, x.dimension) == (number, dimension));
                let Some(dynamic) = dynamic else {
                    let wrong = e.builder.ins().icmp_imm_u(IntCC::NotEqual, extent, most as i64);
                    e.leave_if(wrong, E_SHAPE);
                    continue;
                };
                // One comparison for both ends: what is below the smallest wraps to a large number.
                let above = e.builder.ins().iadd_imm_u(extent, (dynamic.low as i64).wrapping_neg());
                let wrong = e.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, above, (most - dynamic.low) as i64);
                e.leave_if(wrong, E_SHAPE);
                match kept.iter().find(|(cell, _)| *cell == dynamic.cell) {
                    None => kept.push((dynamic.cell, extent)),
                    Some(&(_, same)) => {
                        let wrong = e.builder.ins().icmp(IntCC::NotEqual, extent, same);
                        e.leave_if(wrong, E_SHAPE);
                    }
                }
            }
        }
        for (cell, extent) in kept {
            let cell = self.address(e, cell);
            e.store(extent, cell, 0);
        }
    }

    /// Tells the caller the shapes of outputs.
    fn leave(&self, e: &mut Emitter<'_>, method: &Method, record: Value, fields: &[Field]) {
        for (number, (port, field)) in (0..).zip(method.outputs.iter().zip(fields)) {
            let Some(start) = field.shape_offset else { continue };
            for (dimension, &known) in (0..).zip(&port.shape) {
                let dynamic = method.output_extents.iter().find(|x| (x.port, x.dimension) == (number, dimension));
                let extent = match dynamic {
                    Some(dynamic) => {
                        let cell = self.address(e, dynamic.cell);
                        e.load(POINTER, cell, 0)
                    }
                    None => e.number(known),
                };
                e.store(extent, record, (start + 8 * u64::from(dimension)) as i32);
            }
        }
    }

    /// A call by `parallel_for` if the configuration has one, else straight.
    fn call_in_parts(&self, e: &mut Emitter<'_>, (call, pointers): (&Call, &[Value]), (parts, part): (&Parts, u32), shared: Value) {
        let parallel_for = e.load(POINTER, self.state, record::PARALLEL_FOR);
        let [alone, together, after] = [(); 3].map(|()| e.builder.create_block());
        let status = e.builder.append_block_param(after, types::I32);
        e.builder.ins().brif(parallel_for, together, &[], alone, &[]);
        e.builder.switch_to_block(alone);
        let found = self.kernel(e, call, pointers.to_vec());
        e.builder.ins().jump(after, &[found.into()]);

        e.builder.switch_to_block(together);
        let threads = e.load(types::I32, self.state, record::THREADS);
        let usual = e.builder.ins().iconst(types::I32, parts::USUAL_THREADS);
        let told = e.builder.ins().icmp_imm_u(IntCC::NotEqual, threads, 0);
        let threads = e.builder.ins().select(told, threads, usual);
        let most = e.builder.ins().iconst(types::I32, i64::from(parts.most));
        let fewer = e.builder.ins().icmp(IntCC::UnsignedLessThan, threads, most);
        let count = e.builder.ins().select(fewer, threads, most);
        let zero = e.builder.ins().iconst(types::I32, 0);
        e.store(zero, shared, parts::shared::STATUS);
        e.store(count, shared, parts::shared::PARTS);
        let second: Vec<Value> = parts.working.iter().map(|&(_, offset)| e.at(self.scratch, offset)).collect();
        for (number, &pointer) in pointers.iter().chain(&second).enumerate() {
            e.store(pointer, shared, parts::argument(number));
        }
        let user = e.load(POINTER, self.state, record::USER);
        e.call_parallel_for(parallel_for, user, count, part, shared);
        let found = e.load(types::I32, shared, parts::shared::STATUS);
        e.builder.ins().jump(after, &[found.into()]);
        e.builder.switch_to_block(after);
        e.leave_with(status);
    }

    /// Tells the profiler, where there is one; it may stop the call.
    fn notify(&self, e: &mut Emitter<'_>, call: u32, phase: u32) {
        let Some((callback, user)) = self.hooks else {
            return;
        };
        let (given, after) = (e.builder.create_block(), e.builder.create_block());
        e.builder.ins().brif(callback, given, &[], after, &[]);
        e.builder.switch_to_block(given);
        let stop = e.call_back(callback, user, call, phase);
        e.leave_if(stop, E_ABORTED);
        e.builder.ins().jump(after, &[]);
        e.builder.switch_to_block(after);
    }

    pub(super) fn address(&self, e: &mut Emitter<'_>, address: Address) -> Value {
        match address {
            Address::Scratch(offset) => e.at(self.scratch, offset),
            Address::Variable(offset) => e.at(self.state, RECORD_BYTES + offset),
            Address::Input(port, offset) => e.at(self.inputs[port as usize], offset),
            Address::Output(port, offset) => e.at(self.outputs[port as usize], offset),
            Address::Constant(constant, offset) => e.constant(self.weights, self.context.constants.offsets[constant as usize] + offset),
        }
    }
}
