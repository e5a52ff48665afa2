//! Build systems and frameworks for which packages are written, and what each of them does not take.

use super::machines::{Machine, UNTRAPPED};
use super::variant::{NeededFpu, Needs, Variant};
use crate::diagnostic::{Diagnostic, codes, did_you_mean};
use crate::emit::RiscvAbi;

/// A build system or a framework.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framework {
    /// `find_package` and `add_subdirectory` of CMake.
    CMake,
    /// A module of Zephyr.
    Zephyr,
    /// A component of ESP-IDF.
    EspIdf,
    /// A pack of CMSIS.
    CmsisPack,
    /// A precompiled library of Arduino.
    Arduino,
}

/// Headers of the C library. A header of a model with such a name would hide one.
const C_HEADERS: &[&str] = &[
    "assert",
    "complex",
    "ctype",
    "errno",
    "fenv",
    "inttypes",
    "iso646",
    "limits",
    "locale",
    "math",
    "setjmp",
    "signal",
    "stdalign",
    "stdarg",
    "stdatomic",
    "stdbool",
    "stddef",
    "stdint",
    "stdio",
    "stdlib",
    "stdnoreturn",
    "string",
    "tgmath",
    "threads",
    "time",
    "uchar",
    "wchar",
    "wctype",
];

/// Libraries of toolchains, `libNAME.a`, that a model's library would hide.
const C_LIBRARIES: &[&str] = &["c", "g", "m", "gcc", "nosys", "stdc", "supc", "atomic"];

