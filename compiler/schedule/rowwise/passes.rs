//! Passes over a row: one for each reduction that depends on another one's result, and one for the work after the last reduction.
//!
//! Every value of the group has a level. Values from memory have level 0. Element-wise work has the highest level of its operands. The result of a
//! reduction has one more than its operand. Pass *k* reduces and writes the values of level *k*. It computes values of earlier passes again, or reads
//! them if an earlier pass has kept them.

use crate::fuse::{Epilogue, Rowwise};
use crate::ir::{ElementType, Expression, ExpressionBuilder, Inst, Node, Op, Value};
use crate::schedule::context::Context;
use crate::schedule::technique::Technique;
use rustc_hash::{FxHashMap, FxHashSet};

/// The passes over a row, in order.
#[derive(Debug)]
pub struct Passes {
    pub list: Vec<Pass>,
    /// Elements that an earlier pass keeps for a later one, and their places.
    pub kept: Vec<(Value, Keeper)>,
}

/// Place that keeps the elements of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// Row of a tensor that the group writes: the kept tensor itself, or one that is written later.
    Output(Value),
    /// Scratch buffer of the length of a row, or of all rows if they run at the same time.
    Scratch(usize),
}

/// A walk over a row, and the work that is done once before it.
#[derive(Debug)]
pub struct Pass {
    /// Once-a-row values: the work, and the value of each of its results.
    pub numbers: Option<(Epilogue, Vec<Value>)>,
    /// Element-wise work. Its results are `elements`.
    pub work: Epilogue,
    /// Values that are written, kept or reduced.
    pub elements: Vec<Value>,
    /// Reductions, each with the number of its operand among `elements`.
    pub reductions: Vec<(Inst, usize)>,
}

/// Analysis of the values of a group.
struct Levels<'a> {
    cx: &'a Context<'a>,
    /// Level of each value that the group computes.
    levels: FxHashMap<Value, usize>,
    /// Values with one element for each element of a row. Other values have one for each row.
    wide: FxHashSet<Value>,
    /// Values that are kept so far.
    kept: Vec<(Value, Keeper)>,
    /// Minimum cost of a value that is kept.
    kept_from: u64,
}

impl Passes {
    /// Plans the passes of a group. Values that cost at least `kept_from` additions are kept for later passes.
    pub fn new(cx: &Context<'_>, rows: &Rowwise, kept_from: u64) -> Self {
        let kept_from = if cx.uses(Technique::Kept) { kept_from } else { u64::MAX };
        let mut levels = Levels::new(cx, rows, kept_from);
        let count = 1 + levels.levels.iter().filter(|(value, _)| levels.wide.contains(value)).map(|(_, &level)| level).max().unwrap_or(0);
        let count = count.max(levels.reductions().map(|(_, level)| level + 1).max().unwrap_or(0));
        for pass in 0..count {
            levels.keep_for(pass);
        }
        let mut list: Vec<Pass> = (0..count).map(|pass| levels.pass(pass)).collect();
        // The work after the last reduction may be only once a row.
        let last = levels.numbers(count);
        if last.is_some() {
            let work = Epilogue { operands: vec![], expression: Expression::default() };
            list.push(Pass { numbers: last, work, elements: vec![], reductions: vec![] });
        }
        Self { list, kept: levels.kept }
    }

    /// Returns the place that keeps a value.
    pub fn keeper(&self, value: Value) -> Option<Keeper> {
        self.kept.iter().find(|(kept, _)| *kept == value).map(|(_, keeper)| *keeper)
    }

    /// Returns the first pass that writes into the row of an output.
    pub fn first_write(&self, output: Value) -> usize {
        let writes = |pass: &Pass| pass.elements.iter().any(|&v| v == output || self.keeper(v) == Some(Keeper::Output(output)));
        self.list.iter().position(writes).unwrap_or(0)
    }

    /// Returns the last pass that reads a tensor.
    pub fn last_read(&self, tensor: Value) -> usize {
        self.list.iter().rposition(|pass| pass.work.operands.contains(&tensor)).unwrap_or(0)
    }

    /// Returns the types of the scratch buffers.
    pub fn scratch(&self, cx: &Context<'_>) -> Vec<ElementType> {
        self.kept.iter().filter(|(_, keeper)| matches!(keeper, Keeper::Scratch(_))).map(|(value, _)| cx.element(*value)).collect()
    }
}

