//! Diagnostics of damaged files and unsupported features.

use crate::diagnostic::{self, Diagnostic, codes};
use crate::operators::Error;

/// A mistake in the file.
pub(super) fn invalid(code: diagnostic::Code, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, message)
}

/// A sound use that is not compiled.
pub(super) fn unsupported(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::USE_UNSUPPORTED, message)
}

pub(super) fn missing_options() -> Diagnostic {
    invalid(codes::OPTIONS_MISSING, "the operator's options are missing")
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Type(error) => return error.clone().into(),
            Error::Expression(error) => return error.clone().into(),
            _ if error.is_limit() => codes::USE_UNSUPPORTED,
            Error::DimensionTooLarge | Error::TooManyElements | Error::ImageTooLarge => codes::TOO_MANY_ELEMENTS,
            Error::ScaleRatio { .. }
            | Error::ActivationScale { .. }
            | Error::ScaleTimesBeta { .. }
            | Error::GateScale { .. }
            | Error::CellScale { .. }
            | Error::NormScale { .. } => codes::SCALE,
            Error::Groups { .. } | Error::NoBlocks { .. } => codes::SHAPES_DIFFER,
            Error::NoMatrix { .. } | Error::NoImage { .. } | Error::RanksDiffer { .. } => codes::RANK,
            Error::NoIndex { .. } => codes::ELEMENT_TYPE,
            Error::Coordinates { .. } => codes::SHAPES_DIFFER,
            Error::Crops { .. } | Error::OutsideAxis { .. } | Error::BorderTooWide { .. } => codes::SLICE_RANGE,
            Error::WindowStep { .. } | Error::WindowMisfit { .. } | Error::WindowTooLarge | Error::WindowOutside | Error::ZeroDivisor => {
                codes::OPTION_RANGE
            }
            _ => codes::AXIS,
        };
        let diagnostic = Self::new(code, error.to_string());
        let diagnostic = match error.expectation() {
            Some((expected, found)) => diagnostic.expected(expected, found),
            None => diagnostic,
        };
        error.help().map_or(diagnostic.clone(), |help| diagnostic.help(help))
    }
}
