//! Detection of races between independent rounds. A round is inside the rounds of the loops around it, so rounds are nodes of a tree. Two rounds race if
//! the first nodes in which their paths differ are rounds of the same run of a loop.
//!
//! A grid has the same tree. Its workgroups are the rounds of one run. The positions of a workgroup are the rounds of another run, which ends at a
//! barrier. The next run follows it.

use crate::*;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// Access to an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// Work that races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Racers {
    /// Rounds of a loop, or ranges.
    Rounds,
    /// Positions of a grid.
    Positions,
}

impl fmt::Display for Racers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rounds => "rounds",
            Self::Positions => "positions",
        })
    }
}

/// Two accesses that no order separates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The work that races.
    pub racers: Racers,
    /// The counters of the rounds, or the positions. The one that ran later is last.
    pub numbers: [i64; 2],
    /// The element of the buffer.
    pub element: usize,
}

/// A round in one run of a loop.
#[derive(Clone, Copy)]
struct Round {
    /// The round around it.
    outer: u32,
    depth: u32,
    /// The number of the run of the loop.
    run: u32,
    /// The counter, or the position.
    number: i64,
}

/// A run of a loop, or of positions between two barriers.
#[derive(Clone, Copy, Default)]
struct Run {
    number: u32,
    /// The round around it.
    around: u32,
}

/// The depth of positions in the tree. Workgroups are around them.
const POSITIONS: u32 = 2;

/// The rounds so far. The first one is the kernel itself.
struct Rounds(Vec<Round>);

impl Rounds {
    /// Adds a round of a run.
    fn add(&mut self, run: Run, number: i64) -> u32 {
        let depth = self.get(run.around).depth + 1;
        self.0.push(Round { outer: run.around, depth, run: run.number, number });
        self.0.len() as u32 - 1
    }

    fn get(&self, round: u32) -> &Round {
        &self.0[round as usize]
    }

    /// Returns the round at a depth around a round that is not less deep.
    fn around(&self, mut round: u32, depth: u32) -> u32 {
        while self.get(round).depth > depth {
            round = self.get(round).outer;
        }
        round
    }

    /// Returns the rounds in which the paths to two rounds first differ. `None` if these are not rounds of the same run, so that they have an order.
    fn race(&self, a: u32, b: u32) -> Option<[u32; 2]> {
        let depth = self.get(a).depth.min(self.get(b).depth);
        let (mut a, mut b) = (self.around(a, depth), self.around(b, depth));
        while a != b && self.get(a).outer != self.get(b).outer {
            (a, b) = (self.get(a).outer, self.get(b).outer);
        }
        (a != b && self.get(a).run == self.get(b).run).then_some([a, b])
    }
}

/// The rounds that have accessed an element since the outermost loop began.
#[derive(Clone, Default)]
struct Visitors {
    /// The number of the outermost loop's run.
    outermost: u32,
    /// The round that wrote it last.
    writer: Option<u32>,
    /// Rounds that read it, enough to find each race: see [`Self::read`].
    readers: SmallVec<[u32; 4]>,
}

impl Visitors {
    /// Notes that a round reads. A reader with an order to it can be left out, since later rounds race with this round if they race with that reader.
    /// This round can be left out if two rounds of one run are readers. A later round races with one of them if it races with this round.
    fn read(&mut self, rounds: &Rounds, now: u32) {
        let mut others: SmallVec<[u32; 4]> = SmallVec::new();
        self.readers.retain(|reader| {
            let race = rounds.race(*reader, now);
            others.extend(race.map(|[other, _]| other));
            race.is_some()
        });
        let is_of_one_run = |a: u32, b: u32| a != b && rounds.get(a).run == rounds.get(b).run;
        if !others.iter().enumerate().any(|(number, &a)| others[..number].iter().any(|&b| is_of_one_run(a, b))) {
            self.readers.push(now);
        }
    }

    /// Notes an access of a round. Returns another round if the two accesses are a race.
    fn visit(&mut self, rounds: &Rounds, now: u32, access: Access) -> Option<u32> {
        let races = |other: &u32| rounds.race(*other, now).is_some();
        let writer = self.writer.filter(races);
        match access {
            Access::Read => {
                self.read(rounds, now);
                writer
            }
            Access::Write => {
                self.writer = Some(now);
                writer.or_else(|| self.readers.iter().copied().find(races))
            }
        }
    }
}