impl Framework {
    /// Every framework.
    pub const ALL: [Self; 5] = [Self::CMake, Self::Zephyr, Self::EspIdf, Self::CmsisPack, Self::Arduino];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CMake => "cmake",
            Self::Zephyr => "zephyr",
            Self::EspIdf => "esp-idf",
            Self::CmsisPack => "cmsis-pack",
            Self::Arduino => "arduino",
        }
    }

    /// Returns the framework of a name.
    ///
    /// # Errors
    /// A usage diagnostic if there is none.
    pub fn from_name(name: &str) -> Result<Self, Diagnostic> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|framework| framework.name() == name).ok_or_else(|| {
            let error = Diagnostic::new(codes::EXPORT, format!("--as {name} is not known")).expected(names.join(", "), name);
            did_you_mean(error, name, names)
        })
    }

    /// Returns places and texts of the templates.
    pub(super) fn templates(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CMake => &[
                ("CMakeLists.txt", include_str!("templates/cmake/CMakeLists.txt")),
                ("@NAME@-config.cmake", include_str!("templates/cmake/config.cmake")),
            ],
            Self::Zephyr => &[
                ("zephyr/module.yml", include_str!("templates/zephyr/module.yml")),
                ("CMakeLists.txt", include_str!("templates/zephyr/CMakeLists.txt")),
                ("Kconfig", include_str!("templates/zephyr/Kconfig")),
            ],
            Self::EspIdf => &[
                ("idf_component.yml", include_str!("templates/esp-idf/idf_component.yml")),
                ("CMakeLists.txt", include_str!("templates/esp-idf/CMakeLists.txt")),
            ],
            Self::CmsisPack => &[("modelc.@NAME@.pdsc", include_str!("templates/cmsis-pack/pack.pdsc"))],
            Self::Arduino => &[
                ("library.properties", include_str!("templates/arduino/library.properties")),
                ("src/@NAME@.h", include_str!("templates/arduino/header.h")),
            ],
        }
    }

    /// Checks that the framework takes a model's name and its machines.
    ///
    /// # Errors
    /// A usage diagnostic that names what it does not take.
    pub fn check(self, name: &str, variants: &[Variant]) -> Result<(), Diagnostic> {
        if let Some(why) = self.forbids(name) {
            let error = Diagnostic::new(codes::EXPORT, format!("{} does not take the name {name}: {why}", self.name()));
            return Err(error.help("choose another one: --name NAME"));
        }
        if let Some(variant) = variants.iter().find(|variant| !self.takes(variant)) {
            let error = Diagnostic::new(codes::EXPORT, format!("{} does not run on {}", self.name(), variant.name));
            return Err(error.help(self.hint()));
        }
        let mut known: Vec<(String, &str)> = Vec::new();
        for variant in variants.iter().filter(|_| self != Self::CMake) {
            // Libraries of Arduino lie in a folder for each core.
            let condition = match (self, variant.machine.arduino) {
                (Self::Arduino, [folder, ..]) => (*folder).to_owned(),
                _ => self.condition(variant, variant.needs(false), ""),
            };
            if let Some((_, other)) = known.iter().find(|(other, _)| *other == condition) {
                let error = Diagnostic::new(codes::EXPORT, format!("{} cannot tell {other} and {} apart", self.name(), variant.name));
                return Err(error.help("export one of them, or each to a folder of its own"));
            }
            known.push((condition, &variant.name));
        }
        Ok(())
    }

    fn takes(self, Variant { machine, .. }: &Variant) -> bool {
        match self {
            Self::CMake => true,
            Self::Zephyr => !machine.zephyr.is_empty(),
            Self::EspIdf => !machine.chips.is_empty(),
            Self::CmsisPack => !machine.cmsis.is_empty(),
            Self::Arduino => !machine.arduino.is_empty(),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::CMake => "`--as cmake` takes every target",
            Self::Zephyr => "name a core, a chip, or a target without an operating system: --target cortex-m4f",
            Self::EspIdf => "ESP-IDF is for the chips of Espressif; `modelc targets` lists targets",
            Self::CmsisPack | Self::Arduino => "name a core or a board: --target cortex-m4f",
        }
    }

    /// Returns the reason why a name is not taken. Names are identifiers of C.
    fn forbids(self, name: &str) -> Option<&'static str> {
        let lower = name.to_ascii_lowercase();
        if C_HEADERS.contains(&lower.as_str()) {
            return Some("the model's header would hide one of the C library");
        }
        if C_LIBRARIES.contains(&lower.as_str()) {
            return Some("the model's library would hide one of the compiler");
        }
        match self {
            Self::Arduino if name.len() > 63 => Some("names of libraries have at most 63 characters"),
            Self::Arduino if lower.starts_with("arduino") => Some("names of libraries do not start with `arduino`"),
            Self::Arduino if name.starts_with('_') => Some("names of libraries start with a letter"),
            Self::EspIdf if lower == "main" => Some("`main` is the program's own component"),
            _ => None,
        }
    }

    /// Returns the condition under which a build uses a variant, in the framework's language.
    pub(super) fn condition(self, variant: &Variant, needs: Needs, upper: &str) -> String {
        let machine = &variant.machine;
        match self {
            Self::CMake if machine.cmake.0.is_empty() => format!("CMAKE_SYSTEM_PROCESSOR STREQUAL \"{}\"", variant.name),
            Self::CMake => {
                let (system, processor) = machine.cmake;
                format!("CMAKE_SYSTEM_NAME MATCHES \"^({system})$\" AND CMAKE_SYSTEM_PROCESSOR MATCHES \"^({processor})$\"")
            }
            Self::Zephyr => kconfig(variant, needs, Words { not: "NOT ", and: " AND ", prefix: "CONFIG_" }),
            Self::EspIdf => machine.chips.join("|"),
            Self::CmsisPack => cmsis(machine.cmsis, needs),
            Self::Arduino => macros(machine, needs, upper),
        }
    }
}

/// A language of conditions over Kconfig's options.
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// The negation of what follows.
    pub not: &'static str,
    /// The conjunction of what is before and after it.
    pub and: &'static str,
    /// The start of an option's name.
    pub prefix: &'static str,
}

