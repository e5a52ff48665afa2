//! The device record in the state: properties, every handle, the address of every function. All fields are 0 before a device is opened. So the
//! handles that exist are known if opening fails.
//!
//! Four arrays follow the fixed fields; the model's table has their lengths. They hold layouts of descriptor sets, layouts of pipelines,
//! pipelines, and command buffers.

mod fields;

pub use fields::{FIELDS, FUNCTIONS, Field, MEMORY, PROPERTIES_BYTES};

use super::structs::Layout;
use modelc_program::{Device, DeviceKernel, DeviceRegion};

/// Offsets of a model's arrays, and the size of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrays {
    /// Layouts of descriptor sets.
    pub set_layouts: u64,
    /// Layouts of pipelines, one for each layout of descriptor sets.
    pub pipeline_layouts: u64,
    /// Pipelines, one for each kernel.
    pub pipelines: u64,
    /// Command buffers, one for each region.
    pub commands: u64,
    /// Bytes of the whole record.
    pub bytes: u64,
}

impl Arrays {
    /// Computes the arrays of a device.
    pub fn new(device: &Device) -> Self {
        Self::of_counts(binding_counts(device).len(), device.kernels.len(), device.regions.len())
    }

    fn of_counts(layouts: usize, kernels: usize, regions: usize) -> Self {
        let [layouts, kernels, regions] = [layouts, kernels, regions].map(|count| 8 * count as u64);
        let set_layouts = FIELDS.bytes(Layout::WIDE);
        let pipeline_layouts = set_layouts + layouts;
        let pipelines = pipeline_layouts + layouts;
        let commands = pipelines + kernels;
        Self { set_layouts, pipeline_layouts, pipelines, commands, bytes: commands + regions }
    }
}

/// Returns the number of timestamps of a measured region: at the start, after inputs arrived, after each dispatch, and at the end.
pub fn timestamps(region: &DeviceRegion) -> u64 {
    region.dispatches().count() as u64 + 3
}

/// Returns the offset of each region's timestamps in staging memory, and the end of the last ones.
pub fn timestamp_places(device: &Device) -> (Vec<u64>, u64) {
    let mut end = device.staging_bytes.next_multiple_of(8);
    let place = |region: &DeviceRegion| {
        let start = end;
        end += 8 * timestamps(region);
        start
    };
    let places = device.regions.iter().map(place).collect();
    (places, end)
}

/// Returns the distinct numbers of ranges that kernels bind. Each has a layout.
pub fn binding_counts(device: &Device) -> Vec<usize> {
    let mut counts: Vec<usize> = device.kernels.iter().map(DeviceKernel::binding_count).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_follow_the_fields() {
        let arrays = Arrays::of_counts(2, 3, 1);
        let start = arrays.set_layouts;
        assert_eq!([arrays.pipeline_layouts, arrays.pipelines, arrays.commands, arrays.bytes].map(|at| at - start), [16, 32, 56, 64]);
        assert_eq!(start, FIELDS.bytes(Layout::WIDE));
    }
}
