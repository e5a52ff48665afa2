//! Kernel of a group that works row by row.

use super::across::Across;
use super::passes::{Keeper, Pass};
use super::rows::RowwiseSchedule;
use super::side_by_side::Written;
use crate::ir::{ElementType, Inst, Value as Tensor};
use crate::kernel::passes::INVARIANTS;
use crate::kernel::{Active, Buffer, KernelBuilder, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::elementwise::lanes::{exact, memory_lane, narrow, widen};
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::elementwise::positions::{Hoisted, OutputPosition};
use crate::schedule::interface::{Lowered, Requirements, Schedule};
use crate::schedule::loops::for_values;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, nest};
use crate::schedule::reductions::reduction::Reduction;
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;

/// A walk over a row by vectors of one length. A pass is one walk, or several if its reductions take vectors of different lengths.
pub struct Walk<'a> {
    work: ElementWise<'a>,
    /// Operands of the work that are in registers or in a kept row, in the order of the work.
    given: Vec<Tensor>,
    lanes: u16,
    /// Elements that the walk writes or keeps, by their number among the results of the work.
    written: Vec<(usize, Tensor)>,
    /// Reductions: the number of the reduced result, the reduction, and the tensor of its result.
    reduced: Vec<(usize, Reduction, Tensor)>,
}

/// Values of a row that are computed once, not for each element.
pub struct Numbers<'a> {
    work: ElementWise<'a>,
    given: Vec<Tensor>,
    results: Vec<Tensor>,
}

impl Walk<'_> {
    /// Returns the neutral values that the reductions of a row begin with.
    fn neutral(&self, b: &mut KernelBuilder, lanes: u16) -> Vec<Value> {
        self.reduced.iter().map(|(_, reduction, _)| reduction.neutral(b, lanes)).collect()
    }

    /// Combines the totals of a row with further partial results. `more` returns the partial result of a reduction, by its number.
    fn add_up(&self, b: &mut KernelBuilder, totals: &mut [Value], more: impl Fn(&mut KernelBuilder, usize, &Reduction) -> Value) {
        for (number, (total, (_, reduction, _))) in totals.iter_mut().zip(&self.reduced).enumerate() {
            let sum = more(b, number, reduction);
            *total = reduction.combine(b, *total, sum);
        }
    }
}

impl<'a> RowwiseSchedule<'a> {
    /// Makes the walks of a pass.
    pub(super) fn walks(&self, pass: usize) -> Result<Vec<Walk<'a>>, Unsupported> {
        let pass = &self.passes.list[pass];
        if pass.elements.is_empty() {
            return Ok(vec![]);
        }
        let mut walks: Vec<Walk<'a>> = Vec::new();
        for &(inst, element) in &pass.reductions {
            let lanes = self.facts.lanes_of(inst);
            let reduced = (element, self.facts.reduction(inst)?, self.facts.cx.function.insts[inst].results[0]);
            match walks.iter_mut().find(|walk| walk.lanes == lanes) {
                Some(walk) => walk.reduced.push(reduced),
                None => walks.push(Walk { lanes, reduced: vec![reduced], ..self.walk(pass)? }),
            }
        }
        if walks.is_empty() {
            walks.push(self.walk(pass)?);
        }
        // Written tensors may overwrite tensors that are read, so the last walk writes.
        let is_written = |tensor: &Tensor| self.facts.cx.group.outputs.contains(tensor) || self.passes.keeper(*tensor).is_some();
        let written = pass.elements.iter().copied().enumerate().filter(|(_, tensor)| is_written(tensor)).collect();
        if let Some(last) = walks.last_mut() {
            last.written = written;
        }
        Ok(walks)
    }

    /// Makes a walk that computes everything but neither writes nor reduces.
    fn walk(&self, pass: &Pass) -> Result<Walk<'a>, Unsupported> {
        let given = self.given(&pass.work.operands);
        let work = ElementWise::step(self.facts.cx, &pass.work, &given, self.facts.shape.clone())?;
        for &element in &pass.elements {
            memory_lane(self.facts.cx.element(element))?;
        }
        let written = pass.elements.iter().map(|&v| self.facts.cx.element(v).bits().div_ceil(8)).min().unwrap_or(4);
        let lanes = self.facts.cx.lanes_for(work.smallest_element().min(written), self.facts.longest);
        Ok(Walk { work, given, lanes, written: vec![], reduced: vec![] })
    }

    /// Returns the operands that the group computes.
    fn given(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let results = |inst: &Inst| &self.facts.cx.function.insts[*inst].results;
        operands.iter().copied().filter(|v| self.facts.cx.group.insts.iter().any(|inst| results(inst).contains(v))).collect()
    }

    /// Makes the work that runs once a row before a pass.
    pub(super) fn numbers(&self, pass: usize) -> Result<Option<Numbers<'a>>, Unsupported> {
        let Some((work, results)) = &self.passes.list[pass].numbers else { return Ok(None) };
        let given = self.given(&work.operands);
        let mut shape = self.facts.shape.clone();
        shape.iter_mut().rev().take(1).for_each(|last| *last = Quantity::known(1));
        for &result in results {
            memory_lane(self.facts.cx.element(result))?;
        }
        let work = ElementWise::step(self.facts.cx, work, &given, shape)?;
        Ok(Some(Numbers { work, given, results: results.clone() }))
    }
}

