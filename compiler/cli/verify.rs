//! `modelc verify MODEL`: comparison of the compiled model's outputs with expected ones.

use super::arrays::{self, Side};
use super::batches::{Batch, Call};
use super::cases::{self, Case, counted};
use super::console::print;
use super::io::{INTEGERS_BELOW, InputType, Inputs, Source, read_model};
use super::messages::MessageFormat;
use super::methods::Methods;
use super::options::Common;
use super::outcome::Outcome;
use super::output::{numbered, table, usage};
use super::ports::Ports;
use super::progress::{self, Steps};
use super::tolerance::ToleranceArguments;
use crate::api::Loaded;
use crate::api::engine::{Engine, machine};
use crate::compare::{Difference, Tolerance, compare};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::Format;
use crate::ir::{Module, Type};
use crate::jit::{JitOptions, room};
use crate::{bisect, pipeline};
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub struct Arguments {
    /// A .tflite, .pte or .bpte file; a .bpte has its own cases
    model: String,
    #[command(flatten)]
    methods: Methods,
    /// Inputs: in{call}_{index}, in{index}, the inputs' names, or an .npy
    #[arg(long, value_name = "IN.npz", requires = "expected")]
    inputs: Option<String>,
    /// Expected outputs: out{call}_{index}, out{index}, names, or an .npy
    #[arg(long, value_name = "OUT.npz", requires = "inputs")]
    expected: Option<String>,
    /// f32: quantize float32 arrays for quantized inputs
    #[arg(long = "input-type", value_enum, value_name = "TYPE", requires = "inputs", hide_possible_values = true)]
    input_type: Option<InputType>,
    #[command(flatten)]
    tolerance: ToleranceArguments,
    /// Find the first kernel that differs from the interpreter
    #[arg(long)]
    bisect: bool,
    /// Number of threads
    #[arg(long = "num-threads", alias = "num_threads", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    num_threads: u32,
    #[command(flatten)]
    pub common: Common,
}

/// Origin of the calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Recorded,
    Bundle,
    /// Random inputs: the outputs can only be compared with the interpreter's.
    Random,
}

impl Origin {
    /// Returns the name of a call.
    fn name(self, model: &Loaded, case: &Case) -> String {
        match self {
            Self::Recorded => format!("call {}", case.number),
            Self::Bundle => format!("{} case {}", model.module.methods[case.method].name, case.number),
            Self::Random => "random inputs".into(),
        }
    }

    fn tolerance(self, model: &Loaded, arguments: &ToleranceArguments) -> Tolerance {
        match self {
            Self::Recorded | Self::Random => arguments.of_recorded(),
            Self::Bundle => arguments.of_another(&model.module),
        }
    }
}

/// Verifies a model.
///
/// # Errors
/// Any diagnostic about the model or the data. Differing outputs are an outcome, not an error.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let (origin, mut batches) = batches(arguments)?;
    let format = arguments.common.messages.format;
    if arguments.bisect {
        for (model, cases) in &mut batches {
            let tolerance = origin.tolerance(model, &arguments.tolerance);
            if let Some(finding) = first_difference(model, &arguments.common, cases, tolerance)? {
                let case = origin.name(model, &cases[finding.call]);
                print(&match format {
                    MessageFormat::Text => finding_text(&finding, &case),
                    MessageFormat::Json => finding_json(&arguments.model, &finding, &case),
                })?;
                return Ok(Outcome::Differs);
            }
        }
        if format == MessageFormat::Text {
            print("every kernel computes what the interpreter does\n")?;
        }
        if origin == Origin::Random {
            return if format == MessageFormat::Json { report(arguments, Verdict::default()) } else { Ok(Outcome::Done) };
        }
    }
    let mut verdict = Verdict { calls: batches.iter().map(|(_, cases)| cases.len()).sum(), ..Verdict::default() };
    for (model, cases) in &batches {
        let tolerance = origin.tolerance(model, &arguments.tolerance);
        let found = compare_batch(model, arguments, cases, tolerance)?;
        match (format, origin) {
            (MessageFormat::Json, _) => verdict.rows.extend(found.iter().map(|row| row.json(&origin.name(model, row.case)))),
            (_, Origin::Bundle) => print(&table_text(&found, tolerance))?,
            _ => print(&differing_text(&found, |case| origin.name(model, case)))?,
        }
        let compared = found.iter().filter_map(|row| row.difference.as_ref());
        verdict.outputs += compared.clone().count();
        verdict.differing += compared.filter(|difference| !difference.agrees()).count();
    }
    if verdict.outputs == 0 {
        return Err(Diagnostic::new(codes::NOTHING_TO_COMPARE, "the file of expected outputs contains none of the model's outputs").into());
    }
    report(arguments, verdict)
}

/// The result of the comparison of all outputs.
#[derive(Default)]
struct Verdict {
    calls: usize,
    /// Number of outputs with expected values.
    outputs: usize,
    /// Number of outputs that differ from them.
    differing: usize,
    /// Each output as JSON, if requested.
    rows: Vec<Value>,
}

