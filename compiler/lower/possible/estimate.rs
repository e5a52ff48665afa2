//! Estimate of a schedule: instructions on a CPU, dispatches with their positions on a GPU.

use crate::fuse::Group;
use crate::ir::Function;
use crate::kernel::Kernel;
use crate::kernel::cost::{instructions, instructions_of_position};
use crate::lower::device::dispatches::grids;
use crate::lower::stages::frame::Frame;
use crate::lower::stages::{apart, calls};
use crate::machine::{Gpu, Machine};
use crate::program::{Address, Call, HostReason, Origin, Ranges};
use crate::schedule::Unsupported;
use crate::schedule::outer::Choice;
use crate::schedule::piece::{Piece, PieceSlices};

/// A schedule with its cost, as the compiler estimates it. Dynamic dimensions are at their bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Description of the schedule and its choices.
    pub schedule: String,
    /// Cost of a call of the method.
    pub cost: Cost,
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
}

/// Estimated cost of a schedule. A loop whose bounds are computed counts with the most rounds that it can have, so instructions are an upper bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cost {
    /// Instructions of a CPU, one after another.
    Instructions(u64),
    /// Dispatches of a GPU. Their positions run at the same time, so their instructions are no time.
    Positions {
        /// Number of dispatches, which run one after another.
        dispatches: u64,
        /// Number of positions of all dispatches.
        positions: u64,
        /// Instructions of all positions. Each lane of a vector has its own.
        instructions: u64,
    },
    /// Nothing on the GPU: the call stays on the host for this reason.
    OnHost(HostReason),
}

/// Bytes of a lane, which is a register of a position.
const LANE_BYTES: u64 = 4;

/// A schedule with the kernels that it writes, without tensors in shared memory.
pub(super) struct Written {
    pieces: Vec<Piece>,
    /// Bytes of each scratch buffer.
    scratch: Vec<u64>,
    /// Bytes of the scratch buffers that ranges share.
    common: Vec<u64>,
}

impl Written {
    /// Writes the kernels of a group for a machine.
    ///
    /// # Errors
    /// The reason why the group has no schedule.
    pub fn new(frame: &Frame<'_>, function: &Function, group: &Group, machine: &'static Machine) -> Result<Self, Unsupported> {
        let choice = Choice::new(frame.context(function, group, machine))?;
        let needs = choice.requirements();
        Ok(Self { pieces: choice.pieces(&[])?, scratch: needs.scratch, common: needs.common })
    }

    /// Returns the text of the kernels.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.lowered.kernel.to_string()).collect()
    }

    /// Estimates the cost.
    pub fn estimate(mut self, frame: &Frame<'_>, function: &Function, machine: &'static Machine) -> Estimate {
        let mut schedules: Vec<&str> = self.pieces.iter().map(|piece| &piece.lowered.description[..]).collect();
        schedules.dedup();
        let schedule = schedules.join("; ");
        let cost = match frame.options.gpu.filter(|_| frame.is_on_device(machine)) {
            Some(gpu) => {
                self.pieces.iter_mut().for_each(|piece| apart::copy_private(function, piece, &mut self.scratch));
                on_gpu(function, &self.pieces, &gpu.limits)
            }
            None => Cost::Instructions(sum(self.pieces.iter().map(|piece| on_cpu(piece, machine)))),
        };
        Estimate { schedule, cost, scratch_bytes: sum(self.scratch.iter().chain(&self.common).copied()) }
    }
}

fn sum(list: impl Iterator<Item = u64>) -> u64 {
    list.fold(0, u64::saturating_add)
}

/// Returns the instructions of all calls of a piece on a CPU.
fn on_cpu(piece: &Piece, machine: &Machine) -> u64 {
    let whole = piece.extent.map_or(vec![], |rounds| vec![0, rounds as i64]);
    let calls = piece.slices.as_ref().map_or(1, PieceSlices::most_blocks);
    calls.saturating_mul(instructions(&piece.lowered.kernel, &whole, machine.vector_bytes().into()))
}

/// Returns the cost of all dispatches of a group's pieces on a GPU.
fn on_gpu(function: &Function, pieces: &[Piece], gpu: &Gpu) -> Cost {
    let grids: Result<Vec<Vec<Kernel>>, HostReason> =
        pieces.iter().map(|piece| grids(&piece.lowered.kernel, &call(function, piece), gpu)).collect();
    let kernels = match grids {
        Ok(kernels) => kernels.concat(),
        Err(reason) => return Cost::OnHost(reason),
    };
    let positions = |kernel: &Kernel| kernel.grid.map_or(1, |grid| grid.positions);
    let instructions = |kernel: &Kernel| positions(kernel).saturating_mul(instructions_of_position(kernel, LANE_BYTES));
    Cost::Positions {
        dispatches: kernels.len() as u64,
        positions: sum(kernels.iter().map(positions)),
        instructions: sum(kernels.iter().map(instructions)),
    }
}

/// Makes the call of a piece before anything has an address.
fn call(function: &Function, Piece { lowered, extent, slices, .. }: &Piece) -> Call {
    let nowhere = Address::Scratch(0);
    let ranges = extent.map(|rounds| Ranges { rounds, most: 1, ..Ranges::default() });
    let division = calls::division(function, slices.clone(), ranges, |_| nowhere);
    let bounds = calls::bounds(function, &lowered.arguments);
    Call { kernel: 0, arguments: vec![nowhere; lowered.arguments.len()], bounds, division, origin: Origin::default() }
}
