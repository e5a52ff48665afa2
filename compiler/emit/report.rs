//! The report of a compilation, as JSON. Within `modelc.report/1`, fields are only added; names contain the units.

use super::gpu;
use super::graph;
use super::info::{ModelRecord, abi_hash, hex};
use super::notes;
use super::operators::{self, constants_bytes};
use super::options::ModelInfo;
use crate::codegen::CompiledModel;
use crate::codegen::driver::ImportKind;
use crate::interface::MethodMemory;
use crate::ir::Module;
use crate::machine::Alignment;
use crate::program::{AreaUse, Call, InAreas, Level, MemoryMap, Method, Occupant, Port, Program, calls, calls_in_streams, calls_together};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the report of compiled programs, one for each CPU level. The object has `object_bytes`, and the kernels are of the preferred level.
pub fn report(levels: &[Level<'_>], model: &ModelInfo, compiled: &CompiledModel, record: &ModelRecord, object_bytes: u64) -> Value {
    let program = levels[0].program;
    let level = |(number, name): (usize, &&str)| {
        let kernels = level_kernels(levels, compiled, number);
        json!({ "cpu_level": name, "code_bytes": compiled.code_bytes(Some(number)), "kernels": kernels })
    };
    let mut first_call = 0;
    let mut methods = Vec::new();
    let mut kernels = Vec::new();
    for (method, interface) in program.methods.iter().zip(&compiled.interface.methods) {
        methods.push(method_report(method, program.alignment, &interface.identifier));
        for call in calls(&method.steps) {
            kernels.push(call_report(program, compiled, method, call, first_call));
            first_call += 1;
        }
    }
    let mut memory = record.footprint.to_json();
    memory["arena_align"] = json!(program.alignment.bytes());
    memory["object_bytes"] = json!(object_bytes);
    let mut report = json!({
        "schema": "modelc.report/1",
        "modelc": record.version,
        "name": record.name,
        "target": record.target,
        "cpu_levels": record.levels.split(',').collect::<Vec<_>>(),
        "abi": record.abi,
        "abi_hash": abi_hash(record.abi_hash),
        "model": { "file": model.file_name(), "sha256": hex(&model.sha256) },
        "memory": memory,
        "about": model.about.iter().map(|(name, text)| (*name, text)).collect::<BTreeMap<_, _>>(),
        "levels": compiled.levels.iter().enumerate().map(level).collect::<Vec<_>>(),
        "custom_operators": compiled.imports.iter().filter(|i| i.kind == ImportKind::Custom).map(|import| &import.symbol).collect::<Vec<_>>(),
        "methods": methods,
        "kernels": kernels,
    });
    if let Some(device) = &program.device {
        report["gpu"] = gpu::report(device, &program.methods, &compiled.module_bytes);
    }
    report
}

/// Returns the function of each kernel call at a CPU level, in the order of the calls. The levels differ in nothing else.
fn level_kernels(levels: &[Level<'_>], compiled: &CompiledModel, number: usize) -> Vec<Value> {
    let first: usize = levels[..number].iter().map(|level| level.program.kernels.len()).sum();
    let kernel = |call: &Call| {
        let function = &compiled.functions[first + call.kernel];
        json!({
            "symbol": format!("{}_{}", compiled.interface.name, function.name),
            "schedule": call.origin.schedule,
            "code_bytes": function.code.bytes.len(),
            "stack_bytes": function.code.stack_bytes,
        })
    };
    levels[number].program.methods.iter().flat_map(|method| calls(&method.steps)).map(kernel).collect()
}

/// Adds facts of the model's file: its graphs, the kernels by operator, and its memory plan.
pub fn add_model(report: &mut Value, program: &Program, module: &Module, record: &ModelRecord) {
    graph::add(report, program, module);
    operators::add(report, program, module);
    add_plans(report, program, module, record);
}

/// Adds to each method its memory with arguments and the file's plan for it. Also adds the methods that were left out.
fn add_plans(report: &mut Value, program: &Program, module: &Module, record: &ModelRecord) {
    let planned = module.imported_plan.iter().flat_map(|plan| &plan.methods);
    for (number, method) in program.methods.iter().enumerate() {
        let area_bytes = planned.clone().nth(number).map_or(&[][..], |plan| &plan.area_bytes);
        MethodMemory::new(method, program.alignment, record.footprint.state_bytes, area_bytes).add_json(&mut report["methods"][number]);
    }
    if !module.left_out.is_empty() {
        report["left_out_methods"] = json!(module.left_out);
    }
}

fn method_report(method: &Method, alignment: Alignment, identifier: &str) -> Value {
    let mut report = json!({
        "name": method.name,
        "identifier": identifier,
        "scratch_bytes": alignment.up(method.scratch_bytes),
        "lower_bound_bytes": alignment.up(method.lower_bound),
        "optimal": method.optimal,
        "kernels": calls(&method.steps).len(),
        "bytes_moved": calls(&method.steps).iter().map(|call| call.origin.bytes).sum::<u64>(),
        "inputs": method.inputs.iter().map(port_report).collect::<Vec<_>>(),
        "outputs": method.outputs.iter().map(port_report).collect::<Vec<_>>(),
        "memory_map": map_report(&method.memory_map),
    });
    if let Some(known) = &method.in_areas {
        report["areas"] = areas_report(known);
    }
    if let Some(bytes) = method.scratch_bytes_alone {
        report["scratch_bytes_alone"] = alignment.up(bytes).into();
        report["calls_together"] = json!(calls_together(&method.steps));
        report["calls_in_streams"] = json!(calls_in_streams(&method.steps));
    }
    report
}

/// Returns a method's memory in the areas of `--memory`.
pub fn areas_report(known: &InAreas) -> Value {
    let area = |area: &AreaUse| {
        json!({ "name": area.name, "size_bytes": area.size, "rank": area.rank, "bytes": area.bytes, "weights_bytes": area.weights,
                "moved_bytes": area.moved })
    };
    json!({
        "areas": known.areas.iter().map(area).collect::<Vec<_>>(),
        "cost": known.cost,
        "lower_bound_cost": known.lower_bound,
        "optimal": known.optimal,
    })
}

fn map_report(map: &MemoryMap) -> Value {
    let occupant = |o: &Occupant| {
        json!({ "name": o.name, "offset": o.offset, "bytes": o.bytes, "first_step": o.steps.start, "end_step": o.steps.end,
                "working": o.working })
    };
    json!({
        "steps": map.steps,
        "kernel_steps": map.calls,
        "peak_step": map.peak_step,
        "occupants": map.occupants.iter().map(occupant).collect::<Vec<_>>(),
    })
}

fn port_report(port: &Port) -> Value {
    let mut report = json!({
        "name": port.name,
        "element": port.element.name(),
        "shape": port.shape,
        "dynamic": port.dynamic.contains(&true),
        "bytes": port.bytes,
        "scale": port.quantization.as_ref().map(|q| &q.scales),
        "zero_point": port.quantization.as_ref().map(|q| &q.zero_points),
    });
    notes::add_normalization(&mut report, port);
    report
}

/// Returns one kernel call; `number` is the argument of `on_kernel`.
fn call_report(program: &Program, compiled: &CompiledModel, method: &Method, call: &Call, number: usize) -> Value {
    let function = &compiled.functions[call.kernel];
    let operators: Vec<_> = call.origin.operators.iter().map(|(index, name)| json!({ "index": index, "name": name })).collect();
    json!({
        "number": number,
        "symbol": format!("{}_{}", compiled.interface.name, function.name),
        "method": method.name,
        "operators": operators,
        "tensors": call.origin.tensors,
        "schedule": call.origin.schedule,
        "multiply_accumulates": call.origin.multiply_accumulates,
        "bytes": call.origin.bytes,
        "weights_bytes": constants_bytes(program, [call]),
        "code_bytes": function.code.bytes.len(),
        "stack_bytes": function.code.stack_bytes,
    })
}
