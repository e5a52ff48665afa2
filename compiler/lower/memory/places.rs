//! Values that share a place in memory, so that a move between them needs no copy. Examples are the old and the new carried value of a loop, and the
//! result of a branch and the value after it. Another is the last contents of a state and the state itself.
//!
//! Two values can have one place if their live ranges are disjoint. Position *p* of the list reads at time 2p and writes at time 2p + 1. A value is
//! live from each write to the last read before the next write. If a loop reads it and does not write it, it is live until the loop's end. A kernel may
//! write before it has read everything. So its operand and its result share a place only if its schedule allows that. Places are chosen for the
//! order of the list; the planner keeps the order of the steps that use one place.

use crate::fuse::Move;
use crate::ir::Value;
use crate::lower::stages::work::Work;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The reads, writes and moves at one position of the list. Values are roots.
#[derive(Debug, Default)]
pub(in crate::lower) struct Point {
    /// Values read.
    pub reads: Vec<Value>,
    /// Values written.
    pub writes: Vec<Value>,
    /// Pairs (read, written) that may have one place, although the step uses both.
    pub may_share: Vec<(Value, Value)>,
    /// Moves, which read before they write.
    pub moves: Vec<Move>,
}

/// Constraint on the place of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) enum Holder {
    /// Any place of this many bytes.
    Anywhere(u64),
    /// A state or a caller's output buffer of this many bytes.
    Pinned(u64),
    /// Memory that nobody writes.
    ReadOnly,
}

/// Owners of shared places.
#[derive(Debug, Default)]
pub(in crate::lower) struct Places {
    owners: FxHashMap<Value, Value>,
}

impl Places {
    /// Returns the owner of a value's place: itself if it shares none.
    pub fn owner(&self, value: Value) -> Value {
        self.owners.get(&value).copied().unwrap_or(value)
    }

    /// Tests whether two values have one place.
    pub fn same(&self, one: Value, other: Value) -> bool {
        self.owner(one) == self.owner(other)
    }
}

/// Returns the loops in a list: positions from `Loop` to `Repeat`.
pub(in crate::lower) fn loops(work: &[Work<'_>]) -> Vec<Range<usize>> {
    let (mut open, mut loops) = (Vec::new(), Vec::new());
    for (position, item) in work.iter().enumerate() {
        match item {
            Work::Loop => open.push(position),
            Work::Repeat(_) => loops.extend(open.pop().map(|start| start..position + 1)),
            _ => {}
        }
    }
    loops
}

/// Two values that have one place in any case.
pub(in crate::lower) struct Together {
    pub owner: Value,
    pub other: Value,
}

/// Chooses places.
pub(in crate::lower) fn choose(
    points: &[Point],
    loops: &[Range<usize>],
    together: &[Together],
    holder: impl Fn(Value) -> Holder,
) -> Places {
    let mut classes = Classes { points, lives: lives(points, loops), classes: FxHashMap::default(), members: Vec::new(), holder };
    for &Together { owner, other } in together {
        let class = classes.class(owner);
        classes.members[class].push(other);
        classes.classes.insert(other, class);
    }
    for point in points {
        for moved in &point.moves {
            classes.join(moved.from, moved.to);
        }
    }
    let owners = classes.members.iter().flat_map(|members| members.iter().map(|&value| (value, members[0]))).collect();
    Places { owners }
}

/// Live range of a value: its times, and the positions that read and write it.
#[derive(Default)]
struct Life {
    times: Vec<Range<usize>>,
    reads: Vec<usize>,
    writes: Vec<usize>,
}

fn lives(points: &[Point], loops: &[Range<usize>]) -> FxHashMap<Value, Life> {
    let mut lives: FxHashMap<Value, Life> = FxHashMap::default();
    for (position, point) in points.iter().enumerate() {
        for &value in &point.reads {
            lives.entry(value).or_default().reads.push(position);
        }
        for &value in &point.writes {
            lives.entry(value).or_default().writes.push(position);
        }
    }
    for life in lives.values_mut() {
        life.times = (0..life.writes.len()).map(|i| life.after_write(i, loops)).collect();
    }
    lives
}

impl Life {
    /// Returns the times from a write to the last read before the next write.
    fn after_write(&self, index: usize, loops: &[Range<usize>]) -> Range<usize> {
        let write = self.writes[index];
        let next = self.writes.get(index + 1).copied().unwrap_or(usize::MAX);
        let mut end = 2 * write + 2;
        for &read in self.reads.iter().filter(|&&read| write < read && read <= next) {
            end = end.max(2 * read + 1);
            // A loop that reads the value and does not write it reads it in every round.
            let comes_in = |l: &&Range<usize>| l.contains(&read) && !l.contains(&write) && !self.writes.iter().any(|w| l.contains(w));
            end = loops.iter().filter(comes_in).fold(end, |end, l| end.max(2 * l.end));
        }
        2 * write + 1..end
    }
}

struct Classes<'a, F> {
    points: &'a [Point],
    lives: FxHashMap<Value, Life>,
    /// The class of each value seen so far.
    classes: FxHashMap<Value, usize>,
    /// The values of each class, with the owner of the place first. Empty if the class was joined to another one.
    members: Vec<Vec<Value>>,
    holder: F,
}

