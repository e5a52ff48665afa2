//! Offsets of a program's constants in its weights.

use modelc_diagnostic::{Diagnostic, codes};
use modelc_program::Program;

/// The layout of a program's constants: one after the other, each aligned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ConstantLayout {
    /// Offset of each constant, in bytes.
    pub offsets: Vec<u64>,
    /// Total size in bytes.
    pub bytes: u64,
}

impl ConstantLayout {
    /// Largest size of embedded weights. Code reaches them within 2 GiB; some of this is left for code and for the rest of the linked program.
    const MOST_BYTES: u64 = (2 << 30) - (64 << 20);

    /// Computes the layout of a program's constants.
    pub fn new(program: &Program) -> Self {
        let mut layout = Self::default();
        for blob in &program.constants {
            let offset = program.alignment.up(layout.bytes);
            layout.offsets.push(offset);
            layout.bytes = offset + blob.data.len() as u64;
        }
        if !program.constants.is_empty() {
            // Code takes the address of empty constants too, so the section must not be empty.
            layout.bytes = layout.bytes.max(1);
        }
        layout
    }

    /// Returns the bytes of all constants of the program that the layout was computed for, with zeros between them.
    pub fn contents(&self, program: &Program) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes as usize);
        for (blob, &offset) in program.constants.iter().zip(&self.offsets) {
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(blob.data.bytes());
        }
        bytes.resize(self.bytes as usize, 0);
        bytes
    }

    /// Checks that an object can hold the constants.
    ///
    /// # Errors
    /// [`codes::WEIGHTS_TOO_LARGE`] if code cannot reach all of them.
    pub(super) fn check_size(&self) -> Result<(), Diagnostic> {
        if self.bytes <= Self::MOST_BYTES {
            return Ok(());
        }
        let message = format!("{} bytes of weights do not fit into an object", self.bytes);
        Err(Diagnostic::new(codes::WEIGHTS_TOO_LARGE, message)
            .expected(format!("at most {} bytes", Self::MOST_BYTES), self.bytes.to_string())
            .help("keep the weights in a file of their own: `--weights external`"))
    }
}
