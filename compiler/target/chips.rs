//! Microcontrollers: targets by architecture, and names of cores, chips and boards.
//!
//! Sizes are of the largest common chip with a name, from the makers' data sheets. A chip without built-in flash has none here.

use super::memory::{self, Bank, Memory};
use super::row::{Platform, Target, row};
use modelc_machine::Isa;

/// Armv6-M.
pub(super) const V6M: Target = Target {
    levels: &["cortex-m0plus", "cortex-m0"],
    ..row("thumbv6m-none-eabi", Isa::Thumb, Platform::None, &["armv6m-none-eabi", "armv6-m-none-eabi", "thumbv6m", "armv6-m"])
};
/// Armv7-M without instructions for pairs of 16-bit integers.
pub(super) const V7M: Target =
    Target { levels: ON_M3, ..row("thumbv7m-none-eabi", Isa::Thumb, Platform::None, &["armv7m-none-eabi", "thumbv7m", "armv7-m"]) };
/// Armv7E-M without an FPU.
pub(super) const V7EM: Target =
    Target { levels: ON_V7EM, ..row("thumbv7em-none-eabi", Isa::Thumb, Platform::None, &["armv7em-none-eabi", "arm-none-eabi"]) };
/// Armv7E-M with an FPU.
pub(super) const V7EM_FLOAT: Target = Target {
    levels: &["cortex-m4f", "cortex-m7", "cortex-m7+dp", "cortex-m4f+strict-align", "cortex-m7+strict-align", "cortex-m7+dp+strict-align"],
    ..row("thumbv7em-none-eabihf", Isa::Thumb, Platform::None, &["armv7em-none-eabihf", "arm-none-eabihf"])
};
/// The baseline of Armv8-M.
pub(super) const V8M_BASE: Target = Target {
    levels: &["cortex-m23"],
    ..row("thumbv8m.base-none-eabi", Isa::Thumb, Platform::None, &["armv8m.base-none-eabi", "thumbv8m.base", "armv8-m.base"])
};
/// Armv8-M with the main extension, without an FPU.
pub(super) const V8M: Target = Target {
    levels: &["cortex-m33+nofp", "cortex-m33+nodsp+nofp", "cortex-m33+nofp+strict-align", "cortex-m33+nodsp+nofp+strict-align"],
    ..row("thumbv8m.main-none-eabi", Isa::Thumb, Platform::None, &["armv8m.main-none-eabi"])
};
/// Armv8-M with the main extension and an FPU.
pub(super) const V8M_FLOAT: Target =
    Target { levels: ON_M33, ..row("thumbv8m.main-none-eabihf", Isa::Thumb, Platform::None, &["armv8m.main-none-eabihf"]) };

/// Levels of Cortex-M3.
const ON_M3: &[&str] = &["cortex-m3", "cortex-m3+strict-align"];
/// Levels of Armv7E-M without an FPU.
const ON_V7EM: &[&str] = &["cortex-m4", "cortex-m7+nofp", "cortex-m4+strict-align", "cortex-m7+nofp+strict-align"];
/// Levels of Cortex-M7 whose FPU has binary64.
const ON_M7_DP: &[&str] = &["cortex-m7+dp", "cortex-m7", "cortex-m7+dp+strict-align", "cortex-m7+strict-align"];
/// Levels of Cortex-M33 with its FPU.
const ON_M33: &[&str] = &["cortex-m33", "cortex-m33+nodsp", "cortex-m33+strict-align", "cortex-m33+nodsp+strict-align"];

/// Armv8.1-M with the main extension. Float ABIs do not matter, so one target has both spellings, and cores without an FPU.
pub(super) const V81M: Target = Target {
    levels: &[
        "cortex-m55",
        "cortex-m85",
        "cortex-m55+nofp",
        "cortex-m85+nofp",
        "cortex-m55+strict-align",
        "cortex-m55+nofp+strict-align",
        "cortex-m85+strict-align",
        "cortex-m85+nofp+strict-align",
    ],
    ..row(
        "thumbv8.1m.main-none-eabihf",
        Isa::Thumb,
        Platform::None,
        &["thumbv8.1m.main-none-eabi", "armv8.1m.main-none-eabihf", "armv8.1m.main-none-eabi", "armv8.1-m.main", "thumbv8.1m.main"],
    )
};

