//! A last check of a device: all numbers are in range, and all operands are inside their bindings, as Vulkan requires.

use super::modules::{MOST_BINDINGS, Modules};
use modelc_kernel::{BufferKind, Grid};
use modelc_machine::Gpu;
use modelc_program::{Bound, Crossing, Device, DeviceMemory, Dispatch, Residents, Variable};

/// First word of a SPIR-V module.
const MAGIC: u32 = 0x0723_0203;

/// A mistake in a device.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeviceFault {
    /// Kernels and modules of different numbers.
    #[error("there are {kernels} kernels and {modules} modules")]
    Modules {
        /// The number of kernels.
        kernels: usize,
        /// The number of modules.
        modules: usize,
    },
    /// More bindings than the device has.
    #[error("kernel {kernel} binds {bindings} ranges of at most {most}")]
    TooManyBindings {
        /// The kernel.
        kernel: String,
        /// The number of its bindings.
        bindings: usize,
        /// The number that the device has.
        most: u32,
    },
    /// Operands without a binding, or bindings without an operand.
    #[error("the operands of kernel {kernel} are not those that it binds")]
    Operands {
        /// The kernel.
        kernel: String,
    },
    /// A module that is no SPIR-V, or a number of workgroups beyond the limits.
    #[error("kernel {kernel} cannot be dispatched as {groups:?} workgroups of its module")]
    Groups {
        /// The kernel.
        kernel: String,
        /// The numbers of workgroups.
        groups: [u32; 3],
    },
    /// An area too small for the status.
    #[error("there is no room for the status of a region")]
    NoStatus,
    /// A region that should initialize variables, but is not the last one, or has data that crosses.
    #[error("region {region} does not give variables their first contents")]
    FirstContents {
        /// The index of the region.
        region: usize,
    },
    /// A variable outside of the area.
    #[error("variable {name} is not where it should be on the device")]
    Variable {
        /// Its name.
        name: String,
    },
    /// Data that crosses between host and device outside of their memory.
    #[error("what crosses is not where it should be: {0:?}")]
    Crossing(Crossing),
    /// A dispatch of a kernel beyond the table.
    #[error("kernel {index} of the device does not exist")]
    NoKernel {
        /// Its index.
        index: usize,
    },
    /// A dispatch with another number of bindings than its kernel.
    #[error("kernel {kernel} is bound to {bindings} ranges")]
    Bindings {
        /// The kernel.
        kernel: String,
        /// The number of ranges.
        bindings: usize,
    },
    /// A range outside of its memory, or shorter than its buffer.
    #[error("{buffer} of kernel {kernel} is not where it should be: {bound:?}")]
    Range {
        /// The buffer.
        buffer: String,
        /// The kernel.
        kernel: String,
        /// The range.
        bound: Bound,
    },
    /// A constant that a kernel writes.
    #[error("{buffer} of kernel {kernel} is written, and must not be")]
    Written {
        /// The buffer.
        buffer: String,
        /// The kernel.
        kernel: String,
    },
    /// A number of workgroups that is read from a wrong place.
    #[error("workgroups of kernel {kernel} are not counted at {place}")]
    Counts {
        /// The index of the kernel.
        kernel: usize,
        /// The place in the area.
        place: u64,
    },
    /// A constant beyond the weights.
    #[error("constant {0} is nowhere")]
    NoConstant(usize),
    /// A constant that does not end in the constants of the device.
    #[error("constant {index} ends at {end}, beyond the {room} bytes of the device's constants")]
    Constant {
        /// Its index.
        index: usize,
        /// Its end.
        end: u64,
        /// Bytes of the device's constants.
        room: u64,
    },
    /// Variables on a device that may be absent when the program runs.
    #[error("variables live on a device that need not be there")]
    OptionalDevice,
}

