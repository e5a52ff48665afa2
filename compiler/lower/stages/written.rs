//! The last stage: kernels and steps, with every address decided.

use super::emission::{Emission, Written};
use super::extents::port_extents;
use super::frame::{Frame, bug};
use super::grouped::Grouped;
use super::memory_map::{memory_map, peak};
use super::planned::Planned;
use super::work::Work;
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::fuse::band::Bands;
use crate::ir::{self, Function, Module, Operation, Type, Value};
use crate::lower::lowered::{LiveRanges, Peak};
use crate::lower::pool::Pool;
use crate::lower::possible::Possible;
use crate::plan::{Lifetimes, Plan};
use crate::program::{Method, Port};

/// A lowered method, with its plan and data for reports and checks.
pub struct LoweredMethod {
    /// The method for each machine. Only the steps differ.
    pub levels: Vec<Method>,
    /// Its plan.
    pub plan: Plan,
    /// `true` for each kernel call whose group is marked for a GPU.
    pub marks: Vec<bool>,
    /// Live byte ranges after each kernel call.
    pub live: LiveRanges,
    /// The live tensors at the step that needs most memory.
    pub peak: Peak,
    /// The schedules that were possible, if they are listed.
    pub possible: Vec<Possible>,
}

/// Writes the kernels and steps of a planned method. `bands` are the values that are bands of others.
///
/// # Errors
/// A diagnostic if an operation has no lowering.
pub(in crate::lower) fn write(
    frame: &Frame<'_>,
    grouped: &Grouped,
    planned: &Planned<'_>,
    bands: &Bands,
    pool: &mut Pool,
) -> Result<LoweredMethod, Diagnostics> {
    let Planned { request, plan, .. } = planned;
    let (method, function) = (frame.method, &grouped.function);
    let addresses = planned.addresses(frame);
    let lifetimes = Lifetimes::new(request).map_err(|error| bug(error.to_string()))?;
    let mut memory_map = memory_map(request, plan, &lifetimes, vec![]);
    let peak = peak(plan, &memory_map);
    let emission = Emission {
        level: 0,
        module: frame.module,
        size_bytes: usize::from(frame.options.machine.index_bits / 8),
        addresses: &addresses,
        alignment: frame.variables.alignment,
        map: &memory_map,
        bands,
        streams: &planned.streams,
    };
    let write = |level: usize| Emission { level, ..emission }.write(&planned.items, pool);
    let written = (0..frame.machines.len()).map(write).collect::<Result<Vec<Written>, _>>();
    let mut levels = written.map_err(|(error, group)| frame.unsupported(function, group, &error))?;
    // The calls are the same for all levels.
    let calls = levels.last_mut().map(|written| std::mem::take(&mut written.calls)).unwrap_or_default();
    // The next kernel of a group may read working memory of the previous one.
    let live_at = |&(step, is_last): &(usize, bool)| {
        if is_last { lifetimes.live_after(plan, step) } else { lifetimes.live_within(request, plan, step) }
    };
    let is_for_gpu = |&(step, _): &(usize, bool)| match planned.items[step].work {
        Work::Group(group) => group.is_for_gpu(function, frame.module),
        _ => false,
    };
    let marks = calls.iter().map(is_for_gpu).collect();
    let live = calls.iter().map(live_at).collect();
    memory_map.calls = calls.into_iter().map(|(step, _)| step).collect();
    let (inputs, outputs) = (grouped.inputs(), &grouped.outputs);
    let mut cell = |index| addresses.of(pool, index);
    let lowered = Method {
        name: method.name.clone(),
        inputs: ports(function, inputs, &method.inputs)?,
        outputs: with_values(frame.module, method, ports(function, outputs, &method.outputs)?),
        input_extents: port_extents(function, inputs, &method.inputs, &mut cell),
        output_extents: port_extents(function, outputs, &method.outputs, &mut cell),
        scratch_bytes: plan.arena_bytes,
        lower_bound: plan.lower_bound,
        optimal: plan.optimal,
        memory_map,
        area_bytes: planned.area_bytes.clone(),
        in_areas: planned.in_areas.clone(),
        moving: planned.moving.moving.clone(),
        ..Method::default()
    };
    let levels = levels.into_iter().map(|Written { steps, .. }| Method { steps, ..lowered.clone() }).collect();
    Ok(LoweredMethod { levels, plan: plan.clone(), marks, live, peak, possible: vec![] })
}

/// Adds the values of constant outputs: results that are constants in the module.
fn with_values(module: &Module, method: &ir::Method, mut ports: Vec<Port>) -> Vec<Port> {
    let function = &module.functions[method.function];
    for (port, &value) in ports.iter_mut().zip(&function.results) {
        if let Some(Operation::Constant(constant)) = function.defining_inst(value).map(|inst| &function.insts[inst].operation) {
            port.value = Some(module.constants[constant.data].data.clone());
        }
    }
    ports
}

fn ports(function: &Function, values: &[Value], ports: &[ir::Port]) -> Result<Vec<Port>, Diagnostics> {
    let port = |(&value, port): (&Value, &ir::Port)| {
        let Type::Tensor(ty) = &function.values[value].ty else { return Err(bug("a port is no tensor")) };
        let high = |e: &ir::Extent| u64::try_from(function.interval(*e).high).unwrap_or(0);
        let bytes = function.bound_bytes(ty).ok_or_else(|| {
            Diagnostic::new(codes::PORT_WITHOUT_BOUND, format!("tensor {:?} has no bound on its size", port.name))
                .help("give one with --bound in0.DIMENSION=N")
        })?;
        Ok(Port {
            name: port.name.clone(),
            element: ty.element,
            shape: ty.shape.iter().map(high).collect(),
            dynamic: ty.shape.iter().map(|&e| function.resolved(e).as_static().is_none()).collect(),
            bytes,
            quantization: port.quantization.clone(),
            scalar: port.scalar,
            value: port.value.clone(),
            notes: port.notes.clone(),
        })
    };
    Ok(values.iter().zip(ports).map(port).collect::<Result<_, _>>()?)
}
