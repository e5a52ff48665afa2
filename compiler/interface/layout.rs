//! C layout of the structs that object and caller share, by the target's pointer size.

/// Property of a target that determines offsets of fields in structs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// Bytes of a pointer and of a `size_t`: 4 or 8.
    pub pointer: u64,
}

/// Size class of a struct's member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Member {
    /// `uint32_t`, `int32_t`, `float`.
    Single,
    /// `uint64_t`.
    Long,
    /// A pointer or `size_t`.
    Word,
}

/// The members of a struct in their order.
pub struct Struct<F: 'static>(&'static [(F, Member)]);

impl<F: PartialEq> Struct<F> {
    /// Returns the size of the struct.
    pub fn bytes(&self, layout: Layout) -> u64 {
        let (end, alignment) =
            self.0.iter().fold((0u64, 1), |(end, most), (_, m)| (m.place(end, layout) + m.bytes(layout), most.max(m.bytes(layout))));
        end.next_multiple_of(alignment)
    }

    /// Returns the offset of a member.
    ///
    /// # Panics
    /// Never; a test covers every member.
    pub fn offset(&self, member: F, layout: Layout) -> i32 {
        let mut end = 0;
        for (name, kind) in self.0 {
            let start = kind.place(end, layout);
            if *name == member {
                return start as i32;
            }
            end = start + kind.bytes(layout);
        }
        unreachable!("each member has a row")
    }
}

impl Member {
    /// Returns size and alignment. The supported 32-bit conventions (AAPCS, RISC-V) also align 64-bit numbers to 8 bytes.
    fn bytes(self, layout: Layout) -> u64 {
        match self {
            Self::Single => 4,
            Self::Long => 8,
            Self::Word => layout.pointer,
        }
    }

    /// Returns the offset of the member after a member that ends at `end`.
    fn place(self, end: u64, layout: Layout) -> u64 {
        end.next_multiple_of(self.bytes(layout))
    }
}

/// Members of `modelc_config`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Config {
    /// `uint32_t struct_size`
    StructSize,
    /// `uint32_t flags`
    Flags,
    /// `const void *weights`
    Weights,
    /// `size_t weights_bytes`
    WeightsBytes,
    /// `void *const *areas`
    Areas,
    /// `size_t n_areas`
    AreaCount,
    /// `modelc_parallel_for_fn parallel_for`
    ParallelFor,
    /// `uint32_t threads`
    Threads,
    /// `modelc_on_kernel_fn on_kernel`
    OnKernel,
    /// `void *user`
    User,
    /// `uint64_t cpu_features`
    CpuFeatures,
    /// `const struct modelc_vk_host *vk`
    Vk,
}

/// `modelc_config` of ABI 1.
pub const CONFIG: Struct<Config> = Struct(&[
    (Config::StructSize, Member::Single),
    (Config::Flags, Member::Single),
    (Config::Weights, Member::Word),
    (Config::WeightsBytes, Member::Word),
    (Config::Areas, Member::Word),
    (Config::AreaCount, Member::Word),
    (Config::ParallelFor, Member::Word),
    (Config::Threads, Member::Single),
    (Config::OnKernel, Member::Word),
    (Config::User, Member::Word),
    (Config::CpuFeatures, Member::Long),
    (Config::Vk, Member::Word),
]);

/// Members of `modelc_vk_host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host {
    /// `uint32_t struct_size`
    StructSize,
    /// `uint32_t queue_family`
    QueueFamily,
    /// `PFN_vkGetInstanceProcAddr get_instance_proc_addr`
    GetInstanceProcAddr,
    /// `VkInstance instance`
    Instance,
    /// `VkPhysicalDevice physical_device`
    Physical,
    /// `VkDevice device`
    Device,
    /// `VkQueue queue`
    Queue,
    /// `void (*lock)(void *user)`
    Lock,
    /// `void (*unlock)(void *user)`
    Unlock,
    /// `void *user`
    User,
    /// `const VkAllocationCallbacks *allocation_callbacks`
    Allocator,
}

/// `modelc_vk_host` of ABI 1.
pub const HOST: Struct<Host> = Struct(&[
    (Host::StructSize, Member::Single),
    (Host::QueueFamily, Member::Single),
    (Host::GetInstanceProcAddr, Member::Word),
    (Host::Instance, Member::Word),
    (Host::Physical, Member::Word),
    (Host::Device, Member::Word),
    (Host::Queue, Member::Word),
    (Host::Lock, Member::Word),
    (Host::Unlock, Member::Word),
    (Host::User, Member::Word),
    (Host::Allocator, Member::Word),
]);

/// Members of `modelc_tensor`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tensor {
    /// `void *data`
    Data,
    /// `size_t bytes`
    Bytes,
    /// `const size_t *shape`
    Shape,
    /// `uint32_t rank`
    Rank,
    /// `uint32_t type`
    Type,
    /// `float scale`
    Scale,
    /// `int32_t zero_point`
    ZeroPoint,
}

/// `modelc_tensor` of ABI 1.
pub const TENSOR: Struct<Tensor> = Struct(&[
    (Tensor::Data, Member::Word),
    (Tensor::Bytes, Member::Word),
    (Tensor::Shape, Member::Word),
    (Tensor::Rank, Member::Single),
    (Tensor::Type, Member::Single),
    (Tensor::Scale, Member::Single),
    (Tensor::ZeroPoint, Member::Single),
]);

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets<F: PartialEq + Copy>(members: &Struct<F>, pointer: u64) -> (Vec<i32>, u64) {
        let layout = Layout { pointer };
        (members.0.iter().map(|(member, _)| members.offset(*member, layout)).collect(), members.bytes(layout))
    }

    #[test]
    fn structs_are_laid_out_as_c_does() {
        assert_eq!(offsets(&CONFIG, 8), (vec![0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80], 88));
        assert_eq!(offsets(&CONFIG, 4), (vec![0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48], 56));
        assert_eq!(offsets(&HOST, 8), (vec![0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72], 80));
        assert_eq!(offsets(&TENSOR, 8), (vec![0, 8, 16, 24, 28, 32, 36], 40));
        assert_eq!(offsets(&TENSOR, 4), (vec![0, 4, 8, 12, 16, 20, 24], 28));
    }
}
