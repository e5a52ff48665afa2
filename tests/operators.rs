//! `docs/OPERATORS.md` is made from the tables of the compiler. `MODELC_BLESS=1 cargo test --test operators` writes it anew.

use modelc::ir::OPS;
use modelc::ir::ScalarOp;
use std::fmt::Write;
use std::path::Path;

/// Combinations of types that TFLite's reference kernels take, and why they are refused; those of whole operators are in the compiler.
const TYPES_REFUSED: &str = "\n\
Of the operators that are compiled, these combinations of types, which the reference kernels take, are errors:\n\n\
- 16-bit activations with a 32-bit bias whose options do not say so (`quantized_bias_type`): the reference reads such a bias as 64-bit numbers.\n\
- PRELU with 16-bit slopes: the reference reads them as bytes. With 8-bit slopes it is compiled.\n\
- Integers without scales where the operator is defined by them: the reference divides by zero.\n\
- LSTM with 12 inner scales (8-bit gates): the reference reads past the end of its own table of scales.\n\
- complex128 in operators that move slices by index.\n";

fn document() -> String {
    let mut text = String::from(
        "# Operators\n\nMade from the compiler's tables; a test compares. An operator or combination of types that is not compiled is an error that \
         names it.\n\n## What front ends read\n",
    );
    for (format, operators) in modelc::frontend::operators() {
        let _ = writeln!(text, "\n### {format}: {}\n\n{}", operators.len(), operators.join(", "));
    }
    text.push_str("\n## What TFLite's runtime has and modelc refuses\n\n| operator | why |\n|---|---|\n");
    for (name, reason) in modelc::frontend::tflite::refused() {
        let _ = writeln!(text, "| {name} | {reason} |");
    }
    text.push_str(TYPES_REFUSED);
    text.push_str("\n## The tensor language\n\nRows marked with a dash are read and interpreted, and have no kernel yet.\n\n");
    text.push_str("| operator | compiled | meaning |\n|---|---|---|\n");
    for row in OPS {
        let compiled = if modelc::schedule::is_compiled(row.op) { "yes" } else { "–" };
        let _ = writeln!(text, "| `{}` | {compiled} | {} |", row.name, row.meaning);
    }
    let scalars: Vec<String> = ScalarOp::PLAIN.iter().map(|op| format!("`{}`", op.name())).collect();
    let _ = writeln!(text, "\n## Scalar operations of `map`\n\n{}, and `lut`, `round_to`.", scalars.join(", "));
    text
}

#[test]
fn the_coverage_document_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATORS.md");
    let wanted = document();
    if std::env::var_os("MODELC_BLESS").is_some() {
        std::fs::write(&path, &wanted).expect("the document can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/OPERATORS.md is out of date: run MODELC_BLESS=1 cargo test --test operators");
}

#[test]
fn rows_stand_in_the_order_of_their_operators() {
    for (position, row) in OPS.iter().enumerate() {
        assert_eq!(row.op as usize, position, "{}", row.name);
    }
}
