//! `modelc man [COMMAND]`

use super::console::print;
use super::outcome::Outcome;
use super::output::usage;
use crate::diagnostic::{Diagnostic, Diagnostics, did_you_mean};
use clap::{Args, Command};
use clap_mangen::Man;

#[derive(Args)]
pub struct Arguments {
    /// Command to describe [default: modelc itself]
    command: Option<String>,
}

/// Prints a page for `man` about `line`, modelc's command line, or one of its commands.
///
/// # Errors
/// A diagnostic if there is no such command, or if standard output cannot be written.
pub fn execute(arguments: &Arguments, line: Command) -> Result<Outcome, Diagnostics> {
    print(&page(arguments.command.as_deref(), line)?)?;
    Ok(Outcome::Done)
}

/// The section on exit statuses at the end of every page.
const STATUSES: &str = "\
.SH \"EXIT STATUS\"
.TP
.B 0
success
.TP
.B 1
the model or the computer does not allow it
.TP
.B 2
the arguments are wrong
.TP
.B 3
outputs differ from the expected ones
.TP
.B 101
a bug in modelc
";

fn page(name: Option<&str>, line: Command) -> Result<String, Diagnostic> {
    let examples = examples(&line);
    let mut line = line.disable_help_subcommand(true).after_help(None::<&str>);
    line.build();
    let (command, examples) = match name {
        Some(name) => (named(&line, name)?, String::new()),
        None => (&line, examples),
    };
    let mut page = Vec::new();
    let source = concat!("modelc ", env!("CARGO_PKG_VERSION"));
    let rendered = Man::new(command.clone()).source(source).manual("modelc").render(&mut page);
    // Writing to memory does not fail.
    debug_assert!(rendered.is_ok());
    Ok(String::from_utf8_lossy(&page).into_owned() + &examples + STATUSES)
}

/// Formats the examples at the end of the help as a section.
fn examples(line: &Command) -> String {
    let help = line.get_after_help().map(ToString::to_string).unwrap_or_default();
    let lines: Vec<&str> = help.lines().skip(1).collect();
    format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", lines.join("\n").replace('-', "\\-"))
}

fn named<'a>(line: &'a Command, name: &str) -> Result<&'a Command, Diagnostic> {
    let known: Vec<&str> = line.get_subcommands().map(Command::get_name).collect();
    let unknown = || did_you_mean(usage(format!("there is no command {name}")).expected(known.join(", "), name), name, known.clone());
    line.find_subcommand(name).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::CommandLine;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let line = CommandLine::command();
        for command in line.get_subcommands() {
            let name = command.get_name();
            let page = page(Some(name), CommandLine::command()).expect(name);
            assert!(page.contains(&format!(".TH modelc-{name} 1")) && page.contains(STATUSES), "{page}");
        }
        let own = page(None, CommandLine::command()).expect("a page");
        assert!(own.contains(".TH modelc 1") && own.contains("plan\\-effort") && own.contains("modelc\\-inspect(1)"), "{own}");
        assert!(own.contains(".SH EXAMPLES\n.nf\n  modelc model.tflite \\-o model.o ") && !own.contains("EXTRA"), "{own}");
        assert!(page(Some("inspekt"), CommandLine::command()).is_err_and(|error| error.to_string().contains("inspect")));
    }
}
