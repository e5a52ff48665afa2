//! Targets: spellings of GCC, Rust and the Android NDK for one name each. CPU levels, and their bits in `modelc_config`. Everything is checked
//! here, before a back end sees it.

mod board;
mod chips;
mod memory;
mod modifiers;
mod names;
mod row;
mod triples;
mod unknown;

pub use board::Board;
pub use chips::{CHIPS, Chip};
pub use memory::{Bank, Memory};
use modelc_diagnostic::{Diagnostic, codes, did_you_mean};
use modelc_machine::{CpuMachine, Extension, Isa, MACHINES, machine};
pub use names::CORES;
pub use row::{ObjectFormat, Platform, Target};
pub use triples::TARGETS;
use triples::{without_api_level, without_vendor};
use unknown::unknown;

/// Returns the target of a spelling.
///
/// # Errors
/// A usage diagnostic if the target is unknown or not supported.
pub fn target(spelling: &str) -> Result<&'static Target, Diagnostic> {
    let lower = spelling.to_ascii_lowercase();
    if let Some(chip) = chip(&lower)? {
        return Ok(&chip.target);
    }
    if let Some(name) = names::target_of(&lower) {
        return TARGETS.iter().find(|target| target.name == name).ok_or_else(|| unknown(spelling));
    }
    let plain = without_vendor(&without_api_level(&lower));
    let found = TARGETS.iter().find(|t| without_vendor(t.name) == plain || t.aliases.contains(&plain.as_str()) || t.name == spelling);
    found.ok_or_else(|| unknown(spelling))
}

/// Returns the core, chip or board of a lower-case name, which may have modifiers.
///
/// # Errors
/// A usage diagnostic if a modifier does not fit the core.
fn chip(name: &str) -> Result<Option<&'static Chip>, Diagnostic> {
    let whole = chips::core_of(name);
    let (Some((plain, modifiers)), None) = (name.split_once('+'), whole) else { return Ok(whole.or_else(|| chips::chip_of(name))) };
    let Some(found) = chips::chip_of(plain) else { return Ok(None) };
    let level = modifiers::modified(found.target.levels[0], modifiers)?;
    Ok(chips::core_of(level))
}

/// Returns the target of programs on this computer, which is the default of objects.
///
/// # Errors
/// A usage diagnostic if this computer is not supported.
pub fn host() -> Result<&'static Target, Diagnostic> {
    let (architecture, system) = (std::env::consts::ARCH, std::env::consts::OS);
    hosted(architecture, system).ok_or_else(|| unknown(&format!("{architecture}-{system}")))
}

/// Returns the target of code that runs in this process. modelc itself places the code, so the system's object format and conventions do not
/// matter.
///
/// # Errors
/// A usage diagnostic if this computer's instruction set is not supported.
pub fn in_process() -> Result<&'static Target, Diagnostic> {
    hosted(std::env::consts::ARCH, "linux").ok_or_else(|| unknown(std::env::consts::ARCH))
}

/// Returns the target of an architecture and a system, in Rust's names. Systems without a row use ELF objects, like Linux.
fn hosted(architecture: &str, system: &str) -> Option<&'static Target> {
    let platform = match system {
        "macos" => Platform::MacOs,
        "ios" => Platform::Ios,
        "windows" => Platform::Windows,
        _ => Platform::Linux,
    };
    let isa = isa_of(architecture)?;
    TARGETS.iter().find(|target| target.isa == isa && target.platform == platform)
}

/// Returns the machine of a CPU level for a target: the named level, `native` for the best of this computer, or the default.
///
/// # Errors
/// A usage diagnostic if the level is unknown, of another instruction set, or below the lowest one.
pub fn level(target: &Target, name: Option<&str>) -> Result<&'static CpuMachine, Diagnostic> {
    match name {
        None => Ok(target.default_machine()),
        Some("native") => native(target),
        Some(name) => {
            let level = LEVEL_SPELLINGS.iter().find(|(spellings, _)| spellings.contains(&name)).map_or(name, |(_, level)| level);
            let level = with_modifiers(target, level)?;
            target.machines().find(|m| m.level == level).ok_or_else(|| unknown_level(target, name))
        }
    }
}

/// Returns the level of a target's core with modifiers; other names are returned as they are.
///
/// # Errors
/// A usage diagnostic if a modifier does not fit the core.
fn with_modifiers<'n>(target: &Target, name: &'n str) -> Result<&'n str, Diagnostic> {
    let Some((plain, modifiers)) = name.split_once('+').filter(|_| !target.levels.contains(&name)) else { return Ok(name) };
    let core = chips::core_of(plain).filter(|core| core.target.isa == target.isa);
    core.map_or(Ok(name), |core| modifiers::modified(core.target.levels[0], modifiers))
}

