//! `docs/OPERATORS.md` is made from the tables of the compiler. `MODELC_BLESS=1 cargo test --test operators` writes it anew.

use modelc::ir::ScalarOp;
use modelc::ir::op::OPS;
use std::fmt::Write;
use std::path::Path;

fn document() -> String {
    let mut text = String::from(
        "# Operators\n\nMade from the compiler's tables; a test compares. An operator or combination of types that is not compiled is an error that \
         names it.\n\n## What front ends read\n",
    );
    for (format, operators) in modelc::frontend::operators() {
        let _ = writeln!(text, "\n### {format}: {}\n\n{}", operators.len(), operators.join(", "));
    }
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
