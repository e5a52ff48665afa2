//! Detection of races between independent rounds. A round is inside the rounds of the loops around it, so rounds are nodes of a tree. Two rounds race if
//! the first nodes in which their paths differ are rounds of the same run of a loop.

use super::meetings::Access;
use crate::*;
use cranelift_entity::EntityRef;
use std::ops::Range;

/// A round in one run of a loop.
#[derive(Clone, Copy)]
struct Round {
    /// The round around it.
    outer: usize,
    depth: usize,
    /// The number of the run of the loop.
    run: u32,
    counter: i64,
}

/// The rounds that have accessed an element since the outermost loop began.
#[derive(Clone, Default)]
struct Visitors {
    /// The number of the outermost loop's run.
    outermost: u32,
    /// The round that wrote it last.
    writer: Option<usize>,
    readers: Vec<usize>,
}

/// The visitors of the elements of one buffer.
pub struct OfBuffer(Vec<Visitors>);

/// The visitors of all elements.
pub struct Visits {
    /// The rounds so far. The first one is the kernel itself.
    rounds: Vec<Round>,
    /// The current round.
    now: usize,
    /// Open loops, innermost last: the number of the run, and the round around the loop.
    open: Vec<(u32, usize)>,
    /// The number of runs of loops so far.
    runs: u32,
    /// The number of the current or last outermost loop's run.
    outermost: u32,
    /// The visitors of each element, by buffer. Empty for buffers that are only read, and for local arrays.
    visitors: Vec<Vec<Visitors>>,
}

impl Visits {
    /// Makes a state without accesses. The buffers must fit memory.
    pub fn new(kernel: &Kernel) -> Self {
        let marked = |statement: &Statement| matches!(statement.inst, Inst::For { each: true, .. } | Inst::Divide { .. });
        let mut visitors = vec![vec![]; kernel.buffers.len()];
        if kernel.statements().any(marked) {
            for (visitors, data) in visitors.iter_mut().zip(&kernel.buffers) {
                if matches!(data.kind, BufferKind::Output | BufferKind::Scratch) {
                    visitors.resize(data.elements as usize, Visitors::default());
                }
            }
        }
        let kernel = Round { outer: 0, depth: 0, run: 0, counter: 0 };
        Self { rounds: vec![kernel], now: 0, open: vec![], runs: 0, outermost: 0, visitors }
    }

    /// Starts a loop of independent rounds.
    pub fn enter(&mut self) {
        self.runs += 1;
        if self.open.is_empty() {
            self.outermost = self.runs;
            self.rounds.truncate(1);
        }
        self.open.push((self.runs, self.now));
    }

    /// Starts a round of the innermost loop.
    pub fn round(&mut self, counter: i64) {
        let Some(&(run, outer)) = self.open.last() else { return };
        self.now = self.rounds.len();
        self.rounds.push(Round { outer, depth: self.open.len(), run, counter });
    }

    /// Ends the innermost loop.
    pub fn leave(&mut self) {
        self.now = self.open.pop().map_or(0, |(_, outer)| outer);
    }

    /// Starts a new copy of a buffer, without visitors. Returns the visits of the copy before.
    pub fn renew(&mut self, buffer: Buffer) -> OfBuffer {
        let visitors = &mut self.visitors[buffer.index()];
        let fresh = vec![Visitors::default(); visitors.len()];
        OfBuffer(std::mem::replace(visitors, fresh))
    }

    /// Returns to an earlier copy of a buffer.
    pub fn restore(&mut self, buffer: Buffer, visits: OfBuffer) {
        self.visitors[buffer.index()] = visits.0;
    }

    /// Notes accesses of the current round. The error has the counters of two rounds that race, and the element.
    pub fn visit(&mut self, buffer: Buffer, elements: Range<usize>, access: Access) -> Result<(), ([i64; 2], usize)> {
        let visitors = &mut self.visitors[buffer.index()];
        if self.open.is_empty() || visitors.is_empty() {
            return Ok(());
        }
        let (now, outermost) = (self.now, self.outermost);
        for element in elements {
            let visitors = &mut visitors[element];
            if visitors.outermost != outermost {
                *visitors = Visitors { outermost, ..Visitors::default() };
            }
            let met = |&other: &usize| meet(&self.rounds, other, now);
            let found = match access {
                Access::Read => visitors.writer.as_ref().and_then(met),
                Access::Write => visitors.writer.iter().chain(&visitors.readers).find_map(met),
            };
            if let Some(rounds) = found {
                return Err((rounds, element));
            }
            match access {
                Access::Read if visitors.readers.last() == Some(&now) => {}
                Access::Read => visitors.readers.push(now),
                Access::Write => visitors.writer = Some(now),
            }
        }
        Ok(())
    }
}

/// Returns the counters of two rounds in the loop where their paths first differ. `None` if they do not differ in the rounds of one loop.
fn meet(rounds: &[Round], mut a: usize, mut b: usize) -> Option<[i64; 2]> {
    while rounds[a].depth > rounds[b].depth {
        a = rounds[a].outer;
    }
    while rounds[b].depth > rounds[a].depth {
        b = rounds[b].outer;
    }
    while a != b && rounds[a].outer != rounds[b].outer {
        (a, b) = (rounds[a].outer, rounds[b].outer);
    }
    (a != b && rounds[a].run == rounds[b].run).then(|| [rounds[a].counter, rounds[b].counter])
}
