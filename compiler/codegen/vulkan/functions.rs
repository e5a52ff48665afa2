//! The functions of Vulkan that the runtime calls.

use crate::driver::language::{Signature, Width};

/// The source of a function's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The library.
    Library,
    /// `vkGetInstanceProcAddr` without an instance.
    Global,
    /// `vkGetInstanceProcAddr` with the instance.
    Instance,
    /// `vkGetDeviceProcAddr`.
    Device,
    /// `vkGetDeviceProcAddr`, only in a runtime that measures regions.
    Measuring,
}

/// The kind of result of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Nothing.
    Nothing,
    /// A `VkResult`.
    Result,
    /// An address.
    Address,
}

/// A function. Its position in [`FUNCTIONS`] is its number, which the state stores if the call fails.
#[derive(Debug)]
pub struct Row {
    /// The function.
    pub function: Vk,
    /// Vulkan's name of the function.
    pub name: &'static str,
    /// The source of its address.
    pub source: Source,
    /// The kind of result.
    pub gives: Gives,
    /// One letter for each parameter: `w` for a word, `s` for 32 bits.
    parameters: &'static str,
}

macro_rules! functions {
    ($($function:ident $source:ident $gives:ident $parameters:literal)*) => {
        /// A function of Vulkan, or of the system where the library is opened.
        #[allow(missing_docs, reason = "they have Vulkan's names, without its prefix")]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Vk {
            $($function),*
        }

        /// All functions, grouped by source. The groups of instance and device begin with the function that destroys it, so that a partly opened one
        /// can be freed.
        pub const FUNCTIONS: &[Row] = &[$(Row {
            function: Vk::$function,
            name: concat!("vk", stringify!($function)),
            source: Source::$source,
            gives: Gives::$gives,
            parameters: $parameters,
        }),*];
    };
}

functions! {
    OpenLibrary Library Address "ws"
    GetInstanceProcAddr Library Address "ww"
    CreateInstance Global Result "www"
    DestroyInstance Instance Nothing "ww"
    EnumeratePhysicalDevices Instance Result "www"
    GetPhysicalDeviceProperties Instance Nothing "ww"
    GetPhysicalDeviceFeatures2 Instance Nothing "ww"
    GetPhysicalDeviceQueueFamilyProperties Instance Nothing "www"
    GetPhysicalDeviceMemoryProperties Instance Nothing "ww"
    CreateDevice Instance Result "wwww"
    GetDeviceProcAddr Instance Address "ww"
    DestroyDevice Device Nothing "ww"
    GetDeviceQueue Device Nothing "wssw"
    CreateBuffer Device Result "wwww"
    DestroyBuffer Device Nothing "www"
    GetBufferMemoryRequirements Device Nothing "www"
    AllocateMemory Device Result "wwww"
    FreeMemory Device Nothing "www"
    BindBufferMemory Device Result "wwww"
    MapMemory Device Result "wwwwsw"
    FlushMappedMemoryRanges Device Result "wsw"
    InvalidateMappedMemoryRanges Device Result "wsw"
    CreateShaderModule Device Result "wwww"
    DestroyShaderModule Device Nothing "www"
    CreateDescriptorSetLayout Device Result "wwww"
    DestroyDescriptorSetLayout Device Nothing "www"
    CreatePipelineLayout Device Result "wwww"
    DestroyPipelineLayout Device Nothing "www"
    CreateComputePipelines Device Result "wwswww"
    DestroyPipeline Device Nothing "www"
    CreateDescriptorPool Device Result "wwww"
    DestroyDescriptorPool Device Nothing "www"
    AllocateDescriptorSets Device Result "www"
    UpdateDescriptorSets Device Nothing "wswsw"
    CreateCommandPool Device Result "wwww"
    DestroyCommandPool Device Nothing "www"
    AllocateCommandBuffers Device Result "www"
    BeginCommandBuffer Device Result "ww"
    EndCommandBuffer Device Result "w"
    CmdFillBuffer Device Nothing "wwwws"
    CmdCopyBuffer Device Nothing "wwwsw"
    CmdPipelineBarrier Device Nothing "wsssswswsw"
    CmdBindPipeline Device Nothing "wsw"
    CmdBindDescriptorSets Device Nothing "wswsswsw"
    CmdDispatch Device Nothing "wsss"
    CmdDispatchIndirect Device Nothing "www"
    CreateFence Device Result "wwww"
    DestroyFence Device Nothing "www"
    ResetFences Device Result "wsw"
    WaitForFences Device Result "wswsw"
    QueueSubmit Device Result "wsww"
    QueueWaitIdle Device Result "w"
    CreateQueryPool Measuring Result "wwww"
    DestroyQueryPool Measuring Nothing "www"
    CmdResetQueryPool Measuring Nothing "wwss"
    CmdWriteTimestamp Measuring Nothing "wsws"
    CmdCopyQueryPoolResults Measuring Nothing "wwsswwws"
}

