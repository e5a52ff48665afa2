//! `map`: an expression evaluated node by node over blocks of elements.
//!
//! Each node has a column of [`BLOCK`] numbers; one pass over the node list computes a block. Integers and exact float
//! operations are as `ir::scalar` states; 16-bit floats are computed in binary32 and rounded after each operation.

use super::array::{Array, elements};
use super::column::Column;
use super::error::{Step, fail};
use super::movement;
use crate::entities::Constant;
use crate::scalar::float::{Reals, round_storage};
use crate::scalar::integer::{self, Integers};
use crate::scalar::{Comparison, Expression, NodeData, Row, ScalarOp};
use crate::storage::ConstantData;
use crate::types::ElementType;
use cranelift_entity::{EntityRef, PrimaryMap};

const BLOCK: usize = 1024;

/// The shape that shapes broadcast to, trailing dimensions aligned.
pub(super) fn broadcast(shapes: &[&[usize]]) -> Step<Vec<usize>> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (slot, &extent) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*slot, extent) {
                (_, 1) => {}
                (1, _) => *slot = extent,
                (a, b) if a == b => {}
                _ => return fail(format!("shapes {shapes:?} do not broadcast")),
            }
        }
    }
    Ok(result)
}

/// An operand of a map, with the position of its element for each position of the result.
struct Operand<'a, 'm> {
    array: std::borrow::Cow<'a, Array<'m>>,
    /// The number of elements of the result after which the operand repeats.
    period: usize,
}

impl<'a, 'm> Operand<'a, 'm> {
    fn new(array: &'a Array<'m>, shape: &[usize]) -> Step<Self> {
        let leading_ones = array.shape.iter().take_while(|&&d| d == 1).count();
        let core = &array.shape[leading_ones..];
        if shape.ends_with(core) {
            return Ok(Self { array: std::borrow::Cow::Borrowed(array), period: array.len().max(1) });
        }
        let whole = movement::broadcast(array, shape)?;
        let period = whole.len().max(1);
        Ok(Self { array: std::borrow::Cow::Owned(whole), period })
    }

    fn load(&self, column: &mut Column, first: usize, count: usize) {
        let (element, bytes, start) = (self.array.element, &self.array.bytes, first % self.period);
        if self.period == 1 {
            column.load(element, bytes, std::iter::repeat_n(0, count));
        } else if start + count <= self.period {
            column.load(element, bytes, start..start + count);
        } else {
            column.load(element, bytes, (first..first + count).map(|p| p % self.period));
        }
    }
}

/// Evaluates an expression over broadcast operands; one array a result.
pub(super) fn map<'m>(
    constants: &PrimaryMap<Constant, ConstantData>,
    expression: &Expression,
    operands: &[&Array<'m>],
) -> Step<Vec<Array<'m>>> {
    let shapes: Vec<&[usize]> = operands.iter().map(|a| a.shape.as_slice()).collect();
    let shape = broadcast(&shapes)?;
    let total = elements(ElementType::I64, &shape)?;
    let operands = operands.iter().map(|a| Operand::new(a, &shape)).collect::<Step<Vec<_>>>()?;
    let tables = tables(constants, expression)?;
    let block = BLOCK.min(total.max(1));
    let mut columns: Vec<Column> = expression.nodes.values().map(|node| Column::zeros(node.ty, block)).collect();
    let mut outputs: Vec<Vec<u8>> = vec![Vec::new(); expression.results.len()];
    for first in (0..total).step_by(block) {
        let count = block.min(total - first);
        for (node, data) in expression.nodes.iter() {
            let (earlier, rest) = columns.split_at_mut(node.index());
            let out = &mut rest[0];
            match data.op {
                ScalarOp::Input(i) => operands[i as usize].load(out, first, count),
                ScalarOp::Constant(value) if first == 0 => {
                    out.load(data.ty, &value.to_bytes(), std::iter::repeat_n(0, block));
                }
                ScalarOp::Constant(_) => {}
                ScalarOp::Lut(_) => look_up(expression, data, &tables[node.index()], earlier, out, count),
                _ => evaluate(expression, data, earlier, out, count)?,
            }
        }
        for (&node, bytes) in expression.results.iter().zip(&mut outputs) {
            columns[node.index()].store(expression.nodes[node].ty, count, bytes);
        }
    }
    let types = expression.results.iter().map(|&n| expression.nodes[n].ty);
    Ok(types.zip(outputs).map(|(ty, bytes)| Array::new(ty, shape.clone(), bytes)).collect())
}

/// The decoded table of each node that is a look-up; empty columns elsewhere.
fn tables(constants: &PrimaryMap<Constant, ConstantData>, expression: &Expression) -> Step<Vec<Column>> {
    let mut tables = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        let ScalarOp::Lut(constant) = data.op else {
            tables.push(Column::zeros(ElementType::I64, 0));
            continue;
        };
        let Some(table) = constants.get(constant) else { return fail(format!("{constant} does not exist")) };
        let shape = table.ty.static_shape().unwrap_or_default();
        let array = Array::taken_from_packed(table.ty.element, &shape, table.data.bytes())?;
        if array.len() == 0 || array.element != data.ty {
            return fail(format!("{constant} is no table of {}", data.ty));
        }
        tables.push(Column::decode(array.element, &array.bytes, 0..array.len()));
    }
    Ok(tables)
}

