//! The best elements of a row. The output itself is a heap of the wanted size, whose root is the worst of its elements. Whole vectors without a
//! better element than the root are skipped. At the end the heap is taken apart from its root, which puts the best elements first. If a
//! register holds all of them, they are kept in order there instead.

use super::sorted::Sorted;
use crate::ir::{ElementType, Inst, Operation, Order, Value as Tensor};
use crate::kernel::{BinaryOp, Buffer, CompareOp, ConvertOp, KernelBuilder, Lane, UnaryOp, Value};
use crate::program::E_INDEX;
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::elementwise::lanes::{memory_lane, widen};
use crate::schedule::indexed::slices::any;
use crate::schedule::interface::{Lowered, Schedule};
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;

/// Schedule of a `top_k`.
pub struct TopKSchedule<'a> {
    cx: Context<'a>,
    operand: Tensor,
    rows: Quantity,
    extent: Quantity,
    count: Quantity,
    element: ElementType,
    lane: Lane,
    largest: bool,
}

impl<'a> TopKSchedule<'a> {
    /// Makes the schedule of a `top_k`.
    ///
    /// # Errors
    /// [`Unsupported`] if the element type has no arithmetic.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::TopK(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let data = &cx.function.insts[root];
        let operand = data.operands[0];
        let (shape, element) = (cx.quantities(operand), cx.element(operand));
        let Some((extent, outer)) = shape.split_last() else { return Err(Unsupported::TopKOfScalar) };
        Ok(Self {
            cx,
            operand,
            rows: product(outer),
            extent: extent.clone(),
            count: Quantity::of(cx.function.resolved(operator.count)),
            element,
            lane: memory_lane(element)?,
            largest: operator.order == Order::Largest,
        })
    }

    /// Compares values: true if x comes before y.
    fn better(&self, b: &mut KernelBuilder, x: Value, y: Value) -> Value {
        // The bits of half-precision floats do not have the order of the numbers.
        let is_half = self.element.is_half();
        let [x, y] = [x, y].map(|value| if is_half { widen(b, value, self.element) } else { value });
        let (low, high) = if self.largest { (y, x) } else { (x, y) };
        if !self.element.is_float() {
            let unsigned = self.element.is_unsigned_integer() || self.element == ElementType::Bool;
            return b.compare(if unsigned { CompareOp::UnsignedLess } else { CompareOp::Less }, low, high);
        }
        // NaN is larger than every number.
        let less = b.compare(CompareOp::Less, low, high);
        let high_is_nan = b.compare(CompareOp::NotEqual, high, high);
        let low_is_number = b.compare(CompareOp::Equal, low, low);
        let beyond = b.binary(BinaryOp::And, high_is_nan, low_is_number);
        b.binary(BinaryOp::Or, less, beyond)
    }

    /// Compares entries: true if x comes after y. Among equal values, the later position comes after.
    fn worse(&self, b: &mut KernelBuilder, x: Entry, y: Entry) -> Value {
        let by_value = self.better(b, y.value, x.value);
        let better = self.better(b, x.value, y.value);
        let not_better = b.unary(UnaryOp::Not, better);
        let later = b.compare(CompareOp::Less, y.position, x.position);
        let by_position = b.binary(BinaryOp::And, not_better, later);
        b.binary(BinaryOp::Or, by_value, by_position)
    }
}

/// An element of a heap.
#[derive(Clone, Copy)]
struct Entry {
    value: Value,
    position: Value,
}

/// The heap of a row: `values[first ..]` and `positions[first ..]`.
#[derive(Clone, Copy)]
struct Heap {
    values: Buffer,
    positions: Buffer,
    first: Value,
}

impl Heap {
    fn load(&self, b: &mut KernelBuilder, index: Value) -> Entry {
        let place = b.add(self.first, index);
        Entry { value: b.load(self.values, place, 0, 1), position: b.load(self.positions, place, 0, 1) }
    }

    fn store(&self, b: &mut KernelBuilder, index: Value, entry: Entry) {
        let place = b.add(self.first, index);
        b.store(self.values, place, 0, entry.value);
        b.store(self.positions, place, 0, entry.position);
    }

