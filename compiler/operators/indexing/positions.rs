//! Row-major positions from indices of several dimensions.

use crate::ir::{Comparison, ElementType, Extent, Node, Reduction, Scalar, ScalarOp, Value};
use crate::operators::terms::Terms;
use crate::operators::{Error, Graph};
use ElementType::{I32, I64};

/// Extents inside an expression: numbers, or operands for run-time extents.
pub struct Counts {
    extents: Vec<Extent>,
    element: ElementType,
    /// The operands of the expression that stand for extents.
    pub operands: Vec<Value>,
}

impl Counts {
    /// Creates counts of these extents, in a type of integers that holds them.
    ///
    /// # Errors
    /// [`Error::DimensionTooLarge`].
    pub fn new(g: &mut Graph<'_>, extents: &[Extent], element: ElementType) -> Result<Self, Error> {
        let mut operands = Vec::new();
        for &extent in extents.iter().filter(|extent| extent.as_static().is_none()) {
            operands.push(g.extent_tensor(extent, element)?);
        }
        Ok(Self { extents: extents.to_vec(), element, operands })
    }

    /// Extent number `i`; `inputs` stand for the operands.
    pub fn node(&self, terms: &mut Terms, inputs: &[Node], i: usize) -> Node {
        match self.extents[i] {
            Extent::Static(n) => terms.constant(Scalar::int(self.element, n as i64)),
            Extent::Value(_) => inputs[self.extents[..i].iter().filter(|extent| extent.as_static().is_none()).count()],
        }
    }
}

/// Converts integers to i32 or i64, the types of positions that `gather` and `scatter` take.
///
/// # Errors
/// [`Error::NoIndex`].
pub fn as_index(g: &mut Graph<'_>, indices: Value) -> Result<Value, Error> {
    match g.element(indices) {
        I32 | I64 => Ok(indices),
        ElementType::I8 | ElementType::U8 | ElementType::I16 | ElementType::U16 => g.convert(indices, I32),
        element if element.is_integer() => g.convert(indices, I64),
        element => Err(Error::NoIndex { element }),
    }
}

/// Indices as i64, negative ones counted from the end of a dimension.
///
/// # Errors
/// [`Error::NoIndex`].
pub fn from_the_end(g: &mut Graph<'_>, indices: Value, extent: Extent) -> Result<Value, Error> {
    let element = g.element(indices);
    if !element.is_integer() {
        return Err(Error::NoIndex { element });
    }
    let counts = Counts::new(g, &[extent], I64)?;
    let operands = [&[indices], &counts.operands[..]].concat();
    g.compute(&operands, |terms, x| {
        let (index, zero) = (terms.convert(x[0], I64), terms.i64(0));
        let count = counts.node(terms, &x[1..], 0);
        let negative = terms.compare(Comparison::Less, index, zero)?;
        let moved = terms.add(index, count)?;
        Ok(terms.select(negative, moved, index)?)
    })
}

/// The row-major positions of coordinates, one tensor for each dimension, which broadcast against each other. A coordinate outside its dimension
/// gives a position outside the tensor, which is an error at run time.
///
/// # Errors
/// [`Error::TooManyElements`], and when the coordinates are no i64.
pub fn of_coordinates(g: &mut Graph<'_>, coordinates: &[Value], extents: &[Extent]) -> Result<Value, Error> {
    let total = g.product(extents)?;
    let counts = Counts::new(g, &[extents, &[total]].concat(), I64)?;
    let operands = [coordinates, &counts.operands].concat();
    g.compute(&operands, |terms, x| {
        let (coordinates, inputs) = x.split_at(coordinates.len());
        let zero = terms.i64(0);
        let outside = counts.node(terms, inputs, extents.len());
        let mut position = zero;
        let mut inside = terms.constant(Scalar::bool(true));
        for (i, &coordinate) in coordinates.iter().enumerate() {
            let count = counts.node(terms, inputs, i);
            let scaled = terms.mul(position, count)?;
            position = terms.add(scaled, coordinate)?;
            let above = terms.compare(Comparison::GreaterEqual, coordinate, zero)?;
            let below = terms.compare(Comparison::Less, coordinate, count)?;
            let both = terms.op(ScalarOp::And, &[above, below])?;
            inside = terms.op(ScalarOp::And, &[inside, both])?;
        }
        Ok(terms.select(inside, position, outside)?)
    })
}

