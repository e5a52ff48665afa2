//! Settings of Cranelift for a target and a CPU level.

use crate::{Bug, CodegenError, Unsupported};
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use modelc_machine::{CpuMachine, Extension, Isa};
use std::fmt::Display;
use target_lexicon::{Architecture, OperatingSystem, Triple};

/// The level of optimization of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Optimise {
    /// Kernels: no mid-end. Schedules have already ordered the instructions. Cranelift's e-graph would hoist every load of an unrolled body above its
    /// first use, which causes spills.
    Kernel,
    /// Drivers: the whole mid-end.
    Driver,
}

/// Returns the Cranelift target for kernels or drivers of one CPU level.
///
/// Code is position-independent by PC-relative references only (`is_pic` is false: no GOT). It has no frame information. It has stack probes where
/// the system needs them.
///
/// # Errors
/// [`CodegenError::Unsupported`] if the triple has another instruction set than the machine, or Cranelift does not support it.
pub fn isa_for(triple: &Triple, machine: &CpuMachine, optimise: Optimise) -> Result<OwnedTargetIsa, CodegenError> {
    let matches = match machine.isa {
        Isa::X86_64 => triple.architecture == Architecture::X86_64,
        Isa::Aarch64 => matches!(triple.architecture, Architecture::Aarch64(_)),
        Isa::Riscv64 => matches!(triple.architecture, Architecture::Riscv64(_)),
        Isa::Thumb | Isa::Riscv32 => false,
    };
    if !matches {
        return Err(Unsupported::OtherTarget { level: machine.level, target: triple.to_string() }.into());
    }
    let mut builder = isa::lookup(triple.clone()).map_err(|error| Unsupported::Target { target: triple.to_string(), error })?;
    let refused = |setting: String, why: &dyn Display| Bug::Setting { setting, why: why.to_string() };
    for flag in instruction_set_flags(machine) {
        builder.enable(flag).map_err(|why| refused(format!("flag {flag}"), &why))?;
    }
    let isa = builder.finish(shared_flags(optimise, triple.operating_system == OperatingSystem::Windows)?);
    isa.map_err(|why| refused(format!("target {triple}"), &why).into())
}

fn shared_flags(optimise: Optimise, windows: bool) -> Result<settings::Flags, CodegenError> {
    let mut flags = settings::builder();
    let opt_level = match optimise {
        Optimise::Kernel => "none",
        Optimise::Driver => "speed",
    };
    let settings = [
        ("opt_level", opt_level),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        // Windows grows a stack page by page, so a frame of more than a page must touch each page.
        ("enable_probestack", if windows { "true" } else { "false" }),
        ("probestack_strategy", "inline"),
        ("unwind_info", "false"),
        // Profilers need them to find callers.
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|why| Bug::Setting { setting: format!("setting {name}={value}"), why: why.to_string() })?;
    }
    Ok(settings::Flags::new(flags))
}

const X86_V2: &[&str] = &["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"];
const X86_V3: &[&str] = &["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"];
const X86_V4: &[&str] = &["has_avx512f", "has_avx512dq", "has_avx512vl", "has_avx512vnni"];
/// RV64GC: IMAFD with compressed instructions.
const RISCV64: &[&str] = &["has_m", "has_a", "has_f", "has_d", "has_zicsr", "has_zifencei", "has_zca", "has_zcd", "has_c"];
/// The V extension with registers of at least 128 bits.
const RISCV64_V: &[&str] = &["has_v", "zvl128b"];

/// Returns the instruction-set extensions of a CPU level, in Cranelift's names.
fn instruction_set_flags(machine: &CpuMachine) -> Vec<&'static str> {
    match machine.isa {
        Isa::X86_64 => {
            let mut flags = X86_V2.to_vec();
            if machine.has(Extension::Avx2) {
                flags.extend(X86_V3);
            }
            if machine.has(Extension::Avx512) {
                flags.extend(X86_V4);
            }
            flags
        }
        Isa::Riscv64 if machine.has(Extension::V) => [RISCV64, RISCV64_V].concat(),
        Isa::Riscv64 => RISCV64.to_vec(),
        Isa::Aarch64 | Isa::Thumb | Isa::Riscv32 => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_machine::MACHINES;

    /// Checks that every machine has a Cranelift target, for Linux and without an operating system. A wrong pair is an error.
    #[test]
    fn every_machine_has_a_target() {
        for machine in MACHINES {
            let isa = machine.isa;
            let name = match isa {
                Isa::X86_64 => "x86_64",
                Isa::Aarch64 => "aarch64",
                Isa::Riscv64 => "riscv64gc",
                Isa::Thumb | Isa::Riscv32 => unreachable!("a row of microcontrollers"),
            };
            for system in ["unknown-linux-gnu", "unknown-none-elf"] {
                let triple: Triple = format!("{name}-{system}").parse().unwrap();
                isa_for(&triple, machine, Optimise::Kernel).unwrap();
                isa_for(&triple, machine, Optimise::Driver).unwrap();
            }
            let other = if isa == Isa::X86_64 { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };
            let error = isa_for(&other.parse().unwrap(), machine, Optimise::Kernel).err().unwrap();
            assert!(matches!(error, CodegenError::Unsupported(_)), "{error}");
        }
    }
}
