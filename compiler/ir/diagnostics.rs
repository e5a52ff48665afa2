//! Diagnostics of operators and expressions that cannot be typed. Front ends add the place in the file.

use super::TypeError;
use super::scalar::ExpressionError;
use modelc_diagnostic::{Diagnostic, codes};

impl From<TypeError> for Diagnostic {
    fn from(error: TypeError) -> Self {
        Self::new(codes::OPERAND_TYPES, format!("the operands do not match each other ({error})"))
    }
}

impl From<ExpressionError> for Diagnostic {
    fn from(error: ExpressionError) -> Self {
        Self::new(codes::ARITHMETIC_UNSUPPORTED, format!("the arithmetic is not defined on these types ({error})"))
    }
}
