//! Which loads of a loop go by way of shared memory, in chunks of how many rounds.

use super::lanes::{Lanes, lines};
use crate::kernel::indices::Indices;
use crate::kernel::*;
use rustc_hash::FxHashSet;

/// Bytes of a word, which is the least that is copied.
const WORD: i64 = 4;

/// Bytes that are copied at once where rows begin at multiples of as many.
const QUAD: i64 = 16;

/// Chunks whose rows have fewer bytes are not worth their barriers.
const LEAST_BYTES: i64 = 16;

/// Products that each load must be a factor of: fewer take less time than to write it to shared memory and to read it there.
const LEAST_PRODUCTS: i64 = 8;

/// A load of a loop's round.
#[derive(Clone, Copy)]
struct Load {
    /// Its statement in the loop's body.
    statement: usize,
    /// What is added to where its row begins.
    added: i64,
    /// How many elements it has.
    elements: i64,
    /// Of how many sums a product with it is a part, or of as many groups of products.
    products: i64,
}

/// Rows of a buffer that the rounds of a loop go through.
pub struct Rows {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes of an element.
    bytes: i64,
    /// Where the rows of a lane begin: multiples of values from before the loop.
    pub base: Vec<(Value, i64)>,
    /// The same at each lane of the first workgroup.
    places: Vec<i64>,
    loads: Vec<Load>,
    /// What is added for each row of a lane: in a round elements from there on are read.
    pub starts: Vec<i64>,
    /// Elements that are copied at once.
    pub unit: i64,
}

impl Rows {
    /// Finds the rows that the loads read, where a round goes so many elements further.
    fn find_starts(&mut self, step: i64) {
        self.loads.sort_by_key(|load| load.added);
        for load in &self.loads {
            if self.starts.last().is_none_or(|start| load.added + load.elements > start + step) {
                self.starts.push(load.added);
            }
        }
    }

    /// Finds how many elements are copied at once, of rows of so many that begin where a counter does.
    fn find_unit(&mut self, length: i64, start: i64) {
        let factors = self.base.iter().map(|(_, factor)| factor);
        let begins = factors.chain(&self.starts).chain([&length, &start]);
        self.unit = if begins.into_iter().all(|number| number * self.bytes % QUAD == 0) { QUAD } else { WORD } / self.bytes;
    }

    /// Elements from a row of so many to the next one in shared memory: words of an odd number, so that lanes are in different banks.
    pub fn pitch(&self, length: i64) -> i64 {
        ((length * self.bytes / WORD) | 1) * WORD / self.bytes
    }

    /// Bytes of shared memory for the rows of a lane of which a chunk has so many elements, and for where they begin.
    fn bytes_of_lane(&self, length: i64) -> i64 {
        self.starts.len() as i64 * self.pitch(length) * self.bytes + WORD
    }

    /// The loads: the statement in the loop's body, which row it reads, and how far from where that is in a round.
    pub fn loads(&self) -> impl Iterator<Item = (usize, usize, i64)> {
        self.loads.iter().map(|load| (load.statement, self.row(load), load.added - self.starts[self.row(load)]))
    }

    fn row(&self, load: &Load) -> usize {
        self.starts.partition_point(|start| *start <= load.added) - 1
    }
}

/// A loop whose loads go by way of shared memory.
pub struct Staged {
    /// The first and the last number of the loop's counter, and what a round adds.
    pub start: i64,
    /// See `start`.
    pub end: i64,
    /// See `start`.
    pub step: i64,
    /// Elements of each row in a chunk.
    pub length: i64,
    /// What is copied.
    pub rows: Vec<Rows>,
}

/// Finds loops to stage.
pub struct Finder<'k> {
    /// The kernel.
    pub kernel: &'k Kernel,
    /// Its indices.
    pub indices: Indices,
    /// What they are at each lane.
    pub lanes: Lanes<'k>,
    /// Buffers whose memory is written.
    pub changed: FxHashSet<Buffer>,
    /// Bytes of shared memory at most.
    pub bytes: u64,
}