/// The element at the operand's value, which is clamped into the table.
fn look_up(expression: &Expression, data: &NodeData, table: &Column, earlier: &[Column], out: &mut Column, count: usize) {
    let operand = data.operands[0];
    let Column::Int(indices) = &earlier[operand.index()] else { return };
    let unsigned = expression.nodes[operand].ty == ElementType::U64;
    let position = |index: i64, len: usize| {
        if index < 0 { if unsigned { len - 1 } else { 0 } } else { (index as usize).min(len - 1) }
    };
    match (table, out) {
        (Column::Int(t), Column::Int(o)) => unary(o, indices, count, |i| t[position(i, t.len())]),
        (Column::F32(t), Column::F32(o)) => unary(o, indices, count, |i| t[position(i, t.len())]),
        (Column::F64(t), Column::F64(o)) => unary(o, indices, count, |i| t[position(i, t.len())]),
        (Column::C64(t), Column::C64(o)) => unary(o, indices, count, |i| t[position(i, t.len())]),
        _ => {}
    }
}

fn unary<A: Copy, B>(out: &mut [B], a: &[A], count: usize, f: impl Fn(A) -> B) {
    for (slot, &x) in out[..count].iter_mut().zip(a) {
        *slot = f(x);
    }
}

fn binary<A: Copy, B>(out: &mut [B], a: &[A], b: &[A], count: usize, f: impl Fn(A, A) -> B) {
    for ((slot, &x), &y) in out[..count].iter_mut().zip(a).zip(b) {
        *slot = f(x, y);
    }
}

fn ternary<A: Copy, B: Copy>(out: &mut [B], a: &[A], [b, c]: [&[B]; 2], count: usize, f: impl Fn(A, B, B) -> B) {
    for (((slot, &x), &y), &z) in out[..count].iter_mut().zip(a).zip(b).zip(c) {
        *slot = f(x, y, z);
    }
}

/// One node over the first `count` elements.
fn evaluate(expression: &Expression, data: &NodeData, earlier: &[Column], out: &mut Column, count: usize) -> Step<()> {
    let operand = |i: usize| &earlier[data.operands[i].index()];
    let ty = data.operands.first().map_or(data.ty, |&n| expression.nodes[n].ty);
    let done = match data.op {
        ScalarOp::Convert => convert(ty, data.ty, operand(0), out, count, false),
        ScalarOp::ConvertSaturating => convert(ty, data.ty, operand(0), out, count, true),
        ScalarOp::Select => select(operand(0), operand(1), operand(2), out, count),
        ScalarOp::Compare(comparison) => compare(comparison, ty, operand(0), operand(1), out, count),
        op => {
            let columns: Vec<&Column> = (0..data.operands.len()).map(operand).collect();
            compute(&op.row(), ty, &columns, out, count)
        }
    };
    if done { Ok(()) } else { fail(format!("scalar operation {} is not defined on {ty}", data.op.name())) }
}

/// Computes an operation by the row's function for operands of one type; false if the row has none for this type.
fn compute(row: &Row, ty: ElementType, operands: &[&Column], out: &mut Column, count: usize) -> bool {
    match (operands, out) {
        (&[Column::Int(a)], Column::Int(out)) => {
            let Integers::Unary(f) = row.integers else { return false };
            unary(out, a, count, |x| integer::wrap(ty, f(ty, x)));
        }
        (&[Column::Int(a), Column::Int(b)], Column::Int(out)) => {
            let Integers::Binary(f) = row.integers else { return false };
            binary(out, a, b, count, |x, y| integer::wrap(ty, f(ty, x, y)));
        }
        (&[Column::Int(a), Column::Int(b), Column::Int(c)], Column::Int(out)) => {
            let Integers::Ternary(f) = row.integers else { return false };
            ternary(out, a, [b, c], count, |x, y, z| integer::wrap(ty, f(ty, x, y, z)));
        }
        (&[Column::C64(a), Column::C64(b)], Column::C64(out)) => {
            let Some(f) = row.complex else { return false };
            binary(out, a, b, count, f);
        }
        (operands, Column::F32(out)) => return reals(row.singles, operands, Column::singles, out, count, |x| round_storage(ty, x)),
        (operands, Column::F64(out)) => return reals(row.doubles, operands, Column::doubles, out, count, |x| x),
        _ => return false,
    }
    true
}

/// Computes an operation on floats, and rounds each result to its type.
fn reals<T: Copy>(
    meaning: Reals<T>,
    operands: &[&Column],
    floats: fn(&Column) -> Option<&[T]>,
    out: &mut [T],
    count: usize,
    rounded: impl Fn(T) -> T,
) -> bool {
    let Some(operands) = operands.iter().map(|column| floats(column)).collect::<Option<Vec<&[T]>>>() else { return false };
    match (meaning, &operands[..]) {
        (Reals::Unary(f), &[a]) => unary(out, a, count, |x| rounded(f(x))),
        (Reals::Binary(f), &[a, b]) => binary(out, a, b, count, |x, y| rounded(f(x, y))),
        (Reals::Ternary(f), &[a, b, c]) => ternary(out, a, [b, c], count, |x, y, z| rounded(f(x, y, z))),
        _ => return false,
    }
    true
}

