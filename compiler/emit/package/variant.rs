//! Machines of a package, each with a library of its own.

use super::machines::{Machine, variant_name};
use crate::target::Target;

/// A machine of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name of the variant and of its folder.
    pub name: String,
    pub(super) machine: Machine,
    /// `true` if another variant has the same core without FPU.
    pub(super) beside_plain: bool,
    /// `true` if another variant has the same core with FPU.
    pub(super) beside_fpu: bool,
}

/// Returns the variants of a package, one for each different machine, in the order of their names.
pub fn variants<'t>(targets: impl IntoIterator<Item = (&'t Target, &'t str)>) -> Vec<Variant> {
    let one = |(target, level): (&Target, &str)| Variant {
        name: variant_name(target, level),
        machine: Machine::of(target, level),
        beside_plain: false,
        beside_fpu: false,
    };
    let mut variants: Vec<Variant> = targets.into_iter().map(one).collect();
    variants.sort_by(|a, b| a.name.cmp(&b.name));
    variants.dedup_by(|a, b| a.name == b.name);
    let cores: Vec<(&str, bool)> = variants.iter().map(|variant| (variant.machine.cmsis, variant.machine.has_fpu)).collect();
    for variant in variants.iter_mut().filter(|variant| !variant.machine.cmsis.is_empty()) {
        let has_sibling = |fpu| variant.machine.has_fpu != fpu && cores.contains(&(variant.machine.cmsis, fpu));
        (variant.beside_plain, variant.beside_fpu) = (has_sibling(false), has_sibling(true));
    }
    variants
}
