//! The division of a region into positions.

use super::super::super::intervals::Assumed;
use crate::dependence::{Access, Loops, Places, Rounds};
use crate::*;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Number of positions that keeps every GPU busy. With so many, inner loops become positions only if no loop precedes them that every position would
/// repeat.
const ENOUGH: u64 = 256;

/// A region as positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// The whole region is one position.
    Whole,
    /// Independent items.
    Items(Vec<Item>),
}

/// Statements of a region that have their own positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Range of the statements. Statements that they need run before them.
    pub statements: Range<usize>,
    /// The loop, if the item is a loop with positions; `None` for a single position.
    pub nest: Option<Nest>,
}

/// A loop as positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nest {
    /// Number of rounds that are positions; 1 if every position runs all rounds.
    pub rounds: u64,
    /// The body of the loop.
    pub body: Tree,
}

impl Tree {
    /// Returns the number of positions.
    pub fn positions(&self) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Items(items) => items.iter().map(Item::positions).fold(0, u64::saturating_add),
        }
    }
}

impl Item {
    /// Returns the number of positions.
    pub fn positions(&self) -> u64 {
        self.nest.as_ref().map_or(1, |nest| nest.rounds.saturating_mul(nest.body.positions()))
    }

    /// Adds the counters of loops whose rounds are positions, but that are not marked. The item belongs to `region`.
    pub fn unmarked(&self, region: &Region, found: &mut Vec<Value>) {
        let (Some(nest), [statement]) = (&self.nest, &region.statements[self.statements.clone()]) else { return };
        let Inst::For { each, body, .. } = &statement.inst else { return };
        if !each && nest.rounds > 1 {
            found.extend(body.params.first());
        }
        if let Tree::Items(items) = &nest.body {
            items.iter().for_each(|item| item.unmarked(body, found));
        }
    }
}

/// The source of the knowledge that rounds of a loop are independent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Independence {
    /// The marks of the loops.
    Marks,
    /// The places of all accesses. This checks the marks.
    Places,
}

/// Divides a kernel into positions.
pub struct Planner<'k> {
    pub loops: Loops<'k>,
    independence: Independence,
    /// Counters of the enclosing loops whose rounds are positions.
    positions: Vec<Value>,
    /// Counters of all enclosing loops.
    around: Vec<Value>,
    /// For each enclosing loop, the reads before it that every position repeats; `None` if their places are unknown.
    before: Vec<Option<Vec<Access>>>,
}

impl<'k> Planner<'k> {
    /// Makes a planner for a verified kernel whose callers keep what is assumed. `places` says where its pointer parameters are.
    pub fn new(kernel: &'k Kernel, assumed: &Assumed, places: &Places, independence: Independence) -> Self {
        Self { loops: Loops::of(kernel, assumed, places), independence, positions: vec![], around: vec![], before: vec![] }
    }

    /// Divides the kernel's body into launches that run one after another. The items of a launch run at the same time.
    pub fn launches(&mut self) -> Vec<Vec<Item>> {
        let body = &self.loops.kernel.body;
        let mut launches: Vec<Vec<Item>> = Vec::new();
        for statements in self.split(body) {
            let item = Item { nest: self.nest(body, &statements, 1), statements };
            match launches.last_mut().filter(|launch| launch.iter().all(|other| !self.meet(body, &other.statements, &item.statements))) {
                Some(launch) => launch.push(item),
                None => launches.push(vec![item]),
            }
        }
        if self.hands_on(body, &launches) {
            let first = launches.first().and_then(|launch| launch.first()).map_or(0, |item| item.statements.start);
            return vec![vec![Item { statements: first..body.statements.len(), nest: None }]];
        }
        launches
    }

    /// Tests whether items depend on each other through local arrays, or through values loaded before another launch writes.
    fn hands_on(&self, body: &Region, launches: &[Vec<Item>]) -> bool {
        let items: Vec<&Item> = launches.iter().flatten().collect();
        let locals = |range: &Range<usize>| {
            let mut touched = FxHashSet::default();
            each(&body.statements[range.clone()], &mut |inst| {
                let is_local = |buffer: &Buffer| self.loops.kernel.buffer(*buffer).kind == BufferKind::Local;
                touched.extend(inst.buffer().filter(is_local));
            });
            touched
        };
        let of_items: Vec<FxHashSet<Buffer>> = items.iter().map(|item| locals(&item.statements)).collect();
        let shares = of_items.iter().enumerate().any(|(i, one)| of_items[..i].iter().any(|other| !one.is_disjoint(other)));
        let reads_again = |item: &&Item| {
            let needed = needed(body, &item.statements);
            let before = needed.iter().filter(|number| !item.statements.contains(number));
            let mut list = Vec::new();
            before.into_iter().any(|&number| {
                list.clear();
                let statement = std::slice::from_ref(&body.statements[number]);
                self.loops.accesses(statement, &mut vec![], &mut list).is_none() || !list.is_empty() || self.reads_local(statement)
            })
        };
        shares || launches.len() > 1 && items.iter().any(reads_again)
    }

