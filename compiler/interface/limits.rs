//! Limits of the memory that a compiled model may require.

use super::Interface;
use modelc_diagnostic::{Diagnostic, codes};
use modelc_program::{Port, Program};

/// Limit in bytes, more than any machine has: a terabyte.
const MOST: u64 = 1 << 40;

/// Checks that a target can hold the arena, each memory area and each buffer of a model.
///
/// # Errors
/// MC0711 if one is larger than the target's address space, or than a terabyte.
pub fn check(interface: &Interface, program: &Program) -> Result<(), Diagnostic> {
    let most = if interface.layout.pointer < 8 { 1 << (8 * interface.layout.pointer) } else { MOST };
    let arena = interface.state_bytes.saturating_add(interface.scratch_bytes);
    let areas = interface.area_bytes.iter().enumerate().map(|(number, &bytes)| (format!("memory area {number}"), bytes));
    let buffer = |port: &Port| (format!("the buffer of {:?}", port.name), port.bytes);
    let ports = program.methods.iter().flat_map(|method| method.inputs.iter().chain(&method.outputs)).map(buffer);
    let parts = [("the arena".to_owned(), arena)].into_iter().chain(areas).chain(ports);
    match parts.into_iter().find(|(_, bytes)| *bytes > most) {
        None => Ok(()),
        Some((what, bytes)) => {
            let message = format!("{what} would be larger than the target can address or any machine has");
            let error = Diagnostic::new(codes::NO_MEMORY, message).expected(format!("at most {most} bytes"), format!("{bytes} bytes"));
            Err(error.help("give smaller extents: `--bound`, `--shape`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn refused(pointer: u64, scratch_bytes: u64) -> bool {
        let program = Program::default();
        let interface = Interface { scratch_bytes, ..Interface::new(&program, "net", Layout { pointer }) };
        check(&interface, &program).is_err_and(|error| error.code == codes::NO_MEMORY)
    }

    #[test]
    fn an_arena_fits_the_address_space_and_a_terabyte() {
        assert_eq!([refused(8, 5 << 32), refused(8, 1 << 41), refused(4, 5 << 32), refused(4, 1 << 20)], [false, true, true, false]);
    }
}
