//! The choice of operators for a GPU besides the ones that a file gives to it.

use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Module;

/// Operators that a user picks, whatever the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuOperators {
    /// All of them.
    All,
    /// Operators with a name; `*` stands for any letters, and case does not count.
    Named(String),
    /// Operators from one position in the file to another.
    From(u32, u32),
}

impl GpuOperators {
    /// Parses `all`, `A-B` or a pattern of names.
    ///
    /// # Errors
    /// A usage diagnostic for a range that ends before it begins, and for nothing.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let wrong = || Diagnostic::new(codes::OPTION, "--gpu-ops picks no operators").expected("all, NAME*, or A-B with A ≤ B", text);
        if text == "all" {
            return Ok(Self::All);
        }
        let numbers = text.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        match numbers {
            Some((first, last)) if first <= last => Ok(Self::From(first, last)),
            None if !text.is_empty() => Ok(Self::Named(text.to_lowercase())),
            _ => Err(wrong()),
        }
    }

    fn holds(&self, operator: u32, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(pattern) => is_like(pattern.as_bytes(), name.to_lowercase().as_bytes()),
            Self::From(first, last) => (*first..=*last).contains(&operator),
        }
    }

    /// Marks them in a module.
    ///
    /// # Errors
    /// A usage diagnostic where no operator is picked.
    pub fn mark(&self, module: &mut Module) -> Result<(), Diagnostic> {
        let mut found = false;
        for source in module.sources.values_mut().filter(|source| self.holds(source.operator, &source.operator_name)) {
            source.gpu = true;
            found = true;
        }
        let none =
            || Diagnostic::new(codes::OPTION, "--gpu-ops picks no operator of this model").help("see their names with modelc inspect");
        found.then_some(()).ok_or_else(none)
    }
}

/// Tests whether a name matches a pattern.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => is_like(rest, name) || !name.is_empty() && is_like(pattern, &name[1..]),
        ([a, pattern @ ..], [b, name @ ..]) => a == b && is_like(pattern, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_picked_by_name_and_by_position() {
        let holds = |text: &str, name: &str| GpuOperators::parse(text).expect("sound").holds(3, name);
        assert!(holds("all", "ADD") && holds("conv*", "CONV_2D") && holds("*2d", "CONV_2D") && holds("1-3", "ADD") && holds("3-3", "ADD"));
        assert!(!holds("conv", "CONV_2D") && !holds("4-9", "ADD") && !holds("a*b", "ADD"));
        assert!(holds("aten.*.default", "aten.mul.default"));
        assert!(GpuOperators::parse("5-2").is_err() && GpuOperators::parse("").is_err());
    }
}
