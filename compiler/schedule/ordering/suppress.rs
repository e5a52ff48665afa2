//! Non-maximum suppression. For each chosen box, one pass over all boxes lowers the scores of overlapping boxes and finds the best of the rest.
//! Boxes are first converted from corners to columns, so that vectors run across boxes.

use crate::ir::{Inst, Operation, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, HorizontalOp, KernelBuilder, Lane, Type, Value, mathematics};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::{Context, arithmetic};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::movement::iota::lane_numbers;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity};
use crate::schedule::unsupported::Unsupported;

/// Columns of the scratch memory: lower y and x, higher y and x, area, and the current score. The score of a removed box is −∞.
const COLUMNS: u64 = 6;
const AREA: u64 = 4;
const SCORE: u64 = 5;

/// Schedule of a `non_max_suppression`.
pub struct SuppressSchedule<'a> {
    cx: Context<'a>,
    operands: Vec<Tensor>,
    rows: Quantity,
    boxes: Quantity,
    /// Maximum number of boxes, rounded up to whole vectors.
    padded: u64,
    count: u64,
    lanes: u16,
}

/// Buffers, and values that the whole kernel uses.
struct Parts {
    boxes: Buffer,
    scores: Buffer,
    columns: Buffer,
    positions: Buffer,
    chosen_scores: Buffer,
    counts: Buffer,
    boxes_count: Number,
    /// Number of boxes, rounded up to whole vectors.
    padded: Number,
    /// The numbers 0, 1, 2, …, one in each lane.
    numbers: Value,
    overlap: Value,
    threshold: Value,
    sigma: Value,
}

/// The best box so far in each lane: its score and its position.
type Best = Vec<Value>;