impl<F: Fn(Value) -> Holder> Classes<'_, F> {
    fn class(&mut self, value: Value) -> usize {
        *self.classes.entry(value).or_insert_with(|| {
            self.members.push(vec![value]);
            self.members.len() - 1
        })
    }

    /// Gives two values one place, if that is possible.
    fn join(&mut self, from: Value, to: Value) {
        let (one, other) = (self.class(from), self.class(to));
        let owner = |class: usize| (self.holder)(self.members[class][0]);
        // A class with a pinned owner keeps this owner.
        let (kept, joined) = match (owner(one), owner(other)) {
            (Holder::Anywhere(a) | Holder::Pinned(a), Holder::Anywhere(b)) if a == b => (one, other),
            (Holder::Anywhere(a), Holder::Pinned(b)) if a == b => (other, one),
            _ => return,
        };
        let apart = |&x: &Value| self.members[joined].iter().all(|&y| self.apart(x, y));
        if one == other || !self.members[kept].iter().all(apart) {
            return;
        }
        for value in std::mem::take(&mut self.members[joined]) {
            self.classes.insert(value, kept);
            self.members[kept].push(value);
        }
    }

    /// Tests whether two values can have one place: their live ranges are disjoint, and each kernel that uses both allows it.
    fn apart(&self, x: Value, y: Value) -> bool {
        let (Some(one), Some(other)) = (self.lives.get(&x), self.lives.get(&y)) else { return false };
        let never = |a: &Range<usize>| other.times.iter().all(|b| a.end <= b.start || b.end <= a.start);
        one.times.iter().all(never) && self.may_follow(x, one, y, other) && self.may_follow(y, other, x, one)
    }

    /// Tests whether every kernel that reads `x` and writes `y` allows them to have one place.
    fn may_follow(&self, x: Value, read: &Life, y: Value, written: &Life) -> bool {
        read.reads.iter().filter(|position| written.writes.contains(position)).all(|&position| {
            let point = &self.points[position];
            !point.moves.is_empty() || point.may_share.contains(&(x, y))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;

    fn value(number: usize) -> Value {
        Value::new(number)
    }

    /// Makes a kernel that reads one numbered value and writes another, in place or not.
    fn kernel(read: usize, written: usize, in_place: bool) -> Point {
        let may_share = if in_place { vec![(value(read), value(written))] } else { vec![] };
        Point { reads: vec![value(read)], writes: vec![value(written)], may_share, moves: vec![] }
    }

    fn moved(from: usize, to: usize) -> Point {
        let (from, to) = (value(from), value(to));
        Point { reads: vec![from], writes: vec![to], may_share: vec![], moves: vec![Move { from, to }] }
    }

    fn read(number: usize) -> Point {
        Point { reads: vec![value(number)], ..Point::default() }
    }

    /// Chooses places for a loop. It starts with value 0 as value 1, and each round computes value 2 from it. Tells which of 0 and 2 share the place of 1.
    fn round(in_place: bool, holder: impl Fn(Value) -> Holder) -> [bool; 2] {
        let begin = Point { writes: vec![value(0)], ..Point::default() };
        let points = [begin, moved(0, 1), Point::default(), kernel(1, 2, in_place), moved(2, 1), read(1), read(1)];
        let places = choose(&points, std::slice::from_ref(&(2..6)), &[], holder);
        [places.same(value(0), value(1)), places.same(value(2), value(1))]
    }

    #[test]
    fn what_a_loop_carries_has_one_place_where_the_round_works_in_place() {
        let anywhere = |_| Holder::Anywhere(16);
        assert_eq!(round(true, anywhere), [true, true]);
        assert_eq!(round(false, anywhere), [true, false]);
    }

    #[test]
    fn places_that_nobody_writes_and_other_sizes_are_not_shared() {
        let holder = |first: Holder| move |v: Value| if v == value(0) { first } else { Holder::Anywhere(16) };
        assert_eq!(round(true, holder(Holder::ReadOnly)), [false, true]);
        assert_eq!(round(true, holder(Holder::Anywhere(32))), [false, true]);
        assert_eq!(round(true, holder(Holder::Pinned(16))), [true, true]);
    }

    #[test]
    fn a_value_that_is_read_later_keeps_its_place() {
        let begin = Point { writes: vec![value(0)], ..Point::default() };
        let points = [begin, moved(0, 1), kernel(1, 1, true), read(0), read(1)];
        assert!(!choose(&points, &[], &[], |_| Holder::Anywhere(16)).same(value(0), value(1)));
        let together = choose(&points, &[], &[Together { owner: value(1), other: value(5) }], |_| Holder::Anywhere(16));
        assert!(together.same(value(1), value(5)) && together.owner(value(5)) == value(1));
    }
}
