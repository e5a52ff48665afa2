//! The table of a model, which the runtime reads: regions, kernels and constants as rows of words.
//!
//! Vulkan structures without handles are in the table as they are, so that the runtime passes their addresses.

use super::check::{DeviceFault, check};
use super::flags::{access, stage};
use super::modules::Modules;
use crate::{Bug, CodegenError};
use modelc_interface::device::{Arrays, Field, binding_counts, timestamp_places, timestamps};
use modelc_machine::Gpu;
use modelc_program::{Bound, Crossing, Device, DeviceMemory, DeviceRegion, DeviceStep, Dispatch};

/// Maximum staging memory through which constants reach the device.
const WINDOW: u64 = 1 << 20;

/// Fields of the head of a model's table, each a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// Version of Vulkan that the instance asks for, for the profile's features.
    InstanceVersion,
    /// Lowest version of a device.
    DeviceVersion,
    /// 1 if the profile has elements of 8 and 16 bits.
    Narrow,
    /// 1 if the profile has dot products.
    Dots,
    /// 1 if a CPU is accepted as a device.
    TakesCpus,
    /// Invocations in a workgroup.
    Invocations,
    /// Bytes that a workgroup shares.
    SharedBytes,
    /// Storage buffers of a kernel.
    Bindings,
    /// Bytes of a storage buffer.
    RangeBytes,
    /// Divisor of offsets of bindings.
    OffsetAlignment,
    /// Bytes of the part of the state.
    PartBytes,
    /// Bytes of the area.
    AreaBytes,
    /// Bytes of the constants.
    ConstantBytes,
    /// Bytes of the staging memory.
    StagingBytes,
    /// Bytes of constants that are staged at a time.
    WindowBytes,
    /// Number of descriptor sets.
    Sets,
    /// Number of descriptors of all sets.
    Descriptors,
    /// Offset of the rows of layouts.
    Layouts,
    /// End of the rows of layouts.
    LayoutsEnd,
    /// Offset of the rows of kernels.
    Kernels,
    /// End of the rows of kernels.
    KernelsEnd,
    /// Offset of the rows of constants.
    Constants,
    /// End of the rows of constants.
    ConstantsEnd,
    /// Offset of the rows of regions.
    Regions,
    /// End of the rows of regions.
    RegionsEnd,
    /// Offset of the array of descriptor set layouts in the part of the state.
    SetLayoutArray,
    /// Offset of the array of pipeline layouts.
    PipelineLayoutArray,
    /// Offset of the array of pipelines.
    PipelineArray,
    /// Offset of the array of command buffers.
    CommandArray,
    /// Number of timestamps of all regions.
    Timestamps,
    /// Number of fields.
    End,
}

impl Head {
    /// Returns the offset of the field.
    pub fn offset(self) -> i32 {
        8 * self as i32
    }
}

/// A row of a layout: its number of bindings.
pub mod layout_row {
    /// Bytes of a row.
    pub const BYTES: u64 = 8;
}

/// A row of a kernel.
pub mod kernel_row {
    /// Offset of its layout in the arrays of layouts.
    pub const LAYOUT: i32 = 0;
    /// Offset of its SPIR-V in the table.
    pub const CODE: i32 = 8;
    /// Bytes of its SPIR-V.
    pub const CODE_BYTES: i32 = 16;
    /// Bytes of a row.
    pub const BYTES: u64 = 24;
}

/// A row of a constant.
pub mod constant_row {
    /// Offset of its first byte on the device.
    pub const TO: i32 = 0;
    /// Offset of its end on the device.
    pub const END: i32 = 8;
    /// Offset of its first byte in the weights.
    pub const FROM: i32 = 16;
    /// Bytes of a row.
    pub const BYTES: u64 = 24;
}