/// 32-bit RISC-V with multiplication and short instructions.
pub(super) const RV32IMC: Target = Target {
    levels: &["rv32imc"],
    ..row(
        "riscv32imc-unknown-none-elf",
        Isa::Riscv32,
        Platform::None,
        &["riscv32imc", "riscv32imc-none", "riscv32imc-none-elf", "riscv32imc-elf", "riscv32imc-esp-espidf"],
    )
};
/// RV32IMC with atomic instructions, which no code here uses.
pub(super) const RV32IMAC: Target = Target {
    levels: &["rv32imac"],
    ..row(
        "riscv32imac-unknown-none-elf",
        Isa::Riscv32,
        Platform::None,
        &[
            "riscv32imac",
            "riscv32imac-none",
            "riscv32imac-none-elf",
            "riscv32imac-elf",
            "riscv32imac-esp-espidf",
            "riscv32-none-elf",
            "riscv32-elf",
            "riscv32-none",
        ],
    )
};
/// RV32IMAC with floats of binary32.
pub(super) const RV32IMAFC: Target = Target {
    levels: &["rv32imafc"],
    ..row(
        "riscv32imafc-unknown-none-elf",
        Isa::Riscv32,
        Platform::None,
        &["riscv32imafc", "riscv32imafc-none", "riscv32imafc-none-elf", "riscv32imafc-elf", "riscv32imafc-esp-espidf"],
    )
};

/// A core, a chip or a board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chip {
    /// Prefixes of its names, in lower case.
    pub names: &'static [&'static str],
    /// The target, with the core's level as its only one.
    pub target: Target,
    /// Memory, if it is known.
    pub memory: Option<Memory>,
}

/// Makes a core, which has no memory of its own.
const fn core(names: &'static [&'static str], levels: &'static [&'static str], on: Target) -> Chip {
    Chip { names, target: Target { levels, ..on }, memory: None }
}

/// Makes a chip with a core, and with KiB of flash and of RAM.
const fn chip(names: &'static [&'static str], of: Chip, flash: u64, ram: u64) -> Chip {
    Chip { names, target: of.target, memory: Some(Memory { flash: flash << 10, ram: ram << 10, banks: &[] }) }
}

/// Makes a chip with several banks of RAM.
const fn banked(banks: &'static [Bank], chip: Chip) -> Chip {
    match chip.memory {
        Some(memory) => Chip { memory: Some(Memory { banks, ..memory }), ..chip },
        None => chip,
    }
}

/// Makes a family of chips with one core and different memories.
const fn family(names: &'static [&'static str], of: Chip) -> Chip {
    Chip { names, target: of.target, memory: None }
}

const M0: Chip = core(&["cortex-m0", "cortex-m1"], &["cortex-m0"], V6M);
const M0PLUS: Chip = core(&["cortex-m0plus", "cortex-m0+"], &["cortex-m0plus"], V6M);
const M23: Chip = core(&["cortex-m23"], &["cortex-m23"], V8M_BASE);
const M3: Chip = core(&["cortex-m3"], ON_M3, V7M);
const M4: Chip = core(&["cortex-m4"], &["cortex-m4", "cortex-m4+strict-align"], V7EM);
const M4F: Chip = core(&["cortex-m4f"], &["cortex-m4f", "cortex-m4f+strict-align"], V7EM_FLOAT);
const M7: Chip = core(&["cortex-m7"], &["cortex-m7", "cortex-m7+strict-align"], V7EM_FLOAT);
/// Cortex-M7 whose FPU has binary64.
const M7_DP: Chip = core(&["cortex-m7+dp"], ON_M7_DP, V7EM_FLOAT);
const M33: Chip = core(&["cortex-m33"], ON_M33, V8M_FLOAT);
const M55: Chip = core(&["cortex-m55"], &["cortex-m55", "cortex-m55+strict-align"], V81M);
const M85: Chip = core(&["cortex-m85"], &["cortex-m85", "cortex-m85+strict-align"], V81M);
const IMC: Chip = core(&["rv32imc"], &["rv32imc"], RV32IMC);
const IMAC: Chip = core(&["rv32imac"], &["rv32imac"], RV32IMAC);
const IMAFC: Chip = core(&["rv32imafc"], &["rv32imafc"], RV32IMAFC);

