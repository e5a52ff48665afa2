//! Code of rows that are computed side by side.

use super::across::{Across, Operand, Step, Work};
use super::columns::Columns;
use super::fold::folded;
use crate::ir::{ElementType, Value as Tensor};
use crate::kernel::{Buffer, KernelBuilder, Value};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::elementwise::lanes::{exact, memory_lane, narrow, widen};
use crate::schedule::pair::Pair;
use crate::schedule::unsupported::Unsupported;
use rustc_hash::FxHashMap;

/// The buffers of a kernel.
struct Memory {
    columns: Vec<Buffer>,
    tensors: FxHashMap<Tensor, Buffer>,
}

/// Some rows of a kernel: the first one, and their number.
#[derive(Clone, Copy)]
struct Rows {
    first: Value,
    present: u16,
}

/// Declared buffers and work of rows side by side in a kernel.
pub(super) struct Written<'k, 'a> {
    across: &'k Across<'a>,
    steps: Vec<(Option<Work<'a>>, Option<Work<'a>>)>,
    memory: Memory,
}

impl<'a> Across<'a> {
    /// Declares the buffers. `first` is the number of the first scratch buffer. `outputs` are already declared.
    ///
    /// # Errors
    /// [`Unsupported`] for element types without arithmetic.
    pub fn declare<'k>(
        &'k self,
        b: &mut KernelBuilder,
        arguments: &mut Arguments,
        shared: &[Pair],
        (first, outputs): (usize, &FxHashMap<Tensor, Buffer>),
    ) -> Result<Written<'k, 'a>, Unsupported> {
        let cx = self.cx;
        let mut tensors = outputs.clone();
        let works = self.steps.iter().flat_map(|step| step.numbers.iter().chain(&step.walk));
        let read = works.flat_map(|work| &work.operands).filter(|(_, operand)| operand.is_in_memory()).map(|(tensor, _)| *tensor);
        for tensor in self.inputs.iter().copied().chain(read) {
            if !tensors.contains_key(&tensor) {
                let elements = Elements::new(memory_lane(cx.element(tensor))?, cx.most_elements(tensor)?);
                tensors.insert(tensor, arguments.operand(b, format!("rows{}", tensors.len()), tensor, elements, shared));
            }
        }
        let mut declare = |work: &Option<Work<'a>>| {
            let mut work = work.clone();
            if let Some(work) = &mut work {
                work.work.declare(b, arguments, shared)?;
            }
            Ok(work)
        };
        let steps = self.steps.iter().map(|step| Ok((declare(&step.numbers)?, declare(&step.walk)?)));
        let steps = steps.collect::<Result<Vec<_>, Unsupported>>()?;
        let mut columns = Vec::new();
        for (i, &tensor) in self.columns.iter().enumerate() {
            let (lane, count) = (memory_lane(cx.element(tensor))?, self.shape.elements());
            columns.push(arguments.scratch(b, format!("columns{i}"), first + i, lane, count));
        }
        Ok(Written { across: self, steps, memory: Memory { columns, tensors } })
    }
}

