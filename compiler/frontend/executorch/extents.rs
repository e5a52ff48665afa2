//! Extents that are known only at run time.
//!
//! A file does not say which dimensions of an input vary: a dynamic input only has bounds. The rules are:
//!
//! - Each dimension of a dynamic input may have any extent from 1 to its bound. `--bound` gives a smaller bound, `--shape` fixes the shape.
//! - Requirements of operators narrow the range. Weights, a static tensor or a list of sizes may require a number: the extent is then this number in
//!   every call. Two extents may have to be equal: then they are equal. The compiled code checks shapes before it runs (`MODELC_E_SHAPE`).
//! - A computed extent, such as the rows of a convolution's result, may have to be a number, too. If it is the computed extent's maximum, the extents
//!   that it is computed from are at their bounds. If a smaller extent of the input suffices, as for a slice that ends before the input does, it
//!   becomes the input's minimum.
//! - Extents that are computed differently and always equal are merged (`operators/graph/forms.rs`). They may be equal only from some extent of an
//!   input on, since a subtrahend must not exceed it. This extent is then the input's minimum.
//! - An extent may be halved and doubled again, and then have to be equal to itself, as in skip connections. It is then a multiple of two, of four
//!   and so on.
//! - An integer that the program reads from a tensor may define another tensor's size. It is then at most the other tensor's bound. A call with a
//!   larger one ends with an error.
//! - Extents that must be equal, but are not by these rules, are compared at run time.
//! - All other extents are known only at run time.
//!
//! Requirements found during translation hold for the whole program. They are noted as facts (`operators/graph/facts.rs`), and the program is
//! translated again.

use super::fault::Fault;
use super::registers::Register;
use super::translate::Translator;
use crate::ir::{Extent, Op, Value};
use crate::operators::Error;
use crate::operators::graph::facts::{Facts, InputExtent, ReadInteger};
use crate::operators::graph::narrowing::Narrowing;
use crate::operators::graph::solving::{MOST_FOLLOWED, grows_with, value_at};

impl Translator<'_, '_> {
    /// Requires two extents to be equal.
    ///
    /// # Errors
    /// When they are not; [`Fault::Consequence`] when that was not known and holds from the next translation on.
    pub fn equate(&mut self, a: Extent, b: Extent) -> Result<(), Fault> {
        let function = self.graph.function();
        let (a, b) = (function.resolved(a), function.resolved(b));
        if a == b {
            return Ok(());
        }
        if let (Extent::Static(a), Extent::Static(b)) = (a, b) {
            return Err(Fault::invalid("two extents that have to be equal differ").expected(a.to_string(), b.to_string()));
        }
        match self.graph.equate(a, b) {
            Ok(()) => Ok(()),
            Err(Error::FixedExtent { .. } | Error::UnrelatedExtents { .. }) => Err(self.narrow(a, b)),
            Err(error) => Err(error.into()),
        }
    }

    /// Requires two shapes to have as many elements. If this cannot be decided here, the reshape checks it at run time.
    ///
    /// # Errors
    /// The errors of [`Self::equate`].
    pub fn fill(&mut self, from: &[Extent], to: &[Extent]) -> Result<(), Fault> {
        let function = self.graph.function();
        let (Some(mut from), Some(mut to)) = (function.size(from), function.size(to)) else { return Err(Error::TooManyElements.into()) };
        from.extents.retain(|extent| match to.extents.iter().position(|other| other == extent) {
            Some(common) => {
                to.extents.swap_remove(common);
                false
            }
            None => true,
        });
        match (&from.extents[..], &to.extents[..]) {
            ([], []) if from.known != to.known => Err(Fault::invalid("the elements do not fill the shape")
                .expected(format!("{} elements a slice", from.known), to.known.to_string())),
            (&[x], []) if from.known > 0 && to.known.is_multiple_of(from.known) => {
                self.equate(Extent::Value(x), Extent::Static(to.known / from.known))
            }
            ([], &[y]) if to.known > 0 && from.known.is_multiple_of(to.known) => {
                self.equate(Extent::Value(y), Extent::Static(from.known / to.known))
            }
            (&[x], &[y]) if from.known == to.known => self.equate(Extent::Value(x), Extent::Value(y)),
            (many, []) => self.fill_at_bounds(many, from.known, to.known),
            _ => Ok(()),
        }
    }

    /// Requires extents to equal the static sizes of a shape with one open size, if several extents vary. It matches sizes from both ends up to the
    /// open one, as long as extents have the sizes as bounds. Extents of 1 are skipped. With a single varying extent nothing is required, since it is
    /// the open size.
    ///
    /// # Errors
    /// The errors of [`Self::equate`].
    pub fn agree_beside_open(&mut self, from: &[Extent], to: &[Extent], open: usize) -> Result<(), Fault> {
        if from.iter().filter(|extent| extent.as_static().is_none()).count() < 2 {
            return Ok(());
        }
        let mut rest: Vec<Extent> = from.iter().rev().copied().collect();
        let before = self.agreeing(&mut rest, to[..open].iter());
        rest.reverse();
        let after = self.agreeing(&mut rest, to[open + 1..].iter().rev());
        let mut outcome = Ok(());
        for (extent, number) in before.into_iter().chain(after) {
            outcome = self.equate(extent, number).and(outcome);
        }
        outcome
    }