/// Checks a device and the modules of its kernels.
///
/// # Errors
/// The first mistake.
pub fn check(device: &Device, gpu: &Gpu, modules: &Modules) -> Result<(), DeviceFault> {
    let kernels = device.kernels.len();
    if (modules.words.len(), modules.groups.len()) != (kernels, kernels) {
        return Err(DeviceFault::Modules { kernels, modules: modules.words.len() });
    }
    for ((known, words), groups) in device.kernels.iter().zip(&modules.words).zip(&modules.groups) {
        let (bindings, kernel) = (known.binding_count(), &known.kernel);
        if bindings > MOST_BINDINGS.min(gpu.bindings as usize) {
            return Err(DeviceFault::TooManyBindings { kernel: kernel.name.clone(), bindings, most: gpu.bindings });
        }
        if kernel.pointer_params().count() != known.bindings.len() || (0..bindings).any(|binding| !known.bindings.contains(&binding)) {
            return Err(DeviceFault::Operands { kernel: kernel.name.clone() });
        }
        if words.first() != Some(&MAGIC) || groups.iter().any(|count| !(1..=Grid::MOST_GROUPS).contains(count)) {
            return Err(DeviceFault::Groups { kernel: kernel.name.clone(), groups: *groups });
        }
    }
    if device.area_bytes < 4 || device.staging_bytes < 4 {
        return Err(DeviceFault::NoStatus);
    }
    check_residents(device)?;
    for region in &device.regions {
        region.enter.iter().chain(&region.leave).try_for_each(|crossing| check_crossing(device, crossing))?;
        for dispatch in region.dispatches() {
            check_dispatch(device, gpu, dispatch)?;
            check_counts(device, dispatch)?;
        }
    }
    Ok(())
}

/// Checks that variables that live on the device are in the area. The region that initializes them must be the last, and no data may cross in it.
fn check_residents(device: &Device) -> Result<(), DeviceFault> {
    let Some(Residents { variables, region }) = &device.residents else { return Ok(()) };
    let is_alone = device.regions.get(*region).is_some_and(|region| region.enter.is_empty() && region.leave.is_empty());
    if !is_alone || region + 1 != device.regions.len() {
        return Err(DeviceFault::FirstContents { region: *region });
    }
    let is_inside = |variable: &&Variable| variable.offset >= 4 && fits(variable.offset, 4, variable.bytes, device.area_bytes);
    match variables.iter().find(|variable| !is_inside(variable)) {
        Some(variable) => Err(DeviceFault::Variable { name: variable.name.clone() }),
        None => Ok(()),
    }
}

/// Tests whether a range begins at a multiple of `multiple` and ends within `room` bytes, rounded up to whole words.
fn fits(offset: u64, multiple: u64, bytes: u64, room: u64) -> bool {
    offset.is_multiple_of(multiple) && offset.checked_add(bytes).is_some_and(|end| end <= room.next_multiple_of(4))
}

fn check_crossing(device: &Device, crossing: &Crossing) -> Result<(), DeviceFault> {
    let bytes = crossing.device_bytes();
    let has_room = [(crossing.staging, device.staging_bytes), (crossing.device, device.area_bytes)]
        .iter()
        .all(|&(offset, room)| offset >= 4 && fits(offset, 4, bytes, room));
    let is_sound = crossing.bytes > 0 && (!crossing.is_extent || crossing.bytes == 8);
    if has_room && is_sound { Ok(()) } else { Err(DeviceFault::Crossing(*crossing)) }
}

fn check_dispatch(device: &Device, gpu: &Gpu, Dispatch { kernel, bindings, .. }: &Dispatch) -> Result<(), DeviceFault> {
    let number = *kernel;
    let known = device.kernels.get(number).ok_or(DeviceFault::NoKernel { index: number })?;
    let kernel = &known.kernel;
    if known.binding_count() != bindings.len() {
        return Err(DeviceFault::Bindings { kernel: kernel.name.clone(), bindings: bindings.len() });
    }
    for ((_, buffer), &binding) in kernel.pointer_params().zip(&known.bindings) {
        let bound = &bindings[binding];
        let Bound { memory, offset, bytes } = *bound;
        let room = if memory == DeviceMemory::Area { device.area_bytes } else { device.constant_bytes };
        let is_inside = fits(offset, gpu.offset_alignment, bytes, room) && bytes.is_multiple_of(4) && bytes <= gpu.range_bytes;
        let is_whole = buffer.elements.checked_mul(buffer.lane.bytes().into()).is_some_and(|needed| needed <= bytes && bytes > 0);
        if !is_inside || !is_whole {
            return Err(DeviceFault::Range { buffer: buffer.name.clone(), kernel: kernel.name.clone(), bound: *bound });
        }
        if memory == DeviceMemory::Constants && buffer.kind != BufferKind::Input {
            return Err(DeviceFault::Written { buffer: buffer.name.clone(), kernel: kernel.name.clone() });
        }
    }
    Ok(())
}

