//! Modifiers of cores. `+dp` is for a core whose FPU has binary64, `+nofp` for one without its FPU, `+nodsp` for one without DSP instructions.
//! `+strict-align` is for programs that trap unaligned accesses.

use modelc_diagnostic::{Diagnostic, codes};

/// A level, a modifier that fits it, and the level of both.
struct Row(&'static str, &'static str, &'static str);

/// The modifiers of each level, in the order in which levels name them.
const ROWS: &[Row] = &[
    Row("cortex-m7", "dp", "cortex-m7+dp"),
    // The FPU of these cores has binary64 in any case.
    Row("cortex-m55", "dp", "cortex-m55"),
    Row("cortex-m85", "dp", "cortex-m85"),
    Row("cortex-m33", "nodsp", "cortex-m33+nodsp"),
    Row("cortex-m4", "nofp", "cortex-m4"),
    Row("cortex-m4f", "nofp", "cortex-m4"),
    Row("cortex-m7", "nofp", "cortex-m7+nofp"),
    // Chips have this core by default.
    Row("cortex-m7+dp", "nofp", "cortex-m7+nofp"),
    Row("cortex-m33", "nofp", "cortex-m33+nofp"),
    Row("cortex-m33+nodsp", "nofp", "cortex-m33+nodsp+nofp"),
    Row("cortex-m55", "nofp", "cortex-m55+nofp"),
    Row("cortex-m85", "nofp", "cortex-m85+nofp"),
    Row("cortex-m3", STRICT, "cortex-m3+strict-align"),
    Row("cortex-m4", STRICT, "cortex-m4+strict-align"),
    Row("cortex-m4f", STRICT, "cortex-m4f+strict-align"),
    Row("cortex-m7", STRICT, "cortex-m7+strict-align"),
    Row("cortex-m7+dp", STRICT, "cortex-m7+dp+strict-align"),
    Row("cortex-m7+nofp", STRICT, "cortex-m7+nofp+strict-align"),
    Row("cortex-m33", STRICT, "cortex-m33+strict-align"),
    Row("cortex-m33+nodsp", STRICT, "cortex-m33+nodsp+strict-align"),
    Row("cortex-m33+nofp", STRICT, "cortex-m33+nofp+strict-align"),
    Row("cortex-m33+nodsp+nofp", STRICT, "cortex-m33+nodsp+nofp+strict-align"),
    Row("cortex-m55", STRICT, "cortex-m55+strict-align"),
    Row("cortex-m55+nofp", STRICT, "cortex-m55+nofp+strict-align"),
    Row("cortex-m85", STRICT, "cortex-m85+strict-align"),
    Row("cortex-m85+nofp", STRICT, "cortex-m85+nofp+strict-align"),
    // These cores have no unaligned access in any case.
    Row("cortex-m0", STRICT, "cortex-m0"),
    Row("cortex-m0plus", STRICT, "cortex-m0plus"),
    Row("cortex-m23", STRICT, "cortex-m23"),
    Row("rv32imc", STRICT, "rv32imc"),
    Row("rv32imac", STRICT, "rv32imac"),
    Row("rv32imafc", STRICT, "rv32imafc"),
];

const STRICT: &str = "strict-align";

/// Returns the level of a core with modifiers, which are separated by `+` and in any order.
///
/// # Errors
/// A usage diagnostic if a modifier does not fit the core.
pub(super) fn modified(level: &'static str, modifiers: &str) -> Result<&'static str, Diagnostic> {
    let mut wanted: Vec<&str> = modifiers.split('+').collect();
    // The rows have this order, too.
    wanted.sort_unstable();
    wanted.dedup();
    wanted.into_iter().try_fold(level, |level, modifier| {
        let row = ROWS.iter().find(|Row(of, name, _)| (*of, *name) == (level, modifier));
        row.map(|Row(.., both)| *both).ok_or_else(|| refused(level, modifier))
    })
}

fn refused(level: &str, modifier: &str) -> Diagnostic {
    let fits: Vec<String> = ROWS.iter().filter(|Row(of, ..)| *of == level).map(|Row(_, name, _)| format!("+{name}")).collect();
    let error = Diagnostic::new(codes::UNKNOWN_LEVEL, format!("{level} does not take +{modifier}"));
    if fits.is_empty() {
        error.help(format!("{level} takes no modifier"))
    } else {
        error.help(format!("{level} takes {}", fits.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_in_any_order_and_must_fit() {
        for (level, modifiers, expected) in [
            ("cortex-m4f", "nofp", "cortex-m4"),
            ("cortex-m33", "nofp+nodsp", "cortex-m33+nodsp+nofp"),
            ("cortex-m33", "strict-align+nofp+nodsp", "cortex-m33+nodsp+nofp+strict-align"),
            ("cortex-m0plus", "strict-align", "cortex-m0plus"),
            ("cortex-m7", "strict-align+dp", "cortex-m7+dp+strict-align"),
            ("cortex-m55", "dp", "cortex-m55"),
        ] {
            assert_eq!(modified(level, modifiers), Ok(expected), "{level}+{modifiers}");
        }
        for (level, modifiers, help) in [
            ("cortex-m3", "nofp", "takes +strict-align"),
            ("cortex-m7", "nodsp", "takes +dp, +nofp, +strict-align"),
            ("cortex-m4f", "dp", "takes +nofp, +strict-align"),
            ("cortex-m33", "", "takes +nodsp, +nofp, +strict-align"),
            ("riscv64", "nofp", "takes no modifier"),
        ] {
            let error = modified(level, modifiers).unwrap_err();
            assert!(error.help.as_deref().is_some_and(|text| text.ends_with(help)), "{level}+{modifiers}: {error:?}");
        }
    }
}
