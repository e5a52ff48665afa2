//! Boxes of a tensor whose corners are vectors of indices, as StableHLO gathers and scatters them.
//!
//! A row consists of the last dimensions that every box covers completely. The program computes the number of each row of a box in the tensor.
//! `gather` and `scatter` then work on rows.

use super::positions::Counts;
use crate::ir::{Combination, Comparison, ElementType, Expression, Extent, Node, Scalar, ScalarOp, Scatter, Value};
use crate::operators::terms::{Term, Terms};
use crate::operators::{Error, Graph, extents};
use ElementType::{I32, I64};

const ONE: Extent = Extent::Static(1);

/// The corners of boxes, as vectors of indices.
#[derive(Clone, Copy, Debug)]
pub struct Corners<'c> {
    /// Vectors of i32 or i64.
    pub indices: Value,
    /// The dimension along which a vector's numbers lie. If it is the rank, each vector is a single number.
    pub vector: usize,
    /// The dimension of the tensor for each number of a vector.
    pub indexed: &'c [usize],
}

impl Corners<'_> {
    /// The shape of the list of vectors.
    fn listed(&self, g: &Graph<'_>) -> Vec<Extent> {
        let shape = g.extents(self.indices).into_iter().enumerate();
        shape.filter(|(d, _)| *d != self.vector).map(|(_, extent)| extent).collect()
    }
}

/// Boxes of a tensor.
struct Boxes<'b> {
    /// The extents of the tensor.
    tensor: Vec<Extent>,
    /// The extents of a box, one a dimension of the tensor.
    size: Vec<Extent>,
    corners: Corners<'b>,
    /// The number of last dimensions of the tensor that every box covers completely.
    whole: usize,
    outside: Outside,
}

impl Boxes<'_> {
    /// The number of dimensions in front of the whole ones.
    fn leading(&self) -> usize {
        self.tensor.len() - self.whole
    }

    /// The number of rows of the tensor, and of elements of a row.
    fn rows(&self, g: &mut Graph<'_>) -> Result<[Extent; 2], Error> {
        let (rows, row) = self.tensor.split_at(self.leading());
        Ok([g.product(rows)?, g.product(row)?])
    }
}

/// The layout of a list of places: dimensions of vectors of indices, and dimensions of boxes.
struct Layout {
    rank: usize,
    /// The dimensions of the list that number the vectors.
    vectors: Vec<usize>,
    /// The dimension of the list along which boxes extend, for each leading dimension of the tensor.
    reaches: Vec<Option<usize>>,
}

impl Layout {
    /// The shape of the list. With an empty `size`, boxes have one row.
    fn shape(&self, vectors: &[Extent], size: &[Extent]) -> Vec<Extent> {
        let mut shape = vec![ONE; self.rank];
        self.vectors.iter().zip(vectors).for_each(|(&d, &extent)| shape[d] = extent);
        self.reaches.iter().zip(size).for_each(|(reach, &extent)| reach.iter().for_each(|&d| shape[d] = extent));
        shape
    }
}

/// The treatment of a box that reaches outside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// The box is moved inside.
    Moved,
    /// Rows outside are numbered −1.
    LeftOut,
}

/// The expression of places, over the numbers of vectors of indices and the offsets in boxes.
struct Places<'b, 'c> {
    terms: Terms,
    /// The type in which places are computed.
    ty: ElementType,
    boxes: &'b Boxes<'c>,
    /// Three numbers for each leading dimension: first all last positions of corners, then all extents, then all strides in rows.
    counts: Counts,
    /// The inputs that stand for extents.
    inputs: Vec<Node>,
}

impl Places<'_, '_> {
    fn zero(&mut self) -> Node {
        self.terms.constant(Scalar::int(self.ty, 0))
    }

    /// The last corner, the extent, or the stride of a dimension, for `which` 0, 1 or 2.
    fn count(&mut self, which: usize, dimension: usize) -> Node {
        self.counts.node(&mut self.terms, &self.inputs, which * self.boxes.leading() + dimension)
    }

    /// The position along a dimension. Input number `offset` is the position in the box.
    fn position(&mut self, dimension: usize, offset: Option<usize>) -> Term {
        let mut position = self.zero();
        if let Some(component) = self.boxes.corners.indexed.iter().position(|&d| d == dimension) {
            let start = self.terms.input_as(component, self.ty);
            position = match self.boxes.outside {
                Outside::LeftOut => start,
                Outside::Moved => {
                    let last = self.count(0, dimension);
                    let start = self.terms.min(start, last)?;
                    self.terms.max(start, position)?
                }
            };
        }
        match offset {
            // Beyond the largest number comes the smallest, which is outside too.
            Some(offset) => {
                let offset = self.terms.input(offset);
                self.terms.add(position, offset)
            }
            None => Ok(position),
        }
    }

