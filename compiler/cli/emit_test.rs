//! `--emit test=t.c` and `--emit bench=b.c`: the calls of the program and their expected outputs.
//!
//! A bundle contains its cases. For other models, calls are recorded in archives, or random from a fixed seed. If no outputs are given, the
//! interpreter computes them.

use super::arrays::{self, Side};
use super::cases::{self, Case};
use super::io::{INTEGERS_BELOW, InputType, Inputs, Source};
use super::methods::Methods;
use super::output::usage;
use super::ports::Ports;
use super::tolerance::ToleranceArguments;
use crate::bisect::interpreter_failed;
use crate::compile::{Compiled, Settings};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::emit::{TestCall, Tested, WeightsPlace, bench_program, check_test_size, test_program};
use crate::frontend::{self, Format};
use crate::ir::data::Bytes;
use crate::ir::interpret::{Interpreter, Limits};
use crate::ir::{Module, Tensor};
use crate::jit::room;
use clap::Args;
use std::sync::Arc;

/// Options of `--emit test` and `--emit bench`.
#[derive(Args)]
#[command(next_help_heading = "Test (with --emit test or bench)")]
pub struct TestArguments {
    #[command(flatten)]
    methods: Methods,
    /// Inputs: in{call}_{index} [default: a .bpte's cases, else random]
    #[arg(long, value_name = "IN.npz")]
    inputs: Option<String>,
    /// Outputs: out{call}_{index} [default: the interpreter's]
    #[arg(long, value_name = "OUT.npz", requires = "inputs")]
    expected: Option<String>,
    /// f32: quantize float32 arrays for quantized inputs
    #[arg(long = "input-type", value_enum, value_name = "TYPE", requires = "inputs", hide_possible_values = true)]
    input_type: Option<InputType>,
    #[command(flatten)]
    tolerance: ToleranceArguments,
}

/// The model under test.
pub struct TestedModel<'a> {
    /// The file's bytes.
    pub bytes: Arc<dyn Bytes>,
    /// Path of the file.
    pub path: &'a str,
    /// Settings of the compilation.
    pub settings: &'a Settings,
}

/// Limit of a loop's iterations in the interpreter. Random inputs may ask for any number.
const MOST_ITERATIONS: u64 = 1 << 20;

/// Random calls of each method. The second call starts with the variables that the first one leaves.
const TURNS: usize = 2;

