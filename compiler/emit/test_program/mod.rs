//! Programs in C that call an object with given inputs: a test, which compares the outputs, and a benchmark, which measures the calls. They
//! need no library and no heap.
//!
//! The files in `support/` compare, measure and print. This module generates the tables, and one function for each method, which calls it.

mod call;
mod tables;

pub use call::TestCall;

use super::c_text::{comment, string};
use super::header::BEGINNING;
use crate::compare::Tolerance;
use crate::diagnostic::{Diagnostic, codes};
use crate::interface::{Interface, Layout, has_shape};
use crate::program::{Method, Port, Program, calls};
use std::fmt::Write;
use tables::Tables;

/// The subject of a test.
#[derive(Clone, Copy, Debug)]
pub struct Tested<'a> {
    /// The program.
    pub program: &'a Program,
    /// Prefix of the object's symbols.
    pub name: &'a str,
    /// The file name of the header.
    pub header: &'a str,
    /// `true` if the weights are external.
    pub external_weights: bool,
    /// `true` if the object calls `on_kernel`.
    pub has_hooks: bool,
}

/// Limit of the bytes of inputs and expected outputs in a test. C compilers need hundreds of bytes of memory for every eight.
const MOST_BYTES: usize = 64 << 20;

/// Checks that the arguments of calls, at their largest shapes, fit into a test, before a test is generated.
///
/// # Errors
/// A diagnostic if the total is too large for a C compiler.
pub fn check_test_size<'p>(calls: impl IntoIterator<Item = &'p Method>) -> Result<(), Diagnostic> {
    let ports = calls.into_iter().flat_map(|method| method.inputs.iter().chain(&method.outputs));
    let bytes = ports.fold(0u64, |sum, port| sum.saturating_add(port.bytes));
    if bytes > MOST_BYTES as u64 { Err(too_large(bytes)) } else { Ok(()) }
}

fn too_large(bytes: u64) -> Diagnostic {
    let error = Diagnostic::new(codes::TEST_SIZE, "the inputs and outputs are too large for a test in C");
    let error = error.expected(format!("at most {MOST_BYTES} bytes"), format!("{bytes} bytes"));
    error.help("give fewer calls: --inputs in.npz --expected out.npz")
}

const LINES: &str = include_str!("support/lines.c");
const BITS: &str = include_str!("support/bits.c");
const COMPARE: &str = include_str!("support/compare.c");
const ARGUMENTS: &str = include_str!("support/arguments.c");
const RUN: &str = include_str!("support/run.c");
const BENCH: &str = include_str!("support/bench.c");

/// Kind of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Test,
    Bench,
}

impl Kind {
    /// Returns the word in names of C.
    fn word(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Bench => "bench",
        }
    }
}

/// Returns the source code of a test.
///
/// # Errors
/// A diagnostic if an expected output does not have its method's type and shape. Also if the total is too large for a C compiler.
pub fn test_program(tested: Tested<'_>, calls: &[TestCall], tolerance: Tolerance) -> Result<String, Diagnostic> {
    program(tested, Kind::Test, calls, tolerance)
}

/// Returns the source code of a benchmark. Expected outputs are left out.
///
/// # Errors
/// A diagnostic if the inputs are too large for a C compiler.
pub fn bench_program(tested: Tested<'_>, calls: &[TestCall]) -> Result<String, Diagnostic> {
    let nothing = |call: &TestCall| TestCall { expected: vec![None; call.expected.len()], ..call.clone() };
    let calls: Vec<TestCall> = calls.iter().map(nothing).collect();
    program(tested, Kind::Bench, &calls, Tolerance { relative: 0.0, absolute: 0.0 })
}

fn program(tested: Tested<'_>, kind: Kind, calls: &[TestCall], tolerance: Tolerance) -> Result<String, Diagnostic> {
    // Names do not depend on the target's layout of structs.
    let interface = Interface::new(tested.program, tested.name, Layout { pointer: 8 });
    let mut tables = Tables::default();
    for call in calls {
        tables.add(&tested.program.methods[call.method], call, tolerance).map_err(|error| error.about_tensor(&call.name))?;
    }
    if tables.bytes() > MOST_BYTES {
        return Err(too_large(tables.bytes() as u64));
    }
    Ok(Writer { tested, kind, interface: &interface, calls, tables: &tables }.text())
}

struct Writer<'a> {
    tested: Tested<'a>,
    kind: Kind,
    interface: &'a Interface,
    calls: &'a [TestCall],
    tables: &'a Tables,
}