impl Schedule for RowwiseSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let bytes = |element: ElementType| self.facts.longest * u64::from(element.bits() / 8);
        let of_rows = if self.has_single_rows() { self.passes.scratch(&self.facts.cx) } else { vec![] };
        let of_columns = self.across.iter().flat_map(Across::scratch);
        let scratch = of_rows.into_iter().map(bytes).chain(of_columns).collect();
        Requirements { scratch, may_share: self.shareable(), private_rounds: true, ..Requirements::default() }
    }

    fn kernels(&self, shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        Ok(vec![lower(self, shared)?])
    }
}

/// Buffers of the rows that are written or kept.
struct Rows {
    outputs: FxHashMap<Tensor, Buffer>,
    scratch: Vec<Buffer>,
}

impl Rows {
    /// Declares the buffers. Rows are kept only if some are computed one by one.
    fn declare(
        schedule: &RowwiseSchedule<'_>,
        b: &mut KernelBuilder,
        arguments: &mut Arguments,
        has_single_rows: bool,
    ) -> Result<Self, Unsupported> {
        let cx = schedule.facts.cx;
        let mut rows = Self { outputs: FxHashMap::default(), scratch: vec![] };
        for (i, &output) in cx.group.outputs.iter().enumerate() {
            let lane = memory_lane(cx.element(output))?;
            let elements = Elements::new(lane, cx.most_elements(output)?);
            rows.outputs.insert(output, arguments.output(b, format!("output{i}"), output, elements));
        }
        for (i, element) in schedule.passes.scratch(&cx).into_iter().enumerate().filter(|_| has_single_rows) {
            let lane = memory_lane(element)?;
            rows.scratch.push(arguments.scratch(b, format!("row{i}"), i, lane, schedule.facts.longest));
        }
        Ok(rows)
    }
}

