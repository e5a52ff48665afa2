//! Kernels and weights in the memories that the rules of `docs/firmware.md` name.

use super::boards::{Board, C, M0, M3, RV32IMC, compile, done, folder};
use super::page::rule;
use super::support;
use std::fs;
use std::path::Path;

/// A section of the page's rules, on a board.
struct Case<'a> {
    board: Board<'a>,
    /// Options of modelc.
    options: &'a str,
    section: &'a str,
    /// Content of the section.
    content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Kernels, which start-up code copies.
    Kernels,
    /// Weights, which start-up code copies.
    CopiedWeights,
    /// Weights that stay where they are.
    Weights,
}

/// Splits the RAM of a memory's map into halves, the second one for code, and gives the memories the page's names. Returns the map, and the address
/// of that half.
fn with_ram_for_code(map: &str) -> (String, u64) {
    let line = map.lines().find(|line| line.trim_start().starts_with("ram ")).expect("a region of RAM");
    let word = |name: &str| line.split_once(name).and_then(|(_, rest)| rest.split([',', ' ']).next()).expect("a number");
    let origin = u64::from_str_radix(word("ORIGIN = 0x"), 16).expect("an address");
    let kilobytes = match word("LENGTH = ").split_at(word("LENGTH = ").len() - 1) {
        (count, "K") => count.parse::<u64>().expect("a length"),
        (count, _) => 1024 * count.parse::<u64>().expect("a length"),
    };
    let code = origin + 512 * kilobytes;
    let halves =
        format!("    ram (rw) : ORIGIN = {origin:#x}, LENGTH = {0}\n    kernels (rx) : ORIGIN = {code:#x}, LENGTH = {0}", 512 * kilobytes);
    let names = [("ITCM", "kernels"), ("IRAM", "kernels"), ("RAM", "ram"), ("FLASH", "code"), ("QSPI", "constants")];
    let names: String = names.iter().map(|(name, region)| format!("REGION_ALIAS(\"{name}\", {region})\n")).collect();
    (format!("{}{names}", map.replace(line, &halves)), code)
}

/// Writes the linker script with the section, and the map of the board's memory. Returns the first address of the RAM for code.
fn write_scripts(case: &Case<'_>, folder: &Path) -> u64 {
    let script = fs::read_to_string(folder.join("link.ld")).expect("a script");
    let moved = script.replace("    .digits_text ", &format!("{}    .digits_text ", rule(case.section)));
    assert_ne!(moved, script, "the page has a rule for .{}", case.section);
    let kept = moved.lines().filter(|line| case.content == Content::Kernels || !line.contains("weights were not found"));
    fs::write(folder.join("moved.ld"), kept.collect::<Vec<_>>().join("\n")).expect("it is written");
    let (map, ram) = with_ram_for_code(&fs::read_to_string(folder.join(case.board.memory)).expect("a map"));
    fs::write(folder.join("halves.ld"), map).expect("it is written");
    ram
}

/// Checks that all kernels lie in RAM, and that the function which calls them does not.
fn kernels_are_in(ram: u64, case: &Case<'_>, folder: &Path) {
    let symbols = done("arm-none-eabi-nm", "program.elf", folder);
    let is_in_ram = |line: &str| u64::from_str_radix(&line[..8], 16).is_ok_and(|address| address >= ram);
    let is_kernel = |line: &&str| line.contains(" digits_op") && !line.contains("veneer");
    let kernels: Vec<&str> = symbols.lines().filter(is_kernel).collect();
    assert!(!kernels.is_empty() && kernels.iter().all(|line| is_in_ram(line)), "{}: {symbols}", case.board.core);
    assert!(symbols.lines().any(|line| line.ends_with(" digits_forward") && !is_in_ram(line)), "{}: {symbols}", case.board.core);
}

/// Checks that a section has bytes, and that they lie at another address in flash if they are copied.
fn section_is_placed(case: &Case<'_>, folder: &Path) {
    let sections = done("arm-none-eabi-objdump", "-h program.elf", folder);
    let words = sections.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let named = words.into_iter().find(|words| words.get(1) == Some(&format!(".{}", case.section).as_str()));
    let [_, _, size, address, loaded, ..] = named.as_deref().unwrap_or_default() else { panic!(".{}: {sections}", case.section) };
    assert_ne!(*size, "00000000", ".{}: {sections}", case.section);
    assert_eq!(address == loaded, case.content == Content::Weights, ".{}: {sections}", case.section);
}

/// Links and runs the test of a case.
fn check(case: &Case<'_>) {
    let folder = folder();
    let ram = write_scripts(case, folder.path());
    fs::copy(support::own("tests/firmware/copied.c"), folder.path().join("copied.c")).expect("it is copied");
    compile(case.board.core, case.options, folder.path());
    let Case { board, section, content, .. } = case;
    let board = Board { memory: "halves.ld", ..*board };
    if *content == Content::Weights {
        board.link("t.c", "moved.ld", folder.path());
    } else {
        done(board.kit.compiler, &format!("{} {C} -Dmain=test_main -c t.c", board.options), folder.path());
        let copying = Board { options: &format!("{} -DSECTION={section}", board.options), ..board };
        let objects = copying.objects("copied.c", folder.path());
        board.link_objects(&format!("{objects} t.o"), "moved.ld", folder.path());
    }
    section_is_placed(case, folder.path());
    if *content == Content::Kernels {
        kernels_are_in(ram, case, folder.path());
    }
    board.agrees(&format!("digits in .{section}"), folder.path());
}

/// Runs kernels in RAM, further from what calls them than a branch reaches: the linker reaches them because calls name functions. A branch reaches
/// 16 MB on Cortex-M, and 1 MB on RISC-V.
pub fn kernels_run_from_ram() {
    let m0_plus = Board { core: "cortex-m0plus", options: "-mcpu=cortex-m0plus", ..M0 };
    // Half of 16 KB holds small code.
    for (board, options, section) in [(m0_plus, "--optimize size", "itcm"), (M3, "", "itcm"), (RV32IMC, "", "iram")] {
        check(&Case { board, options, section, content: Content::Kernels });
    }
}

/// Weights lie in another flash, or in RAM.
pub fn weights_lie_where_rules_say() {
    for (board, section, content) in [
        (M3, "qspi", Content::Weights),
        (M3, "fast", Content::CopiedWeights),
        (RV32IMC, "qspi", Content::Weights),
        (RV32IMC, "fast", Content::CopiedWeights),
    ] {
        check(&Case { board, options: "", section, content });
    }
}
