//! `modelc completions SHELL`

use super::console::print;
use super::outcome::Outcome;
use crate::diagnostic::Diagnostics;
use crate::emit::{Framework, OutputKind};
use crate::frontend;
use crate::machine::GPUS;
use crate::target::{CHIPS, CORES, TARGETS};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};
use clap_complete::Shell;

#[derive(Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script that completes the options of `line`, modelc's command line, in a shell.
///
/// # Errors
/// A diagnostic if standard output cannot be written.
pub fn execute(arguments: &Arguments, line: Command) -> Result<Outcome, Diagnostics> {
    print(&script(arguments.shell, line))?;
    Ok(Outcome::Done)
}

fn script(shell: Shell, line: Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_values(line), "modelc", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Adds the values of options that take any text, for their own errors say more than clap's.
fn with_values(command: Command) -> Command {
    let with_values = |argument: Arg| match values(argument.get_id().as_str()) {
        Some(values) => argument.value_parser(PossibleValuesParser::new(values)),
        None => argument,
    };
    command.mut_args(with_values).mut_subcommands(self::with_values)
}

/// Returns the values of an argument; `None` if it has none, or clap knows them.
fn values(argument: &str) -> Option<Vec<&'static str>> {
    let all_targets = || CHIPS.iter().map(|chip| &chip.target).chain(TARGETS);
    let mut values: Vec<&str> = match argument {
        "emit" => return Some(OutputKind::emitted().map(OutputKind::name).collect()),
        "target" | "targets" => {
            let names = TARGETS.iter().map(|target| target.name).chain(CHIPS.iter().flat_map(|chip| chip.names.iter().copied()));
            names.chain(CORES.iter().flat_map(|(cores, _)| cores.iter().copied())).collect()
        }
        "cpu" => all_targets().flat_map(|target| target.levels.iter().copied()).chain(["native"]).collect(),
        "abi" => vec!["lp64", "lp64f", "lp64d", "ilp32", "ilp32f"],
        "weights" => vec!["embed", "external"],
        "vk_profile" => GPUS.iter().map(|gpu| gpu.level).collect(),
        "framework" => Framework::ALL.map(Framework::name).to_vec(),
        "vocabulary" => frontend::operators().iter().map(|(format, _)| *format).collect(),
        _ => return None,
    };
    values.sort_unstable();
    values.dedup();
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CommandLine;
    use crate::emit::{RiscvAbi, WeightsPlace};
    use crate::target;
    use clap::{CommandFactory, ValueEnum};

    #[test]
    fn every_shell_completes_commands_and_options() {
        for &shell in Shell::value_variants() {
            let script = script(shell, CommandLine::command());
            for word in ["inspect", "plan-effort", "completions"] {
                assert!(script.contains(word), "{word} for {shell}");
            }
        }
    }

    /// Values of options. Elvish and PowerShell complete none.
    #[test]
    fn shells_complete_values() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, CommandLine::command());
            let values = ["shared", "thumbv7em-none-eabihf", "stm32f407", "aarch64+dotprod", "lp64d", "external", "zephyr"];
            for value in values {
                assert!(script.contains(value), "{value} for {shell}");
            }
        }
    }

    /// Values are read as they are completed.
    #[test]
    fn completed_values_are_valid() {
        let of = |argument| values(argument).unwrap_or_default();
        assert!(of("emit").iter().all(|kind| OutputKind::from_name(kind).is_some()));
        assert!(of("target").iter().all(|name| target::target(name).is_ok()), "{:?}", of("target"));
        assert!(of("abi").iter().all(|abi| RiscvAbi::from_name(abi).is_ok()));
        assert!(of("weights").iter().all(|place| WeightsPlace::from_name(place).is_ok()));
        assert!(of("framework").iter().all(|name| Framework::from_name(name).is_ok()));
    }
}