/// Returns a condition over Kconfig's options.
pub(super) fn kconfig(variant: &Variant, needs: Needs, Words { not, and, prefix }: Words) -> String {
    let fpu: &[&str] = match needs.fpu {
        // Zephyr turns on the registers of vectors with the unit.
        NeededFpu::Either | NeededFpu::Absent if needs.mve => &["FPU"],
        NeededFpu::Either => &[],
        NeededFpu::Absent => &["!FPU"],
        NeededFpu::Present => &["FPU"],
        NeededFpu::Single => &["FPU", "!CPU_HAS_FPU_DOUBLE_PRECISION"],
        NeededFpu::Double => &["FPU", "CPU_HAS_FPU_DOUBLE_PRECISION"],
    };
    let dsp = needs.dsp.map(|dsp| if dsp { "ARMV8_M_DSP" } else { "!ARMV8_M_DSP" });
    let mve: &[&str] = match needs.fpu {
        _ if !needs.mve => &[],
        NeededFpu::Either => &["ARMV8_1_M_MVEI"],
        NeededFpu::Absent => &["ARMV8_1_M_MVEI", "!ARMV8_1_M_MVEF"],
        NeededFpu::Present | NeededFpu::Single | NeededFpu::Double => &["ARMV8_1_M_MVEI", "ARMV8_1_M_MVEF"],
    };
    let is_strict = variant.name.contains("strict-align");
    let of_machine = variant.machine.zephyr.iter().copied().filter(|option| !(is_strict && *option == UNTRAPPED));
    let abi = float_abi(variant);
    let options = of_machine.chain(fpu.iter().copied()).chain(dsp).chain(mve.iter().copied()).chain(abi.iter().copied());
    let options = options.map(|option| match option.strip_prefix('!') {
        Some(option) => format!("{not}{prefix}{option}"),
        None => format!("{prefix}{option}"),
    });
    options.collect::<Vec<_>>().join(and)
}

/// Returns Kconfig's options of the float ABI: RISC-V's linkers refuse objects of another one.
fn float_abi(variant: &Variant) -> &'static [&'static str] {
    let is_riscv = variant.machine.zephyr.iter().any(|option| option.starts_with("RISCV"));
    match variant.abi {
        _ if !is_riscv => &[],
        RiscvAbi::Lp64 | RiscvAbi::Ilp32 => &["!FLOAT_HARD"],
        RiscvAbi::Lp64f | RiscvAbi::Ilp32f => &["FLOAT_HARD", "!CPU_HAS_FPU_DOUBLE_PRECISION"],
        RiscvAbi::Lp64d => &["FLOAT_HARD", "CPU_HAS_FPU_DOUBLE_PRECISION"],
    }
}

/// Returns the elements of a pack's condition, one for each combination of units that fits.
fn cmsis(core: &str, needs: Needs) -> String {
    let fpu: &[&str] = match needs.fpu {
        NeededFpu::Either => &[""],
        NeededFpu::Absent => &[" Dfpu=\"NO_FPU\""],
        NeededFpu::Present => &[" Dfpu=\"FPU\"", " Dfpu=\"SP_FPU\"", " Dfpu=\"DP_FPU\""],
        // `FPU` does not tell the precision.
        NeededFpu::Single => &[" Dfpu=\"FPU\"", " Dfpu=\"SP_FPU\""],
        NeededFpu::Double => &[" Dfpu=\"DP_FPU\""],
    };
    let dsp = match needs.dsp {
        None => "",
        Some(true) => " Ddsp=\"DSP\"",
        Some(false) => " Ddsp=\"NO_DSP\"",
    };
    let mve: &[&str] = match needs.fpu {
        _ if !needs.mve => &[""],
        NeededFpu::Either => &[" Dmve=\"MVE\"", " Dmve=\"FP_MVE\""],
        NeededFpu::Absent => &[" Dmve=\"MVE\""],
        NeededFpu::Present | NeededFpu::Single | NeededFpu::Double => &[" Dmve=\"FP_MVE\""],
    };
    let pairs = fpu.iter().flat_map(|fpu| mve.iter().map(move |mve| (fpu, mve)));
    pairs.map(|(fpu, mve)| format!("      <accept Dcore=\"{core}\"{fpu}{dsp}{mve}/>")).collect::<Vec<_>>().join("\n")
}

/// Returns a condition of the preprocessor. `upper` is the prefix of macros in `header.h`.
fn macros(machine: &Machine, needs: Needs, upper: &str) -> String {
    let doubles = (needs.fpu == NeededFpu::Double).then_some("defined(__ARM_FP) && (__ARM_FP & 8) != 0");
    let dsp = (needs.dsp == Some(true)).then_some("defined(__ARM_FEATURE_DSP)");
    let of_core = machine.macros.replace('@', upper);
    [of_core.as_str()].into_iter().chain(doubles).chain(dsp).collect::<Vec<_>>().join(" && ")
}