impl<'a> SuppressSchedule<'a> {
    /// Makes the schedule of a `non_max_suppression`.
    ///
    /// # Errors
    /// [`Unsupported`] if the number of boxes has no bound.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::NonMaxSuppression(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let [rows, boxes] = &cx.quantities(data.operands[1])[..] else { return Err(Unsupported::ScoresWithoutRows) };
        let (rows, boxes) = (rows.clone(), boxes.clone());
        let lanes = cx.machine.lanes(4);
        let padded = boxes.most(cx.function)?.next_multiple_of(lanes.into());
        Ok(Self { cx, operands: data.operands.clone(), rows, boxes, padded, count: operator.count as u64, lanes })
    }

    fn column(&self, column: u64) -> i64 {
        (column * self.padded) as i64
    }

    /// Rounds a number of boxes up to whole vectors.
    fn rounded_up(&self, b: &mut KernelBuilder, boxes: Number) -> Number {
        let Number::Computed(boxes) = boxes else { return Number::Known(self.padded as i64) };
        let beyond = b.scale_index(boxes, 1, i64::from(self.lanes) - 1);
        Number::Computed(Number::Computed(beyond).whole(b, self.lanes))
    }

    /// Converts corners to columns, once for all rows. Lanes after the last box get no area.
    fn prepare(&self, b: &mut KernelBuilder, parts: &Parts) {
        parts.boxes_count.repeat(b, |b, i| {
            let first = b.scale_index(i, 4, 0);
            let [y, x, other_y, other_x] = [0, 1, 2, 3].map(|corner| b.load(parts.boxes, first, corner, 1));
            let mut sides = Vec::new();
            for (d, (one, other)) in [(y, other_y), (x, other_x)].into_iter().enumerate() {
                let (low, high) = (b.binary(BinaryOp::FloatMinFirst, one, other), b.binary(BinaryOp::FloatMaxFirst, one, other));
                b.store(parts.columns, i, self.column(d as u64), low);
                b.store(parts.columns, i, self.column(d as u64 + 2), high);
                sides.push(b.sub(high, low));
            }
            let area = b.mul(sides[0], sides[1]);
            b.store(parts.columns, i, self.column(AREA), area);
        });
        let zero = b.float(Type::scalar(Lane::F32), 0.0);
        parts.boxes_count.up_to(b, parts.padded, 1, |b, i| {
            (0..=AREA).for_each(|column| b.store(parts.columns, i, self.column(column), zero));
        });
    }

    /// Returns the scores above the threshold, and −∞ for others.
    fn kept(&self, b: &mut KernelBuilder, parts: &Parts, score: Value) -> Value {
        let above = b.compare(CompareOp::Less, parts.threshold, score);
        let out = b.float(Type::vector(Lane::F32, self.lanes), f64::NEG_INFINITY);
        b.select(above, score, out)
    }

    /// Stores the scores of a vector of boxes from `i` on, and updates the best box.
    fn update(&self, b: &mut KernelBuilder, parts: &Parts, i: Value, score: Value, best: &[Value]) -> Best {
        b.store(parts.columns, i, self.column(SCORE), score);
        let start = b.convert(ConvertOp::Wrap, i, Lane::I32);
        let start = b.splat(start, self.lanes);
        let position = b.add(start, parts.numbers);
        let better = b.compare(CompareOp::Less, best[0], score);
        vec![b.select(better, score, best[0]), b.select(better, position, best[1])]
    }

    /// Runs a pass over all boxes by vectors, which finds the best score.
    fn pass(&self, b: &mut KernelBuilder, parts: &Parts, mut score: impl FnMut(&mut KernelBuilder, Value) -> Value) -> Best {
        let none = b.float(Type::vector(Lane::F32, self.lanes), f64::NEG_INFINITY);
        let first = b.int(Type::vector(Lane::I32, self.lanes), 0);
        let (start, end) = (b.index(0), parts.padded.value(b));
        b.for_carry(start, end, self.lanes.into(), &[none, first], |b, i, best| {
            let score = score(b, i);
            self.update(b, parts, i, score, best)
        })
    }

    /// Copies the scores of a row from the operand to the column, and finds the best one.
    fn begin(&self, b: &mut KernelBuilder, parts: &Parts, row: Value) -> Best {
        let base = parts.boxes_count.scale(b, row);
        parts.boxes_count.repeat(b, |b, i| {
            let place = b.add(base, i);
            let score = b.load(parts.scores, place, 0, 1);
            b.store(parts.columns, i, self.column(SCORE), score);
        });
        let out = b.float(Type::scalar(Lane::F32), f64::NEG_INFINITY);
        parts.boxes_count.up_to(b, parts.padded, 1, |b, i| b.store(parts.columns, i, self.column(SCORE), out));
        self.pass(b, parts, |b, i| {
            let score = b.load(parts.columns, i, self.column(SCORE), self.lanes);
            self.kept(b, parts, score)
        })
    }

    /// Lowers the scores of boxes that overlap the box at `chosen`.
    fn suppress(&self, b: &mut KernelBuilder, parts: &Parts, chosen: Value, soft: bool) -> Best {
        let own: Vec<Value> = (0..=AREA).map(|column| b.load_splat(parts.columns, chosen, self.column(column), self.lanes)).collect();
        let ty = Type::vector(Lane::F32, self.lanes);
        let half = b.float(ty, -0.5);
        let scale = soft.then(|| b.binary(BinaryOp::FloatDiv, half, parts.sigma));
        self.pass(b, parts, |b, i| {
            let other: Vec<Value> = (0..=AREA).map(|column| b.load(parts.columns, i, self.column(column), self.lanes)).collect();
            let shared = self.overlap(b, &other, &own);
            let mut score = b.load(parts.columns, i, self.column(SCORE), self.lanes);
            if let Some(scale) = scale {
                let exponent = b.mul(scale, shared);
                let exponent = b.mul(exponent, shared);
                let weight = mathematics::exp(b, arithmetic(self.cx.machine), exponent);
                score = b.mul(score, weight);
                score = self.kept(b, parts, score);
            }
            let out = b.float(ty, f64::NEG_INFINITY);
            let drops = b.compare(CompareOp::LessEqual, parts.overlap, shared);
            b.select(drops, out, score)
        })
    }

    /// Computes intersection ÷ union of boxes given by columns. It is 0 if one of them has no area.
    fn overlap(&self, b: &mut KernelBuilder, x: &[Value], y: &[Value]) -> Value {
        let zero = b.float(Type::vector(Lane::F32, self.lanes), 0.0);
        let sides = [0, 1].map(|d| {
            let high = b.binary(BinaryOp::FloatMinFirst, x[d + 2], y[d + 2]);
            let low = b.binary(BinaryOp::FloatMaxFirst, x[d], y[d]);
            let side = b.sub(high, low);
            b.binary(BinaryOp::FloatMaxFirst, side, zero)
        });
        let intersection = b.mul(sides[0], sides[1]);
        let union = b.add(x[AREA as usize], y[AREA as usize]);
        let union = b.sub(union, intersection);
        let ratio = b.binary(BinaryOp::FloatDiv, intersection, union);
        let [first, second] = [x, y].map(|rectangle| b.compare(CompareOp::Less, zero, rectangle[AREA as usize]));
        let both = b.binary(BinaryOp::And, first, second);
        b.select(both, ratio, zero)
    }

    /// Chooses boxes of a row until none is left or the limit is reached.
    fn row(&self, b: &mut KernelBuilder, parts: &Parts, row: Value) {
        let base = b.scale_index(row, self.count as i64, 0);
        let best = self.begin(b, parts, row);
        // Only 32 bits are known to hold a number that a loop carries.
        let zero = b.int(Type::scalar(Lane::I32), 0);
        let found = b.loop_while(&[zero, best[0], best[1]], |b, carried| {
            let highest = b.horizontal(HorizontalOp::Max, carried[1]);
            let none = b.float(Type::scalar(Lane::F32), f64::NEG_INFINITY);
            let is_left = b.compare(CompareOp::Less, none, highest);
            let state = b.if_else(is_left, |b| self.choose(b, parts, base, highest, carried), |_| carried.to_vec());
            let enough = b.int(Type::scalar(Lane::I32), self.count as i64);
            let wants_more = b.compare(CompareOp::Less, state[0], enough);
            (b.binary(BinaryOp::And, is_left, wants_more), state)
        })[0];
        let end = b.index(self.count as i64);
        let (no_position, no_score) = (b.int(Type::scalar(Lane::I32), 0), b.float(Type::scalar(Lane::F32), 0.0));
        let first = b.convert(ConvertOp::SignExtend, found, Lane::I64);
        b.for_values(first, end, 1, |b, i| {
            let place = b.add(base, i);
            b.store(parts.positions, place, 0, no_position);
            b.store(parts.chosen_scores, place, 0, no_score);
        });
        b.store(parts.counts, row, 0, found);
    }

    /// Writes the best box and removes it. Returns the number of chosen boxes and the best of the others.
    fn choose(&self, b: &mut KernelBuilder, parts: &Parts, base: Value, highest: Value, carried: &[Value]) -> Vec<Value> {
        let all = b.splat(highest, self.lanes);
        let is_best = b.compare(CompareOp::Equal, carried[1], all);
        let beyond = b.int(Type::vector(Lane::I32, self.lanes), i64::from(i32::MAX));
        let candidates = b.select(is_best, carried[2], beyond);
        let position = b.horizontal(HorizontalOp::Min, candidates);
        let place = b.convert(ConvertOp::SignExtend, carried[0], Lane::I64);
        let place = b.add(base, place);
        b.store(parts.positions, place, 0, position);
        b.store(parts.chosen_scores, place, 0, highest);
        let chosen = b.convert(ConvertOp::SignExtend, position, Lane::I64);
        let out = b.float(Type::scalar(Lane::F32), f64::NEG_INFINITY);
        b.store(parts.columns, chosen, self.column(SCORE), out);
        let sigma = b.extract(parts.sigma, 0);
        let zero = b.float(Type::scalar(Lane::F32), 0.0);
        let soft = b.compare(CompareOp::Less, zero, sigma);
        let best = b.if_else(soft, |b| self.suppress(b, parts, chosen, true), |b| self.suppress(b, parts, chosen, false));
        let one = b.int(Type::scalar(Lane::I32), 1);
        let found = b.add(carried[0], one);
        vec![found, best[0], best[1]]
    }
}

