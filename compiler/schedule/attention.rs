//! Attention: the scores of a few queries of a head, their softmax, and the sum of the values, one after the other, so that a score is written
//! once, and keys and values are read where they lie. Heads that share keys are computed together.
//!
//! Products of queries and keys run along the depth, sums of values across it. Scores are kept for as many keys as there may be, and are
//! filled up to whole vectors with −∞, whose weight is 0.

use super::arguments::{Arguments, Elements};
use super::context::{Context, Goal};
use super::interface::{CUT_FROM, Lowered, Requirements, Schedule};
use super::quantity::{Cells, Number, Quantity, product};
use super::unsupported::Unsupported;
use crate::ir::{Inst, Operation, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, HorizontalOp, KernelBuilder, Lane, Type, Value, mathematics};

/// Scores of a row are a multiple of this many: every machine's vectors divide it.
const ROW_UNIT: u64 = 16;

/// Keys whose products with the same queries are computed together.
const KEYS: i64 = 4;

/// See the module.
pub struct AttentionSchedule<'a> {
    cx: Context<'a>,
    operands: Vec<Tensor>,
    scale: f64,
    batch: Quantity,
    queries: Quantity,
    /// Keys that there is room for, and that there are.
    room: Quantity,
    keys: Quantity,
    causal_from: Option<Quantity>,
    /// Whether each query has a row of the mask.
    mask_by_query: bool,
    heads: u64,
    groups: u64,
    depth: u64,
    /// Queries of a tile.
    rows: u64,
}

impl<'a> AttentionSchedule<'a> {
    /// The schedule of an `attention`.
    ///
    /// # Errors
    /// When heads or depth are not known.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Attention(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let operands = cx.function.insts[root].operands.to_vec();
        let (query, key) = (cx.quantities(operands[0]), cx.quantities(operands[1]));
        let known = |quantity: &Quantity| {
            let number = quantity.as_known().and_then(|n| u64::try_from(n).ok());
            number.ok_or_else(|| Unsupported::new("attention whose heads or depth are known only when the program runs"))
        };
        let of = |extent: &crate::ir::Extent| Quantity::of(cx.function.resolved(*extent));
        let many = cx.machine.registers.count() >= 32 && cx.machine.has_vector_registers();
        let rows = if cx.goal == Goal::Size || !cx.machine.has_vector_registers() {
            1
        } else if many {
            4
        } else {
            2
        };
        let mask_by_query = operands.get(3).is_some_and(|&mask| !cx.quantities(mask)[0].is(1));
        Ok(Self {
            cx,
            scale: operator.scale.as_f64(),
            batch: query[0].clone(),
            queries: query[1].clone(),
            room: key[1].clone(),
            keys: of(&operator.keys[0]),
            causal_from: operator.causal_from.first().map(of),
            mask_by_query,
            heads: known(&query[2])?,
            groups: known(&key[2])?,
            depth: known(&query[3])?,
            operands,
            rows,
        })
    }

    /// Elements of a row of scores.
    fn row_elements(&self) -> Result<u64, Unsupported> {
        Ok(self.keys.most(self.cx.function)?.next_multiple_of(ROW_UNIT))
    }

    fn multiply_accumulates(&self) -> u64 {
        let all = product([&self.batch, &self.queries, &self.keys]).scaled(2 * (self.heads * self.depth) as i64);
        all.most(self.cx.function).unwrap_or(u64::MAX)
    }
}

