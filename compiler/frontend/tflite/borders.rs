//! Borders of one value, around extents and by amounts that may be known only when the model runs.

use super::error::invalid;
use super::extents::ListItem;
use super::operator::{Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Extent, Scalar, TensorType, Value};

impl Operator<'_, '_, '_> {
    /// Amounts before and after each dimension, from an operand `[rank, 2]`; none is negative.
    pub fn amounts(&mut self, operand: &Operand, rank: usize) -> Result<[Vec<Extent>; 2], Diagnostic> {
        let items = self.extent_list(operand, "paddings", &[])?;
        if items.len() != 2 * rank {
            return Err(
                invalid(codes::SHAPES_DIFFER, "the paddings do not fit the rank").expected((2 * rank).to_string(), items.len().to_string())
            );
        }
        let mut lists = [Vec::new(), Vec::new()];
        for (position, &item) in items.iter().enumerate() {
            let small = |extent: &Extent| self.interval(*extent).high <= i64::from(i32::MAX);
            let found = |item: ListItem| if let ListItem::Number(n) = item { n.to_string() } else { "more".into() };
            let amount = item.extent().filter(small).ok_or_else(|| {
                invalid(codes::OPTION_RANGE, "a padding is negative or too large").expected("0 to 2147483647", found(item))
            })?;
            lists[position % 2].push(amount);
        }
        Ok(lists)
    }

    /// Appends a border of one value; amounts are not negative where the extent is known only when the model runs.
    pub fn pad(&mut self, value: Value, low: &[i64], high: &[i64], number: Scalar) -> Result<Value, Diagnostic> {
        let padded = self.padded(value, low, high)?;
        Ok(self.lowering.graph.builder.pad_to(value, low.to_vec(), high.to_vec(), number, padded)?)
    }

    /// Appends a border of one value by amounts that may be known only when the model runs: those are joined to the sides.
    pub fn border(&mut self, value: Value, low: &[Extent], high: &[Extent], number: Scalar) -> Result<Value, Diagnostic> {
        let (first, last) = (numbers(low, Some(0)), numbers(high, Some(0)));
        let mut value = self.pad(value, &first.unwrap_or_default(), &last.unwrap_or_default(), number)?;
        for d in 0..low.len() {
            let open = |amount: Extent| if amount.as_static().is_some() { Extent::Static(0) } else { amount };
            value = self.joined_border(value, d, [open(low[d]), open(high[d])], number)?;
        }
        Ok(value)
    }

    fn joined_border(&mut self, value: Value, dimension: usize, amounts: [Extent; 2], number: Scalar) -> Result<Value, Diagnostic> {
        let mut shape = self.extents_of(value);
        let (mut parts, mut joined) = (vec![value], shape[dimension]);
        for (place, amount) in [(0, amounts[0]), (1, amounts[1])] {
            if amount != Extent::Static(0) {
                shape[dimension] = amount;
                let number = self.lowering.graph.builder.literal(TensorType::of(number.element(), &[]), number.to_bytes().to_vec())?;
                let side = self.broadcast_to(number, &shape)?;
                parts.insert(if place == 0 { 0 } else { parts.len() }, side);
                joined = self.graph().add(joined, amount)?;
            }
        }
        if parts.len() == 1 { Ok(value) } else { Ok(self.lowering.graph.builder.concat_to(&parts, dimension, joined)?) }
    }

    /// The extents of a value with a border, where some are known only when the model runs; else nothing.
    pub fn padded(&mut self, value: Value, low: &[i64], high: &[i64]) -> Result<Vec<Extent>, Diagnostic> {
        let mut extents = self.extents_of(value);
        if extents.iter().all(|extent| extent.as_static().is_some()) {
            return Ok(vec![]);
        }
        for (extent, (&low, &high)) in extents.iter_mut().zip(low.iter().zip(high)) {
            let amount = low.checked_add(high).and_then(|amount| u64::try_from(amount).ok());
            let amount = amount.ok_or_else(|| invalid(codes::OPTION_RANGE, "a padding is negative or too large"))?;
            *extent = self.graph().add(*extent, Extent::Static(amount))?;
        }
        Ok(extents)
    }
}

/// Extents as numbers, with another number for those that are known only when the model runs, if there is one.
pub(super) fn numbers(list: &[Extent], open: Option<i64>) -> Option<Vec<i64>> {
    list.iter().map(|extent| extent.as_static().map_or(open, |n| i64::try_from(n).ok())).collect()
}

/// No border on images and channels, and amounts on the dimensions between.
pub(super) fn around(amounts: &[Extent]) -> Vec<Extent> {
    [&extents(&[0]), amounts, &extents(&[0])].concat()
}
