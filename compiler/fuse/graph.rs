//! Merges of groups: element-wise work fuses over any connected piece of graph.
//!
//! Two groups become one where the second reads, element by element, what the first computes, and no third one has to run between them.
//! What both sides of a diamond read is then computed once and never stored; a result that others read as well is stored
//! beside those of the second group. Either way the second group's operand is not read again.
//!
//! Groups merge within straight lines of code: nothing moves past a branch, a loop or a custom operator. A merged group runs as early as
//! what it reads allows, and groups that it overtakes keep their order.

use super::compose::composed;
use super::rowwise::Rowwise;
use super::{Group, MAX_NODES, Node, takes_epilogue};
use crate::ir::{Function, Inst, Op, Value};
use std::collections::{HashMap, HashSet};

/// Groups farther apart than this many others do not merge: what is in between would have to be looked through for each pair.
const FARTHEST: usize = 256;
/// Tensors that a merged group reads and writes at most: each takes a register for its address.
const MOST_TENSORS: usize = 16;

/// A merge of two groups, by the first instruction of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Merge {
    /// The group that computes what the other one reads.
    pub first: Inst,
    /// The other one.
    pub second: Inst,
}

/// Which merges are made.
#[derive(Clone, Debug)]
pub enum Fusions {
    /// All that the rules allow.
    All,
    /// None but these.
    These(HashSet<Merge>),
}

impl Fusions {
    /// None.
    pub fn none() -> Self {
        Self::These(HashSet::new())
    }

    /// Whether no groups merge.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::These(list) if list.is_empty())
    }

    fn allow(&self, merge: Merge) -> bool {
        match self {
            Self::All => true,
            Self::These(list) => list.contains(&merge),
        }
    }
}

/// Merges the groups of each straight line, and lists what it merged. `uses` says how often each value is read.
pub(super) fn merge(function: &Function, uses: &HashMap<Value, usize>, fusions: &Fusions, nodes: &mut Vec<Node>) -> Vec<Merge> {
    if fusions.is_empty() {
        return vec![];
    }
    let mut computed = HashSet::new();
    collect_computed(nodes, &mut computed);
    let method = Method { function, uses, computed, fusions };
    let mut merges = Vec::new();
    method.body(nodes, &mut merges);
    merges
}

fn collect_computed(nodes: &[Node], list: &mut HashSet<Value>) {
    for node in nodes {
        match node {
            Node::Group(group) => list.extend(&group.outputs),
            Node::Moves(_) => {}
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                collect_computed(first, list);
                collect_computed(second, list);
            }
        }
    }
}

/// What holds for a whole method.
struct Method<'a> {
    function: &'a Function,
    /// How often each value is read.
    uses: &'a HashMap<Value, usize>,
    /// What groups compute.
    computed: HashSet<Value>,
    fusions: &'a Fusions,
}

impl Method<'_> {
    fn body(&self, nodes: &mut Vec<Node>, merges: &mut Vec<Merge>) {
        let mut done = Vec::with_capacity(nodes.len());
        let mut line = Vec::new();
        for mut node in nodes.drain(..) {
            match &mut node {
                Node::Group(group) if !self.is_custom(group) => {
                    line.push(std::mem::take(&mut **group));
                    continue;
                }
                Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                    self.body(first, merges);
                    self.body(second, merges);
                }
                Node::Group(_) | Node::Moves(_) => {}
            }
            done.extend(Line::merged(self, std::mem::take(&mut line), merges));
            done.push(node);
        }
        done.extend(Line::merged(self, line, merges));
        *nodes = done;
    }

    fn is_custom(&self, group: &Group) -> bool {
        group.root.is_some_and(|root| self.function.insts[root].op == Op::External)
    }
}

/// A group's number in its line; a merged group has that of the first of the two.
type Number = usize;

/// Two groups as one, where the second reads results of the first; `None` where they do not fit.
type Join<'a> = fn(&Line<'a>, Number, Number) -> Option<Group>;