/// The visitors of the elements of one buffer.
pub struct OfBuffer(Vec<Visitors>);

/// The visitors of all elements.
pub struct Visits {
    rounds: Rounds,
    /// The current round.
    now: u32,
    /// Runs of open loops, innermost last.
    open: Vec<Run>,
    /// The number of runs of loops so far.
    runs: u32,
    /// The number of the current or last outermost loop's run. It stays 0 in a grid.
    outermost: u32,
    /// The run of the current workgroup's positions.
    group: Run,
    /// The rounds of the workgroup's positions since the last barrier; 0 before a position runs.
    positions: Vec<u32>,
    /// The buffers that a workgroup shares.
    shared: Vec<usize>,
    /// The visitors of each element, by buffer. Empty for buffers that are only read, and for local arrays.
    visitors: Vec<Vec<Visitors>>,
}

impl Visits {
    /// Makes a state without accesses. The buffers must fit memory.
    pub fn new(kernel: &Kernel) -> Self {
        let marked = |statement: &Statement| matches!(statement.inst, Inst::For { each: true, .. } | Inst::Divide { .. });
        let divides = kernel.grid.is_some() || kernel.statements().any(marked);
        let is_visited = |data: &BufferData| divides && !matches!(data.kind, BufferKind::Input | BufferKind::Local);
        let of_buffer = |data| if is_visited(data) { vec![Visitors::default(); data.elements as usize] } else { vec![] };
        let is_shared = |(_, data): &(usize, &BufferData)| data.kind == BufferKind::Shared;
        Self {
            rounds: Rounds(vec![Round { outer: 0, depth: 0, run: 0, number: 0 }]),
            now: 0,
            open: vec![],
            runs: 0,
            outermost: 0,
            group: Run::default(),
            positions: vec![],
            shared: kernel.buffers.iter().enumerate().filter(is_shared).map(|(number, _)| number).collect(),
            visitors: kernel.buffers.iter().map(of_buffer).collect(),
        }
    }

    /// Starts a workgroup of so many positions.
    pub fn begin_group(&mut self, positions: usize) {
        self.group.around = self.rounds.add(Run::default(), 0);
        self.positions = vec![0; positions];
        self.barrier();
        for &buffer in &self.shared {
            self.visitors[buffer].fill(Visitors::default());
        }
    }

    /// Orders what the positions of the workgroup did before what they do from here on.
    pub fn barrier(&mut self) {
        self.runs += 1;
        self.group.number = self.runs;
        self.positions.fill(0);
    }

    /// Makes a position the current one. `slot` is its number in the workgroup.
    pub fn go_on(&mut self, position: u32, slot: usize) {
        // A position that failed has left its loops.
        self.open.clear();
        if self.positions[slot] == 0 {
            self.positions[slot] = self.rounds.add(self.group, position.into());
        }
        self.now = self.positions[slot];
    }

    /// Starts a loop of independent rounds.
    pub fn enter(&mut self) {
        self.runs += 1;
        if self.now == 0 {
            self.outermost = self.runs;
            self.rounds.0.truncate(1);
        }
        self.open.push(Run { number: self.runs, around: self.now });
    }

    /// Starts a round of the innermost loop.
    pub fn round(&mut self, counter: i64) {
        let Some(&run) = self.open.last() else { return };
        self.now = self.rounds.add(run, counter);
    }

    /// Ends the innermost loop.
    pub fn leave(&mut self) {
        self.now = self.open.pop().map_or(0, |run| run.around);
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

    /// Notes accesses of the current round.
    ///
    /// # Errors
    /// A race with an earlier access.
    pub fn visit(&mut self, buffer: Buffer, elements: Range<usize>, access: Access) -> Result<(), Race> {
        let visitors = &mut self.visitors[buffer.index()];
        if self.now == 0 || visitors.is_empty() {
            return Ok(());
        }
        let outermost = self.outermost;
        for element in elements {
            let visitors = &mut visitors[element];
            if visitors.outermost != outermost {
                *visitors = Visitors { outermost, ..Visitors::default() };
            }
            if let Some(other) = visitors.visit(&self.rounds, self.now, access) {
                return Err(self.race_with(other, element));
            }
        }
        Ok(())
    }

    /// Describes the race of the current round with another one.
    fn race_with(&self, other: u32, element: usize) -> Race {
        let both = [other, self.now];
        let met = self.rounds.race(other, self.now).unwrap_or(both);
        let are_positions = !self.positions.is_empty() && self.rounds.get(met[0]).depth <= POSITIONS;
        let (racers, met) = match are_positions {
            true => (Racers::Positions, both.map(|round| self.rounds.around(round, POSITIONS))),
            false => (Racers::Rounds, met),
        };
        Race { racers, numbers: met.map(|round| self.rounds.get(round).number), element }
    }
}

#[cfg(test)]
mod tests {
    use super::Access::{Read, Write};
    use super::*;
    use crate::text::parse_kernel;

