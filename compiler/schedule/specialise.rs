//! Expressions specialised to the constants they read: one-element constants become numbers, and requantization by
//! constant multipliers becomes the shortest exact sequence of simple operations.
//!
//! `requant.tflite_double` divides by 2ⁿ with n differing from channel to channel, which needs shifts that differ from lane to
//! lane. With N the largest n, `(t + h − s) >> n` equals `((t + h − s) · 2^(N−n)) >> N` as long as the product fits 32 bits;
//! the range of the accumulator, known from the weights, proves that it does. Then one multiplication by a table and one uniform
//! shift do what lane-wise shifts would.
//!
//! Where constants are open (their values may be others when the program runs) nothing is specialised.

use super::Context;
use super::ranges::{Range, ranges};
use crate::fuse::Epilogue;
use crate::ir::{Data, ElementType, Expression, ExpressionBuilder, Node, RequantizeRule, Scalar, ScalarOp, Value};
use cranelift_entity::EntityRef;

/// Where an input of a specialised expression comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A tensor.
    Tensor(Value),
    /// A table with one integer a channel, of the narrowest type that holds them all.
    Channels(ElementType, Data),
}

/// A specialised expression.
#[derive(Clone, Debug)]
pub struct Specialised {
    /// One an input.
    pub sources: Vec<Source>,
    /// The expression.
    pub expression: Expression,
    /// The range of each input, where it is known to be narrower than its type's.
    pub ranges: Vec<Option<(i64, i64)>>,
}

/// Specialises an epilogue. `accumulator` is the root's result with the range of its values, if there is a root.
pub fn specialise(cx: &Context<'_>, epilogue: &Epilogue, accumulator: Option<(Value, Option<(i64, i64)>)>) -> Specialised {
    let constants: Vec<Option<Vec<i64>>> = epilogue.operands.iter().map(|&v| small_integers(cx, v)).collect();
    let input_ranges: Vec<Option<(i64, i64)>> = epilogue
        .operands
        .iter()
        .zip(&constants)
        .map(|(&v, constant)| match (accumulator, constant) {
            (Some((value, range)), _) if value == v => range,
            (_, Some(list)) => Some((*list.iter().min()?, *list.iter().max()?)),
            _ => None,
        })
        .collect();
    let types: Vec<ElementType> = epilogue.operands.iter().map(|&v| cx.element(v)).collect();
    let mut rewriter = Rewriter {
        node_ranges: ranges(&epilogue.expression, &input_ranges),
        builder: ExpressionBuilder::new(&types),
        tables: Vec::new(),
        constants,
        old: &epilogue.expression,
    };
    let results = rewriter.run(cx, epilogue);
    let mut sources: Vec<Source> = epilogue.operands.iter().map(|&v| Source::Tensor(v)).collect();
    let mut all_ranges = input_ranges;
    for table in &rewriter.tables {
        all_ranges.push(table.iter().min().copied().zip(table.iter().max().copied()).map(|(l, h)| (i64::from(l), i64::from(h))));
        let narrowest = [ElementType::I8, ElementType::I16].into_iter().find(|e| {
            let (low, high) = e.integer_range().unwrap_or((0, 0));
            table.iter().all(|&n| (low..=high).contains(&i128::from(n)))
        });
        let element = narrowest.unwrap_or(ElementType::I32);
        let bytes: Vec<u8> = table.iter().flat_map(|n| n.to_le_bytes()[..element.bits() as usize / 8].to_vec()).collect();
        sources.push(Source::Channels(element, bytes.into()));
    }
    Specialised { sources, expression: rewriter.builder.finish(results), ranges: all_ranges }
}

/// The integers of a constant tensor, if it is a constant of integers that are known.
fn small_integers(cx: &Context<'_>, value: Value) -> Option<Vec<i64>> {
    if cx.module.open_constants {
        return None;
    }
    let element = cx.element(value);
    let data = cx.constant_data(value)?.bytes();
    (element.is_integer() && element.bits() >= 8).then_some(())?;
    let size = (element.bits() / 8) as usize;
    let number = |bytes: &[u8]| {
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(bytes);
        Scalar::from_bits(element, u64::from_le_bytes(raw)).as_i64()
    };
    Some(data.chunks_exact(size).map(number).collect())
}

struct Rewriter<'a> {
    old: &'a Expression,
    node_ranges: Vec<Range>,
    constants: Vec<Option<Vec<i64>>>,
    builder: ExpressionBuilder,
    tables: Vec<Vec<i32>>,
}

