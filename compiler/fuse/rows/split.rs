//! The instructions of a chain in bands.

use super::Split;
use super::chain::{ROWS, image};
use crate::fuse::band::{Band, Bands};
use crate::fuse::flow::{Flow, Item};
use crate::ir::operators::{Concat, Slice};
use crate::ir::{Definition, Extent, Function, Inst, InstData, Type, Value, ValueData};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Computes parts of chains, none of which overlaps another, in bands. The value at the end of each is then a concatenation. Each comes with
/// the number of its cut. Gives the values that are bands of others.
pub fn apply(flow: &mut Flow, splits: &[(usize, &Split)]) -> Bands {
    let mut bands = Bands::default();
    let mut inserted: FxHashMap<usize, Vec<Item>> = FxHashMap::default();
    let mut gone = FxHashSet::default();
    for &(cut, split) in splits {
        let band = Band { cut, number: 0, count: 0 };
        let mut writer = Writer { function: &mut flow.function, split, inserted: vec![], bands: Bands::default(), band };
        // `candidates` has found every band to see some of its operands.
        let Some(last) = writer.join() else { continue };
        bands.extend(writer.bands);
        inserted.insert(last, writer.inserted);
        gone.extend(split.links.iter().map(|link| link.position));
    }
    for (position, item) in std::mem::take(&mut flow.items).into_iter().enumerate() {
        match inserted.remove(&position) {
            Some(mut items) => flow.items.append(&mut items),
            None if gone.contains(&position) => {}
            None => flow.items.push(item),
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
    /// Computes all bands of the part's last value, which becomes their concatenation. Gives the place of the operator that computed it.
    fn join(&mut self) -> Option<usize> {
        let (last, end) = (self.split.links.last()?, *self.split.values.last()?);
        let [rows, ..] = image(self.function, end)?;
        let mut bands = Vec::new();
        self.band.count = rows.div_ceil(self.split.rows);
        for (start, number) in (0..rows).step_by(self.split.rows as usize).zip(0..) {
            self.band.number = number;
            bands.push(self.rows_of(self.split.links.len(), start..(start + self.split.rows).min(rows))?);
        }
        let data = &mut self.function.insts[last.inst];
        (data.operation, data.operands) = (Concat::along(ROWS).into(), bands);
        self.inserted.push(Item::Inst(last.inst));
        Some(last.position)
    }

    /// Some rows of value `number` of the part.
    fn rows_of(&mut self, number: usize, rows: Range<u64>) -> Option<Value> {
        let value = self.split.values[number];
        let Some(link) = number.checked_sub(1).map(|i| &self.split.links[i]) else { return Some(self.slice(value, rows)) };
        let (needed, low, high) = link.window.needs(&rows)?;
        let input = self.rows_of(number - 1, needed)?;
        let mut data = InstData { results: vec![], ..self.function.insts[link.inst].clone() };
        data.operation = data.operation.part(ROWS, low, high)?;
        for (i, operand) in data.operands.clone().into_iter().enumerate() {
            if operand == self.split.values[number - 1] {
                data.operands[i] = input;
            } else if link.kept.contains(&i) {
                data.operands[i] = self.slice(operand, rows.clone());
            }
        }
        Some(self.band(data, value, &rows))
    }

    /// Some rows of a tensor that exists: itself, if these are all.
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
        let data = InstData { operation, operands: vec![value], results: vec![], source, whole: None };
        self.band(data, value, &rows)
    }

    /// Adds an instruction whose result is some rows of a tensor.
    fn band(&mut self, mut data: InstData, whole: Value, rows: &Range<u64>) -> Value {
        let function = &mut *self.function;
        data.whole = data.whole.or(function.tensor(whole).static_elements());
        let inst: Inst = function.insts.push(data);
        let mut ty = function.tensor(whole).clone();
        ty.shape[ROWS] = Extent::Static(rows.end - rows.start);
        let name = function.values[whole].name.as_ref().map(|name| format!("{name} rows {}..{}", rows.start, rows.end));
        let value = function.values.push(ValueData { ty: Type::Tensor(ty), definition: Definition::Result(inst, 0), name });
        function.insts[inst].results.push(value);
        self.inserted.push(Item::Inst(inst));
        self.bands.insert(value, self.band);
        value
    }
}