/// Makes a core with modifiers. Its level has the same name.
const fn modified(level: &'static [&'static str], on: Target) -> Chip {
    core(level, level, on)
}

/// Cores, chips and boards. The longest matching prefix of a name wins.
pub const CHIPS: &[Chip] = &[
    M0,
    M0PLUS,
    M3,
    M4,
    M4F,
    M7,
    M7_DP,
    M23,
    M33,
    M55,
    M85,
    modified(&["cortex-m3+strict-align"], V7M),
    modified(&["cortex-m4+strict-align"], V7EM),
    modified(&["cortex-m4f+strict-align"], V7EM_FLOAT),
    modified(&["cortex-m7+dp+strict-align"], V7EM_FLOAT),
    modified(&["cortex-m7+nofp"], V7EM),
    modified(&["cortex-m7+nofp+strict-align"], V7EM),
    modified(&["cortex-m7+strict-align"], V7EM_FLOAT),
    modified(&["cortex-m33+nodsp"], V8M_FLOAT),
    modified(&["cortex-m33+nodsp+nofp"], V8M),
    modified(&["cortex-m33+nodsp+nofp+strict-align"], V8M),
    modified(&["cortex-m33+nodsp+strict-align"], V8M_FLOAT),
    modified(&["cortex-m33+nofp"], V8M),
    modified(&["cortex-m33+nofp+strict-align"], V8M),
    modified(&["cortex-m33+strict-align"], V8M_FLOAT),
    modified(&["cortex-m55+nofp"], V81M),
    modified(&["cortex-m55+nofp+strict-align"], V81M),
    modified(&["cortex-m55+strict-align"], V81M),
    modified(&["cortex-m85+nofp"], V81M),
    modified(&["cortex-m85+nofp+strict-align"], V81M),
    modified(&["cortex-m85+strict-align"], V81M),
    IMC,
    IMAC,
    IMAFC,
    // Nordic Semiconductor.
    chip(&["nrf51822", "microbit", "bbc-microbit"], M0, 256, 16),
    family(&["nrf51"], M0),
    // These have no FPU.
    chip(&["nrf52805", "nrf52810", "nrf52811"], M4, 192, 24),
    chip(&["nrf52820"], M4, 256, 32),
    chip(&["nrf52832"], M4F, 512, 64),
    chip(&["nrf52833", "microbit-v2", "bbc-microbit-v2"], M4F, 512, 128),
    chip(&["nrf52840", "arduino-nano-33-ble"], M4F, 1024, 256),
    family(&["nrf52"], M4F),
    chip(&["nrf5340"], M33, 1024, 512),
    chip(&["nrf54l15"], M33, 1524, 256),
    family(&["nrf53", "nrf54l"], M33),
    chip(&["nrf9160", "nrf9161"], M33, 1024, 256),
    family(&["nrf91"], M33),
    // Raspberry Pi. Flash is beside the chip.
    banked(memory::RP2040, chip(&["rp2040", "pico", "raspberrypi-pico", "rpi-pico", "arduino-nano-rp2040"], M0PLUS, 2048, 264)),
    banked(memory::RP2350, chip(&["rp2350", "pico2", "raspberrypi-pico2", "rpi-pico2"], M33, 4096, 520)),
    banked(memory::RP2350, chip(&["rp2350-riscv", "pico2-riscv", "hazard3"], IMAC, 4096, 520)),
    // Espressif. Flash is beside the chip, most often 4 MiB.
    chip(&["esp32c2", "esp32-c2"], IMC, 4096, 272),
    chip(&["esp32c3", "esp32-c3"], IMC, 4096, 400),
    chip(&["esp32c5", "esp32-c5"], IMAC, 4096, 384),
    chip(&["esp32c61", "esp32-c61"], IMAC, 4096, 320),
    chip(&["esp32c6", "esp32-c6"], IMAC, 4096, 512),
    chip(&["esp32h2", "esp32-h2"], IMAC, 4096, 320),
    banked(memory::ESP32P4, chip(&["esp32p4", "esp32-p4"], IMAFC, 16384, 776)),
    // GigaDevice, WCH, Bouffalo Lab.
    chip(&["gd32vf103"], IMAC, 128, 32),
    chip(&["ch32v203"], IMAC, 64, 20),
    chip(&["ch32v307"], IMAFC, 256, 64),
    family(&["ch32v2"], IMAC),
    family(&["ch32v3"], IMAFC),
    chip(&["bl602"], IMAFC, 2048, 276),
    // STMicroelectronics.
    chip(&["stm32f030"], M0, 256, 32),
    chip(&["stm32f072"], M0, 128, 16),
    chip(&["stm32f091"], M0, 256, 32),
    family(&["stm32f0"], M0),
    chip(&["stm32g031"], M0PLUS, 64, 8),
    chip(&["stm32g071"], M0PLUS, 128, 36),
    chip(&["stm32g0b1"], M0PLUS, 512, 144),
    family(&["stm32g0"], M0PLUS),
    chip(&["stm32l053"], M0PLUS, 64, 8),
    chip(&["stm32l073"], M0PLUS, 192, 20),
    family(&["stm32l0", "stm32c0", "stm32u0", "stm32wl3"], M0PLUS),
    chip(&["stm32f103"], M3, 512, 64),
    family(&["stm32f1", "stm32f2", "stm32l1"], M3),
    banked(memory::STM32F303, chip(&["stm32f303"], M4F, 512, 80)),
    family(&["stm32f3"], M4F),
    chip(&["stm32f401"], M4F, 512, 96),
    banked(memory::STM32F407, chip(&["stm32f407"], M4F, 1024, 192)),
    chip(&["stm32f411"], M4F, 512, 128),
    banked(memory::STM32F429, chip(&["stm32f429"], M4F, 2048, 256)),
    chip(&["stm32f446"], M4F, 512, 128),
    banked(memory::STM32F469, chip(&["stm32f469"], M4F, 2048, 384)),
    family(&["stm32f4"], M4F),
    chip(&["stm32g474"], M4F, 512, 128),
    family(&["stm32g4"], M4F),
    chip(&["stm32l432"], M4F, 256, 64),
    chip(&["stm32l476"], M4F, 1024, 128),
    chip(&["stm32l496"], M4F, 1024, 320),
    chip(&["stm32l4r5"], M4F, 2048, 640),
    family(&["stm32l4"], M4F),
    chip(&["stm32wb55"], M4F, 1024, 256),
    banked(memory::STM32F746, chip(&["stm32f746"], M7, 1024, 336)),
    banked(memory::STM32F767, chip(&["stm32f767", "stm32f769"], M7_DP, 2048, 528)),
    family(&["stm32f76", "stm32f77"], M7_DP),
    family(&["stm32f7"], M7),
    banked(memory::STM32H743, chip(&["stm32h743", "stm32h747", "arduino-portenta-h7", "arduino-giga"], M7_DP, 2048, 1056)),
    banked(memory::STM32H743, chip(&["stm32h750"], M7_DP, 128, 1056)),
    banked(memory::STM32H7A3, chip(&["stm32h7a3"], M7_DP, 2048, 1376)),
    family(&["stm32h7"], M7_DP),
    chip(&["stm32h563", "stm32h573"], M33, 2048, 640),
    family(&["stm32h5"], M33),
    chip(&["stm32l552", "stm32l562"], M33, 512, 256),
    family(&["stm32l5"], M33),
    banked(memory::STM32U575, chip(&["stm32u575", "stm32u585"], M33, 2048, 784)),
    family(&["stm32u5"], M33),
    family(&["stm32wba"], M33),
    chip(&["stm32n645", "stm32n647", "stm32n655", "stm32n657"], M55, 0, 4300),
    family(&["stm32n6"], M55),
    // NXP.
    banked(memory::LPC1768, chip(&["lpc1768"], M3, 512, 64)),
    banked(memory::LPC55S69, chip(&["lpc55s69"], M33, 640, 320)),
    chip(&["imxrt1052", "mimxrt1052"], M7_DP, 0, 512),
    banked(memory::IMXRT1062, chip(&["imxrt1062", "mimxrt1062", "teensy-4", "teensy4"], M7_DP, 0, 1024)),
    chip(&["imxrt1176", "mimxrt1176"], M7_DP, 0, 2048),
    family(&["imxrt10", "imxrt11", "mimxrt10", "mimxrt11"], M7_DP),
    family(&["imxrt5", "imxrt6", "mimxrt5", "mimxrt6"], M33),
    // Microchip.
    chip(&["samd21", "arduino-zero", "arduino-mkrzero", "feather-m0", "adafruit-feather-m0"], M0PLUS, 256, 32),
    chip(&["saml11"], M23, 64, 16),
    family(&["samd1", "samd2", "saml2", "samc2"], M0PLUS),
    chip(&["sam3x8e", "arduino-due"], M3, 512, 96),
    chip(&["samd51"], M4F, 1024, 256),
    chip(&["feather-m4", "adafruit-feather-m4", "metro-m4", "itsybitsy-m4"], M4F, 512, 192),
    chip(&["same54"], M4F, 1024, 256),
    // Renesas.
    chip(&["ra2l1"], M23, 256, 32),
    family(&["ra2"], M23),
    chip(&["ra4m1", "arduino-uno-r4"], M4F, 256, 32),
    family(&["ra4w1"], M4F),
    chip(&["ra4e1"], M33, 512, 128),
    family(&["ra4m2", "ra4m3"], M33),
    family(&["ra6m1", "ra6m2", "ra6m3", "ra6t1"], M4F),
    chip(&["ra6m4"], M33, 1024, 256),
    chip(&["ra6m5"], M33, 2048, 512),
    family(&["ra6e1", "ra6t2"], M33),
    banked(memory::RA8, chip(&["ra8d1", "ra8m1", "ra8t1"], M85, 2048, 1024)),
    family(&["ra8"], M85),
    // Ambiq. Apollo5 has another core.
    family(&["apollo3", "apollo4"], M4F),
    family(&["apollo5"], M55),
    // Analog Devices.
    chip(&["max78000"], M4F, 512, 128),
    chip(&["max78002"], M4F, 2560, 384),
    // Infineon. The second core of PSoC 6 is smaller.
    family(&["psoc6", "psoc-6", "cy8c6"], M4F),
    family(&["psoc6-cm0", "psoc-6-cm0"], M0PLUS),
    chip(&["xmc4500"], M4F, 1024, 160),
    chip(&["xmc4800"], M4F, 2048, 352),
    family(&["xmc4"], M4F),
    family(&["xmc1"], M0),
    // Alif Semiconductor. The core for high performance and the one for high efficiency are the same.
    chip(&["alif-e7", "ensemble-e7"], M55, 5632, 13824),
    chip(&["alif-e8", "ensemble-e8"], M55, 5632, 9984),
    family(&["alif-e", "alif-b", "ensemble-e"], M55),
    // Nuvoton, Himax.
    chip(&["m55m1"], M55, 2048, 1536),
    family(&["himax-we2", "hx6538"], M55),
    // Silicon Laboratories.
    chip(&["efr32mg24", "arduino-nano-matter"], M33, 1536, 256),
    // Arm's boards, which QEMU emulates.
    chip(&["mps2-an385"], M3, 4096, 4096),
    chip(&["mps2-an386"], M4F, 4096, 4096),
    chip(&["mps2-an500"], M7, 4096, 4096),
    chip(&["mps2-an505", "mps2-an521"], M33, 4096, 4096),
    family(&["mps3-an524"], M33),
    chip(&["mps3-an547", "mps3-an552", "corstone-300"], M55, 2560, 4608),
    family(&["mps3-an555", "corstone-310"], M85),
];

