//! Choice of the loads that go through shared memory, and of the rounds in a chunk.

use super::lanes::{Lanes, lines};
use crate::indices::Indices;
use crate::*;
use rustc_hash::FxHashSet;

/// Bytes of a word, the smallest unit of a copy.
const WORD: i64 = 4;

/// Bytes of one copy, if rows begin at multiples of this size.
const QUAD: i64 = 16;

/// Minimum bytes of a row in a chunk that is worth its barriers.
const LEAST_BYTES: i64 = 16;

/// Minimum number of products that use a load. Fewer take less time than the way through shared memory.
const LEAST_PRODUCTS: i64 = 8;

/// A load in a loop's round.
#[derive(Clone, Copy)]
struct Load {
    /// Number of its statement in the loop's body.
    statement: usize,
    /// Constant distance from the start of its row.
    added: i64,
    /// Number of elements.
    elements: i64,
    /// Number of sums, or of groups of products, to which the load contributes.
    products: i64,
}

/// Rows of a buffer that the rounds of a loop read.
pub struct Rows {
    /// The buffer.
    pub buffer: Buffer,
    /// Size of an element in bytes.
    bytes: i64,
    /// Start of a lane's rows: multiples of values from before the loop.
    pub base: Vec<(Value, i64)>,
    /// This start at each lane of the first workgroup.
    places: Vec<i64>,
    loads: Vec<Load>,
    /// Constant offset of each row of a lane.
    pub starts: Vec<i64>,
    /// Elements of one copy.
    pub unit: i64,
}

impl Rows {
    /// Finds the rows that the loads read, where each round advances by `step` elements.
    fn find_starts(&mut self, step: i64) {
        self.loads.sort_by_key(|load| load.added);
        for load in &self.loads {
            if self.starts.last().is_none_or(|start| load.added + load.elements > start + step) {
                self.starts.push(load.added);
            }
        }
    }

    /// Finds the number of elements in one copy, for rows of `length` elements whose counter begins at `start`.
    fn find_unit(&mut self, length: i64, start: i64) {
        let factors = self.base.iter().map(|(_, factor)| factor);
        let begins = factors.chain(&self.starts).chain([&length, &start]);
        self.unit = if begins.into_iter().all(|number| number * self.bytes % QUAD == 0) { QUAD } else { WORD } / self.bytes;
    }

    /// Returns the distance between two rows of `length` elements in shared memory. It is an odd number of words, so that lanes use different banks.
    pub fn pitch(&self, length: i64) -> i64 {
        ((length * self.bytes / WORD) | 1) * WORD / self.bytes
    }

    /// Returns the shared memory of a lane's rows, with `length` elements each in a chunk, and of their start.
    fn bytes_of_lane(&self, length: i64) -> i64 {
        self.starts.len() as i64 * self.pitch(length) * self.bytes + WORD
    }

    /// Returns the loads: the statement in the loop's body, the row, and the distance from the row's place in this round.
    pub fn loads(&self) -> impl Iterator<Item = (usize, usize, i64)> {
        self.loads.iter().map(|load| (load.statement, self.row(load), load.added - self.starts[self.row(load)]))
    }

    fn row(&self, load: &Load) -> usize {
        self.starts.partition_point(|start| *start <= load.added) - 1
    }
}

/// A loop whose loads go through shared memory.
pub struct SharedRows {
    /// Initial value of the loop's counter.
    pub start: i64,
    /// End of the counter, excluded.
    pub end: i64,
    /// Increment per round.
    pub step: i64,
    /// Elements of each row in a chunk.
    pub length: i64,
    /// Rows that are copied.
    pub rows: Vec<Rows>,
}

/// Finds loops whose loads are worth copying.
pub struct Finder<'k> {
    /// The kernel.
    pub kernel: &'k Kernel,
    /// Analysis of its indices.
    pub indices: Indices,
    /// Values of indices at each lane.
    pub lanes: Lanes<'k>,
    /// Buffers whose memory the kernel writes.
    pub changed: FxHashSet<Buffer>,
    /// Maximum bytes of shared memory.
    pub bytes: u64,
}

