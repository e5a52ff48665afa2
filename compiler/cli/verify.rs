//! `modelc verify MODEL`: outputs of the compiled model against expected ones.

use super::Outcome;
use super::batches::{Batch, Call};
use super::console::print;
use super::engine::{Engine, machine};
use super::io::{InputType, Inputs, Model, Source, read_model};
use super::options::Common;
use super::output::{grouped, usage};
use super::run::Methods;
use crate::compare::{Difference, Tolerance, compare};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::frontend::{Format, bundled};
use crate::ir::Tensor;
use crate::ir::data::Bytes;
use crate::jit::JitOptions;
use crate::npz::{self, Archive};
use crate::{bisect, pipeline};
use clap::Args;
use std::path::Path;
use std::sync::Arc;

#[derive(Args)]
pub struct Arguments {
    /// The model; a .bpte brings its own test cases
    model: String,
    #[command(flatten)]
    methods: Methods,
    /// Inputs of all calls: in{call}_{index}
    #[arg(long, value_name = "IN.npz", requires = "expected")]
    inputs: Option<String>,
    /// Expected outputs: out{call}_{index}
    #[arg(long, value_name = "OUT.npz", requires = "inputs")]
    expected: Option<String>,
    /// Type of arrays that are not of the input's: f32 is quantized by its scale
    #[arg(long = "input-type", value_enum, value_name = "TYPE", requires = "inputs")]
    input_type: Option<InputType>,
    /// Allowed difference of floats, relative to the largest expected magnitude of the tensor
    #[arg(long, default_value_t = 1e-5)]
    rtol: f64,
    /// Allowed difference of floats beside that
    #[arg(long, default_value_t = 0.0)]
    atol: f64,
    /// Find the first kernel whose results differ from the interpreter's; without expected outputs, on random inputs
    #[arg(long)]
    bisect: bool,
    #[command(flatten)]
    pub common: Common,
}

/// One call with what it should give.
struct Case {
    name: String,
    method: usize,
    inputs: Vec<Tensor>,
    expected: Vec<Option<Tensor>>,
}

/// Verifies a model.
///
/// # Errors
/// Whatever is wrong with the model or the data. Differing outputs are no error but an outcome.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    let mut batches = batches(arguments)?;
    let tolerance = Tolerance { relative: arguments.rtol, absolute: arguments.atol };
    if arguments.bisect {
        for (model, cases) in &mut batches {
            if let Some(finding) = first_difference(model, &arguments.common, cases, tolerance)? {
                print(&finding_text(&finding, &cases[finding.call].name))?;
                return Ok(Outcome::Differs);
            }
        }
        print("every kernel computes what the interpreter does\n")?;
        if batches.iter().flat_map(|(_, cases)| cases).all(|case| case.expected.is_empty()) {
            return Ok(Outcome::Done);
        }
    }
    let (mut compared, mut differing) = (0, 0);
    for (model, cases) in &batches {
        let found = compare_batch(arguments, model, cases, tolerance)?;
        compared += found.0;
        differing += found.1;
    }
    if compared == 0 {
        return Err(Diagnostic::new(codes::NOTHING_TO_COMPARE, "the expected outputs hold none of the model's outputs").into());
    }
    if differing > 0 {
        print(&format!("{differing} of {} differ\n", counted(compared, "output")))?;
        return Ok(Outcome::Differs);
    }
    let calls = batches.iter().map(|(_, cases)| cases.len()).sum();
    print(&format!("{} of {} agree\n", counted(compared, "output"), counted(calls, "call")))?;
    Ok(Outcome::Done)
}

/// Models, each with the calls that it can run.
fn batches(arguments: &Arguments) -> Result<Vec<(Model, Vec<Case>)>, Diagnostics> {
    if let (Some(inputs), Some(expected)) = (&arguments.inputs, &arguments.expected) {
        return recorded_cases(arguments, inputs, expected);
    }
    let model = read_model(&arguments.model, &arguments.common)?;
    let cases = match Format::detect(&model.bytes) {
        Some(Format::BundledExecutorch) => bundled_cases(&model)?,
        _ if arguments.bisect => random_case(&model)?,
        _ => return Err(usage("there is nothing to compare with").help("give --inputs in.npz --expected out.npz, or a .bpte").into()),
    };
    Ok(vec![(model, cases)])
}

/// Runs the calls of one model; gives the numbers of outputs compared, and of those that differ.
fn compare_batch(arguments: &Arguments, model: &Model, cases: &[Case], tolerance: Tolerance) -> Result<(usize, usize), Diagnostics> {
    let mut engine = Engine::new(model, &arguments.common, JitOptions::default())?;
    let (mut compared, mut differing) = (0, 0);
    for case in cases {
        let outputs = engine.call(case.method, &case.inputs)?;
        for (index, found) in outputs.iter().enumerate() {
            let position = engine.position(case.method, index);
            let Some(Some(expected)) = case.expected.get(position) else { continue };
            compared += 1;
            let port = &engine.program().methods[case.method].outputs[index];
            match compare(found, expected, tolerance) {
                Difference::None { .. } => {}
                difference => {
                    differing += 1;
                    print(&format!("{} out{position} {:?}: {difference}\n", case.name, port.name))?;
                }
            }
        }
    }
    Ok((compared, differing))
}

