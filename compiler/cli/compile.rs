//! `modelc MODEL -o OUT.o`

use super::console::{message, note};
use super::emit_test::{TestArguments, TestedModel};
use super::files::Files;
use super::io::map;
use super::messages::MessageFormat;
use super::options::{Common, ObjectArguments};
use super::outcome::Outcome;
use super::output::{grouped, usage};
use super::progress;
use super::require::{self, Limits, Subject};
use super::sizes;
use crate::codegen::listing::{Listing, listing};
use crate::compile::{self, file_name, main_kind};
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use crate::emit::{self, Image, Output, OutputKind};
use crate::input::STANDARD;
use crate::interface::MethodMemory;
use crate::program::Method;
use crate::{Compiled, ir};
use clap::Args;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; `-` is standard input
    #[arg(required = true, help_heading = "Arguments")]
    model: Option<String>,
    /// An object (.o) or a library (.a, .so), its header beside it; or `-`
    #[arg(short, long, value_name = "OUT.o")]
    output: Option<String>,
    #[arg(long = "emit", value_name = "KIND[=PATH]", help = KINDS)]
    emit: Vec<String>,
    /// Path of the header
    #[arg(long, value_name = "PATH")]
    header: Option<String>,
    /// Write a dependency file for Make
    #[arg(long, value_name = "PATH")]
    depfile: Option<String>,
    /// Write a page: memory over time, kernels, weights
    #[arg(long, value_name = "PATH.html")]
    report: Option<String>,
    /// Triple, core or board [default: this computer]
    #[arg(long, value_name = "TARGET", help_heading = "Target")]
    target: Option<String>,
    #[command(flatten)]
    object: ObjectArguments,
    /// Fail above limits: arena<=64K,stack<=2K,flash<=300K
    #[arg(long, value_name = "LIMITS", help_heading = "Memory")]
    require: Option<String>,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    test: TestArguments,
}

/// The help of `--emit`.
const KINDS: &str = "Write another output: object, archive, shared, weights,\nheader, rust, hpp, json, html, graph, trace, ir, kernels, driver,\nclif, asm, plan, depfile, test, bench";

/// Kind and path of an output.
struct Request {
    kind: OutputKind,
    path: String,
}

/// Compiles a model.
///
/// # Errors
/// Any diagnostic about the model, the options or the output.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let requests = arguments.requests()?;
    let compiled = produce(arguments, &requests)?;
    if !arguments.common.messages.quiet && requests.iter().all(|r| r.path != "-") {
        tell(arguments, &requests, &compiled);
    }
    Ok(Outcome::Done)
}

/// Compiles a model, and writes the outputs that the arguments name, if any.
///
/// # Errors
/// The errors of [`execute`].
pub fn compiled(arguments: &Arguments) -> Result<Compiled, Diagnostics> {
    let outputs = [&arguments.output, &arguments.header, &arguments.depfile, &arguments.report];
    let is_written = !arguments.emit.is_empty() || outputs.into_iter().any(Option::is_some);
    let requests = if is_written { arguments.requests()? } else { vec![] };
    produce(arguments, &requests)
}

/// Compiles a model and writes files.
fn produce(arguments: &Arguments, requests: &[Request]) -> Result<Compiled, Diagnostics> {
    let path = arguments.model.as_deref().unwrap_or_default();
    arguments.test.only_with(requests.iter().any(|request| is_program(request.kind)))?;
    let files = Files::new(arguments.common.inputs().chain(arguments.test.files()).chain([path]));
    files.check(requests.iter().map(|request| (request.path.as_str(), request.kind)))?;
    let named_after = arguments.output.as_deref().filter(|output| *output != "-").unwrap_or(path);
    let settings = arguments.object.settings(&arguments.common, arguments.target.as_deref(), path, named_after)?;
    if requests.iter().any(|request| request.kind == OutputKind::Shared) {
        emit::check_shared(settings.machines()?.0)?;
    }
    let bytes = map(path)?;
    let compiled = progress::during(&format!("compiling {path}"), || compile::compile(&settings, bytes.clone(), path))?;
    let limits = arguments.require.as_deref().map(|text| Limits { text, page: "--report" });
    let (footprint, lowered) = (&compiled.files.record.footprint, Some(&compiled.lowered));
    require::check(limits, &Subject { file: path, footprint, lowered, excesses: &compiled.excesses() })?;
    let write = |request: &Request| match request.kind {
        kind if is_program(kind) => {
            let model = TestedModel { bytes: bytes.clone(), path, settings: &settings };
            let (header, measures) = (header_name(requests, &compiled), kind == OutputKind::Bench);
            let text = progress::during("computing the calls of the test", || arguments.test.text(&compiled, &model, &header, measures))?;
            Ok(Output { path: request.path.clone().into(), kind: request.kind, contents: text.into_bytes().into() })
        }
        _ => Ok(output(&compiled, (path, &arguments.read_beside()), request, requests)?),
    };
    let outputs = requests.iter().map(write).collect::<Result<_, Diagnostics>>()?;
    progress::during("writing", || files.write_all(outputs))?;
    Ok(compiled)
}