impl Finder<'_> {
    /// Returns the loop of a statement, if staging improves some of its loads.
    pub fn find(&self, statement: &Statement) -> Option<SharedRows> {
        let Inst::For { start, end, step, body, .. } = &statement.inst else { return None };
        let (start, end, step) = (self.indices.number(*start)?, self.indices.number(*end)?, *step);
        let has_regions = body.statements.iter().any(|inner| !inner.inst.regions().is_empty());
        if end <= start || (end - start) % step != 0 || has_regions || statement.inst.has_effect() {
            return None;
        }
        let mut shared = SharedRows { start, end, step, length: 0, rows: self.rows(body, [start, step]) };
        // Rows that do not profit are dropped, which leaves more room to the others.
        loop {
            let count = shared.rows.len();
            shared.length = self.length(&shared)?;
            let length = shared.length;
            shared.rows.retain_mut(|rows| {
                rows.find_unit(length, start);
                self.is_better(rows, length, step)
            });
            if shared.rows.is_empty() {
                return None;
            }
            if shared.rows.len() == count {
                return Some(shared);
            }
        }
    }

    /// Returns the rows that a loop's body reads. Rows that all lanes share are left out: one load serves all lanes.
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

    /// Returns the buffer, index, offset and number of elements of a load, if nothing writes its buffer.
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

    /// Returns the longest length of a chunk that has room and divides the rounds evenly.
    fn length(&self, SharedRows { start, end, step, rows, .. }: &SharedRows) -> Option<i64> {
        let rounds = (end - start) / step;
        let of_lane = |length: i64| rows.iter().map(|rows| rows.bytes_of_lane(length)).sum::<i64>();
        let has_room = |length: &i64| u64::try_from(self.lanes.count * of_lane(*length)).is_ok_and(|bytes| bytes <= self.bytes);
        let is_long = |length: &i64| rows.iter().all(|rows| length * rows.bytes >= LEAST_BYTES);
        let lengths = (1..=rounds).rev().filter(|chunk| rounds % chunk == 0).map(|chunk| chunk * step);
        lengths.take_while(is_long).find(has_room)
    }

    /// Returns the number of lanes of all results that a round computes from a value.
    fn products(&self, body: &Region, value: Value) -> i64 {
        let uses = body.statements.iter().filter(|inner| inner.inst.operands().contains(&value));
        uses.flat_map(|inner| &inner.results).map(|&result| i64::from(self.kernel.ty(result).lanes)).sum()
    }

    /// Tests whether it is better to copy the rows of a chunk. Lanes must touch at most half as many cache lines, make at most half as many loads,
    /// and use the copies often enough.
    fn is_better(&self, rows: &Rows, length: i64, step: i64) -> bool {
        let rounds = length / step;
        let copies = length / rows.unit * rows.starts.len() as i64;
        let is_used = rows.loads.iter().all(|load| load.products >= LEAST_PRODUCTS);
        is_used && 2 * copies <= rows.loads.len() as i64 * rounds && 2 * self.copied_lines(rows, length) <= self.own_lines(rows) * rounds
    }

    /// Returns the number of cache lines that lanes touch in a round without copies. Loads of one row in a round are contiguous.
    fn own_lines(&self, rows: &Rows) -> i64 {
        let of_row = |(number, start): (usize, &i64)| {
            let loads = rows.loads.iter().filter(|load| rows.row(load) == number);
            let elements = loads.map(|load| load.added + load.elements - start).max().unwrap_or(0);
            lines(rows.places.iter().map(|place| place + start), elements, rows.bytes)
        };
        rows.starts.iter().enumerate().map(of_row).sum()
    }

    /// Returns the number of cache lines that lanes touch when they copy a chunk together.
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
