//! `modelc inspect FILE`: a model, or an object or executable that contains one.

mod contents;
mod gpu;
mod labels;
mod listing;
mod schedules;

use super::compared;
use super::console::print;
use super::files::Files;
use super::io::map;
use super::messages::MessageFormat;
use super::options::{Common, ObjectArguments};
use super::outcome::Outcome;
use super::output::{grouped, table, usage};
use super::progress;
use super::require::{self, Limits, Subject};
use super::sizes;
use crate::diagnostic::{Diagnostics, Kind};
use crate::emit::difference::difference;
use crate::emit::info::{abi_hash, hex};
use crate::emit::{self, ModelRecord, OutputKind};
use crate::frontend::{self, Format};
use crate::interface::MethodMemory;
use crate::lower::Lowered;
use crate::program::{Method, Port, calls};
use crate::{Compiled, Settings, compile};
use clap::Args;
use contents::Detail;
use listing::Listing;
use serde_json::{Value, json};

#[derive(Args)]
pub struct Arguments {
    /// A model; or an object, library or executable with models
    file: String,
    /// Print JSON (schema modelc.inspect/1)
    #[arg(long)]
    json: bool,
    /// Show every node inside delegates (ExecuTorch)
    #[arg(long)]
    nodes: bool,
    /// Show the lines of Python source for each instruction
    #[arg(long)]
    frames: bool,
    /// Show the schedules that were possible, with estimates
    #[arg(long)]
    schedules: bool,
    /// Write a page: memory over time, kernels, weights
    #[arg(long, value_name = "OUT.html", conflicts_with = "json")]
    html: Option<String>,
    /// Show in Markdown what differs from an earlier report
    #[arg(long, value_name = "OLD.json")]
    compare: Option<String>,
    /// Fail above limits: arena<=64K,stack<=2K,flash<=300K
    #[arg(long, value_name = "LIMITS")]
    require: Option<String>,
    /// Triple, core or board [default: this computer]
    #[arg(long, value_name = "TARGET", help_heading = "Target")]
    target: Option<String>,
    #[command(flatten)]
    object: ObjectArguments,
    #[command(flatten)]
    pub common: Common,
}

impl Arguments {
    fn wants_json(&self) -> bool {
        self.json || self.common.messages.format == MessageFormat::Json
    }

    /// Returns the limits of `--require`, if it is given.
    fn limits(&self) -> Option<Limits<'_>> {
        self.require.as_deref().map(|text| Limits { text, page: "--html" })
    }
}

/// Shows the contents of a file.
///
/// # Errors
/// Any diagnostic about the file. Facts about a model that cannot be compiled are printed first.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let file = &arguments.file;
    let files = Files::new(arguments.common.inputs().chain(arguments.compare.as_deref()).chain([file.as_str()]));
    files.check(arguments.html.as_deref().map(|path| (path, OutputKind::Html)))?;
    let earlier = arguments.compare.as_deref().map(compared::read).transpose()?;
    let bytes = map(file)?;
    let slice = (*bytes).as_ref();
    let records = if Format::detect(slice).is_none() { ModelRecord::find_all(slice) } else { vec![] };
    if !records.is_empty() {
        if arguments.html.is_some() {
            let message = format!("{file} holds a compiled model: the page is made from a model file");
            return Err(usage(message).help("write it while compiling: --report OUT.html").into());
        }
        print(&records_text(arguments, &records))?;
        for record in &records {
            require::check(arguments.limits(), &Subject { file, footprint: &record.footprint, lowered: None, excesses: &[] })?;
        }
        return Ok(Outcome::Done);
    }
    let settings = arguments.object.settings(&arguments.common, arguments.target.as_deref(), file, file)?;
    let settings = Settings { lists_schedules: arguments.schedules, ..settings };
    let customs = settings.custom_symbols();
    let compiled = progress::during(&format!("compiling {file}"), || compile::compile(&settings, bytes.clone(), file));
    let detail = Detail { nodes: arguments.nodes, frames: arguments.frames };
    let listing = |errors: &Diagnostics| {
        Ok::<_, Diagnostics>(Listing::new(file, (*bytes).as_ref(), frontend::survey(&bytes, file, &customs)?, errors))
    };
    match compiled {
        Ok(mut compiled) => {
            if let Some(earlier) = &earlier {
                let difference = difference(earlier, &compiled.files.report);
                compiled.files.report["compared"] = difference;
            }
            let listing = listing(&Diagnostics(vec![]))?;
            match &arguments.html {
                Some(path) => files.write(path, OutputKind::Html, emit::html::page(&compiled.files.report).into_bytes())?,
                None if earlier.is_some() => compared::print(&compiled.files.report["compared"], arguments.wants_json())?,
                None if arguments.wants_json() => print(&format!("{:#}\n", model_json(&listing, &compiled)))?,
                None => print(&model_text(&listing, &compiled, detail))?,
            }
            let (footprint, lowered) = (&compiled.files.record.footprint, Some(&compiled.lowered));
            require::check(arguments.limits(), &Subject { file, footprint, lowered, excesses: &compiled.excesses() })?;
            Ok(Outcome::Done)
        }
        // A mistake on the command line is no property of the model.
        Err(errors) if errors.0.iter().any(|error| error.kind() == Kind::Usage) => Err(errors),
        Err(errors) => {
            // An invalid model has no listing; the errors tell the reason.
            if let Ok(listing) = listing(&errors) {
                print(&if arguments.wants_json() { format!("{:#}\n", listing.to_json()) } else { listing.text(detail) })?;
            }
            Err(errors)
        }
    }
}