/// A straight line of groups.
struct Line<'a> {
    method: &'a Method<'a>,
    function: &'a Function,
    groups: Vec<Option<Group>>,
    /// The groups that each one reads results of, through views as well.
    reads: Vec<HashSet<Number>>,
    /// The group that a group was merged into: itself for those that there are.
    became: Vec<Number>,
    /// The group that computes a value.
    makers: HashMap<Value, Number>,
    /// The order in which groups run, with holes.
    order: Vec<Option<Number>>,
    /// Where each group is in the order.
    position: Vec<usize>,
}

impl<'a> Line<'a> {
    /// A line with its groups merged.
    fn merged(method: &'a Method<'a>, groups: Vec<Group>, merges: &mut Vec<Merge>) -> impl Iterator<Item = Node> {
        let mut line = Self::new(method, groups);
        for join in [Self::elements as Join<'a>, Self::rows] {
            for end in 0..line.order.len() {
                let mut at = end;
                while let Some((merge, place)) = line.order[at].and_then(|second| line.merge_with_maker(second, join)) {
                    merges.push(merge);
                    at = place;
                }
            }
        }
        let Self { order, mut groups, .. } = line;
        order.into_iter().flatten().filter_map(move |number| groups[number].take()).map(|group| Node::Group(Box::new(group)))
    }

    fn new(method: &'a Method<'a>, groups: Vec<Group>) -> Self {
        let function = method.function;
        let count = groups.len();
        let makers = groups.iter().enumerate().flat_map(|(number, group)| group.outputs.iter().map(move |&v| (v, number))).collect();
        let groups = groups.into_iter().map(Some).collect();
        let mut line = Self {
            method,
            function,
            groups,
            reads: vec![],
            became: (0..count).collect(),
            makers,
            order: (0..count).map(Some).collect(),
            position: (0..count).collect(),
        };
        line.reads =
            (0..count).map(|number| line.group(number).inputs(function).into_iter().flat_map(|v| line.behind(v)).collect()).collect();
        line
    }

    fn group(&self, number: Number) -> &Group {
        self.groups[number].as_ref().expect("a group that was merged into another one is not asked for")
    }

    /// The groups whose results a value is, or is a view or a part or an extent of.
    fn behind(&self, value: Value) -> Vec<Number> {
        if let Some(&maker) = self.makers.get(&value) {
            return vec![self.now(maker)];
        }
        let Some(inst) = self.function.defining_inst(value).filter(|_| !self.method.computed.contains(&value)) else { return vec![] };
        self.function.uses(inst).flat_map(|operand| self.behind(operand)).collect()
    }

    fn now(&self, mut number: Number) -> Number {
        while self.became[number] != number {
            number = self.became[number];
        }
        number
    }

