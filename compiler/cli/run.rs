//! `modelc run MODEL`

use super::batches::{Batch, Call};
use super::calls::Calls;
use super::cases::counted;
use super::console::{note, print};
use super::files::Files;
use super::io::InputType;
use super::messages::MessageFormat;
use super::options::Common;
use super::outcome::Outcome;
use super::output::{grouped, table};
use super::progress::{self, Steps};
use super::tap::{Taps, Way, entry_name, in_order, source_module};
use crate::api::engine::Engine;
use crate::api::quantize;
use crate::diagnostic::Diagnostics;
use crate::emit::OutputKind;
use crate::frontend;
use crate::ir::interpret::Interpreter;
use crate::ir::{ElementType, Module, Scalar, Tensor};
use crate::jit::JitOptions;
use crate::npz::{Archive, unpacked};
use crate::program::Port;
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; `-` is standard input
    model: String,
    #[command(flatten)]
    pub calls: Calls,
    /// Write the outputs to an .npz archive
    #[arg(long, value_name = "OUT.npz")]
    outputs: Option<String>,
    /// f32: give float32 for quantized outputs
    #[arg(long = "output-type", value_enum, value_name = "TYPE", hide_possible_values = true)]
    output_type: Option<InputType>,
    /// Show the K largest elements of each output, with labels
    #[arg(long = "top-k", value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Show an inner tensor, by its name in the file, or all
    #[arg(long, value_name = "TENSOR")]
    tap: Vec<String>,
    /// Number of threads
    #[arg(long = "num-threads", alias = "num_threads", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    num_threads: u32,
    #[command(flatten)]
    pub common: Common,
}

/// Runs a model.
///
/// # Errors
/// Any diagnostic about the model, the inputs or the output.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let inputs = arguments.calls.files()?.into_iter().chain(arguments.common.inputs());
    let files = Files::new(inputs.chain([arguments.model.as_str()]));
    files.check(arguments.outputs.as_deref().map(|path| (path, OutputKind::Arrays)))?;
    let batches = arguments.calls.batches(&arguments.model, &arguments.common)?;
    let is_single = batches.iter().map(|batch| batch.calls.len()).sum::<usize>() == 1;
    let mut results = Results {
        archive: Archive::default(),
        silent: arguments.outputs.is_some() && arguments.top.is_none(),
        rows: vec![],
        arrays: vec![],
    };
    for batch in &batches {
        run(arguments, batch, is_single, &mut results)?;
    }
    if let Some(path) = &arguments.outputs {
        files.write(path, OutputKind::Arrays, results.archive.to_bytes()?)?;
    }
    print(&match arguments.common.messages.format {
        MessageFormat::Text => table(&results.rows, &[]),
        MessageFormat::Json => results.json(arguments),
    })?;
    Ok(Outcome::Done)
}

fn run(arguments: &Arguments, batch: &Batch, is_single: bool, results: &mut Results) -> Result<(), Diagnostics> {
    let model = &batch.model;
    let options = JitOptions { observe: !arguments.tap.is_empty(), threads: arguments.num_threads, ..JitOptions::default() };
    let settings = arguments.common.general_settings();
    let mut engine = progress::during(&format!("compiling {}", model.path), || Engine::new(model, &settings, options))?;
    let labels = if arguments.top.is_some() { frontend::labels((*model.bytes).as_ref()) } else { vec![] };
    let source = if arguments.tap.is_empty() { Module::default() } else { source_module(model)? };
    let taps = Taps::new(&arguments.tap, &source)?;
    let before = (results.rows.len(), results.arrays.len());
    let bytes = engine.bytes_of_call();
    let mut run_all = |calls: &[Call], done: &Steps| {
        let mut interpreter = Interpreter::new(&source);
        engine.instance.reset()?;
        results.rows.truncate(before.0);
        results.arrays.truncate(before.1);
        for (turn, &Call { number, method, ref inputs }) in calls.iter().enumerate() {
            done.set(turn);
            let outputs = engine.call(method, inputs)?;
            for (index, output) in outputs.into_iter().enumerate() {
                let entry = format!("out{number}_{}", engine.position(method, index));
                let port = &engine.program().methods[method].outputs[index];
                let output = if arguments.output_type.is_some() { real(output, port) } else { output };
                results.show(&entry, (&port.name, format!("{:?}", port.name)), &output);
                if let Some(most) = arguments.top {
                    // The file's labels belong to its first method.
                    let own = labels.iter().find(|list| list.is_output && list.port == index && method == 0);
                    results.rank(&output, most as usize, own.map_or(&[][..], |list| &list.labels));
                }
                results.archive.tensors.insert(entry, output);
            }
            if !arguments.tap.is_empty() {
                let mut values = taps.compiled(&mut engine, method);
                taps.interpreted(&source, &mut interpreter, method, inputs, &mut values)?;
                results.add_taps(in_order(values, &source), (!is_single).then_some(number));
            }
        }
        Ok(())
    };
    let unit = format!("of {}", counted(batch.calls.len(), "call"));
    progress::counting(&format!("running {}", model.path), &unit, |done| batch.settle(bytes, |calls| run_all(calls, done)).map(drop))
}

