//! `modelc run MODEL`

use super::Outcome;
use super::arrays::{self, Side};
use super::batches::{Batch, Call, batches};
use super::console::{note, print};
use super::files::Files;
use super::io::{INTEGERS_BELOW, InputType, Inputs, Source, array_argument, read_array};
use super::options::{Common, MessageFormat};
use super::output::{grouped, table, usage};
use super::ports::Ports;
use super::progress;
use super::tap::{Taps, Way, entry_name, in_order, source_module};
use crate::api::engine::Engine;
use crate::api::quantize;
use crate::diagnostic::{Diagnostic, Diagnostics, codes, did_you_mean};
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

/// Methods and inputs of the calls.
#[derive(Args)]
pub struct Calls {
    #[command(flatten)]
    methods: Methods,
    /// Inputs: in{call}_{index}, in{index}, the inputs' names, or an .npy
    #[arg(long, value_name = "IN.npz", conflicts_with_all = ["input", "random"])]
    inputs: Option<String>,
    /// An input of a single call, by number or name: in0=a.npy
    #[arg(long, value_name = "INPUT=A.npy", conflicts_with = "random")]
    input: Vec<String>,
    /// f32: quantize float32 arrays for quantized inputs
    #[arg(long = "input-type", value_enum, value_name = "TYPE", hide_possible_values = true)]
    input_type: Option<InputType>,
    /// Random inputs from this seed [default: 1]
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
}

/// Methods of the calls.
#[derive(Args)]
pub struct Methods {
    /// Method to call [default: that of the .npz, else the first]
    #[arg(long, value_name = "METHOD", conflicts_with = "calls")]
    method: Option<String>,
    /// Methods of the calls, in order
    #[arg(long, value_name = "M,M,…", value_delimiter = ',')]
    calls: Vec<String>,
}

/// Limit of the calls of one archive. The number in an array's name is not checked before.
const MOST_CALLS: usize = 1 << 20;

impl Methods {
    /// Returns the method of a name, or the first method.
    ///
    /// # Errors
    /// A diagnostic if there is no such method.
    pub fn find(module: &Module, name: Option<&str>) -> Result<usize, Diagnostic> {
        let methods = &module.methods;
        if methods.is_empty() {
            return Err(usage("the model has no method to run"));
        }
        let Some(name) = name else { return Ok(0) };
        methods.iter().position(|m| m.name == *name).ok_or_else(|| {
            if module.left_out.iter().any(|left_out| left_out == name) {
                return Diagnostic::new(codes::PROGRAM_UNSUPPORTED, "strings cannot be outputs").in_function(name);
            }
            let known: Vec<&str> = methods.iter().map(|m| m.name.as_str()).collect();
            did_you_mean(usage(format!("the model has no method {name:?}")).expected(known.join(", "), name), name, known)
        })
    }

    /// Returns the method of `--method`, if given, for calls that already have their methods.
    ///
    /// # Errors
    /// A diagnostic if there is no such method, or if `--calls` is given.
    pub fn only(&self, module: &Module) -> Result<Option<usize>, Diagnostic> {
        if !self.calls.is_empty() {
            return Err(usage("the calls of a bundle have their methods: --calls says those of --inputs").help("--method tests one method"));
        }
        self.method.as_deref().map(|name| Self::find(module, Some(name))).transpose()
    }

    /// Returns the name of the first call's method, if the command line has one.
    pub fn first_name(&self) -> Option<&str> {
        self.calls.first().or(self.method.as_ref()).map(String::as_str)
    }

    /// Tests whether `--calls` has several methods.
    pub fn are_a_sequence(&self) -> bool {
        self.calls.len() > 1
    }

    /// Tests whether any option is given.
    pub fn are_given(&self) -> bool {
        self.method.is_some() || !self.calls.is_empty()
    }

    /// Returns the methods of random calls, in order: those of `--calls`. Otherwise every method, or the one of `--method`, `turns` times.
    ///
    /// # Errors
    /// A diagnostic if there is no such method.
    pub fn sequence(&self, module: &Module, turns: usize) -> Result<Vec<usize>, Diagnostic> {
        if !self.calls.is_empty() {
            return self.calls.iter().map(|name| Self::find(module, Some(name))).collect();
        }
        let methods = match &self.method {
            Some(name) => vec![Self::find(module, Some(name))?],
            None => (0..module.methods.len()).collect(),
        };
        Ok(methods.into_iter().flat_map(|method| std::iter::repeat_n(method, turns)).collect())
    }

    /// Returns the name of each call's method, from the command line or the archive, if given.
    ///
    /// # Errors
    /// A diagnostic if there are too many calls.
    pub fn names(&self, inputs: &Inputs) -> Result<Vec<Option<String>>, Diagnostic> {
        if !self.calls.is_empty() {
            return Ok(self.calls.iter().cloned().map(Some).collect());
        }
        let calls = inputs.calls();
        if calls > MOST_CALLS {
            let error = Diagnostic::new(codes::CALL_COUNT, "the inputs are of more calls than can be made");
            return Err(error.expected(format!("at most {MOST_CALLS}"), calls.to_string()));
        }
        let given = |call| self.method.as_deref().or_else(|| inputs.method(call)).map(str::to_owned);
        Ok((0..calls).map(given).collect())
    }
}

impl Calls {
    /// Reads the inputs.
    ///
    /// # Errors
    /// Diagnostics if a file cannot be read or is no array, or if an argument names no input of the model.
    pub fn read(&self, model: &str) -> Result<Inputs, Diagnostics> {
        let source = match &self.inputs {
            Some(path) => Source::Archive(arrays::read(path, Side::Inputs, Ports::of(model), self.methods.first_name())?),
            None if self.input.is_empty() => Source::Random { seed: self.random.unwrap_or(1), below: INTEGERS_BELOW[0] },
            None => Source::Arrays(self.input.iter().map(|a| read_array(a, Ports::of(model))).collect::<Result<_, _>>()?),
        };
        Ok(Inputs { source, given_as: self.input_type })
    }

    /// Tests whether `--calls` has several methods. Such calls form a sequence.
    pub fn are_a_sequence(&self) -> bool {
        self.methods.are_a_sequence()
    }

    /// Returns the files from which inputs are read.
    ///
    /// # Errors
    /// A diagnostic if an argument is malformed.
    pub fn files(&self) -> Result<Vec<&str>, Diagnostic> {
        let arrays = self.input.iter().map(|argument| Ok(array_argument(argument)?.1));
        self.inputs.as_deref().map(Ok).into_iter().chain(arrays).collect()
    }

    /// Returns the calls, each with a model that can run it.
    ///
    /// # Errors
    /// Any diagnostic about the model or the inputs.
    pub fn batches(&self, model: &str, common: &Common) -> Result<Vec<Batch>, Diagnostics> {
        batches(model, common, &self.methods, &self.read(model)?)
    }
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
    let run_all = |calls: &[Call]| {
        let mut interpreter = Interpreter::new(&source);
        engine.instance.reset()?;
        results.rows.truncate(before.0);
        results.arrays.truncate(before.1);
        for &Call { number, method, ref inputs } in calls {
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
    batch.settle(bytes, run_all).map(drop)
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