/// A row of a region.
pub mod region_row {
    /// Offset of the steps in the table.
    pub const STEPS: i32 = 0;
    /// End of the steps.
    pub const STEPS_END: i32 = 8;
    /// Offset of the `VkBufferCopy` structures of inputs.
    pub const COPIES_IN: i32 = 16;
    /// Number of these structures.
    pub const COPIES_IN_COUNT: i32 = 24;
    /// Offset of the `VkBufferCopy` structures of outputs, the status first.
    pub const COPIES_OUT: i32 = 32;
    /// Number of these structures.
    pub const COPIES_OUT_COUNT: i32 = 40;
    /// Offset of the rows of inputs.
    pub const ENTER: i32 = 48;
    /// End of the rows of inputs.
    pub const ENTER_END: i32 = 56;
    /// Offset of the rows of outputs.
    pub const LEAVE: i32 = 64;
    /// End of the rows of outputs.
    pub const LEAVE_END: i32 = 72;
    /// Offset of its command buffer in the part of the state.
    pub const COMMANDS: i32 = 80;
    /// Number of its first timestamp.
    pub const FIRST_TIMESTAMP: i32 = 88;
    /// Number of timestamps.
    pub const TIMESTAMPS: i32 = 96;
    /// Offset in staging memory to which timestamps are copied.
    pub const TIMES: i32 = 104;
    /// Bytes of a row.
    pub const BYTES: u64 = 112;
}

/// A row of a crossing, which is a tensor or an extent.
pub mod crossing_row {
    /// Offset in staging memory.
    pub const STAGING: i32 = 0;
    /// Bytes on the host; 0 for an extent.
    pub const HOST_BYTES: i32 = 8;
    /// Bytes of a row.
    pub const BYTES: u64 = 16;
}

/// A step, followed by its `VkDescriptorBufferInfo` structures. Each has the offset of a buffer's handle in the part of the state, instead of the
/// handle.
pub mod step {
    /// Offset of the kernel's pipeline in the array of pipelines, or [`BARRIER`].
    pub const PIPELINE: i32 = 0;
    /// Offset of the kernel's layout in the arrays of layouts.
    pub const LAYOUT: i32 = 8;
    /// The stages that wait at a barrier, and their accesses: 32 bits each, instead of the layout.
    pub const WAITING: i32 = 8;
    /// Workgroups in each direction, 32 bits each. If the last is 0, the first two form a word: the offset of the counts in the area.
    pub const GROUPS: i32 = 16;
    /// Number of bindings, 32 bits.
    pub const BINDINGS: i32 = 28;
    /// Bytes before the bindings.
    pub const BYTES: u64 = 32;
    /// The value of [`PIPELINE`] in a barrier.
    pub const BARRIER: u64 = u64::MAX;
}

/// A constant in the weights: offset of its first byte, and size in bytes.
pub type Placed = (u64, u64);

/// The table of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Read-only data, aligned to [`ALIGNMENT`].
    pub bytes: Vec<u8>,
    /// Offset of each region's row.
    pub regions: Vec<u64>,
    /// Offsets of the arrays in the part of the state.
    pub arrays: Arrays,
}

/// Alignment of a table in bytes.
pub const ALIGNMENT: u64 = 16;

/// Contents of a table that do not depend on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wishes {
    /// `true` if a CPU is accepted as a device.
    pub takes_cpus: bool,
    /// `true` if regions are measured.
    pub measures: bool,
}