    /// A step of a workgroup of two positions.
    #[derive(Clone, Copy)]
    enum Step {
        /// The next workgroup begins.
        Group,
        /// The positions pass a barrier.
        Barrier,
        /// A position accesses the element.
        At(u32, Access),
    }
    use Step::{At, Barrier, Group};

    /// Runs steps, and returns the positions of the first race.
    fn met(steps: &[Step]) -> Option<[i64; 2]> {
        let kernel = parse_kernel("kernel @k(y: output i8[1] align 1, %0: i64) grid 4 workgroup 2 { }").unwrap();
        let mut visits = Visits::new(&kernel);
        visits.begin_group(2);
        steps.iter().find_map(|step| match *step {
            Group => {
                visits.begin_group(2);
                None
            }
            Barrier => {
                visits.barrier();
                None
            }
            At(position, access) => {
                visits.go_on(position, position as usize % 2);
                let race = visits.visit(Buffer::new(0), 0..1, access).err()?;
                assert_eq!((race.racers, race.element), (Racers::Positions, 0));
                Some(race.numbers)
            }
        })
    }

    #[test]
    fn one_that_writes_meets_nobody_else() {
        assert_eq!(met(&[At(1, Read), Group, At(2, Read), At(3, Read)]), None);
        assert_eq!(met(&[At(1, Read), At(1, Write), At(1, Read), At(1, Write)]), None);
        assert_eq!(met(&[At(1, Write), Group, At(2, Read)]), Some([1, 2]));
        assert_eq!(met(&[At(1, Write), Group, At(2, Write)]), Some([1, 2]));
        assert_eq!(met(&[At(1, Read), At(0, Write)]), Some([1, 0]));
        assert_eq!(met(&[At(0, Read), Group, At(2, Read), At(3, Read), At(2, Write)]), Some([0, 2]));
    }

    #[test]
    fn a_barrier_is_between_positions_of_a_workgroup() {
        assert_eq!(met(&[At(0, Write), Barrier, At(1, Read), At(1, Write), Barrier, At(0, Read)]), None);
        assert_eq!(met(&[At(0, Write), At(1, Read)]), Some([0, 1]));
        assert_eq!(met(&[At(0, Write), Group, Barrier, At(2, Read)]), Some([0, 2]));
        assert_eq!(met(&[At(0, Read), At(1, Read), Barrier, At(0, Read), At(1, Read), At(0, Write)]), Some([1, 0]));
        // Readers before a barrier stay known to other workgroups.
        assert_eq!(met(&[At(0, Read), Barrier, At(1, Read), Barrier, At(0, Read), Group, At(3, Write)]), Some([0, 3]));
    }

    /// Tests that readers which are left out change no answer: rounds and rounds inside them read, and any other round that writes races.
    #[test]
    fn few_readers_stand_for_all() {
        let kernel = parse_kernel("kernel @k(y: output i8[1] align 1) { for each %1 in 0..9 step 1 { } }").unwrap();
        let y = Buffer::new(0);
        for is_inside in [false, true] {
            let mut visits = Visits::new(&kernel);
            visits.enter();
            for outer in 0..4 {
                visits.round(outer);
                assert_eq!(visits.visit(y, 0..1, Read), Ok(()));
                visits.enter();
                for inner in 0..4 {
                    visits.round(inner);
                    assert_eq!(visits.visit(y, 0..1, Read), Ok(()));
                }
                visits.leave();
            }
            assert!(visits.visitors[0][0].readers.len() <= 4);
            visits.round(4);
            if is_inside {
                visits.enter();
                visits.round(0);
            }
            let race = visits.visit(y, 0..1, Write).unwrap_err();
            assert_eq!((race.racers, race.numbers[1]), (Racers::Rounds, 4));
        }
    }
}