    /// Tests whether a position is inside the tensor.
    fn is_inside(&mut self, position: Node, dimension: usize) -> Term {
        let (zero, end) = (self.zero(), self.count(1, dimension));
        let from_the_start = self.terms.compare(Comparison::LessEqual, zero, position)?;
        let before_end = self.terms.compare(Comparison::Less, position, end)?;
        self.terms.op(ScalarOp::And, &[from_the_start, before_end])
    }

    /// The number of a row; `offsets` are the inputs that hold the positions in boxes.
    fn row(mut self, offsets: &[Option<usize>]) -> Result<Expression, Error> {
        let (mut place, mut inside) = (self.zero(), None);
        for (d, &offset) in offsets.iter().enumerate() {
            let position = self.position(d, offset)?;
            if self.boxes.outside == Outside::LeftOut && self.boxes.corners.indexed.contains(&d) {
                let fits = self.is_inside(position, d)?;
                inside = Some(match inside {
                    Some(inside) => self.terms.op(ScalarOp::And, &[inside, fits])?,
                    None => fits,
                });
            }
            let stride = self.count(2, d);
            let distance = self.terms.mul(position, stride)?;
            place = self.terms.add(place, distance)?;
        }
        if let Some(inside) = inside {
            let minus_one = self.terms.constant(Scalar::int(self.ty, -1));
            place = self.terms.select(inside, place, minus_one)?;
        }
        Ok(self.terms.finish(place))
    }
}

/// The numbers of the rows of boxes, in their layout.
fn places(g: &mut Graph<'_>, boxes: &Boxes<'_>, layout: &Layout) -> Result<Value, Error> {
    let leading = boxes.leading();
    // Where there are no rows, an extent may still be large.
    let bounds = boxes.tensor[..leading].iter().map(|&extent| g.bound(extent).max(1));
    let most = bounds.fold(1u64, u64::saturating_mul);
    let ty = if g.element(boxes.corners.indices) == I64 || i32::try_from(most).is_err() { I64 } else { I32 };
    let vectors = boxes.corners.listed(g);
    let mut operands = starts(g, &boxes.corners, &layout.shape(&vectors, &[]))?;
    let mut offsets = vec![None; leading];
    for (d, &along) in layout.reaches.iter().enumerate() {
        let Some(along) = along.filter(|_| boxes.size[d] != ONE) else { continue };
        let mut shape = vec![ONE; layout.rank];
        shape[along] = boxes.size[d];
        offsets[d] = Some(operands.len());
        operands.push(g.positions(&shape, along, ty)?);
    }
    let counts = counts(g, boxes, ty)?;
    let first = operands.len();
    operands.extend(&counts.operands);
    let elements: Vec<ElementType> = operands.iter().map(|&value| g.element(value)).collect();
    let mut terms = Terms::new(&elements);
    let inputs = (first..operands.len()).map(|i| terms.input(i)).collect();
    let places = Places { terms, ty, boxes, counts, inputs };
    let place = g.map(&operands, places.row(&offsets)?)?;
    // Where nothing names a box, nothing says how many there are.
    g.broadcast(place, &layout.shape(&vectors, &boxes.size))
}

/// The counts of [`Places`].
fn counts(g: &mut Graph<'_>, boxes: &Boxes<'_>, ty: ElementType) -> Result<Counts, Error> {
    let leading = boxes.leading();
    let (mut last, mut strides) = (Vec::new(), Vec::new());
    for d in 0..leading {
        last.push(g.sub(boxes.tensor[d], boxes.size[d])?);
        strides.push(g.product(&boxes.tensor[d + 1..leading])?);
    }
    Counts::new(g, &[&last[..], &boxes.tensor[..leading], &strides[..]].concat(), ty)
}

/// The components of all vectors of indices, one value for each component, in a layout where boxes have one element.
fn starts(g: &mut Graph<'_>, corners: &Corners<'_>, shape: &[Extent]) -> Result<Vec<Value>, Error> {
    let mut starts = Vec::new();
    for component in 0..corners.indexed.len() as u64 {
        let mut value = corners.indices;
        if corners.vector < g.rank(value) {
            value = g.slice_along(value, corners.vector, Extent::Static(component), ONE)?;
        }
        starts.push(g.reshape(value, shape)?);
    }
    Ok(starts)
}

/// The dimensions below `rank` that are not in a list.
pub fn others(rank: usize, list: &[usize]) -> Vec<usize> {
    (0..rank).filter(|d| !list.contains(d)).collect()
}