/// Prints the verdict, as a line or as JSON of schema `modelc.verify/1`.
fn report(arguments: &Arguments, verdict: Verdict) -> Result<Outcome, Diagnostics> {
    let Verdict { calls, outputs, differing, rows } = verdict;
    print(&match arguments.common.messages.format {
        MessageFormat::Json => {
            let agrees = differing == 0;
            let json = json!({ "schema": "modelc.verify/1", "model": arguments.model, "agrees": agrees, "calls": calls, "outputs": outputs,
                               "differing": differing, "rows": rows, "finding": null });
            format!("{json}\n")
        }
        MessageFormat::Text if differing > 0 => format!("{differing} of {} differ\n", counted(outputs, "output")),
        MessageFormat::Text => format!("{} of {} agree\n", counted(outputs, "output"), counted(calls, "call")),
    })?;
    Ok(if differing > 0 { Outcome::Differs } else { Outcome::Done })
}

/// Models, each with the calls that it can run.
type Batches = Vec<(Loaded, Vec<Case>)>;

fn batches(arguments: &Arguments) -> Result<(Origin, Batches), Diagnostics> {
    if let (Some(inputs), Some(expected)) = (&arguments.inputs, &arguments.expected) {
        return Ok((Origin::Recorded, recorded_cases(arguments, inputs, expected)?));
    }
    let model = read_model(&arguments.model, &arguments.common)?;
    if Format::detect((*model.bytes).as_ref()) == Some(Format::BundledExecutorch) {
        let in_file = |Diagnostics(list): Diagnostics| Diagnostics(list.into_iter().map(|d| d.in_file(&model.path)).collect());
        let cases = cases::of_bundle(&model.module, &model.bytes, &arguments.methods).map_err(in_file)?;
        return Ok((Origin::Bundle, vec![(model, cases)]));
    }
    if !arguments.bisect {
        return Err(usage("there is nothing to compare with").help("give --inputs in.npz --expected out.npz, or a .bpte").into());
    }
    let cases = random_case(&model)?;
    Ok((Origin::Random, vec![(model, cases)]))
}

/// The comparison of one output.
struct Row<'c> {
    case: &'c Case,
    method: String,
    position: usize,
    name: String,
    /// Difference; `None` if nothing is expected.
    difference: Option<Difference>,
}

impl Row<'_> {
    fn json(&self, call: &str) -> Value {
        let difference = self.difference.as_ref();
        json!({ "call": call, "method": self.method, "output": format!("out{}", self.position), "name": self.name,
                "agrees": difference.map(Difference::agrees),
                "difference": difference.filter(|difference| !difference.agrees()).map(Difference::to_string) })
    }
}

/// Runs the calls of one model.
fn compare_batch<'c>(model: &Loaded, arguments: &Arguments, cases: &'c [Case], tolerance: Tolerance) -> Result<Vec<Row<'c>>, Diagnostics> {
    let options = JitOptions { threads: arguments.num_threads, ..JitOptions::default() };
    let settings = arguments.common.general_settings();
    let mut engine = progress::during(&format!("compiling {}", model.path), || Engine::new(model, &settings, options))?;
    let unit = format!("of {}", counted(cases.len(), "call"));
    progress::counting(&format!("verifying {}", model.path), &unit, |done| compare_cases(&mut engine, cases, tolerance, done))
}

/// Calls a compiled model and compares its outputs.
fn compare_cases<'c>(engine: &mut Engine, cases: &'c [Case], tolerance: Tolerance, done: &Steps) -> Result<Vec<Row<'c>>, Diagnostics> {
    let mut rows = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        done.set(number);
        let outputs = engine.call(case.method, &case.inputs)?;
        for (index, found) in outputs.iter().enumerate() {
            let position = engine.position(case.method, index);
            let expected = case.expected.get(position).and_then(Option::as_ref);
            let difference = expected.map(|expected| compare(found, expected, tolerance));
            let method = &engine.program().methods[case.method];
            let name = method.outputs[index].name.clone();
            rows.push(Row { case, method: method.name.clone(), position, name, difference });
        }
    }
    Ok(rows)
}

/// Formats a line for each output that differs.
fn differing_text(rows: &[Row<'_>], name_of: impl Fn(&Case) -> String) -> String {
    let line = |row: &Row<'_>| {
        let difference = row.difference.as_ref().filter(|difference| !difference.agrees())?;
        Some(format!("{} out{} {:?}: {difference}\n", name_of(row.case), row.position, row.name))
    };
    rows.iter().filter_map(line).collect()
}