/// Other spellings of levels. Longer vector registers run code for shorter ones, which does not use their full length.
const LEVEL_SPELLINGS: &[(&[&str], &str)] = &[
    (&["rv64gc", "riscv64gc"], "riscv64"),
    (&["riscv64gcv", "riscv64+v", "rv64gcv_zvl128b", "rv64gcv_zvl256b", "rv64gcv_zvl512b", "rv64gcv_zvl1024b"], "rv64gcv"),
];

/// Returns the machines of an object's CPU levels, in `init`'s order of preference. `names` is a list with commas, of names for [`level`]. The
/// default is every level where the object can ask the CPU (x86-64), or its header the operating system (aarch64).
///
/// # Errors
/// The errors of [`level`], and a usage diagnostic for several levels of a 32-bit machine.
pub fn levels(target: &Target, names: Option<&str>) -> Result<Vec<&'static CpuMachine>, Diagnostic> {
    let mut machines: Vec<&CpuMachine> = match names {
        None if target.isa == Isa::X86_64 || target.asks_system_for_features() => target.machines().collect(),
        None => vec![target.default_machine()],
        Some(names) => names.split(',').map(|name| level(target, Some(name.trim()))).collect::<Result<_, _>>()?,
    };
    machines.sort_by_key(|machine| std::cmp::Reverse(preference(machine)));
    machines.dedup();
    match machines[..] {
        [first, _, ..] if first.index_bits == 32 => Err(several(target, &machines)),
        _ => Ok(machines),
    }
}

/// Makes the diagnostic about several levels of a 32-bit machine: its objects cannot ask which one runs.
fn several(target: &Target, machines: &[&CpuMachine]) -> Diagnostic {
    let levels: Vec<&str> = machines.iter().map(|machine| machine.level).collect();
    Diagnostic::new(codes::UNKNOWN_LEVEL, format!("an object for {} has one CPU level", target.name))
        .expected("one level", levels.join(", "))
        .help(format!("compile an object for each: --cpu {}", levels.join(", --cpu ")))
}

/// Returns the preference of a level. `init` uses the level with the longest vectors, which determine its speed. Among equals it uses the one
/// with the most required features.
fn preference(machine: &CpuMachine) -> (u16, u32) {
    (machine.vector_bits, required_features(machine).count_ones())
}

fn native(target: &Target) -> Result<&'static CpuMachine, Diagnostic> {
    if host_isa() != Some(target.isa) {
        let message = format!("--cpu native means the CPU of this computer, which is not a {}", target.name);
        return Err(Diagnostic::new(codes::OTHER_CPU, message).help("name a CPU level: `modelc targets` lists them"));
    }
    best_here(target.isa)
}

/// Returns the machines whose code runs on this computer.
pub fn host_machines() -> Vec<&'static CpuMachine> {
    let here = host_features();
    MACHINES.iter().filter(|m| Some(m.isa) == host_isa() && required_features(m) & !here == 0).collect()
}

/// Returns the machine for which the JIT generates code here: the one that `init` of an object with all levels would choose.
///
/// # Errors
/// A usage diagnostic if this computer is not supported.
pub fn host_machine() -> Result<&'static CpuMachine, Diagnostic> {
    best_here(in_process()?.isa)
}

fn best_here(isa: Isa) -> Result<&'static CpuMachine, Diagnostic> {
    let here = host_machines().into_iter().filter(|m| m.isa == isa);
    here.max_by_key(|m| preference(m)).ok_or_else(too_old)
}

fn too_old() -> Diagnostic {
    Diagnostic::new(codes::OTHER_CPU, "this computer's CPU is below the lowest level that is generated for")
        .help("`modelc targets` lists the levels; x86-64-v2 needs SSE4.2 and POPCNT")
}

fn unknown_level(target: &Target, name: &str) -> Diagnostic {
    let known = target.levels.join(", ");
    let message = match (name, machine(name)) {
        ("x86-64" | "x86-64-v1" | "generic", _) if target.isa == Isa::X86_64 => format!("CPU level {name} is below x86-64-v2, the lowest"),
        (_, Some(_)) => format!("CPU level {name} is not one of {}", target.name),
        _ => format!("unknown CPU level {name}"),
    };
    let error = Diagnostic::new(codes::UNKNOWN_LEVEL, message).expected(format!("one of {known}"), name);
    match names::level_meant(name).filter(|meant| target.levels.contains(meant)) {
        Some(meant) => error.help(format!("did you mean {meant}?")),
        None => did_you_mean(error, name, target.levels.iter().copied()),
    }
}

