//! A mixture of experts: each row goes through several of many gated layers. A product of the row chooses them.
//!
//! The layers' weights are integers with a scale for each group of neighbours in a row, and they stay so. The weights of an expert are converted to
//! floats in a branch that runs only if some row chose it. Only these rows are multiplied.

use super::activation::Activation;
use super::contraction::Numerics;
use super::contraction::products::linear;
use super::embedding::integers_of_bytes;
use super::indexing::picked;
use super::quantize::{Parameter, Rounding, Scale, dequantize};
use super::reduction::{Axes, reduce};
use super::selection::chosen;
use super::softmax::softmax;
use super::terms::Terms;
use super::{Error, Graph, extents, slices};
use crate::ir::{Combination, ElementType, Extent, Func, Order, Reduction, Scalar, ScalarOp, Scatter, Type, Value};
use ElementType::{Bool, F32, I8, I32, U8};

/// A matrix of integers, row by row.
pub struct Grouped {
    /// Rows and columns.
    pub shape: [u64; 2],
    /// Columns that have a scale in common.
    pub group: u64,
    /// Four or eight. Integers of four bits have zero point 8. The first of two is in the higher bits of the byte.
    pub bits: u32,
    /// The integers.
    pub bytes: Vec<u8>,
    /// One scale a group.
    pub scales: Vec<f32>,
}

/// An expert: silu(W₁x) · (W₃x) times W₂.
pub struct Expert {
    /// W₁, and below it W₃: `[2·hidden, depth]`.
    pub inner: Grouped,
    /// W₂: `[depth, hidden]`.
    pub outer: Grouped,
}

/// The function from the experts' scores, the products of a row and their weights, to gates.
pub enum Gates {
    /// The logistic function of the scores, divided by the sum of the chosen ones, times a number. `added` changes only the choice.
    Logistic {
        /// One number an expert, added to the scores.
        added: Option<Value>,
        /// The sum of all gates.
        total: f32,
    },
    /// The softmax of the chosen scores.
    Softmax,
}

/// The choice of the experts that a row goes through.
pub struct Router {
    /// `[experts, depth]`
    pub weights: Value,
    /// The number of experts for a row.
    pub count: u64,
    /// The weights of the chosen experts.
    pub gates: Gates,
}

/// The sum of the chosen experts for each row of f32, `[rows, depth]`, each times its gate. `names` are the names of the functions: one for each
/// expert, and one more.
///
/// # Errors
/// When operands do not fit each other.
pub fn mixture(g: &mut Graph<'_>, x: Value, router: &Router, experts: &[Expert], names: &[String]) -> Result<Value, Error> {
    let shape = g.extents(x);
    let (choices, gates) = routed(g, x, router, experts.len() as u64)?;
    let any = reduce(g, choices, Reduction::Max, &[1], Axes::Dropped)?;
    let any = g.convert(any, Bool)?;
    let zero = g.scalar(Scalar::float(F32, 0.0))?;
    let mut sum = g.broadcast(zero, &shape)?;
    let unchanged = branch(g, &names[experts.len()], &shape, |_, [sum, ..]| Ok(sum))?;
    for (number, (expert, name)) in experts.iter().zip(names).enumerate() {
        let at = Extent::Static(number as u64);
        let condition = g.slice_along(any, 0, at, Extent::Static(1))?;
        let [choice, gate] = [choices, gates].map(|table| {
            let row = g.slice_along(table, 0, at, Extent::Static(1))?;
            g.reshape(row, &shape[..1])
        });
        let taken = branch(g, name, &shape, |g, operands| added(g, operands, expert))?;
        let index = if let Extent::Value(index) = shape[0] { Some(index) } else { None };
        let operands: Vec<Value> = [condition].into_iter().chain(index).chain([sum, x, choice?, gate?]).collect();
        sum = g.builder.if_else(&operands, taken, unchanged)?[0];
    }
    Ok(sum)
}

/// Returns ones where a row chooses an expert and zeros elsewhere, and the gates: both `[experts, rows]`.
fn routed(g: &mut Graph<'_>, x: Value, router: &Router, experts: u64) -> Result<(Value, Value), Error> {
    let rows = g.extents(x)[0];
    let mut scores = linear(g, x, router.weights, None, &Numerics::plain(F32, Activation::NONE))?;
    let mut ranked = scores;
    if let Gates::Logistic { added, .. } = &router.gates {
        scores = g.compute::<Error>(&[scores], |terms, x| Ok(terms.op(ScalarOp::Logistic, &[x[0]])?))?;
        ranked = match added {
            Some(added) => g.compute::<Error>(&[scores, *added], |terms, x| Ok(terms.add(x[0], x[1])?))?,
            None => scores,
        };
    }
    let [_, places] = g.builder.top_k(ranked, Order::Largest, Extent::Static(router.count))?;
    let best = picked::elements(g, scores, places, 1)?;
    let gates = match router.gates {
        Gates::Softmax => softmax(g, best, &[1], 1.0, F32)?,
        Gates::Logistic { total, .. } => {
            let sum = reduce(g, best, Reduction::Sum, &[1], Axes::Kept)?;
            g.compute::<Error>(&[best, sum], |terms, x| {
                let (total, least) = (terms.f32(total), terms.f32(f32::MIN_POSITIVE));
                let sum = terms.max(x[1], least)?;
                let factor = terms.div(total, sum)?;
                Ok(terms.mul(x[0], factor)?)
            })?
        }
    };
    let table = |g: &mut Graph<'_>, blank: Scalar, updates: Value| {
        let blank = g.scalar(blank)?;
        let blank = g.broadcast(blank, &[rows, Extent::Static(experts)])?;
        let scatter = Scatter { axis: 1, batch: 1, combination: Combination::Set, skips_negative: false };
        let table = g.builder.scatter([blank, places, updates], scatter)?;
        g.transpose(table, &[1, 0])
    };
    let one = g.scalar(Scalar::i32(1))?;
    let ones = g.broadcast(one, &[rows, Extent::Static(router.count)])?;
    Ok((table(g, Scalar::i32(0), ones)?, table(g, Scalar::float(F32, 0.0), gates)?))
}

