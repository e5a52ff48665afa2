//! STABLEHLO_GATHER and STABLEHLO_SCATTER: boxes of a tensor at places that vectors of indices name.
//!
//! Each element of a box has a number in the flat tensor, which is computed; `gather` and `scatter` then work on elements, or on rows of
//! as many last dimensions as every box has whole.

use super::error::{invalid, missing_options, unsupported};
use super::operator::{Lowered, Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::scalar::ExpressionError;
use crate::ir::{Combination, Comparison, ElementType, Expression, Node, Scalar, ScalarOp, Scatter, Value};
use crate::operators::terms::{Term, Terms};
use crate::schema::tflite::BuiltinOperator as Code;
use ElementType::{Bool, C64, C128, I32, I64};

type List<'a> = Option<flatbuffers::Vector<'a, i64>>;

/// The error for options that do not fit the operands.
fn misfit(what: &str, expected: impl Into<String>, found: &impl std::fmt::Debug) -> Diagnostic {
    invalid(codes::OPTION_RANGE, format!("{what} do not fit")).expected(expected, format!("{found:?}"))
}

/// Dimension numbers below `rank`, none of them twice; in rising order where that is asked for.
fn dimensions(what: &str, list: List<'_>, rank: usize, rising: bool) -> Result<Vec<usize>, Diagnostic> {
    let numbers: Vec<i64> = list.into_iter().flatten().collect();
    let found: Vec<usize> = numbers.iter().filter_map(|&n| usize::try_from(n).ok().filter(|&n| n < rank)).collect();
    let distinct = (0..found.len()).all(|i| !found[..i].contains(&found[i]));
    if found.len() == numbers.len() && distinct && (!rising || found.is_sorted()) {
        return Ok(found);
    }
    Err(misfit(what, format!("dimensions below {rank}, each once"), &numbers))
}

/// The dimensions below `rank` that are not in a list.
fn others(rank: usize, list: &[usize]) -> Vec<usize> {
    (0..rank).filter(|d| !list.contains(d)).collect()
}

/// Boxes of a tensor.
struct Boxes<'o> {
    /// The extents of the tensor.
    tensor: &'o [u64],
    /// The extents of a box, one a dimension of the tensor.
    size: Vec<u64>,
    /// The dimensions of the tensor that the numbers of a vector of indices are for.
    indexed: Vec<usize>,
    /// So many last dimensions of the tensor are whole in every box.
    whole: usize,
}

impl Boxes<'_> {
    /// Rows of the tensor.
    fn rows(&self) -> u64 {
        self.tensor[..self.leading()].iter().product()
    }

    /// Elements of a row of whole dimensions.
    fn row(&self) -> u64 {
        self.tensor[self.leading()..].iter().product()
    }

    /// Dimensions in front of the whole ones.
    fn leading(&self) -> usize {
        self.tensor.len() - self.whole
    }

    /// Rows from one position of a dimension to the next.
    fn stride(&self, dimension: usize) -> u64 {
        self.tensor[dimension + 1..self.leading()].iter().product()
    }
}

/// The layout of a list of places: dimensions of vectors of indices, and dimensions of boxes.
struct Layout {
    rank: usize,
    /// The dimensions of the list that number the vectors.
    vectors: Vec<usize>,
    /// For each leading dimension of the tensor the dimension of the list along which boxes reach.
    reaches: Vec<Option<usize>>,
}

/// What becomes of a box that is not inside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// It is moved inside.
    Moved,
    /// Elements outside are numbered −1.
    LeftOut,
}

/// The expression of places, over the numbers of vectors of indices and the offsets in boxes.
struct Places<'b, 'o> {
    terms: Terms,
    /// The type in which places are computed.
    ty: ElementType,
    boxes: &'b Boxes<'o>,
    outside: Outside,
}

impl Places<'_, '_> {
    fn number(&mut self, n: u64) -> Node {
        self.terms.constant(Scalar::int(self.ty, i64::try_from(n).unwrap_or(i64::MAX)))
    }

