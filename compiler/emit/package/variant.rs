//! Machines of a package, each with a library of its own, and what it needs of a core.

use super::machines::{Fpu, Machine, variant_name};
use crate::emit::RiscvAbi;
use crate::target::Target;

/// A machine of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name of the variant and of its folder.
    pub name: String,
    pub(super) machine: Machine,
    /// Float ABI of the object on RISC-V.
    pub(super) abi: RiscvAbi,
    /// Machines of other variants with the same core.
    pub(super) siblings: Vec<Machine>,
}

/// Units that a core must have for a variant, or must not have because another variant is for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Floating-point unit.
    pub fpu: NeededFpu,
    /// `true` for DSP instructions, `false` for a core without them; `None` for either.
    pub dsp: Option<bool>,
    /// `true` for vectors of MVE.
    pub mve: bool,
}

/// A floating-point unit that a core must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeededFpu {
    /// Any, or none.
    Either,
    /// No unit.
    Absent,
    /// Any unit.
    Present,
    /// A unit without binary64.
    Single,
    /// A unit with binary64.
    Double,
}

impl Variant {
    /// Returns what the variant needs of a core. `uses_floats` tells if its code uses floats.
    pub(super) fn needs(&self, uses_floats: bool) -> Needs {
        let has_sibling = |fpu| self.siblings.iter().any(|machine| machine.fpu == fpu);
        let Machine { fpu, dsp, mve, .. } = self.machine;
        let fpu = match fpu {
            Fpu::Absent if has_sibling(Fpu::Single) || has_sibling(Fpu::Double) => NeededFpu::Absent,
            Fpu::Single if has_sibling(Fpu::Double) => NeededFpu::Single,
            Fpu::Single if uses_floats || has_sibling(Fpu::Absent) => NeededFpu::Present,
            Fpu::Double if uses_floats || has_sibling(Fpu::Absent) || has_sibling(Fpu::Single) => NeededFpu::Double,
            Fpu::Absent | Fpu::Single | Fpu::Double => NeededFpu::Either,
        };
        let dsp = if dsp { Some(true) } else { self.siblings.iter().any(|machine| machine.dsp).then_some(false) };
        Needs { fpu, dsp, mve }
    }
}

/// Returns the variants of a package, one for each different machine, in the order of their names.
pub fn variants<'t>(targets: impl IntoIterator<Item = (&'t Target, &'t str)>) -> Vec<Variant> {
    let one = |(target, level): (&Target, &str)| Variant {
        name: variant_name(target, level),
        machine: Machine::of(target, level),
        abi: RiscvAbi::of(target),
        siblings: vec![],
    };
    let mut variants: Vec<Variant> = targets.into_iter().map(one).collect();
    variants.sort_by(|a, b| a.name.cmp(&b.name));
    variants.dedup_by(|a, b| a.name == b.name);
    let machines: Vec<Machine> = variants.iter().map(|variant| variant.machine).collect();
    for (number, variant) in variants.iter_mut().enumerate().filter(|(_, variant)| !variant.machine.cmsis.is_empty()) {
        let others = machines.iter().enumerate().filter(|(other, machine)| *other != number && machine.cmsis == variant.machine.cmsis);
        variant.siblings = others.map(|(_, machine)| *machine).collect();
    }
    variants
}
