//! Chains: a root absorbs the map that is the only reader of its result, then the next such map. Roots take their epilogues before other
//! instructions choose, so that narrowed accumulators never go to memory. Groups are merged further in [`super::graph`].

use super::compose::composed;
use super::flow::{Flow, Item};
use super::memory::{is_view, subtensor_start, viewed};
use super::uses::collect_handed_on;
use super::{Epilogue, Group, Kind, MAX_NODES, Move, Node, Read, View, channel_planes, gathered, takes_epilogue, turned, widened};
use crate::ir::{Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Cuts a method into chains.
pub(super) fn chains(flow: &Flow, module: &Module, uses: &FxHashMap<Value, usize>) -> Vec<Node> {
    let Flow { function, items, states } = flow;
    let available = function.params.iter().copied().chain(states.iter().map(|s| s.entry)).collect();
    let mut absorbed = widened::absorbed(function, items, uses);
    absorbed.extend(gathered::absorbed(function, module, items, uses));
    absorbed.extend(channel_planes::absorbed(function, items, uses));
    absorbed.extend(turned::absorbed(function, items, uses));
    let mut handed_on: FxHashSet<Value> = function.results.iter().chain(states.iter().map(|s| &s.exit)).copied().collect();
    collect_handed_on(items, &mut handed_on);
    let handed_on = handed_on.into_iter().map(|v| viewed(function, v)).collect();
    let mut grouping = Grouping { function, uses, available, absorbed, handed_on, prologues: FxHashMap::default() };
    grouping.body(items)
}

struct Grouping<'a> {
    function: &'a Function,
    uses: &'a FxHashMap<Value, usize>,
    /// Values that exist before the group now being formed runs.
    available: FxHashSet<Value>,
    /// Instructions without a kernel of their own: conversions of weights, transposes that contractions do themselves, gathers that
    /// element-wise work does in place.
    absorbed: FxHashSet<Inst>,
    /// Values that moves pass on. A slice among them is copied instead of aliased. So the address of its destination is available at once,
    /// and the sliced tensor can be freed.
    handed_on: FxHashSet<Value>,
    /// Element-wise work that waits for the window or reduction that reads it, with its instructions.
    prologues: FxHashMap<Value, (Vec<Inst>, Epilogue)>,
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
                    if self.is_prologue(&group, items)
                        && let Kind::Elements(work) = group.kind
                    {
                        self.prologues.insert(group.outputs[0], (group.insts, work));
                        continue;
                    }
                    if let Kind::Root(root) = &mut group.kind
                        && let Some((insts, work)) = self.function.insts[*inst].operands.first().and_then(|v| self.prologues.remove(v))
                    {
                        root.prologue = Some(work);
                        group.insts.splice(0..0, insts);
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

    /// Tests whether an instruction needs no kernel: constants are data; views, extents and subtensors alias other memory.
    fn is_free(&self, inst: Inst) -> bool {
        let data = &self.function.insts[inst];
        matches!(data.op(), Op::Constant | Op::IndexConstant | Op::ExtentOf) || is_view(self.function, inst) || self.is_subtensor(inst)
    }

    fn is_subtensor(&self, inst: Inst) -> bool {
        subtensor_start(self.function, inst).is_some() && !self.handed_on.contains(&self.function.insts[inst].results[0])
    }

    /// Returns a branch's body, which ends with the moves to the results.
    fn branch(&mut self, (items, values): &(Vec<Item>, Vec<Value>), results: &[Value]) -> Vec<Node> {
        let mut nodes = self.body(items);
        nodes.push(Node::Moves(values.iter().zip(results).map(|(&from, &to)| Move { from, to }).collect()));
        nodes
    }

    /// Tests whether an element-wise group becomes the prologue of the one window or reduction that reads it.
    fn is_prologue(&self, group: &Group, items: &[Item]) -> bool {
        let [result] = group.outputs[..] else { return false };
        matches!(group.kind, Kind::Elements(_)) && !group.picks() && self.feeds_reduction(result, items)
    }

    /// Tests whether a value has a single use, by a window or reduction.
    fn feeds_reduction(&self, value: Value, items: &[Item]) -> bool {
        let reader = |item: &Item| match item {
            Item::Inst(inst) => {
                let data = &self.function.insts[*inst];
                matches!(data.op(), Op::Window | Op::Reduce) && data.operands == [value]
            }
            Item::If { .. } | Item::While { .. } => false,
        };
        self.uses.get(&value) == Some(&1) && items.iter().any(reader)
    }

    /// Adds to a group the gathers of the operands that it reads in place.
    fn take_gathers(&self, group: &mut Group) {
        let operands: Vec<Value> = group.epilogue().into_iter().flat_map(|e| e.operands.iter().copied()).collect();
        let mut gathers: Vec<Inst> = vec![];
        for value in operands {
            let chain = gathered::chain(self.function, |inst| self.absorbed.contains(&inst), value);
            let view = gathered::gathered(self.function, &chain, value).map(View::Gathered);
            group.reads.extend(view.map(|through| Read { value, through }));
            gathers.extend(chain);
        }
        gathers.sort();
        gathers.dedup();
        group.insts.splice(0..0, gathers);
    }

    fn widens(&self, from: Value, to: Value) -> bool {
        self.function.tensor(from).element.bits() < self.function.tensor(to).element.bits()
    }

    /// Forms a group that starts at an instruction and absorbs the maps after it.
    fn grow(&self, inst: Inst, items: &[Item], start: usize, taken: &mut [bool]) -> Group {
        let data = &self.function.insts[inst];
        let mut group = if data.op() == Op::Map { Group::of_map(self.function, inst) } else { Group::of_root(self.function, inst) };
        if data.op() != Op::Map && !takes_epilogue(data.op()) {
            return group;
        }
        for (position, item) in items.iter().enumerate().skip(start + 1) {
            let Item::Inst(next) = item else { break };
            if taken[position] || !self.absorbs(&group, *next, items, start) {
                continue;
            }
            let next_data = &self.function.insts[*next];
            let next_group = Group::of_map(self.function, *next);
            let Some(kind) = group.kind_with(composed(self.function, &group, &next_group, &next_data.results)) else { break };
            taken[position] = true;
            group.kind = kind;
            group.outputs = next_data.results.clone();
            group.insts.push(*next);
        }
        group
    }

    /// Tests whether a later map can join the group's kernel as its epilogue. The map must be the only reader of the group's single result and
    /// keep its shape. Its other operands must exist before the group runs; constants and views of such values do.
    fn absorbs(&self, group: &Group, next: Inst, items: &[Item], start: usize) -> bool {
        let data = &self.function.insts[next];
        let [result] = group.outputs[..] else { return false };
        if data.op() != Op::Map || !data.operands.contains(&result) || self.uses_other_than(result, next) {
            return false;
        }
        // A map that widens its operand for a single window or reduction becomes the prologue there, so that the wide tensor never goes to
        // memory.
        if group.root().is_some() && self.widens(result, data.results[0]) && self.feeds_reduction(data.results[0], items) {
            return false;
        }
        let same_shape = self.function.tensor(result).shape == self.function.tensor(data.results[0]).shape;
        let nodes = group.epilogue().map_or(0, |e| e.expression.nodes.len()) + data.expression().nodes.len();
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
            match data.op() {
                Op::Constant => return listed,
                _ if listed && (is_view(self.function, inst) || self.is_subtensor(inst)) => value = data.operands[0],
                _ => return false,
            }
            if self.available.contains(&value) {
                return true;
            }
        }
    }
}
