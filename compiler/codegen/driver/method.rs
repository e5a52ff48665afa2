//! The functions of a method: the entry with an arena, the entry with separate state and scratch memory, and the choice of a CPU level.

use super::addresses::{Addresses, NearConstants};
use super::context::Context;
use super::hooks::Hooks;
use super::language::{Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use super::rows::{MethodRows, Rows};
use super::steps::Body;
use super::{moving, ports, rows, tasks};
use crate::section::Section;
use modelc_interface::{E_ARENA, RECORD, Record};
use modelc_program::{Address, Method, Step, Visit, walk};

/// Writes `int method(void *arena, const inputs *in, outputs *out)`. The arena must also hold the scratch memory.
pub fn whole(context: &Context<'_>, split: u32) -> Function {
    function(context.interface.layout, Signature::status(3), |e, arguments| {
        let &[arena, inputs, outputs] = arguments else { unreachable!("a method has three parameters") };
        e.check_state(context, arena);
        let whole = e.member(&RECORD, arena, Record::Whole);
        let apart = e.compare(CompareOp::Equal, whole, 0);
        e.leave_if(apart, E_ARENA);
        let scratch = e.at(arena, context.interface.state_bytes);
        let arguments = [arena, scratch, inputs, outputs].map(Operand::Value).to_vec();
        let status = e.call(Callee::Function(split), Signature::status(4), arguments);
        e.leave_with(status);
    })
}

/// Writes `int method_split(void *state, void *scratch, const inputs *in, outputs *out)` for an object with several levels. It calls the function of
/// the state's level. The functions of the levels have consecutive numbers from `first`.
pub fn by_level(context: &Context<'_>, first: u32) -> Function {
    function(context.interface.layout, Signature::status(4), |e, parameters| {
        e.check_state(context, parameters[0]);
        let level = e.member(&RECORD, parameters[0], Record::Level);
        let arguments: Vec<Operand> = parameters.iter().copied().map(Operand::Value).collect();
        let call = |e: &mut Builder, number: u32| e.call(Callee::Function(first + number), Signature::status(4), arguments.clone());
        let last = context.levels.len() as u32 - 1;
        for number in 0..last {
            let chosen = e.compare(CompareOp::Equal, level, u64::from(number));
            e.when(chosen, |e| {
                let status = call(e, number);
                e.leave_always(status);
            });
        }
        let status = call(e, last);
        e.leave_with(status);
    })
}

/// Functions that a method calls, beside kernels.
pub struct Callees<'a> {
    /// Functions for [`tasks::in_tasks`], in its order.
    pub tasks: &'a [u32],
    /// Rows of the object, and the number of the method's data section of rows.
    pub rows: Option<(Rows, u32)>,
}

/// Writes `int method_split(void *state, void *scratch, const inputs *in, outputs *out)` for one method and one level. `first_call` is the number of
/// the method's first kernel call in profiles. Also returns the data section of the method's rows, if it has rows.
pub fn split(context: &Context<'_>, level: usize, method: usize, first_call: u32, callees: &Callees<'_>) -> (Function, Option<Section>) {
    let level = &context.levels[level];
    let (method, interface) = (&level.level.program.methods[method], &context.interface.methods[method]);
    let mut section = None;
    let function = function(context.interface.layout, Signature::status(4), |e, arguments| {
        let &[state, scratch, inputs, outputs] = arguments else { unreachable!("a split method has four parameters") };
        e.check_state(context, state);
        if context.interface.scratch_bytes > 0 {
            e.leave_if_null(scratch);
            e.leave_if_misaligned(scratch, context.program.alignment.bytes());
        }
        for (base, ports) in [(inputs, &method.inputs), (outputs, &method.outputs)] {
            if !ports.is_empty() {
                e.leave_if_null(base);
            }
        }
        let records = (inputs, outputs);
        let inputs = ports::buffers(e, inputs, &method.inputs, &interface.inputs);
        let outputs = ports::buffers(e, outputs, &method.outputs, &interface.outputs);
        for (port, &buffer) in method.inputs.iter().zip(&inputs) {
            if let Some(value) = &port.value {
                ports::leave_if_different(e, buffer, value.bytes(), port.element.alignment());
            }
        }
        let mut kept = |field: Record| e.member(&RECORD, state, field);
        let hooks = context.options.profile_hooks.then(|| Hooks { callback: kept(Record::OnKernel), user: kept(Record::User) });
        let weights = context.weights_file.map(|_| kept(Record::Weights));
        let in_tasks = tasks::in_tasks(&method.steps, context.options.profile_hooks);
        let shared = in_tasks.into_iter().map(|work| work.shared_bytes(e.layout)).max().map(|bytes| e.memory(bytes));
        let crossings = context.gpu.as_ref().filter(|_| has_regions(&method.steps)).map(|gpu| e.memory(gpu.crossing_bytes() as u32));
        // All shapes are checked before the caller's memory is written.
        let extents = ports::extents(e, method, records.0, &interface.inputs);
        let moving = places(e, method, scratch, &extents);
        let areas = areas(e, state, method.area_bytes.len());
        let addresses = Addresses { context, method, state, scratch, areas, moving, weights, inputs, outputs };
        let has_rows = !rows::rows_of(context, &method.steps).is_empty();
        let rows = callees.rows.filter(|_| has_rows).map(|rows| MethodRows::new(e, &addresses, rows));
        let tasks = callees.tasks.iter();
        let constants = NearConstants::default();
        let mut body = Body { addresses, level, hooks, call: first_call, tasks, shared, crossings, follows_region: false, constants, rows };
        ports::keep(&body.addresses, e, &extents);
        body.steps(e, &method.steps);
        ports::leave(&body.addresses, e, method, records.1, &interface.outputs);
        section = body.rows.and_then(|rows| rows.section(&interface.identifier));
    });
    (function, section)
}

/// Tests whether a device runs any of the steps.
fn has_regions(steps: &[Step]) -> bool {
    walk(steps).any(|visit| matches!(visit, Visit::Region(_)))
}

/// Loads the addresses of the first `count` memory areas of the configuration.
fn areas(e: &mut Builder, state: Value, count: usize) -> Vec<Value> {
    if count == 0 {
        return vec![];
    }
    let list = e.member(&RECORD, state, Record::Areas);
    let pointer = e.layout.pointer as i32;
    (0..count as i32).map(|number| e.load(Width::Word, list, number * pointer)).collect()
}

/// Computes the addresses of the moving places in the scratch memory; each comes with its largest offset.
fn places(e: &mut Builder, method: &Method, scratch: Value, extents: &[(Address, Value)]) -> Vec<(Value, u64)> {
    let extents: Vec<Value> = extents.iter().map(|&(_, extent)| extent).collect();
    let offsets = moving::offsets(e, &method.moving, &extents);
    offsets.into_iter().zip(&method.moving.places).map(|(offset, place)| (e.add(scratch, offset), place.bound)).collect()
}