impl TestArguments {
    /// Returns the files from which calls are read.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        [&self.inputs, &self.expected].into_iter().filter_map(|path| path.as_deref())
    }

    /// Rejects options of a test if no test is written.
    ///
    /// # Errors
    /// A usage diagnostic.
    pub fn only_with(&self, is_written: bool) -> Result<(), Diagnostic> {
        let is_given = self.inputs.is_some() || self.methods.are_given() || self.tolerance.is_given();
        if is_given && !is_written {
            let message =
                "--inputs, --expected, --method, --calls, --rtol and --atol are of the programs that --emit test and --emit bench write";
            return Err(usage(message).help("`modelc verify` and `modelc run` call the model here"));
        }
        Ok(())
    }

    /// Returns the source code of the test, or of the benchmark if it `measures`. `header` is the file name of the header that it includes.
    ///
    /// # Errors
    /// Diagnostics if calls or outputs do not fit the model, or if the interpreter fails on them.
    pub fn text(&self, compiled: &Compiled, model: &TestedModel<'_>, header: &str, measures: bool) -> Result<String, Diagnostics> {
        let module = &compiled.module;
        let is_bundle = Format::detect((*model.bytes).as_ref()) == Some(Format::BundledExecutorch) && self.inputs.is_none();
        let ports = Ports::of(model.path);
        let (cases, tolerance) = match (&self.inputs, &self.expected) {
            (Some(inputs), Some(expected)) => {
                let cases = cases::recorded(module, &self.methods, &self.inputs(inputs, ports)?)?;
                let expected = arrays::read(expected, Side::Outputs, ports, self.methods.first_name())?;
                (cases::expecting(module, cases, &expected)?, self.tolerance.of_recorded())
            }
            (Some(inputs), None) => {
                let cases = cases::recorded(module, &self.methods, &self.inputs(inputs, ports)?)?;
                (model.answered(cases)?, self.tolerance.of_another(module))
            }
            _ if is_bundle => (cases::of_bundle(module, &model.bytes, &self.methods)?, self.tolerance.of_another(module)),
            _ => (self.made_up(compiled, model, if measures { 1 } else { TURNS })?, self.tolerance.of_another(module)),
        };
        let kind = if is_bundle { "case" } else { "call" };
        let calls: Vec<TestCall> = cases.into_iter().map(|case| test_call(module, case, kind)).collect();
        let tested = Tested {
            program: &compiled.lowered.program,
            name: &compiled.options.name,
            header,
            external_weights: compiled.options.weights == WeightsPlace::External,
            has_hooks: compiled.options.profile_hooks,
        };
        Ok(if measures { bench_program(tested, &calls)? } else { test_program(tested, &calls, tolerance)? })
    }

    fn inputs(&self, path: &str, ports: Ports<'_>) -> Result<Inputs, Diagnostics> {
        let archive = arrays::read(path, Side::Inputs, ports, self.methods.first_name())?;
        Ok(Inputs { source: Source::Archive(archive), given_as: self.input_type })
    }

    /// Makes random calls from fixed seeds, `turns` of each method, with the outputs of the interpreter.
    fn made_up(&self, compiled: &Compiled, model: &TestedModel<'_>, turns: usize) -> Result<Vec<Case>, Diagnostics> {
        let module = &compiled.module;
        let methods = self.methods.sequence(module, turns)?;
        // The interpreter needs at least as much memory as the model.
        room::check_used(compiled.files.record.footprint.arena_bytes())?;
        check_test_size(methods.iter().map(|&method| &compiled.lowered.program.methods[method]))?;
        let with = |below: u64| {
            let call = |(number, &method): (usize, &usize)| {
                let source = Source::Random { seed: 1 + ((number as u64) << 16), below };
                let inputs = Inputs { source, given_as: None }.of_call(module, method, number)?;
                Ok(Case { method, number, inputs, expected: vec![] })
            };
            let cases = methods.iter().enumerate().map(call).collect::<Result<_, Diagnostic>>()?;
            model.answered(cases)
        };
        let mut made = with(INTEGERS_BELOW[0]);
        for &below in &INTEGERS_BELOW[1..] {
            if made.is_ok() {
                break;
            }
            made = with(below);
        }
        made
    }
}

impl TestedModel<'_> {
    /// Adds the outputs that the interpreter computes from the file's model, before any rewrite.
    fn answered(&self, mut cases: Vec<Case>) -> Result<Vec<Case>, Diagnostics> {
        let module = frontend::load(self.bytes.clone(), self.path, &self.settings.load_options()?)?;
        let mut interpreter = Interpreter::new(&module);
        interpreter.limits = Limits { iterations: self.settings.max_iterations.unwrap_or(MOST_ITERATIONS) };
        for case in &mut cases {
            let method = &module.methods[case.method];
            let outputs = interpreter.run(case.method, &case.inputs);
            let outputs = outputs.map_err(|error| {
                interpreter_failed(&error)
                    .in_file(self.path)
                    .in_function(&method.name)
                    .help("give the calls: --inputs in.npz --expected out.npz")
            })?;
            case.expected = vec![None; cases::positions(method)];
            for (index, (port, output)) in method.outputs.iter().zip(outputs).enumerate() {
                case.expected[port.position(index)] = Some(port.from_buffer(&output).unwrap_or(output));
            }
        }
        Ok(cases)
    }
}

/// Converts a case to a call of the test, with outputs in the types of the method.
fn test_call(module: &Module, case: Case, kind: &str) -> TestCall {
    let method = &module.methods[case.method];
    let expected = |(index, port): (usize, &crate::ir::Port)| {
        let tensor: &Tensor = case.expected.get(port.position(index))?.as_ref()?;
        Some(port.to_buffer(tensor).unwrap_or_else(|| tensor.clone()))
    };
    let expected = method.outputs.iter().enumerate().map(expected).collect();
    TestCall { name: format!("{} {kind} {}", method.name, case.number), method: case.method, inputs: case.inputs, expected }
}
