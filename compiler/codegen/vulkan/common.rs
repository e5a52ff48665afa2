//! Data that all models share: names of functions, extensions and libraries, and descriptor bindings.

use super::functions::{FUNCTIONS, Row, Source, Vk};
use super::layout::DESCRIPTOR_SET_LAYOUT_BINDING;
use super::modules::MOST_BINDINGS;

/// Bytes of a name, with its NUL.
pub const NAME_BYTES: u64 = 48;
/// Maximum number of library names of a system.
const MOST_LIBRARIES: usize = 3;

/// `VK_DESCRIPTOR_TYPE_STORAGE_BUFFER`
pub const STORAGE_BUFFER: u32 = 7;
/// `VK_SHADER_STAGE_COMPUTE_BIT`
pub const COMPUTE_STAGE: u32 = 0x20;

/// Extensions that a device of Vulkan 1.1 needs if the profile has elements of 8 bits.
pub const EXTENSION_NAMES: [&str; 2] = ["VK_KHR_8bit_storage", "VK_KHR_shader_float16_int8"];

/// Offset of the structures `VkDescriptorSetLayoutBinding`.
pub const BINDINGS: u64 = 0;
/// Offset of the queue priorities.
pub const PRIORITIES: u64 = BINDINGS + 24 * MOST_BINDINGS as u64;
/// Offset of the name of the shaders' entry points.
pub const ENTRY: u64 = PRIORITIES + 8;
/// Offset of the names of device extensions, [`NAME_BYTES`] each.
pub const EXTENSIONS: u64 = ENTRY + 8;
/// Offset of the names of the library.
pub const LIBRARIES: u64 = EXTENSIONS + NAME_BYTES * EXTENSION_NAMES.len() as u64;
/// Offset of the names of functions, in the order of their numbers, up to the end.
pub const NAMES: u64 = LIBRARIES + NAME_BYTES * MOST_LIBRARIES as u64;

/// Makes the data. `open` is the name of the system's function that opens libraries, and `libraries` are the names to try. With `measures`, the names
/// include the functions that only measuring needs.
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
