//! A tile of attention: some queries of one head of keys, their scores, their weights, and the sums of values.

use crate::ir::ElementType;
use crate::kernel::{BinaryOp, Buffer, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value, mathematics};
use crate::machine::Machine;
use crate::schedule::context::arithmetic;
use crate::schedule::elementwise::lanes::widen;
use crate::schedule::quantity::Number;

/// Granularity of a row of scores: a cache line, and a multiple of every machine's vectors.
pub const KEYS_OF_ROW: u64 = 16;

/// Maximum number of whole vectors along the depth whose products are unrolled. More become a loop.
const MOST_WRITTEN_OUT: u64 = 8;

/// Facts about queries and keys that are known at compile time.
pub struct Shape {
    pub scale: f64,
    /// `true` if each query has its own row of the mask.
    pub mask_by_query: bool,
    pub heads: u64,
    /// Number of heads of keys.
    pub groups: u64,
    pub depth: u64,
    /// Queries of a tile.
    pub rows: u64,
}

impl Shape {
    /// Returns the number of heads of queries that share a head of keys.
    pub fn together(&self) -> u64 {
        self.heads / self.groups
    }
}

/// Keys or values in memory.
#[derive(Clone, Copy)]
pub struct Cache {
    pub elements: Buffer,
    pub element: ElementType,
    /// Scales and zero points of 8-bit elements, one of each for every position and head.
    pub scaled: Option<[Buffer; 2]>,
}

/// A vector along the depth.
#[derive(Clone, Copy)]
pub struct Piece {
    /// First element.
    pub first: i64,
    pub lanes: u16,
    pub active: u16,
}

/// Division of rows of the depth into vectors.
#[derive(Clone, Copy)]
pub struct Vectors<'a> {
    pub shape: &'a Shape,
    pub machine: &'a Machine,
}

impl Vectors<'_> {
    pub fn lanes(&self) -> u16 {
        self.machine.lanes(4)
    }

    /// Returns the vectors along the depth, the tail included.
    pub fn pieces(&self) -> Vec<Piece> {
        let (depth, lanes) = (self.shape.depth, u64::from(self.lanes()));
        let whole = (0..depth / lanes).map(|i| Piece { first: (i * lanes) as i64, lanes: lanes as u16, active: lanes as u16 });
        let rest = (depth % lanes > 0).then(|| Piece {
            first: (depth / lanes * lanes) as i64,
            lanes: lanes as u16,
            active: (depth % lanes) as u16,
        });
        whole.chain(rest).collect()
    }

    pub fn multiply_add(&self, b: &mut KernelBuilder, x: Value, y: Value, sum: Value) -> Value {
        if self.machine.fma {
            return b.fma(x, y, sum);
        }
        let product = b.mul(x, y);
        b.add(product, sum)
    }

    /// Returns the number of vectors along the depth that are summed together. Sums and values of a tile must fit the registers.
    pub fn pieces_together(&self, rows: usize) -> usize {
        let registers = usize::from(self.machine.registers.count());
        (registers / 2 / rows).clamp(1, 8)
    }
}

/// State of a kernel that is being written.
pub struct Lowering<'a> {
    pub vectors: Vectors<'a>,
    pub query: Buffer,
    pub keys_and_values: [Cache; 2],
    pub mask: Option<Buffer>,
    pub output: Buffer,
    pub scores: Buffer,
    pub queries: Number,
    pub room: Number,
    pub keys: Number,
    pub start: Option<Number>,
}

/// The first key of a head.
#[derive(Clone, Copy)]
pub struct FirstKey {
    /// Number of keys before it, of all heads and positions.
    number: Value,
    /// Index of its first element.
    at: Value,
}

impl FirstKey {
    /// Moves forward by a number of keys.
    pub fn after(self, b: &mut KernelBuilder, shape: &Shape, keys: Value) -> Self {
        let of_groups = b.scale_index(keys, shape.groups as i64, 0);
        let elements = b.scale_index(of_groups, shape.depth as i64, 0);
        Self { number: b.add(self.number, of_groups), at: b.add(self.at, elements) }
    }
}

