//! The data that all models share: names of functions, of extensions and of the library, and bindings.

use super::functions::{FUNCTIONS, Row, Source, Vk};
use super::layout::DESCRIPTOR_SET_LAYOUT_BINDING;
use super::modules::MOST_BINDINGS;

/// Bytes of a name, its NUL included.
pub const NAME_BYTES: u64 = 48;
/// The most names of the library that a system has.
const MOST_LIBRARIES: usize = 3;

/// `VK_DESCRIPTOR_TYPE_STORAGE_BUFFER`
pub const STORAGE_BUFFER: u32 = 7;
/// `VK_SHADER_STAGE_COMPUTE_BIT`
pub const COMPUTE_STAGE: u32 = 0x20;

/// What a device of Vulkan 1.1 has as extensions where the profile has elements of 8 bits.
pub const EXTENSION_NAMES: [&str; 2] = ["VK_KHR_8bit_storage", "VK_KHR_shader_float16_int8"];

/// Structures `VkDescriptorSetLayoutBinding`.
pub const BINDINGS: u64 = 0;
/// Priorities of queues.
pub const PRIORITIES: u64 = BINDINGS + 24 * MOST_BINDINGS as u64;
/// The name of shaders' entry points.
pub const ENTRY: u64 = PRIORITIES + 8;
/// Names of extensions of devices, [`NAME_BYTES`] each.
pub const EXTENSIONS: u64 = ENTRY + 8;
/// Names of the library.
pub const LIBRARIES: u64 = EXTENSIONS + NAME_BYTES * EXTENSION_NAMES.len() as u64;
/// Names of functions by their number, to the end.
pub const NAMES: u64 = LIBRARIES + NAME_BYTES * MOST_LIBRARIES as u64;

/// The data. `open` is the name of the system's function that opens libraries, and `libraries` those to try; `measures` says whether the functions are
/// there that only measuring takes.
pub fn common_data(open: &str, libraries: &[&str], measures: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for binding in 0..MOST_BINDINGS as u32 {
        let members = [("binding", binding), ("descriptorType", STORAGE_BUFFER), ("descriptorCount", 1), ("stageFlags", COMPUTE_STAGE)];
        let mut row = vec![0; DESCRIPTOR_SET_LAYOUT_BINDING.bytes() as usize];
        for (name, value) in members {
            row[DESCRIPTOR_SET_LAYOUT_BINDING.offset(name) as usize..][..4].copy_from_slice(&value.to_le_bytes());
        }
        bytes.extend(row);
    }
    bytes.extend(1f32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(b"main\0\0\0\0");
    let function = |row: &'static Row| if row.function == Vk::OpenLibrary { open } else { row.name };
    let functions = FUNCTIONS.iter().filter(|row| measures || row.source != Source::Measuring).map(function);
    let libraries = libraries.iter().copied().chain([""; MOST_LIBRARIES]).take(MOST_LIBRARIES);
    for text in EXTENSION_NAMES.into_iter().chain(libraries).chain(functions) {
        let end = bytes.len() + NAME_BYTES as usize;
        bytes.extend(text.bytes());
        bytes.resize(end, 0);
    }
    bytes
}
