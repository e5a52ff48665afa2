//! What the functions of the runtime are called, how, and what they are written from.

use super::common::common_data;
use crate::codegen::driver::language::{Callee, Signature, Width};
use crate::interface::Layout;

/// The version of tables and of the part of the state: objects of models and the runtime must agree in it.
pub const FORMAT: u32 = 3;
/// What the symbols of a runtime in an object of its own begin with.
pub const RUNTIME_NAME: &str = "modelc";

/// The functions of the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// `void copy(void *to, const void *from, size_t bytes)`
    Copy,
    /// How well a device suits, 0 for not at all: `int suits(part, table, VkPhysicalDevice, uint32_t *family)`
    Suits,
    /// A buffer with memory: `int buffer(part, void *slots, size_t bytes, usage, wished, next, least)`
    Buffer,
    /// `int submit(part, VkCommandBuffer)`, which waits for the end.
    Submit,
    /// Instance and device, where the application brings none: `int device(part, table)`
    Device,
    /// `int pipelines(part, table)`
    Pipelines,
    /// `int upload(part, table, const void *weights)`
    Upload,
    /// The commands of a region: `int record(part, table, const void *row)`
    Record,
    /// `int open(part, table, const void *weights, const modelc_vk_host *host)`
    Open,
    /// `int run(part, table, const void *row, void *const *addresses)`
    Run,
    /// `void close(part, table)`
    Close,
    /// `int report(part, modelc_gpu_info *info)`
    Report,
}

impl Own {
    /// All of them, by their numbers.
    pub const ALL: [Self; 12] = [
        Self::Copy,
        Self::Suits,
        Self::Buffer,
        Self::Submit,
        Self::Device,
        Self::Pipelines,
        Self::Upload,
        Self::Record,
        Self::Open,
        Self::Run,
        Self::Close,
        Self::Report,
    ];

    /// Those that models call; the others only serve them.
    pub const ENTRIES: [Self; 4] = [Self::Open, Self::Run, Self::Close, Self::Report];

    /// Those that it calls itself.
    pub fn helpers(self) -> &'static [Self] {
        match self {
            Self::Copy | Self::Suits | Self::Buffer | Self::Submit | Self::Pipelines | Self::Record | Self::Close => &[],
            Self::Report => &[Self::Copy],
            Self::Device => &[Self::Suits, Self::Copy],
            Self::Upload | Self::Run => &[Self::Copy, Self::Submit],
            Self::Open => &[Self::Suits, Self::Copy, Self::Device, Self::Buffer, Self::Pipelines, Self::Upload, Self::Record],
        }
    }

    /// The most stack that it takes with those that it calls, of the stack that each takes itself. What Vulkan takes is not counted.
    pub fn stack_bytes(self, own: &impl Fn(Self) -> u64) -> u64 {
        let below = self.helpers().iter().map(|helper| helper.stack_bytes(own)).max();
        own(self) + below.unwrap_or(0)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "vulkan_copy",
            Self::Suits => "vulkan_suits",
            Self::Buffer => "vulkan_buffer",
            Self::Submit => "vulkan_submit",
            Self::Device => "vulkan_device",
            Self::Pipelines => "vulkan_pipelines",
            Self::Upload => "vulkan_upload",
            Self::Record => "vulkan_record",
            Self::Open => "vulkan_open",
            Self::Run => "vulkan_run",
            Self::Close => "vulkan_close",
            Self::Report => "vulkan_report",
        }
    }

    /// How it is called.
    pub fn signature(self) -> Signature {
        match self {
            Self::Copy => Signature::new(&[Width::Word; 3], None),
            Self::Buffer => {
                use Width::{Single, Word};
                Signature::new(&[Word, Word, Word, Single, Single, Single, Single], Some(Single))
            }
            Self::Suits | Self::Open | Self::Run => Signature::status(4),
            Self::Upload | Self::Record => Signature::status(3),
            Self::Submit | Self::Device | Self::Pipelines | Self::Report => Signature::status(2),
            Self::Close => Signature::new(&[Width::Word; 2], None),
        }
    }
}

/// The system's functions that open a library and find a function in it, with the libraries to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loader {
    /// `void *open(const char *name[, int flags])`
    pub open: &'static str,
    /// `void *find(void *library, const char *name)`
    pub find: &'static str,
    /// The flags, where it takes some.
    pub flags: Option<u32>,
    /// The library's names.
    pub libraries: &'static [&'static str],
}

/// `RTLD_NOW`, the same on all these systems.
const NOW: u32 = 2;

impl Loader {
    /// Of Linux and Android.
    pub const LINUX: Self = Self { open: "dlopen", find: "dlsym", flags: Some(NOW), libraries: &["libvulkan.so.1", "libvulkan.so"] };
    /// Of Apple's systems, where the library is over Metal.
    pub const APPLE: Self =
        Self { open: "dlopen", find: "dlsym", flags: Some(NOW), libraries: &["libMoltenVK.dylib", "libvulkan.1.dylib", "libvulkan.dylib"] };
    /// Of Windows.
    pub const WINDOWS: Self = Self { open: "LoadLibraryA", find: "GetProcAddress", flags: None, libraries: &["vulkan-1.dll"] };

    /// How the function that opens is called.
    pub fn open_signature(&self) -> Signature {
        let parameters: &[Width] = if self.flags.is_some() { &[Width::Word, Width::Single] } else { &[Width::Word] };
        Signature::new(parameters, Some(Width::Word))
    }

    /// How the function that finds is called.
    pub fn find_signature(&self) -> Signature {
        Signature::new(&[Width::Word; 2], Some(Width::Word))
    }
}

/// What the runtime's functions are written from.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// How the target lays out data: pointers have eight bytes.
    pub layout: Layout,
    /// The number of the first of its functions; the others follow as in [`Own::ALL`].
    pub first: u32,
    /// The number of the data that all models share.
    pub data: u32,
    /// How the library is found, and the numbers of the two imported functions; nothing where the application brings it.
    pub loader: Option<(Loader, [u32; 2])>,
    /// Whether regions take times of what they do.
    pub measures: bool,
}

impl Runtime {
    /// What calls one of them.
    pub fn callee(&self, own: Own) -> Callee {
        Callee::Function(self.first + own as u32)
    }

    /// The data that all models share, for these libraries.
    pub fn data(&self) -> Vec<u8> {
        let (loader, _) = self.loader.unwrap_or((Loader { open: "vkGetInstanceProcAddr", libraries: &[], ..Loader::LINUX }, [0; 2]));
        common_data(loader.open, loader.libraries, self.measures)
    }
}