fn select(condition: &Column, a: &Column, b: &Column, out: &mut Column, count: usize) -> bool {
    let Column::Int(condition) = condition else { return false };
    match (a, b, out) {
        (Column::Int(a), Column::Int(b), Column::Int(out)) => choose(condition, a, b, out, count),
        (Column::F32(a), Column::F32(b), Column::F32(out)) => choose(condition, a, b, out, count),
        (Column::F64(a), Column::F64(b), Column::F64(out)) => choose(condition, a, b, out, count),
        (Column::C64(a), Column::C64(b), Column::C64(out)) => choose(condition, a, b, out, count),
        _ => return false,
    }
    true
}

fn choose<T: Copy>(condition: &[i64], a: &[T], b: &[T], out: &mut [T], count: usize) {
    ternary(out, condition, [a, b], count, |c, x, y| if c != 0 { x } else { y });
}

fn compare(comparison: Comparison, ty: ElementType, a: &Column, b: &Column, out: &mut Column, count: usize) -> bool {
    let Column::Int(out) = out else { return false };
    match (a, b) {
        (Column::Int(a), Column::Int(b)) => binary(out, a, b, count, |x, y| i64::from(integer::compare(comparison, ty, x, y))),
        (Column::F32(a), Column::F32(b)) => binary(out, a, b, count, |x, y| i64::from(holds(comparison, x, y))),
        (Column::F64(a), Column::F64(b)) => binary(out, a, b, count, |x, y| i64::from(holds(comparison, x, y))),
        (Column::C64(a), Column::C64(b)) => match comparison {
            Comparison::Equal => binary(out, a, b, count, |x, y| i64::from(x == y)),
            Comparison::NotEqual => binary(out, a, b, count, |x, y| i64::from(x != y)),
            _ => return false,
        },
        _ => return false,
    }
    true
}

fn holds<T: PartialOrd>(comparison: Comparison, a: T, b: T) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Less => a < b,
        Comparison::LessEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterEqual => a >= b,
    }
}

/// Conversion between any two types. A complex number converts to its real part, and to truth when either part is not zero.
fn convert(from: ElementType, to: ElementType, a: &Column, out: &mut Column, count: usize, saturating: bool) -> bool {
    let integer = |x: i64| if saturating { integer::saturate(from, to, x) } else { integer::wrap(to, x) };
    let unsigned = from == ElementType::U64;
    match (a, out) {
        (Column::Int(a), Column::Int(out)) => unary(out, a, count, integer),
        (Column::F32(a), Column::Int(out)) => unary(out, a, count, |x| integer::saturate_float(to, f64::from(x))),
        (Column::F64(a), Column::Int(out)) => unary(out, a, count, |x| integer::saturate_float(to, x)),
        (Column::C64(a), Column::Int(out)) if to == ElementType::Bool => unary(out, a, count, |x| i64::from(x != (0.0, 0.0))),
        (Column::C64(a), Column::Int(out)) => unary(out, a, count, |x| integer::saturate_float(to, f64::from(x.0))),
        (Column::Int(a), Column::F32(out)) => {
            unary(out, a, count, |x| round_storage(to, if unsigned { x as u64 as f32 } else { x as f32 }));
        }
        (Column::F32(a), Column::F32(out)) => unary(out, a, count, |x| round_storage(to, x)),
        (Column::F64(a), Column::F32(out)) => unary(out, a, count, |x| narrow(to, x)),
        (Column::C64(a), Column::F32(out)) => unary(out, a, count, |x| round_storage(to, x.0)),
        (Column::Int(a), Column::F64(out)) => unary(out, a, count, |x| if unsigned { x as u64 as f64 } else { x as f64 }),
        (Column::F32(a), Column::F64(out)) => unary(out, a, count, f64::from),
        (Column::F64(a), Column::F64(out)) => unary(out, a, count, |x| x),
        (Column::C64(a), Column::F64(out)) => unary(out, a, count, |x| f64::from(x.0)),
        (Column::Int(a), Column::C64(out)) => unary(out, a, count, |x| (if unsigned { x as u64 as f32 } else { x as f32 }, 0.0)),
        (Column::F32(a), Column::C64(out)) => unary(out, a, count, |x| (x, 0.0)),
        (Column::F64(a), Column::C64(out)) => unary(out, a, count, |x| (x as f32, 0.0)),
        (Column::C64(a), Column::C64(out)) => unary(out, a, count, |x| x),
    }
    true
}

/// A binary64 rounded once to a narrower float type.
fn narrow(to: ElementType, x: f64) -> f32 {
    match to {
        ElementType::F16 => half::f16::from_f64(x).to_f32(),
        ElementType::Bf16 => half::bf16::from_f64(x).to_f32(),
        _ => x as f32,
    }
}
