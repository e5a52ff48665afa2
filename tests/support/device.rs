//! The device of a lowered program, simulated by the interpreter of kernels. Positions run in a random order from a seed, and the device only
//! has the data that was copied to it.

use super::program::write_changes;
use modelc::kernel::interpret::interpret_grid;
use modelc::program::{Bound, Crossing, Device, DeviceKernel, DeviceMemory, DeviceStep, Dispatch, Program};

/// Memory of a device.
pub struct Memory {
    area: Vec<u8>,
    constants: Vec<u8>,
    staging: Vec<u8>,
    /// Number of dispatches so far.
    pub runs: u64,
    /// Number of workgroups of dispatches with a run-time count.
    pub groups: u64,
    /// Limit of these workgroups.
    pub most_groups: u64,
}

impl Memory {
    /// Allocates the memory before the first region. Bytes that must not be read before they are written are not zero.
    pub fn new(device: &Device, program: &Program) -> Self {
        let mut constants = vec![0xa5; device.constant_bytes as usize];
        for constant in &device.constants {
            let bytes = program.constants[constant.constant].data.bytes();
            constants[constant.offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        let [area, staging] = [device.area_bytes, device.staging_bytes].map(|bytes| vec![0xa5; bytes as usize]);
        Self { area, constants, staging, runs: 0, groups: 0, most_groups: 0 }
    }

    /// Copies data from the host before a region.
    pub fn enter(&mut self, crossing: &Crossing, bytes: &[u8]) {
        let bytes = if crossing.is_extent { &bytes[..4] } else { bytes };
        self.staging[crossing.staging as usize..][..bytes.len()].copy_from_slice(bytes);
        let length = bytes.len().next_multiple_of(4);
        let staged = self.staging[crossing.staging as usize..][..length].to_vec();
        self.area[crossing.device as usize..][..length].copy_from_slice(&staged);
    }

    /// Returns data for the host after a region.
    pub fn leave(&self, crossing: &Crossing) -> &[u8] {
        &self.area[crossing.device as usize..][..crossing.bytes as usize]
    }

    /// Runs the dispatches of a region. Between barriers they run from last to first, because no order is guaranteed.
    ///
    /// # Errors
    /// A message if a kernel fails, or if two positions write the same element. Also if a dispatch reads a range that another one writes without a
    /// barrier.
    pub fn run(&mut self, device: &Device, region: usize) -> Result<(), String> {
        self.area[..4].fill(0);
        let mut since: Vec<(Bound, bool)> = Vec::new();
        let mut waiting: Vec<&Dispatch> = Vec::new();
        // Ranges written since the last barrier for counts.
        let mut uncounted: Vec<Bound> = Vec::new();
        for step in &device.regions[region].steps {
            let dispatch = match step {
                DeviceStep::Dispatch(dispatch) => dispatch,
                DeviceStep::Barrier => {
                    self.dispatches(device, &mut waiting)?;
                    since.clear();
                    continue;
                }
                DeviceStep::CountBarrier => {
                    self.dispatches(device, &mut waiting)?;
                    uncounted.clear();
                    continue;
                }
            };
            let known = &device.kernels[dispatch.kernel];
            let kernel = &known.kernel;
            let bounds: Vec<(Bound, bool)> = dispatch.bindings.iter().copied().zip(known.writes()).collect();
            for (one, writes) in &bounds {
                let meets = |(other, other_writes): &(Bound, bool)| {
                    let apart = one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
                    one.memory == other.memory && !apart && writes != other_writes
                };
                if since.iter().any(meets) {
                    return Err(format!("{} without a barrier before it", kernel.name));
                }
            }
            if dispatch.counts.is_some_and(|place| uncounted.iter().any(|one| one.offset < place + 12 && place < one.offset + one.bytes)) {
                return Err(format!("{} without a barrier before its count", kernel.name));
            }
            uncounted.extend(bounds.iter().filter(|(bound, writes)| *writes && bound.memory == DeviceMemory::Area).map(|(bound, _)| bound));
            since.extend(bounds);
            waiting.push(dispatch);
        }
        self.dispatches(device, &mut waiting)?;
        match i32::from_le_bytes(self.area[..4].try_into().unwrap_or_default()) {
            0 => Ok(()),
            status => Err(format!("the device returns {status}")),
        }
    }

    /// Runs dispatches that are independent of each other.
    fn dispatches(&mut self, device: &Device, waiting: &mut Vec<&Dispatch>) -> Result<(), String> {
        waiting.drain(..).rev().try_for_each(|dispatch| self.dispatch(device, dispatch))
    }

    fn dispatch(&mut self, device: &Device, dispatch: &Dispatch) -> Result<(), String> {
        self.runs += 1;
        let DeviceKernel { kernel, bindings, .. } = &device.kernels[dispatch.kernel];
        let (mut kernel, groups) = (kernel.clone(), dispatch.counts.map(|place| self.groups(place)));
        if let (Some(grid), Some(groups)) = (&mut kernel.grid, groups) {
            if groups > grid.groups() {
                return Err(format!("{groups} workgroups of {} of at most {}", kernel.name, grid.groups()));
            }
            self.groups += groups;
            self.most_groups += grid.groups();
            grid.positions = grid.positions.min(groups * u64::from(grid.workgroup));
            if groups == 0 {
                return Ok(());
            }
        }
        let bounds: Vec<Bound> = bindings.iter().map(|&binding| dispatch.bindings[binding]).collect();
        let mut buffers = Vec::new();
        for ((_, data), bound) in kernel.pointer_params().zip(&bounds) {
            let length = (data.elements * u64::from(data.lane.bytes())) as usize;
            if length as u64 > bound.bytes || bound.offset % 256 != 0 || bound.bytes % 4 != 0 {
                return Err(format!("{} of {} is bound to {bound:?}", data.name, kernel.name));
            }
            buffers.push(self.of(bound.memory)[bound.offset as usize..][..length].to_vec());
        }
        let before = buffers.clone();
        interpret_grid(&kernel, &mut buffers, self.runs).map_err(|error| format!("{error}\n{kernel}"))?;
        for ((bound, buffer), before) in bounds.iter().zip(&buffers).zip(&before) {
            write_changes(&mut self.of(bound.memory)[bound.offset as usize..], before, buffer);
        }
        Ok(())
    }

    /// Returns the number of workgroups at an offset; in these programs it is one row.
    fn groups(&self, place: u64) -> u64 {
        let words = self.area[place as usize..][..Dispatch::COUNT_BYTES as usize].chunks_exact(4);
        words.map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap_or_default()))).product()
    }

    fn of(&mut self, memory: DeviceMemory) -> &mut Vec<u8> {
        match memory {
            DeviceMemory::Area => &mut self.area,
            DeviceMemory::Constants => &mut self.constants,
        }
    }
}
