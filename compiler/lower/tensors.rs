//! The planner's tensors and what they stand for.

use super::parts::Parts;
use super::places::{Holder, Places};
use super::pool::Pool;
use super::variables::Variables;
use crate::fuse::flow::StateFlow;
use crate::fuse::{Group, Move};
use crate::ir::{self, Data, Definition, Extent, Function, Module, Operation, Value, operators};
use crate::plan::{self, Place, Plan, TensorId};
use crate::program::Address;
use crate::schedule;
use std::collections::{BTreeSet, HashMap};

/// Tensors in the arena start at a multiple of this, a vector register of the narrowest machine; parts of others, which nobody depends on, at one of
/// their elements.
const TENSOR_ALIGNMENT: u64 = 16;

/// The value whose memory a value has: views share that of their operand, and an extent that is an index is that index.
pub(super) fn root_of(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value) {
        let data = &function.insts[inst];
        value = match &data.operation {
            _ if crate::fuse::is_view(function, inst) => data.operands[0],
            Operation::ExtentOf(extent) => match extent_of(function, data, extent) {
                Extent::Value(index) if index != value => index,
                _ => break,
            },
            _ => break,
        };
    }
    value
}

fn extent_of(function: &Function, data: &ir::InstData, extent: &operators::ExtentOf) -> Extent {
    function.tensor(data.operands[0]).shape[extent.axis]
}

/// An extent of one possible value is a number, which nobody measures.
fn known_extent(function: &Function, data: &ir::InstData, extent: &operators::ExtentOf) -> Option<i64> {
    i64::try_from(function.resolved(extent_of(function, data, extent)).as_static()?).ok()
}

/// A state of a method: what it holds at the beginning, what stands for it at the end, and where it is.
#[derive(Clone, Copy)]
pub(super) struct StatePlace {
    pub flow: StateFlow,
    /// Stands for what the state holds when the method is over, if the method writes it.
    pub left: Value,
}

impl StatePlace {
    /// The value that the state must hold when the method is over.
    pub fn last(&self) -> Value {
        if self.flow.exit == self.flow.entry { self.flow.entry } else { self.left }
    }
}

/// Values that are not in the arena, or not only there.
pub(super) struct Outside<'a> {
    pub module: &'a Module,
    pub function: &'a Function,
    pub variables: &'a Variables,
    pub states: &'a [StatePlace],
    /// The state that a value is in.
    held: HashMap<Value, ir::State>,
    /// The method's input or output number of tensors in callers' buffers.
    pub inputs: HashMap<Value, u32>,
    pub outputs: HashMap<Value, u32>,
}

impl<'a> Outside<'a> {
    pub fn new(
        module: &'a Module,
        function: &'a Function,
        variables: &'a Variables,
        states: &'a [StatePlace],
        inputs: usize,
        outputs: &[Value],
    ) -> Self {
        let inputs = function.params.iter().take(inputs).enumerate().map(|(i, &v)| (v, i as u32)).collect();
        let outputs = outputs.iter().enumerate().map(|(i, &v)| (root_of(function, v), i as u32)).collect();
        let held = states.iter().flat_map(|s| [(s.flow.entry, s.flow.state), (s.left, s.flow.state)]).collect();
        Self { module, function, variables, states, held, inputs, outputs }
    }

    /// What a value's place may be.
    pub fn holder(&self, root: Value) -> Holder {
        let bytes = self.bytes(root);
        match self.place(root) {
            Place::Arena => Holder::Anywhere(bytes),
            Place::Output | Place::State => Holder::Pinned(bytes),
            Place::Input | Place::Constant => Holder::ReadOnly,
        }
    }

    fn place(&self, root: Value) -> Place {
        if self.inputs.contains_key(&root) {
            Place::Input
        } else if self.outputs.contains_key(&root) {
            Place::Output
        } else if self.held.contains_key(&root) {
            Place::State
        } else if self.constant(root).is_some() {
            Place::Constant
        } else {
            Place::Arena
        }
    }

