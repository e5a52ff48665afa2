//! Vulkan structures that the runtime fills or reads. They have Vulkan's names, and the layout of machines with pointers of 8 bytes.
//!
//! Handles, sizes and pointers are words on these machines, so one table fits every target. Vulkan is not supported on machines of 32 bits.

use Member::{Single, Singles, Word, Words};
use modelc_interface::{Layout, Member, Places};

/// A structure of Vulkan.
#[derive(Debug)]
pub struct Structure {
    /// The value of `sType`, if the structure begins with `sType` and `pNext`.
    pub kind: Option<u32>,
    /// Names and sizes of the members after `sType` and `pNext`.
    pub members: &'static [(&'static str, Member)],
}

impl Structure {
    /// Lists all members with their kinds.
    fn kinds(&self) -> impl Iterator<Item = (&'static str, Member)> {
        let head: &[(&str, Member)] = if self.kind.is_some() { &[("sType", Single), ("pNext", Word)] } else { &[] };
        head.iter().chain(self.members).copied()
    }

    /// Lists all members with their offsets.
    pub fn places(&self) -> impl Iterator<Item = (&'static str, Member, u64)> {
        let mut places = Places::default();
        self.kinds().map(move |(name, member)| (name, member, places.member(member, Layout::WIDE)))
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        let mut places = Places::default();
        for (_, member) in self.kinds() {
            places.member(member, Layout::WIDE);
        }
        places.bytes()
    }

    /// Returns the offset of a member.
    ///
    /// # Panics
    /// Panics if no member has this name. All names are written in this folder, so any test that emits the runtime finds a wrong name.
    pub fn offset(&self, name: &str) -> i32 {
        let place = self.places().find(|place| place.0 == name).map(|place| place.2 as i32);
        place.unwrap_or_else(|| unreachable!("no structure of Vulkan here has a member {name}"))
    }
}

const fn chained(kind: u32, members: &'static [(&'static str, Member)]) -> Structure {
    Structure { kind: Some(kind), members }
}

const fn plain(members: &'static [(&'static str, Member)]) -> Structure {
    Structure { kind: None, members }
}

/// `VkApplicationInfo`
pub const APPLICATION_INFO: Structure = chained(
    0,
    &[("pApplicationName", Word), ("applicationVersion", Single), ("pEngineName", Word), ("engineVersion", Single), ("apiVersion", Single)],
);
/// `VkInstanceCreateInfo`
pub const INSTANCE_CREATE_INFO: Structure = chained(
    1,
    &[
        ("flags", Single),
        ("pApplicationInfo", Word),
        ("enabledLayerCount", Single),
        ("ppEnabledLayerNames", Word),
        ("enabledExtensionCount", Single),
        ("ppEnabledExtensionNames", Word),
    ],
);
/// `VkDeviceQueueCreateInfo`
pub const DEVICE_QUEUE_CREATE_INFO: Structure =
    chained(2, &[("flags", Single), ("queueFamilyIndex", Single), ("queueCount", Single), ("pQueuePriorities", Word)]);
/// `VkDeviceCreateInfo`
pub const DEVICE_CREATE_INFO: Structure = chained(
    3,
    &[
        ("flags", Single),
        ("queueCreateInfoCount", Single),
        ("pQueueCreateInfos", Word),
        ("enabledLayerCount", Single),
        ("ppEnabledLayerNames", Word),
        ("enabledExtensionCount", Single),
        ("ppEnabledExtensionNames", Word),
        ("pEnabledFeatures", Word),
    ],
);
/// `VkSubmitInfo`
pub const SUBMIT_INFO: Structure = chained(
    4,
    &[
        ("waitSemaphoreCount", Single),
        ("pWaitSemaphores", Word),
        ("pWaitDstStageMask", Word),
        ("commandBufferCount", Single),
        ("pCommandBuffers", Word),
        ("signalSemaphoreCount", Single),
        ("pSignalSemaphores", Word),
    ],
);
/// `VkMemoryAllocateInfo`
pub const MEMORY_ALLOCATE_INFO: Structure = chained(5, &[("allocationSize", Word), ("memoryTypeIndex", Single)]);
/// `VkMappedMemoryRange`
pub const MAPPED_MEMORY_RANGE: Structure = chained(6, &[("memory", Word), ("offset", Word), ("size", Word)]);
/// `VkFenceCreateInfo`
pub const FENCE_CREATE_INFO: Structure = chained(8, &[("flags", Single)]);
/// `VkQueryPoolCreateInfo`
pub const QUERY_POOL_CREATE_INFO: Structure =
    chained(11, &[("flags", Single), ("queryType", Single), ("queryCount", Single), ("pipelineStatistics", Single)]);