    /// The groups that a group reads, as they are now.
    fn read_by(&self, number: Number) -> impl Iterator<Item = Number> + '_ {
        self.reads[number].iter().map(|&other| self.now(other))
    }

    /// Merges a group with one that computes what it reads, the last of these that it can merge with. Gives the place of the merged one.
    fn merge_with_maker(&mut self, second: Number, join: Join<'a>) -> Option<(Merge, usize)> {
        let mut makers: Vec<Number> = self.read_by(second).filter(|&maker| maker != second).collect();
        makers.sort_by_key(|&maker| std::cmp::Reverse(self.position[maker]));
        makers.dedup();
        for first in makers {
            let merge = Merge { first: *self.group(first).insts.first()?, second: *self.group(second).insts.first()? };
            if self.method.fusions.allow(merge)
                && self.reads_elements(first, second)
                && let Some(between) = self.between(first, second)
                && let Some(joined) = join(self, first, second)
            {
                let place = self.put(joined, first, second, between);
                return Some((merge, place));
            }
        }
        None
    }

    /// Whether the second of two groups reads nothing of the first but its results themselves: no views, parts or extents of them.
    fn reads_elements(&self, first: Number, second: Number) -> bool {
        let (one, other) = (self.group(first), self.group(second));
        let inputs = other.inputs(self.function);
        inputs.iter().all(|value| one.outputs.contains(value) || !self.behind(*value).contains(&first))
            && one.inputs(self.function).len() + inputs.len() + one.outputs.len() + other.outputs.len() <= MOST_TENSORS
    }

    /// Element-wise work behind other such work, or as the epilogue of a root.
    fn elements(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let root_takes = one.root.is_none_or(|root| takes_epilogue(self.function.insts[root].op) && !other.picks(self.function));
        let is_plain = |group: &Group| group.copied.is_none() && group.rowwise.is_none();
        let work = other.epilogue.as_ref().filter(|_| other.root.is_none() && is_plain(one) && is_plain(other) && root_takes)?;
        let shape = |group: &Group| group.outputs.first().map(|&v| (&self.function.tensor(v).shape, &self.function.tensor(v).layout));
        let nodes = one.epilogue.as_ref().map_or(0, |e| e.expression.nodes.len()) + work.expression.nodes.len();
        if shape(one) != shape(other) || nodes > MAX_NODES {
            return None;
        }
        let (insts, outputs) = self.united(one, other);
        let epilogue = Some(composed(self.function, one, other, &outputs));
        Some(Group { epilogue, insts, outputs, ..one.clone() })
    }

    /// Reductions along rows, and work on the same rows.
    fn rows(&self, first: Number, second: Number) -> Option<Group> {
        let (one, other) = (self.group(first), self.group(second));
        let rowwise = Rowwise::joined(self.function, one, other)?;
        let (insts, outputs) = self.united(one, other);
        Some(Group { rowwise: Some(rowwise), insts, outputs, ..Group::default() })
    }

    /// The instructions of two groups, and those of their results that others read.
    fn united(&self, one: &Group, other: &Group) -> (Vec<Inst>, Vec<Value>) {
        let insts = [&one.insts[..], &other.insts].concat();
        let outputs = self.stored(&insts, one.outputs.iter().chain(&other.outputs));
        // Results that nobody reads stay the results of a group that has no others.
        if outputs.is_empty() { (insts, other.outputs.clone()) } else { (insts, outputs) }
    }

    /// The groups between two that the second one needs, if none of them needs the first one.
    fn between(&self, first: Number, second: Number) -> Option<Vec<Number>> {
        let (start, end) = (self.position[first], self.position[second]);
        if end - start > FARTHEST {
            return None;
        }
        let mut needed: HashSet<Number> = self.read_by(second).collect();
        needed.remove(&first);
        let mut between = Vec::new();
        for number in self.order[start + 1..end].iter().rev().copied().flatten() {
            if needed.contains(&number) {
                if self.read_by(number).any(|other| other == first) {
                    return None;
                }
                needed.extend(self.read_by(number));
                between.push(number);
            }
        }
        between.reverse();
        Some(between)
    }

    /// Puts a merged group behind those of `between`. Gives its place in the order.
    fn put(&mut self, joined: Group, first: Number, second: Number, between: Vec<Number>) -> usize {
        let (start, end) = (self.position[first], self.position[second]);
        (self.groups[first], self.groups[second]) = (Some(joined), None);
        self.became[second] = first;
        self.reads[first] = self.read_by(first).chain(self.read_by(second)).filter(|&number| number != first).collect();
        let place = start + between.len();
        let rest: Vec<Number> = self.order[start + 1..end].iter().copied().flatten().filter(|number| !between.contains(number)).collect();
        let mut numbers = between.into_iter().chain([first]).chain(rest);
        for position in start..=end {
            self.order[position] = numbers.next();
            if let Some(number) = self.order[position] {
                self.position[number] = position;
            }
        }
        place
    }

    /// The values that others than some instructions read.
    fn stored<'v>(&self, insts: &[Inst], values: impl Iterator<Item = &'v Value>) -> Vec<Value> {
        let mut inside: HashMap<Value, usize> = HashMap::new();
        for value in insts.iter().flat_map(|&inst| self.function.uses(inst)) {
            *inside.entry(value).or_default() += 1;
        }
        values
            .copied()
            .filter(|value| self.method.uses.get(value).copied().unwrap_or(0) > inside.get(value).copied().unwrap_or(0))
            .collect()
    }
}
