//! Two transposes that meet through a reshape. For example, a convolution's image is transposed to planes, its pixels are merged, and the result is
//! transposed back.
//!
//! A transpose moves behind a reshape that only splits dimensions, merges neighbours, or moves dimensions of one element. It thus gets closer to the
//! results.
//!
//! The reshape divides the dimensions of its operand and of its result into *factors*. A factor belongs to one dimension on each side.
//! On factors, all three instructions are a single transpose between two reshapes.

use super::edit::{Edit, Visit, rewrite};
use crate::ir::*;

/// Merges transposes that meet through a reshape.
pub(super) fn meet(module: &mut Module) -> bool {
    rewrite(module, |edit, inst| match edit.function.insts[inst].op() {
        Op::Transpose => transposes(edit, inst).map_or(Visit::Keep, Visit::Replace),
        _ => Visit::Keep,
    })
}

/// Merges a transpose of a reshape of a transpose into one transpose of the source, or into a reshape.
///
/// If others read the intermediate values too, both transposes stay, unless the elements are back in order.
fn transposes(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let Operation::Transpose(outer) = &data.operation else { return None };
    let reshaped = data.operands[0];
    let turned = edit.defined_by(reshaped, Op::Reshape)?.operands[0];
    let (inner, source) = edit.transpose(turned)?;
    let shape = |value: Value| &edit.function.tensor(value).shape;
    let factors = Factors::between(shape(turned), shape(reshaped))?;
    let dimensions = factors.of_source(inner);
    let order: Vec<usize> = outer.permutation.iter().flat_map(|&dimension| factors.after[dimension].iter().copied()).collect();
    let whole = shape(data.results[0]).clone();
    if dimensions.concat() == order {
        return Some(vec![edit.insert_one(operators::Reshape { shape: whole }, &[source])?]);
    }
    if edit.uses[turned] > 1 || edit.uses[reshaped] > 1 {
        return None;
    }
    let keeps_dimensions = dimensions.iter().all(|dimension| dimension.windows(2).all(|pair| follows(&order, pair)));
    let (units, cut) = if keeps_dimensions {
        (dimensions, source)
    } else {
        let runs = factors.runs(&dimensions.concat(), &order);
        let shape = runs.iter().map(|run| factors.extent(run)).collect::<Option<_>>()?;
        (runs, edit.insert_one(operators::Reshape { shape }, &[source])?)
    };
    let place = |unit: usize| units[unit].first().and_then(|first| order.iter().position(|factor| factor == first));
    let mut permutation: Vec<usize> = (0..units.len()).collect();
    permutation.sort_by_key(|&unit| place(unit));
    let turned = edit.insert_one(operators::Transpose { permutation }, &[cut])?;
    Some(vec![edit.insert_one(operators::Reshape { shape: whole }, &[turned])?])
}

/// Moves a reshape in front of a transpose. The reshape must only split dimensions, or merge dimensions that are neighbours before the transpose, or
/// move extents of 1.
///
/// Tokens thus become a planar image whose operators meet the transpose directly. Groups of channels become channels. An image of one column becomes
/// a row.
pub(super) fn in_front(edit: &mut Edit<'_>, inst: Inst) -> Option<Vec<Value>> {
    let data = &edit.function.insts[inst];
    let turned = data.operands[0];
    let (inner, source) = edit.transpose(turned).filter(|_| edit.uses[turned] == 1)?;
    let after = edit.function.tensor(data.results[0]).shape.clone();
    let factors = Factors::between(&edit.function.tensor(turned).shape, &after)?;
    let order = factors.of_source(inner).concat();
    if !factors.split() && !factors.merge(&order) && !factors.keep() {
        return None;
    }
    // Dimensions of one element come first.
    let place = |&dimension: &usize| factors.after[dimension].first().map(|factor| order.iter().position(|other| other == factor));
    let mut dimensions: Vec<usize> = (0..after.len()).collect();
    dimensions.sort_by_key(place);
    let mut permutation = vec![0; after.len()];
    dimensions.iter().enumerate().for_each(|(place, &dimension)| permutation[dimension] = place);
    let shape = dimensions.iter().map(|&dimension| after[dimension]).collect();
    let image = edit.insert_one(operators::Reshape { shape }, &[source])?;
    Some(vec![edit.insert_one(operators::Transpose { permutation }, &[image])?])
}

/// Tests whether the second of two factors comes right after the first.
fn follows(order: &[usize], pair: &[usize]) -> bool {
    order.windows(2).any(|next| next == pair)
}

/// The factors of the dimensions of two shapes with the same number of elements. Each dimension is a product of some factors.
pub(super) struct Factors {
    extents: Vec<Extent>,
    /// The factors of each dimension before the reshape, the outermost first. Extents of 1 have none.
    before: Vec<Vec<usize>>,
    /// The factors of each dimension after the reshape.
    pub after: Vec<Vec<usize>>,
}