/// Outputs, for an archive or for the screen.
struct Results {
    archive: Archive,
    silent: bool,
    /// Printed rows: description, type, elements, name.
    rows: Vec<Vec<String>>,
    /// All arrays as JSON.
    arrays: Vec<Value>,
}

impl Results {
    /// Returns all arrays as a line of JSON, schema `modelc.run/1`.
    fn json(&self, arguments: &Arguments) -> String {
        let report = json!({ "schema": "modelc.run/1", "model": arguments.model, "written_to": arguments.outputs, "arrays": self.arrays });
        format!("{report}\n")
    }

    fn show(&mut self, what: &str, (name, shown): (&str, String), tensor: &Tensor) {
        let first: Vec<String> = first_numbers(tensor).collect();
        self.arrays.push(json!({ "what": what, "name": name, "element": tensor.element.name(), "shape": tensor.shape, "first": first }));
        if !self.silent {
            let ty = format!("{}{:?}", tensor.element, tensor.shape);
            self.rows.push(vec![what.into(), ty, first_elements(tensor), shown]);
        }
    }

    /// Adds the largest elements of the output that was added last.
    fn rank(&mut self, tensor: &Tensor, most: usize, labels: &[String]) {
        let rows = largest(tensor, most);
        let label = |index: usize| labels.get(index).map_or("", String::as_str);
        let json = |row: &Vec<(usize, f64)>| {
            row.iter().map(|&(index, value)| json!({ "index": index, "label": labels.get(index), "value": value })).collect::<Vec<_>>()
        };
        if let Some(array) = self.arrays.last_mut() {
            array["top"] = rows.iter().map(json).collect::<Vec<_>>().into();
        }
        for (place, &(index, value)) in rows.iter().flat_map(|row| row.iter().enumerate()) {
            // Format the number with the fewest digits that its type needs.
            let shown = if tensor.element.is_float() { (value as f32).to_string() } else { value.to_string() };
            self.rows.push(vec![format!("  {}.", place + 1), index.to_string(), shown, label(index).to_owned()]);
        }
    }

    /// Adds inner tensors and their origin. The origin is printed on standard error if nothing else is printed.
    fn add_taps(&mut self, values: Vec<(String, (Way, Vec<Tensor>))>, call: Option<usize>) {
        for (name, (way, tensors)) in values {
            let repeated = tensors.len() > 1;
            if self.silent {
                note(&format!("tap {}: {}", entry_name(&name, call, None), way.name()));
            }
            for (turn, tensor) in tensors.into_iter().enumerate() {
                let entry = entry_name(&name, call, repeated.then_some(turn));
                // A tensor can have the same name as an output in the archive.
                let taken = self.archive.tensors.contains_key(&entry);
                let entry = if taken { format!("{entry}#tap") } else { entry };
                self.show(way.name(), (&entry, entry.clone()), &tensor);
                self.archive.tensors.insert(entry, tensor);
            }
        }
    }
}

/// Converts an output to float32, if it is quantized.
fn real(tensor: Tensor, port: &Port) -> Tensor {
    let quantization = quantize::usable(port.quantization.as_ref(), port.element);
    let plain = if port.element.bits() < 8 { unpacked(&tensor) } else { tensor.clone() };
    quantization.and_then(|quantization| quantize::dequantized(&plain, quantization, port.element)).unwrap_or(tensor)
}

/// Returns the largest elements of each slice along the last dimension: index and value, largest first. Equal elements keep their order.
fn largest(tensor: &Tensor, most: usize) -> Vec<Vec<(usize, f64)>> {
    let plain = if tensor.element.bits() < 8 { unpacked(tensor) } else { tensor.clone() };
    let size = (plain.element.bits() / 8).max(1) as usize;
    if plain.element.part() != plain.element {
        return vec![];
    }
    let value = |bytes: &[u8]| Scalar::from_bytes(plain.element, bytes).as_f64();
    let values: Vec<f64> = plain.bytes.chunks_exact(size).map(value).collect();
    let row = usize::try_from(tensor.shape.last().copied().unwrap_or(1)).unwrap_or(usize::MAX).max(1);
    let ranked = |row: &[f64]| {
        let mut ranked: Vec<(usize, f64)> = row.iter().copied().enumerate().filter(|(_, value)| !value.is_nan()).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked.truncate(most);
        ranked
    };
    values.chunks(row).map(ranked).collect()
}

/// Limit of the printed elements of an output.
const SHOWN: usize = 8;

/// Formats the first elements of a tensor, and the number of others.
fn first_elements(tensor: &Tensor) -> String {
    let numbers = first_numbers(tensor);
    let more = tensor.elements().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" … {} more", grouped(more as u64)) } else { String::new() };
    format!("{}{rest}", numbers.collect::<Vec<_>>().join(" "))
}

/// Formats the first elements of a tensor.
fn first_numbers(tensor: &Tensor) -> impl Iterator<Item = String> {
    let element = tensor.element.part();
    let size = (element.bits() / 8).max(1) as usize;
    tensor.bytes.chunks_exact(size).take(SHOWN).map(move |bytes| number(element, bytes))
}

fn number(element: ElementType, bytes: &[u8]) -> String {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    let scalar = Scalar::from_bits(element, u64::from_le_bytes(raw));
    if element.is_float() { format!("{}", scalar.as_f64() as f32) } else { scalar.as_i64().to_string() }
}
