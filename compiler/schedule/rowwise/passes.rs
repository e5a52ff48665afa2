//! The passes over a row: one for each reduction that waits for another one's result, and one for what waits for the last.
//!
//! Every value of the group has a level: what is read from memory has level 0, element-wise work has the highest level of what it reads, and
//! the result of a reduction has one more than what is reduced. Pass *k* reduces, and writes, what has level *k*; it computes anew
//! what it needs of earlier passes, or reads it where an earlier pass has kept it.

use super::shares;
use crate::fuse::{Epilogue, Rowwise};
use crate::ir::{ElementType, Expression, ExpressionBuilder, Inst, Node, Op, Value};
use crate::schedule::context::Context;
use rustc_hash::{FxHashMap, FxHashSet};

/// What happens to a row, in order.
#[derive(Debug)]
pub struct Passes {
    pub list: Vec<Pass>,
    /// Elements that an earlier pass keeps for a later one, and where.
    pub kept: Vec<(Value, Keeper)>,
    /// Tells whether numbers of a row are divided among its elements: what follows from these alone is worth computing once.
    pub has_reciprocals: bool,
}

/// Where the elements of a row are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// In the row of a tensor that the group writes: it is what is kept, or is written later.
    Output(Value),
    /// In a scratch buffer of the length of a row; of all rows where these run at the same time.
    Scratch(usize),
}

/// A walk over a row, and what is computed once before it.
#[derive(Debug)]
pub struct Pass {
    /// Numbers of the row: the work, and the value of each of its results.
    pub numbers: Option<(Epilogue, Vec<Value>)>,
    /// Element-wise work on the elements; its results are `elements`.
    pub work: Epilogue,
    /// What is written or kept, and what is reduced.
    pub elements: Vec<Value>,
    /// The reductions, and which of the elements each one combines.
    pub reductions: Vec<(Inst, usize)>,
}

/// What is known of the values of a group.
struct Levels<'a> {
    cx: &'a Context<'a>,
    /// Of what the group computes.
    levels: FxHashMap<Value, usize>,
    /// Whether a value is an element of a row, and no number of the row.
    wide: FxHashSet<Value>,
    /// What is kept so far.
    kept: Vec<(Value, Keeper)>,
    /// What is kept weighs this at least.
    kept_from: u64,
}

impl Passes {
    /// The passes of a group. What weighs `kept_from` additions or more is kept for later passes.
    pub fn new(cx: &Context<'_>, rows: &Rowwise, kept_from: u64) -> Self {
        let mut levels = Levels::new(cx, rows, kept_from);
        let count = 1 + levels.levels.iter().filter(|(value, _)| levels.wide.contains(value)).map(|(_, &level)| level).max().unwrap_or(0);
        let count = count.max(levels.reductions().map(|(_, level)| level + 1).max().unwrap_or(0));
        for pass in 0..count {
            levels.keep_for(pass);
        }
        let mut list: Vec<Pass> = (0..count).map(|pass| levels.pass(pass)).collect();
        // What comes after the last reduction may be numbers alone.
        let last = levels.numbers(count);
        if last.is_some() {
            let work = Epilogue { operands: vec![], expression: Expression::default() };
            list.push(Pass { numbers: last, work, elements: vec![], reductions: vec![] });
        }
        let has_reciprocals = cx.group.insts.iter().any(|&inst| levels.share(inst).is_some());
        Self { list, kept: levels.kept, has_reciprocals }
    }

    /// Where a value is kept.
    pub fn keeper(&self, value: Value) -> Option<Keeper> {
        self.kept.iter().find(|(kept, _)| *kept == value).map(|(_, keeper)| *keeper)
    }

    /// The first pass that writes into the row of an output.
    pub fn first_write(&self, output: Value) -> usize {
        let writes = |pass: &Pass| pass.elements.iter().any(|&v| v == output || self.keeper(v) == Some(Keeper::Output(output)));
        self.list.iter().position(writes).unwrap_or(0)
    }

    /// The last pass that reads a tensor.
    pub fn last_read(&self, tensor: Value) -> usize {
        self.list.iter().rposition(|pass| pass.work.operands.contains(&tensor)).unwrap_or(0)
    }

    /// Types of the scratch buffers.
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

    /// The map of the group that computes a value.
    fn map(&self, value: Value) -> Option<Inst> {
        let inst = self.cx.function.defining_inst(value).filter(|_| self.levels.contains_key(&value))?;
        (self.cx.function.insts[inst].op() == Op::Map).then_some(inst)
    }

    /// The reductions, and the pass of each.
    fn reductions(&self) -> impl Iterator<Item = (Inst, usize)> + '_ {
        let insts = self.cx.group.insts.iter().copied().filter(|&inst| self.cx.function.insts[inst].op() == Op::Reduce);
        insts.map(|inst| (inst, self.level(self.cx.function.insts[inst].operands[0])))
    }

    /// The elements that a pass must compute, each once: outputs and what is reduced.
    fn wanted(&self, pass: usize) -> Vec<Value> {
        let outputs = self.cx.group.outputs.iter().copied().filter(|v| self.wide.contains(v) && self.level(*v) == pass);
        let reduced = self.reductions().filter(|(_, level)| *level == pass).map(|(inst, _)| self.cx.function.insts[inst].operands[0]);
        let mut wanted = Vec::new();
        outputs.chain(reduced).for_each(|value| push(&mut wanted, value));
        wanted
    }

    /// Decides which elements of earlier passes are kept for one: outputs, which are in memory, and what would take long to compute anew.
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

    /// Where a value is kept up to a pass: where it is written anyway, in a row that is written no earlier than it is read, or apart.
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

    /// The last pass that may read a value, by the levels of all that follows from it.
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

    /// What it takes to compute an element again, in additions.
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

    /// Numbers of a row that are known before a pass and not before the one before it.
    fn numbers(&self, pass: usize) -> Option<(Epilogue, Vec<Value>)> {
        let results = self.cx.group.insts.iter().flat_map(|&inst| &self.cx.function.insts[inst].results).copied();
        let is_number = |value: &Value| !self.wide.contains(value) && self.level(*value) == pass && self.map(*value).is_some();
        let mut list: Vec<Value> = results.filter(is_number).collect();
        // Results of reductions that are outputs are written as they are.
        list.extend(self.reductions().filter(|(_, level)| level + 1 == pass).flat_map(|(inst, _)| {
            let results = &self.cx.function.insts[inst].results;
            results.iter().copied().filter(|value| self.cx.group.outputs.contains(value))
        }));
        let is_leaf = |value: Value| self.map(value).is_none() || self.level(value) < pass;
        (!list.is_empty()).then(|| (self.composed(&list, is_leaf), list))
    }

    /// The operands of an instruction that are powers and their sum, where it is computed as a product.
    fn share(&self, inst: Inst) -> Option<[usize; 2]> {
        // Devices have quotients of their own.
        if self.cx.machine.at_once { None } else { shares::share(self.cx, inst) }
    }

    /// The expression that gives some values from leaves.
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
            let made = match self.share(*inst) {
                Some([power, sum]) => vec![shares::product(&mut builder, inputs[power], inputs[sum])],
                None => builder.inline(data.expression(), &inputs),
            };
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