impl Factors {
    /// Computes the common factors. `None` if a factor would belong to two dimensions of one side.
    pub fn between(before: &[Extent], after: &[Extent]) -> Option<Self> {
        let mut found = Self { extents: vec![], before: vec![vec![]; before.len()], after: vec![vec![]; after.len()] };
        let large =
            |shape: &[Extent]| shape.iter().copied().enumerate().filter(|(_, extent)| *extent != Extent::Static(1)).collect::<Vec<_>>();
        let [mut before, mut after] = [large(before).into_iter(), large(after).into_iter()];
        let (mut left, mut right) = (before.next(), after.next());
        while let (Some((i, x)), Some((j, y))) = (left, right) {
            let (factor, [more_left, more_right]) = match (x, y) {
                _ if x == y => (x, [None, None]),
                (Extent::Static(x), Extent::Static(y)) if y > 0 && x % y == 0 && x > y => (Extent::Static(y), [Some(x / y), None]),
                (Extent::Static(x), Extent::Static(y)) if x > 0 && y % x == 0 && y > x => (Extent::Static(x), [None, Some(y / x)]),
                _ => return None,
            };
            found.before[i].push(found.extents.len());
            found.after[j].push(found.extents.len());
            found.extents.push(factor);
            left = more_left.map(|rest| (i, Extent::Static(rest))).or_else(|| before.next());
            right = more_right.map(|rest| (j, Extent::Static(rest))).or_else(|| after.next());
        }
        (left.is_none() && right.is_none()).then_some(found)
    }

    /// Returns the shape before the reshape of a tensor that is repeated along some dimensions after it, with extent 1 there.
    /// `None` if a dimension before the reshape is repeated only in part.
    pub fn with_repeated(&self, repeated: impl Fn(usize) -> bool) -> Option<Vec<Extent>> {
        let after = self.after.iter().enumerate().flat_map(|(dimension, factors)| factors.iter().map(move |&factor| (factor, dimension)));
        let is_repeated: Vec<bool> = after.map(|(_, dimension)| repeated(dimension)).collect();
        let extent = |dimension: &Vec<usize>| match dimension.iter().filter(|&&factor| is_repeated[factor]).count() {
            0 => self.extent(dimension),
            count => (count == dimension.len()).then_some(Extent::Static(1)),
        };
        self.before.iter().map(extent).collect()
    }

    /// Tests whether the reshape splits dimensions, and merges none.
    fn split(&self) -> bool {
        self.before.iter().any(|dimension| dimension.len() > 1) && self.after.iter().all(|dimension| dimension.len() <= 1)
    }

    /// Tests whether the reshape neither splits nor merges dimensions, but only moves extents of 1.
    fn keep(&self) -> bool {
        self.before.iter().chain(&self.after).all(|dimension| dimension.len() <= 1)
    }

    /// Tests whether the reshape merges dimensions and splits none, and merged dimensions are consecutive in an order of the factors.
    pub fn merge(&self, order: &[usize]) -> bool {
        let follow = |dimension: &Vec<usize>| dimension.windows(2).all(|pair| follows(order, pair));
        self.before.iter().all(|dimension| dimension.len() <= 1)
            && self.after.iter().any(|dimension| dimension.len() > 1)
            && self.after.iter().all(follow)
    }

    /// Returns the factors of each dimension of the source of a transpose in front of the reshape.
    pub fn of_source(&self, transpose: &operators::Transpose) -> Vec<Vec<usize>> {
        let mut dimensions = vec![vec![]; transpose.permutation.len()];
        for (&dimension, factors) in transpose.permutation.iter().zip(&self.before) {
            dimensions[dimension].clone_from(factors);
        }
        dimensions
    }

    /// The factors of `source` in runs that stay together in `order`. One of a run-time extent is a run of its own.
    fn runs(&self, source: &[usize], order: &[usize]) -> Vec<Vec<usize>> {
        let is_static = |factor: &usize| self.extents[*factor].as_static().is_some();
        let stays = |a: &usize, b: &usize| follows(order, &[*a, *b]) && is_static(a) && is_static(b);
        source.chunk_by(stays).map(<[usize]>::to_vec).collect()
    }

    /// The extent of a run.
    pub fn extent(&self, run: &[usize]) -> Option<Extent> {
        if let [factor] = run {
            return Some(self.extents[*factor]);
        }
        let product = |product: u64, factor: &usize| product.checked_mul(self.extents[*factor].as_static()?);
        run.iter().try_fold(1, product).map(Extent::Static)
    }
}