/// Makes the table of a device. `constants` returns the place in the weights of a constant with a given number.
///
/// # Errors
/// [`CodegenError::Bug`] if a part of the device is not where it must be.
pub fn tables(
    device: &Device,
    modules: &Modules,
    constants: &dyn Fn(usize) -> Option<Placed>,
    wishes: Wishes,
) -> Result<Tables, CodegenError> {
    let gpu = &device.machine.limits;
    check(device, gpu, modules).map_err(Bug::Device)?;
    let layouts = binding_counts(device);
    let arrays = Arrays::new(device);
    let mut table = Table { device, layouts: &layouts, bytes: vec![0; 8 * Head::End as usize] };
    table.limits(gpu, wishes, &arrays);
    table.rows(Head::Layouts, layouts.iter().map(|&bindings| vec![bindings as u64]));
    table.kernels(modules);
    let placed = device.constants.iter().map(|constant| {
        let index = constant.constant;
        let (from, bytes) = constants(index).ok_or(Bug::Device(DeviceFault::NoConstant(index)))?;
        let (end, room) = (constant.offset + bytes, device.constant_bytes);
        if end > room {
            return Err(Bug::Device(DeviceFault::Constant { index, end, room }).into());
        }
        Ok(vec![constant.offset, end, from])
    });
    let placed = placed.collect::<Result<Vec<_>, CodegenError>>()?;
    table.rows(Head::Constants, placed);
    let mut rows: Vec<Vec<u64>> =
        (0..).zip(&device.regions).map(|(number, region)| table.region(region, modules, arrays.commands + 8 * number)).collect();
    let mut first = 0;
    for ((row, region), place) in rows.iter_mut().zip(&device.regions).zip(timestamp_places(device).0) {
        row.extend([first, timestamps(region), place]);
        first += timestamps(region);
    }
    let first = table.rows(Head::Regions, rows);
    let regions = (0..device.regions.len() as u64).map(|number| first + number * region_row::BYTES).collect();
    Ok(Tables { bytes: table.bytes, regions, arrays })
}

/// Rounds a size up to whole words of the device.
fn whole(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

struct Table<'a> {
    device: &'a Device,
    /// Numbers of bindings of the layouts.
    layouts: &'a [usize],
    bytes: Vec<u8>,
}

