//! The command line: arguments and printing. Each command has a file, and its work is done elsewhere.

// A closed pipe makes these macros panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arrays;
mod batches;
mod bench;
mod calls;
mod cases;
mod compared;
mod compile;
mod completions;
mod console;
mod doctor;
pub mod embedded;
mod emit_test;
mod export;
mod files;
mod gpu;
mod inspect;
mod interrupt;
mod io;
mod lists;
mod man;
mod messages;
mod methods;
mod options;
mod outcome;
mod output;
mod pin;
mod ports;
mod progress;
mod require;
mod run;
mod runtime;
mod sizes;
mod tap;
mod tolerance;
mod verify;
mod version;
mod weights;

use crate::diagnostic::{Diagnostic, Diagnostics, Kind, codes, nearest};
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, Parser, Subcommand};
use messages::{MessageFormat, Messages};
use outcome::Outcome;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Compile TFLite and ExecuTorch models to native object files.
#[derive(Parser)]
#[command(name = "modelc", version, disable_version_flag = true, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(styles = output::STYLES, disable_help_flag = true, arg_required_else_help = true, after_help = EXAMPLES)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compile: compile::Arguments,
    /// Print the version; with --verbose commit, ABI, target, CPU level
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = "Messages")]
    version: Option<bool>,
    /// Print this help
    #[arg(short, long, action = ArgAction::Help, global = true, help_heading = "Messages")]
    help: Option<bool>,
}

/// The end of the help: the first command of each kind of user.
const EXAMPLES: &str = "\
Examples:
  modelc model.tflite -o model.o                     An object for this computer, and model.h
  modelc model.tflite -o model.o --target stm32f407  The same for a board
  modelc inspect model.tflite                        Operators and sizes
  modelc run model.tflite --inputs in.npz            Outputs of the model";

#[derive(Subcommand)]
enum Command {
    /// Run a model in this process and show its outputs
    #[command(mut_args(of_objects))]
    Run(run::Arguments),
    /// Measure the latency of a model
    #[command(mut_args(of_objects))]
    Bench(bench::Arguments),
    /// Compare the outputs of a model with expected outputs
    #[command(mut_args(of_objects))]
    Verify(verify::Arguments),
    /// Show operators, sizes and kernels of a model; or the models in an object file
    Inspect(inspect::Arguments),
    /// List the supported operators
    Ops(lists::OpsArguments),
    /// List targets, CPU levels, and the Vulkan devices of this computer
    Targets(lists::TargetsArguments),
    /// Show what this computer can run, measure, link and emulate
    Doctor(doctor::Arguments),
    /// Write a weights file from a retrained model, for an object already compiled
    Weights(weights::Arguments),
    /// Write a package for CMake, Zephyr, ESP-IDF, CMSIS or Arduino
    Export(export::Arguments),
    /// Write the GPU runtime, for objects compiled with --runtime link
    Runtime(runtime::Arguments),
    /// Print the script that completes commands and options in a shell
    Completions(completions::Arguments),
    /// Print a page for man: `modelc man run | man -l -`
    Man(man::Arguments),
}

/// Hides options for objects from the help of commands that run a model in this process.
fn of_objects(argument: clap::Arg) -> clap::Arg {
    let hidden = ["vk_loader", "runtime"].contains(&argument.get_id().as_str());
    if hidden { argument.hide(true) } else { argument }
}

/// Exit status when verification differs.
const DIFFERS: u8 = 3;
/// Exit status for a bug of modelc.
const BUG: u8 = 101;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    ExitCode::from(run(&std::env::args_os().collect::<Vec<_>>()))
}

/// Runs a command line and returns its exit status. The first argument is the program's name.
fn run(given: &[OsString]) -> u8 {
    interrupt::handle();
    if let Some(mistake) = mistyped(given) {
        return report(&mistake.into(), json_or_text(given));
    }
    if version::is_asked(given) {
        return console::print(&version::text()).map_or_else(|error| report(&error.into(), MessageFormat::Text), |()| 0);
    }
    let arguments = match CommandLine::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(error) if let Some(mistake) = second_model(&error, given) => return report(&mistake.into(), json_or_text(given)),
        Err(error) if error.use_stderr() && wants_json(given) => return report(&misused(&error).into(), MessageFormat::Json),
        Err(error) => {
            // If this fails, there is nowhere to report it.
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    let messages = arguments.messages();
    let format = messages.format;
    console::configure(messages);
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| execute(arguments))) {
        Ok(Ok(Outcome::Done)) => 0,
        Ok(Ok(Outcome::Differs)) => DIFFERS,
        Ok(Err(diagnostics)) => report(&diagnostics, format),
        Err(_) => {
            let bug = Diagnostic::new(codes::STOPPED, "modelc stopped unexpectedly");
            report(&bug.help("please report this, with the message above and the model if you can share it").into(), format)
        }
    }
}

impl CommandLine {
    fn messages(&self) -> Messages {
        match &self.command {
            None => self.compile.common.messages,
            Some(Command::Run(a)) => a.common.messages,
            Some(Command::Bench(a)) => a.common.messages,
            Some(Command::Verify(a)) => a.common.messages,
            Some(Command::Inspect(a)) => a.common.messages,
            Some(Command::Weights(a)) => a.messages,
            Some(Command::Export(a)) => a.common.messages,
            Some(Command::Runtime(a)) => a.messages,
            Some(Command::Ops(a)) => a.messages,
            Some(Command::Targets(a)) => a.messages,
            Some(Command::Doctor(a)) => a.messages,
            Some(Command::Completions(_) | Command::Man(_)) => Messages::USUAL,
        }
    }
}

