//! The third stage: the two sides of a move share a place if they can; the other moves become copies.

use super::chosen::{self, Item, Purpose};
use super::extents::{Ends, measured};
use super::frame::Frame;
use super::grouped::{Grouped, StatePlace};
use super::work::Work;
use crate::diagnostic::Diagnostics;
use crate::fuse::{Group, Move};
use crate::lower::memory::copies;
use crate::lower::memory::places::{self, Places, Point, Together};
use crate::lower::memory::resolver::Resolver;
use crate::schedule::{Pair, Requirements};

/// A method whose values have places: see the module.
pub(in crate::lower) struct Placed<'a> {
    pub resolver: Resolver<'a>,
    pub ends: Ends<'a>,
    /// The copies that the moves of each item need.
    copies: Vec<Vec<Group>>,
}

impl<'a> Placed<'a> {
    /// Chooses places for the values of a method.
    pub fn new(frame: &Frame<'a>, grouped: &'a Grouped, items: &[Item<'_>]) -> Self {
        let (function, outputs) = (&grouped.function, &grouped.outputs);
        let ends = Ends { entered: measured(function, grouped.inputs()), left: measured(function, outputs), outputs };
        let resolver = Resolver::new(frame, grouped);
        let places = choose_places(items, &resolver, &ends);
        let resolver = resolver.with_places(places);
        let copies = copies::of_list(items, &resolver, &grouped.spares);
        Self { resolver, ends, copies }
    }

    /// Returns the items with the copies before the moves that need them.
    ///
    /// # Errors
    /// A diagnostic if a copy has no schedule.
    pub fn with_copies<'b>(&'b self, frame: &Frame<'b>, items: Vec<Item<'b>>, purpose: Purpose<'_>) -> Result<Vec<Item<'b>>, Diagnostics> {
        let list: Vec<Work<'b>> = self.copies.iter().flatten().map(Work::Group).collect();
        let mut chosen = chosen::choose(frame, self.resolver.grouped, &list, purpose)?.into_iter();
        let mut all = Vec::with_capacity(items.len() + list.len());
        for (item, copies) in items.into_iter().zip(&self.copies) {
            all.extend(chosen.by_ref().take(copies.len()));
            all.push(item);
        }
        Ok(all)
    }
}

/// Chooses the values that share a place.
fn choose_places(items: &[Item<'_>], resolver: &Resolver<'_>, ends: &Ends<'_>) -> Places {
    let points: Vec<Point> = items.iter().map(|item| point(item, resolver, ends)).collect();
    let work: Vec<Work<'_>> = items.iter().map(|item| item.work).collect();
    let together: Vec<_> = resolver.grouped.states.iter().map(|s| Together { owner: s.flow.entry, other: s.left }).collect();
    places::choose(&points, &places::loops(&work), &together, |value| resolver.holder(value))
}

/// Returns the reads, writes and moves of an item, as roots and bases.
fn point(item: &Item<'_>, resolver: &Resolver<'_>, ends: &Ends<'_>) -> Point {
    let states = &resolver.grouped.states;
    let mut point = Point::default();
    match item.work {
        Work::Enter => point.writes = states.iter().map(|s| s.flow.entry).chain(ends.entered.iter().copied()).collect(),
        Work::Group(group) | Work::External(group) => return point_of_group(group, &item.needs, resolver),
        Work::Moves(moves) => {
            point.moves = moves.iter().map(|m| Move { from: resolver.root(m.from), to: m.to }).collect();
            point.reads = point.moves.iter().map(|m| resolver.base(m.from)).collect();
            point.writes = point.moves.iter().map(|m| m.to).collect();
        }
        Work::Test(condition) | Work::Check(condition) => point.reads = vec![resolver.base(condition)],
        // The results of a branch are needed after the other branch, and the results of a round in the next round.
        Work::Else(moves) | Work::Repeat(moves) => point.reads = moves.iter().map(|m| m.to).collect(),
        Work::Leave => point.reads = ends.read().map(|v| resolver.root(v)).chain(states.iter().map(StatePlace::last)).collect(),
        Work::End | Work::Loop => {}
    }
    point
}

fn point_of_group(group: &Group, needs: &Requirements, resolver: &Resolver<'_>) -> Point {
    let inputs = group.inputs(resolver.function());
    let (root, base) = (|v| resolver.root(v), |v| resolver.base(v));
    let mut reads: Vec<_> = inputs.iter().map(|&v| base(v)).collect();
    // A group that writes a subtensor leaves the rest of its host as it is.
    reads.extend(group.outputs.iter().filter(|&&v| resolver.host(root(v)).is_some()).map(|&v| base(v)));
    // A schedule knows if another operand is the overwritten tensor itself, but not if it is a subtensor of it.
    let apart = |read| !inputs.iter().any(|&v| root(v) != root(read) && base(v) == base(read));
    let shares = needs.may_share.iter().filter(|pair| apart(pair.read)).map(|&Pair { read, written }| (root(read), root(written)));
    // A subtensor lies after the start of its host. So a tensor that may start below the subtensor may take the host's place.
    let alone = |whole| reads.iter().filter(|&&read| read == whole).count() == 1;
    let slides = needs.may_slide.iter().map(|&Pair { read, written }| (base(read), root(written))).filter(|(whole, _)| alone(*whole));
    let may_share = shares.chain(slides).collect();
    Point { may_share, writes: group.outputs.iter().map(|&v| base(v)).collect(), reads, moves: vec![] }
}