fn records_text(arguments: &Arguments, records: &[ModelRecord]) -> String {
    if arguments.wants_json() {
        let records: Vec<Value> = records.iter().map(ModelRecord::to_json).collect();
        return format!("{:#}\n", json!({ "schema": "modelc.inspect/1", "file": arguments.file, "compiled": records }));
    }
    let mut text = String::new();
    for record in records {
        let footprint = &record.footprint;
        let mut rows = vec![
            ("name", record.name.clone()),
            ("target", format!("{} ({})", record.target, record.levels)),
            ("modelc", format!("{}, ABI {}, interface {}", record.version, record.abi, abi_hash(record.abi_hash))),
            ("model", format!("SHA-256 {}", hex(&record.model_sha256))),
            ("arena", sizes::arena(footprint) + &sizes::areas(footprint) + &sizes::levels(&record.levels)),
            ("stack", format!("{} B", grouped(footprint.stack_bytes))),
            ("flash", sizes::flash(footprint, &record.levels)),
        ];
        rows.extend(record.reference.clone().map(|runtime| ("reference", runtime)));
        text.push_str(&table(&rows.into_iter().map(|(k, v)| vec![k.to_owned(), v]).collect::<Vec<_>>(), &[]));
    }
    text
}

fn port_cells(kind: &str, index: usize, port: &Port) -> Vec<String> {
    let quantization = port.quantization.as_ref().map_or(String::new(), |q| match (&q.scales[..], &q.zero_points[..]) {
        ([scale], [zero_point]) => format!("scale {scale}, zero point {zero_point}"),
        (scales, _) => format!("{} scales along dimension {}", scales.len(), q.axis),
    });
    let numbers = |list: &[f32]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let normalization = port.notes.normalization.as_ref().map(|n| format!("mean {}, std {}", numbers(&n.mean), numbers(&n.std)));
    let quantization =
        [Some(quantization).filter(|text| !text.is_empty()), normalization].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let bytes = format!("{} B", grouped(port.bytes));
    vec![format!("  {kind}{index}"), format!("{}{:?}", port.element, port.shape), bytes, format!("{:?}", port.name), quantization]
}

