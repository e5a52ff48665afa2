//! Blocks of C and linker rules of `docs/firmware.md`, compiled for the digits.

use super::boards::{C, LINK, M33, compile, done, folder};
use super::support;
use std::fs;
use std::path::Path;

/// Returns the page, for the digits.
pub fn text() -> String {
    let page = fs::read_to_string(support::own("docs/firmware.md")).expect("the page");
    page.replace("net_", "digits_").replace("NET_", "DIGITS_").replace("net.h", "digits.h")
}

/// Returns the page's lines with a rule of the linker for a section.
pub fn rule(section: &str) -> String {
    let starts = [format!(".{section} "), format!("{section}_load = ")];
    let page = text();
    let lines = page.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Compiles the digits for memories of the page, and returns the page's blocks of C. Each follows the header and the program's own functions.
fn blocks(folder: &Path) -> Vec<String> {
    compile(M33.core, "--memory dtcm=512:fast,sram=2K,psram=8M:slow --profile-hooks", folder);
    let page = text();
    let blocks = page.split("```c\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(block, _)| format!("#include \"digits.h\"\nvoid watchdog_feed(void);\n{block}")).collect()
}

/// Options of GCC for a program of the secure world.
const SECURE: &str = "-mcpu=cortex-m33 -mfloat-abi=soft -mcmse -std=c11";

/// Compiles each block of C without a warning.
pub fn blocks_of_c_compile() {
    let folder = folder();
    let blocks = blocks(folder.path());
    assert!(blocks.len() >= 6, "the page has lost its programs");
    for block in blocks {
        fs::write(folder.path().join("block.c"), &block).expect("it is written");
        done(M33.kit.compiler, &format!("{} {SECURE} -c block.c", C.replace("-std=c99 ", "")), folder.path());
    }
}

/// The page's program with several memories is linked by its rules, and initializes the model on a board.
pub fn areas_lie_where_rules_say() {
    let folder = folder();
    let blocks = blocks(folder.path());
    let program = blocks.iter().find(|block| block.contains(".areas = areas")).expect("a program with areas");
    fs::write(folder.path().join("areas.c"), format!("{program}\nint main(void) {{ return start(); }}\n")).expect("it is written");
    let script = fs::read_to_string(folder.path().join("link.ld")).expect("a script");
    let rules: String = ["dtcm", "sram", "psram"].map(rule).concat();
    let placed = script.replace("    .bss (NOLOAD) ", &format!("{rules}    .bss (NOLOAD) "));
    assert_ne!(placed, script);
    // The program calls no method, so the linker drops the weights.
    let placed: String = placed.lines().filter(|line| !line.contains("weights were not found")).map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("areas.ld"), placed).expect("it is written");
    let names: String = ["DTCM", "SRAM", "PSRAM"].map(|name| format!("REGION_ALIAS(\"{name}\", ram)\n")).concat();
    let map = fs::read_to_string(folder.path().join(M33.memory)).expect("a map");
    fs::write(folder.path().join("areas-memory.ld"), map + &names).expect("it is written");
    let words = format!("{SECURE} {LINK},--defsym=STACK_BYTES=8192 -I. -T areas-memory.ld -T areas.ld areas.c startup.S digits.o -lc");
    done(M33.kit.compiler, &format!("{words} -lgcc -o program.elf"), folder.path());
    let sections = done("arm-none-eabi-objdump", "-h program.elf", folder.path());
    for section in [".dtcm", ".sram", ".psram"] {
        assert!(sections.lines().any(|line| line.split_whitespace().nth(1) == Some(section)), "{section}: {sections}");
    }
    M33.run(folder.path());
}
