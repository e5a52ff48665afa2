//! Shapes that the proposals of operators which move elements need.

use super::draft::Draft;
use super::supply::Generator;
use crate::entities::Value;
use crate::operators::IndexOperation;
use crate::types::Extent;

impl Generator<'_> {
    /// A shape of as many elements, from the prime factors in random places.
    pub(crate) fn reshape(&mut self) -> Option<(Value, Vec<Extent>)> {
        let input = self.tensor_where(|_| true)?;
        if self.tensor_type(input).static_shape().is_none() {
            return self.reshape_in_other_words(input);
        }
        let mut rest = self.shape_of(input).iter().product::<u64>();
        let mut shape = vec![1; self.random.below(5)];
        if shape.is_empty() && rest != 1 {
            shape.push(1);
        }
        let mut factor = 2;
        while rest > 1 {
            if rest.is_multiple_of(factor) {
                let place = self.random.below(shape.len());
                shape[place] *= factor;
                rest /= factor;
            } else {
                factor += 1;
            }
        }
        if rest == 0 {
            let place = self.random.below(shape.len());
            shape[place] = 0;
        }
        Some((input, shape.into_iter().map(Extent::Static).collect()))
    }

    /// A shape of one dimension; or the same shape with extents doubled and halved, so that it is not known to be the same.
    fn reshape_in_other_words(&mut self, input: Value) -> Option<(Value, Vec<Extent>)> {
        let shape = self.tensor_type(input).shape.clone();
        let index = |draft: &mut (dyn Draft + '_), extent: Extent| match extent {
            Extent::Value(index) => Some(index),
            Extent::Static(n) => draft.index_constant(n as i64),
        };
        let mut wanted = Vec::new();
        if self.random.one_in(2) {
            let mut product = index(&mut self.draft, Extent::Static(1))?;
            for extent in shape {
                let factor = index(&mut self.draft, extent)?;
                product = self.draft.index_binary(IndexOperation::Multiply, product, factor)?;
            }
            wanted.push(Extent::Value(product));
        } else {
            let two = index(&mut self.draft, Extent::Static(2))?;
            for extent in shape {
                let Extent::Value(n) = extent else {
                    wanted.push(extent);
                    continue;
                };
                let doubled = self.draft.index_binary(IndexOperation::Multiply, n, two)?;
                wanted.push(Extent::Value(self.draft.index_binary(IndexOperation::FloorDivide, doubled, two)?));
            }
        }
        Some((input, wanted))
    }

    /// The extents of a shape with a border, if some are known only at run time; otherwise empty.
    pub(crate) fn padded(&mut self, shape: &[Extent], low: &[i64], high: &[i64]) -> Option<Vec<Extent>> {
        if shape.iter().all(|extent| extent.as_static().is_some()) {
            return Some(vec![]);
        }
        let mut padded = Vec::new();
        for (d, &extent) in shape.iter().enumerate() {
            let amount = low[d] + high[d];
            padded.push(match extent {
                Extent::Static(n) => Extent::Static(u64::try_from(n as i64 + amount).ok()?),
                Extent::Value(index) => {
                    let amount = self.draft.index_constant(amount)?;
                    Extent::Value(self.draft.index_binary(IndexOperation::Add, index, amount)?)
                }
            });
        }
        Some(padded)
    }
}
