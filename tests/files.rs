//! Text tests: each `tests/files/*.mt` and `tests/schedules/*.mt` has directives, a module, and after `;! ---` the expected output.
//!
//! Directives are carried out in order:
//!
//! - `;! print`: the module's text;
//! - `;! pass = NAME, …`: rewrites applied (`all` for the whole pipeline); with inputs given, outputs must stay the same;
//! - `;! input TENSOR`: the next input of the module's first method;
//! - `;! run`: the outputs on these inputs, or the error;
//! - `;! kernels = LEVEL, …`: the schedule and the kernel of each call, for an object of the machines of these names;
//! - `;! outline = LEVEL, …`: the same, with counts in place of instructions;
//! - `;! schedule = WORDS`: one of the schedules of the directive before has these words;
//! - `;! technique = NAME, …`: the kernels of the directive before differ without each of these techniques.
//!
//! The output for a text that does not parse or verify is the error. `MODELC_BLESS=1` rewrites the expected outputs. Schedules and techniques are
//! compared in any case.

mod support;

use modelc::ir::text::{Constants, parse_module, parse_tensor, print_module, print_tensor};
use modelc::ir::{Module, Tensor, interpret::Interpreter, verify};
use modelc::lower::{Options, TECHNIQUES, Techniques};
use modelc::machine::{CpuMachine, GPUS, machine};
use modelc::program::calls;
use modelc::{passes, pipeline};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use support::bless::Blessing;
use support::texts::{self, SEPARATOR};

#[test]
fn files() {
    check_folder("tests/files");
}

#[test]
fn schedules() {
    check_folder("tests/schedules");
}

#[test]
fn every_technique_has_a_text() {
    let texts = support::models_in(&support::own("tests/schedules"), "mt").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let named: BTreeSet<String> = texts.flat_map(|text| text.lines().filter_map(techniques).flatten().collect::<Vec<_>>()).collect();
    let lacking: Vec<&str> = TECHNIQUES.iter().map(|row| row.name).filter(|name| !named.contains(*name)).collect();
    assert!(lacking.is_empty(), "tests/schedules has no text of {}", lacking.join(", "));
}

/// Returns the techniques of a directive.
fn techniques(line: &str) -> Option<impl Iterator<Item = String>> {
    Some(line.strip_prefix(";! technique = ")?.split(", ").map(String::from))
}

fn check_folder(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "mt"));
    paths.sort();
    assert!(!paths.is_empty(), "there are text tests");
    let mut blessing = Blessing::default();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (test, _) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
        let mut run = Run::default();
        run.whole(test);
        blessing.text(&path, &format!("{test}{SEPARATOR}{}", run.output));
        run.failures.iter().for_each(|failure| blessing.fail(&path, failure));
    }
    blessing.finish();
}

/// A module with what its directives gave so far.
#[derive(Default)]
struct Run {
    module: Module,
    inputs: Vec<Tensor>,
    output: String,
    /// Conditions that do not hold.
    failures: Vec<String>,
    /// Kernels of the last directive that showed some.
    shown: Option<Shown>,
}

/// Kernels for the machines of an object.
struct Shown {
    machines: Vec<&'static CpuMachine>,
    /// The text with whole kernels.
    text: String,
}

impl Run {
    /// Carries out all directives of a test.
    fn whole(&mut self, test: &str) {
        self.module = match texts::module(test) {
            Ok(module) => module,
            Err(error) => return self.output = format!("parse error: {error}\n"),
        };
        if let Err(error) = verify(&self.module) {
            return self.output = format!("verify error: {error}\n");
        }
        check_round_trip(&self.module);
        for directive in test.lines().filter_map(|line| line.strip_prefix(";! ")) {
            if let Err(error) = self.directive(directive) {
                self.failures.push(format!("{directive}: {error}"));
            }
        }
    }

    /// Carries out a directive. An error is a mistake in the test, or a condition that does not hold.
    fn directive(&mut self, directive: &str) -> Result<(), String> {
        let (word, rest) = directive.split_once([' ', '=']).unwrap_or((directive, ""));
        let rest = rest.trim_start_matches([' ', '=']);
        match word {
            "print" => self.output.push_str(&print_module(&self.module, Constants::Whole)),
            "input" => self.inputs.push(parse_tensor(rest).map_err(|error| error.to_string())?),
            "run" => self.output.push_str(&outputs(&self.module, &self.inputs)),
            "kernels" => self.show(rest, |text| text.to_owned())?,
            "outline" => self.show(rest, outline)?,
            "schedule" => self.check_schedule(rest)?,
            "technique" => rest.split(", ").try_for_each(|name| self.check_technique(name))?,
            "pass" => self.rewrite(rest)?,
            _ => return Err("unknown".into()),
        }
        Ok(())
    }

