//! The command line for a host program, such as the Python package: its options as a table, and commands that print nothing.

use super::options::Common;
use super::ports::Ports;
use super::{compile, misused};
use crate::api::{Error, Model};
use crate::compile::{Compiled, Settings};
use clap::{ArgAction, CommandFactory, Parser};
use std::ffi::OsString;

/// Arguments of compiling, without a program name.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct CompileLine {
    #[command(flatten)]
    compile: compile::Arguments,
}

/// Options for a model that runs in this process.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct LoadLine {
    #[command(flatten)]
    common: Common,
}

/// An option of the command line.
pub struct Opt {
    /// Name without the dashes.
    pub name: String,
    /// `true` if the option takes a value.
    pub takes_value: bool,
    /// `true` if the option may be repeated.
    pub repeats: bool,
    /// Permitted values; empty if any value is permitted.
    pub values: Vec<String>,
    /// Text of `--help`.
    pub help: String,
}

/// Options about printing, and options that callers pass in another way.
const LEFT_OUT: &[&str] = &["help", "message-format", "output", "quiet", "verbose", "version"];

/// Returns the options of compiling that `--help` shows.
pub fn compile_options() -> Vec<Opt> {
    options(&CompileLine::command())
}

/// Returns the options of loading that `--help` shows.
pub fn load_options() -> Vec<Opt> {
    options(&LoadLine::command())
}

fn options(command: &clap::Command) -> Vec<Opt> {
    let option = |argument: &clap::Arg| {
        let name = argument.get_long().filter(|name| !LEFT_OUT.contains(name))?;
        Some(Opt {
            name: name.to_owned(),
            takes_value: argument.get_action().takes_values(),
            repeats: matches!(argument.get_action(), ArgAction::Append),
            values: argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
            help: argument.get_help().map(ToString::to_string).unwrap_or_default().replace('\n', " "),
        })
    };
    command.get_arguments().filter(|argument| !argument.is_hide_set()).filter_map(option).collect()
}

/// Runs the command line and returns its exit status. The first argument is the program's name.
pub fn run(arguments: &[OsString]) -> u8 {
    super::run(arguments)
}

/// Compiles a model as the command line does with these arguments, and writes the files that they name.
///
/// # Errors
/// Any error about the arguments, the model or the output.
pub fn compile(arguments: &[OsString]) -> Result<Compiled, Error> {
    let line = CompileLine::try_parse_from(arguments).map_err(|error| Error::from(misused(&error)))?;
    Ok(compile::compiled(&line.compile)?)
}

/// Returns the settings that options specify for a model.
///
/// # Errors
/// An error if an option is malformed, or names something that the model does not have.
pub fn settings(model: &Model, arguments: &[OsString]) -> Result<Settings, Error> {
    let line = LoadLine::try_parse_from(arguments).map_err(|error| Error::from(misused(&error)))?;
    Ok(line.common.settings_for(Ports { model: model.path(), bytes: Some(model.bytes()), given: &[] })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_the_command_line() {
        let names = |list: Vec<Opt>| list.into_iter().map(|option| option.name).collect::<Vec<_>>();
        let (compiling, loading) = (names(compile_options()), names(load_options()));
        for name in ["target", "cpu", "name", "emit", "require", "weights", "shape", "bound", "gpu"] {
            assert!(compiling.iter().any(|known| known == name), "{name}");
        }
        assert!(loading.iter().all(|name| compiling.contains(name)) && !loading.iter().any(|name| name == "target"));
        let line = super::super::CommandLine::command();
        let shown = line.get_arguments().filter(|argument| !argument.is_hide_set());
        let own = shown.filter_map(|argument| argument.get_long()).filter(|name| !LEFT_OUT.contains(name));
        assert_eq!(own.collect::<Vec<_>>(), compiling);
    }

    #[test]
    fn mistakes_are_errors_with_codes() {
        let arguments = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        let code = |list: &[&str]| compile(&arguments(list)).err().map(|error| error.code());
        assert_eq!(code(&["m.tflite", "--optimise=size"]).as_deref(), Some("MC0800"));
        assert_eq!(code(&["missing.tflite"]).as_deref(), Some("MC0102"));
        let model = Model::from_bytes(*b"no model");
        assert_eq!(settings(&model, &arguments(&["--shape=in0=1x"])).err().map(|error| error.code()).as_deref(), Some("MC0801"));
        assert_eq!(settings(&model, &arguments(&["--shape=image=1x2"])).err().map(|error| error.code()).as_deref(), Some("MC0101"));
    }
}
