//! Expressions specialised to the constants they read: one-element constants become numbers, and requantization by
//! constant multipliers becomes the shortest exact sequence of simple operations.
//!
//! Machines without lane-wise shifts follow the rule (`by_rule.rs`).
//! Others do better ([`super::requantize`]); sums may then have to begin with an offset.
//!
//! Where constants are open (their values may be others when the program runs) nothing is specialised.

mod by_rule;
mod exact;
mod floats;
mod inert;
mod products;

use super::ranges::{Range, ranges, type_range, within};
use super::requantize::{Floats, MOST_ADDED, Precision, Problem, ROOM, Requantizer, Rule, Scale, Solution, Solved};
use super::sum_of_two::{Fit, Fits, SumOfTwo};
use crate::fuse::Epilogue;
use crate::ir::{Data, ElementType, Expression, ExpressionBuilder, Node, RequantizeRule, Scalar, ScalarOp, Value};
use crate::machine::Requantize;
use crate::schedule::context::Context;
use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};

/// Results from which on a processor's mode of rounding is set for them: setting it twice costs what some forty vectors gain.
const FEWEST_ROUNDED: u64 = 1024;

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
    /// How requantizations are computed whose operands are an offset sum and tables.
    pub requantizers: FxHashMap<Node, Requantizer>,
    /// What the accumulator of each channel begins with beside its bias: one number for all, or one a channel. None for nothing.
    pub offsets: Vec<i32>,
}

/// The result of a group's root, as its epilogue finds it.
#[derive(Clone, Copy, Debug)]
pub struct Accumulator<'a> {
    /// The tensor.
    pub value: Value,
    /// The interval of its elements, if it is known.
    pub range: Option<(i64, i64)>,
    /// The intervals of the channels' elements, if they are known.
    pub channels: &'a [(i64, i64)],
    /// Whether its sums can begin with an offset.
    pub takes_offsets: bool,
}

/// Specialises an epilogue. `accumulator` is the root's result, if there is a root.
pub fn specialise(cx: &Context<'_>, epilogue: &Epilogue, accumulator: Option<Accumulator<'_>>) -> Specialised {
    let takes_offsets = accumulator.is_some_and(|accumulator| accumulator.takes_offsets);
    let toward_zero = cx.machine.rounding_modes && takes_offsets && may_round_toward_zero(cx, epilogue);
    let found = specialised(cx, epilogue, accumulator, toward_zero);
    if found.rounds_in_two_ways() { specialised(cx, epilogue, accumulator, false) } else { found }
}

impl Specialised {
    /// Whether one requantization rounds to nearest and another one towards zero: a kernel does one or the other.
    fn rounds_in_two_ways(&self) -> bool {
        let rounds = |nearest: bool| {
            let precisions = self.requantizers.values().filter_map(|requantizer| requantizer.precision());
            precisions.map(|precision| precision == Precision::Nearest).any(|is_nearest| is_nearest == nearest)
        };
        rounds(true) && rounds(false)
    }
}

