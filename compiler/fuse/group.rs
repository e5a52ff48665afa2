//! Groups: instructions that become one kernel, and their operands.

use super::channel_planes::ChannelPlanes;
use super::gathered::Gathered;
use super::read::{Read, View};
use crate::ir::{Expression, Extent, Function, Inst, Module, Op, Value};

/// The work of one kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    /// The kind of work.
    pub kind: Kind,
    /// All source instructions, in order.
    pub insts: Vec<Inst>,
    /// Operands that the group does not read where their value lies. Each operand of the work that is not listed is read there.
    pub reads: Vec<Read>,
    /// Tensors written, in the order of the epilogue's results (or the root's).
    pub outputs: Vec<Value>,
}

/// The kinds of work of a group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A copy of a whole tensor.
    Copy(Value),
    /// Element-wise work alone.
    Elements(Epilogue),
    /// An instruction that determines the loop structure, with the work before and after it.
    Root(Root),
    /// Reductions and element-wise work along rows, by all instructions of the group.
    Rows(Rowwise),
}

/// An instruction that determines the loop structure of its group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Root {
    /// The instruction.
    pub inst: Inst,
    /// Element-wise work on the operand of a window or reduction, computed as it is read.
    pub prologue: Option<Epilogue>,
    /// Element-wise work on the result.
    pub epilogue: Option<Epilogue>,
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
        Self { kind: Kind::Copy(from), insts: vec![], reads: vec![], outputs: vec![to] }
    }

    /// Makes a group of one `map`.
    pub(super) fn of_map(function: &Function, inst: Inst) -> Self {
        let data = &function.insts[inst];
        let work = Epilogue { operands: data.operands.clone(), expression: data.expression().clone() };
        Self { kind: Kind::Elements(work), insts: vec![inst], reads: vec![], outputs: data.results.clone() }
    }

    /// Makes a group with another instruction as its root.
    pub(super) fn of_root(function: &Function, inst: Inst) -> Self {
        let root = Root { inst, prologue: None, epilogue: None };
        let outputs = function.insts[inst].results.clone();
        Self { kind: Kind::Root(root), insts: vec![inst], reads: Read::of_contraction(function, inst), outputs }
    }

    /// Returns the tensor that a copy copies.
    pub fn copied(&self) -> Option<Value> {
        if let Kind::Copy(from) = self.kind { Some(from) } else { None }
    }

    /// Returns the instruction that determines the loop structure.
    pub fn root(&self) -> Option<Inst> {
        if let Kind::Root(root) = &self.kind { Some(root.inst) } else { None }
    }

    /// Returns the element-wise work on the root's operand.
    pub fn prologue(&self) -> Option<&Epilogue> {
        if let Kind::Root(root) = &self.kind { root.prologue.as_ref() } else { None }
    }

    /// Returns the element-wise work on the root's result, or all work of a group of elements.
    pub fn epilogue(&self) -> Option<&Epilogue> {
        match &self.kind {
            Kind::Elements(work) => Some(work),
            Kind::Root(root) => root.epilogue.as_ref(),
            Kind::Copy(_) | Kind::Rows(_) => None,
        }
    }

    /// Returns the work along rows.
    pub fn rowwise(&self) -> Option<&Rowwise> {
        if let Kind::Rows(rows) = &self.kind { Some(rows) } else { None }
    }

    /// Returns the kind of the group with other work after its root, or with other work on elements. `None` for copies and rows.
    pub(super) fn kind_with(&self, epilogue: Epilogue) -> Option<Kind> {
        match &self.kind {
            Kind::Elements(_) => Some(Kind::Elements(epilogue)),
            Kind::Root(root) => Some(Kind::Root(Root { epilogue: Some(epilogue), ..root.clone() })),
            Kind::Copy(_) | Kind::Rows(_) => None,
        }
    }

    /// Tests whether the group runs on a GPU: at least one of its instructions is marked.
    pub fn is_for_gpu(&self, function: &Function, module: &Module) -> bool {
        let is_marked = |&inst: &Inst| function.insts[inst].source.is_some_and(|source| module.sources[source].gpu);
        self.insts.iter().any(is_marked)
    }

    /// Tests whether the group reads operands through gathers with constant positions.
    pub(super) fn picks(&self) -> bool {
        self.reads.iter().any(|read| matches!(read.through, View::Gathered(_)))
    }

    /// Returns the planes that the root reads instead of its first operand, and this operand.
    pub fn channel_planes(&self) -> Option<(&ChannelPlanes, Value)> {
        self.reads.iter().find_map(|read| if let View::ChannelPlanes(planes) = &read.through { Some((planes, read.value)) } else { None })
    }

    /// Returns the view through which the root reads its right operand.
    pub fn right(&self) -> Option<&View> {
        let mut views = self.reads.iter().map(|read| &read.through);
        views.find(|view| matches!(view, View::Transposed(_) | View::Stored(_)))
    }

    /// Returns the view through which element-wise work reads an operand.
    pub fn gathered(&self, value: Value) -> Option<&Gathered> {
        let mut reads = self.reads.iter().filter(|read| read.value == value);
        reads.find_map(|read| if let View::Gathered(gathered) = &read.through { Some(gathered) } else { None })
    }

    /// Returns the tensors whose shapes determine the group's loops: operands, results and intermediate values.
    pub fn tensors(&self, function: &Function) -> Vec<Value> {
        let root = self.root().into_iter().flat_map(|root| function.insts[root].operands.iter().chain(&function.insts[root].results));
        let expressions = self.prologue().into_iter().chain(self.epilogue()).flat_map(|e| &e.operands);
        let of_rows = self.insts.iter().filter(|_| self.rowwise().is_some()).map(|&inst| &function.insts[inst]);
        let of_rows = of_rows.flat_map(|data| data.operands.iter().chain(&data.results));
        let copied = self.copied();
        let all = root.chain(expressions).chain(of_rows).chain(&copied).chain(&self.outputs).copied();
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
        let accumulator = self.root().map(|root| function.insts[root].results[0]);
        let work: Vec<Value> = match &self.kind {
            Kind::Copy(from) => vec![*from],
            Kind::Elements(_) => vec![],
            Kind::Root(Root { prologue: Some(prologue), .. }) => prologue.operands.clone(),
            Kind::Root(root) => self.read_by_root(function, root.inst),
            Kind::Rows(_) => self.read_by_rows(function),
        };
        let picked = |&value: &Value| self.gathered(value).map_or(value, |gathered| gathered.source);
        let epilogue = self.epilogue().into_iter().flat_map(|e| e.operands.iter().map(picked));
        let mut inputs = Vec::new();
        let tensors = self.tensors(function);
        let named = self.root().into_iter().flat_map(|root| function.insts[root].operation.extents());
        let shapes = tensors.iter().flat_map(|&v| function.tensor(v).shape.iter().copied());
        let extents = shapes.chain(named).filter_map(|e| match function.resolved(e) {
            Extent::Value(index) => Some(index),
            Extent::Static(_) => None,
        });
        for value in work.into_iter().chain(epilogue).chain(extents) {
            if Some(value) != accumulator && !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        inputs
    }

    /// Returns the values of a root's operands where they lie.
    fn read_by_root(&self, function: &Function, root: Inst) -> Vec<Value> {
        let mut values: Vec<Value> = function.uses(root).collect();
        if let (Some((planes, _)), Some(left)) = (self.channel_planes(), values.first_mut()) {
            *left = planes.source;
        }
        if let (Some(view), Some(right)) = (self.right(), values.get_mut(1)) {
            *right = view.source();
        }
        values
    }

    /// Returns the operands that no instruction of the group computes.
    fn read_by_rows(&self, function: &Function) -> Vec<Value> {
        let inside = |value: &Value| function.defining_inst(*value).is_some_and(|inst| self.insts.contains(&inst));
        self.insts.iter().flat_map(|&inst| function.uses(inst)).filter(|value| !inside(value)).collect()
    }
}
