//! One instruction without control flow or state: operands to results.

use super::array::Array;
use super::column::Column;
use super::error::{Step, fail};
use super::{Frame, Slot, contract, fourier, map, movement, reduce, scan, scatter, search};
use crate::ir::attribute::Attribute;
use crate::ir::interval;
use crate::ir::module::{Constant, InstData, Module};
use crate::ir::op::Op;
use crate::ir::scalar::Scalar;
use crate::ir::types::Extent;

/// The results of an instruction.
pub(super) fn compute<'m>(module: &'m Module, frame: &Frame<'m>, data: &InstData, operands: &[Slot<'m>]) -> Step<Vec<Slot<'m>>> {
    if data.op == Op::Map {
        let operands = operands.iter().map(Slot::tensor).collect::<Step<Vec<_>>>()?;
        return Ok(map::map(module, data.expression(), &operands)?.into_iter().map(Slot::Tensor).collect());
    }
    let index = |n| Ok(vec![Slot::Index(n)]);
    let tensors = |arrays: Vec<Array<'m>>| Ok(arrays.into_iter().map(Slot::Tensor).collect());
    match data.op {
        Op::ExtentOf => index(operands[0].tensor()?.shape[data.int("axis") as usize] as i64),
        Op::IndexConstant => index(data.int("value")),
        Op::IndexLoad => index(index_load(data, operands[0].tensor()?)?),
        Op::IndexBinary => match (data.attribute("operation"), &operands[0], &operands[1]) {
            (Attribute::Word(operation), Slot::Index(a), Slot::Index(b)) => index(interval::evaluate(*operation, *a, *b)),
            _ => fail("an operand is no index"),
        },
        Op::TopK => {
            tensors(search::top_k(operands[0].tensor()?, data.word("order") == "largest", shape(frame, data.extents("count"))?[0])?)
        }
        Op::NonMaxSuppression => {
            let operands = operands.iter().map(Slot::tensor).collect::<Step<Vec<_>>>()?;
            tensors(search::non_max_suppression(&operands, data.int("count") as usize)?)
        }
        _ => Ok(vec![Slot::Tensor(tensor(module, frame, data, operands)?)]),
    }
}

