//! The operands of element-wise work, and the buffers that they come from.

use super::access::{Access, Picked, Starts, access, fits};
use super::epilogue::{epilogue_of, identity};
use super::lanes::memory_lane;
use super::look_ups::{AsStored, TABLE_ALIGNMENT, add_extremes, look_ups, only_stored};
use super::ranges::{Range, ranges};
use super::requantize::Requantizer;
use super::specialise::{Accumulator, Source, Specialised, specialise};
use super::sums::SumRanges;
use crate::ir::{self, ElementType, ScalarOp, Value as Tensor};
use crate::kernel::{Buffer, KernelBuilder, Lane};
use crate::schedule::arguments::{Arguments, Elements};
use crate::schedule::context::Context;
use crate::schedule::pair::Pair;
use crate::schedule::quantity::{Cells, Number, Quantity, product};
use crate::schedule::technique::Technique;
use crate::schedule::unsupported::Unsupported;
use cranelift_entity::EntityRef;
use std::sync::Arc;

/// Maximum operands of work that unrolls by four: four registers for each value then fit into 32.
const MOST_OPERANDS: usize = 3;

/// An input of the expression that is read from memory.
#[derive(Clone)]
pub(super) struct Operand {
    /// Tensor or table that is read.
    pub source: Source,
    /// Type of the elements.
    pub element: ElementType,
    /// Relation between output positions and elements.
    pub access: Access,
    /// `true` if it is only used in the form that it has in memory.
    pub is_stored: bool,
    /// Buffer, once it is declared.
    pub buffer: Option<Buffer>,
    /// Buffers with the starts of picked slices, for each dimension that is picked along.
    pub starts: Vec<Option<Buffer>>,
}

/// Position of a given tensor that the expression does not read.
pub(super) const NO_INPUT: usize = usize::MAX;

/// Element-wise work on the positions of one output shape. A schedule keeps the analysis; each kernel declares buffers in a copy.
#[derive(Clone)]
pub struct ElementWise<'a> {
    pub(super) cx: Context<'a>,
    pub(super) shape: Vec<Quantity>,
    /// Extents of the shape and strides of each operand, as kernel values. Both are loaded only if an operand has strides.
    pub(super) extents: Vec<Number>,
    pub(super) strides: Vec<Vec<Number>>,
    /// Positions of the inputs that are not read from memory: a root's result, or values that a kernel has in registers.
    pub(super) given: Vec<usize>,
    pub(super) special: Arc<Specialised>,
    pub(super) operands: Vec<Operand>,
    pub(super) as_stored: Arc<AsStored>,
    pub(super) tables: Vec<(ir::Constant, Option<Buffer>)>,
    pub(super) outputs: Vec<(Tensor, Option<Buffer>)>,
}

impl<'a> ElementWise<'a> {
    /// Analyses the element-wise work of a group. `range` bounds the accumulator, if there is one.
    ///
    /// # Errors
    /// [`Unsupported`] if a shape is dynamic or an element type has no arithmetic.
    pub fn new(cx: Context<'a>, range: Option<ir::Interval>) -> Result<Self, Unsupported> {
        let result = cx.group.root().map(|r| cx.function.insts[r].results[0]);
        let accumulator = result.map(|value| Accumulator { value, range, channels: &[], takes_offsets: false });
        let shape = cx.quantities(cx.group.outputs[0]);
        Self::of(cx, &epilogue_of(&cx), accumulator, result.as_slice(), cx.group.outputs.clone(), shape)
    }

    /// Analyses the element-wise work of a contraction that replaces its group's epilogue. Its sums begin with [`Self::offsets`].
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn with_epilogue(cx: Context<'a>, epilogue: &crate::fuse::Epilogue, ranges: &SumRanges) -> Result<Self, Unsupported> {
        let result = cx.group.root().map(|r| cx.function.insts[r].results[0]);
        let accumulator = result.map(|value| Accumulator {
            value,
            range: ranges.all,
            channels: &ranges.channels,
            takes_offsets: cx.element(value) == ElementType::I32,
        });
        let shape = cx.quantities(cx.group.outputs[0]);
        Self::of(cx, epilogue, accumulator, result.as_slice(), cx.group.outputs.clone(), shape)
    }