/// Specialises an epilogue whose requantizations may round towards zero, or may not.
fn specialised(cx: &Context<'_>, epilogue: &Epilogue, accumulator: Option<Accumulator<'_>>, toward_zero: bool) -> Specialised {
    let constants: Vec<Option<Vec<i64>>> = epilogue.operands.iter().map(|&v| small_integers(cx, v)).collect();
    let input_ranges: Vec<Option<(i64, i64)>> = epilogue
        .operands
        .iter()
        .zip(&constants)
        .map(|(&v, constant)| match (accumulator, constant) {
            (Some(accumulator), _) if accumulator.value == v => accumulator.range,
            (_, Some(list)) => Some((*list.iter().min()?, *list.iter().max()?)),
            _ => None,
        })
        .collect();
    let types: Vec<ElementType> = epilogue.operands.iter().map(|&v| cx.element(v)).collect();
    let of_channels: Vec<bool> = epilogue.operands.iter().map(|&v| is_of_channels(cx, v)).collect();
    let constants = constants.into_iter().zip(&of_channels).map(|(list, of_channels)| list.filter(|_| *of_channels)).collect();
    let mut rewriter = Rewriter {
        node_ranges: ranges(&epilogue.expression, &input_ranges),
        builder: ExpressionBuilder::new(&types),
        tables: Vec::new(),
        constants,
        of_channels: nodes_of_channels(&epilogue.expression, &of_channels),
        old: &epilogue.expression,
        requantize: cx.machine.requantize,
        accumulator: accumulator
            .and_then(|accumulator| Some((epilogue.operands.iter().position(|&v| v == accumulator.value)?, accumulator))),
        toward_zero,
        solved: &cx.packed.solved,
        fits: &cx.packed.fits,
        requantizers: FxHashMap::default(),
        offsets: vec![],
        merged: FxHashSet::default(),
        floats: epilogue.operands.iter().map(|&v| small_floats(cx, v)).collect(),
        doubles: epilogue.operands.iter().map(|&v| small_doubles(cx, v)).collect(),
        clamps: FxHashMap::default(),
    };
    let results = rewriter.run(cx, epilogue);
    let mut sources: Vec<Source> = epilogue.operands.iter().map(|&v| Source::Tensor(v)).collect();
    let mut all_ranges = input_ranges;
    for table in &rewriter.tables {
        all_ranges.push(table.iter().min().copied().zip(table.iter().max().copied()).map(|(l, h)| (i64::from(l), i64::from(h))));
        // Instructions take tables of the lanes' width from memory; narrower ones have to be widened first.
        let narrow = rewriter.requantize != Requantize::Fitted;
        let narrowest = [ElementType::I8, ElementType::I16].into_iter().find(|e| {
            let (low, high) = e.integer_range().unwrap_or((0, 0));
            narrow && table.iter().all(|&n| (low..=high).contains(&i128::from(n)))
        });
        let element = narrowest.unwrap_or(ElementType::I32);
        let size = element.bits() as usize / 8;
        let mut bytes = Vec::with_capacity(table.len() * size);
        table.iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()[..size]));
        sources.push(Source::Channels(element, bytes.into()));
    }
    let Rewriter { builder, requantizers, offsets, .. } = rewriter;
    Specialised { sources, expression: builder.finish(results), ranges: all_ranges, requantizers, offsets }
}

/// Whether a kernel of integers may round its floats towards zero: there are no others than those of its requantizations, and there are
/// enough of them to pay for setting the mode.
fn may_round_toward_zero(cx: &Context<'_>, epilogue: &Epilogue) -> bool {
    let elements = |&tensor: &Value| cx.shape(tensor).map_or(0, |shape| shape.iter().product());
    epilogue.expression.nodes.values().all(|node| !node.ty.is_float())
        && cx.group.outputs.iter().map(elements).max().is_some_and(|elements| elements >= FEWEST_ROUNDED)
}

/// The integers of a constant tensor, if it is a constant of integers that are known.
fn small_integers(cx: &Context<'_>, value: Value) -> Option<Vec<i64>> {
    if cx.module.open_constants {
        return None;
    }
    let element = cx.element(value);
    let data = cx.constant_data(value)?.bytes();
    (element.is_integer() && element.bits() >= 8).then_some(())?;
    // Nearly all are of these two.
    match element {
        ElementType::I8 => return Some(data.iter().map(|&byte| i64::from(byte as i8)).collect()),
        ElementType::I32 => return Some(data.as_chunks().0.iter().map(|&bytes| i64::from(i32::from_le_bytes(bytes))).collect()),
        _ => {}
    }
    let size = (element.bits() / 8) as usize;
    let number = |bytes: &[u8]| {
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(bytes);
        Scalar::from_bits(element, u64::from_le_bytes(raw)).as_i64()
    };
    Some(data.chunks_exact(size).map(number).collect())
}

