//! What the runtime reads of a model: its regions, kernels and constants as rows of words.
//!
//! Structures of Vulkan that hold no handle stand in the tables as they are, so that the runtime hands out their addresses.

use super::check::check;
use super::flags::{access, stage};
use super::modules::Modules;
use crate::codegen::CodegenError;
use crate::interface::device::{self as part, Arrays, binding_counts, timestamp_places, timestamps};
use crate::machine::{Gpu, Unit};
use crate::program::{Bound, Crossing, Device, DeviceMemory, DeviceRegion, DeviceStep, Dispatch};

/// Constants reach the device through as much staging memory, if they are as large.
const WINDOW: u64 = 1 << 20;

/// Fields of the head of a model's table, each a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// What an instance is made for: the version of Vulkan of the profile's features.
    InstanceVersion,
    /// The least version of a device.
    DeviceVersion,
    /// 1 where the profile has elements of 8 and 16 bits.
    Narrow,
    /// 1 where the profile has dot products.
    Dots,
    /// 1 where a device that is a CPU will do.
    TakesCpus,
    /// Invocations of a workgroup.
    Invocations,
    /// Bytes that a workgroup shares.
    SharedBytes,
    /// Storage buffers of a kernel.
    Bindings,
    /// Bytes of a storage buffer.
    RangeBytes,
    /// What offsets are multiples of.
    OffsetAlignment,
    /// Bytes of the part of the state.
    PartBytes,
    /// Bytes of the area.
    AreaBytes,
    /// Bytes of the constants.
    ConstantBytes,
    /// Bytes of the staging memory.
    StagingBytes,
    /// Bytes of constants that staging memory holds at a time.
    WindowBytes,
    /// Descriptor sets.
    Sets,
    /// Descriptors of all sets.
    Descriptors,
    /// Rows of layouts: where they are, and where they end.
    Layouts,
    /// The end of them.
    LayoutsEnd,
    /// Rows of kernels.
    Kernels,
    /// The end of them.
    KernelsEnd,
    /// Rows of constants.
    Constants,
    /// The end of them.
    ConstantsEnd,
    /// Rows of regions.
    Regions,
    /// The end of them.
    RegionsEnd,
    /// Where in the part layouts of sets are.
    SetLayoutArray,
    /// Where layouts of pipelines are.
    PipelineLayoutArray,
    /// Where pipelines are.
    PipelineArray,
    /// Where command buffers are.
    CommandArray,
    /// Timestamps of all regions.
    Timestamps,
    /// The number of fields.
    End,
}

impl Head {
    /// Where the field is.
    pub fn offset(self) -> i32 {
        8 * self as i32
    }
}

/// A row of a layout: how many bindings it has.
pub mod layout_row {
    /// Bytes of a row.
    pub const BYTES: u64 = 8;
}

/// A row of a kernel.
pub mod kernel_row {
    /// Where its layout is in the arrays of layouts.
    pub const LAYOUT: i32 = 0;
    /// Where its SPIR-V is in the table.
    pub const CODE: i32 = 8;
    /// Bytes of it.
    pub const CODE_BYTES: i32 = 16;
    /// Bytes of a row.
    pub const BYTES: u64 = 24;
}

/// A row of a constant.
pub mod constant_row {
    /// Where it is on the device.
    pub const TO: i32 = 0;
    /// Where it ends there.
    pub const END: i32 = 8;
    /// Where it is in the weights.
    pub const FROM: i32 = 16;
    /// Bytes of a row.
    pub const BYTES: u64 = 24;
}

/// A row of a region.
pub mod region_row {
    /// Where its steps are in the table.
    pub const STEPS: i32 = 0;
    /// The end of them.
    pub const STEPS_END: i32 = 8;
    /// Where the structures `VkBufferCopy` of what enters are.
    pub const COPIES_IN: i32 = 16;
    /// How many there are.
    pub const COPIES_IN_COUNT: i32 = 24;
    /// Where those of what leaves are, the status first.
    pub const COPIES_OUT: i32 = 32;
    /// How many there are.
    pub const COPIES_OUT_COUNT: i32 = 40;
    /// Rows of what enters.
    pub const ENTER: i32 = 48;
    /// The end of them.
    pub const ENTER_END: i32 = 56;
    /// Rows of what leaves.
    pub const LEAVE: i32 = 64;
    /// The end of them.
    pub const LEAVE_END: i32 = 72;
    /// Where its command buffer is in the part of the state.
    pub const COMMANDS: i32 = 80;
    /// The number of its first timestamp.
    pub const FIRST_TIMESTAMP: i32 = 88;
    /// How many it has.
    pub const TIMESTAMPS: i32 = 96;
    /// Where in staging memory they are copied.
    pub const TIMES: i32 = 104;
    /// Bytes of a row.
    pub const BYTES: u64 = 112;
}

