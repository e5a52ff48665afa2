//! Elements picked by index: from index tensors, or from indices known at compile time.

use super::super::fault::Fault;
use super::super::registers::Register;
use super::call::{Call, Translate};
use crate::ir::{Comparison, ElementType, ExpressionBuilder, Extent, Node, Scalar, ScalarOp, Value};
use crate::operators::extents;
use crate::operators::graph::movement::inverse;
use crate::operators::selection;

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::embedding.out", embedding),
    ("aten::index_select.out", index_select),
    ("aten::index.Tensor_out", index),
    ("aten::gather.out", gather_elements),
    ("aten::unfold_copy.out", unfold),
    ("aten::as_strided_copy.out", as_strided),
    ("aten::diagonal_copy.out", diagonal),
];

/// Indices that are computed here and stored as a constant.
const MAX_INDICES: u64 = 1 << 22;

/// Slices of `data` along `axis`, picked by integers; the first `batch` dimensions of both are common.
fn pick(c: &mut Call<'_, '_, '_>, data: Value, indices: Value, axis: usize, batch: usize) -> Result<Value, Fault> {
    Ok(c.builder().gather(data, indices, axis, batch)?)
}

/// Slices along an axis, picked by indices known at compile time.
pub(super) fn pick_known(c: &mut Call<'_, '_, '_>, data: Value, indices: &[i64], shape: &[u64], axis: usize) -> Result<Value, Fault> {
    let extent = c.shape(data)?.get(axis).copied().unwrap_or(0).min(i64::MAX as u64) as i64;
    if let Some(index) = indices.iter().find(|index| !(0..extent).contains(index)) {
        return Err(Fault::invalid("an index is out of range").expected(format!("less than {extent}"), index.to_string()));
    }
    let numbers: Vec<Scalar> = indices.iter().map(|&n| Scalar::int(ElementType::I64, n)).collect();
    let indices = c.graph().numbers(ElementType::I64, shape, &numbers)?;
    pick(c, data, indices, axis, 0)
}

fn embedding(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, indices) = (c.tensor(0)?, c.tensor(1)?);
    let picked = pick(c, data, indices, 0, 0)?;
    c.finish(picked)
}

fn index_select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (mut data, indices) = (c.tensor(0)?, c.tensor(2)?);
    let rank = c.rank(data);
    let axis = c.axis(c.int(1)?, rank)?;
    if rank == 0 {
        data = c.reshape(data, &[1])?;
    }
    let listed = c.extents(indices);
    let count = c.graph().product(&listed)?;
    let indices = c.reshape_to(indices, &[count])?;
    let picked = pick(c, data, indices, axis, 0)?;
    let target = c.out_form(c.out())?.shape;
    let picked = if rank == 0 { c.reshape_to(picked, &target)? } else { picked };
    c.finish(picked)
}

/// Whether a tensor names by truth values what is picked, and not by positions.
fn is_mask(element: ElementType) -> bool {
    matches!(element, ElementType::Bool | ElementType::U8)
}

/// The coordinates of all elements for which a mask holds, one row for each of its dimensions.
fn coordinates(c: &mut Call<'_, '_, '_>, mask: Value) -> Result<Vec<Value>, Fault> {
    let table = selection::coordinates(c.graph(), mask)?;
    let count = c.extents(table)[0];
    let mut rows = Vec::new();
    for d in 0..c.rank(mask) {
        let column = c.graph().slice_along(table, 1, Extent::Static(d as u64), Extent::Static(1))?;
        rows.push(c.graph().reshape(column, &[count])?);
    }
    Ok(rows)
}

/// Indices as i64, negative ones counted from the end.
fn from_the_end(c: &mut Call<'_, '_, '_>, indices: Value, extent: Extent) -> Result<Value, Fault> {
    let element = c.element(indices);
    if !element.is_integer() {
        return Err(Fault::invalid("an index is no integer").expected("integers", element.to_string()));
    }
    let counts = Counts::of(c, &[extent])?;
    let operands: Vec<Value> = std::iter::once(indices).chain(counts.operands.clone()).collect();
    c.map(&operands, |b, n| {
        let index = b.convert(n[0], ElementType::I64);
        let zero = b.constant(Scalar::int(ElementType::I64, 0));
        let count = counts.node(b, &n[1..], 0);
        let negative = b.op(ScalarOp::Compare(Comparison::Less), &[index, zero])?;
        let moved = b.op(ScalarOp::Add, &[index, count])?;
        Ok(b.op(ScalarOp::Select, &[negative, moved, index])?)
    })
}

