//! The instructions of a chain in bands.

use super::Split;
use super::chain::Link;
use super::rearranged::outermost;
use super::window::{Border, ROWS};
use crate::fuse::band::{Band, Bands};
use crate::fuse::flow::{Flow, Item};
use crate::ir::operators::{Concat, Reshape, Slice};
use crate::ir::{Definition, Extent, Function, Inst, InstData, Op, Operation, TensorType, Type, Value, ValueData};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Computes disjoint parts of chains in bands, each with the number of its cut. The value at the end of each part becomes a concatenation.
/// Returns the values that are bands of others.
pub fn apply(flow: &mut Flow, splits: &[(usize, &Split)]) -> Bands {
    let mut bands = Bands::default();
    let mut inserted: FxHashMap<Inst, Vec<Item>> = FxHashMap::default();
    let mut gone = FxHashSet::default();
    for &(cut, split) in splits {
        let band = Band { cut, number: 0, count: 0 };
        let mut writer = Writer { function: &mut flow.function, split, inserted: vec![], bands: Bands::default(), band };
        // `candidates` made sure that every band reads some rows of its operands.
        let Some(last) = writer.join() else { continue };
        bands.extend(writer.bands);
        inserted.insert(last, writer.inserted);
        gone.extend(split.links.iter().flat_map(|link| link.before.iter().copied().chain([link.inst])));
    }
    for item in std::mem::take(&mut flow.items) {
        match &item {
            Item::Inst(inst) if gone.contains(inst) => flow.items.extend(inserted.remove(inst).unwrap_or_default()),
            _ => flow.items.push(item),
        }
    }
    bands
}

struct Writer<'a> {
    function: &'a mut Function,
    split: &'a Split,
    inserted: Vec<Item>,
    bands: Bands,
    /// The band that is being written.
    band: Band,
}

impl Writer<'_> {
    /// Computes all bands of the part's last value, which becomes their concatenation. Returns the concatenation.
    fn join(&mut self) -> Option<Inst> {
        let last = self.split.links.last()?;
        let mut bands = Vec::new();
        self.band.count = self.split.division.count();
        for (rows, number) in self.split.division.bands().zip(0..) {
            self.band.number = number;
            bands.push(self.rows_of(self.split.links.len(), rows)?);
        }
        let data = &mut self.function.insts[last.inst];
        (data.operation, data.operands) = (Concat::along(ROWS).into(), bands);
        self.inserted.push(Item::Inst(last.inst));
        Some(last.inst)
    }

    /// Returns some rows of value `number` of the part.
    fn rows_of(&mut self, number: usize, rows: Range<u64>) -> Option<Value> {
        let value = self.split.values[number];
        let Some(link) = number.checked_sub(1).map(|i| &self.split.links[i]) else { return Some(self.slice(value, rows)) };
        let needs = link.window.needs(&rows)?;
        let input = self.rows_of(number - 1, needs.rows)?;
        let input = link.before.iter().try_fold(input, |input, &inst| self.groups_of(inst, input))?;
        let mut data = InstData { results: vec![], ..self.function.insts[link.inst].clone() };
        data.operation = self.operation(link, &needs.computed, needs.border)?;
        let read = link.before.last().map_or(self.split.values[number - 1], |&inst| self.function.insts[inst].results[0]);
        for (i, operand) in data.operands.clone().into_iter().enumerate() {
            if operand == read {
                data.operands[i] = input;
            } else if link.kept.contains(&i) {
                data.operands[i] = self.slice(operand, rows.clone());
            }
        }
        let computed = self.band(data, value, &needs.computed);
        Some(self.slice(computed, rows.start - needs.computed.start..rows.end - needs.computed.start))
    }

    /// Returns the operation that computes some rows of a link's value.
    fn operation(&self, link: &Link, rows: &Range<u64>, border: Border) -> Option<Operation> {
        let data = &self.function.insts[link.inst];
        if link.before.is_empty() {
            return data.operation.part(ROWS, border.above, border.below);
        }
        let mut shape = self.function.tensor(data.results[0]).shape.clone();
        shape[ROWS] = Extent::Static(rows.end - rows.start);
        Some(Reshape { shape }.into())
    }

    /// Copies an operator inside a rearrangement for the groups of rows that `operand` holds.
    fn groups_of(&mut self, inst: Inst, operand: Value) -> Option<Value> {
        let whole = InstData { results: vec![], operands: vec![operand], ..self.function.insts[inst].clone() };
        let result = self.function.insts[inst].results[0];
        let (elements, all) = (self.function.tensor(operand).static_elements()?, self.function.tensor(result).static_elements()?);
        let groups = outermost(self.function, result)?;
        let mut ty = self.function.tensor(result).clone();
        ty.shape[groups.axis] = Extent::Static(groups.extent * elements / all);
        let operation = if whole.op() == Op::Reshape { Reshape { shape: ty.shape.clone() }.into() } else { whole.operation.clone() };
        Some(self.insert(InstData { operation, ..whole }, ty, None))
    }

    /// Slices rows of an existing tensor; returns the tensor itself if these are all its rows.
    fn slice(&mut self, value: Value, rows: Range<u64>) -> Value {
        let shape: Vec<Extent> = self.function.tensor(value).shape.clone();
        if shape[ROWS] == Extent::Static(rows.end - rows.start) {
            return value;
        }
        let mut start = vec![Extent::Static(0); shape.len()];
        start[ROWS] = Extent::Static(rows.start);
        let mut size = shape.clone();
        size[ROWS] = Extent::Static(rows.end - rows.start);
        let operation = Slice { start, size, stride: vec![1; shape.len()] }.into();
        let source = self.function.insts[self.split.links[0].inst].source;
        let data = InstData { operation, operands: vec![value], results: vec![], source };
        self.band(data, value, &rows)
    }

    /// Adds an instruction whose result is some rows of a tensor.
    fn band(&mut self, data: InstData, whole: Value, rows: &Range<u64>) -> Value {
        let function = &*self.function;
        let mut ty = function.tensor(whole).clone();
        ty.shape[ROWS] = Extent::Static(rows.end - rows.start);
        let name = function.values[whole].name.as_ref().map(|name| format!("{name} rows {}..{}", rows.start, rows.end));
        self.insert(data, ty, name)
    }

    /// Adds an instruction with a result.
    fn insert(&mut self, data: InstData, ty: TensorType, name: Option<String>) -> Value {
        let inst: Inst = self.function.insts.push(data);
        let value = self.function.values.push(ValueData { ty: Type::Tensor(ty), definition: Definition::Result(inst, 0), name });
        self.function.insts[inst].results.push(value);
        self.inserted.push(Item::Inst(inst));
        self.bands.insert(value, self.band);
        value
    }
}