/// Names of known but unsupported processors, with the reason.
const MISSING: &[(&[&str], &str)] = &[
    (&["cortex-m52"], "of cores of Armv8.1-M, Cortex-M55 and M85 are supported"),
    (&["rv32e", "riscv32e", "ch32v0"], "RISC-V with 16 registers is not supported"),
    (&["rv32i", "riscv32i"], "of 32-bit RISC-V, RV32IMC, RV32IMAC and RV32IMAFC are supported"),
    (
        &["esp32c", "esp32h", "esp32-c", "esp32-h", "esp32p", "esp32-p", "ch32v"],
        "the chip is not known; its core can be named, as in --target rv32imc",
    ),
    (&["esp32", "esp8266", "xtensa"], "Xtensa processors are not supported"),
];

/// Returns the core of a name, which is its whole name or one of its levels.
pub fn core_of(name: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.memory.is_none() && chip.names.contains(&name))
}

/// Returns the chip of a lower-case name, also in the spelling of Zephyr's boards.
pub fn chip_of(name: &str) -> Option<&'static Chip> {
    let name = &plain(name);
    let longest = |chip: &Chip| chip.names.iter().filter(|start| begins(name, start)).map(|start| start.len()).max();
    let found = CHIPS.iter().filter_map(|chip| longest(chip).map(|length| (length, chip))).max_by_key(|(length, _)| *length)?;
    let why = missing_length(name).is_some_and(|length| length > found.0);
    (!why).then_some(found.1)
}

