//! A straight line of groups, in which two become one if nothing has to run between them.

use super::Rowwise;
use super::fusions::{Fusions, Merge};
use super::{Group, Kind};
use crate::ir::{Extent, Function, Module, Op, TensorType, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Largest distance of groups that merge. It limits the search for groups that must run between them.
const FARTHEST: usize = 256;
/// Largest number of tensors that a merged group reads and writes: each takes a register for its address.
const MOST_TENSORS: usize = 16;

/// A group's number in its line; a merged group has the number of the first of the two.
pub(super) type Number = usize;

/// Data about the whole method.
pub(super) struct Method<'a> {
    pub(super) function: &'a Function,
    pub(super) module: &'a Module,
    /// Number of uses of each value.
    pub(super) uses: &'a FxHashMap<Value, usize>,
    /// The values that groups compute.
    pub(super) computed: FxHashSet<Value>,
    pub(super) fusions: &'a Fusions,
}

/// A way in which groups merge.
#[derive(Clone, Copy)]
pub(super) struct Rule<'a> {
    /// The groups that a group may merge with.
    pub(super) candidates: fn(&Line<'a>, Number) -> Vec<Number>,
    /// Merges two groups; the second may read results of the first. Returns `None` if they do not fit.
    pub(super) join: fn(&Line<'a>, Number, Number) -> Option<Group>,
}

/// The groups of a straight line while they are merged.
pub(super) struct Line<'a> {
    pub(super) method: &'a Method<'a>,
    pub(super) function: &'a Function,
    groups: Vec<Option<Group>>,
    /// Groups whose results each group reads, directly or through views.
    reads: Vec<FxHashSet<Number>>,
    /// The group that each group was merged into; the group itself if it still exists.
    became: Vec<Number>,
    /// The group that computes each value, and the groups that read it.
    makers: FxHashMap<Value, Number>,
    readers: FxHashMap<Value, Vec<Number>>,
    /// The order in which groups run; `None` where a group was merged away.
    order: Vec<Option<Number>>,
    /// Index of each group in `order`.
    position: Vec<usize>,
}