    /// The position along a dimension, of which input number `offset` is that in the box.
    fn position(&mut self, dimension: usize, offset: Option<usize>) -> Term {
        let mut position = self.number(0);
        if let Some(component) = self.boxes.indexed.iter().position(|&d| d == dimension) {
            let start = self.terms.input_as(component, self.ty);
            position = match self.outside {
                Outside::LeftOut => start,
                Outside::Moved => {
                    let last = self.number(self.boxes.tensor[dimension] - self.boxes.size[dimension]);
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

    /// Whether a position is inside the tensor.
    fn is_inside(&mut self, position: Node, dimension: usize) -> Term {
        let (zero, end) = (self.number(0), self.number(self.boxes.tensor[dimension]));
        let behind_start = self.terms.compare(Comparison::LessEqual, zero, position)?;
        let before_end = self.terms.compare(Comparison::Less, position, end)?;
        self.terms.op(ScalarOp::And, &[behind_start, before_end])
    }

    /// The number of a row; `offsets` are the inputs that hold the positions in boxes.
    fn row(mut self, offsets: &[Option<usize>]) -> Result<Expression, ExpressionError> {
        let (mut place, mut inside) = (self.number(0), None);
        for (d, &offset) in offsets.iter().enumerate() {
            let position = self.position(d, offset)?;
            if self.outside == Outside::LeftOut && self.boxes.indexed.contains(&d) {
                let fits = self.is_inside(position, d)?;
                inside = Some(match inside {
                    Some(inside) => self.terms.op(ScalarOp::And, &[inside, fits])?,
                    None => fits,
                });
            }
            let stride = self.number(self.boxes.stride(d));
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
fn places(
    operator: &mut Operator<'_, '_, '_>,
    indices: &Operand,
    vector_dimension: usize,
    boxes: &Boxes<'_>,
    layout: &Layout,
    outside: Outside,
) -> Result<Value, Diagnostic> {
    // Where there are no rows, an extent may still be large.
    let most = boxes.tensor[..boxes.leading()].iter().map(|&extent| extent.max(1)).product::<u64>();
    let wide = indices.element() == I64 || i32::try_from(most).is_err();
    let ty = if wide { I64 } else { I32 };
    let mut operands = starts(operator, indices, vector_dimension, boxes.indexed.len(), layout)?;
    let mut offsets = vec![None; boxes.leading()];
    for (d, &along) in layout.reaches.iter().enumerate() {
        let Some(along) = along.filter(|_| boxes.size[d] != 1) else { continue };
        let mut shape = vec![1; layout.rank];
        shape[along] = boxes.size[d];
        offsets[d] = Some(operands.len());
        operands.push(operator.builder().iota(extents(&shape), along, ty)?);
    }
    let elements: Vec<ElementType> = operands.iter().map(|&value| operator.lowering.graph.builder.tensor(value).element).collect();
    let places = Places { terms: Terms::new(&elements), ty, boxes, outside };
    let place = operator.map(&operands, places.row(&offsets)?)?;
    // Where nothing names a box, nothing says how many there are.
    let shape: Vec<u64> = list_shape(indices, vector_dimension, boxes, layout);
    operator.broadcast_to(place, &extents(&shape))
}

/// The shape of a list of places.
fn list_shape(indices: &Operand, vector_dimension: usize, boxes: &Boxes<'_>, layout: &Layout) -> Vec<u64> {
    let mut shape = vec![1; layout.rank];
    let vectors = (0..indices.rank()).filter(|&d| d != vector_dimension).map(|d| indices.shape[d]);
    layout.vectors.iter().zip(vectors).for_each(|(&d, extent)| shape[d] = extent);
    layout.reaches.iter().zip(&boxes.size).for_each(|(reach, &extent)| reach.iter().for_each(|&d| shape[d] = extent));
    shape
}

/// The numbers of all vectors of indices, one value for each of them, in a layout where boxes have one element.
fn starts(
    operator: &mut Operator<'_, '_, '_>,
    indices: &Operand,
    vector_dimension: usize,
    count: usize,
    layout: &Layout,
) -> Result<Vec<Value>, Diagnostic> {
    let mut shape = vec![1; layout.rank];
    let vectors = (0..indices.rank()).filter(|&d| d != vector_dimension).map(|d| indices.shape[d]);
    layout.vectors.iter().zip(vectors).for_each(|(&d, extent)| shape[d] = extent);
    let mut starts = Vec::new();
    for component in 0..count as u64 {
        let mut value = indices.value;
        if vector_dimension < indices.rank() {
            let (mut start, mut size) = (vec![0; indices.rank()], indices.shape.clone());
            (start[vector_dimension], size[vector_dimension]) = (component, 1);
            value = operator.builder().slice(value, extents(&start), extents(&size), vec![1; indices.rank()])?;
        }
        starts.push(operator.reshape(value, &shape)?);
    }
    Ok(starts)
}

/// The dimension along which the numbers of a vector lie, after the last one if each vector is a single number; there must be as many as
/// dimensions that they are for.
fn vector_dimension(indices: &Operand, dimension: i64, numbers: usize) -> Result<usize, Diagnostic> {
    let found = usize::try_from(dimension).ok().filter(|&d| d <= indices.rank());
    let found = found.ok_or_else(|| misfit("the vectors of indices", format!("0 to {}", indices.rank()), &dimension))?;
    let length = indices.shape.get(found).copied().unwrap_or(1);
    if length != numbers as u64 {
        return Err(misfit("the vectors of indices", format!("{numbers} numbers each"), &length));
    }
    Ok(found)
}

/// The tensor and its indices, of types that can be moved and counted.
fn tensor_and_indices(operator: &mut Operator<'_, '_, '_>) -> Result<(Operand, Operand), Diagnostic> {
    let (tensor, indices) = (operator.input(0)?, operator.input(1)?);
    let moved = tensor.element().bits() >= 8 && tensor.element() != C128;
    if !moved || !matches!(indices.element(), I32 | I64) {
        return Err(operator.type_error(&[tensor.element(), indices.element()]));
    }
    Ok((tensor, indices))
}

/// STABLEHLO_GATHER: boxes that reach out of the tensor are moved inside.
pub(super) fn gather(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(2..=2, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_gather_options().ok_or_else(missing_options)?;
    let (tensor, indices) = tensor_and_indices(operator)?;
    let rank = tensor.rank();
    let size: Vec<i64> = options.slice_sizes().into_iter().flatten().collect();
    let fits = size.len() == rank && size.iter().zip(&tensor.shape).all(|(&n, &extent)| u64::try_from(n).is_ok_and(|n| n <= extent));
    if !fits {
        return Err(misfit("the sizes of slices", format!("at most {:?}", tensor.shape), &size));
    }
    let size: Vec<u64> = size.iter().map(|&n| n as u64).collect();
    let collapsed = dimensions("the collapsed dimensions", options.collapsed_slice_dims(), rank, false)?;
    if collapsed.iter().any(|&d| size[d] != 1) {
        return Err(misfit("the collapsed dimensions", "sizes of 1", &size));
    }
    let indexed = dimensions("the indexed dimensions", options.start_index_map(), rank, false)?;
    let vector = vector_dimension(&indices, options.index_vector_dim(), indexed.len())?;
    let whole = (0..rank).rev().take_while(|&d| size[d] == tensor.shape[d]).count();
    let boxes = Boxes { tensor: &tensor.shape, size, indexed, whole };
    // Vectors of indices first, then boxes; then the dimensions are brought to their places.
    let vectors = indices.rank() - usize::from(vector < indices.rank());
    let layout = Layout {
        rank: vectors + boxes.leading(),
        vectors: (0..vectors).collect(),
        reaches: (0..boxes.leading()).map(|d| Some(vectors + d)).collect(),
    };
    let kept = others(rank, &collapsed);
    let offsets = dimensions("the dimensions of slices", options.offset_dims(), vectors + kept.len(), true)?;
    if offsets.len() != kept.len() {
        return Err(misfit("the dimensions of slices", format!("{} of them", kept.len()), &offsets));
    }
    let places = places(operator, &indices, vector, &boxes, &layout, Outside::Moved)?;
    let list = list_shape(&indices, vector, &boxes, &layout);
    let rows = operator.reshape(tensor.value, &[boxes.rows(), boxes.row()])?;
    let picked = operator.builder().gather(rows, places, 0, 0)?;
    let mut shape = list[..vectors].to_vec();
    shape.extend(kept.iter().map(|&d| boxes.size[d]));
    let picked = operator.reshape(picked, &shape)?;
    let (mut next_vector, mut next_offset) = (0..vectors, vectors..);
    let from = |d: usize| if offsets.contains(&d) { next_offset.next() } else { next_vector.next() };
    let permutation = (0..shape.len()).filter_map(from).collect();
    let value = operator.builder().transpose(picked, permutation)?;
    operator.bind(0, value)
}

/// What a subgraph of two parameters computes: its one operator, or none where it gives back the second parameter.
pub(super) fn body(operator: &Operator<'_, '_, '_>, index: i32) -> Result<Option<Code>, Diagnostic> {
    let file = operator.lowering.shared.file;
    let record = usize::try_from(index).ok().and_then(|index| file.records.get(index));
    let record = record.ok_or_else(|| {
        invalid(codes::SUBGRAPH_INDEX, "there is no such subgraph").expected(format!("below {}", file.records.len()), index.to_string())
    })?;
    let operators: Vec<u32> = record.operators().into_iter().flatten().map(|operator| operator.opcode_index()).collect();
    match operators[..] {
        [] => Ok(None),
        [code] => {
            let code = usize::try_from(code).ok().and_then(|code| file.codes.get(code));
            Ok(Some(code.ok_or_else(|| invalid(codes::OPERATOR_CODE, "there is no such operator code"))?.code))
        }
        _ => Err(unsupported("a computation of several operators is not supported here")),
    }
}

/// STABLEHLO_SCATTER: elements of updates that would be outside of the tensor are left out.
pub(super) fn scatter(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let options = operator.record.builtin_options_2_as_stablehlo_scatter_options().ok_or_else(missing_options)?;
    let combination = match body(operator, options.update_computation_subgraph_index())? {
        None => Combination::Set,
        Some(Code::STABLEHLO_ADD) => Combination::Sum,
        Some(Code::STABLEHLO_MULTIPLY) => Combination::Product,
        Some(Code::STABLEHLO_MAXIMUM) => Combination::Max,
        Some(Code::STABLEHLO_MINIMUM) => Combination::Min,
        Some(code) => return Err(unsupported(format!("updates by {code:?} are not supported"))),
    };
    let ((tensor, indices), updates) = (tensor_and_indices(operator)?, operator.input(2)?);
    let element = tensor.element();
    if updates.element() != element || combination != Combination::Set && matches!(element, Bool | C64) {
        return Err(operator.type_error(&[element, updates.element()]));
    }
    let rank = tensor.rank();
    let inserted = dimensions("the inserted dimensions", options.inserted_window_dims(), rank, false)?;
    let windows = dimensions("the dimensions of windows", options.update_window_dims(), updates.rank(), true)?;
    let indexed = dimensions("the indexed dimensions", options.scatter_dims_to_operand_dims(), rank, false)?;
    let vector = vector_dimension(&indices, options.index_vector_dim(), indexed.len())?;
    // The dimension of the updates for each dimension of the tensor.
    let kept = others(rank, &inserted);
    let reach = |d: usize| kept.iter().position(|&other| other == d).and_then(|at| windows.get(at).copied());
    let size: Vec<u64> = (0..rank).map(|d| reach(d).map_or(1, |along| updates.shape[along])).collect();
    let vectors = others(updates.rank(), &windows);
    let numbered: Vec<u64> = (0..indices.rank()).filter(|&d| d != vector).map(|d| indices.shape[d]).collect();
    let fits = windows.len() == kept.len()
        && size.iter().zip(&tensor.shape).all(|(n, extent)| n <= extent)
        && vectors.iter().map(|&d| updates.shape[d]).eq(numbered);
    if !fits {
        let found = format!("tensor {:?}, indices {:?}, updates {:?}", tensor.shape, indices.shape, updates.shape);
        return Err(misfit("the updates", "a window of the tensor for each vector of indices", &found));
    }
    let is_whole = |&d: &usize| {
        let behind = rank - d;
        size[d] == tensor.shape[d] && !indexed.contains(&d) && reach(d).is_some_and(|along| along + behind == updates.rank())
    };
    let whole = (0..rank).rev().take_while(is_whole).count();
    let layout = Layout { rank: updates.rank() - whole, vectors, reaches: (0..rank - whole).map(reach).collect() };
    let boxes = Boxes { tensor: &tensor.shape, size, indexed, whole };
    let places = places(operator, &indices, vector, &boxes, &layout, Outside::LeftOut)?;
    let (row, count) = (boxes.row(), list_shape(&indices, vector, &boxes, &layout).iter().product());
    let target = operator.reshape(tensor.value, &[boxes.rows(), row])?;
    let places = operator.reshape(places, &[count])?;
    let updates = operator.reshape(updates.value, &[count, row])?;
    let scatter = Scatter { axis: 0, batch: 0, combination, skips_negative: true };
    let value = operator.builder().scatter([target, places, updates], scatter)?;
    let value = operator.reshape(value, &tensor.shape)?;
    operator.bind(0, value)
}
