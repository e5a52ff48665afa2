//! The runtime's functions: names, signatures, and the parameters that they are written from.

use super::common::common_data;
use crate::driver::language::{Callee, Signature, Width};
use modelc_interface::Layout;

/// The version of tables and of the part of the state. The objects of models and the runtime must agree on it.
pub const FORMAT: u32 = 3;
/// Prefix of the symbols of a runtime in a separate object.
pub const RUNTIME_NAME: &str = "modelc";

/// The functions of the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// `void copy(void *to, const void *from, size_t bytes)`
    Copy,
    /// Returns the score of a device, 0 if it is unsuitable: `int suits(part, table, VkPhysicalDevice, uint32_t *family)`
    Suits,
    /// Makes a buffer with memory: `int buffer(part, void *slots, size_t bytes, usage, wished, next, least)`
    Buffer,
    /// Runs commands and waits for their end: `int submit(part, VkCommandBuffer)`
    Submit,
    /// Makes instance and device, unless the application provides them: `int device(part, table)`
    Device,
    /// `int pipelines(part, table)`
    Pipelines,
    /// `int upload(part, table, const void *weights)`
    Upload,
    /// Records the commands of a region: `int record(part, table, const void *row)`
    Record,
    /// `int open(part, table, const void *weights, const modelc_vk_host *host)`
    Open,
    /// `int run(part, table, const void *row, const void *crossings)`
    Run,
    /// `void close(part, table)`
    Close,
    /// `int report(part, modelc_gpu_info *info)`
    Report,
}

impl Own {
    /// All functions with their names, in the order of their numbers.
    const NAMED: [(Self, &'static str); 12] = [
        (Self::Copy, "vulkan_copy"),
        (Self::Suits, "vulkan_suits"),
        (Self::Buffer, "vulkan_buffer"),
        (Self::Submit, "vulkan_submit"),
        (Self::Device, "vulkan_device"),
        (Self::Pipelines, "vulkan_pipelines"),
        (Self::Upload, "vulkan_upload"),
        (Self::Record, "vulkan_record"),
        (Self::Open, "vulkan_open"),
        (Self::Run, "vulkan_run"),
        (Self::Close, "vulkan_close"),
        (Self::Report, "vulkan_report"),
    ];

    /// Returns all functions, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMED.into_iter().map(|(own, _)| own)
    }

    /// Functions that models call; the others are helpers.
    pub const ENTRIES: [Self; 4] = [Self::Open, Self::Run, Self::Close, Self::Report];

    /// Returns the functions that this function calls.
    pub fn helpers(self) -> &'static [Self] {
        match self {
            Self::Copy | Self::Suits | Self::Buffer | Self::Submit | Self::Pipelines | Self::Record | Self::Close => &[],
            Self::Report => &[Self::Copy],
            Self::Device => &[Self::Suits, Self::Copy],
            Self::Upload | Self::Run => &[Self::Copy, Self::Submit],
            Self::Open => &[Self::Suits, Self::Copy, Self::Device, Self::Buffer, Self::Pipelines, Self::Upload, Self::Record],
        }
    }

    /// Returns the maximum stack of a function and its helpers. `own` gives the stack of each function alone. Vulkan's own stack is not counted.
    pub fn stack_bytes(self, own: &impl Fn(Self) -> u64) -> u64 {
        let below = self.helpers().iter().map(|helper| helper.stack_bytes(own)).max();
        own(self) + below.unwrap_or(0)
    }

    /// Returns the name of the function.
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].1
    }

    /// Returns the signature of the function.
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

/// The system's functions that open a library and find a function in it, and the libraries to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loader {
    /// `void *open(const char *name[, int flags])`
    pub open: &'static str,
    /// `void *find(void *library, const char *name)`
    pub find: &'static str,
    /// The flags, if `open` takes any.
    pub flags: Option<u32>,
    /// The library's names, in the order of trials.
    pub libraries: &'static [&'static str],
}

/// `RTLD_NOW`, which is the same on all these systems.
const NOW: u32 = 2;

impl Loader {
    /// Loader of Linux and Android.
    pub const LINUX: Self = Self { open: "dlopen", find: "dlsym", flags: Some(NOW), libraries: &["libvulkan.so.1", "libvulkan.so"] };
    /// Loader of Apple's systems, on which the library uses Metal.
    pub const APPLE: Self =
        Self { open: "dlopen", find: "dlsym", flags: Some(NOW), libraries: &["libMoltenVK.dylib", "libvulkan.1.dylib", "libvulkan.dylib"] };
    /// Loader of Windows.
    pub const WINDOWS: Self = Self { open: "LoadLibraryA", find: "GetProcAddress", flags: None, libraries: &["vulkan-1.dll"] };

    /// Returns the signature of the function that opens a library.
    pub fn open_signature(&self) -> Signature {
        let parameters: &[Width] = if self.flags.is_some() { &[Width::Word, Width::Single] } else { &[Width::Word] };
        Signature::new(parameters, Some(Width::Word))
    }

    /// Returns the signature of the function that finds a function.
    pub fn find_signature(&self) -> Signature {
        Signature::new(&[Width::Word; 2], Some(Width::Word))
    }
}

/// Parameters that the runtime's functions are written from.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// The layout of data on the target; pointers have eight bytes.
    pub layout: Layout,
    /// The number of the first function; the others follow in the order of [`Own::all`].
    pub first: u32,
    /// The number of the data section that all models share.
    pub data: u32,
    /// The loader, and the numbers of its two imported functions. `None` if the application provides the library.
    pub loader: Option<(Loader, [u32; 2])>,
    /// `true` if regions take timestamps.
    pub measures: bool,
}

impl Runtime {
    /// Returns the callee of a function.
    pub fn callee(&self, own: Own) -> Callee {
        Callee::Function(self.first + own as u32)
    }

    /// Returns the data that all models share, with the names of this loader.
    pub fn data(&self) -> Vec<u8> {
        let (loader, _) = self.loader.unwrap_or((Loader { open: "vkGetInstanceProcAddr", libraries: &[], ..Loader::LINUX }, [0; 2]));
        common_data(loader.open, loader.libraries, self.measures)
    }
}