/// A row of what crosses.
pub mod crossing_row {
    /// Where it is in staging memory.
    pub const STAGING: i32 = 0;
    /// Bytes; 0 for an extent.
    pub const HOST_BYTES: i32 = 8;
    /// Bytes of a row.
    pub const BYTES: u64 = 16;
}

/// A step; structures `VkDescriptorBufferInfo` follow, in place of whose handle stands where the part of the state has it.
pub mod step {
    /// Where the kernel's pipeline is in the array of pipelines, or [`BARRIER`].
    pub const PIPELINE: i32 = 0;
    /// Where the kernel's layout is in the arrays of layouts.
    pub const LAYOUT: i32 = 8;
    /// Of a barrier, in place of the layout: the stages that wait, and how they access memory, singles.
    pub const WAITING: i32 = 8;
    /// Workgroups in each direction, singles. Where the last is 0 they stand in the area, from the byte on that the first two are as a word.
    pub const GROUPS: i32 = 16;
    /// The number of bindings, a single.
    pub const BINDINGS: i32 = 28;
    /// Bytes before the bindings.
    pub const BYTES: u64 = 32;
    /// Stands for the pipeline where the step is a barrier.
    pub const BARRIER: u64 = u64::MAX;
}

/// A constant as the weights have it: its first byte, and how many there are.
pub type Placed = (u64, u64);

/// The table of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Read-only data, aligned to [`ALIGNMENT`].
    pub bytes: Vec<u8>,
    /// Where each region's row is.
    pub regions: Vec<u64>,
    /// Where the arrays are in the part of the state.
    pub arrays: Arrays,
}

/// What a table is aligned to.
pub const ALIGNMENT: u64 = 16;

/// What a table is to say beside what the device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wishes {
    /// Whether devices will do that are CPUs.
    pub takes_cpus: bool,
    /// Whether regions are measured.
    pub measures: bool,
}

/// The table of a device. `constants` says of a constant's number where the weights have it.
///
/// # Errors
/// [`CodegenError::Bug`] when something of the device is not where it must be.
pub fn tables(
    device: &Device,
    modules: &Modules,
    constants: &dyn Fn(usize) -> Option<Placed>,
    wishes: Wishes,
) -> Result<Tables, CodegenError> {
    let Unit::Gpu(gpu) = device.machine.unit else {
        return Err(CodegenError::Bug(format!("{} is no GPU", device.machine.level)));
    };
    check(device, &gpu, modules).map_err(CodegenError::Bug)?;
    let layouts = binding_counts(device);
    let arrays = Arrays::new(device);
    let mut table = Table { device, layouts: &layouts, bytes: vec![0; 8 * Head::End as usize] };
    table.limits(&gpu, wishes, &arrays);
    table.rows(Head::Layouts, layouts.iter().map(|&bindings| vec![bindings as u64]));
    table.kernels(modules);
    let placed = device.constants.iter().map(|constant| {
        let (from, bytes) = constants(constant.constant).ok_or_else(|| CodegenError::Bug("a constant is nowhere".into()))?;
        let end = constant.offset + bytes;
        if end > device.constant_bytes {
            return Err(CodegenError::Bug("a constant is longer than its room on the device".into()));
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

/// The bytes that a size takes on the device.
fn whole(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

struct Table<'a> {
    device: &'a Device,
    /// Numbers of bindings.
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
            // What it asks for is an extension of Vulkan 1.1.
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

    /// Adds words; gives where they begin.
    fn words(&mut self, words: &[u64]) -> u64 {
        let start = self.bytes.len() as u64;
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        start
    }

    /// Adds rows of words, and says in the head where they begin and end. Gives where they begin.
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

    /// Where the layout of a kernel is in the arrays of layouts.
    fn layout(&self, kernel: usize) -> u64 {
        let bindings = self.device.kernels[kernel].binding_count();
        8 * self.layouts.iter().position(|&count| count == bindings).unwrap_or(0) as u64
    }

    /// SPIR-V, each module at a multiple of 8, then the rows.
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

    /// Everything of a region; gives its row.
    fn region(&mut self, region: &DeviceRegion, modules: &Modules, commands: u64) -> Vec<u64> {
        let steps = self.bytes.len() as u64;
        for step in &region.steps {
            self.step(step, modules);
        }
        let steps_end = self.bytes.len() as u64;
        let copies_in: Vec<u64> = region.enter.iter().flat_map(|c| [c.staging, c.device, c.device_bytes()]).collect();
        // The status is the first word of both.
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

    /// What kernels wrote is there for accesses of stages after.
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
                DeviceMemory::Area => part::AREA,
                DeviceMemory::Constants => part::CONSTANTS,
            };
            self.words(&[buffer as u64, offset, bytes]);
        }
    }
}
