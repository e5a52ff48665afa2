//! Elements picked by index: from index tensors, or from indices known at compile time.

use super::super::fault::Fault;
use super::super::registers::Register;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{Extent, Value};
use crate::operators::indexing::lists::{self, Indexed};
use crate::operators::indexing::{known, picked};

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

fn embedding(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, indices) = (c.tensor(0)?, c.tensor(1)?);
    let picked = c.graph().gather(data, indices, 0)?;
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
    let picked = c.graph().gather(data, indices, axis)?;
    let target = c.out_form(c.out())?.shape;
    let picked = if rank == 0 { c.reshape_to(picked, &target)? } else { picked };
    c.finish(picked)
}

/// The list of index tensors that is argument 1.
fn list(c: &mut Call<'_, '_, '_>) -> Result<Vec<Option<Value>>, Fault> {
    let registers = c.tensor_registers(1)?;
    let read = |register: Option<usize>| {
        let Some(register) = register else { return Ok(None) };
        match c.translator.environment.registers[register] {
            Register::Tensor(_) => c.translator.read(register).map(Some),
            _ => Err(Fault::invalid("an index is not a tensor")),
        }
    };
    registers.into_iter().map(read).collect()
}

/// Argument 0 indexed by the list of tensors that is argument 1; none when the list names no dimension.
pub(super) fn indexed(c: &mut Call<'_, '_, '_>) -> Result<Option<Indexed>, Fault> {
    let (list, data) = (list(c)?, c.tensor(0)?);
    Ok(lists::indexed(c.graph(), data, &list)?)
}

/// Elements by one index tensor or several, which broadcast against each other.
fn index(c: &mut Call<'_, '_, '_>) -> Outcome {
    let Some(Indexed { data, axis, positions, .. }) = indexed(c)? else {
        let data = c.tensor(0)?;
        return c.finish(data);
    };
    let picked = c.graph().gather(data, positions, axis)?;
    c.finish(picked)
}

fn gather_elements(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (data, indices) = (c.tensor(0)?, c.tensor(2)?);
    let axis = c.axis(c.int(1)?, c.rank(data))?;
    let picked = picked::elements(c.graph(), data, indices, axis)?;
    c.finish(picked)
}

/// Windows along a dimension; their elements are a new last dimension.
fn unfold(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let (size, step) = (positive(c.int(2)?)?, positive(c.int(3)?)?);
    if c.rank(x) > 0 {
        let y = known::windows(c.graph(), x, axis, size, step)?;
        return c.finish(y);
    }
    // A scalar is a line of one element, and its window has no position.
    let line = c.reshape(x, &[1])?;
    let y = known::windows(c.graph(), line, 0, size, step)?;
    let y = c.reshape(y, &[size])?;
    c.finish(y)
}

fn positive(n: i64) -> Result<u64, Fault> {
    u64::try_from(n).ok().filter(|&n| n > 0).ok_or_else(|| Fault::invalid("must be positive").expected("1 or more", n.to_string()))
}

fn as_strided(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (sizes, steps, offset) = (c.wholes(1)?, c.wholes(2)?, c.optional_whole(3)?);
    if steps.len() != sizes.len() {
        return Err(Fault::invalid("sizes and strides differ in number"));
    }
    let mut extents = |list: Vec<Whole>| list.into_iter().map(|n| c.extent(n)).collect::<Result<Vec<Extent>, Fault>>();
    let (shape, strides) = (extents(sizes)?, extents(steps)?);
    let offset = offset.map_or(Ok(Extent::Static(0)), |offset| c.extent(offset))?;
    let y = known::strided(c.graph(), x, &shape, &strides, offset)?;
    c.finish(y)
}

/// The elements at [i, i + offset] of two dimensions, as a new last dimension.
fn diagonal(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, offset) = (c.tensor(0)?, c.int(1)?);
    let rank = c.rank(x);
    let (rows, columns) = (c.axis(c.int(2)?, rank)?, c.axis(c.int(3)?, rank)?);
    if rank < 2 || rows == columns {
        return Err(Fault::invalid("a diagonal needs two dimensions"));
    }
    let y = known::diagonal(c.graph(), x, [rows, columns], offset)?;
    c.finish(y)
}