/// Picks boxes of a size, one for each vector of indices. A box that reaches out of the tensor is moved inside. Dimensions of the tensor in
/// `collapsed`, along which boxes have one position, are left out. `offsets` are the dimensions of the result along which boxes extend; the others
/// number the vectors.
///
/// # Errors
/// When the dimensions do not fit the tensor.
pub fn picked(
    g: &mut Graph<'_>,
    tensor: Value,
    corners: Corners<'_>,
    size: &[u64],
    [collapsed, offsets]: [&[usize]; 2],
) -> Result<Value, Error> {
    let (shape, size) = (g.extents(tensor), extents(size));
    let whole = size.iter().zip(&shape).rev().take_while(|(n, extent)| n == extent).count();
    let kept = others(shape.len(), collapsed);
    let boxes = Boxes { tensor: shape, size, corners, whole, outside: Outside::Moved };
    // Vectors of indices first, then boxes; then the dimensions are brought to their places.
    let listed = corners.listed(g);
    let (vectors, leading) = (listed.len(), boxes.leading());
    let layout =
        Layout { rank: vectors + leading, vectors: (0..vectors).collect(), reaches: (0..leading).map(|d| Some(vectors + d)).collect() };
    let places = places(g, &boxes, &layout)?;
    let rows = boxes.rows(g)?;
    let rows = g.reshape(tensor, &rows)?;
    let picked = g.gather(rows, places, 0)?;
    let shape: Vec<Extent> = listed.into_iter().chain(kept.iter().map(|&d| boxes.size[d])).collect();
    let picked = g.reshape(picked, &shape)?;
    let (mut next_vector, mut next_offset) = (0..vectors, vectors..);
    let from = |d: usize| if offsets.contains(&d) { next_offset.next() } else { next_vector.next() };
    let permutation: Vec<usize> = (0..shape.len()).filter_map(from).collect();
    g.transpose(picked, &permutation)
}

/// Combines boxes of updates into a tensor, one box for each vector of indices. Elements outside are left out. Dimensions of the tensor in `inserted`
/// are missing in the updates. `windows` are the dimensions of the updates along which boxes extend; the others number the vectors.
///
/// # Errors
/// When the dimensions do not fit the tensor or the updates.
pub fn placed(
    g: &mut Graph<'_>,
    [tensor, updates]: [Value; 2],
    corners: Corners<'_>,
    [inserted, windows]: [&[usize]; 2],
    combination: Combination,
) -> Result<Value, Error> {
    let (shape, given) = (g.extents(tensor), g.extents(updates));
    let rank = shape.len();
    // The dimension of the updates for each dimension of the tensor.
    let kept = others(rank, inserted);
    let reach = |d: usize| kept.iter().position(|&other| other == d).and_then(|at| windows.get(at).copied());
    let size: Vec<Extent> = (0..rank).map(|d| reach(d).map_or(ONE, |along| given[along])).collect();
    let is_whole = |&d: &usize| {
        let from_the_end = rank - d;
        size[d] == shape[d] && !corners.indexed.contains(&d) && reach(d).is_some_and(|along| along + from_the_end == given.len())
    };
    let whole = (0..rank).rev().take_while(is_whole).count();
    let layout =
        Layout { rank: given.len() - whole, vectors: others(given.len(), windows), reaches: (0..rank - whole).map(reach).collect() };
    combined(g, [tensor, updates], &Boxes { tensor: shape, size, corners, whole, outside: Outside::LeftOut }, &layout, combination)
}

/// A tensor with a box written over it, whose corner is a row of indices. It is moved so far that it lies inside.
///
/// # Errors
/// [`Error::RanksDiffer`], and when the box is larger than the tensor.
pub fn overwritten(g: &mut Graph<'_>, tensor: Value, update: Value, corner: Value) -> Result<Value, Error> {
    let (shape, size) = (g.extents(tensor), g.extents(update));
    if shape.len() != size.len() {
        return Err(Error::RanksDiffer { expected: shape.len(), found: size.len() });
    }
    // Trailing dimensions that the box covers are written as rows.
    let whole = size.iter().zip(&shape).rev().take_while(|(n, extent)| n == extent).count();
    let named: Vec<usize> = (0..shape.len() - whole).collect();
    let layout = Layout { rank: named.len(), vectors: vec![], reaches: named.iter().map(|&d| Some(d)).collect() };
    let corners = Corners { indices: corner, vector: 0, indexed: &named };
    combined(g, [tensor, update], &Boxes { tensor: shape, size, corners, whole, outside: Outside::Moved }, &layout, Combination::Set)
}

