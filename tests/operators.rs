//! `docs/OPERATORS.md` is generated from the tables of the compiler. `MODELC_BLESS=1 cargo test --test operators` writes it.

#[path = "support/bless.rs"]
mod bless;

use modelc::ir::OPS;
use modelc::ir::ScalarOp;
use std::fmt::Write;

/// Combinations of types that TFLite's reference kernels accept and modelc rejects, with the reason. Rejected operators are listed in the
/// compiler.
const TYPES_REFUSED: &str = "\n\
These combinations of types are errors, though the operator is supported and the reference kernels accept them:\n\n\
- 16-bit activations with a 32-bit bias, if the options do not say so (`quantized_bias_type`). The reference reads such a bias as 64-bit numbers.\n\
- PRELU with 16-bit slopes. The reference reads them as bytes. 8-bit slopes are supported.\n\
- Integers without scales, if the operator needs scales. The reference divides by zero.\n\
- LSTM with 12 inner scales (8-bit gates). The reference reads beyond the end of its own table of scales.\n\
- complex128 in operators that move slices by index.\n\
- Tensors of strings, in every operator.\n";

/// Decisions of modelc where reference kernels differ from each other, or from their documented purpose.
const DECIDED: &str = "\n\
## Where kernels disagree\n\n\
- Infinite results stay infinite, as in XNNPACK. LiteRT's builtin kernels give the largest finite number where the operator has a field for an \
activation, even if that is none.\n\
- SUM of 8-bit integers is TFLite Micro's. LiteRT's reference kernel reads int8 as uint8.\n\
- ARG_MAX and ARG_MIN leave NaN out. LiteRT searches rows of floats in four lanes. In rows of eight elements or more, a lane with nothing but NaN \
may hide other lanes from it.\n\
- SOFTMAX and LOG_SOFTMAX of 8-bit integers take any scale. Where it is too small to tell elements apart, they are all equal, as in LiteRT's \
optimized kernels; the reference kernels abort.\n\
- DEQUANTIZE of constants in blocks multiplies by the scales of the blocks. LiteRT's built-in kernels multiply by 0, since such a tensor has no scale of its own.\n\
- Of NaN in an XNNPACK delegate, maximum, minimum, pooling and clamps give what the runtime gives on x86.\n";

/// Limit of the characters of a line of names.
const LINE: usize = 120;

/// Formats names in lines, separated by commas.
fn in_lines(names: &[impl AsRef<str>]) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for (position, name) in names.iter().map(AsRef::as_ref).enumerate() {
        let comma = if position + 1 < names.len() { "," } else { "" };
        if !line.is_empty() && line.len() + name.len() > LINE {
            text.extend([line.as_str(), "\n"]);
            line.clear();
        }
        let space = if line.is_empty() { "" } else { " " };
        line.extend([space, name, comma]);
    }
    text + &line + "\n"
}

fn document() -> String {
    let mut text = String::from(
        "# Operators\n\nThis page is generated from the compiler's tables. An unsupported operator, or an unsupported combination of types, is an error that names \
         the operator.\n\n## Supported operators\n",
    );
    for (format, operators) in modelc::frontend::operators() {
        let _ = writeln!(text, "\n### {format}: {}\n\n```text\n{}```", operators.len(), in_lines(&operators));
    }
    text.push_str("\n## Unsupported operators of TFLite's runtime\n\n| operator | why |\n|---|---|\n");
    for (name, reason) in modelc::frontend::tflite::refused() {
        let _ = writeln!(text, "| {name} | {reason} |");
    }
    text.push_str(TYPES_REFUSED);
    text.push_str(DECIDED);
    text.push_str("\n## The tensor language\n\nAn operator with a dash is read and interpreted, but has no kernel yet.\n\n");
    text.push_str("| operator | compiled | meaning |\n|---|---|---|\n");
    for row in OPS {
        let compiled = if modelc::schedule::is_compiled(row.op) { "yes" } else { "–" };
        let _ = writeln!(text, "| `{}` | {compiled} | {} |", row.name, row.meaning);
    }
    let scalars: Vec<&str> = ScalarOp::PLAIN.iter().map(|op| op.name()).chain(["lut", "round_to"]).collect();
    let _ = writeln!(text, "\n## Scalar operations of `map`\n\n```text\n{}```", in_lines(&scalars));
    text
}

#[test]
fn the_coverage_document_is_what_the_tables_say() {
    bless::text("docs/OPERATORS.md", &document());
}

#[test]
fn rows_stand_in_the_order_of_their_operators() {
    for (position, row) in OPS.iter().enumerate() {
        assert_eq!(row.op as usize, position, "{}", row.name);
    }
}