/// Returns a name in the spelling of the table: with `-` for `_`, without the maker's `at`, and for ST's boards the chip on them.
fn plain(name: &str) -> String {
    let name = name.replace('_', "-");
    if let Some(chip) = ["nucleo-", "disco-"].iter().find_map(|board| name.strip_prefix(board)) {
        return format!("stm32{chip}");
    }
    name.strip_prefix("at").filter(|chip| chip.starts_with("sam")).map_or(name.clone(), str::to_owned)
}

/// Returns the names of all cores, chips and boards.
pub fn names() -> impl DoubleEndedIterator<Item = &'static str> {
    CHIPS.iter().flat_map(|chip| chip.names.iter().copied())
}

/// Returns the core of Cortex-M that a lower-case name means without its first word: `m4f`.
pub fn core_like(name: &str) -> Option<&'static str> {
    names().find(|known| known.strip_prefix("cortex-") == Some(name))
}

/// Returns the chip or core whose name is most similar to a lower-case name. If none is similar, it is one with the longest common start.
pub fn nearest_to(name: &str) -> Option<&'static str> {
    let name = plain(name);
    let common = |known: &str| known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let with_start = || names().rev().map(|known| (common(known), known)).filter(|(length, _)| *length >= LEAST_COMMON);
    let similar = core_like(&name).or_else(|| modelc_diagnostic::nearest(&name, names()));
    similar.or_else(|| with_start().max_by_key(|(length, _)| *length).map(|(_, known)| known))
}