    /// Fills the hole with an entry, in a heap that is in order below the hole. Worse children move up until the entry fits.
    fn sift(&self, at: &TopKSchedule<'_>, b: &mut KernelBuilder, size: Value, hole: Value, entry: Entry) {
        let end = b.loop_while(&[hole], |b, hole| {
            let left = b.scale_index(hole[0], 2, 1);
            let has_child = b.compare(CompareOp::Less, left, size);
            let result = b.if_else(
                has_child,
                |b| {
                    // If there is no right child, the left one is used twice.
                    let last = b.scale_index(size, 1, -1);
                    let right = b.scale_index(left, 1, 1);
                    let right = b.binary(BinaryOp::SignedMin, right, last);
                    let (l, r) = (self.load(b, left), self.load(b, right));
                    let takes_right = at.worse(b, r, l);
                    let child = b.select(takes_right, right, left);
                    let chosen =
                        Entry { value: b.select(takes_right, r.value, l.value), position: b.select(takes_right, r.position, l.position) };
                    let moves = at.worse(b, chosen, entry);
                    let next = b.if_else(
                        moves,
                        |b| {
                            self.store(b, hole[0], chosen);
                            vec![child]
                        },
                        |_| vec![hole[0]],
                    );
                    vec![moves, next[0]]
                },
                |b| vec![b.mask(1, false), hole[0]],
            );
            (result[0], vec![result[1]])
        });
        self.store(b, end[0], entry);
    }
}

/// The sizes of a [`TopKSchedule`] as numbers of a kernel.
#[derive(Clone, Copy)]
struct Counts {
    rows: Number,
    extent: Number,
    count: Number,
    /// Elements after the first `count`.
    rest: Number,
}

impl TopKSchedule<'_> {
    fn counts(&self, b: &mut KernelBuilder, arguments: &mut Arguments) -> Counts {
        let mut cells = Cells::default();
        let rest = self.extent.plus(&self.count.scaled(-1));
        let all = [&self.rows, &self.extent, &self.count, &rest];
        cells.load(b, arguments, all.into_iter().flat_map(Quantity::extents));
        let [rows, extent, count, rest] = all.map(|quantity| cells.number(b, quantity));
        Counts { rows, extent, count, rest }
    }

    fn fill(&self, b: &mut KernelBuilder, input: Buffer, base: Value, heap: &Heap, count: Number) {
        count.repeat(b, |b, i| {
            let place = b.add(base, i);
            let entry = Entry { value: b.load(input, place, 0, 1), position: b.convert(ConvertOp::Wrap, i, Lane::I32) };
            heap.store(b, i, entry);
        });
        let size = count.value(b);
        let parents = match count {
            Number::Known(count) => Number::Known(count / 2),
            Number::Computed(count) => {
                let two = b.index(2);
                Number::Computed(b.binary(BinaryOp::SignedDiv, count, two))
            }
        };
        parents.repeat(b, |b, i| {
            let last = parents.less_one(b);
            let hole = b.sub(last, i);
            let entry = heap.load(b, hole);
            heap.sift(self, b, size, hole, entry);
        });
    }

    /// Processes the elements after the first `count`. Elements better than the root replace it.
    fn rest(&self, b: &mut KernelBuilder, input: Buffer, base: Value, heap: &Heap, counts: &Counts, lanes: u16) {
        let offer = |b: &mut KernelBuilder, i: Value| {
            let zero = b.index(0);
            let place = b.add(base, i);
            let (value, root) = (b.load(input, place, 0, 1), heap.load(b, zero));
            let better = self.better(b, value, root.value);
            let take = |b: &mut KernelBuilder| {
                let size = counts.count.value(b);
                let position = b.convert(ConvertOp::Wrap, i, Lane::I32);
                heap.sift(self, b, size, zero, Entry { value, position });
                vec![]
            };
            b.if_else(better, take, |_| vec![]);
        };
        let whole = match (counts.count, counts.rest) {
            (Number::Known(count), Number::Known(rest)) => Number::Known(count + rest / i64::from(lanes) * i64::from(lanes)),
            (count, rest) => {
                let whole = rest.whole(b, lanes);
                Number::Computed(count.plus(b, whole))
            }
        };
        counts.count.up_to(b, whole, i64::from(lanes), |b, i| {
            let place = b.add(base, i);
            let values = b.load(input, place, 0, lanes);
            let root = b.load_splat(heap.values, heap.first, 0, lanes);
            let better = self.better(b, values, root);
            let better = any(b, better);
            let look = |b: &mut KernelBuilder| {
                b.for_range(0, i64::from(lanes), 1, |b, lane| {
                    let i = b.add(i, lane);
                    offer(b, i);
                });
                vec![]
            };
            b.if_else(better, look, |_| vec![]);
        });
        whole.up_to(b, counts.extent, 1, offer);
    }

    fn take_apart(&self, b: &mut KernelBuilder, heap: &Heap, count: Number) {
        let last = match count {
            Number::Known(count) => Number::Known(count - 1),
            count => Number::Computed(count.less_one(b)),
        };
        last.repeat(b, |b, i| {
            let last = last.value(b);
            let (end, zero) = (b.sub(last, i), b.index(0));
            let (root, entry) = (heap.load(b, zero), heap.load(b, end));
            heap.store(b, end, root);
            heap.sift(self, b, end, zero, entry);
        });
    }

    /// Leaves the kernel with [`E_INDEX`] if more elements are wanted than exist.
    fn check(&self, b: &mut KernelBuilder, counts: &Counts) {
        if let Number::Computed(rest) = counts.rest {
            let zero = b.index(0);
            let too_few = b.compare(CompareOp::Less, rest, zero);
            b.fail_if(too_few, E_INDEX);
        }
    }

    /// Returns the wanted number of elements, and the lanes of registers that hold them in order. `None` if they do not fit.
    fn sorted_lanes(&self) -> Option<(u16, u16)> {
        let machine = self.cx.machine;
        let count = u16::try_from(self.count.as_known()?).ok().filter(|&count| count > 1)?;
        let most = machine.lanes(self.lane.bytes().max(Lane::I32.bytes()));
        let fits = self.cx.uses(Technique::Sorted) && machine.combines_lanes() && count <= most;
        fits.then(|| (count, count.next_power_of_two()))
    }

    /// Returns the number of rows to process. It is 0 if no elements are wanted, since a heap then has no root.
    fn rows(&self, b: &mut KernelBuilder, counts: &Counts) -> Number {
        match (counts.count, counts.rows) {
            (Number::Known(_), rows) => rows,
            (Number::Computed(count), rows) => {
                let (zero, rows) = (b.index(0), rows.value(b));
                let some = b.compare(CompareOp::Greater, count, zero);
                Number::Computed(b.select(some, rows, zero))
            }
        }
    }
}