fn model_text(listing: &Listing, compiled: &Compiled, detail: Detail) -> String {
    let (lowered, record) = (&compiled.lowered, &compiled.files.record);
    let mut text = listing.text(detail);
    let sizes = [
        ("compiled for", format!("{} ({})", record.target, record.levels)),
        ("arena", sizes::arena(&record.footprint) + &sizes::areas(&record.footprint) + &sizes::levels(&record.levels)),
        ("stack", format!("{} B", grouped(record.footprint.stack_bytes))),
        ("flash", sizes::flash(&record.footprint, &record.levels)),
    ];
    let device = lowered.program.device.as_deref();
    let for_gpu = device.map(|device| ("GPU", gpu::summary(device, &compiled.files.compiled.module_bytes)));
    let reference = record.reference.clone().map(|runtime| ("reference", runtime));
    let rows: Vec<Vec<String>> =
        sizes.into_iter().chain(reference).chain(for_gpu).map(|(what, value)| vec![what.to_owned(), value]).collect();
    text.push_str(&format!("\n{}", table(&rows, &[])));
    for (number, (method, plan)) in lowered.program.methods.iter().zip(&lowered.plans).enumerate() {
        text.push_str(&format!("\n{}\n", method.name));
        let inputs = method.inputs.iter().enumerate().map(|(i, p)| port_cells("in", i, p));
        let outputs = method.outputs.iter().enumerate().map(|(i, p)| port_cells("out", i, p));
        text.push_str(&table(&inputs.chain(outputs).collect::<Vec<_>>(), &[2]));
        text.push_str(&format!("  {}\n", sizes::plan(plan, lowered.program.alignment)));
        let memory = MethodMemory::new(method, lowered.program.alignment, record.footprint.state_bytes, listing.area_bytes(number));
        text.push_str(&format!("  {}\n", sizes::with_ports(&memory)));
        text.push_str(&method.in_areas.as_ref().map_or(String::new(), sizes::in_areas));
        text.push_str(&listing.contents_text(number, detail));
        let (kernels, bytes) = (calls(&method.steps).len(), bytes_moved(method));
        text.push_str(&format!("  {} kernels move {} B\n\n", grouped(kernels as u64), grouped(bytes)));
        text.push_str(&kernels_text(lowered, method));
        if let Some(list) = lowered.possible.get(number).filter(|list| !list.is_empty()) {
            text.push_str(&format!("\n{}", schedules::text(&lowered.levels(), list)));
        }
        if let Some(regions) = device.map(|device| gpu::method(device, method)).filter(|text| !text.is_empty()) {
            text.push_str(&format!("\n{regions}"));
        }
    }
    text
}

/// Returns the bytes that a method's kernels read and write, each call counted once.
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
    let mut json = json!({ "name": port.name, "element": port.element.name(), "shape": port.shape, "dynamic": port.dynamic, "bytes": port.bytes,
            "scale": port.quantization.as_ref().map(|q| &q.scales), "zero_point": port.quantization.as_ref().map(|q| &q.zero_points) });
    emit::add_normalization(&mut json, port);
    json
}

fn model_json(listing: &Listing, compiled: &Compiled) -> Value {
    let (lowered, record) = (&compiled.lowered, &compiled.files.record);
    let method = |(number, (method, plan)): (usize, (&Method, &crate::plan::Plan))| {
        let kernels: Vec<Value> = calls(&method.steps)
            .into_iter()
            .map(|call| {
                json!({ "symbol": lowered.program.kernels[call.kernel].name, "operators": call.origin.operators, "tensors": call.origin.tensors,
                        "schedule": call.origin.schedule, "multiply_accumulates": call.origin.multiply_accumulates, "bytes": call.origin.bytes })
            })
            .collect();
        let mut json = json!({ "name": method.name, "inputs": method.inputs.iter().map(port_json).collect::<Vec<_>>(),
                "outputs": method.outputs.iter().map(port_json).collect::<Vec<_>>(), "scratch_bytes": lowered.program.alignment.up(plan.arena_bytes),
                "lower_bound_bytes": lowered.program.alignment.up(plan.lower_bound), "lent_bytes": plan.lent_bytes, "optimal": plan.optimal, "bytes_moved": bytes_moved(method), "kernels": kernels });
        MethodMemory::new(method, lowered.program.alignment, record.footprint.state_bytes, listing.area_bytes(number)).add_json(&mut json);
        if let Some(known) = &method.in_areas {
            json["areas"] = emit::report::areas_report(known);
        }
        if let Some(list) = lowered.possible.get(number).filter(|list| !list.is_empty()) {
            json["schedules"] = schedules::json(&lowered.levels(), list);
        }
        listing.add_contents(number, &mut json);
        json
    };
    let mut json = listing.to_json();
    json["methods"] = lowered.program.methods.iter().zip(&lowered.plans).enumerate().map(method).collect();
    json["target"] = json!(record.target);
    json["cpu_levels"] = json!(record.levels.split(',').collect::<Vec<_>>());
    json["memory"] = record.footprint.to_json();
    if let Some(gpu) = compiled.files.report.get("gpu") {
        json["gpu"] = gpu.clone();
    }
    json
}