impl Vk {
    /// Returns the row of the function.
    pub fn row(self) -> &'static Row {
        &FUNCTIONS[self as usize]
    }

    /// Returns the signature of the function.
    pub fn signature(self) -> Signature {
        let row = self.row();
        let width = |letter| if letter == b's' { Width::Single } else { Width::Word };
        let parameters: Vec<Width> = row.parameters.bytes().map(width).collect();
        let result = match row.gives {
            Gives::Nothing => None,
            Gives::Result => Some(Width::Single),
            Gives::Address => Some(Width::Word),
        };
        Signature::new(&parameters, result)
    }
}

/// Returns the range of the numbers of all functions from a source.
pub fn from(source: Source) -> std::ops::Range<u64> {
    let is_from = |row: &&Row| row.source == source;
    let first = FUNCTIONS.iter().position(|row| is_from(&row)).unwrap_or(0) as u64;
    first..first + FUNCTIONS.iter().filter(is_from).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_source_stand_together_and_those_that_free_it_are_first() {
        for source in [Source::Library, Source::Global, Source::Instance, Source::Device, Source::Measuring] {
            let range = from(source);
            assert!(FUNCTIONS[range.start as usize..range.end as usize].iter().all(|row| row.source == source));
        }
        assert_eq!(from(Source::Instance).start, Vk::DestroyInstance as u64);
        assert_eq!(from(Source::Device).start, Vk::DestroyDevice as u64);
        assert_eq!(Vk::QueueWaitIdle.row().name, "vkQueueWaitIdle");
        assert!(FUNCTIONS.len() <= modelc_interface::device::FUNCTIONS, "the state has room for their addresses");
    }

    /// Compares the parameters of each function with the types in `ash`; a pointer has eight bytes.
    #[test]
    fn parameters_are_as_many_and_as_wide_as_vulkans() {
        use ash::vk;
        macro_rules! sizes {
            ($($function:ident: $($ty:ty),*;)*) => {$(
                let widths: Vec<usize> = vec![$(size_of::<$ty>()),*];
                let ours: Vec<usize> = Vk::$function.row().parameters.bytes().map(|letter| if letter == b's' { 4 } else { 8 }).collect();
                assert_eq!(ours, widths, stringify!($function));
            )*};
        }
        type P = *const u8;
        sizes! {
            GetDeviceQueue: vk::Device, u32, u32, P;
            BindBufferMemory: vk::Device, vk::Buffer, vk::DeviceMemory, vk::DeviceSize;
            MapMemory: vk::Device, vk::DeviceMemory, vk::DeviceSize, vk::DeviceSize, vk::MemoryMapFlags, P;
            FlushMappedMemoryRanges: vk::Device, u32, P;
            CreateComputePipelines: vk::Device, vk::PipelineCache, u32, P, P, P;
            UpdateDescriptorSets: vk::Device, u32, P, u32, P;
            CmdFillBuffer: vk::CommandBuffer, vk::Buffer, vk::DeviceSize, vk::DeviceSize, u32;
            CmdCopyBuffer: vk::CommandBuffer, vk::Buffer, vk::Buffer, u32, P;
            CmdPipelineBarrier: vk::CommandBuffer, vk::PipelineStageFlags, vk::PipelineStageFlags, vk::DependencyFlags, u32, P, u32, P, u32, P;
            CmdBindPipeline: vk::CommandBuffer, vk::PipelineBindPoint, vk::Pipeline;
            CmdBindDescriptorSets: vk::CommandBuffer, vk::PipelineBindPoint, vk::PipelineLayout, u32, u32, P, u32, P;
            CmdDispatch: vk::CommandBuffer, u32, u32, u32;
            ResetFences: vk::Device, u32, P;
            WaitForFences: vk::Device, u32, P, vk::Bool32, u64;
            QueueSubmit: vk::Queue, u32, P, vk::Fence;
        }
    }
}