/// The positions of vectors of coordinates, which lie along the last dimension of `indices`, as one row. The position is checked when the model runs,
/// and not the coordinates: so TFLite's kernels do.
///
/// # Errors
/// [`Error::TooManyElements`], and [`Error::NoIndex`].
pub fn of_vectors(g: &mut Graph<'_>, indices: Value, extents: &[Extent]) -> Result<Value, Error> {
    let shape = g.extents(indices);
    let count = g.product(&shape[..shape.len().saturating_sub(1)])?;
    let indices = as_index(g, indices)?;
    match extents {
        [] => {
            let zero = g.constant(I32, &[], vec![0; 4])?;
            g.broadcast(zero, &[count])
        }
        [_] => g.reshape(indices, &[count]),
        _ => {
            let strides = strides(g, extents)?;
            let element = g.element(indices);
            let indices = g.reshape(indices, &[count, Extent::Static(extents.len() as u64)])?;
            let mut terms = Terms::new(&[element, I64]);
            let (index, stride) = (terms.input_as(0, I64), terms.input(1));
            let part = terms.mul(index, stride)?;
            let parts = g.map(&[indices, strides], terms.finish(part))?;
            let sums = g.builder.reduce(parts, Reduction::Sum, vec![1])?;
            g.reshape(sums, &[count])
        }
    }
}

/// The strides of the dimensions, a row of i64.
fn strides(g: &mut Graph<'_>, extents: &[Extent]) -> Result<Value, Error> {
    let strides = (1..=extents.len()).map(|d| g.product(&extents[d..])).collect::<Result<Vec<Extent>, Error>>()?;
    if let Some(known) = strides.iter().map(|stride| stride.as_static()).collect::<Option<Vec<u64>>>() {
        return g.constant(I64, &[known.len() as u64], known.iter().flat_map(|n| n.to_le_bytes()).collect());
    }
    let mut row = Vec::new();
    for stride in strides {
        let stride = g.extent_tensor(stride, I64)?;
        row.push(g.reshape(stride, &[Extent::Static(1)])?);
    }
    g.concat(&row, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, OpenDimension, run_with};

    fn floats(g: &mut Graph<'_>, value: Value) -> Result<Value, Error> {
        g.convert(value, ElementType::F32)
    }

    /// The run-time extents in the tests of a tensor `[3, 4]`: none, the first, or the last.
    const OPEN: [&[OpenDimension]; 3] = [&[], &[[0, 0]], &[[0, 1]]];

    #[test]
    fn negative_indices_count_from_the_end() {
        let (x, indices) = (Floats::varied(&[3, 4]), Floats::new(&[3], vec![-1.0, 2.0, -4.0]));
        for open in OPEN {
            let found = run_with(&[&x, &indices], open, &|g, v| {
                let (extent, indices) = (g.extents(v[0])[1], g.convert(v[1], I32)?);
                let found = from_the_end(g, indices, extent)?;
                floats(g, found)
            });
            assert_eq!(found.numbers, [3.0, 2.0, 0.0]);
        }
    }

    #[test]
    fn coordinates_outside_are_outside_of_all() {
        let (x, rows) = (Floats::varied(&[3, 4]), Floats::new(&[4], vec![2.0, 0.0, 3.0, 1.0]));
        let columns = Floats::new(&[4], vec![3.0, 1.0, 0.0, -1.0]);
        for open in OPEN {
            let found = run_with(&[&x, &rows, &columns], open, &|g, v| {
                let coordinates = [g.convert(v[1], I64)?, g.convert(v[2], I64)?];
                let extents = g.extents(v[0]);
                let found = of_coordinates(g, &coordinates, &extents)?;
                floats(g, found)
            });
            assert_eq!(found.numbers, [11.0, 1.0, 12.0, 12.0]);
        }
    }

    #[test]
    fn vectors_are_checked_as_a_whole() {
        let (x, vectors) = (Floats::varied(&[3, 4]), Floats::new(&[3, 2], vec![2.0, 3.0, 1.0, -1.0, 0.0, 5.0]));
        for open in OPEN {
            let found = run_with(&[&x, &vectors], open, &|g, v| {
                let (extents, vectors) = (g.extents(v[0]), g.convert(v[1], I32)?);
                let found = of_vectors(g, vectors, &extents)?;
                floats(g, found)
            });
            assert_eq!(found.numbers, [11.0, 3.0, 5.0]);
        }
    }

    #[test]
    fn numbers_with_fractions_are_no_indices() {
        let x = Floats::varied(&[2]);
        run_with(&[&x], &[], &|g, v| {
            assert_eq!(as_index(g, v[0]), Err(Error::NoIndex { element: ElementType::F32 }));
            assert_eq!(from_the_end(g, v[0], Extent::Static(2)), Err(Error::NoIndex { element: ElementType::F32 }));
            Ok(v[0])
        });
    }
}