impl<'a> Written<'_, 'a> {
    /// Returns the number of rows side by side.
    pub fn together(&self) -> u16 {
        self.across.together()
    }

    /// Returns the scratch buffers of the columns.
    pub fn columns(&self) -> &[Buffer] {
        &self.memory.columns
    }

    /// Computes rows from `row` on. `present` is the number of rows side by side, or less for the last ones.
    ///
    /// # Errors
    /// [`Unsupported`] for operations without lowering.
    pub fn rows(&self, b: &mut KernelBuilder, row: Value, present: u16) -> Result<(), Unsupported> {
        let columns = Columns { present, ..self.across.shape };
        let row = Rows { first: row, present };
        let first = b.scale_index(row.first, columns.length.into(), 0);
        for &input in &self.across.inputs {
            columns.load(b, (self.memory.tensors[&input], first), self.columns_of(input));
        }
        let mut known = FxHashMap::default();
        for (step, (numbers, walk)) in self.across.steps.iter().zip(&self.steps) {
            if let Some(numbers) = numbers {
                self.numbers(b, numbers, row, &mut known)?;
            }
            self.fold(b, step, true, &mut known);
            if let Some(walk) = walk {
                self.walk(b, (step, walk), row, &mut known)?;
            }
            self.fold(b, step, false, &mut known);
        }
        for &output in self.across.cx.group.outputs.iter().filter(|output| self.across.places.contains_key(output)) {
            columns.store(b, self.columns_of(output), (self.memory.tensors[&output], first));
        }
        Ok(())
    }

    fn element(&self, tensor: Tensor) -> ElementType {
        self.across.cx.element(tensor)
    }

    fn columns_of(&self, tensor: Tensor) -> Buffer {
        self.memory.columns[self.across.places[&tensor]]
    }

    /// Computes the values that each row has once.
    fn numbers(
        &self,
        b: &mut KernelBuilder,
        numbers: &Work<'a>,
        row: Rows,
        known: &mut FxHashMap<Tensor, Value>,
    ) -> Result<(), Unsupported> {
        let zero = b.index(0);
        let given: Vec<Option<Value>> = numbers.operands.iter().map(|operand| self.given(b, numbers, operand, row, known)).collect();
        for (&result, value) in numbers.results.iter().zip(self.values(b, numbers, &given, zero)?) {
            let value = exact(b, value, self.element(result));
            known.insert(result, value);
            if let Some(&buffer) = self.memory.tensors.get(&result) {
                let stored = narrow(b, value, self.element(result));
                b.store_active(buffer, row.first, 0, stored, row.present);
            }
        }
        Ok(())
    }

    /// Walks over the columns of some rows.
    fn walk(
        &self,
        b: &mut KernelBuilder,
        (step, walk): (&Step<'a>, &Work<'a>),
        row: Rows,
        known: &mut FxHashMap<Tensor, Value>,
    ) -> Result<(), Unsupported> {
        let Columns { rows, length, .. } = self.across.shape;
        let given: Vec<Option<Value>> = walk.operands.iter().map(|operand| self.given(b, walk, operand, row, known)).collect();
        let first: Vec<Value> = step.carried.iter().map(|(_, reduction, _)| reduction.neutral(b, rows)).collect();
        let (start, end) = (b.index(0), b.index(length.into()));
        let mut inside = Ok(());
        let totals = b.for_carry(start, end, 1, &first, |b, column, totals| {
            let values = match self.values(b, walk, &given, column) {
                Ok(values) => values,
                Err(error) => {
                    inside = Err(error);
                    return totals.to_vec();
                }
            };
            let at = b.scale_index(column, rows.into(), 0);
            for &(element, tensor) in &step.written {
                let stored = narrow(b, values[element], self.element(tensor));
                b.store(self.columns_of(tensor), at, 0, stored);
            }
            let more = step.carried.iter().zip(totals);
            more.map(|((element, reduction, _), &total)| reduction.combine(b, total, values[*element])).collect()
        });
        inside?;
        for ((element, reduction, result), total) in step.carried.iter().zip(totals) {
            let total = reduction.finish(b, &walk.work, *element, total);
            known.insert(*result, total);
        }
        Ok(())
    }

    /// Loads an operand that is the same in all columns. `None` if it differs between columns.
    fn given(
        &self,
        b: &mut KernelBuilder,
        work: &Work<'a>,
        &(tensor, operand): &(Tensor, Operand),
        row: Rows,
        known: &FxHashMap<Tensor, Value>,
    ) -> Option<Value> {
        let (rows, element) = (self.across.shape.rows, self.element(tensor));
        let in_bytes = work.work.takes_bytes(tensor);
        let raw = match operand {
            Operand::Known if in_bytes => return Some(narrow(b, known[&tensor], element)),
            Operand::Known => return Some(known[&tensor]),
            Operand::Row => b.load_active(self.memory.tensors[&tensor], row.first, 0, rows, row.present),
            Operand::Single => {
                let zero = b.index(0);
                b.load_splat(self.memory.tensors[&tensor], zero, 0, rows)
            }
            Operand::Column(_) | Operand::Channel => return None,
        };
        Some(if in_bytes { raw } else { widen(b, raw, element) })
    }

    /// Computes the results of some work in a column.
    fn values(&self, b: &mut KernelBuilder, work: &Work<'a>, given: &[Option<Value>], column: Value) -> Result<Vec<Value>, Unsupported> {
        let rows = self.across.shape.rows;
        let mut values = Vec::with_capacity(given.len());
        for (&(tensor, operand), given) in work.operands.iter().zip(given) {
            let raw = match (given, operand) {
                (Some(value), _) => {
                    values.push(*value);
                    continue;
                }
                (None, Operand::Column(place)) => {
                    let at = b.scale_index(column, rows.into(), 0);
                    b.load(self.memory.columns[place], at, 0, rows)
                }
                (None, _) => b.load_splat(self.memory.tensors[&tensor], column, 0, rows),
            };
            values.push(if work.work.takes_bytes(tensor) { raw } else { widen(b, raw, self.element(tensor)) });
        }
        work.work.values_of(b, &values, rows)
    }

    /// Reduces the columns of inputs, or the columns that a walk has written.
    fn fold(&self, b: &mut KernelBuilder, step: &Step<'a>, of_inputs: bool, known: &mut FxHashMap<Tensor, Value>) {
        let Columns { rows, length, .. } = self.across.shape;
        for reduced in step.folded.iter().filter(|folded| folded.is_of_input == of_inputs) {
            let (buffer, element) = (self.columns_of(reduced.source), self.element(reduced.source));
            let total = folded(b, (&reduced.fold, element), rows, length, |b, column| {
                let zero = b.index(0);
                b.load(buffer, zero, i64::from(column * rows), rows)
            });
            known.insert(reduced.result, total);
        }
    }
}
