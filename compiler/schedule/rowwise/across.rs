//! Short rows side by side: each lane of a vector has a row. A vector along a short row would be half empty, and work that is done once a row would
//! use one lane. Elements are transposed to [columns](super::columns) in scratch memory, and results are transposed back.

use super::columns::Columns;
use super::facts::Facts;
use super::fold::{Fold, narrow_extreme};
use super::passes::{Keeper, Pass, Passes};
use crate::fuse::Epilogue;
use crate::ir::Value as Tensor;
use crate::schedule::context::Context;
use crate::schedule::elementwise::access::{Access, Picked, access};
use crate::schedule::elementwise::lanes::memory_lane;
use crate::schedule::elementwise::operands::ElementWise;
use crate::schedule::quantity::Quantity;
use crate::schedule::reductions::reduction::Reduction;
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;

/// Minimum cost of an element that is kept in memory rather than computed again. Its memory is near, and its vectors are full.
const KEPT_FROM: u64 = 3;
/// Maximum elements of a tensor's columns, if rows take more than one register.
const MOST_ELEMENTS: u64 = 1024;
/// Maximum length of rows for which most work is done once a row. Four registers of such rows are side by side.
const SHORTEST: u64 = 8;
/// Inverse of the share of rows that may be missing in the last vectors, if rows take more than one register.
const MOST_EMPTY: u64 = 8;
/// Maximum length of rows. Longer ones have enough full vectors.
const LONGEST: u64 = 64;

/// A way to compute several rows at once.
pub(super) struct Across<'a> {
    pub cx: Context<'a>,
    pub shape: Columns<'a>,
    pub steps: Vec<Step<'a>>,
    /// Tensors whose elements are in columns. Some share their columns with another tensor.
    pub columns: Vec<Tensor>,
    pub places: FxHashMap<Tensor, usize>,
    /// Inputs that are read as columns.
    pub inputs: Vec<Tensor>,
}

/// Work of one pass: once for each row before it, and for each element.
pub(super) struct Step<'a> {
    pub numbers: Option<Work<'a>>,
    pub walk: Option<Work<'a>>,
    /// Elements that are written or kept, by their number among the results of the walk.
    pub written: Vec<(usize, Tensor)>,
    /// Reductions during the walk: the number of the reduced result, the reduction, and its result.
    pub carried: Vec<(usize, Reduction, Tensor)>,
    /// Reductions of columns. Reductions of inputs run before the walk, which may overwrite the columns; others run after it.
    pub folded: Vec<Folded>,
}

/// A reduction of columns.
pub(super) struct Folded {
    pub source: Tensor,
    pub is_of_input: bool,
    pub result: Tensor,
    pub fold: Fold,
}

/// Element-wise work whose operands are all given in registers.
#[derive(Clone)]
pub(super) struct Work<'a> {
    pub work: ElementWise<'a>,
    pub operands: Vec<(Tensor, Operand)>,
    pub results: Vec<Tensor>,
}

/// Origin of an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// A value of each row that is in a register.
    Known,
    /// Columns, by their number.
    Column(usize),
    /// Memory with one element for each row. The next two variants have one for each place in a row, and only one.
    Row,
    Channel,
    Single,
}

impl<'a> Across<'a> {
    /// Makes a schedule for rows side by side. `None` if rows are long, few or of run-time length, if operands have other accesses, or if vectors are
    /// not registers.
    ///
    /// # Errors
    /// [`Unsupported`] for shapes and types without lowering.
    pub fn new(rows: &Facts<'a>) -> Result<Option<Self>, Unsupported> {
        let Some(length) = rows.length.as_known().and_then(|n| u16::try_from(n).ok()) else { return Ok(None) };
        if !rows.cx.uses(Technique::SideBySide) || !rows.cx.writes_out() || !rows.cx.machine.combines_lanes() || u64::from(length) > LONGEST
        {
            return Ok(None);
        }
        let passes = Passes::new(&rows.cx, rows.rows, KEPT_FROM);
        let mut planner = Planner { rows, passes: &passes, columns: vec![], places: FxHashMap::default(), inputs: vec![] };
        planner.place_all();
        let bits: Vec<u32> = planner.places.keys().map(|&tensor| rows.cx.element(tensor).bits()).collect();
        let (Some(&least), Some(&most)) = (bits.iter().min(), bits.iter().max()) else { return Ok(None) };
        let count = rows.count();
        let together = together(&rows.cx, least.div_ceil(8), length.into(), count.as_known().and_then(|n| u64::try_from(n).ok()));
        if most > 32 || 2 * count.most(rows.cx.function)? < u64::from(together) {
            return Ok(None);
        }
        let steps: Option<Vec<Step<'a>>> = passes.list.iter().map(|pass| planner.step(pass)).collect::<Result<Option<Vec<_>>, _>>()?;
        let Some(steps) = steps else { return Ok(None) };
        let columns = Columns { machine: rows.cx.machine, rows: together, present: together, length };
        Ok(Some(Self { cx: rows.cx, shape: columns, steps, columns: planner.columns, places: planner.places, inputs: planner.inputs }))
    }

