//! `modelc inspect FILE`: a model, or an object or executable that holds one.

use super::Outcome;
use super::console::print;
use super::files::Files;
use super::io::{Model, map, read_model};
use super::options::{Common, usage};
use super::output::{grouped, table};
use crate::codegen::driver::calls;
use crate::diagnostic::Diagnostics;
use crate::emit::info::hex;
use crate::emit::{self, ModelRecord, ObjectOptions, OutputKind};
use crate::frontend::Format;
use crate::lower::Lowered;
use crate::program::{Method, Port};
use crate::{pipeline, target};
use clap::Args;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Args)]
pub struct Arguments {
    /// A model, or an object or executable that holds one
    file: String,
    /// Print JSON, schema modelc.inspect/1
    #[arg(long)]
    json: bool,
    /// Write a page about the model compiled for this computer: memory over time, kernels, weights
    #[arg(long, value_name = "OUT.html", conflicts_with = "json")]
    html: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

/// Shows what a file contains.
///
/// # Errors
/// Whatever is wrong with the file.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let files = Files::new(arguments.common.inputs().chain([arguments.file.as_str()]));
    files.check(arguments.html.as_deref().map(|path| (path, OutputKind::Html)))?;
    let bytes = map(&arguments.file)?;
    let records = if Format::detect(&bytes).is_none() { ModelRecord::find_all(&bytes) } else { vec![] };
    if !records.is_empty() {
        if arguments.html.is_some() {
            let message = format!("{} holds a compiled model: the page is made from a model file", arguments.file);
            return Err(usage(message).help("write it while compiling: --report OUT.html").into());
        }
        print(&records_text(arguments, &records))?;
        return Ok(Outcome::Done);
    }
    let model = read_model(&arguments.file, &arguments.common)?;
    let target = target::host()?;
    let machine = target::levels(target, arguments.common.cpu.as_deref())?[0];
    let lowered = pipeline::lower(&model.module, &model.path, arguments.common.lower_options(machine))?;
    if let Some(path) = &arguments.html {
        let name = Path::new(&model.path).file_stem().map_or_else(|| "net".into(), |stem| stem.to_string_lossy().into_owned());
        let options = ObjectOptions::new(name, target, machine);
        let report = emit::object(&lowered.program, &model.info(), &options)?.report;
        files.write(path, OutputKind::Html, emit::html::page(&report).into_bytes())?;
    } else if arguments.json {
        print(&format!("{:#}\n", model_json(&model, &lowered)))?;
    } else {
        print(&model_text(&model, &lowered))?;
    }
    Ok(Outcome::Done)
}

fn records_text(arguments: &Arguments, records: &[ModelRecord]) -> String {
    if arguments.json {
        return format!("{:#}\n", json!({ "schema": "modelc.inspect/1", "file": arguments.file, "compiled": records }));
    }
    let mut text = String::new();
    for record in records {
        let levels = record.levels.split(',').zip(&record.level_code_bytes);
        let code: Vec<String> = levels.map(|(level, bytes)| format!("{} B for {level}", grouped(*bytes))).collect();
        let rows = [
            ("name", record.name.clone()),
            ("target", format!("{} ({})", record.target, record.levels)),
            ("modelc", format!("{}, ABI {}, interface {:08x}", record.version, record.abi, record.abi_hash)),
            ("model", format!("SHA-256 {}", hex(&record.model_sha256))),
            (
                "arena",
                format!(
                    "{} B: {} B state, {} B scratch",
                    grouped(record.state_bytes + record.scratch_bytes),
                    grouped(record.state_bytes),
                    grouped(record.scratch_bytes)
                ),
            ),
            ("stack", format!("{} B", grouped(record.stack_bytes))),
            ("weights", format!("{} B", grouped(record.weights_bytes))),
            ("code", code.join(", ")),
        ];
        text.push_str(&table(&rows.map(|(k, v)| vec![k.to_owned(), v]), &[]));
    }
    text
}