fn lower<'a>(schedule: &'a RowwiseSchedule<'a>, shared: &[Pair]) -> Result<Lowered, Unsupported> {
    let (mut b, mut arguments) = (KernelBuilder::new("rows"), Arguments::default());
    let has_single_rows = schedule.has_single_rows();
    let steps = if has_single_rows { declared_steps(schedule, &mut b, &mut arguments, shared)? } else { vec![] };
    let rows = Rows::declare(schedule, &mut b, &mut arguments, has_single_rows)?;
    let declare = |across: &'a Across<'a>| across.declare(&mut b, &mut arguments, shared, (rows.scratch.len(), &rows.outputs));
    let across = schedule.across.as_ref().map(declare).transpose()?;
    let (outer, _) = schedule.facts.shape.split_at(schedule.facts.shape.len() - 1);
    let count = schedule.facts.count();
    let mut cells = Cells::default();
    cells.load(&mut b, &mut arguments, schedule.facts.shape.iter().flat_map(Quantity::extents));
    let several = steps.iter().any(Step::follows_dimensions);
    let [count, length] = [&count, &schedule.facts.length].map(|quantity| cells.number(&mut b, quantity));
    let dimensions: Vec<Number> = if several { outer.iter().map(|extent| cells.number(&mut b, extent)).collect() } else { vec![] };
    let hoisted = steps.iter().map(|step| step.hoist(&mut b)).collect();
    let writer = Kernel { schedule, rows: &rows, length, steps: &steps, hoisted };
    b.independent_with(rows.scratch.iter().chain(across.iter().flat_map(Written::columns)).copied().collect());
    match &across {
        Some(across) => side_by_side(&mut b, across, count, |b, row| writer.passes(b, &[(row, &[])]))?,
        None if several => {
            let zero = b.index(0);
            nest(&mut b, &dimensions, (&[], zero), &mut |b, digits, row| writer.passes(b, &[(row, digits)]))?;
        }
        None => count.tiles(&mut b, schedule.together(), |b, first, rows| {
            let rows: Vec<Value> = (0..rows as i64).map(|row| b.scale_index(first, 1, row)).collect();
            writer.passes(b, &rows.iter().map(|&row| (row, &[][..])).collect::<Vec<_>>())
        })?,
    }
    let walks = steps.iter().map(|step| step.walks.len()).sum::<usize>();
    let description = match &across {
        Some(across) => format!("row by row, {count} of {length}, {} side by side", across.together()),
        None => format!("row by row, {count} of {length}, {walks} passes"),
    };
    let kernel = b.finish();
    // Work on the once-a-row values alone is the same in all columns.
    let kernel = if across.is_some() { INVARIANTS.after(kernel) } else { kernel };
    Ok(Lowered::new(kernel, arguments, description))
}

/// Writes tiles of rows side by side. `single` writes one of the remaining rows if their number is known only at run time.
fn side_by_side(
    b: &mut KernelBuilder,
    across: &Written<'_, '_>,
    count: Number,
    single: impl FnOnce(&mut KernelBuilder, Value) -> Result<(), Unsupported>,
) -> Result<(), Unsupported> {
    let together = across.together();
    let tile = |b: &mut KernelBuilder, row: Value, present: u16| b.rounds(false, |b| across.rows(b, row, present));
    let whole = count.whole_tiles(b, together, |b, row| tile(b, row, together))?;
    match (whole, count) {
        (Number::Known(whole), Number::Known(count)) if whole < count => {
            let row = b.index(whole);
            tile(b, row, (count - whole) as u16)
        }
        (Number::Known(_), Number::Known(_)) => Ok(()),
        (whole, count) => {
            let (whole, end) = (whole.value(b), count.value(b));
            for_values(b, whole..end, 1, single)
        }
    }
}

/// Once-a-row work and the walks of a pass, for single rows.
struct Step<'a> {
    numbers: Option<Numbers<'a>>,
    walks: Vec<Walk<'a>>,
}

impl Step<'_> {
    /// Tests whether some work needs the position of a row along each outer dimension.
    fn follows_dimensions(&self) -> bool {
        self.numbers.iter().any(|numbers| numbers.work.follows_dimensions()) || self.walks.iter().any(|walk| walk.work.follows_dimensions())
    }

    /// Loads the values that are the same in all rows.
    fn hoist(&self, b: &mut KernelBuilder) -> HoistedStep {
        let numbers = self.numbers.as_ref().map(|numbers| numbers.work.hoist(b, 1));
        HoistedStep { numbers, walks: self.walks.iter().map(|walk| walk.work.hoist(b, walk.lanes)).collect() }
    }
}

