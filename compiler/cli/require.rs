//! `--require arena<=64K,stack<=2K,flash<=300K`, limits of the areas of `--memory`, and memory of the board

use super::console::note;
use super::output::{grouped, table, usage};
use crate::compile::{self, Excess};
use crate::diagnostic::{Diagnostic, Diagnostics, codes, did_you_mean};
use crate::interface::Footprint;
use crate::lower::{Lowered, Peak};

/// The limits of a command.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// The limits, as `--require` takes them.
    pub text: &'a str,
    /// The command's option that writes a page.
    pub page: &'a str,
}

/// A compiled model.
pub struct Subject<'a> {
    /// The model's file.
    pub file: &'a str,
    /// Memory that it needs.
    pub footprint: &'a Footprint,
    /// Its methods and their peaks in the arena, if they are known.
    pub lowered: Option<&'a Lowered>,
    /// Memories of the boards that are too small.
    pub excesses: &'a [Excess],
}

/// Checks a model against the limits of `--require` and the memory of boards. Without limits, a board that is too small is a warning.
///
/// # Errors
/// A diagnostic if a limit is malformed. Otherwise one for each exceeded limit, and for each memory that is too small. For the arena it lists the
/// live tensors at the peak.
pub fn check(limits: Option<Limits<'_>>, subject: &Subject<'_>) -> Result<(), Diagnostics> {
    let Some(limits) = limits else {
        subject.excesses.iter().for_each(|excess| note(&format!("warning: {excess}")));
        return Ok(());
    };
    let parsed = |limit| parse(limit, subject.footprint).ok_or_else(|| malformed(limit, subject.footprint));
    let parsed = limits.text.split(',').map(parsed).collect::<Result<Vec<_>, _>>()?;
    let of_limits = parsed.into_iter().filter_map(|limit| over(limit, limits.page, subject));
    let errors: Vec<Diagnostic> =
        of_limits.chain(subject.excesses.iter().map(too_small)).map(|error| error.in_file(subject.file)).collect();
    if errors.is_empty() { Ok(()) } else { Err(Diagnostics(errors)) }
}

/// Makes the diagnostic about a limit that is not understood.
fn malformed(limit: &str, footprint: &Footprint) -> Diagnostic {
    did_you_mean(
        usage(format!("--require {limit} is not understood")).expected("arena<=64K, stack<=2K or flash<=1M, or an area of --memory", limit),
        limit.split("<=").next().unwrap_or(limit).trim(),
        words(footprint),
    )
}

/// Makes the diagnostic about a memory of a board that is too small.
fn too_small(excess: &Excess) -> Diagnostic {
    let [most, needed, missing] = [excess.most, excess.needed, excess.missing()].map(grouped);
    Diagnostic::new(codes::REQUIREMENT, format!("the model needs more {} than {} has", excess.memory, excess.board))
        .expected(format!("at most {most} B"), format!("{needed} B, {missing} B too much\n{}", excess.parts))
        .help(excess.advice())
}

/// Returns a diagnostic if the model exceeds a limit.
fn over((what, most): (&str, u64), page: &str, subject: &Subject<'_>) -> Option<Diagnostic> {
    let (footprint, peaks) = (subject.footprint, subject.lowered.map_or(&[][..], |lowered| &lowered.peaks));
    let needed = match what {
        "arena" => footprint.arena_bytes(),
        "stack" => footprint.stack_bytes,
        "flash" => footprint.flash_bytes(),
        area => footprint.bytes_of_area(area).unwrap_or(0),
    };
    if needed <= most {
        return None;
    }
    let bytes = |number| format!("{} B", grouped(number));
    let mut found = format!("{}, {} too much", bytes(needed), bytes(needed - most));
    let mut error = Diagnostic::new(codes::REQUIREMENT, format!("the model needs more {what} than it may"));
    // The arena is the first area.
    let is_arena = footprint.area_names.first().is_some_and(|name| name == what);
    match if is_arena { "arena" } else { what } {
        "arena" => {
            found.push_str(&format!("\n{} of state", bytes(footprint.state_bytes)));
            if !peaks.is_empty() {
                found.push_str(&format!("; live at the peak:\n{}", live(peaks)));
            }
            error = error.help(format!("`{page} page.html` shows memory over time"));
        }
        "flash" => {
            found.push_str(&format!("\n{} of code, {} of weights", bytes(footprint.code_bytes), bytes(footprint.weights_bytes)));
            error = error.help(format!("`{page} page.html` shows the bytes of each kernel and its weights"));
        }
        "stack" => {}
        area => found.push_str(&subject.lowered.map_or(String::new(), |lowered| in_area(lowered, area))),
    }
    Some(error.expected(format!("at most {}", bytes(most)), found))
}

/// Lists the tensors that are live at the largest peak, one a line, largest first.
fn live(peaks: &[Peak]) -> String {
    largest_first(peaks.iter().max_by_key(|peak| peak.bytes).map_or(&[][..], |peak| &peak.tensors))
}

/// Lists the contents of an area beside the arena: copies of weights, and the tensors of the method that needs most there.
fn in_area(lowered: &Lowered, name: &str) -> String {
    let areas = lowered.program.methods.iter().filter_map(|method| method.in_areas.as_ref()).flat_map(|known| &known.areas);
    let Some(area) = areas.filter(|area| area.name == name).max_by_key(|area| area.bytes) else { return String::new() };
    let weights = if area.weights > 0 { format!("\n{} B of copies of weights", grouped(area.weights)) } else { String::new() };
    let tensors = if area.peak.is_empty() { String::new() } else { format!("\nlive at the peak:\n{}", largest_first(&area.peak)) };
    weights + &tensors
}

/// Lists tensors, one a line, largest first.
fn largest_first(tensors: &[(String, u64)]) -> String {
    let mut tensors: Vec<_> = tensors.iter().collect();
    tensors.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let rows: Vec<Vec<String>> = tensors.into_iter().map(|(name, bytes)| vec![format!("{} B", grouped(*bytes)), name.clone()]).collect();
    table(&rows, &[0]).trim_end().to_owned()
}

/// Returns the words that may stand before a limit.
fn words(footprint: &Footprint) -> impl Iterator<Item = &str> {
    ["arena", "stack", "flash"].into_iter().chain(footprint.area_names.iter().map(String::as_str))
}

fn parse<'l>(limit: &'l str, footprint: &Footprint) -> Option<(&'l str, u64)> {
    let (what, size) = limit.trim().split_once("<=")?;
    words(footprint).any(|word| word == what).then_some((what, compile::bytes(size)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_units_of_1024() {
        let area_names = ["dtcm", "sram"].map(String::from).into();
        let footprint = Footprint { area_names, ..Footprint::default() };
        let parse = |limit| parse(limit, &footprint);
        assert_eq!(parse("sram<=256K"), Some(("sram", 256 << 10)));
        assert_eq!(parse("arena<=64K"), Some(("arena", 65536)));
        assert_eq!(parse("flash<=1M"), Some(("flash", 1 << 20)));
        assert_eq!(parse("stack<=2000"), Some(("stack", 2000)));
        assert_eq!(["arena=64K", "heap<=1", "arena<=x"].map(parse), [None; 3]);
    }
}