/// Checks that a number of workgroups that is read from the area is inside it, and does not overlap the status.
fn check_counts(device: &Device, dispatch: &Dispatch) -> Result<(), DeviceFault> {
    let is_sound = |place: u64| place >= 4 && fits(place, 4, Dispatch::COUNT_BYTES, device.area_bytes);
    match dispatch.counts {
        Some(place) if !is_sound(place) => Err(DeviceFault::Counts { kernel: dispatch.kernel, place }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{device, modules};
    use super::*;
    use modelc_machine::GPUS;
    use modelc_program::{DeviceRegion, DeviceStep};

    /// Returns the error of a device that `change` has changed.
    fn wrong(change: impl FnOnce(&mut Device, &mut Modules)) -> String {
        let (mut device, mut modules) = (device(), modules());
        change(&mut device, &mut modules);
        let gpu = GPUS[0].limits;
        check(&device, &gpu, &modules).unwrap_err().to_string()
    }

    fn first_dispatch(device: &mut Device) -> &mut Dispatch {
        let first = device.regions[0].steps.iter_mut().find_map(|step| match step {
            DeviceStep::Dispatch(dispatch) => Some(dispatch),
            DeviceStep::Barrier | DeviceStep::CountBarrier => None,
        });
        first.unwrap()
    }

    #[test]
    fn mistakes_are_found() {
        let says = |text: String, part: &str| assert!(text.contains(part), "{text}");
        says(wrong(|_, modules| modules.words.truncate(0)), "0 modules");
        says(wrong(|_, modules| modules.groups[0][1] = 65_536), "cannot be dispatched");
        says(wrong(|_, modules| modules.words[0][0] = 0), "cannot be dispatched");
        says(wrong(|device, _| device.regions[0].enter[0].staging = 0), "what crosses");
        says(wrong(|device, _| device.regions[0].leave[0].device += 1), "what crosses");
        says(wrong(|device, _| device.staging_bytes = 8), "what crosses");
        says(wrong(|device, _| first_dispatch(device).kernel = 9), "does not exist");
        says(wrong(|device, _| device.kernels[1].bindings = vec![0, 2, 2]), "not those that it binds");
        says(wrong(|device, _| device.kernels[1].bindings = vec![0, 1]), "not those that it binds");
        says(wrong(|device, _| first_dispatch(device).bindings.truncate(1)), "bound to 1 ranges");
        says(wrong(|device, _| first_dispatch(device).bindings[0].offset += 4), "not where it should be");
        says(wrong(|device, _| first_dispatch(device).bindings[0].bytes -= 4), "not where it should be");
        says(wrong(|device, _| device.area_bytes = 512), "not where it should be");
        for place in [0, 514, 1020] {
            says(wrong(|device, _| first_dispatch(device).counts = Some(place)), &format!("are not counted at {place}"));
        }
        let resident = |offset, region| {
            let variable = Variable { name: "cache".into(), offset, bytes: 256, initial: None, is_copy: false };
            wrong(|device, _| {
                device.regions.push(DeviceRegion::default());
                device.residents = Some(Residents { variables: vec![variable], region });
            })
        };
        let last = device().regions.len();
        says(resident(0, last), "variable cache");
        says(resident(1024, last), "variable cache");
        says(resident(256, last - 1), "first contents");
        says(resident(256, last + 1), "first contents");
        let written = wrong(|device, _| {
            let last = first_dispatch(device).bindings.last_mut().unwrap();
            *last = Bound { memory: DeviceMemory::Constants, offset: 0, ..*last };
        });
        says(written, "is written, and must not be");
    }
}
