//! Expressions specialised to the constants that they read. One-element constants become numbers. Requantization by constant multipliers becomes the
//! shortest exact sequence of simple operations.
//!
//! Machines without lane-wise shifts follow the rule (`by_rule.rs`). Others use shorter sequences ([`super::requantize`]), whose sums may have to
//! begin with an offset.
//!
//! Open constants, whose values may change at run time, are not specialised.

mod by_rule;
mod exact;
mod floats;
mod inert;
mod products;

use super::ranges::{Range, ranges, type_range, within};
use super::requantize::{Floats, MOST_ADDED, Precision, Problem, ROOM, Requantizer, Rule, Scale, Solution, Solved, Unshifted};
use super::sum_of_two::{Fit, Fits, SumOfTwo};
use crate::fuse::Epilogue;
use crate::ir::{Data, ElementType, Expression, ExpressionBuilder, Interval, Node, RequantizeRule, Scalar, ScalarOp, Value};
use crate::machine::Requantize;
use crate::schedule::context::{Context, Goal};
use crate::schedule::technique::Technique;
use cranelift_entity::EntityRef;
use rustc_hash::{FxHashMap, FxHashSet};

/// Minimum number of results for which a kernel sets the processor's rounding mode. Two changes of the mode cost the gain of about forty vectors.
const FEWEST_ROUNDED: u64 = 1024;

/// Origin of a specialised expression's input.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A tensor.
    Tensor(Value),
    /// A table with one integer for each channel, of the narrowest type that holds all.
    Channels(ElementType, Data),
}

/// A specialised expression.
#[derive(Clone, Debug)]
pub struct Specialised {
    /// Origin of each input.
    pub sources: Vec<Source>,
    /// The expression.
    pub expression: Expression,
    /// Range of each input, if it is narrower than its type's range.
    pub ranges: Vec<Option<Interval>>,
    /// Instruction sequences of requantizations with other operands: an offset sum and tables.
    pub requantizers: FxHashMap<Node, Requantizer>,
    /// Numbers that each channel's accumulator begins with, besides its bias: none, one for all channels, or one for each.
    pub offsets: Vec<i32>,
}

/// The result of a group's root, which is an input of its epilogue.
#[derive(Clone, Copy, Debug)]
pub struct Accumulator<'a> {
    /// The tensor.
    pub value: Value,
    /// Interval of its elements, if it is known.
    pub range: Option<Interval>,
    /// Intervals of the channels' elements; empty if unknown.
    pub channels: &'a [Interval],
    /// `true` if its sums can begin with an offset.
    pub takes_offsets: bool,
}

/// Returns the place of results without a shift among products of integers: see [`Problem::unshifted`]. Layers of small code share kernels with a
/// shift, since not every layer can do without it.
fn unshifted(cx: &Context<'_>) -> Option<Unshifted> {
    let place = if cx.machine.clamps { Unshifted::AfterLow } else { Unshifted::First };
    (cx.machine.high_products && cx.goal == Goal::Speed && cx.uses(Technique::Unshifted)).then_some(place)
}

/// Specialises an epilogue. `accumulator` is the root's result, if there is a root.
pub fn specialise(cx: &Context<'_>, epilogue: &Epilogue, accumulator: Option<Accumulator<'_>>) -> Specialised {
    let takes_offsets = accumulator.is_some_and(|accumulator| accumulator.takes_offsets);
    let toward_zero = cx.machine.rounding_modes && cx.uses(Technique::TowardZero) && takes_offsets && may_round_toward_zero(cx, epilogue);
    let found = specialised(cx, epilogue, accumulator, toward_zero);
    if found.rounds_in_two_ways() { specialised(cx, epilogue, accumulator, false) } else { found }
}

impl Specialised {
    /// Tests whether some requantizations round to nearest and others towards zero. A kernel has only one rounding mode.
    fn rounds_in_two_ways(&self) -> bool {
        let rounds = |nearest: bool| {
            let precisions = self.requantizers.values().filter_map(|requantizer| requantizer.precision());
            precisions.map(|precision| precision == Precision::Nearest).any(|is_nearest| is_nearest == nearest)
        };
        rounds(true) && rounds(false)
    }
}