/// Extents inside an expression: numbers, or operands where they are known only when the program runs.
struct Counts {
    extents: Vec<Extent>,
    operands: Vec<Value>,
}

impl Counts {
    fn of(c: &mut Call<'_, '_, '_>, extents: &[Extent]) -> Result<Self, Fault> {
        let mut operands = Vec::new();
        for &extent in extents.iter().filter(|extent| extent.as_static().is_none()) {
            operands.push(c.graph().extent_tensor(extent, ElementType::I64)?);
        }
        Ok(Self { extents: extents.to_vec(), operands })
    }

    /// Extent number `i`; `inputs` stand for the operands.
    fn node(&self, b: &mut ExpressionBuilder, inputs: &[Node], i: usize) -> Node {
        match self.extents[i] {
            Extent::Static(n) => b.constant(Scalar::int(ElementType::I64, n as i64)),
            Extent::Value(_) => inputs[self.extents[..i].iter().filter(|extent| extent.as_static().is_none()).count()],
        }
    }
}

/// A tensor whose indexed dimensions, which stand side by side, are one, and the positions along it.
pub(super) struct Indexed {
    /// The tensor under its merged shape.
    pub data: Value,
    /// The merged shape.
    pub merged: Vec<Extent>,
    /// The merged dimension.
    pub axis: usize,
    /// Positions, of the shape that the index tensors broadcast to.
    pub positions: Value,
}

/// Argument 0 indexed by the list of tensors that is argument 1; none when the list names no dimension.
pub(super) fn indexed(c: &mut Call<'_, '_, '_>) -> Result<Option<Indexed>, Fault> {
    let registers = c.tensor_registers(1)?;
    let data = c.tensor(0)?;
    let shape = c.extents(data);
    let (mut axes, mut indices, mut next) = (Vec::new(), Vec::new(), 0);
    for register in registers {
        let Some(register) = register else {
            next += 1;
            continue;
        };
        if !matches!(c.translator.environment.registers[register], Register::Tensor(_)) {
            return Err(Fault::invalid("an index is no tensor"));
        }
        let tensor = c.translator.read(register)?;
        let of_tensor = if is_mask(c.element(tensor)) {
            // A mask stands for as many dimensions as it has.
            coordinates(c, tensor)?
        } else {
            let extent = *shape.get(next).ok_or_else(|| Fault::invalid("there are more indices than dimensions"))?;
            vec![from_the_end(c, tensor, extent)?]
        };
        for index in of_tensor {
            axes.push(next);
            indices.push(index);
            next += 1;
        }
    }
    let (Some(&first), Some(&last)) = (axes.first(), axes.last()) else {
        return Ok(None);
    };
    if last - first + 1 != axes.len() || last >= shape.len() {
        return Err(Fault::unsupported("indexing of dimensions that are not side by side is not supported yet"));
    }
    let extents = &shape[first..=last];
    let positions = if indices.len() == 1 { indices[0] } else { flattened(c, &indices, extents)? };
    let mut merged = shape[..first].to_vec();
    merged.push(c.graph().product(extents)?);
    merged.extend(&shape[last + 1..]);
    let data = c.reshape_to(data, &merged)?;
    Ok(Some(Indexed { data, merged, axis: first, positions }))
}

/// Elements by one index tensor or several for dimensions side by side, which broadcast against each other.
fn index(c: &mut Call<'_, '_, '_>) -> Outcome {
    let Some(Indexed { data, axis, positions, .. }) = indexed(c)? else {
        let data = c.tensor(0)?;
        return c.finish(data);
    };
    let picked = pick(c, data, positions, axis, 0)?;
    c.finish(picked)
}