/// Makes the steps of all passes, and declares their buffers.
fn declared_steps<'a>(
    schedule: &RowwiseSchedule<'a>,
    b: &mut KernelBuilder,
    arguments: &mut Arguments,
    shared: &[Pair],
) -> Result<Vec<Step<'a>>, Unsupported> {
    let mut steps = Vec::new();
    for pass in 0..schedule.passes.list.len() {
        let (mut numbers, mut walks) = (schedule.numbers(pass)?, schedule.walks(pass)?);
        if let Some(numbers) = &mut numbers {
            numbers.work.declare(b, arguments, shared)?;
        }
        for walk in &mut walks {
            walk.work.declare(b, arguments, shared)?;
        }
        steps.push(Step { numbers, walks });
    }
    Ok(steps)
}

type Loaded = Vec<Option<Hoisted>>;

/// Values of a step that are the same in all rows.
struct HoistedStep {
    numbers: Option<Loaded>,
    walks: Vec<Loaded>,
}

struct Kernel<'k, 'a> {
    schedule: &'k RowwiseSchedule<'a>,
    rows: &'k Rows,
    /// Number of elements in a row.
    length: Number,
    steps: &'k [Step<'a>],
    hoisted: Vec<HoistedStep>,
}

impl<'a> Kernel<'_, 'a> {
    /// Writes all passes for some rows together. Each row has its number, and its position along each outer dimension if the work follows these.
    fn passes(&self, b: &mut KernelBuilder, rows: &[(Value, &[Value])]) -> Result<(), Unsupported> {
        let mut known = vec![FxHashMap::default(); rows.len()];
        b.rounds(true, |b| {
            self.steps.iter().zip(&self.hoisted).try_for_each(|(step, hoisted)| self.step(b, rows, step, hoisted, &mut known))
        })
    }

    /// Writes the once-a-row work of a pass and its walks, for some rows together. `known` are the once-a-row values of each row so far.
    fn step(
        &self,
        b: &mut KernelBuilder,
        rows: &[(Value, &[Value])],
        step: &Step<'a>,
        hoisted: &HoistedStep,
        known: &mut [FxHashMap<Tensor, Value>],
    ) -> Result<(), Unsupported> {
        if let (Some(numbers), Some(hoisted)) = (&step.numbers, &hoisted.numbers) {
            for (&row, known) in rows.iter().zip(&mut *known) {
                self.compute(b, row, numbers, hoisted, known)?;
            }
        }
        for (walk, hoisted) in step.walks.iter().zip(&hoisted.walks) {
            let totals = self.walk(b, rows, walk, hoisted, known)?;
            for (known, totals) in known.iter_mut().zip(totals) {
                for ((element, reduction, result), total) in walk.reduced.iter().zip(totals) {
                    known.insert(*result, reduction.finish(b, &walk.work, *element, total));
                }
            }
        }
        Ok(())
    }

    fn compute(
        &self,
        b: &mut KernelBuilder,
        (row, digits): (Value, &[Value]),
        numbers: &Numbers<'a>,
        hoisted: &Loaded,
        known: &mut FxHashMap<Tensor, Value>,
    ) -> Result<(), Unsupported> {
        let hoisted = numbers.work.hoist_pixel(b, row, digits, hoisted, 1);
        let channel = b.index(0);
        let place = OutputPosition { pixel: row, pixel_offset: 0, channel, channel_offset: 0, flat: row };
        let given: Vec<Value> = numbers.given.iter().map(|v| known[v]).collect();
        let values = numbers.work.values(b, &place, &given, &hoisted, 1, 1)?;
        for (&result, value) in numbers.results.iter().zip(values) {
            let value = exact(b, value, self.schedule.facts.cx.element(result));
            known.insert(result, value);
            if let Some(&buffer) = self.rows.outputs.get(&result) {
                let stored = narrow(b, value, self.schedule.facts.cx.element(result));
                b.store(buffer, row, 0, stored);
            }
        }
        Ok(())
    }

    /// Walks over some rows side by side and returns the results of each row's reductions. Whole vectors come first, and their lanes are combined at
    /// the end. The remaining elements follow: together if their number is known or lanes are masked, otherwise one by one.
    fn walk(
        &self,
        b: &mut KernelBuilder,
        rows: &[(Value, &[Value])],
        walk: &Walk<'a>,
        hoisted: &Loaded,
        known: &[FxHashMap<Tensor, Value>],
    ) -> Result<Vec<Vec<Value>>, Unsupported> {
        let (lanes, length) = (walk.lanes, self.length);
        let rows: Vec<Row> = rows.iter().zip(known).map(|(&row, known)| self.row(b, row, walk, hoisted, known)).collect();
        let mut totals: Vec<Vec<Value>> = rows.iter().map(|_| walk.neutral(b, 1)).collect();
        let is_masked = length.masks_rest(lanes, self.schedule.facts.cx.machine.masked_lanes);
        if !matches!(length, Number::Known(n) if n < i64::from(lanes)) {
            let mut sums = self.stretch(b, walk, &rows, lanes)?;
            if is_masked {
                sums = self.rest(b, walk, &rows, &sums.concat())?;
            }
            for (totals, sums) in totals.iter_mut().zip(sums) {
                walk.add_up(b, totals, |b, number, reduction| reduction.horizontal(b, sums[number]));
            }
        }
        match length {
            Number::Known(n) if n % i64::from(lanes) == 0 => {}
            Number::Known(n) => {
                let (channel, rest) = (length.whole(b, lanes), (n % i64::from(lanes)) as u16);
                for (row, totals) in rows.iter().zip(&mut totals) {
                    let values = self.elements(b, walk, row, channel, rest.into())?;
                    walk.add_up(b, totals, |b, number, reduction| {
                        let mut sum = reduction.neutral(b, 1);
                        for lane in 0..rest {
                            let next = b.extract(values[walk.reduced[number].0], lane);
                            sum = reduction.combine(b, sum, next);
                        }
                        sum
                    });
                }
            }
            Number::Computed(_) if lanes == 1 || is_masked => {}
            Number::Computed(_) => {
                let sums = self.stretch(b, walk, &rows, 1)?;
                for (totals, sums) in totals.iter_mut().zip(sums) {
                    walk.add_up(b, totals, |_, number, _| sums[number]);
                }
            }
        }
        Ok(totals)
    }

    /// Walks over the whole vectors of some rows, or over the remaining elements one by one if `active` is below the walk's lanes. Returns the sums
    /// of each row.
    fn stretch(&self, b: &mut KernelBuilder, walk: &Walk<'a>, rows: &[Row], active: u16) -> Result<Vec<Vec<Value>>, Unsupported> {
        let first: Vec<Value> = rows.iter().flat_map(|_| walk.neutral(b, active)).collect();
        let is_rest = active < walk.lanes;
        let (start, end) = self.length.stretch(b, walk.lanes, is_rest);
        let mut inside = Ok(());
        let sums = b.for_carry(start, end, i64::from(active), &first, |b, channel, sums| {
            let mut next = Vec::with_capacity(sums.len());
            for row in rows {
                match self.elements(b, walk, row, channel, active.into()) {
                    Ok(values) => {
                        for (element, reduction, _) in &walk.reduced {
                            let value = if is_rest { b.extract(values[*element], 0) } else { values[*element] };
                            next.push(reduction.combine(b, sums[next.len()], value));
                        }
                    }
                    Err(error) => inside = Err(error),
                }
            }
            if inside.is_ok() { next } else { sums.to_vec() }
        });
        inside?;
        Ok(of_rows(walk, sums, rows.len()))
    }

    /// Combines the sums of some rows with the elements after whole vectors, if there are any, in one masked vector.
    fn rest(&self, b: &mut KernelBuilder, walk: &Walk<'a>, rows: &[Row], sums: &[Value]) -> Result<Vec<Vec<Value>>, Unsupported> {
        let sums = self.length.with_rest(b, walk.lanes, sums, |b, start, mask| {
            let mut next = Vec::with_capacity(sums.len());
            for row in rows {
                let values = self.elements(b, walk, row, start, Active::Where(mask))?;
                for (element, reduction, _) in &walk.reduced {
                    let sum = sums[next.len()];
                    let more = reduction.combine(b, sum, values[*element]);
                    next.push(b.select(mask, more, sum));
                }
            }
            Ok(next)
        })?;
        Ok(of_rows(walk, sums, rows.len()))
    }

    /// Prepares a row: loads the values that a walk needs before it begins.
    fn row(
        &self,
        b: &mut KernelBuilder,
        (row, digits): (Value, &[Value]),
        walk: &Walk<'a>,
        hoisted: &Loaded,
        known: &FxHashMap<Tensor, Value>,
    ) -> Row {
        let hoisted = walk.work.hoist_pixel(b, row, digits, hoisted, walk.lanes);
        let given = walk.given.iter().map(|v| known.get(v).map(|&number| b.splat(number, walk.lanes))).collect();
        Row { row, base: self.length.scale(b, row), given, hoisted }
    }

    /// Computes a vector of elements, and stores the elements that are written or kept.
    fn elements(
        &self,
        b: &mut KernelBuilder,
        walk: &Walk<'a>,
        at: &Row,
        channel: Value,
        active: Active,
    ) -> Result<Vec<Value>, Unsupported> {
        let flat = b.add(at.base, channel);
        let place = OutputPosition { pixel: at.row, pixel_offset: 0, channel, channel_offset: 0, flat };
        let kept = |b: &mut KernelBuilder, tensor: Tensor| {
            let (buffer, index) = self.keeper(tensor, channel, flat);
            let raw = b.load_active(buffer, index, 0, walk.lanes, active);
            widen(b, raw, self.schedule.facts.cx.element(tensor))
        };
        let given: Vec<Value> = walk.given.iter().zip(&at.given).map(|(&tensor, known)| known.unwrap_or_else(|| kept(b, tensor))).collect();
        let values = walk.work.values(b, &place, &given, &at.hoisted, walk.lanes, active)?;
        for &(element, tensor) in &walk.written {
            let stored = narrow(b, values[element], self.schedule.facts.cx.element(tensor));
            let (buffer, index) = self.keeper(tensor, channel, flat);
            b.store_active(buffer, index, 0, stored, active);
        }
        Ok(values)
    }

    /// Returns the buffer that keeps an element, and the element's index in it.
    fn keeper(&self, tensor: Tensor, channel: Value, flat: Value) -> (Buffer, Value) {
        match self.schedule.passes.keeper(tensor).unwrap_or(Keeper::Output(tensor)) {
            Keeper::Output(output) => (self.rows.outputs[&output], flat),
            Keeper::Scratch(number) => (self.rows.scratch[number], channel),
        }
    }
}

/// Splits the sums of all rows into the sums of each row.
fn of_rows(walk: &Walk<'_>, sums: Vec<Value>, rows: usize) -> Vec<Vec<Value>> {
    let mut sums = sums.into_iter();
    (0..rows).map(|_| sums.by_ref().take(walk.reduced.len()).collect()).collect()
}

/// A row, with the values that are loaded before the walk over its elements.
struct Row {
    row: Value,
    /// Number of elements before the row.
    base: Value,
    /// Given values in all lanes; `None` for operands that are kept in memory.
    given: Vec<Option<Value>>,
    hoisted: Loaded,
}