    /// The data of a value that is known: a constant, an index number, an extent.
    fn constant(&self, root: Value) -> Option<Data> {
        let number = |n: i64| Data::from(n.to_le_bytes().to_vec());
        let data = &self.function.insts[self.function.defining_inst(root)?];
        match &data.operation {
            Operation::Constant(constant) => Some(self.module.constants[constant.data].data.clone()),
            Operation::IndexConstant(index) => Some(number(index.value)),
            Operation::ExtentOf(extent) => known_extent(self.function, data, extent).map(number),
            _ => None,
        }
    }

    /// Bytes of a value at its bound.
    fn bytes(&self, root: Value) -> u64 {
        self.function.bound_bytes(&self.function.stored_type(root)).unwrap_or(0)
    }
}

/// The planner's tensors of a method, each value that owns memory one.
pub(super) struct Tensors<'a> {
    outside: &'a Outside<'a>,
    places: &'a Places,
    parts: &'a Parts,
    pub list: Vec<plan::Tensor>,
    pub ids: HashMap<Value, TensorId>,
}

impl<'a> Tensors<'a> {
    pub fn new(outside: &'a Outside<'a>, places: &'a Places, parts: &'a Parts) -> Self {
        Self { outside, places, parts, list: vec![], ids: HashMap::new() }
    }