impl Schedule for AttentionSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let scores = self.rows * self.row_elements().unwrap_or(0) * u64::from(Lane::F32.bytes());
        Requirements { scratch: vec![scores], ..Requirements::default() }
    }

    fn lower(&self, shared: &[(Tensor, Tensor)]) -> Result<Lowered, Unsupported> {
        let mut b = KernelBuilder::new("attention");
        let range = self.extent(shared).map(|_| (b.integer(), b.integer()));
        let mut arguments = Arguments::default();
        let mut inputs = Vec::new();
        for (tensor, name) in self.operands.iter().zip(["query", "key", "value", "mask"]) {
            inputs.push(arguments.input(&mut b, name, *tensor, Elements::new(Lane::F32, self.cx.most_elements(*tensor)?)));
        }
        let target = self.cx.group.outputs[0];
        let output = arguments.output(&mut b, "output", target, Elements::new(Lane::F32, self.cx.most_elements(target)?));
        let stride = self.row_elements()?;
        let scores = arguments.scratch(&mut b, "scores", 0, Lane::F32, self.rows * stride);
        let mut cells = Cells::default();
        let sizes = [&self.batch, &self.queries, &self.room, &self.keys];
        cells.load(&mut b, &mut arguments, sizes.into_iter().chain(&self.causal_from).flat_map(Quantity::extents));
        let [batch, queries, room, keys] = sizes.map(|quantity| cells.number(&mut b, quantity));
        let start = self.causal_from.as_ref().map(|start| cells.number(&mut b, start));
        let lowering = Lowering { schedule: self, inputs, output, scores, stride: stride as i64, queries, room, keys, start };
        batch.repeat(&mut b, |b, image| match range {
            Some(range) => b.for_values(range.0, range.1, 1, |b, group| lowering.group(b, image, group)),
            None => b.for_range(0, self.groups as i64, 1, |b, group| lowering.group(b, image, group)),
        });
        let description = format!("attention of {} queries to {KEYS} keys", self.rows);
        let multiply_accumulates = self.multiply_accumulates();
        Ok(Lowered { kernel: b.finish(), arguments: arguments.finish(), description, multiply_accumulates })
    }

    fn extent(&self, _shared: &[(Tensor, Tensor)]) -> Option<u64> {
        (self.batch.is(1) && self.groups > 1 && self.multiply_accumulates() >= CUT_FROM).then_some(self.groups)
    }
}

struct Lowering<'a> {
    schedule: &'a AttentionSchedule<'a>,
    /// Queries, keys, values, and the mask if there is one.
    inputs: Vec<Buffer>,
    output: Buffer,
    scores: Buffer,
    /// Elements of a row of scores.
    stride: i64,
    queries: Number,
    room: Number,
    keys: Number,
    start: Option<Number>,
}

/// Some queries of one head of keys, or of neighbouring heads that share it.
struct Tile {
    rows: Vec<Row>,
    /// Where the first key of the head is; values lie alike.
    first_key: Value,
    /// Keys that the last query sees, no fewer than the others; and these with what makes whole vectors.
    keys: Value,
    padded: Value,
}

struct Row {
    /// The first element of the query, and of the result.
    at: Value,
    /// The position of the query among all.
    position: Value,
    /// Keys that it sees.
    keys: Value,
}

