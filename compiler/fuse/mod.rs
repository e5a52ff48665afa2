//! Grouping: which instructions become one kernel.
//!
//! A [`Group`] is a root (contraction, window, reduction, movement) with an element-wise epilogue, or an element-wise
//! expression alone. A root absorbs the `map` that is the only reader of its result, and that map the next one, as long as the
//! shape stays and every other operand exists before the root runs. A root takes its own epilogue before anybody else can, so
//! accumulators never go to memory when an epilogue narrows them.

pub mod bands;
pub mod batches;
pub mod flow;
pub mod gathered;
pub mod rows;
mod widened;

use crate::ir::{Attribute, ElementType, Expression, ExpressionBuilder, Extent, Function, Inst, Module, Op, Value};
use flow::{Flow, Item, StateFlow};
use std::collections::{HashMap, HashSet};
pub use widened::widened_constant;

/// A method cut into groups.
#[derive(Debug)]
pub struct Grouped {
    /// Holds every value.
    pub function: Function,
    /// Groups, branches and loops in order.
    pub nodes: Vec<Node>,
    /// The states that the method reads or writes.
    pub states: Vec<StateFlow>,
}

/// A group, or control flow over groups.
#[derive(Debug)]
pub enum Node {
    /// One kernel's work.
    Group(Box<Group>),
    /// Values that become others, all at once: what leaves a branch, what goes round in a loop. Where both have one place,
    /// nothing is to do.
    Moves(Vec<Move>),
    /// One of two bodies, each of which ends with the moves to the results.
    If {
        /// One truth value.
        condition: Value,
        /// Body when true.
        then: Vec<Node>,
        /// Body when false.
        otherwise: Vec<Node>,
    },
    /// `head`, then while the condition is true: `body`, `head` again. The moves to what it carries stand before it and end its body.
    While {
        /// Computes the condition.
        head: Vec<Node>,
        /// One truth value.
        condition: Value,
        /// One round.
        body: Vec<Node>,
    },
}

/// A value that becomes another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What it is.
    pub from: Value,
    /// What it becomes.
    pub to: Value,
}

/// What becomes one kernel.
#[derive(Clone, Debug)]
pub struct Group {
    /// The instruction that gives the loop structure; `None` for element-wise work alone.
    pub root: Option<Inst>,
    /// The tensor that the group copies as it is, instead of any other work.
    pub copied: Option<Value>,
    /// Element-wise work on what a window or reduction reads, instead of its operand.
    pub prologue: Option<Epilogue>,
    /// The element-wise work on the root's result, or alone.
    pub epilogue: Option<Epilogue>,
    /// All source instructions, in order. Gathers that are not the root pick what the epilogue reads; see [`gathered`].
    pub insts: Vec<Inst>,
    /// Tensors written, in the order of the epilogue's results (or the root's).
    pub outputs: Vec<Value>,
}

/// An expression over tensors of the group.
#[derive(Clone, Debug)]
pub struct Epilogue {
    /// Input *i* of the expression reads `operands[i]`; the root's result stands for itself.
    pub operands: Vec<Value>,
    /// The expression; its results are the group's outputs.
    pub expression: Expression,
}

impl Group {
    /// A group that copies a whole tensor.
    pub fn copy(from: Value, to: Value) -> Self {
        Self { root: None, copied: Some(from), prologue: None, epilogue: None, insts: vec![], outputs: vec![to] }
    }

    /// The tensors whose shapes the group's work follows: those that it reads and writes, and what stays inside.
    pub fn tensors(&self, function: &Function) -> Vec<Value> {
        let root = self.root.iter().flat_map(|&root| function.insts[root].operands.iter().chain(&function.insts[root].results));
        let expressions = self.prologue.iter().chain(&self.epilogue).flat_map(|e| &e.operands);
        let all = root.chain(expressions).chain(&self.copied).chain(&self.outputs).copied();
        let mut tensors = Vec::new();
        for value in all.filter(|&v| function.values[v].ty.as_tensor().is_some()) {
            if !tensors.contains(&value) {
                tensors.push(value);
            }
        }
        tensors
    }

