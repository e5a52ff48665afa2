//! Parts of tensors and tensors joined.

use super::super::fault::Fault;
use super::super::tensors::shape_text;
use super::call::{Call, Translate};
use super::whole::Whole;
use crate::ir::{Extent, Value};
use crate::operators::slices::{self, Cut, End};
use crate::operators::{joins, overwriting};

type Outcome = Result<(), Fault>;

pub(super) const OPERATORS: &[(&str, Translate)] = &[
    ("aten::slice_copy.Tensor_out", slice),
    ("aten::narrow_copy.out", narrow),
    ("aten::select_copy.int_out", select),
    ("aten::cat.out", cat),
    ("aten::stack.out", stack),
    ("aten::split_copy.Tensor_out", split),
    ("aten::split_with_sizes_copy.out", split_with_sizes),
    ("aten::unbind_copy.int_out", unbind),
    ("aten::flip.out", flip),
    ("aten::repeat.out", repeat),
    ("aten::constant_pad_nd.out", pad),
    ("aten::slice_scatter.out", slice_scatter),
    ("aten::select_scatter.out", select_scatter),
];

/// The part of an axis that a slice takes. Its start, end and step are the arguments from `first` on.
fn cut(c: &mut Call<'_, '_, '_>, first: usize, extent: Extent) -> Result<Cut, Fault> {
    let step = c.int(first + 2)?;
    if step < 1 {
        return Err(Fault::invalid("the step must be positive"));
    }
    let [start, end] = [c.optional_whole(first)?, c.optional_whole(first + 1)?];
    let end = end.map_or(End::Open, |end| End::At(end.into()));
    Ok(slices::strided(c.graph(), extent, start.map(Whole::into), end, step)?)
}

fn slice(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let axis = c.axis(c.int(1)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let cut = cut(c, 2, extent)?;
    let y = slices::part(c.graph(), x, axis, cut)?;
    c.finish(y)
}

fn narrow(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let (start, count) = (c.whole(2)?, c.whole(3)?);
    let extent = extent(c, x, axis)?;
    let start = slices::position(c.graph(), start.into(), extent, true)?;
    let count = match count {
        Whole::Known(n) => u64::try_from(n).map(Extent::Static).map_err(|_| Fault::invalid("the length is negative"))?,
        count => c.extent(count)?,
    };
    let y = slices::part(c.graph(), x, axis, Cut::run(start, count))?;
    c.finish(y)
}

/// The extent of an axis.
fn extent(c: &mut Call<'_, '_, '_>, x: Value, axis: usize) -> Result<Extent, Fault> {
    c.extents(x).get(axis).copied().ok_or_else(|| Fault::invalid("a scalar has no parts"))
}

fn select(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let index = c.whole(2)?;
    let extent = extent(c, x, axis)?;
    let index = slices::position(c.graph(), index.into(), extent, false)?;
    let y = slices::selected(c.graph(), x, axis, index)?;
    c.finish(y)
}

/// Tensors joined in the result's element type. Empty one-dimensional tensors are left out, as PyTorch does.
fn cat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let mut parts = Vec::new();
    for x in c.tensors(0)? {
        if c.extents(x) != [Extent::Static(0)] || out.shape.len() == 1 {
            parts.push(c.cast(x, out.element)?);
        }
    }
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    if parts.is_empty() {
        return Err(Fault::invalid("there is nothing to join"));
    }
    let y = joins::joined(c.graph(), &parts, axis)?;
    c.finish(y)
}

fn stack(c: &mut Call<'_, '_, '_>) -> Outcome {
    let out = c.out_form(c.out())?;
    let axis = c.axis(c.int(1)?, out.shape.len())?;
    let parts = c.tensors(0)?.into_iter().map(|x| c.cast(x, out.element)).collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Err(Fault::invalid("there is nothing to join"));
    }
    let y = joins::stacked(c.graph(), &parts, axis)?;
    c.finish(y)
}

/// Defines the tensors of a result list.
fn define_list(c: &mut Call<'_, '_, '_>, values: Vec<Value>) -> Outcome {
    let registers = c.tensor_registers(c.out())?;
    if registers.len() != values.len() {
        return Err(Fault::invalid("the number of result tensors is wrong").expected(values.len().to_string(), registers.len().to_string()));
    }
    for (register, value) in registers.into_iter().zip(values) {
        let register = register.ok_or_else(|| Fault::invalid("a result is None"))?;
        c.translator.define(register, value)?;
    }
    Ok(())
}

fn split(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let shape = c.extents(x);
    let axis = c.axis(c.int(2)?, shape.len())?;
    let extent = *shape.get(axis).ok_or_else(|| Fault::invalid("a scalar has no parts"))?;
    let size = c.whole(1)?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    let sizes: Vec<Extent> = match (size, extent) {
        (Whole::Known(size), Extent::Static(extent)) => {
            let size = u64::try_from(size).ok().filter(|&n| n > 0);
            let size = size.ok_or_else(|| Fault::invalid("the size of a part must be positive"))?;
            if extent.div_ceil(size) != count {
                let wrong = Fault::invalid("the number of result tensors is wrong");
                return Err(wrong.expected(extent.div_ceil(size).to_string(), count.to_string()));
            }
            (0..count).map(|i| Extent::Static(size.min(extent - i * size))).collect()
        }
        // All parts but the last have the size; that there are as many as in the file is checked by the last one's slice.
        _ => {
            let size = c.extent(size)?;
            let before = c.graph().mul(size, Extent::Static(count.saturating_sub(1)))?;
            let last = c.graph().sub(extent, before)?;
            (1..=count).map(|i| if i == count { last } else { size }).collect()
        }
    };
    let values = slices::parts(c.graph(), x, axis, &sizes)?;
    define_list(c, values)
}

