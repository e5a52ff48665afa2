//! Saved variables of a model, which it keeps between calls.

use crate::diagnostic::Diagnostic;
use crate::interface::E_STATE;
use crate::jit::check_status;
use crate::program::Program;
use sha2::{Digest, Sha256};

/// The variables of a session at one time. They fit sessions of the same model and settings, made by the same version of modelc.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// let model = modelc::Model::open("tests/models/svdf_f32_r2.tflite")?;
/// let mut session = model.load(&modelc::Settings::new())?;
/// let before = session.state();
/// let bytes = before.as_bytes().to_vec();
/// session.set_state(&modelc::State::from_bytes(bytes))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State(Vec<u8>);

/// Bytes of the hash before the variables.
const HASH_BYTES: usize = 8;

impl State {
    /// Makes a state from the bytes of [`State::as_bytes`]. [`Session::set_state`](crate::Session::set_state) checks them.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, to be stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes a state of variables, with the hash of their layout.
    pub(super) fn new(hash: u64, variables: &[u8]) -> Self {
        Self([&hash.to_le_bytes(), variables].concat())
    }

    /// Returns the variables.
    ///
    /// # Errors
    /// MC0513 if they belong to another model.
    pub(super) fn variables(&self, hash: u64, bytes: usize) -> Result<&[u8], Diagnostic> {
        match self.0.split_first_chunk::<HASH_BYTES>() {
            Some((own, variables)) if u64::from_le_bytes(*own) == hash && variables.len() == bytes => Ok(variables),
            _ => check_status("set_state", E_STATE).map(|()| &[][..]),
        }
    }
}

/// Returns a hash of the names and offsets of a program's variables.
pub(super) fn layout_hash(program: &Program) -> u64 {
    let mut hash = Sha256::new();
    for variable in &program.variables {
        hash.update((variable.name.len() as u64).to_le_bytes());
        hash.update(&variable.name);
        hash.update(variable.offset.to_le_bytes());
        hash.update(variable.bytes.to_le_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(HASH_BYTES).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}
