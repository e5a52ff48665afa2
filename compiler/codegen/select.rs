//! Selection of the back end of a machine.

use super::back_end::BackEnd;
use super::clif::Cranelift;
use super::driver::language::KernelConvention;
use super::own::LongBackEnd;
use super::own::words::WordBackEnd;
use super::{CodegenError, Unsupported};
use super::{a64, rv32, thumb, x86};
use modelc_machine::{CpuMachine, Extension, Isa};
use modelc_target::Target;

/// A function that makes the back end of a machine on a target.
type Maker = for<'a> fn(&'a CpuMachine, &Target) -> Made<'a>;
type Made<'a> = Result<Box<dyn BackEnd + 'a>, CodegenError>;

/// Our own back ends: instruction set, least extension, and constructor.
const OWN: &[(Isa, Option<Extension>, Maker)] =
    &[(Isa::X86_64, Some(Extension::Avx2), wide), (Isa::Aarch64, None, arm), (Isa::Thumb, None, words), (Isa::Riscv32, None, words)];

fn wide<'a>(machine: &'a CpuMachine, target: &Target) -> Made<'a> {
    let driver = cranelift(machine, target)?;
    Ok(Box::new(LongBackEnd::new(machine, x86::KERNELS, driver.system_v(), driver)))
}

fn arm<'a>(machine: &'a CpuMachine, target: &Target) -> Made<'a> {
    Ok(Box::new(LongBackEnd::new(machine, a64::KERNELS, KernelConvention::Target, cranelift(machine, target)?)))
}

fn words<'a>(machine: &'a CpuMachine, target: &Target) -> Made<'a> {
    match target.isa {
        isa if machine.isa != isa => Err(Unsupported::OtherTarget { level: machine.level, target: target.name.to_string() }.into()),
        Isa::Riscv32 => Ok(Box::new(WordBackEnd::new(machine, rv32::COMPILERS))),
        _ => Ok(Box::new(WordBackEnd::new(machine, thumb::compilers(machine)))),
    }
}

/// Makes Cranelift's back end, which compiles the driver of 64-bit machines.
fn cranelift<'a>(machine: &'a CpuMachine, target: &Target) -> Result<Cranelift<'a>, CodegenError> {
    Cranelift::new(machine, &target.triple())
}

/// Makes the back end of a machine on a target.
///
/// # Errors
/// [`CodegenError::Unsupported`] if no back end generates code for the machine on this target.
pub fn back_end<'a>(machine: &'a CpuMachine, target: &Target) -> Made<'a> {
    let is_of = |isa: Isa, least: Option<Extension>| machine.isa == isa && least.is_none_or(|least| machine.has(least));
    match OWN.iter().find(|(isa, least, _)| is_of(*isa, *least)) {
        Some((_, _, make)) => make(machine, target),
        None => Ok(Box::new(cranelift(machine, target)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::Kernel;
    use modelc_machine::{MACHINES, MICROCONTROLLERS};
    use modelc_target::TARGETS;

    /// Checks that every machine has a back end on the targets of its instruction set, and none on the others.
    #[test]
    fn machines_have_back_ends_on_their_targets() {
        let machines = MACHINES.iter().chain(MICROCONTROLLERS);
        for (machine, target) in machines.flat_map(|machine| TARGETS.iter().map(move |target| (machine, target))) {
            match back_end(machine, target) {
                Ok(back_end) => {
                    assert_eq!(machine.isa, target.isa, "{} on {}", machine.level, target.name);
                    assert!(!back_end.kernel(&Kernel::default()).unwrap().bytes.is_empty());
                }
                Err(CodegenError::Unsupported(_)) => assert_ne!(machine.isa, target.isa, "{} on {}", machine.level, target.name),
                Err(bug) => panic!("{} on {}: {bug}", machine.level, target.name),
            }
        }
    }
}