    /// Returns the number of rows side by side.
    pub fn together(&self) -> u16 {
        self.shape.rows
    }

    /// Returns the bytes of the scratch buffers.
    pub fn scratch(&self) -> Vec<u64> {
        let bytes = |tensor: &Tensor| u64::from(self.cx.element(*tensor).bits().div_ceil(8));
        self.columns.iter().map(|tensor| bytes(tensor) * self.shape.elements()).collect()
    }
}

/// Returns the number of rows side by side, for elements of at least `least_bytes`. Rows take one register of words, or more, which hide each other's
/// latency. More are taken only if the last rows of a known number leave few lanes empty.
fn together(cx: &Context<'_>, least_bytes: u32, length: u64, count: Option<u64>) -> u16 {
    let (machine, words) = (cx.machine, cx.machine.lanes(4));
    let most = if machine.registers.count() >= 32 && length <= SHORTEST { 4 } else { 2 };
    let sizes = [4, 2].into_iter().filter(|&n| n <= most).map(|n| n * words);
    let fits = |rows: u16| rows <= machine.lanes(least_bytes) && u64::from(rows) * length <= MOST_ELEMENTS;
    let fills = |rows: u16| count.is_none_or(|count| (count.next_multiple_of(rows.into()) - count) * MOST_EMPTY <= count);
    sizes.into_iter().find(|&rows| fits(rows) && fills(rows)).unwrap_or(words)
}

/// Search for a way to compute rows side by side.
struct Planner<'p, 'a> {
    rows: &'p Facts<'a>,
    passes: &'p Passes,
    columns: Vec<Tensor>,
    places: FxHashMap<Tensor, usize>,
    inputs: Vec<Tensor>,
}