impl Schedule for TopKSchedule<'_> {
    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let width = self.lane.bytes();
        let results = self.rows.times(&self.count).most(self.cx.function)?;
        let outputs = &self.cx.group.outputs;
        let mut b = KernelBuilder::new("top_k");
        let mut arguments = Arguments::default();
        let elements = Elements::new(self.lane, self.rows.times(&self.extent).most(self.cx.function)?);
        let input = arguments.input(&mut b, "input", self.operand, elements);
        let values = arguments.output(&mut b, "values", outputs[0], Elements::new(self.lane, results));
        let positions = arguments.output(&mut b, "positions", outputs[1], Elements::new(Lane::I32, results));
        let lanes = self.cx.machine.lanes(width);
        let counts = self.counts(&mut b, &mut arguments);
        self.check(&mut b, &counts);
        if !self.count.is(0) {
            let rows = self.rows(&mut b, &counts);
            b.independent(true);
            rows.repeat(&mut b, |b, row| {
                b.independent(false);
                let base = counts.extent.scale(b, row);
                if let Some((count, best_lanes)) = self.sorted_lanes() {
                    let better = |b: &mut KernelBuilder, x: Value, y: Value| self.better(b, x, y);
                    let best = Sorted { input, count, lanes: best_lanes, row_lanes: lanes, better: &better }.row(b, base, counts.extent);
                    let first = counts.count.scale(b, row);
                    b.store_active(values, first, 0, best.values, count);
                    b.store_active(positions, first, 0, best.positions, count);
                    return;
                }
                let heap = Heap { values, positions, first: counts.count.scale(b, row) };
                self.fill(b, input, base, &heap, counts.count);
                self.rest(b, input, base, &heap, &counts, lanes);
                self.take_apart(b, &heap, counts.count);
            });
        }
        let description = format!("largest {} of {}, {lanes} at a time", counts.count, counts.extent);
        Ok(vec![Lowered::new(b.finish(), arguments, description)])
    }
}