fn port_cells(kind: &str, index: usize, port: &Port) -> Vec<String> {
    let quantization = port.quantization.as_ref().map_or(String::new(), |q| match (&q.scales[..], &q.zero_points[..]) {
        ([scale], [zero_point]) => format!("scale {scale}, zero point {zero_point}"),
        (scales, _) => format!("{} scales along dimension {}", scales.len(), q.axis),
    });
    let bytes = format!("{} B", grouped(port.bytes));
    vec![format!("  {kind}{index}"), format!("{}{:?}", port.element, port.shape), bytes, format!("{:?}", port.name), quantization]
}

fn model_text(model: &Model, lowered: &Lowered) -> String {
    let constants: u64 = model.module.constants.values().map(|c| c.data.bytes().len() as u64).sum();
    let mut text = format!("{}: {} B, {} B of constants\n", model.path, grouped(model.bytes.len() as u64), grouped(constants));
    for (method, plan) in lowered.program.methods.iter().zip(&lowered.plans) {
        text.push_str(&format!("\n{}\n", method.name));
        let inputs = method.inputs.iter().enumerate().map(|(i, p)| port_cells("in", i, p));
        let outputs = method.outputs.iter().enumerate().map(|(i, p)| port_cells("out", i, p));
        text.push_str(&table(&inputs.chain(outputs).collect::<Vec<_>>(), &[2]));
        text.push_str(&format!("  {plan}\n"));
        let (kernels, bytes) = (calls(&method.steps).len(), bytes_moved(method));
        text.push_str(&format!("  {} kernels move {} B\n\n", grouped(kernels as u64), grouped(bytes)));
        text.push_str(&kernels_text(lowered, method));
    }
    text
}

/// Bytes that a method's kernels read and write, each call counted once.
fn bytes_moved(method: &Method) -> u64 {
    calls(&method.steps).iter().map(|call| call.origin.bytes).sum()
}

fn kernels_text(lowered: &Lowered, method: &Method) -> String {
    let mut rows = vec![["  kernel", "MAC", "bytes moved", "schedule", "operators"].map(String::from).to_vec()];
    for call in calls(&method.steps) {
        let operators: Vec<String> = call.origin.operators.iter().map(|(i, name)| format!("{i}:{name}")).collect();
        rows.push(vec![
            format!("  {}", lowered.program.kernels[call.kernel].name),
            grouped(call.origin.multiply_accumulates),
            grouped(call.origin.bytes),
            call.origin.schedule.clone(),
            operators.join(" "),
        ]);
    }
    table(&rows, &[1, 2])
}

fn port_json(port: &Port) -> Value {
    json!({ "name": port.name, "element": port.element.name(), "shape": port.shape, "dynamic": port.dynamic, "bytes": port.bytes,
            "scale": port.quantization.as_ref().map(|q| &q.scales), "zero_point": port.quantization.as_ref().map(|q| &q.zero_points) })
}

fn model_json(model: &Model, lowered: &Lowered) -> Value {
    let method = |(method, plan): (&Method, &crate::plan::Plan)| {
        let kernels: Vec<Value> = calls(&method.steps)
            .into_iter()
            .map(|call| {
                json!({ "symbol": lowered.program.kernels[call.kernel].name, "operators": call.origin.operators, "tensors": call.origin.tensors,
                        "schedule": call.origin.schedule, "multiply_accumulates": call.origin.multiply_accumulates, "bytes": call.origin.bytes })
            })
            .collect();
        json!({ "name": method.name, "inputs": method.inputs.iter().map(port_json).collect::<Vec<_>>(),
                "outputs": method.outputs.iter().map(port_json).collect::<Vec<_>>(), "scratch_bytes": plan.arena_bytes,
                "lower_bound_bytes": plan.lower_bound, "optimal": plan.optimal, "bytes_moved": bytes_moved(method), "kernels": kernels })
    };
    let methods: Vec<Value> = lowered.program.methods.iter().zip(&lowered.plans).map(method).collect();
    json!({ "schema": "modelc.inspect/1", "file": model.path, "bytes": model.bytes.len(), "methods": methods })
}