/// Specialises an epilogue. `toward_zero` allows requantizations that round towards zero.
fn specialised(cx: &Context<'_>, epilogue: &Epilogue, accumulator: Option<Accumulator<'_>>, toward_zero: bool) -> Specialised {
    let constants: Vec<Option<Vec<i64>>> = epilogue.operands.iter().map(|&v| small_integers(cx, v)).collect();
    let input_ranges: Vec<Option<Interval>> = epilogue
        .operands
        .iter()
        .zip(&constants)
        .map(|(&v, constant)| match (accumulator, constant) {
            (Some(accumulator), _) if accumulator.value == v => accumulator.range,
            (_, Some(list)) => Some(Interval::new(*list.iter().min()?, *list.iter().max()?)),
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
        requantize: if cx.uses(Technique::Fitted) { cx.machine.requantize } else { Requantize::ByRule },
        steps: cx.machine.doubling_products && cx.uses(Technique::Steps),
        rounds: cx.uses(Technique::Rounded),
        scales_products: cx.uses(Technique::FloatProducts),
        unshifted: unshifted(cx),
        accumulator: accumulator
            .and_then(|accumulator| Some((epilogue.operands.iter().position(|&v| v == accumulator.value)?, accumulator))),
        toward_zero,
        solved: &cx.packed.solved,
        fits: &cx.packed.fits,
        scales_two: cx.uses(Technique::SumOfTwo),
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
        all_ranges.push(table.iter().min().copied().zip(table.iter().max().copied()).map(|(l, h)| Interval::new(l.into(), h.into())));
        // Fitted sequences take tables of the lanes' width directly from memory; narrower tables would have to be widened.
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

/// Tests whether a kernel may round towards zero. Its only floats must be in its requantizations, and it must have enough results to pay for a change
/// of the mode.
fn may_round_toward_zero(cx: &Context<'_>, epilogue: &Epilogue) -> bool {
    let elements = |&tensor: &Value| cx.shape(tensor).map_or(0, |shape| shape.iter().product());
    epilogue.expression.nodes.values().all(|node| !node.ty.is_float())
        && cx.group.outputs.iter().map(elements).max().is_some_and(|elements| elements >= FEWEST_ROUNDED)
}

/// Returns the integers of a constant tensor. `None` if it is not constant, not of integers, or open.
fn small_integers(cx: &Context<'_>, value: Value) -> Option<Vec<i64>> {
    if cx.module.open_constants {
        return None;
    }
    let element = cx.element(value);
    let data = cx.constant_data(value)?.bytes();
    (element.is_integer() && element.bits() >= 8).then_some(())?;
    // Nearly all tensors have one of these two types.
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

/// Returns the numbers of a constant binary32 tensor with one number, or one for each channel. `None` for other tensors.
fn small_floats(cx: &Context<'_>, value: Value) -> Option<Vec<f32>> {
    if cx.module.open_constants || cx.element(value) != ElementType::F32 || !is_of_channels(cx, value) {
        return None;
    }
    let data = cx.constant_data(value)?.bytes();
    Some(data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

/// Returns the numbers of such a tensor of binary64.
fn small_doubles(cx: &Context<'_>, value: Value) -> Option<Vec<f64>> {
    if cx.module.open_constants || cx.element(value) != ElementType::F64 || !is_of_channels(cx, value) {
        return None;
    }
    let data = cx.constant_data(value)?.bytes();
    Some(data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect())
}

/// Tests whether a tensor has one number, or one for each channel.
fn is_of_channels(cx: &Context<'_>, value: Value) -> bool {
    cx.shape(value).is_ok_and(|shape| shape.iter().rev().skip(1).all(|&extent| extent == 1))
}

/// Finds the nodes of an expression that have one number, or one for each channel. `inputs` tells this for the inputs.
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
    /// Constant integers among the inputs, with one number or one for each channel.
    constants: Vec<Option<Vec<i64>>>,
    /// Nodes that have one number, or one for each channel.
    of_channels: Vec<bool>,
    builder: ExpressionBuilder,
    tables: Vec<Vec<i32>>,
    /// The machine's way to scale sums.
    requantize: Requantize,
    /// See [`Problem::steps`].
    steps: bool,
    /// `true` if scaled sums may round themselves.
    rounds: bool,
    /// `true` if products of two integers may be scaled in binary32.
    scales_products: bool,
    /// See [`Problem::unshifted`].
    unshifted: Option<Unshifted>,
    /// Number of the input that is the accumulator, and the accumulator.
    accumulator: Option<(usize, Accumulator<'a>)>,
    /// `true` if the kernel may round floats towards zero.
    toward_zero: bool,
    solved: &'a Solved,
    fits: &'a Fits,
    /// `true` if sums of two scaled bytes may be scaled together.
    scales_two: bool,
    requantizers: FxHashMap<Node, Requantizer>,
    offsets: Vec<i32>,
    /// Nodes that need no code: additions of a number that the constant of a requantization includes, and clamps that change nothing.
    merged: FxHashSet<Node>,
    /// Constant binary32 numbers among the inputs, with one number or one for each channel.
    floats: Vec<Option<Vec<f32>>>,
    /// Constant binary64 numbers among the inputs, with one number or one for each channel.
    doubles: Vec<Option<Vec<f64>>>,
    /// Clamps that old nodes are equal to.
    clamps: FxHashMap<Node, Clamp>,
}

/// A clamp `min(max(node, low), high)` of 32 bits.
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

    /// Returns the constant numbers of a node: one, or one for each channel.
    fn numbers(&self, node: Node) -> Option<Vec<i64>> {
        match self.old.nodes[node].op {
            ScalarOp::Constant(value) => Some(vec![value.as_i64()]),
            ScalarOp::Input(i) => self.constants[i as usize].clone(),
            _ => None,
        }
    }

    /// Makes a constant if all numbers are equal, otherwise a table with one for each channel.
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

    /// Returns the nodes that read a node. The second value tells whether the node is a result.
    fn readers(&self, node: Node) -> (Vec<Node>, bool) {
        let readers = self.old.nodes.iter().filter(|(_, data)| data.operands.contains(&node)).map(|(reader, _)| reader);
        (readers.collect(), self.old.results.contains(&node))
    }

    /// Returns the reader of a node that has no other use.
    fn only_reader(&self, node: Node) -> Option<Node> {
        match self.readers(node) {
            (readers, false) if readers.len() == 1 => Some(readers[0]),
            _ => None,
        }
    }

    /// Returns the constant that a node combines with `other`.
    fn number_beside(&self, node: Node, other: Node) -> Option<i64> {
        let [a, b] = self.old.nodes[node].operands[..] else { return None };
        match self.numbers(if a == other { b } else { a })?[..] {
            [number] => Some(number),
            _ => None,
        }
    }

    /// Returns the interval of a node's values that the nodes after it distinguish.
    fn told_apart(&self, mut node: Node) -> Interval {
        let (mut low, mut high, mut added) = (i64::from(i32::MIN), i64::from(i32::MAX), 0);
        while let Some(reader) = self.only_reader(node) {
            let data = &self.old.nodes[reader];
            match (data.op, self.number_beside(reader, node)) {
                (ScalarOp::Add, Some(number)) if (added + number).abs() <= MOST_ADDED => added += number,
                (ScalarOp::Max(_), Some(number)) => low = low.max(number - added),
                (ScalarOp::Min(_), Some(number)) => high = high.min(number - added),
                (ScalarOp::ConvertSaturating, _) if data.ty.is_integer() => {
                    let Range { low: least, high: most } = type_range(data.ty);
                    (low, high) = (low.max(least as i64 - added), high.min(most as i64 - added));
                    break;
                }
                // The conversion changes no value.
                (ScalarOp::Convert, _) if data.ty.is_integer() && within(self.node_ranges[node.index()], type_range(data.ty)) => {}
                _ => break,
            }
            node = reader;
        }
        Interval { low, high }
    }

    /// Rewrites the sum of two scaled bytes, scaled to a byte, to two products. `moved` are the new nodes of earlier nodes.
    fn sum_of_two(&mut self, node: Node, moved: &[Node]) -> Option<Node> {
        let sum = SumOfTwo::of(self.old, &self.node_ranges, node).filter(|_| self.scales_two)?;
        // A kernel has only one rounding mode.
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

    /// Returns the node's only reader if that adds a constant, and the constant.
    fn added(&self, node: Node) -> Option<(Node, i64)> {
        let reader = self.only_reader(node).filter(|&reader| self.old.nodes[reader].op == ScalarOp::Add)?;
        Some((reader, self.number_beside(reader, node)?))
    }

    /// Writes the shortest sequence that is proven to give the same results. `moved` are the new nodes of earlier nodes.
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
        let solution = Solution::clone(&*self.solved.solve(self.problem(Rule::FixedPoint(rule), node, old[0]), scales)?);
        let product = if self.scales_products { self.scaled_product(rule, node, moved, &solution) } else { None };
        Some(product.unwrap_or_else(|| self.fitted(rule, node, old[0], moved[old[0].index()], solution)))
    }

    /// Describes the task of a node's sequence. `sum` is an old node.
    fn problem(&self, rule: Rule, node: Node, sum: Node) -> Problem {
        let results = self.told_apart(node);
        Problem {
            rule,
            results,
            toward_zero: self.toward_zero,
            narrows: self.rounds && self.narrows_to_bytes(node),
            integers: self.of_integers(),
            unshifted: self.unshifted.filter(|_| self.begins_with_offsets(sum)),
            steps: self.steps,
        }
    }

    /// Tests whether the machine scales sums only by products of integers.
    fn of_integers(&self) -> bool {
        self.requantize == Requantize::Products
    }

    /// Tests whether the node is narrowed to bytes, after at most an addition of a constant and clamps.
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

    /// Writes the requantization of a sum as a solution says. `old` and `sum` are the sum's old and new node. The sequence's constant includes a
    /// constant that is added to the result, if possible.
    fn fitted(&mut self, rule: RequantizeRule, node: Node, old: Node, sum: Node, solution: Solution) -> Node {
        let Solution { requantizer, tables, offsets } = solution;
        let tables = self.plus_added(node, requantizer, tables);
        let mut operands = vec![self.offset(old, sum, offsets)];
        operands.extend(tables.iter().map(|table| self.table(table)));
        let new = self.builder.raw(ScalarOp::Requantize(rule), operands, ElementType::I32);
        self.requantizers.insert(new, requantizer);
        new
    }

    /// Returns the tables of a sequence. They include the constant that the node's only reader adds, if possible.
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

    /// Returns the accumulator if the node is its input.
    fn accumulator_at(&self, node: Node) -> Option<Accumulator<'a>> {
        let (input, accumulator) = self.accumulator?;
        matches!(self.old.nodes[node].op, ScalarOp::Input(i) if i as usize == input).then_some(accumulator)
    }

    /// Returns the interval of each channel's sums. `sum` is an old node.
    fn intervals(&self, sum: Node, channels: usize) -> Vec<Interval> {
        let of_channels = self.accumulator_at(sum).map(|accumulator| accumulator.channels).filter(|list| list.len() == channels);
        let Range { low, high } = self.node_ranges[sum.index()];
        of_channels.map_or_else(|| vec![Interval::new(low as i64, high as i64); channels], <[_]>::to_vec)
    }

    /// Tests whether offsets of a sum take no instruction. `sum` is an old node.
    fn begins_with_offsets(&self, sum: Node) -> bool {
        let takes_offsets = self.accumulator_at(sum).is_some_and(|accumulator| accumulator.takes_offsets);
        takes_offsets && self.offsets.is_empty() && self.only_reader(sum).is_some()
    }

    /// Adds offsets to a sum. The accumulator begins with them if nothing else reads it; otherwise they are added here.
    fn offset(&mut self, old: Node, sum: Node, offsets: Vec<i32>) -> Node {
        if offsets.iter().all(|&offset| offset == 0) {
            return sum;
        }
        if self.begins_with_offsets(old) {
            self.offsets = offsets;
            return sum;
        }
        let table = self.table(&offsets);
        self.op(ScalarOp::Add, &[sum, table])
    }
}

/// Returns the number of a one-element constant, if it is known.
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
