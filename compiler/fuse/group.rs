//! What becomes one kernel, and what it reads.

use super::channel_planes::channel_planes;
use super::gathered;
use super::turned::turned_right;
use crate::ir::{Expression, Extent, Function, Inst, Module, Op, Value, stored_right};

/// What becomes one kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Group {
    /// The instruction that gives the loop structure; `None` for element-wise work alone.
    pub root: Option<Inst>,
    /// The tensor that the group copies as it is, instead of any other work.
    pub copied: Option<Value>,
    /// Element-wise work on what a window or reduction reads, instead of its operand.
    pub prologue: Option<Epilogue>,
    /// The element-wise work on the root's result, or alone.
    pub epilogue: Option<Epilogue>,
    /// Rows that are reduced and worked on: all instructions do this, and there is neither root nor prologue nor epilogue.
    pub rowwise: Option<Rowwise>,
    /// All source instructions, in order. Gathers that are not the root pick what the epilogue reads; see [`gathered`].
    pub insts: Vec<Inst>,
    /// Tensors written, in the order of the epilogue's results (or the root's).
    pub outputs: Vec<Value>,
}

/// An expression over tensors of the group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Epilogue {
    /// Input *i* of the expression reads `operands[i]`; the root's result stands for itself.
    pub operands: Vec<Value>,
    /// The expression; its results are the group's outputs.
    pub expression: Expression,
}

/// What a group does with each row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rowwise {
    /// The shape of what is reduced along its last dimension.
    pub shape: Vec<Extent>,
    /// What each reduction reads as a kernel of its own. Its vectors follow from that, so that sums have one order either way.
    pub readers: Vec<(Inst, Vec<Value>)>,
}

/// Whether an operator is a root that takes element-wise work on its result.
pub(super) fn takes_epilogue(op: Op) -> bool {
    matches!(op, Op::Conv | Op::Matmul | Op::BlockMatmul | Op::Window | Op::Reduce | Op::Unpack)
}

impl Group {
    /// A group that copies a whole tensor.
    pub fn copy(from: Value, to: Value) -> Self {
        Self { copied: Some(from), outputs: vec![to], ..Self::default() }
    }

    /// Whether it is for a GPU: some of what it does is marked.
    pub fn is_for_gpu(&self, function: &Function, module: &Module) -> bool {
        let is_marked = |&inst: &Inst| function.insts[inst].source.is_some_and(|source| module.sources[source].gpu);
        self.insts.iter().any(is_marked)
    }

    /// A `map` alone.
    pub(super) fn of_map(function: &Function, inst: Inst) -> Self {
        let data = &function.insts[inst];
        let work = Epilogue { operands: data.operands.clone(), expression: data.expression().clone() };
        Self { root: None, epilogue: Some(work), ..Self::of_root(function, inst) }
    }

    /// Another instruction alone.
    pub(super) fn of_root(function: &Function, inst: Inst) -> Self {
        let outputs = function.insts[inst].results.clone();
        Self { root: Some(inst), insts: vec![inst], outputs, ..Self::default() }
    }

    /// Whether what it reads is picked from other tensors by constant positions.
    pub(super) fn picks(&self, function: &Function) -> bool {
        self.insts.iter().any(|&inst| Some(inst) != self.root && function.insts[inst].operation.picked_along().is_some())
    }

    /// The tensors whose shapes the group's work follows: those that it reads and writes, and what stays inside.
    pub fn tensors(&self, function: &Function) -> Vec<Value> {
        let root = self.root.iter().flat_map(|&root| function.insts[root].operands.iter().chain(&function.insts[root].results));
        let expressions = self.prologue.iter().chain(&self.epilogue).flat_map(|e| &e.operands);
        let of_rows = self.insts.iter().filter(|_| self.rowwise.is_some()).map(|&inst| &function.insts[inst]);
        let of_rows = of_rows.flat_map(|data| data.operands.iter().chain(&data.results));
        let all = root.chain(expressions).chain(of_rows).chain(&self.copied).chain(&self.outputs).copied();
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
            _ if self.rowwise.is_some() => self.read_by_rows(function),
            (Some(prologue), _) => prologue.operands.clone(),
            (None, Some(root)) => function.uses(root).collect(),
            (None, None) => self.copied.into_iter().collect(),
        };
        let picked = |&value: &Value| gathered::gathered(function, &self.insts, value).map_or(value, |gathered| gathered.source);
        let epilogue = self.epilogue.iter().flat_map(|e| e.operands.iter().map(picked));
        let contraction = self.root.map(|r| &function.insts[r]).filter(|data| matches!(data.op(), Op::Conv | Op::Matmul));
        let root = root.into_iter().enumerate().map(|(i, value)| match contraction {
            Some(data) if i == 0 => channel_planes(function, data).map_or(value, |planes| planes.source),
            Some(data) if i == 1 => turned_right(function, data).map_or_else(|| stored_right(function, data).0, |turned| turned.source),
            _ => value,
        });
        let mut inputs = Vec::new();
        let tensors = self.tensors(function);
        let named = self.root.iter().flat_map(|&root| function.insts[root].operation.extents());
        let shapes = tensors.iter().flat_map(|&v| function.tensor(v).shape.iter().copied());
        let extents = shapes.chain(named).filter_map(|e| match function.resolved(e) {
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

    /// The operands of instructions that none of them computes.
    fn read_by_rows(&self, function: &Function) -> Vec<Value> {
        let inside = |value: &Value| function.defining_inst(*value).is_some_and(|inst| self.insts.contains(&inst));
        self.insts.iter().flat_map(|&inst| function.uses(inst)).filter(|value| !inside(value)).collect()
    }
}