/// Formats a table of all outputs, with the tolerance.
fn table_text(rows: &[Row<'_>], tolerance: Tolerance) -> String {
    let of_largest = |worst: f64| if worst == 0.0 { "0".into() } else { format!("{worst:.1e}") };
    let cells = |row: &Row<'_>| {
        let (error, verdict) = match &row.difference {
            None => ("-".into(), "nothing expected".into()),
            Some(Difference::None { worst }) => (of_largest(*worst), "agrees".into()),
            Some(difference @ Difference::Type { .. }) => ("-".into(), difference.to_string()),
            Some(difference @ Difference::Elements { worst, .. }) => (of_largest(*worst), difference.to_string()),
        };
        vec![row.method.clone(), row.case.number.to_string(), format!("out{}", row.position), error, verdict]
    };
    let header = ["method", "case", "output", "max error", "verdict"].map(String::from).to_vec();
    let lines: Vec<_> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    let Tolerance { relative, absolute } = tolerance;
    let beside = if absolute > 0.0 { format!(" and {absolute:.1e} beside that") } else { String::new() };
    format!("{}allowed: {relative:.1e} of the largest magnitude{beside}; integers are equal\n", table(&lines, &[1, 3]))
}

/// Returns one call of the first method, without expected outputs.
fn random_case(model: &Loaded) -> Result<Vec<Case>, Diagnostics> {
    if model.module.methods.is_empty() {
        return Err(usage("the model has no method to run").into());
    }
    room::check_used(bytes_of_values(&model.module))?;
    let inputs = Inputs { source: Source::Random { seed: 1, below: INTEGERS_BELOW[0] }, given_as: None }.of_call(&model.module, 0, 0)?;
    Ok(vec![Case { method: 0, number: 0, inputs, expected: vec![] }])
}

/// Returns the bytes of all tensors of the first method at their bounds. Both the compiled model and the interpreter keep them for the
/// comparison.
fn bytes_of_values(module: &Module) -> u64 {
    let function = &module.functions[module.methods[0].function];
    let bytes = function.values.values().filter_map(|value| if let Type::Tensor(ty) = &value.ty { function.bound_bytes(ty) } else { None });
    bytes.fold(0u64, u64::saturating_add).saturating_mul(2)
}

fn first_difference(
    model: &mut Loaded,
    common: &Common,
    cases: &[Case],
    tolerance: Tolerance,
) -> Result<Option<bisect::Finding>, Diagnostics> {
    let settings = common.general_settings();
    let machine = machine(&settings)?;
    bisect::separate_sources(&mut model.module);
    let options = settings.lower_options(machine)?;
    let mut lowered = progress::during(&format!("compiling {}", model.path), || pipeline::lower(&model.module, &model.path, options))?;
    lowered.program.max_iterations = settings.max_iterations;
    let calls: Vec<_> = cases.iter().map(|case| (case.method, case.inputs.clone())).collect();
    progress::during(&format!("searching {}", model.path), || {
        bisect::first_difference(&model.module, &lowered.program, machine, &calls, tolerance)
    })
}

fn finding_text(finding: &bisect::Finding, case: &str) -> String {
    let operators = numbered(&finding.operators);
    let mut text = format!("{case}: kernel {} is the first that differs from the interpreter\n", finding.kernel);
    text.push_str(&format!("  operators  {}\n", operators.join(" ")));
    text.push_str(&format!("  schedule   {}\n", finding.schedule));
    text.push_str(&format!("  tensor     {:?}: {}\n", finding.tensor, finding.difference));
    if let Difference::Elements { furthest: (position, found, expected), .. } = finding.difference {
        text.push_str(&format!("  worst      element {position}: compiled {found}, interpreted {expected}\n"));
    }
    text
}

/// Formats a finding of `--bisect` as JSON.
fn finding_json(model: &str, finding: &bisect::Finding, case: &str) -> String {
    let found = json!({ "call": case, "kernel": finding.kernel, "operators": finding.operators, "schedule": finding.schedule,
                        "tensor": finding.tensor, "difference": finding.difference.to_string() });
    format!("{}\n", json!({ "schema": "modelc.verify/1", "model": model, "agrees": false, "finding": found }))
}

fn recorded_cases(arguments: &Arguments, inputs: &str, expected: &str) -> Result<Batches, Diagnostics> {
    let (ports, method) = (Ports::of(&arguments.model), arguments.methods.first_name());
    let archive = arrays::read(inputs, Side::Inputs, ports, method)?;
    let method = method.or(archive.texts.get("method0").map(String::as_str));
    let expected = arrays::read(expected, Side::Outputs, ports, method)?;
    let inputs = Inputs { source: Source::Archive(archive), given_as: arguments.input_type };
    let batches = super::batches::batches(&arguments.model, &arguments.common, &arguments.methods, &inputs)?;
    let with_expected = |Batch { model, calls, .. }: Batch| {
        let case = |Call { number, method, inputs }: Call| {
            let expected = cases::expected_outputs(&model.module.methods[method], number, &expected);
            Case { method, number, inputs, expected }
        };
        let cases = calls.into_iter().map(case).collect();
        (model, cases)
    };
    let batches: Batches = batches.into_iter().map(with_expected).collect();
    if batches.iter().flat_map(|(_, cases)| cases).flat_map(|case| &case.expected).all(Option::is_none) {
        return Err(arrays::nothing_to_compare(&expected).into());
    }
    Ok(batches)
}