impl<'a> Levels<'a> {
    fn new(cx: &'a Context<'a>, rows: &Rowwise, kept_from: u64) -> Self {
        let (mut levels, mut wide) = (FxHashMap::default(), FxHashSet::default());
        for &inst in &cx.group.insts {
            let data = &cx.function.insts[inst];
            let level = data.operands.iter().filter_map(|v| levels.get(v)).copied().max().unwrap_or(0);
            let is_reduction = data.op() == Op::Reduce;
            for &result in &data.results {
                levels.insert(result, level + usize::from(is_reduction));
                if !is_reduction && cx.function.tensor(result).shape == rows.shape {
                    wide.insert(result);
                }
            }
        }
        Self { cx, levels, wide, kept: vec![], kept_from }
    }

    fn level(&self, value: Value) -> usize {
        self.levels.get(&value).copied().unwrap_or(0)
    }

    /// Returns the map of the group that computes a value.
    fn map(&self, value: Value) -> Option<Inst> {
        let inst = self.cx.function.defining_inst(value).filter(|_| self.levels.contains_key(&value))?;
        (self.cx.function.insts[inst].op() == Op::Map).then_some(inst)
    }

    /// Returns the reductions, and the pass of each.
    fn reductions(&self) -> impl Iterator<Item = (Inst, usize)> + '_ {
        let insts = self.cx.group.insts.iter().copied().filter(|&inst| self.cx.function.insts[inst].op() == Op::Reduce);
        insts.map(|inst| (inst, self.level(self.cx.function.insts[inst].operands[0])))
    }

    /// Returns the elements that a pass must compute, each once: outputs and operands of reductions.
    fn wanted(&self, pass: usize) -> Vec<Value> {
        let outputs = self.cx.group.outputs.iter().copied().filter(|v| self.wide.contains(v) && self.level(*v) == pass);
        let reduced = self.reductions().filter(|(_, level)| *level == pass).map(|(inst, _)| self.cx.function.insts[inst].operands[0]);
        let mut wanted = Vec::new();
        outputs.chain(reduced).for_each(|value| push(&mut wanted, value));
        wanted
    }

    /// Selects the elements of earlier passes to keep for a pass: outputs, which are in memory anyway, and costly elements.
    fn keep_for(&mut self, pass: usize) {
        let mut open = self.wanted(pass);
        let mut seen = FxHashSet::default();
        while let Some(value) = open.pop() {
            let Some(inst) = self.map(value).filter(|_| self.wide.contains(&value)) else { continue };
            if !seen.insert(value) || self.kept.iter().any(|(kept, _)| *kept == value) {
                continue;
            }
            let is_output = self.cx.group.outputs.contains(&value);
            let has_memory = self.cx.element(value) != ElementType::Bool;
            if self.level(value) < pass && has_memory && (is_output || self.weight(value, &mut FxHashSet::default()) >= self.kept_from) {
                let keeper = self.place(value, pass);
                self.kept.push((value, keeper));
                continue;
            }
            open.extend(&self.cx.function.insts[inst].operands);
        }
    }

    /// Returns the place to keep a value until a pass: the output that it is, another output, or a scratch buffer. The other output has the same
    /// type, and is written no earlier than the value's last use.
    fn place(&self, value: Value, pass: usize) -> Keeper {
        let outputs = &self.cx.group.outputs;
        if outputs.contains(&value) {
            return Keeper::Output(value);
        }
        let is_free = |output: &Value| {
            self.wide.contains(output)
                && self.cx.element(*output) == self.cx.element(value)
                && self.level(*output) >= self.last_use(value).max(pass)
                && !self.kept.iter().any(|(_, keeper)| *keeper == Keeper::Output(*output))
        };
        match outputs.iter().copied().find(is_free) {
            Some(output) => Keeper::Output(output),
            None => Keeper::Scratch(self.kept.iter().filter(|(_, keeper)| matches!(keeper, Keeper::Scratch(_))).count()),
        }
    }

    /// Returns the last pass that may read a value: the highest level among the values that follow from it.
    fn last_use(&self, value: Value) -> usize {
        let mut last = self.level(value);
        let mut follows = FxHashSet::from_iter([value]);
        for &inst in &self.cx.group.insts {
            let data = &self.cx.function.insts[inst];
            if data.operands.iter().any(|v| follows.contains(v)) && data.op() == Op::Map {
                follows.extend(&data.results);
                last = data.results.iter().map(|&v| self.level(v)).fold(last, usize::max);
            }
        }
        last
    }

    /// Returns the cost to compute an element again, in additions.
    fn weight(&self, value: Value, counted: &mut FxHashSet<Inst>) -> u64 {
        let Some(inst) = self.map(value).filter(|&inst| self.wide.contains(&value) && counted.insert(inst)) else { return 0 };
        let data = &self.cx.function.insts[inst];
        let own = data.expression().cost();
        data.operands.iter().map(|&operand| self.weight(operand, counted)).fold(own, u64::saturating_add)
    }

    fn pass(&self, pass: usize) -> Pass {
        let mut elements = self.wanted(pass);
        self.kept.iter().filter(|(value, _)| self.level(*value) == pass).for_each(|(value, _)| push(&mut elements, *value));
        let reductions = self.reductions().filter(|(_, level)| *level == pass).map(|(inst, _)| {
            let operand = self.cx.function.insts[inst].operands[0];
            (inst, elements.iter().position(|&v| v == operand).unwrap_or(0))
        });
        let reductions = reductions.collect();
        let is_leaf = |value: Value| {
            let is_kept = self.level(value) < pass && self.kept.iter().any(|(kept, _)| *kept == value);
            !self.wide.contains(&value) || is_kept
        };
        Pass { numbers: self.numbers(pass), work: self.composed(&elements, is_leaf), elements, reductions }
    }

    /// Returns the once-a-row values of a pass that depend on reductions of the pass before it.
    fn numbers(&self, pass: usize) -> Option<(Epilogue, Vec<Value>)> {
        let results = self.cx.group.insts.iter().flat_map(|&inst| &self.cx.function.insts[inst].results).copied();
        let is_number = |value: &Value| !self.wide.contains(value) && self.level(*value) == pass && self.map(*value).is_some();
        let mut list: Vec<Value> = results.filter(is_number).collect();
        // Reductions' results that are outputs are written without further work.
        list.extend(self.reductions().filter(|(_, level)| level + 1 == pass).flat_map(|(inst, _)| {
            let results = &self.cx.function.insts[inst].results;
            results.iter().copied().filter(|value| self.cx.group.outputs.contains(value))
        }));
        let is_leaf = |value: Value| self.map(value).is_none() || self.level(value) < pass;
        (!list.is_empty()).then(|| (self.composed(&list, is_leaf), list))
    }

    /// Returns the expression that computes the wanted values from leaves.
    fn composed(&self, wanted: &[Value], is_leaf: impl Fn(Value) -> bool) -> Epilogue {
        let function = self.cx.function;
        let map = |value: Value| if is_leaf(value) { None } else { self.map(value) };
        let (mut needed, mut operands) = (FxHashSet::default(), Vec::new());
        let mut open: Vec<Value> = wanted.iter().rev().copied().collect();
        while let Some(value) = open.pop() {
            match map(value) {
                Some(inst) if needed.insert(inst) => open.extend(function.insts[inst].operands.iter().rev()),
                Some(_) => {}
                None => push(&mut operands, value),
            }
        }
        let types: Vec<ElementType> = operands.iter().map(|&v| function.tensor(v).element).collect();
        let mut builder = ExpressionBuilder::new(&types);
        let mut nodes: FxHashMap<Value, Node> = operands.iter().enumerate().map(|(i, &v)| (v, builder.input(i))).collect();
        for inst in self.cx.group.insts.iter().filter(|inst| needed.contains(*inst)) {
            let data = &function.insts[*inst];
            let inputs: Vec<Node> = data.operands.iter().map(|v| nodes[v]).collect();
            let made = builder.inline(data.expression(), &inputs);
            for (&result, node) in data.results.iter().zip(made) {
                nodes.entry(result).or_insert(node);
            }
        }
        let results = wanted.iter().map(|v| nodes[v]).collect();
        Epilogue { operands, expression: builder.finish(results) }
    }
}

fn push(list: &mut Vec<Value>, value: Value) {
    if !list.contains(&value) {
        list.push(value);
    }
}
