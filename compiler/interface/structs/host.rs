//! `modelc_vk_host`, a Vulkan device of the application.

use super::layout::Member::{Single, Word};
use super::table::{Row, Struct};

/// Members of `modelc_vk_host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host {
    /// Size of the struct.
    StructSize,
    /// Family of the queue.
    QueueFamily,
    /// `vkGetInstanceProcAddr`
    GetInstanceProcAddr,
    /// `VkInstance`
    Instance,
    /// `VkPhysicalDevice`
    Physical,
    /// `VkDevice`
    Device,
    /// `VkQueue`
    Queue,
    /// Function that locks the queue.
    Lock,
    /// Function that unlocks the queue.
    Unlock,
    /// Argument of both functions.
    User,
    /// `const VkAllocationCallbacks *`
    Allocator,
}

/// `modelc_vk_host` of ABI 1.
pub static HOST: Struct<Host> = Struct {
    name: "modelc_vk_host",
    rows: &[
        Row::new(Single, &[Host::StructSize]).c("uint32_t struct_size").comment("sizeof(struct modelc_vk_host)"),
        Row::new(Single, &[Host::QueueFamily]).c("uint32_t queue_family").comment("of the queue"),
        Row::new(Word, &[Host::GetInstanceProcAddr])
            .c("void *get_instance_proc_addr")
            .comment("vkGetInstanceProcAddr; NULL: the object finds the library itself, if it was made to"),
        Row::new(Word, &[Host::Instance, Host::Physical]).c("void *instance, *physical_device"),
        Row::new(Word, &[Host::Device])
            .c("void *device")
            .comment("with the features of the profile switched on; NULL: the object makes instance and device"),
        Row::new(Word, &[Host::Queue]).c("void *queue").comment("that computes"),
        Row::new(Word, &[Host::Lock, Host::Unlock])
            .c("void (*lock)(void *user), (*unlock)(void *user)")
            .comment("around each use of the queue; NULL where no other thread uses it"),
        Row::new(Word, &[Host::User]).c("void *user"),
        Row::new(Word, &[Host::Allocator]).c("const void *allocation_callbacks").comment("VkAllocationCallbacks, or NULL"),
    ],
};
