//! `--memory dtcm=64K:fast,sram=256K,psram=8M:slow` and `--copy-weights AREA`

use super::gpu::GpuMode;
use super::settings::Settings;
use crate::diagnostic::{Diagnostic, codes, did_you_mean};
use crate::lower::{Area, Areas, Rank};
use crate::machine::CpuMachine;

/// The form of an area, in messages.
const FORM: &str = "NAME=SIZE, NAME=SIZE:fast or NAME=SIZE:slow";
/// Words that `--require` has for other limits.
const RESERVED: [&str; 3] = ["arena", "stack", "flash"];

impl Settings {
    /// Returns the memory areas for a machine.
    ///
    /// # Errors
    /// A usage diagnostic if the areas are malformed, or if another option excludes them.
    pub(super) fn areas(&self, machine: &CpuMachine) -> Result<Areas, Diagnostic> {
        let Some(text) = &self.memory else {
            return match &self.copy_weights {
                Some(area) => Err(usage(format!("--copy-weights {area} needs --memory")).help("`--memory` lists the areas")),
                None => Ok(Areas::default()),
            };
        };
        if self.keep_plan {
            return Err(usage("--memory and --plan program exclude each other: the file plans its own areas"));
        }
        if matches!(self.gpu.mode, Some(GpuMode::Auto | GpuMode::Require)) {
            return Err(usage("--memory and --gpu exclude each other: a GPU uses one arena"));
        }
        let areas = list(text, machine)?;
        let weights = self.copy_weights.as_deref().map(|name| number(&areas, name)).transpose()?;
        let areas =
            Areas::new(&areas).ok_or_else(|| usage("--memory has too many areas").expected("at most 8", areas.len().to_string()))?;
        Ok(areas.with_weights(weights))
    }
}

/// Parses a list of areas.
fn list(text: &str, machine: &CpuMachine) -> Result<Vec<Area>, Diagnostic> {
    let mut areas: Vec<Area> = vec![];
    let mut sum = 0u64;
    for one in text.split(',') {
        let area = area(one.trim())?;
        let name = area.name();
        if areas.iter().any(|known| known.name() == name) {
            return Err(usage(format!("--memory has two areas {name}")).help("give each area a name of its own"));
        }
        if area.bytes == 0 {
            return Err(usage(format!("the area {name} has no bytes")).expected("a size above 0, as 64K or 8M", one));
        }
        sum = sum.saturating_add(area.bytes);
        areas.push(area);
    }
    let most = if machine.index_bits == 32 { 1u64 << 32 } else { 1 << 47 };
    if sum > most {
        let name = areas.last().map_or("", |area| area.name());
        let message = format!("the areas up to {name} are larger than the memory that {} can address", machine.level);
        return Err(usage(message).expected(format!("at most {most} B together"), format!("{sum} B")));
    }
    Ok(areas)
}

