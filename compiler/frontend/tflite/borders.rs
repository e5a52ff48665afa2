//! Borders of one value, around extents and by amounts that may be known only when the model runs.

use super::error::invalid;
use super::extents::ListItem;
use super::operator::{Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::Extent;

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
}

/// Returns extents as numbers, with `open` for run-time extents. `None` if a run-time extent has no such number.
pub(super) fn numbers(list: &[Extent], open: Option<i64>) -> Option<Vec<i64>> {
    list.iter().map(|extent| extent.as_static().map_or(open, |n| i64::try_from(n).ok())).collect()
}

/// No border on images and channels, and amounts on the dimensions between.
pub(super) fn around(amounts: &[Extent]) -> Vec<Extent> {
    [&extents(&[0]), amounts, &extents(&[0])].concat()
}