/// `VkBufferCreateInfo`
pub const BUFFER_CREATE_INFO: Structure = chained(
    12,
    &[
        ("flags", Single),
        ("size", Word),
        ("usage", Single),
        ("sharingMode", Single),
        ("queueFamilyIndexCount", Single),
        ("pQueueFamilyIndices", Word),
    ],
);
/// `VkShaderModuleCreateInfo`
pub const SHADER_MODULE_CREATE_INFO: Structure = chained(16, &[("flags", Single), ("codeSize", Word), ("pCode", Word)]);
/// `VkComputePipelineCreateInfo`, with the members of the `VkPipelineShaderStageCreateInfo` that it contains.
pub const COMPUTE_PIPELINE_CREATE_INFO: Structure = chained(
    29,
    &[
        ("flags", Single),
        ("stage.sType", Word),
        ("stage.pNext", Word),
        ("stage.flags", Single),
        ("stage.stage", Single),
        ("stage.module", Word),
        ("stage.pName", Word),
        ("stage.pSpecializationInfo", Word),
        ("layout", Word),
        ("basePipelineHandle", Word),
        ("basePipelineIndex", Single),
    ],
);
/// `sType` of `VkPipelineShaderStageCreateInfo`
pub const SHADER_STAGE_KIND: u64 = 18;
/// `VkPipelineLayoutCreateInfo`
pub const PIPELINE_LAYOUT_CREATE_INFO: Structure = chained(
    30,
    &[
        ("flags", Single),
        ("setLayoutCount", Single),
        ("pSetLayouts", Word),
        ("pushConstantRangeCount", Single),
        ("pPushConstantRanges", Word),
    ],
);
/// `VkDescriptorSetLayoutCreateInfo`
pub const DESCRIPTOR_SET_LAYOUT_CREATE_INFO: Structure = chained(32, &[("flags", Single), ("bindingCount", Single), ("pBindings", Word)]);
/// `VkDescriptorPoolCreateInfo`
pub const DESCRIPTOR_POOL_CREATE_INFO: Structure =
    chained(33, &[("flags", Single), ("maxSets", Single), ("poolSizeCount", Single), ("pPoolSizes", Word)]);
/// `VkDescriptorSetAllocateInfo`
pub const DESCRIPTOR_SET_ALLOCATE_INFO: Structure =
    chained(34, &[("descriptorPool", Word), ("descriptorSetCount", Single), ("pSetLayouts", Word)]);
/// `VkWriteDescriptorSet`
pub const WRITE_DESCRIPTOR_SET: Structure = chained(
    35,
    &[
        ("dstSet", Word),
        ("dstBinding", Single),
        ("dstArrayElement", Single),
        ("descriptorCount", Single),
        ("descriptorType", Single),
        ("pImageInfo", Word),
        ("pBufferInfo", Word),
        ("pTexelBufferView", Word),
    ],
);
/// `VkCommandPoolCreateInfo`
pub const COMMAND_POOL_CREATE_INFO: Structure = chained(39, &[("flags", Single), ("queueFamilyIndex", Single)]);
/// `VkCommandBufferAllocateInfo`
pub const COMMAND_BUFFER_ALLOCATE_INFO: Structure =
    chained(40, &[("commandPool", Word), ("level", Single), ("commandBufferCount", Single)]);