/// The position in row-major order that indices of several dimensions mean together. An index outside its dimension gives one
/// outside all of them.
pub(super) fn flattened(c: &mut Call<'_, '_, '_>, indices: &[Value], extents: &[Extent]) -> Result<Value, Fault> {
    let total = c.graph().product(extents)?;
    let counts = Counts::of(c, &[extents, &[total]].concat())?;
    let operands: Vec<Value> = indices.iter().chain(&counts.operands).copied().collect();
    c.map(&operands, |b, n| {
        let (indices, inputs) = n.split_at(indices.len());
        let zero = b.constant(Scalar::int(ElementType::I64, 0));
        let outside = counts.node(b, inputs, extents.len());
        let mut position = zero;
        let mut inside = b.constant(Scalar::bool(true));
        for (i, &index) in indices.iter().enumerate() {
            let count = counts.node(b, inputs, i);
            let scaled = b.op(ScalarOp::Mul, &[position, count])?;
            position = b.op(ScalarOp::Add, &[scaled, index])?;
            let above = b.op(ScalarOp::Compare(Comparison::GreaterEqual), &[index, zero])?;
            let below = b.op(ScalarOp::Compare(Comparison::Less), &[index, count])?;
            let both = b.op(ScalarOp::And, &[above, below])?;
            inside = b.op(ScalarOp::And, &[inside, both])?;
        }
        Ok(b.op(ScalarOp::Select, &[inside, position, outside])?)
    })
}

/// Element `[i, j, …]` of the result is the element whose coordinate along one dimension is the index tensor's `[i, j, …]`.
fn gather_elements(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (mut data, mut indices) = (c.tensor(0)?, c.tensor(2)?);
    let (shape, target) = (c.extents(data), c.extents(indices));
    let rank = shape.len();
    let axis = c.axis(c.int(1)?, rank)?;
    if rank == 0 || target.is_empty() {
        let (count, flat) = (c.graph().product(&target)?, c.graph().product(&shape)?);
        (data, indices) = (c.reshape_to(data, &[flat])?, c.reshape_to(indices, &[count])?);
        let picked = pick(c, data, indices, 0, 0)?;
        let picked = c.reshape_to(picked, &target)?;
        return c.finish(picked);
    }
    if target.len() != rank {
        return Err(Fault::invalid("the index has another rank").expected(rank.to_string(), target.len().to_string()));
    }
    let mut kept = target.clone();
    kept[axis] = shape[axis];
    let data = c.graph().slice(data, &extents(&vec![0; rank]), &kept, &vec![1; rank])?;
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != axis).collect();
    permutation.push(axis);
    let (data, indices) = (c.transpose(data, &permutation)?, c.transpose(indices, &permutation)?);
    let moved: Vec<Extent> = permutation.iter().map(|&d| target[d]).collect();
    let lead = c.graph().product(&moved[..rank - 1])?;
    let (data, flat) = (c.reshape_to(data, &[lead, kept[axis]])?, c.reshape_to(indices, &[lead, target[axis]])?);
    let picked = pick(c, data, flat, 1, 1)?;
    let picked = c.reshape_to(picked, &moved)?;
    let picked = c.transpose(picked, &inverse(&permutation))?;
    c.finish(picked)
}

/// Windows along a dimension; their elements are a new last dimension.
fn unfold(c: &mut Call<'_, '_, '_>) -> Outcome {
    let mut x = c.tensor(0)?;
    let is_scalar = c.rank(x) == 0;
    // A scalar is a line of one element, and its window has no position.
    if is_scalar {
        x = c.reshape(x, &[1])?;
    }
    let shape = c.shape(x)?;
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = shape[axis];
    let (size, step) = (positive(c.int(2)?)?, positive(c.int(3)?)?);
    let room = extent.checked_sub(size).ok_or_else(|| Fault::invalid("the window is larger than its input"))?;
    let count = room / step + 1;
    known_count(&[count, size])?;
    let indices: Vec<i64> = (0..count).flat_map(|i| (0..size).map(move |j| (i * step + j) as i64)).collect();
    let picked = pick_known(c, x, &indices, &[count, size], axis)?;
    let mut permutation: Vec<usize> = (0..=shape.len()).filter(|&d| d != axis + 1).collect();
    permutation.push(axis + 1);
    let mut y = c.transpose(picked, &permutation)?;
    if is_scalar {
        y = c.reshape(y, &[size])?;
    }
    c.finish(y)
}