    /// Analyses the input of a window or reduction: its operand, or the group's prologue.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn reader(cx: Context<'a>, operand: Tensor) -> Result<Self, Unsupported> {
        let whole = identity(&cx, operand);
        let work = cx.group.prologue().unwrap_or(&whole);
        Self::of(cx, work, None, &[], vec![], cx.quantities(operand))
    }

    /// Analyses a step of a kernel that has some operands in registers and stores the results itself. Positions are positions of `shape`.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn step(cx: Context<'a>, work: &crate::fuse::Epilogue, given: &[Tensor], shape: Vec<Quantity>) -> Result<Self, Unsupported> {
        Self::of(cx, work, None, given, vec![], shape)
    }

    fn of(
        cx: Context<'a>,
        work: &crate::fuse::Epilogue,
        accumulator: Option<Accumulator<'_>>,
        given: &[Tensor],
        outputs: Vec<Tensor>,
        shape: Vec<Quantity>,
    ) -> Result<Self, Unsupported> {
        let special = specialise(&cx, work, accumulator);
        let input = |value: &Tensor| special.sources.iter().position(|s| matches!(s, Source::Tensor(v) if v == value));
        let given: Vec<usize> = given.iter().map(|value| input(value).unwrap_or(NO_INPUT)).collect();
        let as_stored = as_stored(&cx, &special.expression, &given);
        let only_stored = only_stored(&special.expression, &as_stored, &special.ranges);
        let mut operands = Vec::new();
        for (i, source) in special.sources.iter().enumerate() {
            let (element, access) = match source {
                Source::Tensor(value) => {
                    let operand = cx.quantities(*value);
                    if !fits(&operand, &shape) {
                        return Err(Unsupported::ExtentsMayDiffer);
                    }
                    let picked = Picked::new(&cx, *value);
                    (cx.element(*value), picked.map_or_else(|| access(&operand, &shape), Access::Picked))
                }
                Source::Channels(element, _) => (*element, Access::Channel),
            };
            memory_lane(element)?;
            let is_stored = only_stored.contains(&i);
            operands.push(Operand { source: source.clone(), element, access, is_stored, buffer: None, starts: vec![] });
        }
        let mut tables = Vec::new();
        for node in special.expression.nodes.values() {
            if let ir::ScalarOp::Lut(table) = node.op
                && !tables.iter().any(|(t, _)| *t == table)
            {
                tables.push((table, None));
            }
        }
        for &output in &outputs {
            memory_lane(cx.element(output))?;
        }
        let outputs = outputs.into_iter().map(|v| (v, None)).collect();
        let (special, as_stored) = (Arc::new(special), Arc::new(as_stored));
        Ok(Self { cx, shape, extents: vec![], strides: vec![], given, special, operands, as_stored, tables, outputs })
    }

    /// Returns the numbers that are added to the first sum of each output channel: none, one for all channels, or one for each channel.
    pub fn offsets(&self) -> &[i32] {
        &self.special.offsets
    }

    /// Returns the output's shape.
    pub fn shape(&self) -> &[Quantity] {
        &self.shape
    }

    /// Returns the accesses of the inputs that are read from memory.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.used().map(|i| &self.operands[i].access)
    }

    /// Tests whether every operand is one number or has the output's own layout. The whole output is then one row.
    pub fn is_flat(&self) -> bool {
        self.accesses().all(|access| matches!(access, Access::Single | Access::Same))
    }

    /// Tests whether an operand has strides or is picked. Such operands need a loop for each dimension.
    pub fn follows_dimensions(&self) -> bool {
        self.accesses().any(|access| matches!(access, Access::Strided(_) | Access::Picked(_)))
    }

    /// Tests whether the work has a requantized product of two integers and reads an operand per channel, but none per pixel.
    pub fn repeats_factors(&self) -> bool {
        let is_factor = |i: usize| self.operands[i].access == Access::Channel && matches!(self.operands[i].source, Source::Tensor(_));
        let is_product = |requantizer: &Requantizer| matches!(requantizer, Requantizer::ProductOfTwo(_));
        self.special.requantizers.values().any(is_product)
            && self.used().any(is_factor)
            && self.accesses().all(|access| *access != Access::Pixel)
    }

    /// Tests whether a result of [`Self::values`] may be outside its narrow type until it is stored: see [`Evaluator::run`].
    pub fn saturates(&self, result: usize) -> bool {
        let expression = &self.special.expression;
        let data = &expression.nodes[expression.results[result]];
        matches!(data.op, ir::ScalarOp::Convert | ir::ScalarOp::ConvertSaturating)
    }

    /// Returns the range of a result, computed from the operands' ranges.
    pub fn range(&self, result: usize) -> Range {
        let expression = &self.special.expression;
        ranges(expression, &self.special.ranges)[expression.results[result].index()]
    }

    /// Keeps the elements of a byte tensor as they are in memory, if the work only copies them. Returns `true` if they are kept.
    pub fn keep_bytes(&mut self) -> bool {
        let expression = &self.special.expression;
        let (ir::ScalarOp::Input(input), [operand]) = (expression.nodes[expression.results[0]].op, &mut self.operands[..]) else {
            return false;
        };
        operand.is_stored = input == 0 && matches!(operand.element, ElementType::I8 | ElementType::U8);
        operand.is_stored
    }

    /// Returns the number of operations for each element.
    pub fn operations(&self) -> u64 {
        self.special.expression.nodes.len() as u64
    }

    /// Returns the number of registers to compute together, if the work has functions of binary32 by polynomials and few operands. Exponentials alone
    /// keep few values, so eight registers of each fit. `None` for other work.
    pub fn registers_for_functions(&self) -> Option<u16> {
        use ScalarOp::{Erf, Erfc, Exp, Log, Logistic, NormalCdf, Tanh};
        let functions = self.special.expression.nodes.values().filter(|node| node.ty == ElementType::F32).map(|node| match node.op {
            Exp => 8,
            Log | Logistic | Tanh | Erf | Erfc | NormalCdf => 4,
            _ => u16::MAX,
        });
        let registers = functions.min().filter(|&registers| registers < u16::MAX);
        registers.filter(|_| self.operands.len() <= MOST_OPERANDS)
    }

    /// Returns the bytes of the smallest element that is read or written.
    pub fn smallest_element(&self) -> u32 {
        let is_tensor = |i: &usize| matches!(self.operands[*i].source, Source::Tensor(_)) && self.operands[*i].access != Access::Single;
        let read = self.used().filter(is_tensor).map(|i| self.operands[i].element);
        let written = self.outputs.iter().map(|(v, _)| self.cx.element(*v));
        read.chain(written).map(|e| e.bits().div_ceil(8)).min().unwrap_or(4)
    }

    /// Returns pairs of an operand and an output that may share memory: each element is read before the output's element is written there.
    pub fn shareable(&self) -> Vec<Pair> {
        let single = self.shape.iter().all(|n| n.is(1));
        let mut pairs = Vec::new();
        for &(output, _) in &self.outputs {
            let bits = self.cx.element(output).bits();
            for operand in self.used().map(|i| &self.operands[i]) {
                let aligned = operand.access == Access::Same || (single && operand.access == Access::Single);
                if let (Source::Tensor(value), true) = (&operand.source, aligned && operand.element.bits() == bits) {
                    pairs.push(Pair { read: *value, written: output });
                }
            }
        }
        pairs
    }

    /// Returns the inputs that the specialised expression reads from memory.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> + '_ {
        let expression = &self.special.expression;
        let mut needed = vec![false; expression.nodes.len()];
        let mut used = vec![false; self.operands.len()];
        for result in &expression.results {
            needed[result.index()] = true;
        }
        for (node, data) in expression.nodes.iter().rev() {
            if needed[node.index()] {
                if let ir::ScalarOp::Input(i) = data.op {
                    used[i as usize] = true;
                }
                for operand in &data.operands {
                    needed[operand.index()] = true;
                }
            }
        }
        (0..self.operands.len()).filter(move |&i| used[i] && !self.given.contains(&i))
    }

    /// Declares the buffers of operands, tables and outputs, in this order, and adds their arguments.
    ///
    /// # Errors
    /// [`Unsupported`] for element types without arithmetic.
    pub fn declare(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments, shared: &[Pair]) -> Result<(), Unsupported> {
        let used: Vec<usize> = self.used().collect();
        for i in used {
            let operand = &self.operands[i];
            let lane = memory_lane(operand.element)?;
            let name = format!("operand{i}");
            self.operands[i].buffer = Some(match &operand.source {
                Source::Tensor(_) if matches!(operand.access, Access::Picked(_)) => {
                    self.declare_picked(b, arguments, i)?;
                    continue;
                }
                Source::Tensor(value) => arguments.operand(b, name, *value, Elements::new(lane, self.cx.most_elements(*value)?), shared),
                Source::Channels(_, data) => arguments.data(b, name, data.clone(), lane, lane.bytes()),
            });
        }
        for (i, (table, buffer)) in self.tables.iter_mut().enumerate() {
            let data = &self.cx.module.constants[*table];
            let lane = memory_lane(data.ty.element)?;
            let is_looked_up = self.as_stored.keys().any(|&node| self.special.expression.nodes[node].op == ir::ScalarOp::Lut(*table));
            let alignment = if is_looked_up { TABLE_ALIGNMENT } else { lane.bytes() };
            *buffer = Some(arguments.data(b, format!("table{i}"), data.data.clone(), lane, alignment));
        }
        for (i, (value, buffer)) in self.outputs.iter_mut().enumerate() {
            let lane = memory_lane(self.cx.element(*value))?;
            let elements = product(&self.shape).most(self.cx.function)?;
            *buffer = Some(arguments.output(b, format!("output{i}"), *value, Elements::new(lane, elements)));
        }
        self.load_extents(b, arguments);
        Ok(())
    }

    /// Declares the source of a picked operand, and the starts of its slices. Buffers that an earlier operand declared are reused.
    fn declare_picked(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments, i: usize) -> Result<(), Unsupported> {
        let Access::Picked(picked) = self.operands[i].access.clone() else { return Ok(()) };
        let lane = memory_lane(self.operands[i].element)?;
        let before = self.operands[..i].iter().filter_map(|operand| match &operand.access {
            Access::Picked(other) if operand.buffer.is_some() => Some((other, operand)),
            _ => None,
        });
        let (mut buffer, mut starts) = (None, vec![None; picked.starts.len()]);
        for (other, operand) in before {
            if other.source == picked.source {
                buffer = operand.buffer;
            }
            for (d, _) in picked.starts.iter().enumerate().filter(|(d, known)| other.starts.get(*d) == Some(known)) {
                starts[d] = operand.starts[d];
            }
        }
        self.operands[i].buffer = Some(match buffer {
            Some(buffer) => buffer,
            None => {
                let elements = Elements::new(lane, self.cx.most_elements(picked.source)?);
                arguments.input(b, format!("operand{i}"), picked.source, elements)
            }
        });
        for (d, known) in picked.starts.iter().enumerate() {
            if let (Starts::At(list), None) = (known, starts[d]) {
                let bytes: Vec<u8> = list.iter().flat_map(|start| start.to_le_bytes()).collect();
                starts[d] = Some(arguments.data(b, format!("starts{i}_{d}"), bytes.into(), Lane::I64, 8));
            }
        }
        self.operands[i].starts = starts;
        Ok(())
    }

    /// Loads the extents and strides that positions are computed from, before the loops.
    fn load_extents(&mut self, b: &mut KernelBuilder, arguments: &mut Arguments) {
        let mut cells = Cells::default();
        let strided = |operand: &Operand| if let Access::Strided(strides) = &operand.access { strides.clone() } else { vec![] };
        let strides: Vec<Vec<Quantity>> = self.operands.iter().map(strided).collect();
        if strides.iter().all(Vec::is_empty) {
            self.strides = vec![vec![]; strides.len()];
            return;
        }
        cells.load(b, arguments, strides.iter().flatten().chain(&self.shape).flat_map(Quantity::extents));
        self.extents = self.shape.iter().map(|extent| cells.number(b, extent)).collect();
        self.strides = strides.iter().map(|strides| strides.iter().map(|stride| cells.number(b, stride)).collect()).collect();
    }
}

/// Returns the nodes that the machine computes from stored forms. `given` are the inputs that are not read from memory.
fn as_stored(cx: &Context<'_>, expression: &ir::Expression, given: &[usize]) -> AsStored {
    let length = |table: ir::Constant| cx.module.constants[table].ty.static_elements().unwrap_or(0);
    let takes = cx.machine.byte_tables && cx.uses(Technique::LookUps);
    let words = cx.machine.word_tables && cx.uses(Technique::WordLookUps);
    let mut nodes = if takes { look_ups(expression, words, length) } else { AsStored::default() };
    if cx.uses(Technique::Extremes) {
        add_extremes(expression, given, &mut nodes);
    }
    nodes
}