/// `VkCommandBufferBeginInfo`
pub const COMMAND_BUFFER_BEGIN_INFO: Structure = chained(42, &[("flags", Single), ("pInheritanceInfo", Word)]);
/// `VkMemoryBarrier`
pub const MEMORY_BARRIER: Structure = chained(46, &[("srcAccessMask", Single), ("dstAccessMask", Single)]);
/// `VkPhysicalDeviceFeatures2`
pub const FEATURES_2: Structure = chained(1_000_059_000, &[("features", Singles(55))]);
/// `VkPhysicalDevice16BitStorageFeatures`
pub const STORAGE_16: Structure = chained(1_000_083_000, &[("storageBuffer16BitAccess", Single), ("others", Singles(3))]);
/// `VkPhysicalDevice8BitStorageFeatures`
pub const STORAGE_8: Structure = chained(1_000_177_000, &[("storageBuffer8BitAccess", Single), ("others", Singles(2))]);
/// `VkPhysicalDeviceShaderFloat16Int8Features`
pub const FLOAT_16_INT_8: Structure = chained(1_000_082_000, &[("shaderFloat16", Single), ("shaderInt8", Single)]);
/// `VkPhysicalDeviceShaderIntegerDotProductFeatures`
pub const INTEGER_DOT_PRODUCT: Structure = chained(1_000_280_000, &[("shaderIntegerDotProduct", Single)]);
/// `VkDescriptorSetLayoutBinding`
pub const DESCRIPTOR_SET_LAYOUT_BINDING: Structure = plain(&[
    ("binding", Single),
    ("descriptorType", Single),
    ("descriptorCount", Single),
    ("stageFlags", Single),
    ("pImmutableSamplers", Word),
]);
/// `VkDescriptorPoolSize`
pub const DESCRIPTOR_POOL_SIZE: Structure = plain(&[("type", Single), ("descriptorCount", Single)]);
/// `VkDescriptorBufferInfo`
pub const DESCRIPTOR_BUFFER_INFO: Structure = plain(&[("buffer", Word), ("offset", Word), ("range", Word)]);
/// `VkBufferCopy`
pub const BUFFER_COPY: Structure = plain(&[("srcOffset", Word), ("dstOffset", Word), ("size", Word)]);
/// `VkMemoryRequirements`
pub const MEMORY_REQUIREMENTS: Structure = plain(&[("size", Word), ("alignment", Word), ("memoryTypeBits", Single)]);
/// `VkMemoryType`
pub const MEMORY_TYPE: Structure = plain(&[("propertyFlags", Single), ("heapIndex", Single)]);
/// `VkPhysicalDeviceMemoryProperties`
pub const MEMORY_PROPERTIES: Structure =
    plain(&[("memoryTypeCount", Single), ("memoryTypes", Singles(64)), ("memoryHeapCount", Single), ("memoryHeaps", Words(32))]);
/// `VkQueueFamilyProperties`
pub const QUEUE_FAMILY_PROPERTIES: Structure =
    plain(&[("queueFlags", Single), ("queueCount", Single), ("timestampValidBits", Single), ("minImageTransferGranularity", Singles(3))]);