/// The numbers of a constant tensor of binary32, if it is one that is known, of one number or one a channel.
fn small_floats(cx: &Context<'_>, value: Value) -> Option<Vec<f32>> {
    if cx.module.open_constants || cx.element(value) != ElementType::F32 || !is_of_channels(cx, value) {
        return None;
    }
    let data = cx.constant_data(value)?.bytes();
    Some(data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

/// The same of a tensor of binary64.
fn small_doubles(cx: &Context<'_>, value: Value) -> Option<Vec<f64>> {
    if cx.module.open_constants || cx.element(value) != ElementType::F64 || !is_of_channels(cx, value) {
        return None;
    }
    let data = cx.constant_data(value)?.bytes();
    Some(data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
}

/// Whether a tensor is one number, or one a channel.
fn is_of_channels(cx: &Context<'_>, value: Value) -> bool {
    cx.shape(value).is_ok_and(|shape| shape.iter().rev().skip(1).all(|&extent| extent == 1))
}

/// Whether each node of an expression is one number, or one a channel, where this is known of the inputs.
fn nodes_of_channels(expression: &Expression, inputs: &[bool]) -> Vec<bool> {
    let mut nodes: Vec<bool> = Vec::with_capacity(expression.nodes.len());
    for data in expression.nodes.values() {
        nodes.push(match data.op {
            ScalarOp::Input(i) => inputs[i as usize],
            _ => data.operands.iter().all(|operand| nodes[operand.index()]),
        });
    }
    nodes
}

struct Rewriter<'a> {
    old: &'a Expression,
    node_ranges: Vec<Range>,
    /// The constants among the inputs that are one number, or one a channel.
    constants: Vec<Option<Vec<i64>>>,
    /// Whether each node is one number, or one a channel.
    of_channels: Vec<bool>,
    builder: ExpressionBuilder,
    tables: Vec<Vec<i32>>,
    /// How the machine scales sums.
    requantize: Requantize,
    /// The input that is the accumulator.
    accumulator: Option<(usize, Accumulator<'a>)>,
    /// Whether the kernel may round floats towards zero.
    toward_zero: bool,
    solved: &'a Solved,
    fits: &'a Fits,
    requantizers: FxHashMap<Node, Requantizer>,
    offsets: Vec<i32>,
    /// Additions of a number to a requantization that its own constant takes with it, and clamps that change nothing.
    merged: FxHashSet<Node>,
    /// The constants of binary32 among the inputs that are one number, or one a channel.
    floats: Vec<Option<Vec<f32>>>,
    /// The same of binary64.
    doubles: Vec<Option<Vec<f64>>>,
    /// The old nodes that are known to be the clamp of one new node.
    clamps: FxHashMap<Node, Clamp>,
}

/// `min(max(node, low), high)`, of 32 bits.
#[derive(Clone, Copy)]
struct Clamp {
    node: Node,
    low: i64,
    high: i64,
}

impl<'a> Rewriter<'a> {
    fn run(&mut self, cx: &Context<'_>, epilogue: &Epilogue) -> Vec<Node> {
        let mut moved: Vec<Node> = Vec::with_capacity(self.old.nodes.len());
        for (node, data) in &self.old.nodes {
            let operands: Vec<Node> = data.operands.iter().map(|n| moved[n.index()]).collect();
            let new = match data.op {
                ScalarOp::Input(i) => match one_element(cx, epilogue.operands[i as usize]) {
                    Some(value) => self.builder.constant(value),
                    None => self.builder.input(i as usize),
                },
                ScalarOp::Requantize(rule) => {
                    let proven = match self.requantize {
                        Requantize::ByRule => None,
                        Requantize::Fitted | Requantize::Products => {
                            self.sum_of_two(node, &moved).or_else(|| self.proven(rule, node, &moved))
                        }
                    };
                    let new = proven.or_else(|| self.by_rule(rule, node, operands[0]));
                    new.unwrap_or_else(|| self.builder.raw(data.op, operands, data.ty))
                }
                ScalarOp::Convert if self.requantize != Requantize::ByRule && data.ty == ElementType::I32 => {
                    let proven = self.scaled_by_factor(node, &moved).or_else(|| self.scaled_by_floats(node, &moved));
                    proven.unwrap_or_else(|| self.builder.raw(data.op, operands, data.ty))
                }
                _ if self.merged.contains(&node) => operands[usize::from(self.numbers(data.operands[0]).is_some())],
                _ if self.clamps_clamped(node) => self.clamp(node),
                op => self.builder.raw(op, operands, data.ty),
            };
            moved.push(new);
        }
        self.old.results.iter().map(|n| moved[n.index()]).collect()
    }

    /// The constants that a node is: one number, or one a channel.
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

    /// The nodes that read a node, and whether it is a result.
    fn readers(&self, node: Node) -> (Vec<Node>, bool) {
        let readers = self.old.nodes.iter().filter(|(_, data)| data.operands.contains(&node)).map(|(reader, _)| reader);
        (readers.collect(), self.old.results.contains(&node))
    }

    /// The one node that alone reads a node.
    fn only_reader(&self, node: Node) -> Option<Node> {
        match self.readers(node) {
            (readers, false) if readers.len() == 1 => Some(readers[0]),
            _ => None,
        }
    }

    /// The number that a node combines with another one.
    fn number_beside(&self, node: Node, other: Node) -> Option<i64> {
        let [a, b] = self.old.nodes[node].operands[..] else { return None };
        match self.numbers(if a == other { b } else { a })?[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// The values of a node between which what follows tells differences.
    fn told_apart(&self, mut node: Node) -> (i64, i64) {
        let (mut low, mut high, mut added) = (i64::from(i32::MIN), i64::from(i32::MAX), 0);
        while let Some(reader) = self.only_reader(node) {
            let data = &self.old.nodes[reader];
            match (data.op, self.number_beside(reader, node)) {
                (ScalarOp::Add, Some(number)) if (added + number).abs() <= MOST_ADDED => added += number,
                (ScalarOp::Max(_), Some(number)) => low = low.max(number - added),
                (ScalarOp::Min(_), Some(number)) => high = high.min(number - added),
                (ScalarOp::ConvertSaturating, _) if data.ty.is_integer() => {
                    let (least, most) = type_range(data.ty);
                    (low, high) = (low.max(least as i64 - added), high.min(most as i64 - added));
                    break;
                }
                // All numbers stay what they are.
                (ScalarOp::Convert, _) if data.ty.is_integer() && within(self.node_ranges[node.index()], type_range(data.ty)) => {}
                _ => break,
            }
            node = reader;
        }
        (low, high)
    }

    /// The sum of two scaled bytes, scaled to a byte, by two products; `moved` are the new nodes of those before it.
    fn sum_of_two(&mut self, node: Node, moved: &[Node]) -> Option<Node> {
        let sum = SumOfTwo::of(self.old, &self.node_ranges, node)?;
        // A kernel rounds in one way.
        let precision = match self.requantizers.values().find_map(|requantizer| requantizer.precision()) {
            None | Some(Precision::Nearest) => Precision::Nearest,
            Some(Precision::TowardZero | Precision::TowardZeroTwice) => Precision::TowardZero,
        };
        let [a, b] = sum.terms.each_ref().map(|term| moved[term.node.index()]);
        let added = self.added(node);
        let number = added.map_or(0, |(_, number)| number);
        let fit = if self.of_integers() {
            self.fits.fit_integers(&sum, self.told_apart(node))
        } else {
            self.fits.fit(&sum, self.told_apart(node), precision)
        };
        let (terms, numbers, requantizer) = match fit? {
            Fit::Floats(fit) => {
                let constant = fit.least.checked_add(i32::try_from(number).ok()?)?;
                let [outer, inner, c] = fit.numbers();
                (if fit.swapped { [b, a] } else { [a, b] }, vec![outer, inner, c, constant], Requantizer::SumOfTwo { precision })
            }
            Fit::Integers(fit) => ([a, b], fit.plus(number)?.numbers().to_vec(), Requantizer::IntegersOfTwo),
        };
        self.merged.extend(added.map(|(reader, _)| reader));
        let numbers = numbers.into_iter().map(|number| self.builder.constant(Scalar::i32(number)));
        let operands = terms.into_iter().chain(numbers).collect();
        let new = self.builder.raw(self.old.nodes[node].op, operands, ElementType::I32);
        self.requantizers.insert(new, requantizer);
        Some(new)
    }

    /// What alone reads a node, if that adds a number, and the number.
    fn added(&self, node: Node) -> Option<(Node, i64)> {
        let reader = self.only_reader(node).filter(|&reader| self.old.nodes[reader].op == ScalarOp::Add)?;
        Some((reader, self.number_beside(reader, node)?))
    }

    /// The shortest sequence that is proven to give the same results; `moved` are the new nodes of those before the node.
    fn proven(&mut self, rule: RequantizeRule, node: Node, moved: &[Node]) -> Option<Node> {
        let old = self.old.nodes[node].operands.clone();
        let (multipliers, shifts) = (self.numbers(old[1])?, self.numbers(old[2])?);
        let channels = multipliers.len().max(shifts.len());
        if [&multipliers, &shifts].iter().any(|list| list.len() != 1 && list.len() != channels) {
            return None;
        }
        let at = |list: &[i64], c: usize| list[if list.len() == 1 { 0 } else { c }];
        let sums = self.intervals(old[0], channels);
        let scale = |c: usize| {
            Some(Scale {
                multiplier: at(&multipliers, c),
                shift: u32::try_from(-at(&shifts, c)).ok()?,
                sums: sums[c],
                floats: Floats::default(),
            })
        };
        let scales: Vec<Scale> = (0..channels).map(scale).collect::<Option<_>>()?;
        let solution = Solution::clone(&*self.solved.solve(self.problem(Rule::FixedPoint(rule), node), scales)?);
        let product = self.scaled_product(rule, node, moved, &solution);
        Some(product.unwrap_or_else(|| self.fitted(rule, node, (old[0], moved[old[0].index()]), solution)))
    }

    /// What the sequence for a node has to do.
    fn problem(&self, rule: Rule, node: Node) -> Problem {
        Problem {
            rule,
            results: self.told_apart(node),
            toward_zero: self.toward_zero,
            narrows: self.narrows_to_bytes(node),
            integers: self.of_integers(),
        }
    }

    /// Whether the machine scales by integers alone.
    fn of_integers(&self) -> bool {
        self.requantize == Requantize::Products
    }

    /// Whether what follows a node adds a number to it at most, clamps it, and narrows it to bytes.
    fn narrows_to_bytes(&self, mut node: Node) -> bool {
        if let Some((reader, number)) = self.added(node) {
            if number.abs() >= ROOM {
                return false;
            }
            node = reader;
        }
        while let Some(reader) = self.only_reader(node) {
            let data = &self.old.nodes[reader];
            match data.op {
                ScalarOp::Max(_) | ScalarOp::Min(_) if self.number_beside(reader, node).is_some() => node = reader,
                ScalarOp::Convert | ScalarOp::ConvertSaturating => return data.ty.is_integer() && data.ty.bits() == 8,
                _ => return false,
            }
        }
        false
    }

    /// The requantization `node` of a sum, known by its old node and its new one, that is computed as a solution says. What alone is added to
    /// it goes into its constant, if that takes it.
    fn fitted(&mut self, rule: RequantizeRule, node: Node, (old, sum): (Node, Node), solution: Solution) -> Node {
        let Solution { requantizer, tables, offsets } = solution;
        let tables = self.plus_added(node, requantizer, tables);
        let mut operands = vec![self.offset(old, sum, offsets)];
        operands.extend(tables.iter().map(|table| self.table(table)));
        let new = self.builder.raw(ScalarOp::Requantize(rule), operands, ElementType::I32);
        self.requantizers.insert(new, requantizer);
        new
    }

    /// The tables of a sequence for a node, with what alone is added to that, if they take it.
    fn plus_added(&mut self, mut node: Node, requantizer: Requantizer, mut tables: Vec<Vec<i32>>) -> Vec<Vec<i32>> {
        for clamp in self.inert_clamps(node) {
            self.merged.insert(clamp);
            node = clamp;
        }
        if let (Some((reader, number)), Some(last)) = (self.added(node), tables.last_mut())
            && let Some(constants) = last.iter().map(|&constant| requantizer.plus(constant, number)).collect()
        {
            *last = constants;
            self.merged.insert(reader);
        }
        tables
    }

    /// The accumulator, if a node is that itself.
    fn accumulator_at(&self, node: Node) -> Option<Accumulator<'a>> {
        let (input, accumulator) = self.accumulator?;
        matches!(self.old.nodes[node].op, ScalarOp::Input(i) if i as usize == input).then_some(accumulator)
    }

    /// The intervals of the channels of a sum, known by its old node.
    fn intervals(&self, sum: Node, channels: usize) -> Vec<(i64, i64)> {
        let of_channels = self.accumulator_at(sum).map(|accumulator| accumulator.channels).filter(|list| list.len() == channels);
        let (low, high) = self.node_ranges[sum.index()];
        of_channels.map_or_else(|| vec![(low as i64, high as i64); channels], <[_]>::to_vec)
    }

    /// A sum with an offset: added here, or before the first product where nothing else reads the accumulator.
    fn offset(&mut self, old: Node, sum: Node, offsets: Vec<i32>) -> Node {
        if offsets.iter().all(|&offset| offset == 0) {
            return sum;
        }
        let begins = self.accumulator_at(old).is_some_and(|accumulator| accumulator.takes_offsets);
        if begins && self.offsets.is_empty() && self.only_reader(old).is_some() {
            self.offsets = offsets;
            return sum;
        }
        let table = self.table(&offsets);
        self.op(ScalarOp::Add, &[sum, table])
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
