//! What a schedule sees.

use super::interface::CUT_FROM;
use super::quantity::{Quantity, product};
use super::unsupported::Unsupported;
use crate::fuse::Group;
use crate::ir::{Constant, Data, ElementType, Extent, Function, Inst, Module, Operation, Value};
use crate::kernel::mathematics::Arithmetic;
use crate::machine::Machine;
use crate::schedule::contraction::packing::PackedWeights;
use crate::schedule::contraction::strips::COMMON;
use crate::schedule::contraction::weights::Weights;

/// Vectors of a row from which on the lanes that the last one wastes do not matter.
const FULL_VECTORS: u64 = 8;

/// What a schedule sees.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// For constants.
    pub module: &'a Module,
    /// Holds the group's values.
    pub function: &'a Function,
    /// The work.
    pub group: &'a Group,
    /// The machine.
    pub machine: &'a Machine,
    /// Where the group is computed slice by slice, the slices of a block: see [`super::outer`].
    pub block: Option<u64>,
    /// The machines whose code reads the same packed weights, this one among them.
    pub levels: &'a [&'static Machine],
    /// Weights that were packed before.
    pub packed: &'a PackedWeights,
    /// What the code is to be like.
    pub goal: Goal,
    /// What runs it.
    pub threads: Threads,
    /// Whether products of pixels that need not stage their rows do so, and may then write them over their input. That costs scratch memory
    /// and some time.
    pub stages: bool,
    /// Whether rows that are staged are computed in short sections. That costs some time, and saves scratch memory.
    pub in_short_sections: bool,
}

/// What mathematical functions may use on a machine. What a device rounds as it likes, they do not use.
pub fn arithmetic(machine: &Machine) -> Arithmetic {
    Arithmetic { fused: machine.fma && machine.rounds_floats(), scales: machine.scales_floats }
}

/// The threads that kernels are cut for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Their number; memory is planned for as many parts. 0 and 1 are the caller's own alone, where a kernel is cut if that costs no memory.
    pub count: u32,
    /// Instructions of a part that is worth a thread; with 0, as tests want it, whatever may be cut is.
    pub least_instructions: u64,
}

impl Threads {
    /// The caller's own alone.
    pub const ALONE: Self = Self::new(1);

    /// So many. A part is worth a thread if it takes about a microsecond, which is three times what handing it over costs.
    pub const fn new(count: u32) -> Self {
        Self { count, least_instructions: 6000 }
    }
}

/// What the code of kernels is to be like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Goal {
    /// As fast as it can be.
    #[default]
    Speed,
    /// Small: loops stay loops, and tiles are as small as keeps vectors busy. Results are the same, bit for bit, wherever sums are of integers.
    Size,
}

impl<'a> Context<'a> {
    /// Whether parts of kernels have memory of their own.
    pub fn is_for_threads(&self) -> bool {
        self.threads.count > 1
    }

    /// The multiply-accumulate operations from which a kernel may be cut. With threads the cost of the kernel decides too, when it is there.
    pub fn cut_from(&self, with_threads: u64) -> u64 {
        match self.threads {
            Threads { count: 0 | 1, .. } => CUT_FROM,
            Threads { least_instructions: 0, .. } => 0,
            Threads { .. } => with_threads,
        }
    }

    /// Whether short loops are written out: where vectors are registers, and code may be as long as is fast.
    pub fn writes_out(&self) -> bool {
        self.machine.has_vector_registers() && self.goal == Goal::Speed
    }

    /// Lanes of the strips in which the packed weights of a kernel lie whose panels have this many.
    pub fn strip(&self, panel: u64, weights: &Weights) -> u64 {
        let is_alone = self.levels.len() == 1 || matches!(weights, Weights::Computed { .. });
        if is_alone { panel } else { COMMON }
    }

