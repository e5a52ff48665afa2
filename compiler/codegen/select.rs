//! Which back end a machine has.

use super::back_end::BackEnd;
use super::clif::Cranelift;
use super::{CodegenError, x86};
use crate::machine::Machine;
use crate::target::Target;

/// The back end of a machine on a target.
///
/// # Errors
/// [`CodegenError::Unsupported`] when no back end generates code for the machine on this target.
pub fn back_end<'a>(machine: &'a Machine, target: &Target) -> Result<Box<dyn BackEnd + 'a>, CodegenError> {
    let cranelift = Cranelift::new(machine, &target.triple())?;
    Ok(if x86::has(machine) { Box::new(x86::Wide::new(machine, cranelift)) } else { Box::new(cranelift) })
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