    /// Every tensor and index that the group reads from memory, each once, in a fixed order.
    pub fn inputs(&self, function: &Function) -> Vec<Value> {
        let accumulator = self.root.map(|r| function.insts[r].results[0]);
        let root: Vec<Value> = match (&self.prologue, self.root) {
            (Some(prologue), _) => prologue.operands.clone(),
            (None, Some(root)) => function.uses(root).collect(),
            (None, None) => self.copied.into_iter().collect(),
        };
        let picked = |&value: &Value| gathered::gathered(function, &self.insts, value).map_or(value, |gathered| gathered.source);
        let epilogue = self.epilogue.iter().flat_map(|e| e.operands.iter().map(picked));
        let contracts = self.root.is_some_and(|r| matches!(function.insts[r].op, Op::Conv | Op::Matmul));
        let root = root.into_iter().enumerate().map(|(i, value)| match i {
            1 if contracts => widened_constant(function, value).unwrap_or(value),
            _ => value,
        });
        let mut inputs = Vec::new();
        let tensors = self.tensors(function);
        let named = self.root.iter().flat_map(|&root| &function.insts[root].attributes).filter_map(|attribute| match attribute {
            Attribute::Extents(extents) => Some(extents),
            _ => None,
        });
        let shapes = tensors.iter().map(|&v| &function.tensor(v).shape);
        let extents = shapes.chain(named).flatten().filter_map(|&e| match function.resolved(e) {
            Extent::Value(index) => Some(index),
            Extent::Static(_) => None,
        });
        for value in root.chain(epilogue).chain(extents) {
            if Some(value) != accumulator && !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        inputs
    }
}

/// Expressions do not grow beyond this many nodes; longer chains become several kernels.
const MAX_NODES: usize = 512;

/// Whether an instruction gives its operand's memory another type. Where a caller's buffer need only be aligned for the one type, the other
/// one is copied.
pub fn is_view(function: &Function, inst: Inst) -> bool {
    let data = &function.insts[inst];
    let alignment = |value: Value| function.tensor(value).element.alignment();
    match data.op {
        // Shapes that are equal only in the numbers that come are checked, and copied.
        Op::Reshape => {
            let size = |value: Value| function.size(&function.tensor(value).shape);
            size(data.operands[0]).is_some_and(|elements| size(data.results[0]) == Some(elements))
        }
        Op::Bitcast => alignment(data.operands[0]) == alignment(data.results[0]),
        _ => false,
    }
}

/// The byte of its operand at which the result of a slice starts, if the result is a run of the operand's bytes and so needs no memory
/// of its own.
pub fn part_of(function: &Function, inst: Inst) -> Option<u64> {
    let data = &function.insts[inst];
    if data.op != Op::Slice || data.ints("stride").iter().any(|&stride| stride != 1) {
        return None;
    }
    let shape = row_major(function, data.operands[0])?;
    let size = row_major(function, data.results[0])?;
    // All dimensions in front of the outermost one that is cut have one position, and all behind it are whole.
    let outermost = size.iter().position(|&n| n != 1).map_or(size.len(), |d| d + 1);
    if size.iter().zip(&shape).skip(outermost).any(|(n, whole)| n != whole) {
        return None;
    }
    let starts = shape.iter().zip(data.extents("start"));
    let start = starts.map(|(&n, start)| Some((n, start.as_static()?))).try_fold(0u64, |sum, dimension| {
        let (extent, start) = dimension?;
        sum.checked_mul(extent)?.checked_add(start)
    })?;
    let element = function.tensor(data.results[0]).element;
    (element.bits() >= 8).then(|| element.bytes_for(start))?
}

/// The shape of a tensor with known extents whose last dimension is the contiguous one.
pub fn row_major(function: &Function, value: Value) -> Option<Vec<u64>> {
    let ty = function.values[value].ty.as_tensor()?;
    if ty.layout.order().is_some() {
        return None;
    }
    ty.static_shape()
}

fn takes_epilogue(op: Op) -> bool {
    matches!(op, Op::Conv | Op::Matmul | Op::Window | Op::Reduce)
}

/// Cuts a method into groups.
pub fn group(flow: Flow, module: &Module) -> Grouped {
    let uses = uses_of(&flow);
    let Flow { function, items, states } = flow;
    let available = function.params.iter().copied().chain(states.iter().map(|s| s.entry)).collect();
    let mut absorbed = widened::absorbed(&function, &items, &uses);
    absorbed.extend(gathered::absorbed(&function, module, &items, &uses));
    let mut handed_on: HashSet<Value> = function.results.iter().chain(states.iter().map(|s| &s.exit)).copied().collect();
    collect_handed_on(&items, &mut handed_on);
    let handed_on = handed_on.into_iter().map(|v| viewed(&function, v)).collect();
    let mut grouping = Grouping { function: &function, uses, available, absorbed, handed_on, prologues: HashMap::new() };
    let nodes = grouping.body(&items);
    Grouped { nodes, function, states }
}

/// How often each value is read, handed on or given back.
pub fn uses_of(flow: &Flow) -> HashMap<Value, usize> {
    let mut uses: HashMap<Value, usize> = HashMap::new();
    count_uses(&flow.function, &flow.items, &mut uses);
    for &result in flow.function.results.iter().chain(flow.states.iter().map(|s| &s.exit)) {
        *uses.entry(result).or_default() += 1;
    }
    uses
}

fn count_uses(function: &Function, items: &[Item], uses: &mut HashMap<Value, usize>) {
    for item in items {
        match item {
            Item::Inst(inst) => {
                for value in function.uses(*inst) {
                    *uses.entry(value).or_default() += 1;
                }
            }
            Item::If { condition, then, otherwise, .. } => {
                *uses.entry(*condition).or_default() += 1;
                for (body, results) in [then, otherwise] {
                    count_uses(function, body, uses);
                    for &value in results {
                        *uses.entry(value).or_default() += 1;
                    }
                }
            }
            Item::While { carried, head, condition, body } => {
                count_uses(function, head, uses);
                count_uses(function, body, uses);
                let handed = carried.iter().flat_map(|c| [c.initial, c.next]);
                for value in handed.chain([*condition]) {
                    *uses.entry(value).or_default() += 1;
                }
            }
        }
    }
}

/// The values that become others.
fn collect_handed_on(items: &[Item], list: &mut HashSet<Value>) {
    for item in items {
        match item {
            Item::Inst(_) => {}
            Item::If { then, otherwise, .. } => {
                for (body, results) in [then, otherwise] {
                    collect_handed_on(body, list);
                    list.extend(results);
                }
            }
            Item::While { carried, head, body, .. } => {
                collect_handed_on(head, list);
                collect_handed_on(body, list);
                list.extend(carried.iter().flat_map(|c| [c.initial, c.next]));
            }
        }
    }
}

/// The value whose memory a value has: views share that of their operand.
pub fn viewed(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value).filter(|&inst| is_view(function, inst)) {
        value = function.insts[inst].operands[0];
    }
    value
}