impl Table<'_> {
    fn set(&mut self, field: Head, value: u64) {
        self.bytes[field.offset() as usize..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn limits(&mut self, gpu: &Gpu, wishes: Wishes, arrays: &Arrays) {
        let version = |minor: u64| 1 << 22 | minor << 12;
        let (instance, least) = match (gpu.byte_dots, gpu.narrow_storage) {
            (true, _) => (3, 3),
            // Elements of 8 bits are an extension of Vulkan 1.1.
            (false, true) => (2, 1),
            (false, false) => (1, 1),
        };
        let dispatches = || self.device.regions.iter().flat_map(DeviceRegion::dispatches);
        let descriptors: usize = dispatches().map(|dispatch| dispatch.bindings.len()).sum();
        let window = whole(self.device.constant_bytes).min(WINDOW);
        let staging = if wishes.measures { timestamp_places(self.device).1 } else { whole(self.device.staging_bytes) };
        let fields = [
            (Head::InstanceVersion, version(instance)),
            (Head::DeviceVersion, version(least)),
            (Head::Narrow, gpu.narrow_storage.into()),
            (Head::Dots, gpu.byte_dots.into()),
            (Head::TakesCpus, wishes.takes_cpus.into()),
            (Head::Invocations, gpu.invocations.into()),
            (Head::SharedBytes, gpu.shared_bytes.into()),
            (Head::Bindings, gpu.bindings.into()),
            (Head::RangeBytes, gpu.range_bytes),
            (Head::OffsetAlignment, gpu.offset_alignment),
            (Head::PartBytes, arrays.bytes),
            (Head::AreaBytes, whole(self.device.area_bytes)),
            (Head::ConstantBytes, whole(self.device.constant_bytes)),
            (Head::StagingBytes, staging.max(window)),
            (Head::WindowBytes, window),
            (Head::Sets, dispatches().count() as u64),
            (Head::Descriptors, descriptors as u64),
            (Head::SetLayoutArray, arrays.set_layouts),
            (Head::PipelineLayoutArray, arrays.pipeline_layouts),
            (Head::PipelineArray, arrays.pipelines),
            (Head::CommandArray, arrays.commands),
            (Head::Timestamps, self.device.regions.iter().map(timestamps).sum()),
        ];
        for (field, value) in fields {
            self.set(field, value);
        }
    }

    /// Adds words; returns the offset of the first.
    fn words(&mut self, words: &[u64]) -> u64 {
        let start = self.bytes.len() as u64;
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        start
    }

    /// Adds rows of words, and sets their start and end in the head. Returns the start.
    fn rows(&mut self, field: Head, rows: impl IntoIterator<Item = Vec<u64>>) -> u64 {
        let start = self.bytes.len() as u64;
        for row in rows {
            self.words(&row);
        }
        self.set(field, start);
        let end = self.bytes.len() as u64;
        self.bytes[field.offset() as usize + 8..][..8].copy_from_slice(&end.to_le_bytes());
        start
    }

    /// Returns the offset of a kernel's layout in the arrays of layouts.
    fn layout(&self, kernel: usize) -> u64 {
        let bindings = self.device.kernels[kernel].binding_count();
        8 * self.layouts.iter().position(|&count| count == bindings).unwrap_or(0) as u64
    }

    /// Adds the SPIR-V modules, each at a multiple of 8, then the rows of kernels.
    fn kernels(&mut self, modules: &Modules) {
        let rows: Vec<Vec<u64>> = (modules.words.iter().enumerate())
            .map(|(kernel, words)| {
                let start = self.bytes.len() as u64;
                self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
                vec![self.layout(kernel), start, 4 * words.len() as u64]
            })
            .collect();
        self.rows(Head::Kernels, rows);
    }

    /// Adds the steps, copies and crossings of a region; returns the first fields of its row.
    fn region(&mut self, region: &DeviceRegion, modules: &Modules, commands: u64) -> Vec<u64> {
        let steps = self.bytes.len() as u64;
        for step in &region.steps {
            self.step(step, modules);
        }
        let steps_end = self.bytes.len() as u64;
        let copies_in: Vec<u64> = region.enter.iter().flat_map(|c| [c.staging, c.device, c.device_bytes()]).collect();
        // The status is the first word of both memories.
        let copies_out: Vec<u64> =
            [0, 0, 4].into_iter().chain(region.leave.iter().flat_map(|c| [c.device, c.staging, c.device_bytes()])).collect();
        let [at_in, at_out] = [&copies_in, &copies_out].map(|words| self.words(words));
        let host = |c: &Crossing| [c.staging, if c.is_extent { 0 } else { c.bytes }];
        let mut crossings = |list: &[Crossing]| {
            let words: Vec<u64> = list.iter().flat_map(host).collect();
            let start = self.words(&words);
            [start, start + 8 * words.len() as u64]
        };
        let ([enter, enter_end], [leave, leave_end]) = (crossings(&region.enter), crossings(&region.leave));
        let count = |words: &[u64]| words.len() as u64 / 3;
        let (count_in, count_out) = (count(&copies_in), count(&copies_out));
        vec![steps, steps_end, at_in, count_in, at_out, count_out, enter, enter_end, leave, leave_end, commands]
    }

    /// Adds a barrier: accesses of the given stages see the writes of earlier kernels.
    fn barrier(&mut self, stages: u64, accesses: u64) {
        self.words(&[step::BARRIER, stages | accesses << 32, 0, 0]);
    }

    fn step(&mut self, step: &DeviceStep, modules: &Modules) {
        let Dispatch { kernel, bindings, counts, .. } = match step {
            DeviceStep::Dispatch(dispatch) => dispatch,
            DeviceStep::Barrier => return self.barrier(stage::COMPUTE, access::SHADER_READ | access::SHADER_WRITE),
            DeviceStep::CountBarrier => return self.barrier(stage::COUNTS, access::COUNTS_READ),
        };
        let [x, y, z] = modules.groups[*kernel].map(u64::from);
        let (groups, last) = counts.map_or((x | y << 32, z), |place| (place, 0));
        let layout = self.layout(*kernel);
        self.words(&[8 * *kernel as u64, layout, groups, last | (bindings.len() as u64) << 32]);
        for &Bound { memory, offset, bytes } in bindings {
            let buffer = match memory {
                DeviceMemory::Area => Field::Area.offset(),
                DeviceMemory::Constants => Field::Constants.offset(),
            };
            self.words(&[buffer as u64, offset, bytes]);
        }
    }
}