impl Rewriter<'_> {
    fn run(&mut self, cx: &Context<'_>, epilogue: &Epilogue) -> Vec<Node> {
        let mut moved: Vec<Node> = Vec::with_capacity(self.old.nodes.len());
        for (node, data) in &self.old.nodes {
            let operands: Vec<Node> = data.operands.iter().map(|n| moved[n.index()]).collect();
            let new = match data.op {
                ScalarOp::Input(i) => match one_element(cx, epilogue.operands[i as usize]) {
                    Some(value) => self.builder.constant(value),
                    None => self.builder.input(i as usize),
                },
                ScalarOp::Requantize(RequantizeRule::TfliteDouble) => match self.requantize(node, operands[0]) {
                    Some(new) => new,
                    None => self.builder.raw(data.op, operands, data.ty),
                },
                op => self.builder.raw(op, operands, data.ty),
            };
            moved.push(new);
        }
        self.old.results.iter().map(|n| moved[n.index()]).collect()
    }

    /// The constants behind a node: one number, or one a channel.
    fn numbers(&self, node: Node) -> Option<Vec<i64>> {
        match self.old.nodes[node].op {
            ScalarOp::Constant(value) => Some(vec![value.as_i64()]),
            ScalarOp::Input(i) => self.constants[i as usize].clone(),
            _ => None,
        }
    }

    /// A number in every channel, or a table.
    fn table(&mut self, numbers: &[i32]) -> Node {
        if numbers.windows(2).all(|w| w[0] == w[1]) {
            return self.builder.constant(Scalar::i32(numbers[0]));
        }
        self.tables.push(numbers.to_vec());
        self.builder.add_input(ElementType::I32)
    }

    fn op(&mut self, op: ScalarOp, operands: &[Node]) -> Node {
        self.builder.raw(op, operands.to_vec(), ElementType::I32)
    }

    fn requantize(&mut self, node: Node, accumulator: Node) -> Option<Node> {
        let old = self.old.nodes[node].operands.clone();
        let (multipliers, shifts) = (self.numbers(old[1])?, self.numbers(old[2])?);
        let channels = multipliers.len().max(shifts.len());
        let at = |list: &[i64], c: usize| list[if list.len() == 1 { 0 } else { c }];
        if channels == 0 || [&multipliers, &shifts].iter().any(|l| l.len() != 1 && l.len() != channels) {
            return None;
        }
        let range = self.node_ranges[old[0].index()];
        let magnitude = range.0.unsigned_abs().max(range.1.unsigned_abs()) as i128;
        let all = |f: &dyn Fn(usize) -> i64| -> Vec<i64> { (0..channels).map(f).collect() };
        let left = all(&|c| at(&shifts, c).max(0));
        let right = all(&|c| (-at(&shifts, c)).max(0));
        let largest = *right.iter().max()?;
        if left.iter().any(|&l| l > 30) || largest > 31 || multipliers.iter().any(|&m| m < 0) {
            return None;
        }
        // The product of the last multiplication, at its largest, must fit 32 bits.
        let fits = (0..channels).all(|c| {
            let product = (((magnitude << left[c]) * i128::from(at(&multipliers, c))) >> 31) + 2;
            let half = if right[c] > 0 { 1i128 << (right[c] - 1) } else { 0 };
            (product + half) << (largest - right[c]) < 1 << 31
        });
        let mut x = accumulator;
        if left.iter().any(|&l| l > 0) {
            let factors: Vec<i32> = left.iter().map(|&l| 1 << l).collect();
            let factor = self.table(&factors);
            x = self.op(ScalarOp::Mul, &[x, factor]);
        }
        let multipliers: Vec<i32> = all(&|c| at(&multipliers, c)).iter().map(|&m| m as i32).collect();
        let multiplier = self.table(&multipliers);
        let product = self.op(ScalarOp::SaturatingRoundingDoublingHighMul, &[x, multiplier]);
        if largest == 0 {
            return Some(product);
        }
        if !fits {
            let exponents: Vec<i32> = right.iter().map(|&r| r as i32).collect();
            let exponent = self.table(&exponents);
            return Some(self.op(ScalarOp::RoundingDivideByPowerOfTwo, &[product, exponent]));
        }
        Some(self.divide(product, &right, largest))
    }

    /// Rounding division by 2^right, ties away from zero, of values proven small enough. The half that is added before the
    /// division is the same in every channel behind the multiplication, except where nothing is divided.
    fn divide(&mut self, product: Node, right: &[i64], largest: i64) -> Node {
        let thirty_one = self.builder.constant(Scalar::i32(31));
        let mut sign = self.op(ScalarOp::ShiftRight, &[product, thirty_one]);
        if right.contains(&0) {
            let masks: Vec<i32> = right.iter().map(|&r| if r > 0 { -1 } else { 0 }).collect();
            let mask = self.table(&masks);
            sign = self.op(ScalarOp::And, &[sign, mask]);
        }
        let mut value = self.op(ScalarOp::Add, &[product, sign]);
        if right.iter().any(|&r| r != largest) {
            let factors: Vec<i32> = right.iter().map(|&r| 1 << (largest - r)).collect();
            let factor = self.table(&factors);
            value = self.op(ScalarOp::Mul, &[value, factor]);
        }
        let halves: Vec<i32> = right.iter().map(|&r| if r > 0 { 1 << (largest - 1) } else { 0 }).collect();
        let half = self.table(&halves);
        value = self.op(ScalarOp::Add, &[value, half]);
        let count = self.builder.constant(Scalar::i32(largest as i32));
        self.op(ScalarOp::ShiftRight, &[value, count])
    }
}

/// The number in a one-element constant, if it is known.
fn one_element(cx: &Context<'_>, value: Value) -> Option<Scalar> {
    if cx.module.open_constants {
        return None;
    }
    let element = cx.element(value);
    let bytes = cx.constant_data(value)?.bytes();
    let size = (element.bits() / 8) as usize;
    if bytes.len() != size || element == ElementType::C64 || size == 0 {
        return None;
    }
    let mut raw = [0; 8];
    raw[..size].copy_from_slice(bytes);
    Some(Scalar::from_bits(element, u64::from_le_bytes(raw)))
}
