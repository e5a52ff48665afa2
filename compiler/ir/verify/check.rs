//! Rules with the mistake of breaking them.

use super::mistake::{Mistake, VerifyError};

/// The outcome of a check.
pub(super) type Check = Result<(), VerifyError>;

/// Requires a condition.
pub(super) fn require(condition: bool, mistake: impl FnOnce() -> Mistake) -> Check {
    if condition { Ok(()) } else { Err(VerifyError::new(mistake())) }
}
