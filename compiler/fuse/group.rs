//! Groups: instructions that become one kernel, and their operands.

use super::channel_planes::channel_planes;
use super::gathered;
use super::turned::turned_right;
use crate::ir::{Expression, Extent, Function, Inst, Module, Op, Value, stored_right};

/// The work of one kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Group {
    /// The instruction that determines the loop structure; `None` for a group of element-wise work alone.
    pub root: Option<Inst>,
    /// The tensor that the group copies; it does no other work then.
    pub copied: Option<Value>,
    /// Element-wise work on the operand of a window or reduction, computed as it is read.
    pub prologue: Option<Epilogue>,
    /// The element-wise work on the root's result, or all work of a group without a root.
    pub epilogue: Option<Epilogue>,
    /// Reductions and element-wise work along rows. It covers all instructions; the group then has no root, prologue or epilogue.
    pub rowwise: Option<Rowwise>,
    /// All source instructions, in order. Gathers other than the root select elements that the epilogue reads; see [`gathered`].
    pub insts: Vec<Inst>,
    /// Tensors written, in the order of the epilogue's results (or the root's).
    pub outputs: Vec<Value>,
}

/// An expression over tensors of the group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Epilogue {
    /// Operands in the order of the expression's inputs. The root's result means the value in registers.
    pub operands: Vec<Value>,
    /// The expression; its results are the group's outputs.
    pub expression: Expression,
}

/// Work of a group along the rows of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rowwise {
    /// The shape of the tensors that are reduced along their last dimension.
    pub shape: Vec<Extent>,
    /// Each reduction with the tensors that it would read as a kernel of its own. They determine its vector length, so that the order of a sum
    /// does not depend on merges.
    pub readers: Vec<(Inst, Vec<Value>)>,
}

/// Tests whether an operator is a root that takes element-wise work on its result.
pub(super) fn takes_epilogue(op: Op) -> bool {
    matches!(op, Op::Conv | Op::Matmul | Op::BlockMatmul | Op::Window | Op::Reduce | Op::Unpack)
}

impl Group {
    /// A group that copies a whole tensor.
    pub fn copy(from: Value, to: Value) -> Self {
        Self { copied: Some(from), outputs: vec![to], ..Self::default() }
    }

    /// Tests whether the group runs on a GPU: at least one of its instructions is marked.
    pub fn is_for_gpu(&self, function: &Function, module: &Module) -> bool {
        let is_marked = |&inst: &Inst| function.insts[inst].source.is_some_and(|source| module.sources[source].gpu);
        self.insts.iter().any(is_marked)
    }

    /// Makes a group of one `map`.
    pub(super) fn of_map(function: &Function, inst: Inst) -> Self {
        let data = &function.insts[inst];
        let work = Epilogue { operands: data.operands.clone(), expression: data.expression().clone() };
        Self { root: None, epilogue: Some(work), ..Self::of_root(function, inst) }
    }

    /// Makes a group with another instruction as its root.
    pub(super) fn of_root(function: &Function, inst: Inst) -> Self {
        let outputs = function.insts[inst].results.clone();
        Self { root: Some(inst), insts: vec![inst], outputs, ..Self::default() }
    }

    /// Tests whether the group reads operands through gathers with constant positions.
    pub(super) fn picks(&self, function: &Function) -> bool {
        self.insts.iter().any(|&inst| Some(inst) != self.root && function.insts[inst].operation.picked_along().is_some())
    }

    /// Returns the tensors whose shapes determine the group's loops: operands, results and intermediate values.
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

    /// Returns the operands that no instruction of the group computes.
    fn read_by_rows(&self, function: &Function) -> Vec<Value> {
        let inside = |value: &Value| function.defining_inst(*value).is_some_and(|inst| self.insts.contains(&inst));
        self.insts.iter().flat_map(|&inst| function.uses(inst)).filter(|value| !inside(value)).collect()
    }
}