impl Finder<'_> {
    /// The loop that a statement is, if some of its loads are better staged.
    pub fn find(&self, statement: &Statement) -> Option<Staged> {
        let Inst::For { start, end, step, body, .. } = &statement.inst else { return None };
        let (start, end, step) = (self.indices.number(*start)?, self.indices.number(*end)?, *step);
        let has_regions = body.statements.iter().any(|inner| !inner.inst.regions().is_empty());
        if end <= start || (end - start) % step != 0 || has_regions || statement.inst.has_effect() {
            return None;
        }
        let mut staged = Staged { start, end, step, length: 0, rows: self.rows(body, [start, step]) };
        // What is not better has no room, which leaves more to the others.
        loop {
            let count = staged.rows.len();
            staged.length = self.length(&staged)?;
            let length = staged.length;
            staged.rows.retain_mut(|rows| {
                rows.find_unit(length, start);
                self.is_better(rows, length, step)
            });
            if staged.rows.is_empty() {
                return None;
            }
            if staged.rows.len() == count {
                return Some(staged);
            }
        }
    }

    /// The rows that a loop's body goes through. Those that all lanes share are read at one place: that is one load for all of them.
    fn rows(&self, body: &Region, [start, step]: [i64; 2]) -> Vec<Rows> {
        let inside: FxHashSet<Value> = body.params.iter().chain(body.statements.iter().flat_map(|inner| &inner.results)).copied().collect();
        let mut all: Vec<Rows> = Vec::new();
        for (number, inner) in body.statements.iter().enumerate() {
            let Some((buffer, at, elements)) = self.load(&inner.inst) else { continue };
            let sum = self.indices.sum(at.0);
            let is_counter = |term: &(Value, i64)| *term == (body.params[0], 1);
            let base: Vec<(Value, i64)> = sum.terms.iter().filter(|term| !is_counter(term)).copied().collect();
            let Some(added) = sum.constant.checked_add(at.1) else { continue };
            let bytes = i64::from(self.kernel.buffer(buffer).lane.bytes());
            let is_before = base.len() + 1 == sum.terms.len() && !base.iter().any(|(term, _)| inside.contains(term));
            let is_words =
                [start, step, added, elements].iter().chain(base.iter().map(|(_, factor)| factor)).all(|n| n * bytes % WORD == 0);
            if !is_before || !is_words || elements > step {
                continue;
            }
            let products = self.products(body, inner.results[0]);
            let load = Load { statement: number, added, elements, products };
            if let Some(rows) = all.iter_mut().find(|rows| rows.buffer == buffer && rows.base == base) {
                rows.loads.push(load);
            } else if let Some(places) = self.lanes.sums(&base).filter(|places| places.iter().any(|place| *place != places[0])) {
                all.push(Rows { buffer, bytes, base, places, loads: vec![load], starts: vec![], unit: WORD / bytes });
            }
        }
        all.iter_mut().for_each(|rows| rows.find_starts(step));
        all
    }

    /// The buffer of a load that nothing writes, its index and number, and how many elements it has.
    fn load(&self, inst: &Inst) -> Option<(Buffer, (Value, i64), i64)> {
        let (buffer, index, offset, elements) = match *inst {
            Inst::Load { buffer, index, offset, active, mask: None } => (buffer, index, offset, active.into()),
            Inst::LoadSplat { buffer, index, offset } => (buffer, index, offset, 1),
            Inst::LoadSplatGroup { buffer, index, offset, group } => (buffer, index, offset, group.into()),
            _ => return None,
        };
        let data = self.kernel.buffer(buffer);
        let is_read = data.kind.is_parameter() && (1..=4).contains(&data.lane.bytes()) && !self.changed.contains(&buffer);
        is_read.then_some((buffer, (index, offset), elements))
    }

    /// The elements of a row in a chunk: as many as have room, and leave no rest.
    fn length(&self, Staged { start, end, step, rows, .. }: &Staged) -> Option<i64> {
        let rounds = (end - start) / step;
        let of_lane = |length: i64| rows.iter().map(|rows| rows.bytes_of_lane(length)).sum::<i64>();
        let has_room = |length: &i64| u64::try_from(self.lanes.count * of_lane(*length)).is_ok_and(|bytes| bytes <= self.bytes);
        let is_long = |length: &i64| rows.iter().all(|rows| length * rows.bytes >= LEAST_BYTES);
        let lengths = (1..=rounds).rev().filter(|chunk| rounds % chunk == 0).map(|chunk| chunk * step);
        lengths.take_while(is_long).find(has_room)
    }

    /// The lanes of all that a round computes of a value.
    fn products(&self, body: &Region, value: Value) -> i64 {
        let uses = body.statements.iter().filter(|inner| inner.inst.operands().contains(&value));
        uses.flat_map(|inner| &inner.results).map(|&result| i64::from(self.kernel.ty(result).lanes)).sum()
    }

    /// Whether it is better to copy the rows of a chunk: lanes touch at most half as many lines of a cache and make at most half as many loads, and
    /// what is copied is used often enough.
    fn is_better(&self, rows: &Rows, length: i64, step: i64) -> bool {
        let rounds = length / step;
        let copies = length / rows.unit * rows.starts.len() as i64;
        let is_used = rows.loads.iter().all(|load| load.products >= LEAST_PRODUCTS);
        is_used && 2 * copies <= rows.loads.len() as i64 * rounds && 2 * self.copied_lines(rows, length) <= self.own_lines(rows) * rounds
    }

    /// The lines that lanes touch in a round, each of its own rows: what it loads of a row in a round is together.
    fn own_lines(&self, rows: &Rows) -> i64 {
        let of_row = |(number, start): (usize, &i64)| {
            let loads = rows.loads.iter().filter(|load| rows.row(load) == number);
            let elements = loads.map(|load| load.added + load.elements - start).max().unwrap_or(0);
            lines(rows.places.iter().map(|place| place + start), elements, rows.bytes)
        };
        rows.starts.iter().enumerate().map(of_row).sum()
    }

    /// The lines that lanes touch when they copy a chunk together.
    fn copied_lines(&self, rows: &Rows, length: i64) -> i64 {
        let of_row = length / rows.unit;
        let of_copy = |(start, number): (i64, i64)| {
            let tasks = (0..self.lanes.count).map(|lane| lane + self.lanes.count * number);
            let places = tasks.map(|task| rows.places[(task / of_row) as usize] + start + task % of_row * rows.unit);
            lines(places, rows.unit, rows.bytes)
        };
        rows.starts.iter().flat_map(|&start| (0..of_row).map(move |number| (start, number))).map(of_copy).sum()
    }
}