    /// The function whose values they are.
    pub fn function(&self) -> &'a Function {
        self.outside.function
    }

    /// The module.
    pub fn module(&self) -> &'a Module {
        self.outside.module
    }

    /// The tensor of the memory that a value has.
    pub fn id(&mut self, value: Value) -> TensorId {
        let root = root_of(self.outside.function, value);
        if let Some(&id) = self.ids.get(&root) {
            return id;
        }
        let owner = self.places.owner(root);
        let part_of = self.parts.host(root).map(|(host, start)| (self.id(host), start));
        let taken_over = (owner != root).then(|| (self.id(owner), 0));
        let name = self.outside.function.values[root].name.clone().unwrap_or_else(|| format!("{root}"));
        let element = self.outside.function.stored_type(root).element;
        self.list.push(plan::Tensor {
            bytes: self.outside.bytes(root),
            alignment: if part_of.is_some() { element.alignment() } else { TENSOR_ALIGNMENT },
            place: self.outside.place(owner),
            view_of: part_of.or(taken_over),
            takes_over: taken_over.is_some(),
            fixed: None,
            name,
        });
        let id = TensorId(self.list.len() as u32 - 1);
        self.ids.insert(root, id);
        id
    }

    /// What the steps of a loop read and do not make: each round needs it.
    pub fn brought_in(&self, steps: &[plan::Step]) -> BTreeSet<TensorId> {
        let made: BTreeSet<TensorId> = steps
            .iter()
            .flat_map(|step| step.writes.iter().copied().chain(step.moves.iter().map(|(_, to)| *to)))
            .map(|id| self.contents(id))
            .collect();
        steps.iter().flat_map(|step| step.reads.iter().copied()).filter(|&id| !made.contains(&self.contents(id))).collect()
    }

    /// The tensor that a tensor is a part of.
    fn contents(&self, mut id: TensorId) -> TensorId {
        while let plan::Tensor { view_of: Some((host, _)), takes_over: false, .. } = &self.list[id.index()] {
            id = *host;
        }
        id
    }

    /// Whether the two sides of a move have one place.
    pub fn in_place(&self, moved: Move) -> bool {
        self.places.same(root_of(self.outside.function, moved.from), moved.to)
    }

    /// The step of a kernel.
    pub fn group_step(&mut self, group: &Group, requirements: &schedule::Requirements) -> plan::Step {
        let function = self.outside.function;
        let reads = group.inputs(function).iter().map(|&v| self.id(v)).collect();
        let writes = group.outputs.iter().map(|&v| self.id(v)).collect();
        let scratch = requirements.scratch.iter().map(|&bytes| plan::Scratch { bytes, alignment: crate::program::ALIGNMENT }).collect();
        let mut ids = |pairs: &[(Value, Value)]| pairs.iter().map(|&(read, written)| (self.id(read), self.id(written))).collect();
        let (may_share, may_slide) = (ids(&requirements.may_share), ids(&requirements.may_slide));
        let name = group.insts.first().map_or("copy", |&inst| function.insts[inst].op().name()).to_owned();
        plan::Step { reads, writes, scratch, may_share, may_slide, name, ..plan::Step::default() }
    }

    /// A step that is no kernel.
    pub fn barrier(&mut self, name: &str, reads: impl IntoIterator<Item = Value>) -> plan::Step {
        let reads = reads.into_iter().map(|v| self.id(v)).collect();
        plan::Step { reads, barrier: true, name: name.into(), ..plan::Step::default() }
    }

    /// The tensor that a value which owns memory is a part of, and where in it.
    pub fn host(&self, root: Value) -> Option<(Value, u64)> {
        self.parts.host(root)
    }

    /// Where a value is.
    pub fn address(&self, plan: &Plan, pool: &mut Pool, value: Value) -> Address {
        let root = root_of(self.outside.function, value);
        if let Some((host, start)) = self.parts.host(root) {
            return self.address(plan, pool, host).plus(start);
        }
        let owner = self.places.owner(root);
        if let Some(&input) = self.outside.inputs.get(&owner) {
            return Address::Input(input, 0);
        }
        if let Some(&output) = self.outside.outputs.get(&owner) {
            return Address::Output(output, 0);
        }
        if let Some(&state) = self.outside.held.get(&owner) {
            return Address::Variable(self.outside.variables.offset(state));
        }
        if let Some(data) = self.outside.constant(owner) {
            let name = || self.outside.function.values[owner].name.clone().unwrap_or_else(|| owner.to_string());
            return Address::Constant(pool.constant(&data, name), 0);
        }
        let offset = self.ids.get(&root).and_then(|id| plan.offset[id.index()]);
        // A tensor without an offset has no bytes; no access reaches it.
        Address::Scratch(offset.unwrap_or(0))
    }

    /// Whether a pair of a kernel's tensors has one place.
    pub fn shares(&self, plan: &Plan, (read, written): (Value, Value)) -> bool {
        let [read, written] = [read, written].map(|v| root_of(self.outside.function, v));
        let offset = |v: Value| {
            let id = self.ids.get(&v)?;
            let in_arena = self.list[id.index()].place == Place::Arena;
            if in_arena { plan.offset[id.index()] } else { None }
        };
        let base = self.parts.base(self.outside.function, read);
        self.places.same(base, written) || (offset(read).is_some() && offset(read) == offset(written))
    }
}

/// Makes every output of the method a tensor of its own that something in the method writes: what is an input, a constant, a state, a
/// part of something else or returned twice is to be copied. Gives the tensor of each output, and the copies.
pub(super) fn outputs_of(function: &mut Function, count: usize, written: &[Value]) -> (Vec<Value>, Vec<Group>) {
    let (mut taken, mut outputs, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for result in function.results.clone().into_iter().take(count) {
        let root = root_of(function, result);
        if written.contains(&root) && !taken.contains(&root) {
            taken.push(root);
            outputs.push(result);
            continue;
        }
        let copy = duplicate(function, result);
        copies.push(Group::copy(result, copy));
        outputs.push(copy);
    }
    (outputs, copies)
}

/// A value of the type of another, without a definition of its own.
pub(super) fn duplicate(function: &mut Function, value: Value) -> Value {
    let data = ir::ValueData { definition: Definition::Param(function.values.len() as u32), ..function.values[value].clone() };
    function.values.push(data)
}