fn positive(n: i64) -> Result<u64, Fault> {
    u64::try_from(n).ok().filter(|&n| n > 0).ok_or_else(|| Fault::invalid("must be positive").expected("1 or more", n.to_string()))
}

fn known_count(shape: &[u64]) -> Result<u64, Fault> {
    let count = shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).filter(|&n| n <= MAX_INDICES);
    count.ok_or_else(|| {
        Fault::unsupported("too many elements to pick one by one").expected(format!("at most {MAX_INDICES}"), format!("{shape:?}"))
    })
}

/// Positions in row-major order of a tensor of that shape and those strides.
fn strided(shape: &[u64], strides: &[i64], offset: i64) -> Result<Vec<i64>, Fault> {
    let count = known_count(shape)?;
    let mut positions = vec![offset; count as usize];
    let mut inner = 1u64;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        for (i, position) in positions.iter_mut().enumerate() {
            let coordinate = (i as u64 / inner % extent.max(1)) as i64;
            let step = coordinate.checked_mul(stride).and_then(|step| position.checked_add(step));
            *position = step.ok_or_else(|| Fault::invalid("a stride is too large"))?;
        }
        inner = inner.saturating_mul(extent.max(1));
    }
    Ok(positions)
}

fn as_strided(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (size, strides, offset) = (c.ints(1)?, c.ints(2)?, c.optional_int(3)?.unwrap_or(0));
    let shape: Result<Vec<u64>, _> = size.iter().map(|&n| u64::try_from(n)).collect();
    let shape = shape.map_err(|_| Fault::invalid("a size is negative"))?;
    if strides.len() != shape.len() {
        return Err(Fault::invalid("sizes and strides differ in number"));
    }
    let positions = strided(&shape, &strides, offset)?;
    let elements = c.shape(x)?.iter().product();
    let flat = c.reshape(x, &[elements])?;
    let y = pick_known(c, flat, &positions, &shape, 0)?;
    c.finish(y)
}

/// The elements at [i, i + offset] of two dimensions, as a new last dimension.
fn diagonal(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (shape, offset) = (c.shape(x)?, c.int(1)?);
    let rank = shape.len();
    let (rows, columns) = (c.axis(c.int(2)?, rank)?, c.axis(c.int(3)?, rank)?);
    if rank < 2 || rows == columns {
        return Err(Fault::invalid("a diagonal needs two dimensions"));
    }
    let mut permutation: Vec<usize> = (0..rank).filter(|&d| d != rows && d != columns).collect();
    permutation.extend([rows, columns]);
    let x = c.transpose(x, &permutation)?;
    let mut kept = c.shape(x)?[..rank - 2].to_vec();
    let (height, width) = (shape[rows] as i64, shape[columns] as i64);
    let (row, column) = ((-offset.max(-height)).max(0), offset.min(width).max(0));
    let count = (height - row).min(width - column).max(0);
    known_count(&[count as u64])?;
    let indices: Vec<i64> = (0..count).map(|i| (row + i) * width + column + i).collect();
    let mut flat = kept.clone();
    flat.push(shape[rows].saturating_mul(shape[columns]));
    let x = c.reshape(x, &flat)?;
    kept.push(count as u64);
    let y = pick_known(c, x, &indices, &[count as u64], rank - 2)?;
    c.finish(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_positions_count_the_last_dimension_fastest() {
        assert_eq!(strided(&[2, 3], &[1, 2], 5), Ok(vec![5, 7, 9, 6, 8, 10]));
        assert_eq!(strided(&[], &[], 3), Ok(vec![3]));
        assert_eq!(strided(&[2, 0], &[1, 1], 0), Ok(vec![]));
        assert!(strided(&[2], &[i64::MAX], 2).is_err());
        assert!(strided(&[u64::MAX, 2], &[1, 1], 0).is_err());
    }
}