/// Reports the outputs that were written.
fn tell(arguments: &Arguments, requests: &[Request], compiled: &Compiled) {
    if arguments.common.messages.format == MessageFormat::Json {
        message(&summary_json(arguments.model.as_deref().unwrap_or_default(), requests, compiled).to_string());
    } else {
        summary(requests, compiled);
    }
    let lowered = &compiled.lowered;
    let of_device = (lowered.program.device.as_deref(), &lowered.not_on_device[..]);
    if let Some(remark) = arguments.common.gpu.remark(&compiled.module, compiled.options.target, of_device) {
        note(&remark);
    }
}

/// Tests whether an output is a program in C that calls the model.
fn is_program(kind: OutputKind) -> bool {
    matches!(kind, OutputKind::Test | OutputKind::Bench)
}

/// Returns the name by which a test includes the header: the name of the header file, if one is written.
fn header_name(requests: &[Request], compiled: &Compiled) -> String {
    let written = requests.iter().find(|request| request.kind == OutputKind::Header && request.path != "-");
    let name = written.and_then(|request| Some(Path::new(&request.path).file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| format!("{}.h", compiled.files.record.name))
}

impl Arguments {
    /// Returns the files that are read beside the model.
    fn read_beside(&self) -> Vec<&str> {
        self.common.inputs().chain(self.test.files()).collect()
    }

    fn requests(&self) -> Result<Vec<Request>, Diagnostic> {
        let mut requests = self.asked()?;
        let mut add = |kind: OutputKind, path: &str| {
            if requests.iter().all(|r| r.kind != kind || r.path != path) {
                requests.push(Request { kind, path: path.to_owned() });
            }
        };
        let named = [(OutputKind::Header, &self.header), (OutputKind::Depfile, &self.depfile), (OutputKind::Html, &self.report)];
        for (kind, path) in
            [self.main()].into_iter().flatten().chain(named.into_iter().filter_map(|(kind, path)| Some((kind, path.as_deref()?))))
        {
            add(kind, path);
        }
        // Standard output, pipes and devices have no files beside them.
        let is_file =
            |output: &&String| *output != "-" && std::fs::metadata(output).map_or(true, |there| there.is_file() || there.is_dir());
        if self.output.as_ref().filter(is_file).is_some() {
            let weights = self.object.has_external_weights()?.then_some(OutputKind::Weights);
            for kind in [OutputKind::Header].into_iter().chain(weights) {
                if requests.iter().all(|r| r.kind != kind) {
                    requests.push(Request { kind, path: self.beside(kind) });
                }
            }
        }
        if requests.is_empty() {
            // A missing model is reported first.
            let model = self.model.as_deref().unwrap_or_default();
            map(model)?;
            return Err(usage("nothing to write").help(format!("say where the object goes: `modelc {model} -o OUT.o`")));
        }
        if requests.iter().filter(|r| r.path == "-").count() > 1 {
            return Err(usage("two outputs go to standard output"));
        }
        Ok(requests)
    }

    /// Returns kind and path of the output of `-o`.
    fn main(&self) -> Option<(OutputKind, &str)> {
        let path = self.output.as_deref()?;
        Some((main_kind(Path::new(path)), path))
    }

    /// Returns the outputs of `--emit`.
    fn asked(&self) -> Result<Vec<Request>, Diagnostic> {
        let mut requests = Vec::new();
        for item in &self.emit {
            let (name, path) = item.split_once('=').map_or((item.as_str(), None), |(name, path)| (name, Some(path)));
            let Some(kind) = OutputKind::from_name(name) else {
                let known: Vec<&str> = OutputKind::emitted().map(OutputKind::name).collect();
                return Err(did_you_mean(usage(format!("--emit {name} is not known")).expected(known.join(", "), name), name, known));
            };
            let own = self.main().filter(|(main, _)| *main == kind).map(|(_, path)| path);
            let header = self.header.as_deref().filter(|_| kind == OutputKind::Header);
            let path = path.or(own).or(header).map_or_else(|| self.beside(kind), str::to_owned);
            requests.push(Request { kind, path });
        }
        Ok(requests)
    }

    /// Returns the default path of an output: beside the object, or with the model's stem in the current folder.
    fn beside(&self, kind: OutputKind) -> String {
        let output = self.output.as_deref().filter(|output| *output != "-");
        let file =
            Path::new(output.or(self.model.as_deref()).filter(|path| *path != STANDARD).unwrap_or("net")).with_extension(kind.suffix());
        if output.is_some() { file } else { file.file_name().map(Into::into).unwrap_or(file) }.to_string_lossy().into_owned()
    }
}

/// One output of a compiled model.
fn output(compiled: &Compiled, (model, beside): (&str, &[&str]), request: &Request, requests: &[Request]) -> Result<Output, Diagnostic> {
    let (lowered, files) = (&compiled.lowered, &compiled.files);
    let listing = |what| lowered.levels().iter().map(|level| listing(level, compiled.options.target, what)).collect::<Result<String, _>>();
    let contents: Image = match request.kind {
        OutputKind::Object => files.object.clone(),
        OutputKind::Archive => compiled.archive(),
        OutputKind::Weights => {
            files.weights.clone().ok_or_else(|| usage("the object holds the weights").help("`--weights external` leaves them out"))?
        }
        OutputKind::Header => files.header.clone().into_bytes().into(),
        OutputKind::Shared => compiled.shared(&soname(request, compiled))?,
        OutputKind::Rust => compiled.rust().into_bytes().into(),
        OutputKind::Cpp => compiled.cpp(&header_name(requests, compiled)).into_bytes().into(),
        OutputKind::Json => format!("{:#}\n", files.report).into_bytes().into(),
        OutputKind::Html => emit::html::page(&files.report).into_bytes().into(),
        OutputKind::Graph => format!("{:#}\n", emit::explorer::graphs(&files.report)).into_bytes().into(),
        OutputKind::Trace => format!("{:#}\n", emit::trace(files, &compiled.options.settings)?).into_bytes().into(),
        OutputKind::Ir => ir::text::print_module(&compiled.module, ir::text::Constants::Elided).into_bytes().into(),
        OutputKind::Kernels => lowered
            .levels()
            .iter()
            .flat_map(|level| &level.program.kernels)
            .map(|kernel| format!("{kernel}\n"))
            .collect::<String>()
            .into_bytes()
            .into(),
        OutputKind::Driver => files.driver().to_string().into_bytes().into(),
        OutputKind::Clif => listing(Listing::Cranelift)?.into_bytes().into(),
        OutputKind::Asm => listing(Listing::Machine)?.into_bytes().into(),
        OutputKind::Plan => plans(compiled).into_bytes().into(),
        OutputKind::Depfile => {
            let made = requests
                .iter()
                .find(|r| matches!(r.kind, OutputKind::Object | OutputKind::Archive | OutputKind::Shared))
                .map_or(model, |r| &r.path);
            let inputs: Vec<&str> = std::iter::once(model).chain(beside.iter().copied()).collect();
            emit::depfile::depfile(made, &inputs).into_bytes().into()
        }
        // Compiling makes none of these. A test needs more than the compiled model.
        OutputKind::Test | OutputKind::Bench | OutputKind::Build => Image::default(),
        OutputKind::Arrays | OutputKind::Csv | OutputKind::PerfMap | OutputKind::NodeData => Image::default(),
    };
    Ok(Output { path: request.path.clone().into(), kind: request.kind, contents })
}

/// Returns the name that programs record for a shared library: its file name.
fn soname(request: &Request, compiled: &Compiled) -> String {
    if request.path == "-" { format!("{}.so", compiled.files.record.name) } else { file_name(Path::new(&request.path)) }
}

/// Prints the outputs and the memory of the model, on standard error so that standard output stays free.
fn summary(requests: &[Request], compiled: &Compiled) {
    let (files, lowered) = (&compiled.files, &compiled.lowered);
    let record = &files.record;
    let paths: Vec<&str> = requests.iter().map(|r| r.path.as_str()).collect();
    note(&format!("{} for {} ({})", paths.join(", "), record.target, record.levels));
    let plan = lowered.plans.iter().max_by_key(|p| p.arena_bytes);
    let proof = plan.map_or(String::new(), |plan| sizes::proof(plan, lowered.program.alignment));
    let footprint = &record.footprint;
    let (arena, areas) = (sizes::arena(footprint), sizes::areas(footprint));
    let levels = sizes::levels(&record.levels);
    note(&format!("  memory  {arena}{proof}{areas}; stack {} B{levels}", grouped(footprint.stack_bytes)));
    for method in &lowered.program.methods {
        if let Some(alone) = method.scratch_bytes_alone {
            let bytes = [method.scratch_bytes, alone].map(|bytes| grouped(lowered.program.alignment.up(bytes)));
            note(&format!("  {}: scratch {} B with memory for threads, {} B without", method.name, bytes[0], bytes[1]));
        }
    }
    for known in lowered.program.methods.iter().filter_map(|method| method.in_areas.as_ref()) {
        sizes::in_areas(known).lines().for_each(note);
    }
    for (name, memory) in memories(compiled).into_iter().filter(|(_, memory)| memory.planned_bytes().is_some()) {
        note(&format!("  {name}: {}", sizes::with_ports(&memory)));
    }
    note(&format!("  flash   {}", sizes::flash(footprint, &record.levels)));
    for name in &compiled.module.left_out {
        note(&format!("  {name}: left out, gives strings"));
    }
}

/// Prints the summary as JSON, schema `modelc.compile/1`.
fn summary_json(model: &str, requests: &[Request], compiled: &Compiled) -> Value {
    let record = &compiled.files.record;
    let output = |request: &Request| json!({ "kind": request.kind.name(), "path": request.path });
    let methods = compiled.lowered.program.methods.iter().zip(memories(compiled));
    let method = |(method, (name, memory)): (&Method, (&str, MethodMemory))| {
        let mut json = json!({ "name": name, "scratch_bytes": memory.scratch_bytes });
        memory.add_json(&mut json);
        if let Some(known) = &method.in_areas {
            json["areas"] = emit::report::areas_report(known);
        }
        json
    };
    json!({
        "schema": "modelc.compile/1",
        "model": model,
        "outputs": requests.iter().map(output).collect::<Vec<_>>(),
        "target": record.target,
        "cpu_levels": record.levels.split(',').collect::<Vec<_>>(),
        "memory": record.footprint.to_json(),
        "methods": methods.map(method).collect::<Vec<_>>(),
        "left_out": compiled.module.left_out,
    })
}

/// Returns the memory of each method, including its arguments.
fn memories(compiled: &Compiled) -> Vec<(&str, MethodMemory)> {
    let planned: Vec<&[u64]> =
        compiled.module.imported_plan.iter().flat_map(|plan| &plan.methods).map(|plan| plan.area_bytes.as_slice()).collect();
    let state = compiled.files.record.footprint.state_bytes;
    let program = &compiled.lowered.program;
    let of_method =
        |number: usize, method: &Method| MethodMemory::new(method, program.alignment, state, planned.get(number).unwrap_or(&&[][..]));
    program.methods.iter().enumerate().map(|(number, method)| (method.name.as_str(), of_method(number, method))).collect()
}

/// Writes the plan of each method, a line each, and lines for its areas.
fn plans(compiled: &Compiled) -> String {
    let lowered = &compiled.lowered;
    let in_areas = |method: &Method| method.in_areas.as_ref().map_or(String::new(), sizes::in_areas);
    let plans = lowered.plans.iter().zip(memories(compiled)).zip(&lowered.program.methods);
    plans
        .map(|((plan, (name, memory)), method)| {
            format!("{name}: {}; {}\n{}", sizes::plan(plan, lowered.program.alignment), sizes::with_ports(&memory), in_areas(method))
        })
        .collect()
}