/// Tests whether invalid arguments ask for messages in JSON.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().any(|a| a == "--message-format=json")
        || arguments.windows(2).any(|pair| pair[0] == "--message-format" && pair[1] == "json")
}

fn json_or_text(arguments: &[OsString]) -> MessageFormat {
    if wants_json(arguments) { MessageFormat::Json } else { MessageFormat::Text }
}

/// Words that users type instead of a command's name.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["version"], "--version"),
    (&["info", "show", "print", "dump", "describe", "analyze"], "inspect"),
    (&["benchmark", "measure", "profile", "time"], "bench"),
    (&["exec", "execute", "infer", "predict", "eval"], "run"),
    (&["test", "check", "compare", "validate"], "verify"),
    (&["operators", "list"], "ops"),
    (&["devices", "cpus", "platforms"], "targets"),
    (&["completion", "complete"], "completions"),
    (&["manual"], "man"),
    (&["package", "pack"], "export"),
];

/// Returns an error if the first argument is a word, neither a command nor a file. Otherwise it would count as a model.
fn mistyped(arguments: &[OsString]) -> Option<Diagnostic> {
    let argument = arguments.get(1)?;
    let word = argument.to_str().filter(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic()))?;
    let line = CommandLine::command();
    let names: Vec<&str> = line.get_subcommands().map(clap::Command::get_name).collect();
    if names.contains(&word) || word == "help" || Path::new(word).exists() {
        return None;
    }
    let next = arguments.get(2).and_then(|next| next.to_str()).filter(|next| !next.starts_with('-'));
    let lower = word.to_ascii_lowercase();
    let synonym = SYNONYMS.iter().find(|(words, _)| words.contains(&lower.as_str())).map(|(_, name)| *name);
    let help = match (synonym.or_else(|| nearest(&lower, names.iter().copied())), next) {
        (Some(meant), _) => format!("did you mean `modelc {meant}`?"),
        (None, Some(next)) => format!("a model is compiled without a command: `modelc {next} -o NET.o`"),
        (None, None) => "`modelc --help` lists the commands".into(),
    };
    let mistake = output::usage(format!("there is no command and no model file called {word}"));
    Some(mistake.expected(names.join(", "), word).help(help))
}

/// Suffixes of model files.
const MODELS: &[&str] = &["tflite", "pte", "bpte"];

/// Returns an error for a second model in invalid arguments: every command takes one.
fn second_model(error: &clap::Error, given: &[OsString]) -> Option<Diagnostic> {
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict | ErrorKind::InvalidSubcommand) {
        return None;
    }
    let arguments: Vec<String> = given.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let is_model = |argument: &str| Path::new(argument).extension().is_some_and(|suffix| MODELS.iter().any(|model| suffix == *model));
    // An argument after an option is its value.
    let models = arguments.windows(2).filter(|pair| !pair[0].starts_with('-') && !pair[1].starts_with('-') && is_model(&pair[1]));
    let second = models.map(|pair| &pair[1]).nth(1)?;
    let mistake = output::usage(format!("modelc takes one model at a time, and {second} is a second one"));
    Some(mistake.help(format!("compile each by itself: `modelc {second} -o {}`", Path::new(second).with_extension("o").display())))
}

/// Converts an error about arguments to a diagnostic of one sentence.
fn misused(error: &clap::Error) -> Diagnostic {
    let text = error.to_string();
    let sentence = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    Diagnostic::new(codes::COMMAND_LINE, sentence).help("`modelc --help` lists the arguments")
}

fn execute(arguments: CommandLine) -> Result<Outcome, Diagnostics> {
    match arguments.command {
        None => compile::execute(&arguments.compile),
        Some(Command::Run(arguments)) => run::execute(&arguments),
        Some(Command::Bench(arguments)) => bench::execute(&arguments),
        Some(Command::Verify(arguments)) => verify::execute(&arguments),
        Some(Command::Inspect(arguments)) => inspect::execute(&arguments),
        Some(Command::Ops(arguments)) => lists::ops(&arguments),
        Some(Command::Targets(arguments)) => lists::targets(&arguments),
        Some(Command::Doctor(arguments)) => doctor::execute(&arguments),
        Some(Command::Weights(arguments)) => weights::execute(&arguments),
        Some(Command::Export(arguments)) => export::execute(&arguments),
        Some(Command::Runtime(arguments)) => runtime::execute(&arguments),
        Some(Command::Completions(arguments)) => completions::execute(&arguments, CommandLine::command()),
        Some(Command::Man(arguments)) => man::execute(&arguments, CommandLine::command()),
    }
}

/// Prints diagnostics and returns the exit status, which tells whose fault it is.
fn report(diagnostics: &Diagnostics, format: MessageFormat) -> u8 {
    for diagnostic in &diagnostics.0 {
        match format {
            MessageFormat::Text => console::message(&output::diagnostic_text(diagnostic)),
            MessageFormat::Json => console::message(&output::diagnostic_json(diagnostic)),
        }
    }
    let has = |kind| diagnostics.0.iter().any(|d| d.kind() == kind);
    if has(Kind::Bug) {
        BUG
    } else if has(Kind::Usage) {
        2
    } else {
        1
    }
}