    /// Removes extents from the end of a list as long as their bounds equal the next numbers. Returns the pairs.
    fn agreeing<'n>(&self, extents: &mut Vec<Extent>, numbers: impl Iterator<Item = &'n Extent>) -> Vec<(Extent, Extent)> {
        let mut pairs = Vec::new();
        for &number in numbers {
            while number != Extent::Static(1) && extents.pop_if(|&mut extent| self.graph.bound(extent) == 1).is_some() {}
            match extents.pop_if(|&mut extent| Some(self.graph.bound(extent)) == number.as_static()) {
                Some(extent) => pairs.push((extent, number)),
                None if number == Extent::Static(1) => {}
                None => break,
            }
        }
        pairs
    }

    /// Extents whose product with a number must be another: each is at its bound if they must all be.
    fn fill_at_bounds(&mut self, extents: &[Value], known: u64, product: u64) -> Result<(), Fault> {
        let bounds: Vec<u64> = extents.iter().map(|&extent| self.graph.bound(Extent::Value(extent))).collect();
        if bounds.iter().try_fold(known, |product, &bound| product.checked_mul(bound)) != Some(product) {
            return Ok(());
        }
        let mut outcome = Ok(());
        for (&extent, bound) in extents.iter().zip(bounds) {
            outcome = self.equate(Extent::Value(extent), Extent::Static(bound)).and(outcome);
        }
        outcome
    }

    /// Notes the conditions on inputs under which two unrelated extents are equal. Returns the fault to report.
    pub fn narrow(&mut self, a: Extent, b: Extent) -> Fault {
        if self.narrow_in_method(a, b) {
            return Fault::Consequence;
        }
        self.shared.unrelated = true;
        let help = "give the shape of the input with --shape in0=…, or a bound for each dimension that varies with --bound in0.0=…";
        match (a, b) {
            (Extent::Value(_), Extent::Value(_)) => {
                Fault::unsupported("two dynamic dimensions must be equal, but this is not known").help(help)
            }
            _ => {
                let number = a.as_static().or(b.as_static()).unwrap_or(0);
                Fault::unsupported("an extent that is known only when the program runs would always have to be one number")
                    .expected(number.to_string(), "an extent that follows from several")
                    .help(help)
            }
        }
    }

    /// Notes the conditions for extents of the function under construction, as extents of the method's own function. Returns `true` if something was
    /// noted.
    fn narrow_in_method(&mut self, a: Extent, b: Extent) -> bool {
        let (Some(a), Some(b)) = (self.lift_to_method(a), self.lift_to_method(b)) else { return false };
        let Some(method) = self.outer.first_mut().map(|(function, _)| std::mem::take(function)) else { return self.note_equality(a, b) };
        let inner = self.graph.exchange(method);
        let noted = self.note_equality(a, b);
        let method = self.graph.exchange(inner);
        if let Some((function, _)) = self.outer.first_mut() {
            *function = method;
        }
        noted
    }

    /// Notes the conditions under which two extents of the method's own function are equal.
    pub(super) fn note_equality(&mut self, a: Extent, b: Extent) -> bool {
        if self.is_chosen(a) || self.is_chosen(b) {
            return self.note_choices(a, b);
        }
        let facts = self.shared.facts.entry(self.plan.name.clone()).or_default();
        Narrowing { graph: &self.graph, inputs: &self.measured, facts }.equate(a, b)
    }

    /// The facts about the method, if any were found so far.
    pub fn facts(&self) -> Option<&Facts> {
        self.shared.facts.get(&self.plan.name)
    }

    fn facts_mut(&mut self) -> &mut Facts {
        self.shared.facts.entry(self.plan.name.clone()).or_default()
    }

    /// The power of two that divides a dimension of an input, as found for it or for a dimension that it is equal to.
    pub fn multiple(&self, input: usize, dimension: usize) -> i64 {
        self.facts().map_or(1, |facts| facts.multiple(InputExtent { input, dimension }))
    }

    /// The maximum of the integer in a register, as far as it was found.
    pub fn most_loaded(&self, register: usize) -> i64 {
        self.facts().map_or(i64::MAX, |facts| facts.most(ReadInteger(register)))
    }

    /// Notes the maximum of an integer read from a tensor, so that a tensor of the file has room for the extent.
    ///
    /// # Errors
    /// [`Fault::Consequence`] when that was not known and holds from the next translation on.
    pub fn fit(&mut self, extent: Extent, most: u64) -> Result<(), Fault> {
        let Extent::Value(index) = self.graph.function().resolved(extent) else { return Ok(()) };
        if self.graph.bound(extent) <= most {
            return Ok(());
        }
        let function = self.graph.function();
        let Some(&[load]) = grows_with(function, index, Op::IndexLoad).as_deref() else { return Ok(()) };
        let fits = |n: i64| {
            let mut left = MOST_FOLLOWED;
            value_at(function, index, (load, n), &mut left).is_some_and(|n| u64::try_from(n).is_ok_and(|n| n <= most))
        };
        if !fits(0) {
            return Ok(());
        }
        // The extent grows with the integer.
        let (mut enough, mut beyond) = (0, 1i64 << 40);
        while beyond - enough > 1 {
            let middle = enough + (beyond - enough) / 2;
            if fits(middle) { enough = middle } else { beyond = middle }
        }
        match self.register_of_load(load) {
            Some(register) if self.facts_mut().limit(ReadInteger(register), enough) => Err(Fault::Consequence),
            _ => Ok(()),
        }
    }

    /// The register whose integer an index is read from.
    fn register_of_load(&self, load: Value) -> Option<usize> {
        let root = |index| self.graph.function().index_root(index);
        let (&tensor, _) = self.scope.loads.iter().find(|&(_, &index)| root(index) == root(load))?;
        let is_read = |register: &Register| matches!(register, Register::Loaded(definition) if definition.depth == self.outer.len() && definition.value == tensor);
        self.environment.registers.iter().position(is_read)
    }
}