/// Place of a tile's scores.
#[derive(Clone, Copy)]
pub struct Scores {
    /// Start of the first row's scores. `None` is the start of the buffer.
    pub first: Option<Value>,
    /// Elements of a row.
    pub stride: i64,
}

/// A key or value: its number within the tile's head, and a constant added to it.
pub type Key = (Value, i64);

/// Results of weighing a row: the largest score, and the sum of the weights.
pub struct Weighed {
    pub largest: Value,
    pub sum: Value,
}

/// A tile: some queries of one head of keys, or of neighbouring heads that share it.
pub struct Tile {
    pub rows: Vec<Row>,
    /// First key of the head; values have the same layout.
    pub first_key: FirstKey,
    /// Number of the head's keys before the first one.
    pub before: Option<Value>,
    pub scores: Scores,
    /// Number of keys that the last query sees, which is the largest of the tile. `padded` rounds it up to whole vectors.
    pub keys: Value,
    pub padded: Value,
}

/// A key or value that is read.
struct Cached {
    cache: Cache,
    /// Index of its first element.
    at: Value,
    scaled: Option<Scaled>,
}

/// Scale and zero point of an 8-bit key or value.
#[derive(Clone, Copy)]
struct Scaled {
    /// Scale, as a scalar.
    scale: Value,
    /// Zero point in all lanes, as 32-bit integers.
    zero_point: Value,
}

/// A query of a tile.
pub struct Row {
    /// Index of the first element of the query, and of its result.
    pub at: Value,
    /// Position of the query.
    pub position: Value,
    /// Number of keys that it sees.
    pub keys: Value,
}

