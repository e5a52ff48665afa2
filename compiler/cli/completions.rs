//! `modelc completions SHELL`

use super::console::print;
use super::{CommandLine, Outcome};
use crate::diagnostic::Diagnostics;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

#[derive(Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script that completes modelc's options in a shell.
///
/// # Errors
/// A diagnostic if standard output cannot be written.
pub fn execute(arguments: &Arguments) -> Result<Outcome, Diagnostics> {
    print(&script(arguments.shell))?;
    Ok(Outcome::Done)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "modelc", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_completes_commands_and_options() {
        for &shell in Shell::value_variants() {
            let script = script(shell);
            for word in ["inspect", "plan-effort", "completions"] {
                assert!(script.contains(word), "{word} for {shell}");
            }
        }
    }
}