fn split_with_sizes(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(2)?, c.rank(x))?;
    let sizes = c.sizes(1)?;
    let values = slices::parts(c.graph(), x, axis, &sizes)?;
    define_list(c, values)
}

fn unbind(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis(c.int(1)?, c.rank(x))?;
    let count = c.tensor_registers(c.out())?.len() as u64;
    if let Some(&extent) = c.extents(x).get(axis).filter(|extent| extent.as_static().is_none()) {
        c.translator.equate(extent, Extent::Static(count))?;
    }
    let values: Result<Vec<Value>, _> = (0..count).map(|i| slices::selected(c.graph(), x, axis, Extent::Static(i))).collect();
    define_list(c, values?)
}

fn flip(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let rank = c.rank(x);
    let axes = c.ints(1)?.into_iter().map(|dim| c.axis(dim, rank)).collect::<Result<Vec<usize>, _>>()?;
    // A scalar has no order.
    let axes: Vec<usize> = axes.into_iter().filter(|&axis| axis < rank).collect();
    let y = slices::reversed(c.graph(), x, &axes)?;
    c.finish(y)
}

/// The tensor set side by side this many times along each dimension.
fn repeat(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (rank, repeats) = (c.rank(x), c.wholes(1)?);
    if repeats.len() < rank {
        return Err(Fault::invalid("fewer repetitions than dimensions"));
    }
    if 2 * repeats.len() > crate::ir::operators::MAX_RANK {
        return Err(Fault::unsupported("too many dimensions to repeat"));
    }
    let times = repeats.into_iter().map(|count| c.extent(count)).collect::<Result<Vec<_>, _>>()?;
    let y = joins::tiled(c.graph(), x, &times)?;
    c.finish(y)
}

/// A border of one value; amounts come in pairs, last dimension first.
fn pad(c: &mut Call<'_, '_, '_>) -> Outcome {
    let x = c.tensor(0)?;
    let (rank, amounts, value) = (c.rank(x), c.ints(1)?, c.number(2)?);
    if amounts.len() % 2 != 0 || amounts.len() / 2 > rank {
        return Err(Fault::invalid("the padding does not fit the rank").expected(format!("at most {rank} pairs"), format!("{amounts:?}")));
    }
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    for (i, pair) in amounts.chunks(2).enumerate() {
        (low[rank - 1 - i], high[rank - 1 - i]) = (pair[0], pair[1]);
    }
    let value = value.to_scalar(c.element(x));
    let y = c.graph().pad(x, &low, &high, value)?;
    c.finish(y)
}

/// Argument 1 written over a slice of argument 0.
fn slice_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let axis = c.axis(c.int(2)?, c.rank(x))?;
    let extent = extent(c, x, axis)?;
    let cut = cut(c, 3, extent)?;
    overwrite(c, [x, source], axis, cut)
}

/// Argument 1 written over one position along an axis of argument 0.
fn select_scatter(c: &mut Call<'_, '_, '_>) -> Outcome {
    let (x, source) = (c.tensor(0)?, c.tensor(1)?);
    let mut shape = c.extents(source);
    let axis = c.axis(c.int(2)?, shape.len() + 1)?;
    let index = c.whole(3)?;
    let extent = extent(c, x, axis)?;
    let index = slices::position(c.graph(), index.into(), extent, false)?;
    shape.insert(axis, Extent::Static(1));
    let source = c.reshape_to(source, &shape)?;
    overwrite(c, [x, source], axis, Cut::at(index))
}

fn overwrite(c: &mut Call<'_, '_, '_>, [x, source]: [Value; 2], axis: usize, cut: Cut) -> Outcome {
    let (mut shape, given) = (c.extents(x), c.extents(source));
    let misfit = || Fault::invalid("the source does not fit the slice").expected(shape_text(&[cut.count]), shape_text(&given));
    let along = *given.get(axis).filter(|_| given.len() == shape.len()).ok_or_else(misfit)?;
    let mut source = c.cast(source, c.element(x))?;
    if let (Some(along), Some(count)) = (along.as_static(), cut.count.as_static()) {
        if along != count {
            return Err(misfit());
        }
    } else if let Err(fault) = c.translator.equate(along, cut.count) {
        // Where nothing that is known makes the two equal, the call is checked when it runs.
        if !matches!(fault, Fault::Reported(_)) {
            return Err(fault);
        }
        shape[axis] = cut.count;
        source = c.graph().reshape(source, &shape)?;
    }
    let y = overwriting::overwritten(c.graph(), [x, source], axis, cut)?;
    c.finish(y)
}