/// The least common start of names that are similar.
const LEAST_COMMON: usize = 3;

/// Returns the reason why a processor or chip is not supported, if its lower-case name is known.
pub fn missing(name: &str) -> Option<&'static str> {
    let length = missing_length(name)?;
    MISSING.iter().find(|(names, _)| names.iter().any(|start| begins(name, start) && start.len() == length)).map(|(_, why)| *why)
}

fn missing_length(name: &str) -> Option<usize> {
    MISSING.iter().flat_map(|(names, _)| names.iter()).filter(|start| begins(name, start)).map(|start| start.len()).max()
}

/// Tests whether a name has a prefix. Names of cores must match as a whole: `cortex-m3` does not match `cortex-m33`.
fn begins(name: &str, start: &str) -> bool {
    if start.starts_with("cortex-m") || start.starts_with("rv32im") { name == start } else { name.starts_with(start) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of cores, chips and boards, with the level that each stands for.
    const CORES: &[(&str, &str)] = &[
        ("cortex-m4f", "cortex-m4f"),
        ("cortex-m0", "cortex-m0"),
        ("cortex-m0+", "cortex-m0plus"),
        ("cortex-m0plus", "cortex-m0plus"),
        ("cortex-m23", "cortex-m23"),
        ("rp2040", "cortex-m0plus"),
        ("pico", "cortex-m0plus"),
        ("microbit", "cortex-m0"),
        ("microbit-v2", "cortex-m4f"),
        ("bbc_microbit_v2", "cortex-m4f"),
        ("stm32f072rb", "cortex-m0"),
        ("stm32g071", "cortex-m0plus"),
        ("samd21g18a", "cortex-m0plus"),
        ("cortex-m4", "cortex-m4"),
        ("cortex-m33", "cortex-m33"),
        ("stm32f407vg", "cortex-m4f"),
        ("stm32h743zi", "cortex-m7+dp"),
        ("stm32f746zg", "cortex-m7"),
        ("stm32f777", "cortex-m7+dp"),
        ("teensy-4.1", "cortex-m7+dp"),
        ("nrf52840", "cortex-m4f"),
        ("nrf52811", "cortex-m4"),
        ("nrf52820", "cortex-m4"),
        ("rp2350", "cortex-m33"),
        ("pico2", "cortex-m33"),
        ("rp2350-riscv", "rv32imac"),
        ("esp32c3", "rv32imc"),
        ("esp32-c6", "rv32imac"),
        ("esp32p4", "rv32imafc"),
        ("ch32v307vct6", "rv32imafc"),
        ("rv32imac", "rv32imac"),
        ("cortex-m55", "cortex-m55"),
        ("cortex-m85", "cortex-m85"),
        ("alif-e7", "cortex-m55"),
        ("corstone-300", "cortex-m55"),
        ("ra8d1", "cortex-m85"),
        ("ra8e1", "cortex-m85"),
        ("stm32n657x0", "cortex-m55"),
        ("ra6m5", "cortex-m33"),
        ("ra4e1", "cortex-m33"),
        ("ra6m3ah", "cortex-m4f"),
        ("apollo4", "cortex-m4f"),
        ("apollo510", "cortex-m55"),
        ("feather-m4", "cortex-m4f"),
        ("nucleo-f446re", "cortex-m4f"),
        ("nucleo_h743zi", "cortex-m7+dp"),
        ("nucleo-l053r8", "cortex-m0plus"),
        ("disco-f746ng", "cortex-m7"),
        ("psoc6", "cortex-m4f"),
        ("psoc6-cm0p", "cortex-m0plus"),
        ("max78000", "cortex-m4f"),
        ("xmc4500", "cortex-m4f"),
        ("xmc1100", "cortex-m0"),
        ("atsamd51", "cortex-m4f"),
        ("atsamd21g18", "cortex-m0plus"),
        ("cortex_m4", "cortex-m4"),
        ("arduino_nano_33_ble", "cortex-m4f"),
        ("rpi_pico2", "cortex-m33"),
        ("mps3-an524", "cortex-m33"),
        ("esp32c5", "rv32imac"),
        ("esp32c61", "rv32imac"),
    ];

    #[test]
    fn chips_and_boards_stand_for_a_core() {
        for &(name, level) in CORES {
            assert_eq!(chip_of(name).map(|chip| chip.target.levels[0]), Some(level), "{name}");
        }
        for name in ["cortex-m52", "esp32", "esp32s3", "ch32v003", "rv32i", "rv32imcb"] {
            assert!(chip_of(name).is_none() && missing(name).is_some(), "{name}");
        }
        assert!(missing("esp32s3").unwrap().contains("Xtensa") && missing("rv32e").unwrap().contains("RISC-V"));
    }

    #[test]
    fn every_name_is_that_of_one_chip() {
        let mut names: Vec<&str> = CHIPS.iter().flat_map(|chip| chip.names.iter().copied()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn banks_add_up() {
        let banked = || CHIPS.iter().filter_map(|chip| Some((chip.names[0], chip.memory?))).filter(|(_, memory)| !memory.banks.is_empty());
        for (name, memory) in banked() {
            let on_chip: u64 = memory.banks.iter().filter(|bank| bank.rank != "slow").map(|bank| bank.kib << 10).sum();
            // Some chips have a little RAM more for other cores, or for USB.
            assert!(on_chip <= memory.ram && on_chip >= memory.ram / 20 * 19, "{name}: {on_chip} B of {} B", memory.ram);
            assert!(memory.banks.len() > 1, "{name}: one bank needs no list");
        }
        assert!(banked().count() > 10);
    }
}