impl Schedule for SuppressSchedule<'_> {
    fn requirements(&self) -> Requirements {
        Requirements { scratch: vec![COLUMNS * self.padded * 4], ..Requirements::default() }
    }

    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let mut b = KernelBuilder::new("non_max_suppression");
        b.independent(true);
        let mut arguments = Arguments::default();
        let numbers = lane_numbers(&mut b, &mut arguments, self.lanes);
        let function = self.cx.function;
        let (most_boxes, most_rows) = (self.boxes.most(function)?, self.rows.most(function)?);
        let sizes = [4 * most_boxes, self.rows.times(&self.boxes).most(function)?, 1, 1, 1];
        let names = ["boxes", "scores", "overlap", "threshold", "sigma"];
        let inputs = [0, 1, 2, 3, 4].map(|i| arguments.input(&mut b, names[i], self.operands[i], Elements::new(Lane::F32, sizes[i])));
        let columns = arguments.scratch(&mut b, "columns", 0, Lane::F32, COLUMNS * self.padded);
        let outputs = [("positions", Lane::I32, self.count), ("chosen_scores", Lane::F32, self.count), ("counts", Lane::I32, 1)];
        let outputs = [0, 1, 2].map(|i| {
            let (name, lane, each) = outputs[i];
            arguments.output(&mut b, name, self.cx.group.outputs[i], Elements::new(lane, most_rows.saturating_mul(each)))
        });
        let zero = b.index(0);
        let [overlap, threshold, sigma] = [2, 3, 4].map(|i| b.load_splat(inputs[i], zero, 0, self.lanes));
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.rows.extents().chain(self.boxes.extents()));
        let [rows, boxes_count] = [&self.rows, &self.boxes].map(|quantity| cells.number(&mut b, quantity));
        let parts = Parts {
            boxes_count,
            padded: self.rounded_up(&mut b, boxes_count),
            boxes: inputs[0],
            scores: inputs[1],
            columns,
            positions: outputs[0],
            chosen_scores: outputs[1],
            counts: outputs[2],
            numbers: b.load(numbers, zero, 0, self.lanes),
            overlap,
            threshold,
            sigma,
        };
        if self.count == 0 {
            let none = b.int(Type::scalar(Lane::I32), 0);
            rows.repeat(&mut b, |b, row| b.store(parts.counts, row, 0, none));
        } else {
            self.prepare(&mut b, &parts);
            // Scratch memory has room for the scores of one row.
            b.independent(false);
            rows.repeat(&mut b, |b, row| b.rounds(true, |b| self.row(b, &parts, row)));
        }
        let description = format!("suppression of boxes, {} of {}, {} at a time", self.count, most_boxes, self.lanes);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