impl Lowering<'_> {
    /// Returns the first key of a head.
    pub fn first_key(&self, b: &mut KernelBuilder, image: Value, group: Value) -> FirstKey {
        let shape = self.vectors.shape;
        let first = self.room.scale(b, image);
        let first = b.scale_index(first, shape.groups as i64, 0);
        let number = b.add(first, group);
        FirstKey { number, at: b.scale_index(number, shape.depth as i64, 0) }
    }

    /// Returns the query at a position, of one of the heads that share a head of keys.
    pub fn row(&self, b: &mut KernelBuilder, image: Value, group: Value, position: Value, head: Value) -> Row {
        let shape = self.vectors.shape;
        let at = self.queries.scale(b, image);
        let at = b.add(at, position);
        let at = b.scale_index(at, shape.groups as i64, 0);
        let at = b.add(at, group);
        let at = b.scale_index(at, shape.together() as i64, 0);
        let at = b.add(at, head);
        let at = b.scale_index(at, shape.depth as i64, 0);
        Row { at, position, keys: self.seen(b, position) }
    }

    /// Returns the number of keys that a query sees.
    pub fn seen(&self, b: &mut KernelBuilder, position: Value) -> Value {
        let all = self.keys.value(b);
        let Some(start) = self.start else { return all };
        let seen = start.plus(b, position);
        let seen = b.scale_index(seen, 1, 1);
        let seen = b.binary(BinaryOp::SignedMin, seen, all);
        let none = b.index(0);
        b.binary(BinaryOp::SignedMax, seen, none)
    }

    /// Returns a tile of queries, or `None` without queries.
    pub fn tile(&self, b: &mut KernelBuilder, first_key: FirstKey, scores: Scores, rows: Vec<Row>) -> Option<Tile> {
        let lanes = i64::from(self.vectors.lanes());
        let keys = rows.last()?.keys;
        let up = b.scale_index(keys, 1, lanes - 1);
        let mask = b.index(-lanes);
        let padded = b.binary(BinaryOp::And, up, mask);
        Some(Tile { rows, first_key, before: None, scores, keys, padded })
    }

    /// Prepares a key or value of the tile's head for reading.
    fn cached(&self, b: &mut KernelBuilder, tile: &Tile, cache: Cache, (key, offset): Key) -> Cached {
        let (groups, lanes) = (self.vectors.shape.groups as i64, self.vectors.lanes());
        let step = groups * self.vectors.shape.depth as i64;
        let at = b.scale_index(key, step, offset * step);
        let at = b.add(at, tile.first_key.at);
        let scaled = cache.scaled.map(|[scales, zero_points]| {
            let number = b.scale_index(key, groups, offset * groups);
            let number = b.add(number, tile.first_key.number);
            let zero_point = b.load(zero_points, number, 0, 1);
            let zero_point = widen(b, zero_point, ElementType::I8);
            Scaled { scale: b.load(scales, number, 0, 1), zero_point: b.splat(zero_point, lanes) }
        });
        Cached { cache, at, scaled }
    }

    /// Loads some elements of a key or value. 8-bit elements become their distance from the zero point.
    fn piece(&self, b: &mut KernelBuilder, cached: &Cached, at: Value, offset: i64, active: u16) -> Value {
        let stored = b.load_active(cached.cache.elements, at, offset, self.vectors.lanes(), active);
        let wide = widen(b, stored, cached.cache.element);
        let Some(scaled) = cached.scaled else { return wide };
        let distance = b.sub(wide, scaled.zero_point);
        b.convert(ConvertOp::SignedToFloat, distance, Lane::F32)
    }

    /// Returns the place of a key's score in the first row of a tile.
    fn score_at(&self, b: &mut KernelBuilder, tile: &Tile, key: Value) -> Value {
        tile.scores.first.map_or(key, |first| b.add(first, key))
    }

    /// Stores the score −∞ for keys that a row does not see.
    pub fn unseen(&self, b: &mut KernelBuilder, tile: &Tile) {
        let nothing = b.float(Type::scalar(Lane::F32), f64::NEG_INFINITY);
        for (r, row) in (0..).zip(&tile.rows) {
            b.for_values(row.keys, tile.padded, 1, |b, key| {
                let at = self.score_at(b, tile, key);
                b.store(self.scores, at, r * tile.scores.stride, nothing);
            });
        }
    }

    /// Computes the scores of some keys.
    pub fn scores(&self, b: &mut KernelBuilder, tile: &Tile, list: &[Key]) {
        let keys: Vec<Cached> = list.iter().map(|&key| self.cached(b, tile, self.keys_and_values[0], key)).collect();
        let sums = self.products(b, tile, &keys);
        let scale = b.float(Type::scalar(Lane::F32), self.vectors.shape.scale);
        let scales: Vec<Value> = keys.iter().map(|key| key.scaled.map_or(scale, |of_key| b.mul(of_key.scale, scale))).collect();
        let places: Vec<Value> = list.iter().map(|&(key, _)| self.score_at(b, tile, key)).collect();
        for (i, sum) in sums.into_iter().enumerate() {
            let (r, k) = (i / list.len(), i % list.len());
            let sum = b.horizontal(HorizontalOp::Add, sum);
            let mut score = b.mul(sum, scales[k]);
            if let Some(mask) = self.mask {
                let zero = b.index(0);
                let row = if self.vectors.shape.mask_by_query { tile.rows[r].position } else { zero };
                let place = self.keys.scale(b, row);
                let place = b.add(place, list[k].0);
                let place = tile.before.map_or(place, |before| b.add(place, before));
                let number = b.load(mask, place, list[k].1, 1);
                score = b.add(score, number);
            }
            b.store(self.scores, places[k], r as i64 * tile.scores.stride + list[k].1, score);
        }
    }

    /// Multiplies the queries of a tile with some keys along the depth, and sums lane by lane. The sums of the first query come first.
    fn products(&self, b: &mut KernelBuilder, tile: &Tile, keys: &[Cached]) -> Vec<Value> {
        let (lanes, depth) = (self.vectors.lanes(), self.vectors.shape.depth);
        let whole = depth / u64::from(lanes) * u64::from(lanes);
        let add = |b: &mut KernelBuilder, (d, offset): (Value, i64), active: u16, sums: &[Value]| -> Vec<Value> {
            let query = |b: &mut KernelBuilder, row: &Row| {
                let place = b.add(row.at, d);
                b.load_active(self.query, place, offset, lanes, active)
            };
            let xs: Vec<Value> = tile.rows.iter().map(|row| query(b, row)).collect();
            let piece = |b: &mut KernelBuilder, key: &Cached| {
                let place = b.add(key.at, d);
                self.piece(b, key, place, offset, active)
            };
            let ys: Vec<Value> = keys.iter().map(|key| piece(b, key)).collect();
            let pairs = xs.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y)));
            pairs.zip(sums).map(|((x, y), &sum)| self.vectors.multiply_add(b, x, y, sum)).collect()
        };
        let zero = b.float(Type::vector(Lane::F32, lanes), 0.0);
        let mut sums = vec![zero; tile.rows.len() * keys.len()];
        let (first, end) = (b.index(0), b.index(whole as i64));
        if whole <= MOST_WRITTEN_OUT * u64::from(lanes) {
            for offset in (0..whole as i64).step_by(lanes.into()) {
                sums = add(b, (first, offset), lanes, &sums);
            }
        } else {
            sums = b.for_carry(first, end, lanes.into(), &sums, |b, d, sums| add(b, (d, 0), lanes, sums));
        }
        if depth > whole {
            sums = add(b, (end, 0), (depth - whole) as u16, &sums);
        }
        sums
    }

    /// Turns the scores of a row into weights: e to the difference from the largest score, which is at least `least`.
    pub fn weigh(&self, b: &mut KernelBuilder, tile: &Tile, r: usize, least: f64) -> Weighed {
        let (lanes, offset) = (self.vectors.lanes(), r as i64 * tile.scores.stride);
        let zero = b.index(0);
        let least = b.float(Type::vector(Lane::F32, lanes), least);
        let largest = b.for_carry(zero, tile.padded, lanes.into(), &[least], |b, key, largest| {
            let at = self.score_at(b, tile, key);
            let scores = b.load(self.scores, at, offset, lanes);
            vec![b.binary(BinaryOp::FloatMaxFirst, scores, largest[0])]
        });
        let largest = b.horizontal(HorizontalOp::Max, largest[0]);
        let subtracted = b.splat(largest, lanes);
        let none = b.float(Type::vector(Lane::F32, lanes), 0.0);
        let sums = b.for_carry(zero, tile.padded, lanes.into(), &[none], |b, key, sums| {
            let at = self.score_at(b, tile, key);
            let scores = b.load(self.scores, at, offset, lanes);
            let below = b.sub(scores, subtracted);
            let weights = mathematics::exp(b, arithmetic(self.vectors.machine), below);
            b.store(self.scores, at, offset, weights);
            vec![b.add(sums[0], weights)]
        });
        Weighed { largest, sum: b.horizontal(HorizontalOp::Add, sums[0]) }
    }

    /// Adds the weighted value of one key to sums, which have a vector for each row and piece.
    pub fn with_value(&self, b: &mut KernelBuilder, tile: &Tile, pieces: &[Piece], (key, offset): Key, sums: &[Value]) -> Vec<Value> {
        let value = self.cached(b, tile, self.keys_and_values[1], (key, offset));
        let values: Vec<Value> = pieces.iter().map(|&Piece { first, active, .. }| self.piece(b, &value, value.at, first, active)).collect();
        let scale = value.scaled.map(|scaled| b.splat(scaled.scale, self.vectors.lanes()));
        let score = self.score_at(b, tile, key);
        let mut next = Vec::with_capacity(sums.len());
        for (r, sums) in (0..).zip(sums.chunks(pieces.len())) {
            let weight = b.load_splat(self.scores, score, r * tile.scores.stride + offset, self.vectors.lanes());
            let weight = scale.map_or(weight, |scale| b.mul(weight, scale));
            next.extend(values.iter().zip(sums).map(|(&value, &sum)| self.vectors.multiply_add(b, weight, value, sum)));
        }
        next
    }
}