/// Builds a function of the sum so far and the rows, of a shape, and of the rows' choices of an expert and its gates. It returns the new sum.
fn branch(
    g: &mut Graph<'_>,
    name: &str,
    shape: &[Extent],
    build: impl FnOnce(&mut Graph<'_>, [Value; 4]) -> Result<Value, Error>,
) -> Result<Func, Error> {
    let rows = if let Extent::Value(index) = shape[0] { Some(g.builder.function.values[index].ty.clone()) } else { None };
    let mut inside = Graph::new(g.builder.module, name);
    inside.builder.source = g.builder.source;
    let rows = rows.map_or(shape[0], |ty| Extent::Value(inside.builder.param(ty, None)));
    let tensor = |element, shape: &[Extent]| Type::Tensor(crate::ir::TensorType::new(element, shape.to_vec()));
    let matrix = [rows, shape[1]];
    let types = [tensor(F32, &matrix), tensor(F32, &matrix), tensor(I32, &[rows]), tensor(F32, &[rows])];
    let operands = types.map(|ty| inside.builder.param(ty, None));
    let sum = build(&mut inside, operands)?;
    Ok(inside.finish(vec![sum]))
}

/// Adds an expert's results to the rows of the sum that chose it.
fn added(g: &mut Graph<'_>, [sum, x, choice, gates]: [Value; 4], expert: &Expert) -> Result<Value, Error> {
    if g.extents(choice)[..] == [Extent::Static(1)] {
        let y = gated(g, x, gates, expert)?;
        return g.compute::<Error>(&[sum, y], |terms, x| Ok(terms.add(x[0], x[1])?));
    }
    let chosen = chosen(g, choice)?;
    let places = g.slice_along(chosen.list, 0, Extent::Static(0), Extent::Value(chosen.count))?;
    let (x, gates) = (g.gather(x, places, 0)?, g.gather(gates, places, 0)?);
    let y = gated(g, x, gates, expert)?;
    let scatter = Scatter { axis: 0, batch: 0, combination: Combination::Sum, skips_negative: false };
    Ok(g.builder.scatter([sum, places, y], scatter)?)
}

/// Returns an expert's results for rows, times their gates.
fn gated(g: &mut Graph<'_>, x: Value, gates: Value, expert: &Expert) -> Result<Value, Error> {
    let (plain, hidden) = (Numerics::plain(F32, Activation::NONE), Extent::Static(expert.outer.shape[1]));
    let inner = floats(g, &expert.inner)?;
    let both = linear(g, x, inner, None, &plain)?;
    let halves = slices::parts(g, both, 1, &[hidden, hidden])?;
    let middle = g.compute::<Error>(&halves, |terms, x| {
        let logistic = terms.op(ScalarOp::Logistic, &[x[0]])?;
        let silu = terms.mul(x[0], logistic)?;
        Ok(terms.mul(silu, x[1])?)
    })?;
    let outer = floats(g, &expert.outer)?;
    let y = linear(g, middle, outer, None, &plain)?;
    let rows = g.extents(gates)[0];
    let gates = g.reshape(gates, &[rows, Extent::Static(1)])?;
    let mut terms = Terms::new(&[F32, F32]);
    let (y_term, gate) = (terms.input(0), terms.input(1));
    let product = terms.mul(y_term, gate)?;
    g.map(&[y, gates], terms.finish(product))
}

/// A matrix of integers as floats.
fn floats(g: &mut Graph<'_>, matrix: &Grouped) -> Result<Value, Error> {
    let [rows, columns] = matrix.shape;
    let integers = if matrix.bits == 4 {
        let bytes = g.constant(U8, &[rows, columns / 2], matrix.bytes.clone())?;
        integers_of_bytes(g, bytes, 4)?
    } else {
        g.constant(I8, &[rows, columns], matrix.bytes.clone())?
    };
    let groups = columns / matrix.group.max(1);
    let integers = g.reshape(integers, &extents(&[rows, groups, matrix.group]))?;
    let scales = g.constant_f32(&[rows, groups, 1], &matrix.scales)?;
    let scale = Scale { scale: Parameter::Tensor(scales), zero_point: Parameter::Number(0.0) };
    let y = dequantize(g, integers, &scale, Rounding::Even, F32)?;
    g.reshape(y, &extents(&matrix.shape))
}