/// The result of an instruction that computes one tensor.
fn tensor<'m>(module: &'m Module, frame: &Frame<'m>, data: &InstData, operands: &[Slot<'m>]) -> Step<Array<'m>> {
    let operand = |i: usize| operands[i].tensor();
    let shape = |name: &str| shape(frame, data.extents(name));
    let run_time = || Ok(contract::RunTime { positions: shape("positions")?, shift: shape("shift")? });
    match data.op {
        Op::Constant => match data.attribute("data") {
            Attribute::Constant(id) => constant(module, *id),
            _ => fail("names no constant"),
        },
        Op::Conv => contract::conv(operand(0)?, operand(1)?, &data.conv(), &run_time()?),
        Op::Matmul => {
            let zero_points = (data.int("left_zero_point"), data.int("right_zero_point"));
            contract::matmul(operand(0)?, operand(1)?, zero_points, data.element("accumulator"))
        }
        Op::Fourier => fourier::fourier(operand(0)?, false),
        Op::RealFourier => fourier::fourier(operand(0)?, true),
        Op::Window => reduce::window(operand(0)?, data.word("reduction"), data.ints("size"), &data.geometry(), &run_time()?),
        Op::Reduce => reduce::reduce(operand(0)?, data.word("reduction"), data.ints("axes")),
        Op::ArgReduce => reduce::arg_reduce(operand(0)?, data.word("search"), data.int("axis") as usize, data.element("element")),
        Op::Reshape => movement::reshape(operand(0)?, shape("shape")?),
        Op::Bitcast => movement::bitcast(operand(0)?, data.element("element")),
        Op::Transpose => movement::transpose(operand(0)?, data.ints("permutation")),
        Op::Broadcast => movement::broadcast(operand(0)?, &shape("shape")?),
        Op::Slice => {
            let start = data.extents("start").iter().map(|&e| frame.extent(e)).collect::<Step<Vec<i64>>>()?;
            movement::slice(operand(0)?, &start, &shape("size")?, data.ints("stride"))
        }
        Op::Pad => {
            let padded = movement::pad(operand(0)?, data.ints("low"), data.ints("high"), &data.scalar("value").to_bytes())?;
            given_extents(padded, &shape("padded")?)
        }
        Op::MirrorPad => {
            let edge = *data.attribute("edge") == Attribute::Bool(true);
            given_extents(movement::mirror_pad(operand(0)?, data.ints("low"), data.ints("high"), edge)?, &shape("padded")?)
        }
        Op::Concat => {
            let axis = data.int("axis") as usize;
            let joined = movement::concat(&operands.iter().map(Slot::tensor).collect::<Step<Vec<_>>>()?, axis)?;
            match shape("extent")?[..] {
                [extent] if extent != joined.shape[axis] => fail(format!("the joined extent is {}, not {extent}", joined.shape[axis])),
                _ => Ok(joined),
            }
        }
        Op::Gather => {
            let (source, indices) = (operand(0)?, operand(1)?);
            let Column::Int(positions) = decode(indices) else { return fail("indices are no integers") };
            movement::gather(source, data.int("axis") as usize, data.int("batch") as usize, &positions, &indices.shape)
        }
        Op::Scatter => {
            let Column::Int(positions) = decode(operand(1)?) else { return fail("indices are no integers") };
            let places = scatter::Places::new(data, operand(0)?, &positions, &operand(1)?.shape)?;
            scatter::scatter(operand(0)?, operand(2)?, data.word("combination"), &places)
        }
        Op::Scan => {
            let flag = |name: &str| *data.attribute(name) == Attribute::Bool(true);
            scan::scan(operand(0)?, data.word("reduction"), data.int("axis") as usize, flag("exclusive"), flag("reverse"))
        }
        Op::Iota => movement::iota(shape("shape")?, data.int("axis") as usize, data.element("element")),
        Op::IndexTensor => match &operands[0] {
            Slot::Index(n) => {
                let element = data.element("element");
                Ok(Array::new(element, vec![], Scalar::int(element, *n).to_bytes()))
            }
            _ => fail("the operand is no index"),
        },
        Op::External => fail("a custom operator is computed by the application, whose function is not here"),
        op => fail(format!("{} computes no tensor", op.row().name)),
    }
}

/// A constant of the module.
pub(super) fn constant(module: &Module, id: Constant) -> Step<Array<'_>> {
    let Some(constant) = module.constants.get(id) else { return fail(format!("there is no {id}")) };
    let Some(shape) = constant.ty.static_shape() else { return fail(format!("{id} has a dynamic shape")) };
    Array::from_packed(constant.ty.element, &shape, constant.data.bytes())
}

fn shape(frame: &Frame<'_>, extents: &[Extent]) -> Step<Vec<usize>> {
    let number = |&extent: &Extent| {
        let n = frame.extent(extent)?;
        usize::try_from(n).or_else(|_| fail(format!("an extent is {n}")))
    };
    extents.iter().map(number).collect()
}

fn decode(array: &Array<'_>) -> Column {
    Column::decode(array.element, &array.bytes, 0..array.len())
}

fn index_load(data: &InstData, array: &Array<'_>) -> Step<i64> {
    let n = index_of(array)?;
    match data.attribute("interval") {
        Attribute::Interval(i) if !(i.low..=i.high).contains(&n) => fail(format!("{n} is outside {}..={}", i.low, i.high)),
        _ => Ok(n),
    }
}

/// The number in a one-element integer tensor.
pub(super) fn index_of(array: &Array<'_>) -> Step<i64> {
    match decode(array) {
        Column::Int(values) if values.len() == 1 => Ok(values[0]),
        _ => fail("an index must be one integer"),
    }
}

/// The truth in a one-element tensor.
pub(super) fn truth_of(array: &Array<'_>) -> Step<bool> {
    Ok(index_of(array)? != 0)
}

/// A result, if its shape is the one that is given, where one is.
fn given_extents<'m>(result: Array<'m>, given: &[usize]) -> Step<Array<'m>> {
    if given.is_empty() || result.shape == given {
        return Ok(result);
    }
    fail(format!("the shape is {:?}, not {given:?}", result.shape))
}
