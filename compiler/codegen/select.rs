//! Which back end a machine has.

use super::CodegenError;
use super::a64::Arm;
use super::back_end::BackEnd;
use super::clif::Cranelift;
use super::x86::Wide;
use crate::machine::{Isa, Machine};
use crate::target::Target;

/// Makes a back end from Cranelift, which compiles the driver everywhere.
type Maker = for<'a> fn(&'a Machine, Cranelift<'a>) -> Box<dyn BackEnd + 'a>;

/// The back ends of our own: the instruction set, the bytes of a vector, and what makes one.
const OWN: &[(Isa, u16, Maker)] = &[(Isa::X86_64, 32, wide), (Isa::X86_64, 64, wide), (Isa::Aarch64, 16, arm)];

fn wide<'a>(machine: &'a Machine, driver: Cranelift<'a>) -> Box<dyn BackEnd + 'a> {
    Box::new(Wide::new(machine, driver))
}

fn arm<'a>(machine: &'a Machine, driver: Cranelift<'a>) -> Box<dyn BackEnd + 'a> {
    Box::new(Arm::new(machine, driver))
}

/// The back end of a machine on a target.
///
/// # Errors
/// [`CodegenError::Unsupported`] when no back end generates code for the machine on this target.
pub fn back_end<'a>(machine: &'a Machine, target: &Target) -> Result<Box<dyn BackEnd + 'a>, CodegenError> {
    let cranelift = Cranelift::new(machine, &target.triple())?;
    let is_of = |isa: Isa, bytes: u16| machine.isa() == Some(isa) && machine.vector_bytes() == bytes;
    Ok(match OWN.iter().find(|(isa, bytes, _)| is_of(*isa, *bytes)) {
        Some((_, _, make)) => make(machine, cranelift),
        None => Box::new(cranelift),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::machine::{GPUS, MACHINES};
    use crate::target::{TARGETS, target};

    /// Every machine has a back end on the targets of its instruction set, and none on the others.
    #[test]
    fn machines_have_back_ends_on_their_targets() {
        for (machine, target) in MACHINES.iter().flat_map(|machine| TARGETS.iter().map(move |target| (machine, target))) {
            match back_end(machine, target) {
                Ok(back_end) => {
                    assert_eq!(machine.isa(), Some(target.isa), "{} on {}", machine.level, target.name);
                    assert!(!back_end.kernel(&Kernel::default()).unwrap().bytes.is_empty());
                }
                Err(CodegenError::Unsupported(_)) => assert_ne!(machine.isa(), Some(target.isa), "{} on {}", machine.level, target.name),
                Err(CodegenError::Bug(what)) => panic!("{} on {}: {what}", machine.level, target.name),
            }
        }
    }

    #[test]
    fn a_gpu_has_no_back_end() {
        let error = back_end(&GPUS[0], target("x86_64-unknown-linux-gnu").unwrap()).err();
        assert!(matches!(&error, Some(CodegenError::Unsupported(what)) if what.contains("vulkan1.1")), "{error:?}");
    }
}
