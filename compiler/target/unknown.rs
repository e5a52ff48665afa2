//! Diagnostics about spellings that name no target, with the target that they may mean.

use super::chips::{self, CHIPS};
use super::names;
use super::row::Target;
use super::triples::{TARGETS, without_vendor};
use modelc_diagnostic::{Diagnostic, codes, nearest};

/// Known but unsupported targets, with the reason.
const MISSING: &[(&str, &str)] = &[
    ("aarch64-pc-windows", "COFF objects are written for x86-64 only"),
    ("aarch64-windows", "COFF objects are written for x86-64 only"),
    ("arm64-pc-windows", "COFF objects are written for x86-64 only"),
    ("arm64-windows", "COFF objects are written for x86-64 only"),
    ("aarch64-uefi", "COFF objects are written for x86-64 only"),
    ("arm64e-apple", "pointers are not signed"),
    ("x86_64-apple-ios", "Mach-O objects for iOS are written for aarch64 only"),
];

/// Architectures of related families that are known but not supported.
const NARROW: &[&str] =
    &["arm", "thumb", "riscv32", "i386", "i486", "i586", "i686", "x86-", "mips", "powerpc-", "wasm", "xtensa", "avr", "msp430"];

/// Spellings that several cores share, with what tells them apart and the spellings of each.
const AMBIGUOUS: &[(&[&str], &str, &str)] = &[
    (
        &["riscv", "riscv32", "riscv32-esp", "riscv32-esp-elf", "riscv-none-elf", "riscv-none-embed", "riscv-elf", "rv32"],
        "the extensions of the core",
        "rv32imc, rv32imac or rv32imafc, or the chip, as in --target esp32c3; riscv64-none-elf is for 64 bits",
    ),
    (&["thumbv7em", "armv7em", "armv7e-m"], "if the core has an FPU", "thumbv7em-none-eabihf with an FPU, thumbv7em-none-eabi without"),
    (
        &["thumbv8m.main", "armv8m.main", "armv8-m.main", "armv8-m", "thumbv8m"],
        "if the core has an FPU",
        "thumbv8m.main-none-eabihf with an FPU, thumbv8m.main-none-eabi without, or thumbv8m.base for Cortex-M23",
    ),
];

/// Advice for chips and boards that are not in the table.
const NAME_A_CORE: &str = "a core can be named instead of a chip, as in --target cortex-m4f; `modelc targets` lists them";

/// Makes the diagnostic about a spelling that names no target.
pub(super) fn unknown(spelling: &str) -> Diagnostic {
    let lower = spelling.to_ascii_lowercase();
    let not_yet = |why: &str| Diagnostic::new(codes::TARGET_NOT_YET, format!("target {spelling} is not supported: {why}"));
    let plain = without_vendor(&lower);
    if let Some((_, why)) = MISSING.iter().find(|(start, _)| lower.starts_with(start) || plain.starts_with(start)) {
        let here: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        return not_yet(why).help(format!("supported targets: {}", here.join(", ")));
    }
    if let Some((_, lacking, choices)) =
        AMBIGUOUS.iter().find(|(names, ..)| names.contains(&lower.as_str()) || names.contains(&plain.as_str()))
    {
        return Diagnostic::new(codes::UNKNOWN_TARGET, format!("target {spelling} does not tell {lacking}"))
            .help(format!("write {choices}"));
    }
    if let Some(why) = chips::missing(&lower) {
        return not_yet(why).help(of_boards(&lower));
    }
    if let Some(members) = chips_with(&lower) {
        return Diagnostic::new(codes::UNKNOWN_TARGET, format!("target {spelling} is the start of several names"))
            .help(format!("write one of {members}; {NAME_A_CORE}"));
    }
    // `arm64…` and `x86-64…` are misspelled 64-bit targets, not 32-bit targets.
    let narrow = NARROW.iter().any(|prefix| lower.starts_with(prefix)) && !lower.starts_with("arm64") && !lower.starts_with("x86-64");
    if narrow || names::is_narrow(&lower) || means_chip(&lower) {
        return not_yet("of 32-bit processors, only Cortex-M0, M0+, M3, M4, M7, M23, M33, M55, M85 and RV32IMC, IMAC, IMAFC are supported")
            .help(of_boards(&lower));
    }
    let error = Diagnostic::new(codes::UNKNOWN_TARGET, format!("unknown target {spelling}"));
    let partial = spellings_with(&lower);
    if !partial.is_empty() {
        return error.help(format!("did you mean {}? `modelc targets` lists targets and their spellings", partial.join(" or ")));
    }
    match nearest(&lower, spellings().chain(of_cores())) {
        Some(name) => error.help(format!("did you mean {name}? `modelc targets` lists targets and their spellings")),
        None => error.help("`modelc targets` lists targets and their spellings"),
    }
}

/// Returns advice for the name of a chip or a board: the nearest known one, and how a core is named.
fn of_boards(name: &str) -> String {
    let nearest = chips::nearest_to(name).map_or(String::new(), |name| format!("did you mean {name}? "));
    format!("{nearest}{NAME_A_CORE}")
}