    fn rewrite(&mut self, names: &str) -> Result<(), String> {
        let before = outputs(&self.module, &self.inputs);
        names.split(',').for_each(|name| apply(&mut self.module, name.trim()));
        check_round_trip(&self.module);
        let is_same = outputs(&self.module, &self.inputs) == before;
        if is_same { Ok(()) } else { Err("changes what this computes".into()) }
    }

    /// Shows the kernels of an object with some levels.
    fn show(&mut self, levels: &str, form: impl Fn(&str) -> String) -> Result<(), String> {
        let of_gpu = |level| GPUS.iter().find(|gpu| gpu.level == level).map(support::as_cpu);
        let found = levels.split(", ").map(|level| machine(level).or_else(|| of_gpu(level)).ok_or_else(|| format!("no machine {level}")));
        let machines = found.collect::<Result<Vec<_>, _>>()?;
        let text = kernels(&self.module, &machines, Techniques::ALL);
        self.output.push_str(&form(&text));
        self.shown = Some(Shown { machines, text });
        Ok(())
    }

    fn shown(&self) -> Result<&Shown, String> {
        self.shown.as_ref().ok_or_else(|| "no kernels before".into())
    }

    fn check_schedule(&self, words: &str) -> Result<(), String> {
        let has_words = self.shown()?.text.lines().any(|line| line.starts_with("; ") && line.contains(words));
        if has_words { Ok(()) } else { Err("another schedule is chosen".into()) }
    }

    fn check_technique(&self, name: &str) -> Result<(), String> {
        let row = TECHNIQUES.iter().find(|row| row.name == name).ok_or("no such technique")?;
        let shown = self.shown()?;
        let differs = kernels(&self.module, &shown.machines, Techniques::ALL.without(row.technique)) != shown.text;
        if differs { Ok(()) } else { Err(format!("no kernel needs {name}")) }
    }
}

fn apply(module: &mut Module, name: &str) {
    if name == "all" {
        passes::run_all(module);
    } else {
        let pass = passes::PASSES.iter().find(|pass| pass.name == name).unwrap_or_else(|| panic!("there is no pass {name:?}"));
        (pass.run)(module);
    }
    if let Err(error) = verify(module) {
        panic!("{name} breaks the module: {error}\n{}", print_module(module, Constants::Elided));
    }
}

/// Lowers the module for the machines of an object. Each kernel of a machine stands once, below the schedule of its first call.
fn kernels(module: &Module, machines: &[&'static CpuMachine], techniques: Techniques) -> String {
    let options = Options { techniques, ..Options::new(machines[0]) };
    let lowered = match pipeline::lower_levels(module, "module", options, &machines[1..]) {
        Ok(lowered) => lowered,
        Err(errors) => return format!("; error: {errors}\n"),
    };
    let mut text = String::new();
    for level in lowered.levels() {
        let mut shown = BTreeSet::new();
        for call in level.program.methods.iter().flat_map(|method| calls(&method.steps)) {
            if shown.insert(call.kernel) {
                let _ = write!(text, "; {}: {}\n{}", level.machine.level, call.origin.schedule, level.program.kernels[call.kernel]);
            }
        }
    }
    text
}

/// Counts the instructions between the loops and branches of kernels.
fn outline(kernels: &str) -> String {
    let mut text = String::new();
    let mut counts: Vec<(String, usize)> = vec![];
    for line in kernels.lines() {
        let depth = line.len() - line.trim_start().len();
        let is_kept = depth == 0 || line.ends_with('{') || line.trim_start().starts_with('}');
        if !is_kept {
            let name = operation(line.trim_start());
            match counts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
            continue;
        }
        if !counts.is_empty() {
            // The end of a region has the depth of its first line.
            let indent = if line.trim_start().starts_with('}') { depth + 2 } else { depth };
            let counted: Vec<String> = counts.drain(..).map(|(name, count)| format!("{count} {name}")).collect();
            let _ = writeln!(text, "{:indent$}{}", "", counted.join(", "));
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns the operation of an instruction, with the type of its result.
fn operation(line: &str) -> String {
    let (result, instruction) = line.split_once(" = ").unwrap_or(("", line));
    let name = instruction.split(' ').next().unwrap_or_default();
    result.split_once(": ").map_or(name.to_owned(), |(_, ty)| format!("{name} {ty}"))
}

fn outputs(module: &Module, inputs: &[Tensor]) -> String {
    if module.methods.is_empty() {
        return String::new();
    }
    match Interpreter::new(module).run(0, inputs) {
        Ok(outputs) => outputs.iter().map(|tensor| format!("; {}\n", print_tensor(tensor))).collect(),
        Err(error) => format!("; error: {error}\n"),
    }
}

/// Checks that printed text parses to a module with the same text.
fn check_round_trip(module: &Module) {
    let text = print_module(module, Constants::Whole);
    let again = parse_module(&text).unwrap_or_else(|e| panic!("what was printed does not parse: {e}\n{text}"));
    verify(&again).unwrap_or_else(|e| panic!("what was parsed again does not verify: {e}\n{text}"));
    assert_eq!(print_module(&again, Constants::Whole), text);
}