/// Bits of `modelc_config.cpu_features`. The names are those of the generated header.
pub const FEATURES: &[(&str, u64)] = &[
    ("MODELC_CPU_X86_64_V2", X86_64_V2),
    ("MODELC_CPU_X86_64_V3", X86_64_V3),
    ("MODELC_CPU_X86_64_V4", X86_64_V4),
    ("MODELC_CPU_AVX512_VNNI", AVX512_VNNI),
    ("MODELC_CPU_ARM_DOTPROD", ARM_DOTPROD),
    ("MODELC_CPU_ARM_FP16", ARM_FP16),
    ("MODELC_CPU_ARM_I8MM", ARM_I8MM),
    ("MODELC_CPU_ARM_BF16", ARM_BF16),
    ("MODELC_CPU_ARM_SME2", ARM_SME2),
    ("MODELC_CPU_ARM_IN_ORDER", ARM_IN_ORDER),
    ("MODELC_CPU_RISCV_V", RISCV_V),
];
/// x86-64-v2 as the psABI defines it.
pub const X86_64_V2: u64 = 1;
/// x86-64-v3, and the operating system saves the 256-bit registers.
pub const X86_64_V3: u64 = 2;
/// x86-64-v4, and the operating system saves the 512-bit registers.
pub const X86_64_V4: u64 = 4;
/// AVX-512 VNNI on top of x86-64-v4.
pub const AVX512_VNNI: u64 = 8;
/// FEAT_DotProd of Armv8.2.
pub const ARM_DOTPROD: u64 = 256;
/// FEAT_FP16: arithmetic of binary16.
pub const ARM_FP16: u64 = 512;
/// FEAT_I8MM: products of matrices of bytes.
pub const ARM_I8MM: u64 = 1024;
/// FEAT_BF16.
pub const ARM_BF16: u64 = 2048;
/// FEAT_SME2.
pub const ARM_SME2: u64 = 4096;
/// A core that issues instructions in order. Only the caller can know it.
pub const ARM_IN_ORDER: u64 = 8192;
/// The V extension of RISC-V.
pub const RISCV_V: u64 = 65536;

/// Returns the feature bits that code for a machine needs.
pub fn required_features(machine: &CpuMachine) -> u64 {
    let least = if machine.isa == Isa::X86_64 { X86_64_V2 } else { 0 };
    machine.extensions.iter().fold(least, |bits, extension| bits | bits_of(*extension))
}

/// Returns the bits of an extension; none on microcontrollers, whose programs know the core.
fn bits_of(extension: Extension) -> u64 {
    match extension {
        Extension::Avx2 => X86_64_V3,
        Extension::Avx512 => X86_64_V4 | AVX512_VNNI,
        Extension::DotProd => ARM_DOTPROD,
        Extension::I8mm => ARM_I8MM,
        Extension::V => RISCV_V,
        Extension::Thumb2 | Extension::Armv8M | Extension::Dsp | Extension::Mve | Extension::Fpu | Extension::Doubles => 0,
    }
}

fn host_isa() -> Option<Isa> {
    isa_of(std::env::consts::ARCH)
}

/// Returns the instruction set of an architecture in Rust's names.
fn isa_of(architecture: &str) -> Option<Isa> {
    match architecture {
        "x86_64" => Some(Isa::X86_64),
        "aarch64" => Some(Isa::Aarch64),
        "riscv64" => Some(Isa::Riscv64),
        _ => None,
    }
}

/// Returns the feature bits of this computer.
#[cfg(target_arch = "x86_64")]
pub fn host_features() -> u64 {
    use std::arch::is_x86_feature_detected as has;
    let mut bits = 0;
    if !(has!("sse3") && has!("ssse3") && has!("sse4.1") && has!("sse4.2") && has!("popcnt") && has!("cmpxchg16b")) {
        return bits;
    }
    bits |= X86_64_V2;
    let v3 = has!("avx") && has!("avx2") && has!("bmi1") && has!("bmi2") && has!("f16c") && has!("fma") && has!("lzcnt") && has!("movbe");
    if !v3 {
        return bits;
    }
    bits |= X86_64_V3;
    if !(has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl")) {
        return bits;
    }
    bits |= X86_64_V4;
    if has!("avx512vnni") { bits | AVX512_VNNI } else { bits }
}