/// Tests whether a name is more like that of a chip than like a triple.
fn means_chip(name: &str) -> bool {
    let is_chip = |found: &str| CHIPS.iter().any(|chip| chip.names.contains(&found));
    let whole = spellings_with(name).is_empty();
    whole && (chips::core_like(name).is_some() || nearest(name, chips::names().chain(spellings()).chain(of_cores())).is_some_and(is_chip))
}

/// Maximum number of names in a message.
const MOST_NAMED: usize = 8;
/// Least number of letters of a word that may begin several names.
const LEAST_LETTERS: usize = 3;

/// Lists the cores, chips and boards whose names begin with a word, one name for each. Modifiers are left out. `None` if there are not several.
fn chips_with(word: &str) -> Option<String> {
    let first = CHIPS.iter().filter_map(|chip| chip.names.iter().find(|name| name.starts_with(word) && !name.contains('+')));
    let members: Vec<&str> = first.copied().filter(|_| word.len() >= LEAST_LETTERS).collect();
    if members.len() < 2 {
        return None;
    }
    let more = members.len().saturating_sub(MOST_NAMED);
    let listed = members[..members.len() - more].join(", ");
    Some(if more > 0 { format!("{listed} and {more} more") } else { listed })
}

/// Returns the names of targets, and their other spellings.
fn spellings() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().flat_map(of_target)
}

/// Returns names of 64-bit cores and boards.
fn of_cores() -> impl Iterator<Item = &'static str> {
    names::CORES.iter().flat_map(|(cores, _)| cores.iter().copied())
}

/// Returns the spellings of a target, its name first.
fn of_target(target: &'static Target) -> impl Iterator<Item = &'static str> {
    std::iter::once(target.name).chain(target.aliases.iter().copied())
}

/// Returns a spelling of each target that has a word, or one that begins with it: an operating system or an architecture alone.
fn spellings_with(word: &str) -> Vec<&'static str> {
    if word.len() < LEAST_LETTERS {
        return vec![];
    }
    let has = |spelling: &&str| spelling.split('-').any(|part| part.starts_with(word));
    TARGETS.iter().filter_map(|target| of_target(target).find(has)).collect()
}

#[cfg(test)]
mod tests {
    use crate::target;

    #[test]
    fn unknown_boards_name_the_nearest_one_and_a_core() {
        for (name, meant) in [
            ("ra6m9", "ra6m"),
            ("apollo9", "apollo"),
            ("feather-m9", "feather-m"),
            ("nucleo-q446re", "stm32"),
            ("nucleo-x999", "stm32"),
            ("psoc4", "psoc6"),
            ("max7800", "max7800"),
            ("xmc9500", "xmc4"),
            ("atsamd99", "samd"),
            ("m4f", "cortex-m4f"),
            ("m33", "cortex-m33"),
            ("cortex-m4g", "cortex-m4"),
            ("mps2-an524", "mps2-an521"),
            ("esp32c9", "esp32c"),
            ("esp32s3", "esp32c3"),
            ("cortex-m52", "cortex-m"),
            ("stm32q4", "stm32"),
            ("lpc9999", "lpc"),
            ("gd32f450", "gd32"),
            ("efm32mg24", "efr32mg24"),
        ] {
            let error = target(name).unwrap_err();
            let help = error.help.clone().unwrap_or_default();
            assert!(help.contains(meant) && help.contains("--target cortex-m4f"), "{name}: {error}");
            assert!(!help.contains("x86_64") && !error.message.contains("x86_64"), "{name}: {error}");
        }
    }

    #[test]
    fn starts_of_names_list_them() {
        let error = target("imxrt").unwrap_err();
        let help = error.help.unwrap_or_default();
        assert!(error.message.contains("several names") && help.contains("imxrt1062") && help.contains("imxrt5"), "{help}");
        let help = target("cortex-m").unwrap_err().help.unwrap_or_default();
        assert!(help.contains("cortex-m0, cortex-m0plus, cortex-m3") && !help.contains("+dp"), "{help}");
        let help = target("stm32").unwrap_err().help.unwrap_or_default();
        assert!(help.contains(" more; a core"), "{help}");
    }

    #[test]
    fn spellings_of_several_cores_say_what_to_write() {
        for (spelling, lacking, choice) in [
            ("riscv32-esp-elf", "extensions", "rv32imc"),
            ("riscv-none-elf", "extensions", "rv32imac"),
            ("riscv32", "extensions", "rv32imafc"),
            ("thumbv7em", "FPU", "thumbv7em-none-eabihf"),
            ("thumbv8m.main", "FPU", "thumbv8m.main-none-eabi"),
        ] {
            let error = target(spelling).unwrap_err();
            assert!(error.message.contains(lacking) && error.help.as_ref().is_some_and(|help| help.contains(choice)), "{error}");
            let help = error.help.unwrap_or_default();
            for word in
                help.split([' ', ',', ';']).filter(|word| word.starts_with("rv32") || word.contains("-none-") || word.ends_with(".base"))
            {
                assert!(target(word).is_ok(), "{word}");
            }
        }
    }
}