impl Writer<'_> {
    /// Returns the methods that are called.
    fn methods(&self) -> impl Iterator<Item = (usize, &Method)> {
        let is_called = |number: &usize| self.calls.iter().any(|call| call.method == *number);
        self.tested.program.methods.iter().enumerate().filter(move |(number, _)| is_called(number))
    }

    fn text(&self) -> String {
        let mut text = self.introduction();
        self.sizes(&mut text);
        text.push_str(&self.tables.contents());
        self.support(&mut text);
        for (number, method) in self.methods() {
            self.caller(&mut text, number, method);
        }
        text.push_str(&self.tables.values());
        self.entry(&mut text);
        text
    }

    /// Returns the first comment, and declarations of the functions that the program defines.
    fn introduction(&self) -> String {
        let name = &self.interface.name;
        let word = self.kind.word();
        let (what, result) = match self.kind {
            Kind::Test => ("a test", "if all outputs are\n   as expected"),
            Kind::Bench => ("a benchmark", "if all calls\n   succeed"),
        };
        let mut text = format!(
            "{BEGINNING}{}: {what} of {}, in C99. Do not edit.\n\n   What modelc writes is yours, without conditions.\n\n   \
             It links with the object and with what the program defines below. modelc_{word}_{name} is 0 {result}. \
             With MODELC_{}_NO_MAIN the program calls it itself. */\n",
            env!("CARGO_PKG_VERSION"),
            comment(name),
            word.to_ascii_uppercase()
        );
        let _ = write!(
            text,
            "#include {}\n\n/* Prints a line, as puts does; your program defines it. `-Dmodelc_puts=puts` takes the C library's. */\n\
             int modelc_puts(const char *line);\n",
            string(self.tested.header)
        );
        if self.tested.external_weights {
            let _ = write!(
                text,
                "/* The contents of the weights file, aligned to {0}_ARENA_ALIGN, and their size; your program defines it. */\n\
                 const void *modelc_test_weights(size_t *bytes);\n",
                name.to_ascii_uppercase()
            );
        }
        if self.kind == Kind::Bench {
            text.push_str(
                "/* A number that grows with time and starts again after 2^32 - 1; your program defines it: a cycle counter or a timer. */\n\
                 uint32_t modelc_ticks(void);\n",
            );
        }
        let _ = write!(text, "int modelc_{word}_{name}(void);\n\n");
        text
    }

    /// Adds the functions that the program needs, and no others: compilers warn of those.
    fn support(&self, text: &mut String) {
        let has_numbers = self.methods().flat_map(|(_, method)| &method.inputs).any(|port| port.scalar);
        let parts: &[(bool, &str)] = match self.kind {
            Kind::Test => &[(true, LINES), (true, BITS), (true, COMPARE), (true, ARGUMENTS), (true, RUN)],
            Kind::Bench => &[(true, LINES), (has_numbers, BITS), (true, ARGUMENTS), (true, BENCH)],
        };
        for (_, part) in parts.iter().filter(|(is_needed, _)| *is_needed) {
            text.push_str(part);
        }
    }

    /// Defines the sizes that the files in `support/` need.
    fn sizes(&self, text: &mut String) {
        let upper = self.interface.name.to_ascii_uppercase();
        let room = self.methods().map(|(_, method)| method.outputs.iter().map(words).sum::<u64>()).max().unwrap_or(0);
        let outputs = self.methods().map(|(_, method)| method.outputs.len()).max().unwrap_or(0);
        let _ = write!(
            text,
            "#define MODELC_TEST_ARENA_BYTES {upper}_ARENA_BYTES\n#define MODELC_TEST_ARENA_ALIGN {upper}_ARENA_ALIGN\n\
             #define MODELC_TEST_ROOM {}\n#define MODELC_TEST_OUTPUTS {}\n",
            room.max(1),
            outputs.max(1)
        );
        for area in 0..self.interface.area_bytes.len() {
            let _ = writeln!(text, "static unsigned char modelc_test_area{area}[{upper}_AREA{area}_BYTES + MODELC_TEST_ARENA_ALIGN];");
        }
        let inputs = || self.methods().flat_map(|(_, method)| &method.inputs);
        for (is_needed, what) in [(inputs().any(|port| port.scalar), "NUMBERS"), (inputs().any(has_shape), "SHAPES")] {
            if is_needed {
                let _ = writeln!(text, "#define MODELC_TEST_{what}");
            }
        }
        if self.is_measured_by_kernel() {
            let _ = writeln!(text, "#define MODELC_BENCH_KERNELS {upper}_KERNELS_COUNT\n#define MODELC_BENCH_NAMES {upper}_kernels");
        }
        text.push('\n');
    }

    /// Tests whether the program measures kernels. The header names those that the object has.
    fn is_measured_by_kernel(&self) -> bool {
        let mut methods = self.tested.program.methods.iter();
        self.kind == Kind::Bench && self.tested.has_hooks && methods.any(|method| !calls(&method.steps).is_empty())
    }

    /// Writes the function that calls a method.
    fn caller(&self, text: &mut String, number: usize, method: &Method) {
        let (name, identifier) = (&self.interface.name, &self.interface.methods[number].identifier);
        let _ = write!(
            text,
            "\n/* Method {}. */\nstatic int modelc_test_method{number}(const modelc_test_value *in, modelc_test_found *found)\n{{\n  \
             static {name}_{identifier}_inputs inputs;\n  static {name}_{identifier}_outputs outputs;\n  int status;\n  (void)in; (void)found;\n",
            comment(&method.name)
        );
        for (index, port) in method.inputs.iter().enumerate() {
            let _ = match port.scalar {
                true => writeln!(text, "  modelc_test_copy(&inputs.in{index}, &in[{index}], sizeof inputs.in{index});"),
                false => writeln!(text, "  inputs.in{index} = (void *)&modelc_test_words[in[{index}].word];"),
            };
            if has_shape(port) {
                let _ = writeln!(text, "  modelc_test_shape(inputs.in{index}_shape, &in[{index}], {});", port.shape.len());
            }
        }
        let mut word = 0;
        for (index, port) in method.outputs.iter().enumerate().filter(|(_, port)| !port.scalar) {
            let _ = writeln!(text, "  outputs.out{index} = (void *)&modelc_test_room[{word}];");
            word += words(port);
        }
        let _ = writeln!(text, "  status = {name}_{identifier}(modelc_test_arena, &inputs, &outputs);");
        for (index, port) in method.outputs.iter().enumerate() {
            let address = if port.scalar { "&" } else { "" };
            let _ = writeln!(text, "  found[{index}].data = {address}outputs.out{index};");
            let _ = writeln!(text, "  found[{index}].bytes = {};", if port.scalar { 0 } else { port.bytes });
            if has_shape(port) {
                let _ = writeln!(text, "  found[{index}].shape = outputs.out{index}_shape;");
            }
        }
        text.push_str("  return status;\n}\n");
    }

    fn entry(&self, text: &mut String) {
        let (name, word) = (&self.interface.name, self.kind.word());
        let _ = writeln!(text, "\nstatic const modelc_test_call modelc_test_calls[] = {{");
        for (call, (input, output)) in self.calls.iter().zip(self.tables.starts()) {
            let outputs = self.tested.program.methods[call.method].outputs.len();
            let _ = writeln!(
                text,
                "  {{ {}, modelc_test_method{}, &modelc_test_inputs[{input}], &modelc_test_expectations[{output}], {outputs} }},",
                string(&call.name),
                call.method
            );
        }
        let areas = self.interface.area_bytes.len();
        let (mut declared, mut set) = (String::new(), String::new());
        if self.tested.external_weights {
            set.push_str("  config.weights = modelc_test_weights(&config.weights_bytes);\n");
        }
        if areas > 0 {
            let _ = writeln!(declared, "  static void *areas[{areas}];");
            let _ = writeln!(set, "  config.areas = areas;\n  config.n_areas = {areas};");
        }
        if self.is_measured_by_kernel() {
            set.push_str("  config.on_kernel = modelc_bench_on_kernel;\n");
        }
        for area in 0..areas {
            let _ = writeln!(set, "  areas[{area}] = modelc_test_aligned(modelc_test_area{area});");
        }
        let given = if set.is_empty() { "NULL" } else { "&config" };
        if !set.is_empty() {
            declared.push_str("  static modelc_config config;\n");
            set.insert_str(0, "  config.struct_size = sizeof config;\n");
        }
        let _ = write!(
            text,
            "}};\n\nint modelc_{word}_{name}(void)\n{{\n{declared}{set}  modelc_test_arena = modelc_test_aligned(modelc_test_memory);\n  \
             if (!modelc_test_done(\"init\", {name}_init(modelc_test_arena, MODELC_TEST_ARENA_BYTES, {given}))) return 1;\n  \
             return modelc_{word}_run(modelc_test_calls, {});\n}}\n\n\
             #ifndef MODELC_{}_NO_MAIN\nint main(void)\n{{\n  return modelc_{word}_{name}();\n}}\n#endif\n",
            self.calls.len(),
            word.to_ascii_uppercase()
        );
    }
}

/// Returns the words of a buffer and of the guard after it.
fn words(port: &Port) -> u64 {
    if port.scalar { 0 } else { port.bytes.div_ceil(8) + 1 }
}

#[cfg(test)]
mod tests;