/// Returns the feature bits of this computer.
#[cfg(target_arch = "aarch64")]
pub fn host_features() -> u64 {
    use std::arch::is_aarch64_feature_detected as has;
    let found = [(has!("dotprod"), ARM_DOTPROD), (has!("fp16"), ARM_FP16), (has!("i8mm"), ARM_I8MM), (has!("bf16"), ARM_BF16)];
    found.into_iter().filter(|(has, _)| *has).map(|(_, bit)| bit).sum()
}

/// Returns the feature bits of this computer.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn host_features() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_gcc_rust_and_the_ndk_meet() {
        for (spelling, name) in [
            ("x86_64-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64-pc-linux-gnu", "x86_64-unknown-linux-gnu"),
            ("x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"),
            ("x86_64-unknown-none", "x86_64-unknown-none-elf"),
            ("aarch64-none-elf", "aarch64-unknown-none-elf"),
            ("aarch64-unknown-none", "aarch64-unknown-none-elf"),
            ("aarch64-linux-android24", "aarch64-unknown-linux-gnu"),
            ("aarch64-none-linux-android24", "aarch64-unknown-linux-gnu"),
            ("aarch64-none-linux-gnu", "aarch64-unknown-linux-gnu"),
            ("aarch64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"),
            ("riscv64-unknown-elf", "riscv64gc-unknown-none-elf"),
            ("riscv64gc-unknown-none-elf", "riscv64gc-unknown-none-elf"),
            ("riscv64-linux-gnu", "riscv64gc-unknown-linux-gnu"),
            ("x86_64-w64-mingw32", "x86_64-pc-windows-msvc"),
            ("x86_64-unknown-uefi", "x86_64-pc-windows-msvc"),
            ("arm64-apple-macos13.1", "aarch64-apple-darwin"),
            ("arm64-apple-ios17.0", "aarch64-apple-ios"),
            ("thumbv7em-none-eabihf", "thumbv7em-none-eabihf"),
            ("arm-none-eabi", "thumbv7em-none-eabi"),
            ("thumbv8m.main-none-eabihf", "thumbv8m.main-none-eabihf"),
            ("thumbv8.1m.main-none-eabi", "thumbv8.1m.main-none-eabihf"),
            ("cortex-m33+nofp", "thumbv8m.main-none-eabi"),
            ("cortex-m7+nofp", "thumbv7em-none-eabi"),
            ("cortex-m4f", "thumbv7em-none-eabihf"),
            ("riscv32imc-unknown-none-elf", "riscv32imc-unknown-none-elf"),
            ("riscv32imac-none-elf", "riscv32imac-unknown-none-elf"),
            ("riscv32-unknown-elf", "riscv32imac-unknown-none-elf"),
            ("esp32c3", "riscv32imc-unknown-none-elf"),
            ("riscv32imc", "riscv32imc-unknown-none-elf"),
            ("riscv32imac-unknown-none", "riscv32imac-unknown-none-elf"),
            ("riscv32imafc", "riscv32imafc-unknown-none-elf"),
            ("thumbv6m", "thumbv6m-none-eabi"),
            ("thumbv7m", "thumbv7m-none-eabi"),
            ("thumbv8m.base", "thumbv8m.base-none-eabi"),
            ("thumbv8.1m.main", "thumbv8.1m.main-none-eabihf"),
        ] {
            assert_eq!(target(spelling).map(|t| t.name), Ok(name), "{spelling}");
        }
    }

    #[test]
    fn every_name_is_a_triple_of_its_instruction_set_and_every_alias_leads_to_its_row() {
        for row in TARGETS {
            let triple = row.triple();
            let format = match row.format {
                ObjectFormat::Elf => target_lexicon::BinaryFormat::Elf,
                ObjectFormat::Coff => target_lexicon::BinaryFormat::Coff,
                ObjectFormat::MachO => target_lexicon::BinaryFormat::Macho,
            };
            assert_eq!(triple.binary_format, format, "{}", row.name);
            for spelling in row.aliases.iter().chain([&row.name]) {
                assert_eq!(target(spelling).map(|t| t.name), Ok(row.name), "{spelling}");
            }
        }
    }

    #[test]
    fn what_is_not_there_says_so() {
        for spelling in ["thumbv8a-none-eabi", "armv7-unknown-linux-gnueabihf", "riscv32i-unknown-none-elf", "i686-linux-gnu", "esp32"] {
            let error = target(spelling).unwrap_err();
            assert_eq!(error.code, codes::TARGET_NOT_YET, "{error}");
            assert!(error.message.contains("not supported"), "{error}");
        }
        for spelling in ["aarch64-pc-windows-msvc", "arm64-windows", "arm64e-apple-darwin", "aarch64-unknown-uefi"] {
            let error = target(spelling).unwrap_err();
            assert!(error.code == codes::TARGET_NOT_YET && error.message.contains("not supported"), "{error}");
        }
        let error = target("x86_65-linux-gnu").unwrap_err();
        assert!(error.code == codes::UNKNOWN_TARGET && error.help.unwrap().contains("modelc targets"));
        for (word, spellings) in [
            ("windows", "x86_64-pc-windows-msvc?"),
            ("macOS", "x86_64-apple-macos or aarch64-apple-macos?"),
            ("android", "x86_64-linux-android or aarch64-linux-android or riscv64-linux-android?"),
            ("ios", "aarch64-apple-ios?"),
            ("x86", "x86_64-unknown-linux-gnu or "),
        ] {
            let help = target(word).unwrap_err().help.unwrap_or_default();
            assert!(help.starts_with(&format!("did you mean {spellings}")), "{word}: {help}");
        }
        assert_eq!(target("").unwrap_err().code, codes::UNKNOWN_TARGET);
        assert_eq!(target("arm64-nonsense").unwrap_err().code, codes::UNKNOWN_TARGET);
    }

    #[test]
    fn levels_are_checked_against_the_target() {
        let x86 = target("x86_64-linux-gnu").unwrap();
        assert_eq!(level(x86, None).unwrap().level, "x86-64-v3");
        assert_eq!(level(x86, Some("x86-64-v2")).unwrap().level, "x86-64-v2");
        for (name, word) in [("x86-64", "below"), ("aarch64", "not one of"), ("pentium", "unknown")] {
            let error = level(x86, Some(name)).unwrap_err();
            assert!(error.code == codes::UNKNOWN_LEVEL && error.message.contains(word), "{error}");
        }
        let riscv64 = target("riscv64").unwrap();
        for (spelling, name) in [("rv64gc", "riscv64"), ("riscv64+v", "rv64gcv"), ("rv64gcv_zvl256b", "rv64gcv"), ("rv64gcv", "rv64gcv")] {
            assert_eq!(level(riscv64, Some(spelling)).unwrap().level, name);
        }
        assert_eq!(level(riscv64, None).unwrap().level, "riscv64");
        assert_eq!(level(riscv64, Some("rv64gcv_zvl64b")).unwrap_err().code, codes::UNKNOWN_LEVEL);
        let other = target(if cfg!(target_arch = "riscv64") { "aarch64" } else { "riscv64" }).unwrap();
        assert_eq!(level(other, Some("native")).unwrap_err().code, codes::OTHER_CPU);
    }

    #[test]
    fn lists_of_levels_are_in_the_order_of_preference() {
        let names = |target: &str, list| -> Vec<&str> {
            levels(super::target(target).unwrap(), list).unwrap().iter().map(|machine| machine.level).collect()
        };
        assert_eq!(names("x86_64", Some("x86-64-v2, x86-64-v3,x86-64-v2")), ["x86-64-v3", "x86-64-v2"]);
        assert_eq!(names("x86_64", Some("x86-64-v2,x86-64-v3,x86-64-v4")), ["x86-64-v4", "x86-64-v3", "x86-64-v2"]);
        assert_eq!(names("x86_64", None), ["x86-64-v4", "x86-64-v3", "x86-64-v2"]);
        assert_eq!(names("aarch64", None), ["aarch64+i8mm", "aarch64+dotprod", "aarch64"]);
        assert_eq!(names("aarch64-apple-ios", None).len(), 3);
        assert_eq!(names("aarch64-none-elf", None), ["aarch64"]);
        assert_eq!(names("aarch64", Some("aarch64,aarch64+dotprod")), ["aarch64+dotprod", "aarch64"]);
        assert_eq!(names("riscv64", Some("rv64gc,rv64gcv_zvl256b,rv64gcv")), ["rv64gcv", "riscv64"]);
        assert_eq!(levels(super::target("x86_64").unwrap(), Some("x86-64-v2,")).unwrap_err().code, codes::UNKNOWN_LEVEL);
    }

    #[test]
    fn objects_of_32_bit_machines_have_one_level() {
        let with = |target: &str, list| levels(super::target(target).unwrap(), Some(list)).map(|machines| machines.len());
        assert_eq!(with("thumbv7em-none-eabihf", "cortex-m4f, cortex-m4f"), Ok(1));
        for (target, list) in [("thumbv7em-none-eabihf", "cortex-m4f,cortex-m7+dp"), ("cortex-m55", "cortex-m55,cortex-m55+strict-align")] {
            let error = with(target, list).unwrap_err();
            assert!(error.code == codes::UNKNOWN_LEVEL && error.message.contains("has one CPU level"), "{error}");
            assert!(error.help.as_deref().is_some_and(|help| help.contains("--cpu cortex-m55") || help.contains("--cpu cortex-m4f")));
        }
    }

    #[test]
    fn the_default_is_the_computer_s_own_target() {
        let name = |architecture, system| hosted(architecture, system).map(|target| (target.name, target.format));
        for (architecture, system, expected) in [
            ("x86_64", "linux", "x86_64-unknown-linux-gnu"),
            ("x86_64", "freebsd", "x86_64-unknown-linux-gnu"),
            ("x86_64", "macos", "x86_64-apple-darwin"),
            ("aarch64", "macos", "aarch64-apple-darwin"),
            ("x86_64", "windows", "x86_64-pc-windows-msvc"),
            ("aarch64", "android", "aarch64-unknown-linux-gnu"),
            ("aarch64", "ios", "aarch64-apple-ios"),
        ] {
            assert_eq!(hosted(architecture, system).map(|target| target.name), Some(expected), "{architecture} {system}");
        }
        assert_eq!(name("aarch64", "macos"), Some(("aarch64-apple-darwin", ObjectFormat::MachO)));
        assert_eq!([name("aarch64", "windows"), name("mips", "linux")], [None, None]);
        assert!(unknown("aarch64-windows").message.contains("x86-64 only"));
    }

    #[test]
    fn every_level_has_a_machine() {
        for target in CHIPS.iter().map(|chip| &chip.target).chain(TARGETS) {
            assert!(!target.levels.is_empty() && target.levels.iter().all(|level| machine(level).is_some()), "{}", target.name);
        }
    }

    #[test]
    fn cores_and_boards_have_their_level() {
        for (name, triple, machine) in
            [("cortex-m4", "thumbv7em-none-eabi", "cortex-m4"), ("STM32H743", "thumbv7em-none-eabihf", "cortex-m7+dp")]
        {
            let target = target(name).unwrap();
            assert_eq!((target.name, level(target, None).unwrap().level), (triple, machine));
        }
        for (name, machine) in [
            ("cortex-m33+strict-align+nodsp", "cortex-m33+nodsp+strict-align"),
            ("STM32H743+nofp", "cortex-m7+nofp"),
            ("stm32f746+dp", "cortex-m7+dp"),
            ("cortex-m85+dp", "cortex-m85"),
            ("cortex-m55+strict-align+nofp", "cortex-m55+nofp+strict-align"),
            ("ra8d1+nofp", "cortex-m85+nofp"),
            ("cortex-m0+", "cortex-m0plus"),
            ("pico+strict-align", "cortex-m0plus"),
        ] {
            assert_eq!(target(name).and_then(|target| level(target, None)).map(|machine| machine.level), Ok(machine), "{name}");
        }
        let error = target("cortex-m3+nofp").unwrap_err();
        assert!(error.message.contains("cortex-m3 does not take +nofp"), "{error}");
        let m33 = target("cortex-m33").unwrap();
        assert_eq!(level(m33, Some("cortex-m33+nodsp")).map(|machine| machine.level), Ok("cortex-m33+nodsp"));
        assert!(level(m33, Some("cortex-m33+dp")).unwrap_err().message.contains("does not take +dp"));
        assert!(level(m33, Some("cortex-m33+nofp")).unwrap_err().message.contains("not one of"), "another target has it");
        let error = level(target("cortex-m3").unwrap(), Some("cortex-m7")).unwrap_err();
        assert!(error.message.contains("not one of"), "{error}");
        let error = target("stm32q4").unwrap_err();
        assert!(error.help.unwrap().contains("cortex-m4f"));
    }

    #[test]
    fn the_host_has_a_level() {
        let machine = host_machine().unwrap();
        assert_eq!(required_features(machine) & !host_features(), 0);
        assert_eq!(required_features(level(host().unwrap(), Some("native")).unwrap()) & !host_features(), 0);
    }
}