    fn reads_local(&self, statements: &[Statement]) -> bool {
        let mut found = false;
        each(statements, &mut |inst| {
            found |= inst.buffer().is_some_and(|buffer| self.loops.kernel.buffer(buffer).kind == BufferKind::Local);
        });
        found
    }

    /// Divides a region into positions. `outer` is the number of positions around it.
    fn tree(&mut self, region: &Region, outer: u64) -> Tree {
        let ranges = self.split(region);
        let is_dear = |range: &Range<usize>| {
            let before = needed(region, range);
            before.iter().any(|number| !range.contains(number) && !region.statements[*number].inst.regions().is_empty())
        };
        if ranges.iter().all(|range| self.candidate(region, range).is_none()) || outer >= ENOUGH && ranges.iter().any(is_dear) {
            return Tree::Whole;
        }
        let meet = ranges.iter().enumerate().any(|(i, one)| ranges[..i].iter().any(|other| self.meet(region, one, other)));
        let shares_local = |range: &Range<usize>| {
            let keeps = self.candidate(region, range).is_some_and(|(_, _, body)| self.keeps_locals(body));
            self.has_local(region, range) && !keeps
        };
        if meet || ranges.iter().any(shares_local) {
            return Tree::Whole;
        }
        let item = |statements: Range<usize>| Item { nest: self.nest(region, &statements, outer), statements };
        let items: Vec<Item> = ranges.into_iter().map(item).collect();
        if items.iter().all(|item| item.nest.is_none()) { Tree::Whole } else { Tree::Items(items) }
    }