impl Lowering<'_> {
    /// All queries of a head of keys.
    fn group(&self, b: &mut KernelBuilder, image: Value, group: Value) {
        let schedule = self.schedule;
        let together = schedule.heads / schedule.groups;
        let first = self.room.scale(b, image);
        let first = b.scale_index(first, schedule.groups as i64, 0);
        let first = b.add(first, group);
        let first_key = b.scale_index(first, schedule.depth as i64, 0);
        let rows = self.queries.times(b, together);
        rows.tiles(b, schedule.rows, |b, row, count| {
            let rows = (0..count).map(|r| self.row(b, (image, group), row, r as i64)).collect();
            self.tile(b, first_key, rows);
        });
    }

    /// The row some after another one, of those that share a head of keys.
    fn row(&self, b: &mut KernelBuilder, (image, group): (Value, Value), row: Value, offset: i64) -> Row {
        let schedule = self.schedule;
        let together = (schedule.heads / schedule.groups) as i64;
        let row = b.scale_index(row, 1, offset);
        let (position, head) = if together == 1 {
            (row, b.index(0))
        } else {
            let divisor = b.index(together);
            (b.binary(BinaryOp::SignedDiv, row, divisor), b.binary(BinaryOp::SignedRem, row, divisor))
        };
        let at = self.queries.scale(b, image);
        let at = b.add(at, position);
        let at = b.scale_index(at, schedule.groups as i64, 0);
        let at = b.add(at, group);
        let at = b.scale_index(at, together, 0);
        let at = b.add(at, head);
        let at = b.scale_index(at, schedule.depth as i64, 0);
        let all = self.keys.value(b);
        let keys = match self.start {
            None => all,
            Some(start) => {
                let seen = start.plus(b, position);
                let seen = b.scale_index(seen, 1, 1);
                let seen = b.binary(BinaryOp::SignedMin, seen, all);
                let none = b.index(0);
                b.binary(BinaryOp::SignedMax, seen, none)
            }
        };
        Row { at, position, keys }
    }

    fn tile(&self, b: &mut KernelBuilder, first_key: Value, rows: Vec<Row>) {
        let Some(last) = rows.last() else { return };
        let lanes = i64::from(self.lanes());
        let (keys, up) = (last.keys, b.scale_index(last.keys, 1, lanes - 1));
        let mask = b.index(-lanes);
        let padded = b.binary(BinaryOp::And, up, mask);
        let tile = Tile { rows, first_key, keys, padded };
        self.all_scores(b, &tile);
        let factors: Vec<Value> = (0..tile.rows.len()).map(|r| self.weights(b, &tile, r)).collect();
        self.results(b, &tile, &factors);
    }

    fn lanes(&self) -> u16 {
        self.schedule.cx.machine.lanes(4)
    }

    /// Whole vectors along the depth, and what is left: the first element, lanes, and those that count.
    fn pieces(&self) -> Vec<(i64, u16, u16)> {
        let (depth, lanes) = (self.schedule.depth, u64::from(self.lanes()));
        let whole = (0..depth / lanes).map(|i| ((i * lanes) as i64, lanes as u16, lanes as u16));
        let rest = (depth % lanes > 0).then(|| ((depth / lanes * lanes) as i64, lanes as u16, (depth % lanes) as u16));
        whole.chain(rest).collect()
    }

    fn multiply_add(&self, b: &mut KernelBuilder, x: Value, y: Value, sum: Value) -> Value {
        if self.schedule.cx.machine.fma {
            return b.fma(x, y, sum);
        }
        let product = b.mul(x, y);
        b.add(product, sum)
    }

    /// Where a key or value is: the first element of its head.
    fn key_at(&self, b: &mut KernelBuilder, tile: &Tile, key: Value, offset: i64) -> Value {
        let step = (self.schedule.groups * self.schedule.depth) as i64;
        let at = b.scale_index(key, step, offset * step);
        b.add(at, tile.first_key)
    }

    /// The scores of all rows; what a row does not see is −∞.
    fn all_scores(&self, b: &mut KernelBuilder, tile: &Tile) {
        let zero = b.index(0);
        let by = b.index(KEYS);
        let whole = b.binary(BinaryOp::SignedDiv, tile.keys, by);
        let whole = b.scale_index(whole, KEYS, 0);
        b.for_values(zero, whole, KEYS, |b, key| self.scores(b, tile, key, KEYS));
        b.for_values(whole, tile.keys, 1, |b, key| self.scores(b, tile, key, 1));
        let nothing = b.float(Type::scalar(Lane::F32), f64::NEG_INFINITY);
        for (r, row) in (0..).zip(&tile.rows) {
            b.for_values(row.keys, tile.padded, 1, |b, key| b.store(self.scores, key, r * self.stride, nothing));
        }
    }

    /// The scores of some keys.
    fn scores(&self, b: &mut KernelBuilder, tile: &Tile, key: Value, count: i64) {
        let [query, keys] = [self.inputs[0], self.inputs[1]];
        let at: Vec<Value> = (0..count).map(|i| self.key_at(b, tile, key, i)).collect();
        let (lanes, depth) = (self.lanes(), self.schedule.depth);
        let zero = b.float(Type::vector(Lane::F32, lanes), 0.0);
        let whole = depth / u64::from(lanes) * u64::from(lanes);
        let add = |b: &mut KernelBuilder, d: Value, active: u16, sums: &[Value]| -> Vec<Value> {
            let mut load = |buffer: Buffer, first: Value| {
                let place = b.add(first, d);
                b.load_active(buffer, place, 0, lanes, active)
            };
            let xs: Vec<Value> = tile.rows.iter().map(|row| load(query, row.at)).collect();
            let ys: Vec<Value> = at.iter().map(|&first| load(keys, first)).collect();
            let pairs = xs.iter().flat_map(|&x| ys.iter().map(move |&y| (x, y)));
            pairs.zip(sums).map(|((x, y), &sum)| self.multiply_add(b, x, y, sum)).collect()
        };
        let mut sums = vec![zero; tile.rows.len() * count as usize];
        let (first, end) = (b.index(0), b.index(whole as i64));
        sums = b.for_carry(first, end, lanes.into(), &sums, |b, d, sums| add(b, d, lanes, sums));
        if depth > whole {
            sums = add(b, end, (depth - whole) as u16, &sums);
        }
        let scale = b.float(Type::scalar(Lane::F32), self.schedule.scale);
        for (i, sum) in (0..).zip(sums) {
            let (r, k) = (i / count, i % count);
            let sum = b.horizontal(HorizontalOp::Add, sum);
            let mut score = b.mul(sum, scale);
            if let Some(&mask) = self.inputs.get(3) {
                let zero = b.index(0);
                let row = if self.schedule.mask_by_query { tile.rows[r as usize].position } else { zero };
                let place = self.keys.scale(b, row);
                let place = b.add(place, key);
                let number = b.load(mask, place, k, 1);
                score = b.add(score, number);
            }
            b.store(self.scores, key, r * self.stride + k, score);
        }
    }

    /// The scores of a row become weights, e to the distance from the largest. Gives one over their sum.
    fn weights(&self, b: &mut KernelBuilder, tile: &Tile, r: usize) -> Value {
        let (lanes, offset) = (self.lanes(), r as i64 * self.stride);
        let zero = b.index(0);
        let least = b.float(Type::vector(Lane::F32, lanes), f64::NEG_INFINITY);
        let largest = b.for_carry(zero, tile.padded, lanes.into(), &[least], |b, key, largest| {
            let scores = b.load(self.scores, key, offset, lanes);
            vec![b.binary(BinaryOp::FloatMaxFirst, scores, largest[0])]
        });
        let largest = b.horizontal(HorizontalOp::Max, largest[0]);
        let largest = b.splat(largest, lanes);
        let none = b.float(Type::vector(Lane::F32, lanes), 0.0);
        let sums = b.for_carry(zero, tile.padded, lanes.into(), &[none], |b, key, sums| {
            let scores = b.load(self.scores, key, offset, lanes);
            let below = b.sub(scores, largest);
            let weights = mathematics::exp(b, below);
            b.store(self.scores, key, offset, weights);
            vec![b.add(sums[0], weights)]
        });
        let sum = b.horizontal(HorizontalOp::Add, sums[0]);
        let one = b.float(Type::scalar(Lane::F32), 1.0);
        b.binary(BinaryOp::FloatDiv, one, sum)
    }

    /// The values of all keys, weighted, a few vectors of the depth at a time.
    fn results(&self, b: &mut KernelBuilder, tile: &Tile, factors: &[Value]) {
        let registers = usize::from(self.schedule.cx.machine.registers.count());
        let together = (registers / 2 / tile.rows.len()).clamp(1, 8);
        for pieces in self.pieces().chunks(together) {
            let none: Vec<Value> = pieces.iter().map(|&(_, lanes, _)| b.float(Type::vector(Lane::F32, lanes), 0.0)).collect();
            let sums: Vec<Value> = tile.rows.iter().flat_map(|_| none.iter().copied()).collect();
            let zero = b.index(0);
            let sums = b.for_carry(zero, tile.keys, 1, &sums, |b, key, sums| {
                let at = self.key_at(b, tile, key, 0);
                let values: Vec<Value> =
                    pieces.iter().map(|&(first, lanes, active)| b.load_active(self.inputs[2], at, first, lanes, active)).collect();
                let mut next = Vec::with_capacity(sums.len());
                for (r, sums) in (0..).zip(sums.chunks(pieces.len())) {
                    let weight = b.load_splat(self.scores, key, r * self.stride, self.lanes());
                    next.extend(values.iter().zip(sums).map(|(&value, &sum)| self.multiply_add(b, weight, value, sum)));
                }
                next
            });
            for ((row, &factor), sums) in tile.rows.iter().zip(factors).zip(sums.chunks(pieces.len())) {
                for (&(first, lanes, active), &sum) in pieces.iter().zip(sums) {
                    let factor = b.splat(factor, lanes);
                    let result = b.mul(sum, factor);
                    b.store_active(self.output, row.at, first, result, active);
                }
            }
        }
    }
}