impl<'a> Planner<'_, 'a> {
    fn is_computed(&self, tensor: Tensor) -> bool {
        self.rows.cx.group.insts.iter().any(|&inst| self.rows.cx.function.insts[inst].results.contains(&tensor))
    }

    /// Assigns columns to all tensors that are read, kept or written. An output takes the columns of an input that is not read after the output is
    /// written.
    fn place_all(&mut self) {
        let (cx, passes) = (self.rows.cx, self.passes);
        for tensor in cx.group.inputs(cx.function).into_iter().filter(|&v| self.rows.is_wide(v)) {
            self.inputs.push(tensor);
            self.place(tensor);
        }
        let outputs: Vec<Tensor> = cx.group.outputs.iter().copied().filter(|&v| self.rows.is_wide(v)).collect();
        for &output in &outputs {
            let is_free = |input: &&Tensor| {
                let taken = outputs.iter().any(|other| self.places.get(other) == Some(&self.places[*input]));
                let alike = memory_lane(cx.element(**input)) == memory_lane(cx.element(output));
                alike && !taken && passes.last_read(**input) <= passes.first_write(output)
            };
            match self.inputs.iter().find(is_free).map(|input| self.places[input]) {
                Some(place) => _ = self.places.insert(output, place),
                None => self.place(output),
            }
        }
        for &(kept, keeper) in &passes.kept {
            match keeper {
                Keeper::Output(output) => _ = self.places.insert(kept, self.places[&output]),
                Keeper::Scratch(_) => self.place(kept),
            }
        }
    }

    fn place(&mut self, tensor: Tensor) {
        if !self.places.contains_key(&tensor) {
            self.places.insert(tensor, self.columns.len());
            self.columns.push(tensor);
        }
    }

    /// Plans a pass. `None` if an operand has another access, or if rows side by side do not pay.
    fn step(&mut self, pass: &Pass) -> Result<Option<Step<'a>>, Unsupported> {
        let (mut carried, mut folded) = (vec![], vec![]);
        let mut needed = vec![false; pass.elements.len()];
        for &(inst, element) in &pass.reductions {
            let (source, result) = (pass.elements[element], self.rows.cx.function.insts[inst].results[0]);
            let reduction = self.rows.reduction(inst)?;
            let is_read = !self.is_computed(source);
            let extreme = narrow_extreme(&reduction, self.rows.cx.element(source)).filter(|_| is_read);
            match extreme {
                Some(op) => folded.push(Folded { source, is_of_input: is_read, result, fold: Fold::Narrow(op) }),
                None if reduction.is_of_floats() => {
                    needed[element] |= !is_read;
                    self.place(source);
                    folded.push(Folded { source, is_of_input: is_read, result, fold: Fold::InOrder(reduction, self.rows.lanes_of(inst)) });
                }
                None => {
                    needed[element] = true;
                    carried.push((element, reduction, result));
                }
            }
        }
        let is_written = |tensor: &Tensor| self.is_computed(*tensor) && self.places.contains_key(tensor);
        let written: Vec<(usize, Tensor)> = pass.elements.iter().copied().enumerate().filter(|(_, v)| is_written(v)).collect();
        written.iter().for_each(|&(element, _)| needed[element] = true);
        let mut shape = self.rows.shape.clone();
        let walk = match needed.contains(&true) {
            true => self.work(&pass.work, &pass.elements, &shape)?,
            false => None,
        };
        shape.iter_mut().rev().take(1).for_each(|last| *last = Quantity::known(1));
        let numbers = match &pass.numbers {
            Some((work, results)) => self.work(work, results, &shape)?,
            None => None,
        };
        let in_order = folded.iter().any(|folded| matches!(folded.fold, Fold::InOrder(..)));
        let is_lost =
            in_order && !self.is_worth_turning() || walk.is_none() && needed.contains(&true) || numbers.is_none() && pass.numbers.is_some();
        let keeps_nan = folded.iter().any(|folded| matches!(&folded.fold, Fold::InOrder(reduction, _) if reduction.keeps_nan()));
        Ok((!is_lost && !keeps_nan).then_some(Step { numbers, walk, written, carried, folded }))
    }

    /// Tests whether rows of floats are worth a transpose. A transpose costs about as much as a little work on the rows, so it pays if vectors along
    /// the row are not full.
    fn is_worth_turning(&self) -> bool {
        let (machine, words) = (self.rows.cx.machine, u64::from(self.rows.cx.machine.lanes(4)));
        match machine.picked_lanes {
            Some(_) => !self.rows.longest.is_multiple_of(words),
            None => 2 * self.rows.longest <= words,
        }
    }

    /// Plans some work on a shape, with all operands given. `None` if an operand has another access.
    fn work(&self, work: &Epilogue, results: &[Tensor], shape: &[Quantity]) -> Result<Option<Work<'a>>, Unsupported> {
        let cx = self.rows.cx;
        for &result in results {
            memory_lane(cx.element(result))?;
        }
        let operand = |tensor: Tensor| match self.places.get(&tensor) {
            Some(&place) => Some(Operand::Column(place)),
            None if self.is_computed(tensor) => Some(Operand::Known),
            None if Picked::new(&cx, tensor).is_some() => None,
            None => match access(&cx.quantities(tensor), shape) {
                Access::Single => Some(Operand::Single),
                Access::Pixel | Access::Same => Some(Operand::Row),
                Access::Channel => Some(Operand::Channel),
                Access::Strided(_) | Access::Picked(_) => None,
            },
        };
        let operands: Option<Vec<_>> = work.operands.iter().map(|&tensor| Some((tensor, operand(tensor)?))).collect();
        let Some(operands) = operands else { return Ok(None) };
        let work = ElementWise::step(cx, work, &work.operands, shape.to_vec())?;
        let is_given = work.accesses().next().is_none();
        Ok(is_given.then(|| Work { work, operands, results: results.to_vec() }))
    }
}

impl Operand {
    /// Tests whether the operand is read from memory without a transpose.
    pub fn is_in_memory(self) -> bool {
        matches!(self, Self::Row | Self::Channel | Self::Single)
    }
}
