//! `modelc ops` and `modelc targets`.

use super::Outcome;
use super::console::print;
use super::output::{table, usage};
use crate::diagnostic::Diagnostics;
use crate::frontend;
use crate::machine::MACHINES;
use crate::target::TARGETS;
use clap::Args;

#[derive(Args)]
pub struct OpsArguments {
    /// tflite, executorch or vulkan [default: all]
    format: Option<String>,
}

/// Lists the operators that front ends know.
///
/// # Errors
/// When there is no such format.
pub fn ops(arguments: &OpsArguments) -> Result<Outcome, Diagnostics> {
    let formats = frontend::operators();
    let wanted = arguments.format.as_deref();
    if let Some(name) = wanted
        && formats.iter().all(|(format, _)| *format != name)
    {
        let known: Vec<&str> = formats.iter().map(|(format, _)| *format).collect();
        return Err(usage(format!("there is no format {name}")).expected(known.join(", "), name).into());
    }
    let mut text = String::new();
    for (format, operators) in formats.iter().filter(|(format, _)| wanted.is_none_or(|w| w == *format)) {
        text.push_str(&format!("{format}: {} operators\n", operators.len()));
        text.extend(operators.iter().map(|operator| format!("  {operator}\n")));
    }
    print(&text)?;
    Ok(Outcome::Done)
}

/// Lists targets, their spellings and CPU levels.
///
/// # Errors
/// When standard output cannot be written to.
pub fn targets() -> Result<Outcome, Diagnostics> {
    let mut rows =
        vec![["target", "objects", "CPU levels (by default all on x86-64, else the first)", "other spellings"].map(String::from).to_vec()];
    for target in TARGETS {
        let levels: Vec<&str> = MACHINES.iter().filter(|m| m.isa() == Some(target.isa)).map(|m| m.level).collect();
        rows.push(vec![target.name.to_owned(), target.format.name().to_owned(), levels.join(" "), target.aliases.join(" ")]);
    }
    print(&table(&rows, &[]))?;
    Ok(Outcome::Done)
}
