//! modelc
fn main() {}
