//! A lowered model: kernels, constants, and for each method the steps that call them, with all addresses.
//!
//! This is the contract between planning and code generation. Schedules and the planner write it. The driver generator, the object writer, the
//! header writer, the JIT and the reports read it. It does not depend on file formats or on instructions.

mod address;
mod by_operator;
mod call;
mod device;
mod division;
mod in_areas;
mod memory_map;
mod method;
mod moving;
mod step;
mod storage;
mod walk;

pub use address::Address;
pub use by_operator::{ByOperator, by_operator};
pub use call::{Call, Origin, Written};
pub use device::{
    Bound, Crossing, Device, DeviceConstant, DeviceKernel, DeviceMemory, DeviceRegion, DeviceStep, Dispatch, Estimate, HostCall,
    HostReason, Residents,
};
pub use division::{Blocks, Division, Private, Ranges};
pub use in_areas::{AreaUse, InAreas};
pub use memory_map::{MemoryMap, Occupant};
pub use method::{Method, Port, PortExtent};
pub use moving::{End, Member, Moving, MovingPlace, Size};
pub use step::{External, ExternalTensor, Parallel, Step, Tasks};
pub use storage::{Blob, Copied, RECORD_BYTES, Variable};
pub use walk::{
    Visit, Walk, calls, calls_in_streams, calls_of_sides, calls_together, change_addresses, change_calls, change_lists, change_steps,
    externals, lists, regions, walk,
};

use modelc_kernel::Kernel;
use modelc_machine::{Alignment, CpuMachine};
use std::sync::Arc;

/// Status of a kernel that found a computed index or count out of range.
pub const E_INDEX: i32 = -12;

/// A lowered model.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Distinct kernels, which steps identify by index. Kernel names are stems of symbols: `op012_conv2d_1x1_i8`.
    pub kernels: Vec<Kernel>,
    /// Read-only data: packed weights, tables, initial contents of variables.
    pub constants: Vec<Blob>,
    /// Variables that live between calls, in the state after the runtime's record, except those of [`Residents`].
    pub variables: Vec<Variable>,
    /// Alignment of the arena, of the weights, and of every constant.
    pub alignment: Alignment,
    /// Bytes of all variables with padding; offsets are relative to a multiple of the alignment.
    pub variable_bytes: u64,
    /// Copies of constants in areas, which `init` makes.
    pub copies: Vec<Copied>,
    /// Entry points.
    pub methods: Vec<Method>,
    /// The GPU part, if any.
    pub device: Option<Arc<Device>>,
    /// Iterations of one execution of a loop after which the call ends with `MODELC_E_ABORTED`; no limit if absent.
    pub max_iterations: Option<u64>,
}

impl Program {
    /// Returns the bytes of each memory area beside the arena: the most of any method.
    pub fn area_bytes(&self) -> Vec<u64> {
        most_of_each(self.methods.iter().map(|method| method.area_bytes.clone()))
    }

    /// Returns the names of all areas, with the arena's first. Empty unless the application has named them.
    pub fn area_names(&self) -> Vec<String> {
        let areas = self.methods.iter().find_map(|method| method.in_areas.as_ref());
        areas.map_or_else(Vec::new, |known| known.areas.iter().map(|area| area.name.clone()).collect())
    }

    /// Returns the constant that an address means, itself or its copy.
    pub fn constant_at(&self, address: Address) -> Option<usize> {
        match address {
            Address::Constant(number, _) => Some(number as usize),
            Address::Area(area, offset) => {
                let holds = |copy: &&Copied| copy.area == area && (copy.offset..copy.offset + copy.bytes).contains(&offset);
                self.copies.iter().find(holds).map(|copy| copy.constant)
            }
            Address::Variable(offset) => {
                let holds =
                    |variable: &&Variable| variable.is_copy && (variable.offset..variable.offset + variable.bytes).contains(&offset);
                self.variables.iter().find(holds).and_then(|variable| variable.initial)
            }
            _ => None,
        }
    }
}

/// Returns the element-wise maximum of some lists.
pub fn most_of_each(lists: impl Iterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut most: Vec<u64> = Vec::new();
    for list in lists {
        most.resize(most.len().max(list.len()), 0);
        most.iter_mut().zip(list).for_each(|(most, number)| *most = number.max(*most));
    }
    most
}

/// A CPU level of an object, with the program for its machine. The programs of one object differ only in kernels and in the arguments of their
/// calls. Constants, ports, variables, scratch memory and the order of calls are the same.
#[derive(Clone, Copy, Debug)]
pub struct Level<'a> {
    /// The machine.
    pub machine: &'a CpuMachine,
    /// The program.
    pub program: &'a Program,
}