    /// Divides the work of a region, in order. Each loop that may become positions is a range; the statements between two loops are one.
    fn split(&self, region: &Region) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut is_open = false;
        for (number, statement) in region.statements.iter().enumerate() {
            if !statement.inst.has_effect() {
                continue;
            }
            let is_loop = self.candidate(region, &(number..number + 1)).is_some();
            match ranges.last_mut() {
                Some(range) if is_open && !is_loop => range.end = number + 1,
                _ => ranges.push(number..number + 1),
            }
            is_open = !is_loop;
        }
        // Statements that only fail are run by all later ranges instead.
        let stores = |range: &Range<usize>| region.statements[range.clone()].iter().any(|statement| stores(&statement.inst));
        if ranges.iter().any(stores) {
            ranges.retain(stores);
        }
        ranges
    }

    /// Returns the counter, rounds and body of a range, if it is a loop with counted rounds that carries nothing.
    fn candidate<'r>(&self, region: &'r Region, range: &Range<usize>) -> Option<(Value, i64, &'r Region)> {
        let [Statement { inst: Inst::For { carried, body, .. }, .. }] = &region.statements[range.clone()] else { return None };
        let counter = body.params[0];
        let rounds = self.loops.counted(counter).map(|counted| counted.rounds).filter(|&rounds| carried.is_empty() && rounds > 0)?;
        Some((counter, rounds, body))
    }

    /// Returns the loop as positions, if its rounds or rounds inside it are positions.
    fn nest(&mut self, region: &Region, range: &Range<usize>, outer: u64) -> Option<Nest> {
        let (counter, most, body) = self.candidate(region, range)?;
        self.before.push(self.reads_before(region, range));
        let is_apart = most > 1 && self.may_be_apart(region, range) && self.is_apart(counter, body);
        let rounds = if is_apart { most as u64 } else { 1 };
        self.around.push(counter);
        self.positions.extend(is_apart.then_some(counter));
        let tree = self.tree(body, outer.saturating_mul(rounds));
        self.around.pop();
        self.before.pop();
        self.positions.truncate(self.positions.len() - usize::from(is_apart));
        // A loop that every position runs may contain only the loop that is divided.
        let tree = match tree {
            Tree::Items(items) if !is_apart && items.len() > 1 => Tree::Whole,
            tree => tree,
        };
        (is_apart || tree != Tree::Whole).then_some(Nest { rounds, body: tree })
    }

    /// Tests whether the rounds of a loop may be positions as far as its mark says. Rounds whose private buffers have no copies stay in order
    /// (`passes/private.rs`).
    fn may_be_apart(&self, region: &Region, range: &Range<usize>) -> bool {
        let is_marked = |statement: &Statement| matches!(&statement.inst, Inst::For { each: true, private, .. } if private.is_empty());
        self.independence == Independence::Places || region.statements[range.clone()].iter().all(is_marked)
    }

    /// Returns the reads before a range that every position repeats. `None` if their places are unknown, or in local arrays.
    fn reads_before(&self, region: &Region, range: &Range<usize>) -> Option<Vec<Access>> {
        let mut around = self.around.clone();
        let mut reads = Vec::new();
        for number in needed(region, range).into_iter().filter(|number| !range.contains(number)) {
            let statement = std::slice::from_ref(&region.statements[number]);
            self.loops.accesses(statement, &mut around, &mut reads)?;
            if self.reads_local(statement) {
                return None;
            }
        }
        Some(reads)
    }

    /// Tests whether different rounds of a loop are independent of each other, and of the values that each position computes before it.
    fn is_apart(&self, counter: Value, body: &Region) -> bool {
        if self.has_local(body, &(0..body.statements.len())) && !self.keeps_locals(body) {
            return false;
        }
        let Some(before) = self.before.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return false };
        if before.iter().all(|reads| reads.is_empty()) && self.has_marks_around() {
            return true;
        }
        let mut around = self.around.clone();
        around.push(counter);
        let mut inside = Vec::new();
        if self.loops.accesses(&body.statements, &mut around, &mut inside).is_none() {
            return false;
        }
        dedup(&mut inside);
        let is_written = |read: &Access| inside.iter().any(|access| self.loops.meet(read, access, |_| Rounds::Any));
        (self.has_marks_around() || self.are_apart(&inside, counter)) && !before.into_iter().flatten().any(is_written)
    }

    /// Tests whether the mark of a loop is enough. A mark holds for one round of the loops around. It holds for all their rounds if these are positions,
    /// too. If positions run a loop around in order, different rounds of both loops may meet.
    fn has_marks_around(&self) -> bool {
        self.independence == Independence::Marks && self.around == self.positions
    }

    /// Tests whether the places of accesses differ in different rounds of a loop, for any rounds of the loops around.
    fn are_apart(&self, inside: &[Access], counter: Value) -> bool {
        let of = |other: Value| if other == counter { Rounds::Differ } else { Rounds::Any };
        !inside.iter().any(|a| inside.iter().any(|b| self.loops.meet(a, b, of)))
    }

    /// Tests whether two ranges can meet, in any rounds of the enclosing loops that are not positions.
    fn meet(&self, region: &Region, one: &Range<usize>, other: &Range<usize>) -> bool {
        let all = |range: &Range<usize>| {
            let mut list = Vec::new();
            let mut around = self.around.clone();
            for number in needed(region, range) {
                self.loops.accesses(std::slice::from_ref(&region.statements[number]), &mut around, &mut list)?;
            }
            dedup(&mut list);
            Some(list)
        };
        let (Some(one), Some(other)) = (all(one), all(other)) else { return true };
        let of = |counter: Value| if self.positions.contains(&counter) { Rounds::Same } else { Rounds::Any };
        one.iter().any(|a| other.iter().any(|b| self.loops.meet(a, b, of)))
    }

    /// Tests whether a range accesses a local array of the kernel.
    fn has_local(&self, region: &Region, range: &Range<usize>) -> bool {
        self.reads_local(&region.statements[range.clone()])
    }

    /// Tests whether local arrays that a loop's body accesses are accessed nowhere else.
    fn keeps_locals(&self, body: &Region) -> bool {
        let count = |statements: &[Statement], buffer: Buffer| {
            let mut number = 0;
            each(statements, &mut |inst| number += usize::from(inst.buffer() == Some(buffer)));
            number
        };
        let kernel = self.loops.kernel;
        let locals = (0..kernel.buffers.len() as u32).map(Buffer::from_u32).filter(|&b| kernel.buffer(b).kind == BufferKind::Local);
        locals.into_iter().all(|buffer| match count(&body.statements, buffer) {
            0 => true,
            inside => inside == count(&kernel.body.statements, buffer),
        })
    }
}

/// Returns the statements that a range needs, in order: its own, the definitions of its operands, and earlier statements that may fail.
pub fn needed(region: &Region, range: &Range<usize>) -> Vec<usize> {
    let mut wanted = FxHashSet::default();
    let mut numbers: Vec<usize> = Vec::new();
    for number in (0..range.end).rev() {
        let statement = &region.statements[number];
        let fails = matches!(statement.inst, Inst::FailIf { .. });
        if range.contains(&number) || fails || statement.results.iter().any(|result| wanted.contains(result)) {
            want(statement, &mut wanted);
            numbers.push(number);
        }
    }
    numbers.reverse();
    numbers
}

fn want(statement: &Statement, wanted: &mut FxHashSet<Value>) {
    wanted.extend(statement.inst.operands());
    for region in statement.inst.regions() {
        wanted.extend(region.yields.iter().copied());
        region.statements.iter().for_each(|inner| want(inner, wanted));
    }
}

/// Tests whether an instruction writes memory.
fn stores(inst: &Inst) -> bool {
    let inside = |region: &&Region| region.statements.iter().any(|statement| stores(&statement.inst));
    matches!(inst, Inst::Store { .. }) || inst.regions().iter().any(inside)
}

/// Calls `visit` for each instruction in the statements.
fn each(statements: &[Statement], visit: &mut impl FnMut(&Inst)) {
    statements.iter().for_each(|statement| statement.for_each(visit));
}

fn dedup(list: &mut Vec<Access>) {
    let mut seen = FxHashSet::default();
    list.retain(|access| seen.insert(access.clone()));
}