impl<'a> Line<'a> {
    /// Makes a line of consecutive groups of a method.
    pub(super) fn new(method: &'a Method<'a>, groups: Vec<Group>) -> Self {
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
            readers: FxHashMap::default(),
            order: (0..count).map(Some).collect(),
            position: (0..count).collect(),
        };
        for number in 0..count {
            let inputs = line.group(number).inputs(function);
            line.reads.push(inputs.iter().flat_map(|&v| line.sources(v)).collect());
            inputs.into_iter().for_each(|v| line.readers.entry(v).or_default().push(number));
        }
        line
    }

    pub(super) fn group(&self, number: Number) -> &Group {
        self.groups[number].as_ref().expect("a group that was merged into another one is not asked for")
    }

    /// Returns the groups that compute a value, directly or through a view, subtensor or extent.
    fn sources(&self, value: Value) -> Vec<Number> {
        if let Some(&maker) = self.makers.get(&value) {
            return vec![self.now(maker)];
        }
        let Some(inst) = self.function.defining_inst(value).filter(|_| !self.method.computed.contains(&value)) else { return vec![] };
        self.function.uses(inst).flat_map(|operand| self.sources(operand)).collect()
    }

    fn now(&self, mut number: Number) -> Number {
        while self.became[number] != number {
            number = self.became[number];
        }
        number
    }

    /// Returns the groups whose results a group reads, after merges.
    fn read_by(&self, number: Number) -> impl Iterator<Item = Number> + '_ {
        self.reads[number].iter().map(|&other| self.now(other))
    }

    /// Returns the groups in their order.
    pub(super) fn finish(self) -> impl Iterator<Item = Group> + use<> {
        let Self { order, mut groups, .. } = self;
        let ordered: Vec<Group> = order.into_iter().flatten().filter_map(|number| groups[number].take()).collect();
        ordered.into_iter()
    }

    /// Returns the numbers of the remaining groups, in their order.
    pub(super) fn in_order(&self) -> Vec<Number> {
        self.order.iter().copied().flatten().filter(|&number| self.groups[number].is_some()).collect()
    }

    /// Returns the remaining groups that read a value.
    pub(super) fn readers_of(&self, value: Value) -> Vec<Number> {
        let mut readers: Vec<Number> = self.readers.get(&value).into_iter().flatten().map(|&reader| self.now(reader)).collect();
        readers.retain(|&reader| self.groups[reader].is_some());
        readers.sort_unstable();
        readers.dedup();
        readers
    }

    /// Replaces the readers of a result by groups that compute it themselves, and removes it from its maker. Returns `true` if the maker has
    /// other results.
    pub(super) fn replace(&mut self, maker: Number, result: Value, readers: Vec<(Number, Group)>) -> bool {
        for (reader, group) in readers {
            for value in group.inputs(self.function) {
                self.readers.entry(value).or_default().push(reader);
            }
            self.groups[reader] = Some(group);
        }
        let Some(group) = self.groups[maker].as_mut() else { return false };
        if group.outputs == [result] {
            self.groups[maker] = None;
            self.order[self.position[maker]] = None;
            return false;
        }
        let kept: Vec<bool> = group.outputs.iter().map(|&v| v != result).collect();
        let mut flags = kept.iter();
        group.outputs.retain(|_| flags.next() != Some(&false));
        let epilogue = match &mut group.kind {
            Kind::Elements(work) => Some(work),
            Kind::Root(root) => root.epilogue.as_mut(),
            Kind::Copy(_) | Kind::Rows(_) => None,
        };
        if let Some(work) = epilogue {
            let mut flags = kept.iter();
            work.expression.results.retain(|_| flags.next() != Some(&false));
        }
        true
    }

    /// Merges each group with others, as long as there are candidates that fit.
    pub(super) fn merge_all(&mut self, rule: Rule<'a>) -> Vec<Merge> {
        let mut merges = Vec::new();
        for end in 0..self.order.len() {
            let mut at = end;
            while let Some((merge, place)) = self.order[at].and_then(|second| self.merge_with(second, rule)) {
                merges.push(merge);
                at = place;
            }
        }
        merges
    }

    /// Merges a group with the last candidate that fits. Returns the merge and the position of the merged group.
    fn merge_with(&mut self, second: Number, rule: Rule<'a>) -> Option<(Merge, usize)> {
        let mut candidates = (rule.candidates)(self, second);
        candidates.retain(|&first| self.position[first] < self.position[second]);
        candidates.sort_by_key(|&first| std::cmp::Reverse(self.position[first]));
        candidates.dedup();
        for first in candidates {
            let merge = Merge { first: *self.group(first).insts.first()?, second: *self.group(second).insts.first()? };
            if self.method.fusions.allow(merge)
                && self.reads_elements(first, second)
                && self.fits_a_gpu(first, second)
                && let Some(between) = self.between(first, second)
                && let Some(joined) = (rule.join)(self, first, second)
            {
                let place = self.put(joined, first, second, between);
                return Some((merge, place));
            }
        }
        None
    }

    /// Tests whether a merge keeps GPU work on the GPU. A host group with 64-bit results does not merge with a GPU group, because few GPUs have
    /// 64-bit elements.
    fn fits_a_gpu(&self, first: Number, second: Number) -> bool {
        let [first, second] = [first, second].map(|number| self.group(number));
        let is_marked = |group: &Group| group.is_for_gpu(self.function, self.method.module);
        let is_wide = |group: &Group| {
            let is_wide = |ty: &TensorType| ty.element.bits() == 64;
            group.outputs.iter().any(|&value| self.function.values[value].ty.as_tensor().is_some_and(is_wide))
        };
        let keeps = |one: &Group, other: &Group| !is_wide(one) || is_marked(one) || !is_marked(other);
        keeps(first, second) && keeps(second, first)
    }

    /// Returns the groups whose results a group reads.
    pub(super) fn makers(&self, group: Number) -> Vec<Number> {
        self.read_by(group).collect()
    }

    /// Returns the groups that read the same values as a group, element by element.
    pub(super) fn readers_of_same(&self, group: Number) -> Vec<Number> {
        let Some(shape) = self.elements_of(group) else { return vec![] };
        let is_computed =
            |value: Value| self.function.defining_inst(value).is_none_or(|inst| self.function.insts[inst].op() != Op::Constant);
        let is_shared =
            |value: &Value| self.function.values[*value].ty.as_tensor().is_some_and(|ty| ty.shape == shape) && is_computed(*value);
        let shared: Vec<Value> = self.group(group).inputs(self.function).into_iter().filter(is_shared).collect();
        let readers = shared.iter().filter_map(|value| self.readers.get(value)).flatten().map(|&reader| self.now(reader));
        readers.filter(|&reader| reader != group && self.elements_of(reader) == Some(shape.clone())).collect()
    }

    /// Returns the shape over which a group works element by element or along rows; `None` for other groups.
    fn elements_of(&self, group: Number) -> Option<Vec<Extent>> {
        let group = self.group(group);
        if let Some(rows) = Rowwise::of(self.function, group) {
            return Some(rows.shape);
        }
        let output = *group.outputs.first().filter(|_| matches!(group.kind, Kind::Elements(_)))?;
        Some(self.function.values[output].ty.as_tensor()?.shape.clone())
    }

    /// Tests whether the second group reads results of the first directly, and not through views, subtensors or extents. Also limits the tensors of
    /// both.
    fn reads_elements(&self, first: Number, second: Number) -> bool {
        let (one, other) = (self.group(first), self.group(second));
        let inputs = other.inputs(self.function);
        inputs.iter().all(|value| one.outputs.contains(value) || !self.sources(*value).contains(&first))
            && one.inputs(self.function).len() + inputs.len() + one.outputs.len() + other.outputs.len() <= MOST_TENSORS
    }

    /// Returns the groups between two that must run before the second; `None` if one of them depends on the first.
    fn between(&self, first: Number, second: Number) -> Option<Vec<Number>> {
        let (start, end) = (self.position[first], self.position[second]);
        if end - start > FARTHEST {
            return None;
        }
        let mut needed: FxHashSet<Number> = self.read_by(second).collect();
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

    /// Puts a merged group after the groups of `between`. Returns its position in the order.
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
}