/// Parses `dtcm=64K:fast`.
fn area(text: &str) -> Result<Area, Diagnostic> {
    let malformed = || usage(format!("--memory {text} is not understood")).expected(FORM, text);
    let (name, rest) = text.split_once('=').ok_or_else(malformed)?;
    let (size, rank) = rest.split_once(':').unwrap_or((rest, ""));
    let ranks = [Rank::Fast, Rank::Plain, Rank::Slow];
    let rank = match ranks.into_iter().find(|known| known.word() == rank) {
        Some(Rank::Plain) if rest.ends_with(':') => return Err(malformed()),
        Some(rank) => rank,
        None => return Err(did_you_mean(malformed(), rank, ["fast", "slow"])),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name || RESERVED.contains(&name) {
        let expected = "a letter, then letters, digits and _; not arena, stack or flash";
        return Err(usage(format!("{name:?} is no name of an area")).expected(expected, name));
    }
    let bytes = bytes(size).ok_or_else(malformed)?;
    Area::new(name, bytes, rank).ok_or_else(|| usage(format!("the area's name {name} is too long")).expected("at most 16 letters", name))
}

/// Returns the number of an area.
fn number(areas: &[Area], name: &str) -> Result<usize, Diagnostic> {
    let names = || areas.iter().map(Area::name);
    names().position(|known| known == name).ok_or_else(|| {
        let error = usage(format!("--copy-weights {name} is no area of --memory"));
        did_you_mean(error.expected(names().collect::<Vec<_>>().join(", "), name), name, names())
    })
}

/// Parses a size with its unit: `2000`, `64K`, `8M`, `1G`.
pub fn bytes(size: &str) -> Option<u64> {
    let units = [(['K', 'k'], 10), (['M', 'm'], 20), (['G', 'g'], 30)];
    let found = units.into_iter().find_map(|(letters, shift)| Some((size.strip_suffix(letters)?, shift)));
    let (digits, shift) = found.unwrap_or((size, 0));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(1 << shift)
}

fn usage(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::OPTION, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{MACHINES, machine};

    fn parsed(text: &str) -> Result<Vec<(String, u64, &'static str)>, String> {
        let areas = list(text, &MACHINES[0]).map_err(|error| error.to_string())?;
        Ok(areas.iter().map(|area| (area.name().to_owned(), area.bytes, area.rank.word())).collect())
    }

    #[test]
    fn areas_have_names_sizes_and_ranks() {
        let expected = [("dtcm", 64 << 10, "fast"), ("sram", 256 << 10, ""), ("psram", 8 << 20, "slow")];
        let expected = expected.map(|(name, bytes, rank)| (name.to_owned(), bytes, rank));
        assert_eq!(parsed("dtcm=64K:fast, sram=256K,psram=8M:slow").unwrap(), expected);
        for (wrong, part) in [
            ("dtcm", "is not understood"),
            ("dtcm=64K:", "is not understood"),
            ("dtcm=64K:fsat", "did you mean fast?"),
            ("dtcm=-1", "is not understood"),
            ("dtcm=0", "has no bytes"),
            ("a=1K,a=2K", "two areas a"),
            ("1a=1K", "no name of an area"),
            ("stack=1K", "no name of an area"),
            ("a=99999999999G", "is not understood"),
            ("a_name_that_is_long=1K", "too long"),
            ("", "is not understood"),
        ] {
            let error = parsed(wrong).unwrap_err();
            assert!(error.contains(part), "{wrong}: {error}");
        }
        let narrow = list("a=3G,b=2G", machine("cortex-m4f").unwrap()).unwrap_err();
        assert!(narrow.message.contains("larger than the memory"), "{narrow}");
    }

    #[test]
    fn memories_of_chips_are_areas() {
        let mut count = 0;
        for chip in crate::target::CHIPS {
            let Some((memory, text)) = chip.memory.and_then(|memory| Some((memory, memory.areas()?))) else { continue };
            let areas = list(&text, chip.target.default_machine()).unwrap();
            let found: Vec<(&str, u64, &str)> = areas.iter().map(|area| (area.name(), area.bytes, area.rank.word())).collect();
            let banks: Vec<(&str, u64, &str)> = memory.banks.iter().map(|bank| (bank.name, bank.kib << 10, bank.rank)).collect();
            assert!(found == banks && Areas::new(&areas).is_some(), "{text}");
            count += 1;
        }
        assert!(count > 10);
    }

    #[test]
    fn other_options_exclude_areas() {
        let areas = |settings: Settings| settings.areas(&MACHINES[0]).map_err(|error| error.message);
        let memory = || Settings::new().memory("dtcm=1K:fast,sram=2K");
        let weights = |area| areas(memory().copy_weights(area)).unwrap();
        assert_eq!(weights("sram"), areas(memory()).unwrap().with_weights(Some(1)));
        assert!(areas(memory().copy_weights("ram")).unwrap_err().contains("no area of --memory"));
        assert!(areas(Settings::new().copy_weights("sram")).unwrap_err().contains("needs --memory"));
        assert!(areas(memory().plan_program()).unwrap_err().contains("exclude each other"));
        assert!(areas(memory().gpu(GpuMode::Require)).unwrap_err().contains("exclude each other"));
        assert_eq!(areas(memory().gpu(GpuMode::Off)).unwrap().list().len(), 2);
    }
}