/// Updates, in the layout of places and then of rows, combined into a tensor.
fn combined(
    g: &mut Graph<'_>,
    [tensor, updates]: [Value; 2],
    boxes: &Boxes<'_>,
    layout: &Layout,
    combination: Combination,
) -> Result<Value, Error> {
    let places = places(g, boxes, layout)?;
    let listed = g.extents(places);
    let ([rows, row], count) = (boxes.rows(g)?, g.product(&listed)?);
    let target = g.reshape(tensor, &[rows, row])?;
    let places = g.reshape(places, &[count])?;
    let updates = g.reshape(updates, &[count, row])?;
    let scatter = Scatter { axis: 0, batch: 0, combination, skips_negative: boxes.outside == Outside::LeftOut };
    let placed = g.builder.scatter([target, places, updates], scatter)?;
    g.reshape(placed, &boxes.tensor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, OpenDimension, run_with};

    /// The extents of the tensor that may be known only at run time, one after the other.
    const OPEN: [&[OpenDimension]; 3] = [&[], &[[0, 0]], &[[0, 1]]];

    #[test]
    fn a_box_that_reaches_out_is_moved_inside() {
        let x = Floats::varied(&[4, 5]);
        let at = |i: usize, j: usize| x.numbers[i * 5 + j];
        let indices = Floats::new(&[3, 2], vec![0.0, 1.0, 3.0, 4.0, -2.0, 2.0]);
        let corners = [(0, 1), (2, 2), (0, 2)];
        let expected: Vec<f32> = corners
            .iter()
            .flat_map(|&(i, j)| [at(i, j), at(i, j + 1), at(i, j + 2), at(i + 1, j), at(i + 1, j + 1), at(i + 1, j + 2)])
            .collect();
        for open in OPEN {
            for element in [I32, I64] {
                let found = run_with(&[&x, &indices], open, &|g, v| {
                    let corners = Corners { indices: g.convert(v[1], element)?, vector: 1, indexed: &[0, 1] };
                    picked(g, v[0], corners, &[2, 3], [&[], &[1, 2]])
                });
                assert_eq!(found, Floats::new(&[3, 2, 3], expected.clone()), "{open:?}");
            }
        }
    }

    #[test]
    fn vectors_may_come_after_boxes() {
        let x = Floats::varied(&[3, 2]);
        let at = |i: usize| x.numbers[i];
        let indices = Floats::new(&[2], vec![2.0, 0.0]);
        for open in [&[][..], &[[0, 0]]] {
            let found = run_with(&[&x, &indices], open, &|g, v| {
                let corners = Corners { indices: g.convert(v[1], I32)?, vector: 1, indexed: &[0] };
                picked(g, v[0], corners, &[1, 2], [&[0], &[0]])
            });
            assert_eq!(found, Floats::new(&[2, 2], vec![at(4), at(0), at(5), at(1)]));
        }
    }

    #[test]
    fn elements_outside_are_left_out() {
        let x = Floats::new(&[3, 4], vec![0.0; 12]);
        let (indices, updates) = (Floats::new(&[2, 1], vec![2.0, -1.0]), Floats::new(&[2, 3, 2], (1..=12).map(|i| i as f32).collect()));
        for open in OPEN {
            let found = run_with(&[&x, &indices, &updates], open, &|g, v| {
                let corners = Corners { indices: g.convert(v[1], I32)?, vector: 1, indexed: &[1] };
                placed(g, [v[0], v[2]], corners, [&[], &[1, 2]], Combination::Sum)
            });
            assert_eq!(found.numbers, [8.0, 0.0, 1.0, 2.0, 10.0, 0.0, 3.0, 4.0, 12.0, 0.0, 5.0, 6.0], "{open:?}");
        }
    }

    #[test]
    fn a_box_is_written_over_a_tensor() {
        let x = Floats::varied(&[3, 2, 2]);
        let update = Floats::new(&[2, 2, 2], (100..108).map(|i| i as f32).collect());
        for (corner, from) in [(vec![0.0, 0.0, 0.0], 0), (vec![7.0, 1.0, -3.0], 4)] {
            let mut expected = x.numbers.clone();
            expected[from..from + 8].copy_from_slice(&update.numbers);
            for open in [&[][..], &[[0, 0]]] {
                let found = run_with(&[&x, &update, &Floats::new(&[3], corner.clone())], open, &|g, v| {
                    let corner = g.convert(v[2], I32)?;
                    overwritten(g, v[0], v[1], corner)
                });
                assert_eq!(found.numbers, expected, "{open:?}");
            }
        }
        let whole = run_with(&[&x, &x, &Floats::new(&[3], vec![1.0; 3])], &[], &|g, v| {
            let corner = g.convert(v[2], I32)?;
            overwritten(g, v[0], v[1], corner)
        });
        assert_eq!(whole, x);
    }
}
