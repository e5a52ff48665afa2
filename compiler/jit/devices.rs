//! Search for the Vulkan devices of this computer and their properties, with the functions of the GPU runtime.

use super::{failed, placed};
use crate::codegen::alone::survey;
use crate::codegen::vulkan::functions::{FUNCTIONS, Vk};
use crate::codegen::vulkan::{Modules, Own, SURVEY, SURVEYED, Wishes, survey_row, tables};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::interface::device::Field;
use crate::machine::{GPUS, GpuMachine};
use crate::program::{Device, Program};
use crate::target;
use std::ffi::CStr;

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundDevice {
    /// Name from the driver.
    pub name: String,
    /// `VkPhysicalDeviceType` of the device.
    pub device_type: u32,
    /// Vulkan version of the device.
    pub api_version: u32,
    /// Profiles that the device meets.
    pub profiles: Vec<&'static str>,
}

/// Result of the search for Vulkan devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// The devices of a loaded library.
    Devices(Vec<FoundDevice>),
    /// A call that failed, with its `VkResult`. `None` means loading the library.
    Failed(Option<&'static str>, i32),
}

macro_rules! survey_types {
    ($abi:literal) => {
        type Survey = unsafe extern $abi fn(*mut u64, *const u64, *mut u32, *mut u32) -> i32;
        type Close = unsafe extern $abi fn(*mut u64, *const u64);
    };
}
// Generated code uses the System V convention, which differs from C's on some systems.
#[cfg(target_arch = "x86_64")]
survey_types!("sysv64");
#[cfg(not(target_arch = "x86_64"))]
survey_types!("C");

/// Number of words of a row.
const ROW: usize = survey_row::BYTES as usize / 4;

/// Result of one profile's survey: rows of [`survey_row`], or the call that failed with its result.
type Rows = Result<Vec<[u32; ROW]>, (Option<&'static str>, i32)>;

/// Searches for devices.
///
/// # Errors
/// Diagnostics if this computer is not supported.
pub fn devices() -> Result<Found, Diagnostics> {
    let host = target::in_process()?;
    let machine = target::host_machine()?;
    let compiled = survey(machine, host)?;
    let (module, functions) = placed(&Program::default(), host, machine, &[], &compiled)?;
    let address = |name: &str| {
        let position = compiled.functions.iter().position(|function| function.entry && function.name == name);
        position.map(|position| module.get_finalized_function(functions[position])).ok_or_else(|| failed(&format!("there is no {name}")))
    };
    let addresses = Addresses { survey: address(SURVEY)?, close: address(Own::Close.name())? };
    let surveys = GPUS.iter().map(|gpu| rows(gpu, addresses)).collect::<Result<Vec<_>, _>>();
    // SAFETY: no code of it runs any more.
    unsafe { module.free_memory() };
    Ok(found(&surveys?))
}

/// The addresses of the functions that a survey calls.
#[derive(Clone, Copy)]
struct Addresses {
    survey: *const u8,
    close: *const u8,
}

/// Runs the survey for a profile.
fn rows(gpu: &'static GpuMachine, Addresses { survey, close }: Addresses) -> Result<Rows, Diagnostic> {
    let device = Device::idle(gpu);
    let table =
        tables(&device, &Modules::default(), &|_| None, Wishes { takes_cpus: true, measures: false }).map_err(|error| failed(&error))?;
    let words: Vec<u64> =
        table.bytes.chunks(8).map(|bytes| u64::from_le_bytes(std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0)))).collect();
    let mut part = vec![0u64; table.arrays.bytes as usize / 8];
    let (mut rows, mut count) = (vec![[0u32; ROW]; SURVEYED], 0);
    // SAFETY: the code is placed and these are its types. The part has the bytes that the table says, and there is room for as many rows as the
    // survey writes.
    let status = unsafe {
        let survey: Survey = std::mem::transmute::<*const u8, Survey>(survey);
        let close: Close = std::mem::transmute::<*const u8, Close>(close);
        let status = survey(part.as_mut_ptr(), words.as_ptr(), rows.as_mut_ptr().cast(), &mut count);
        close(part.as_mut_ptr(), words.as_ptr());
        status
    };
    let single = |field: Field| (part[field.offset() as usize / 8] >> (field.offset() % 8 * 8)) as u32;
    if status != 0 {
        let call = (single(Field::Call) as usize).checked_sub(1).filter(|&call| call != Vk::OpenLibrary as usize);
        return Ok(Err((call.and_then(|call| FUNCTIONS.get(call)).map(|row| row.name), single(Field::Result) as i32)));
    }
    rows.truncate(count as usize);
    Ok(Ok(rows))
}

/// Returns the devices of the first survey, with the profiles in whose surveys they are suitable.
fn found(surveys: &[Rows]) -> Found {
    let first = match &surveys[0] {
        Ok(rows) => rows,
        Err((call, result)) => return Found::Failed(*call, *result),
    };
    let suits = |number: usize, rows: &Rows| rows.as_ref().is_ok_and(|rows| rows.get(number).is_some_and(|row| row[0] != 0));
    let device = |(number, row): (usize, &[u32; ROW])| {
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        let name = &bytes[survey_row::PROPERTIES as usize + 20..];
        let profiles = GPUS.iter().zip(surveys).filter(|(_, rows)| suits(number, rows)).map(|(gpu, _)| gpu.level);
        FoundDevice {
            name: CStr::from_bytes_until_nul(name).unwrap_or_default().to_string_lossy().into_owned(),
            device_type: row[5],
            api_version: row[1],
            profiles: profiles.collect(),
        }
    };
    Found::Devices(first.iter().enumerate().map(device).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_the_profiles_of_the_surveys_in_which_they_suit() {
        let row = |score| {
            let mut row = [0; ROW];
            row[..6].copy_from_slice(&[score, 1 << 22 | 3 << 12, 0, 0, 0, 2]);
            row[6] = u32::from_le_bytes(*b"GPU\0");
            row
        };
        let surveys = [Ok(vec![row(4), row(0)]), Ok(vec![row(4), row(2)]), Err((Some("vkCreateInstance"), -9))];
        let Found::Devices(devices) = found(&surveys) else { panic!("there are two") };
        let told: Vec<_> = devices.iter().map(|device| (device.name.as_str(), device.device_type, device.profiles.as_slice())).collect();
        assert_eq!(told, [("GPU", 2, &["vulkan1.1", "vulkan1.1+bytes"][..]), ("GPU", 2, &["vulkan1.1+bytes"])]);
        assert_eq!(found(&[Err((None, -3))]), Found::Failed(None, -3));
    }

    #[test]
    fn this_computer_can_be_asked() {
        match devices().unwrap() {
            Found::Devices(devices) => assert!(devices.iter().all(|device| !device.name.is_empty()), "{devices:?}"),
            Found::Failed(_, result) => assert_ne!(result, 0),
        }
    }
}