/// A number of things: `1 output`, `2 outputs`.
fn counted(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// One call of the first method, with nothing to compare its outputs with.
fn random_case(model: &Model) -> Result<Vec<Case>, Diagnostics> {
    if model.module.methods.is_empty() {
        return Err(usage("the model has no method to run").into());
    }
    let inputs = Inputs { source: Source::Random(1), given_as: None }.of_call(&model.module, 0, 0)?;
    Ok(vec![Case { name: "random inputs".into(), method: 0, inputs, expected: vec![] }])
}

fn first_difference(
    model: &mut Model,
    common: &Common,
    cases: &[Case],
    tolerance: Tolerance,
) -> Result<Option<bisect::Finding>, Diagnostics> {
    let machine = machine(common)?;
    bisect::separate_sources(&mut model.module);
    let mut lowered = pipeline::lower(&model.module, &model.path, common.lower_options(machine))?;
    lowered.program.max_iterations = common.max_iterations;
    let calls: Vec<_> = cases.iter().map(|case| (case.method, case.inputs.clone())).collect();
    bisect::first_difference(&model.module, &lowered.program, machine, &calls, tolerance)
}

fn finding_text(finding: &bisect::Finding, case: &str) -> String {
    let operators: Vec<String> = finding.operators.iter().map(|(index, name)| format!("{index}:{name}")).collect();
    let mut text = format!("{case}: kernel {} is the first that differs from the interpreter\n", finding.kernel);
    text.push_str(&format!("  operators  {}\n", operators.join(" ")));
    text.push_str(&format!("  schedule   {}\n", finding.schedule));
    text.push_str(&format!("  tensor     {:?}: {}\n", finding.tensor, finding.difference));
    if let Difference::Elements { furthest: (position, found, expected), .. } = finding.difference {
        text.push_str(&format!("  worst      element {position}: compiled {found}, interpreted {expected}\n"));
    }
    text
}

fn recorded_cases(arguments: &Arguments, inputs: &str, expected: &str) -> Result<Vec<(Model, Vec<Case>)>, Diagnostics> {
    let read = |path: &str| Archive::read(Path::new(path)).map_err(|d| d.in_file(path));
    let (archive, expected) = (read(inputs)?, read(expected)?);
    let inputs = Inputs { source: Source::Archive(archive), given_as: arguments.input_type };
    let batches = super::batches::batches(&arguments.model, &arguments.common, &arguments.methods, &inputs)?;
    let with_expected = |Batch { model, calls }: Batch| {
        let case = |Call { number, method, inputs }: Call| {
            let ports = &model.module.methods[method].outputs;
            let count = ports.iter().enumerate().map(|(i, port)| port.position(i) + 1).max().unwrap_or(0);
            let expected = (0..count).map(|i| expected.output(number, i).cloned()).collect();
            Case { name: format!("call {number}"), method, inputs, expected }
        };
        let cases = calls.into_iter().map(case).collect();
        (model, cases)
    };
    Ok(batches.into_iter().map(with_expected).collect())
}

fn bundled_cases(model: &Model) -> Result<Vec<Case>, Diagnostics> {
    let bytes: Arc<dyn Bytes> = model.bytes.clone();
    let (_, suites) = bundled::load(&bytes)?;
    let mut cases = Vec::new();
    for suite in suites {
        let Some(method) = model.module.methods.iter().position(|m| m.name == suite.method) else {
            return Err(Diagnostic::new(
                codes::BUNDLED_METHOD,
                format!("the bundle tests a method {:?} that the program has not", suite.method),
            )
            .into());
        };
        for (number, case) in suite.cases.into_iter().enumerate() {
            let function = &model.module.functions[model.module.methods[method].function];
            let ports = &model.module.methods[method].inputs;
            let mut inputs = Vec::new();
            for (index, (port, &param)) in ports.iter().zip(&function.params).enumerate() {
                let name = format!("input {} of case {number}", port.position(index));
                let Some(Some(tensor)) = case.inputs.get(port.position(index)) else {
                    return Err(Diagnostic::new(codes::ARRAY_MISSING, format!("the bundle has no {name} of {:?}", suite.method)).into());
                };
                let ty = function.tensor(param);
                let tensor = port.to_buffer(tensor).unwrap_or_else(|| tensor.clone());
                let shape = ty.static_shape().unwrap_or_else(|| tensor.shape.clone());
                inputs.push(npz::conform(&tensor, ty.element, &shape, &name)?);
            }
            cases.push(Case { name: format!("{} case {number}", suite.method), method, inputs, expected: case.outputs });
        }
    }
    Ok(cases)
}
