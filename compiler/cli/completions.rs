//! `modelc completions SHELL`

use super::console::print;
use super::outcome::Outcome;
use crate::diagnostic::Diagnostics;
use clap::{Args, Command};
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

fn script(shell: Shell, mut line: Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut line, "modelc", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CommandLine;
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
}