/// `VkPhysicalDeviceProperties`
pub const DEVICE_PROPERTIES: Structure = plain(&[
    ("apiVersion", Single),
    ("driverVersion", Single),
    ("vendorID", Single),
    ("deviceID", Single),
    ("deviceType", Single),
    ("deviceName", Singles(64)),
    ("pipelineCacheUUID", Singles(4)),
    ("limits", Words(63)),
    ("sparseProperties", Singles(5)),
]);
/// `VkPhysicalDeviceLimits`
pub const LIMITS: Structure = plain(&[
    ("images", Singles(7)),
    ("maxStorageBufferRange", Single),
    ("allocations", Singles(3)),
    ("granularity", Words(2)),
    ("sets", Singles(3)),
    ("maxPerStageDescriptorStorageBuffers", Single),
    ("stages", Singles(34)),
    ("maxComputeSharedMemorySize", Single),
    ("maxComputeWorkGroupCount", Singles(3)),
    ("maxComputeWorkGroupInvocations", Single),
    ("maxComputeWorkGroupSize", Single),
    ("viewports", Singles(15)),
    ("minMemoryMapAlignment", Word),
    ("minTexelBufferOffsetAlignment", Word),
    ("minUniformBufferOffsetAlignment", Word),
    ("minStorageBufferOffsetAlignment", Word),
    ("texels", Singles(22)),
    ("timestampPeriod", Single),
    ("lines", Singles(12)),
    ("copies", Words(3)),
]);

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk;

    /// Compares offsets of members, and the size, with a structure of `ash`. Its names have underscores, and no capitals.
    macro_rules! same {
        ($ours:ident, $theirs:ident $(, $($field:ident).+)*) => {
            assert_eq!($ours.bytes(), size_of::<vk::$theirs>() as u64, stringify!($theirs));
            $(assert_eq!(
                $ours.offset(name_of(&$ours, stringify!($($field).+))) as usize,
                std::mem::offset_of!(vk::$theirs, $($field).+),
                concat!(stringify!($theirs), ".", stringify!($($field).+))
            );)*
        };
    }

    /// Compares a structure that has an `sType`, too.
    macro_rules! same_kind {
        ($ours:ident, $theirs:ident $(, $($field:ident).+)*) => {
            same!($ours, $theirs, s_type, p_next $(, $($field).+)*);
            let kind = <vk::$theirs<'_> as vk::TaggedStructure>::STRUCTURE_TYPE.as_raw();
            assert_eq!($ours.kind, Some(kind as u32), stringify!($theirs));
        };
    }

    /// Returns Vulkan's name of a field of `ash`.
    fn name_of(structure: &Structure, field: &str) -> &'static str {
        let wanted = if field == "ty" { "type".into() } else { field.replace(['_', ' '], "") };
        let named = structure.places().find(|(name, ..)| name.to_lowercase() == wanted);
        named.unwrap_or_else(|| panic!("no member {field}")).0
    }

    #[test]
    fn structures_that_open_a_device_are_vulkans() {
        same_kind!(APPLICATION_INFO, ApplicationInfo, p_application_name, api_version);
        same_kind!(
            INSTANCE_CREATE_INFO,
            InstanceCreateInfo,
            flags,
            p_application_info,
            enabled_layer_count,
            enabled_extension_count,
            pp_enabled_extension_names
        );
        same_kind!(DEVICE_QUEUE_CREATE_INFO, DeviceQueueCreateInfo, queue_family_index, queue_count, p_queue_priorities);
        same_kind!(
            DEVICE_CREATE_INFO,
            DeviceCreateInfo,
            queue_create_info_count,
            p_queue_create_infos,
            enabled_extension_count,
            pp_enabled_extension_names,
            p_enabled_features
        );
        same_kind!(QUERY_POOL_CREATE_INFO, QueryPoolCreateInfo, query_type, query_count);
        same_kind!(FEATURES_2, PhysicalDeviceFeatures2, features);
        same_kind!(STORAGE_16, PhysicalDevice16BitStorageFeatures, storage_buffer16_bit_access);
        same_kind!(STORAGE_8, PhysicalDevice8BitStorageFeatures, storage_buffer8_bit_access);
        same_kind!(FLOAT_16_INT_8, PhysicalDeviceShaderFloat16Int8Features, shader_int8);
        same_kind!(INTEGER_DOT_PRODUCT, PhysicalDeviceShaderIntegerDotProductFeatures, shader_integer_dot_product);
        same!(
            DEVICE_PROPERTIES,
            PhysicalDeviceProperties,
            api_version,
            driver_version,
            vendor_id,
            device_id,
            device_type,
            device_name,
            limits
        );
        same!(
            LIMITS,
            PhysicalDeviceLimits,
            max_storage_buffer_range,
            max_per_stage_descriptor_storage_buffers,
            max_compute_shared_memory_size,
            max_compute_work_group_invocations,
            max_compute_work_group_size,
            min_storage_buffer_offset_alignment,
            timestamp_period
        );
        same!(QUEUE_FAMILY_PROPERTIES, QueueFamilyProperties, queue_flags);
    }

    #[test]
    fn structures_of_memory_and_pipelines_are_vulkans() {
        same_kind!(MEMORY_ALLOCATE_INFO, MemoryAllocateInfo, allocation_size, memory_type_index);
        same_kind!(MAPPED_MEMORY_RANGE, MappedMemoryRange, memory, offset, size);
        same_kind!(BUFFER_CREATE_INFO, BufferCreateInfo, size, usage, sharing_mode);
        same!(MEMORY_REQUIREMENTS, MemoryRequirements, size, memory_type_bits);
        same!(MEMORY_TYPE, MemoryType, property_flags);
        same!(MEMORY_PROPERTIES, PhysicalDeviceMemoryProperties, memory_type_count, memory_types, memory_heaps);
        same_kind!(SHADER_MODULE_CREATE_INFO, ShaderModuleCreateInfo, code_size, p_code);
        same_kind!(
            COMPUTE_PIPELINE_CREATE_INFO,
            ComputePipelineCreateInfo,
            stage.s_type,
            stage.p_next,
            stage.stage,
            stage.module,
            stage.p_name,
            stage.p_specialization_info,
            layout,
            base_pipeline_index
        );
        assert_eq!(SHADER_STAGE_KIND, vk::StructureType::PIPELINE_SHADER_STAGE_CREATE_INFO.as_raw() as u64);
        same_kind!(PIPELINE_LAYOUT_CREATE_INFO, PipelineLayoutCreateInfo, set_layout_count, p_set_layouts, push_constant_range_count);
        same_kind!(DESCRIPTOR_SET_LAYOUT_CREATE_INFO, DescriptorSetLayoutCreateInfo, binding_count, p_bindings);
        same!(DESCRIPTOR_SET_LAYOUT_BINDING, DescriptorSetLayoutBinding, binding, descriptor_type, descriptor_count, stage_flags);
        same_kind!(DESCRIPTOR_POOL_CREATE_INFO, DescriptorPoolCreateInfo, max_sets, pool_size_count, p_pool_sizes);
        same!(DESCRIPTOR_POOL_SIZE, DescriptorPoolSize, ty, descriptor_count);
        same_kind!(DESCRIPTOR_SET_ALLOCATE_INFO, DescriptorSetAllocateInfo, descriptor_pool, descriptor_set_count, p_set_layouts);
        same_kind!(WRITE_DESCRIPTOR_SET, WriteDescriptorSet, dst_set, descriptor_count, descriptor_type, p_buffer_info);
        same!(DESCRIPTOR_BUFFER_INFO, DescriptorBufferInfo, buffer, offset, range);
    }

    #[test]
    fn structures_of_commands_are_vulkans() {
        same_kind!(COMMAND_POOL_CREATE_INFO, CommandPoolCreateInfo, flags, queue_family_index);
        same_kind!(COMMAND_BUFFER_ALLOCATE_INFO, CommandBufferAllocateInfo, command_pool, level, command_buffer_count);
        same_kind!(COMMAND_BUFFER_BEGIN_INFO, CommandBufferBeginInfo, flags, p_inheritance_info);
        same_kind!(MEMORY_BARRIER, MemoryBarrier, src_access_mask, dst_access_mask);
        same!(BUFFER_COPY, BufferCopy, src_offset, dst_offset, size);
        same_kind!(FENCE_CREATE_INFO, FenceCreateInfo, flags);
        same_kind!(SUBMIT_INFO, SubmitInfo, wait_semaphore_count, command_buffer_count, p_command_buffers, signal_semaphore_count);
    }
}
