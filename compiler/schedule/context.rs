//! Input of a schedule.

mod sharing;

use super::quantity::{Quantity, product};
use super::technique::{Technique, Techniques};
use super::unsupported::Unsupported;
use crate::fuse::Group;
use crate::ir::{Constant, Data, ElementType, Extent, Function, Inst, Module, Operation, Value};
use crate::kernel::mathematics::Arithmetic;
use crate::machine::{Isa, MACHINES, Machine};
use crate::schedule::contraction::operands::panels::packing::PackedWeights;
use crate::schedule::contraction::operands::panels::strips::COMMON;
use crate::schedule::contraction::operands::weights::Weights;
pub use sharing::{Sharing, Threads};

/// Minimum vectors of a row for which the lanes that the last vector wastes do not matter.
const FULL_VECTORS: u64 = 8;

/// Input of a schedule.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Module with the constants.
    pub module: &'a Module,
    /// Function with the group's values.
    pub function: &'a Function,
    /// Group to compute.
    pub group: &'a Group,
    /// Machine that runs the code.
    pub machine: &'a Machine,
    /// Instruction set of the CPUs of the object.
    pub isa: Isa,
    /// Machines whose code reads the same packed weights, including this one.
    pub levels: &'a [&'static Machine],
    /// Weights that are already packed.
    pub packed: &'a PackedWeights,
    /// Goal of the code: speed or size.
    pub goal: Goal,
    /// Blocks of slices and threads that share the work.
    pub sharing: Sharing,
    /// `true` if products of pixels stage rows even if they need not. Their results may then overwrite their input. This costs scratch memory and
    /// some time.
    pub stages: bool,
    /// `true` if staged rows are computed in short sections. This costs some time and saves scratch memory.
    pub in_short_sections: bool,
    /// Techniques that schedules may use.
    pub techniques: Techniques,
}

/// Returns the instructions that mathematical functions may use on a machine. They exclude operations that a device may round in its own way.
pub fn arithmetic(machine: &Machine) -> Arithmetic {
    Arithmetic { fused: machine.fma && machine.rounds_floats, scales: machine.scales_floats }
}

/// Goal of the code of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Goal {
    /// Highest speed.
    #[default]
    Speed,
    /// Small code: loops stay loops, and tiles are no larger than needed for full vectors. Results of integer sums are the same, bit for bit.
    Size,
}

impl<'a> Context<'a> {
    /// Returns all CPU levels of the object's instruction set. Choices by them do not depend on the levels of the object.
    pub fn levels_of_isa(&self) -> impl Iterator<Item = &'static Machine> {
        let isa = self.isa;
        MACHINES.iter().filter(move |machine| machine.isa == isa).map(|machine| &machine.capabilities)
    }

    /// Tests whether schedules may use a technique.
    pub fn uses(&self, technique: Technique) -> bool {
        self.techniques.has(technique)
    }

    /// Tests whether other rounds compute while one waits for its sums.
    pub fn hides_latency(&self) -> bool {
        self.machine.hides_latency
    }

    /// Tests whether short loops are unrolled. This needs vector registers, and the goal must be speed.
    pub fn writes_out(&self) -> bool {
        self.machine.has_vectors() && self.goal == Goal::Speed
    }

    /// Returns the lanes of the strips of packed weights, for a kernel whose panels have `panel` lanes.
    pub fn strip(&self, panel: u64, weights: &Weights) -> u64 {
        let is_alone = self.levels.len() == 1 || matches!(weights, Weights::Computed { .. });
        if is_alone { panel } else { COMMON }
    }

    /// Returns the operator of an instruction, with its fields.
    pub fn operation(&self, inst: Inst) -> &'a Operation {
        &self.function.insts[inst].operation
    }

    /// Returns the error for a root that no schedule accepts.
    pub fn no_schedule(&self, root: Inst) -> Unsupported {
        Unsupported::Operator(self.operation(root).op())
    }

    /// Returns the static shape of a tensor, or of a block of its slices. An index has an empty shape.
    ///
    /// # Errors
    /// [`Unsupported`] if an extent is dynamic and there are no blocks.
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
        match (last, self.sharing.block) {
            (Some(last), Some(block)) => shape[last] = block,
            (Some(_), None) => return Err(Unsupported::DynamicShape),
            (None, _) => {}
        }
        Ok(shape)
    }

    /// Returns the shape of a tensor, or of a block of its slices.
    pub fn quantities(&self, value: Value) -> Vec<Quantity> {
        match self.shape(value) {
            Ok(shape) => shape.into_iter().map(|n| Quantity::of(Extent::Static(n))).collect(),
            Err(_) => {
                let shape = &self.function.stored_type(value).shape;
                shape.iter().map(|&extent| Quantity::of(self.function.resolved(extent))).collect()
            }
        }
    }

    /// Returns the shape of a tensor, or of a block of its slices. Dynamic extents are at their bounds.
    ///
    /// # Errors
    /// [`Unsupported`] if there is no bound.
    pub fn largest_shape(&self, value: Value) -> Result<Vec<u64>, Unsupported> {
        self.quantities(value).iter().map(|extent| extent.most(self.function)).collect()
    }

    /// Returns the elements of a tensor. Dynamic extents are at their bounds.
    ///
    /// # Errors
    /// [`Unsupported`] if there is no bound.
    pub fn most_elements(&self, value: Value) -> Result<u64, Unsupported> {
        product(&self.quantities(value)).most(self.function)
    }

    /// Returns the element type of a tensor. An index is an `i64` in memory.
    pub fn element(&self, value: Value) -> ElementType {
        self.function.stored_type(value).element
    }

    /// Returns the constant of a value, through reshapes.
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

    /// Returns the bytes of a value's constant.
    pub fn constant_data(&self, value: Value) -> Option<&'a Data> {
        self.constant(value).map(|c| &self.module.constants[c].data)
    }

    /// Returns the lanes for element-wise work on `channels` contiguous elements: full registers of the narrowest element, or fewer if there are
    /// fewer channels.
    pub fn lanes_for(&self, smallest_element: u32, channels: u64) -> u16 {
        let full = self.machine.lanes(smallest_element).max(2 * self.machine.lanes(4));
        let needed = u16::try_from(channels.next_power_of_two()).unwrap_or(u16::MAX);
        full.min(needed).max(1)
    }

    /// Returns the lanes for element-wise work that computes a function of each element. Several registers hide each other's latency. They are used
    /// only for long rows, whose rest is small. The rest must have a known number of elements, or lanes that a mask selects.
    ///
    /// [`Unsupported`] if the number of elements has no bound.
    pub fn lanes_for_functions(&self, registers: u16, smallest_element: u32, channels: &Quantity) -> Result<u16, Unsupported> {
        let most = channels.most(self.function)?;
        let (plain, register) = (self.lanes_for(smallest_element, most), self.machine.lanes(4));
        if 4 * register > self.machine.masked_lanes || !self.writes_out() || !self.uses(Technique::LongVectors) {
            return Ok(plain);
        }
        let is_known = channels.as_known().is_some();
        let fits = |&lanes: &u16| most >= FULL_VECTORS * u64::from(lanes) && (is_known || lanes <= self.machine.masked_lanes);
        let long = [registers, 4].map(|registers| registers * register).into_iter().find(fits);
        Ok(long.map_or(plain, |long| plain.max(long)))
    }
}