    /// The operator with its fields of an instruction.
    pub fn operation(&self, inst: Inst) -> &'a Operation {
        &self.function.insts[inst].operation
    }

    /// The error for a root that a schedule does not take.
    pub fn no_schedule(&self, root: Inst) -> Unsupported {
        Unsupported::new(format!("operator {}", self.operation(root).op()))
    }

    /// The static shape of a tensor, or of a block of its slices; an index has none.
    ///
    /// # Errors
    /// When an extent is dynamic and there are no blocks.
    pub fn shape(&self, value: Value) -> Result<Vec<u64>, Unsupported> {
        let extents = &self.function.stored_type(value).shape;
        let mut shape = Vec::with_capacity(extents.len());
        let mut last = None;
        for (d, &extent) in extents.iter().enumerate() {
            let known = self.function.resolved(extent).as_static();
            if known.is_none() {
                last = Some(d);
            }
            shape.push(known.unwrap_or(1));
        }
        match (last, self.block) {
            (Some(last), Some(block)) => shape[last] = block,
            (Some(_), None) => return Err(Unsupported::new("a tensor of dynamic shape")),
            (None, _) => {}
        }
        Ok(shape)
    }

    /// The shape of a tensor, or of a block of its slices.
    pub fn quantities(&self, value: Value) -> Vec<Quantity> {
        match self.shape(value) {
            Ok(shape) => shape.into_iter().map(|n| Quantity::of(Extent::Static(n))).collect(),
            Err(_) => {
                let shape = &self.function.stored_type(value).shape;
                shape.iter().map(|&extent| Quantity::of(self.function.resolved(extent))).collect()
            }
        }
    }

    /// The shape of a tensor, or of a block of its slices, at the bounds of what is not known.
    ///
    /// # Errors
    /// Where there is no bound.
    pub fn largest_shape(&self, value: Value) -> Result<Vec<u64>, Unsupported> {
        self.quantities(value).iter().map(|extent| extent.most(self.function)).collect()
    }

    /// Elements of a tensor, at the bounds of what is not known.
    ///
    /// # Errors
    /// Where there is no bound.
    pub fn most_elements(&self, value: Value) -> Result<u64, Unsupported> {
        product(&self.quantities(value)).most(self.function)
    }

    /// The element type of a tensor; an index is an `i64` in memory.
    pub fn element(&self, value: Value) -> ElementType {
        self.function.stored_type(value).element
    }

    /// The constant that a value is, seen through reshapes.
    pub fn constant(&self, mut value: Value) -> Option<Constant> {
        loop {
            let data = &self.function.insts[self.function.defining_inst(value)?];
            match &data.operation {
                Operation::Constant(constant) => return Some(constant.data),
                Operation::Reshape(_) | Operation::Bitcast(_) => value = data.operands[0],
                _ => return None,
            }
        }
    }

    /// The bytes of the constant that a value is.
    pub fn constant_data(&self, value: Value) -> Option<&'a Data> {
        self.constant(value).map(|c| &self.module.constants[c].data)
    }

    /// Lanes for element-wise work on `channels` contiguous elements: full registers of the narrowest element, or fewer when
    /// the channels are fewer.
    pub fn lanes_for(&self, smallest_element: u32, channels: u64) -> u16 {
        let full = self.machine.lanes(smallest_element).max(2 * self.machine.lanes(4));
        let needed = u16::try_from(channels.next_power_of_two()).unwrap_or(u16::MAX);
        full.min(needed).max(1)
    }

    /// Lanes for element-wise work that computes a function of each element: some registers, so that one register's instructions hide the latency of
    /// another's. Only where the rest of a row is a small part of it, and has lanes that count: a known number, or those that a mask selects.
    ///
    /// # Errors
    /// For a number of elements without a bound.
    pub fn lanes_for_functions(&self, registers: u16, smallest_element: u32, channels: &Quantity) -> Result<u16, Unsupported> {
        let most = channels.most(self.function)?;
        let (plain, register) = (self.lanes_for(smallest_element, most), self.machine.lanes(4));
        if 4 * register > self.machine.masked_lanes || !self.writes_out() {
            return Ok(plain);
        }
        let is_known = channels.as_known().is_some();
        let fits = |&lanes: &u16| most >= FULL_VECTORS * u64::from(lanes) && (is_known || lanes <= self.machine.masked_lanes);
        let long = [registers, 4].map(|registers| registers * register).into_iter().find(fits);
        Ok(long.map_or(plain, |long| plain.max(long)))
    }
}