struct Grouping<'a> {
    function: &'a Function,
    uses: HashMap<Value, usize>,
    /// Values that exist before the group now being formed runs.
    available: HashSet<Value>,
    /// Conversions of weights that contractions do themselves, gathers of what element-wise work reads in place.
    absorbed: HashSet<Inst>,
    /// Values that become others. A part of a tensor that does so is copied, so that the place of what it becomes can be had at once and the
    /// tensor can go.
    handed_on: HashSet<Value>,
    /// Element-wise groups that wait for the window or reduction that reads them.
    prologues: HashMap<Value, Group>,
}

impl Grouping<'_> {
    fn body(&mut self, items: &[Item]) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut taken = vec![false; items.len()];
        for start in 0..items.len() {
            if taken[start] {
                continue;
            }
            match &items[start] {
                Item::Inst(inst) if self.is_free(*inst) || self.absorbed.contains(inst) => {}
                Item::Inst(inst) => {
                    let mut group = self.grow(*inst, items, start, &mut taken);
                    self.take_gathers(&mut group);
                    if self.is_prologue(&group, items) {
                        self.prologues.insert(group.outputs[0], group);
                        continue;
                    }
                    if let Some(prologue) = self.function.insts[*inst].operands.first().and_then(|v| self.prologues.remove(v)) {
                        group.prologue = prologue.epilogue;
                        group.insts.splice(0..0, prologue.insts);
                    }
                    self.available.extend(group.outputs.iter().copied());
                    nodes.push(Node::Group(Box::new(group)));
                    continue;
                }
                Item::If { condition, results, then, otherwise } => {
                    let before = self.available.clone();
                    let then = self.branch(then, results);
                    self.available.clone_from(&before);
                    let otherwise = self.branch(otherwise, results);
                    self.available = before;
                    self.available.extend(results.iter().copied());
                    nodes.push(Node::If { condition: *condition, then, otherwise });
                    continue;
                }
                Item::While { carried, head, condition, body } => {
                    self.available.extend(carried.iter().map(|c| c.value));
                    let before = self.available.clone();
                    let head = self.body(head);
                    let mut body = self.body(body);
                    self.available = before;
                    nodes.push(Node::Moves(carried.iter().map(|c| Move { from: c.initial, to: c.value }).collect()));
                    body.push(Node::Moves(carried.iter().map(|c| Move { from: c.next, to: c.value }).collect()));
                    nodes.push(Node::While { head, condition: *condition, body });
                    continue;
                }
            }
            if let Item::Inst(inst) = &items[start] {
                self.available.extend(self.function.insts[*inst].results.iter().copied());
            }
        }
        nodes
    }

    /// Whether an instruction is no kernel: constants are data, views, extents and parts have the memory of what they stand for.
    fn is_free(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        matches!(data.op, Op::Constant | Op::IndexConstant | Op::ExtentOf) || is_view(self.function, inst) || self.is_part(inst)
    }

    fn is_part(&self, inst: Inst) -> bool {
        part_of(self.function, inst).is_some() && !self.handed_on.contains(&self.function.insts[inst].results[0])
    }

    /// A branch's body, and what becomes of the values it hands on.
    fn branch(&mut self, (items, values): &(Vec<Item>, Vec<Value>), results: &[Value]) -> Vec<Node> {
        let mut nodes = self.body(items);
        nodes.push(Node::Moves(values.iter().zip(results).map(|(&from, &to)| Move { from, to }).collect()));
        nodes
    }

    /// Whether element-wise work is read by one window or reduction alone, which then does it on the way.
    fn is_prologue(&self, group: &Group, items: &[Item]) -> bool {
        let [result] = group.outputs[..] else { return false };
        let picks = group.insts.iter().any(|inst| self.absorbed.contains(inst));
        group.root.is_none() && !picks && self.feeds_reduction(result, items)
    }

    /// Whether a value is read by one window or reduction and by nothing else.
    fn feeds_reduction(&self, value: Value, items: &[Item]) -> bool {
        let reader = |item: &Item| match item {
            Item::Inst(inst) => {
                let data = &self.function.insts[*inst];
                matches!(data.op, Op::Window | Op::Reduce) && data.operands == [value]
            }
            Item::If { .. } | Item::While { .. } => false,
        };
        self.uses.get(&value) == Some(&1) && items.iter().any(reader)
    }

    /// Adds the gathers that pick what the group reads.
    fn take_gathers(&self, group: &mut Group) {
        let operands = group.epilogue.iter().flat_map(|e| &e.operands);
        let mut gathers: Vec<Inst> =
            operands.flat_map(|&value| gathered::chain(self.function, |inst| self.absorbed.contains(&inst), value)).collect();
        gathers.sort();
        gathers.dedup();
        group.insts.splice(0..0, gathers);
    }

    fn widens(&self, from: Value, to: Value) -> bool {
        self.function.tensor(from).element.bits() < self.function.tensor(to).element.bits()
    }

    /// A group that starts at an instruction and absorbs what follows it.
    fn grow(&self, inst: Inst, items: &[Item], start: usize, taken: &mut [bool]) -> Group {
        let data = &self.function.insts[inst];
        let mut group =
            Group { root: Some(inst), copied: None, prologue: None, epilogue: None, insts: vec![inst], outputs: data.results.clone() };
        if data.op == Op::Map {
            group.root = None;
            group.epilogue = Some(Epilogue { operands: data.operands.clone(), expression: data.expression().clone() });
        } else if !takes_epilogue(data.op) {
            return group;
        }
        for (position, item) in items.iter().enumerate().skip(start + 1) {
            let Item::Inst(next) = item else { break };
            if taken[position] || !self.absorbs(&group, *next, items, start) {
                continue;
            }
            taken[position] = true;
            let next_data = &self.function.insts[*next];
            group.epilogue = Some(self.extend(&group, next_data.operands.as_slice(), next_data.expression()));
            group.outputs = next_data.results.clone();
            group.insts.push(*next);
        }
        group
    }

    /// Whether a later map may run in the group's kernel: it alone reads the group's one result, keeps its shape, and its
    /// other operands exist before the group runs (constants and views of what exists count).
    fn absorbs(&self, group: &Group, next: Inst, items: &[Item], start: usize) -> bool {
        let data = &self.function.insts[next];
        let [result] = group.outputs[..] else { return false };
        if data.op != Op::Map || !data.operands.contains(&result) || self.uses_other_than(result, next) {
            return false;
        }
        // What widens for a window or reduction alone is done there, as its prologue, and never goes to memory.
        if group.root.is_some() && self.widens(result, data.results[0]) && self.feeds_reduction(data.results[0], items) {
            return false;
        }
        let same_shape = self.function.tensor(result).shape == self.function.tensor(data.results[0]).shape;
        let nodes = group.epilogue.as_ref().map_or(0, |e| e.expression.nodes.len()) + data.expression().nodes.len();
        same_shape && nodes <= MAX_NODES && data.operands.iter().all(|&v| v == result || self.exists_before(v, items, start))
    }

    fn uses_other_than(&self, value: Value, reader: Inst) -> bool {
        let here = self.function.uses(reader).filter(|&v| v == value).count();
        self.uses.get(&value).copied().unwrap_or(0) != here
    }

    fn exists_before(&self, value: Value, items: &[Item], start: usize) -> bool {
        if self.available.contains(&value) {
            return true;
        }
        // A constant, or a view of something that exists, may stand later in the list: it costs nothing to have it earlier.
        let mut value = value;
        loop {
            let Some(inst) = self.function.defining_inst(value) else { return false };
            let data = &self.function.insts[inst];
            let listed = items[start..].iter().any(|item| matches!(item, Item::Inst(i) if *i == inst));
            match data.op {
                Op::Constant => return listed,
                _ if listed && (is_view(self.function, inst) || self.is_part(inst)) => value = data.operands[0],
                _ => return false,
            }
            if self.available.contains(&value) {
                return true;
            }
        }
    }

    /// The group's expression followed by another one that reads its result.
    fn extend(&self, group: &Group, operands: &[Value], next: &Expression) -> Epilogue {
        let result = group.outputs[0];
        let mut all: Vec<Value> = group.epilogue.as_ref().map_or_else(|| vec![result], |e| e.operands.clone());
        for &value in operands {
            if value != result && !all.contains(&value) {
                all.push(value);
            }
        }
        let types: Vec<ElementType> = all.iter().map(|&v| self.function.tensor(v).element).collect();
        let mut builder = ExpressionBuilder::new(&types);
        let inputs: Vec<_> = (0..all.len()).map(|i| builder.input(i)).collect();
        let first = match &group.epilogue {
            Some(e) => builder.inline(&e.expression, &inputs[..e.operands.len()])[0],
            None => inputs[0],
        };
        let position = |v: Value| all.iter().position(|&o| o == v).expect("every operand was listed");
        let arguments: Vec<_> = operands.iter().map(|&v| if v == result { first } else { inputs[position(v)] }).collect();
        let results = builder.inline(next, &arguments);
        Epilogue { operands: all, expression: builder.finish(results) }
    }
}
