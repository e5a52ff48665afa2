//! A Vulkan device that runs one kernel at a time, if the computer has one. The validation layer is active if it is installed.

use super::harness::Needs;
use ash::vk;
use modelc::machine::Gpu;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Returns the first file of a folder whose name has a prefix.
fn installed(folder: &str, begins: &str) -> Option<PathBuf> {
    let entries = Path::new(folder).read_dir().ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins)));
    paths.sort();
    paths.into_iter().next()
}

/// Requirement of [`with_software_device`].
pub const SOFTWARE_DEVICE: Needs =
    Needs::Tool("software device of Vulkan with its validation layer", || with_software_device(&mut Command::new("true")));

/// Makes Mesa's software device the only one of a process, and enables the validation layer, which prints. Returns `false` if they are not
/// installed.
pub fn with_software_device(command: &mut Command) -> bool {
    let driver = installed("/usr/share/vulkan/icd.d", "lvp_icd");
    let layer = installed("/usr/share/vulkan/explicit_layer.d", "VkLayer_khronos_validation");
    let (Some(driver), Some(_)) = (driver, layer) else { return false };
    command
        .env("VK_DRIVER_FILES", driver)
        // Compiling a kernel takes the device far longer than running it.
        .env("GALLIVM_PERF", "nopt")
        .env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
        .env("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT");
    true
}

const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Name of the driver extension with statistics of a compiled module.
const STATISTICS: &CStr = ash::khr::pipeline_executable_properties::NAME;

/// Messages of the layer, which calls back from any thread.
type Said = Mutex<Vec<String>>;

/// The callback of the layer, with its messages.
struct Listener {
    utils: ash::ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    said: Box<Said>,
}

/// A module compiled by a device.
struct Pipeline {
    module: vk::ShaderModule,
    sets: [vk::DescriptorSetLayout; 1],
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

/// A device, with everything needed to run a kernel on it.
pub struct Device {
    // Fields are dropped in this order, the library last.
    device: ash::Device,
    instance: ash::Instance,
    _entry: ash::Entry,
    queue: vk::Queue,
    family: u32,
    /// `None` if kernels cannot run: a driver that compiles for an absent device.
    memory_type: Option<u32>,
    properties: vk::PhysicalDeviceProperties,
    has_narrow_storage: bool,
    has_byte_dots: bool,
    /// The validation layer, if it is installed.
    listener: Option<Listener>,
    /// Statistics of compiled modules, if the driver has them.
    told: Option<ash::khr::pipeline_executable_properties::Device>,
    /// Name from the driver.
    pub name: String,
}

impl Device {
    /// Finds a device. A CPU is preferred, because its arithmetic is the same on every computer. `None` without a library or a device.
    pub fn find() -> Option<Self> {
        // SAFETY: loading libvulkan runs the initialisers of the library that the system has under this name.
        let entry = unsafe { ash::Entry::load() }.ok()?;
        // SAFETY: handles are used while their parents live; structures that calls read live until these return.
        unsafe { Self::open(entry) }
    }

    unsafe fn open(entry: ash::Entry) -> Option<Self> {
        // SAFETY: as of the function.
        unsafe {
            let layers = entry.enumerate_instance_layer_properties().unwrap_or_default();
            let is_validated = layers.iter().any(|layer| layer.layer_name_as_c_str() == Ok(LAYER));
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let checks = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
            let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(&checks);
            let (layers, extensions) = ([LAYER.as_ptr()], [ash::ext::debug_utils::NAME.as_ptr()]);
            let mut info = vk::InstanceCreateInfo::default().application_info(&application);
            if is_validated {
                info = info.enabled_layer_names(&layers).enabled_extension_names(&extensions).push_next(&mut features);
            }
            let instance = entry.create_instance(&info, None).ok()?;
            let listener = if is_validated { Some(Listener::new(&entry, &instance).ok()?) } else { None };
            let devices = instance.enumerate_physical_devices().unwrap_or_default();
            let is_cpu =
                |&device: &vk::PhysicalDevice| instance.get_physical_device_properties(device).device_type == vk::PhysicalDeviceType::CPU;
            let physical = devices.iter().copied().find(is_cpu).or(devices.first().copied())?;
            Self::of(entry, instance, physical, listener)
        }
    }

    unsafe fn of(entry: ash::Entry, instance: ash::Instance, physical: vk::PhysicalDevice, listener: Option<Listener>) -> Option<Self> {
        // SAFETY: as of the function.
        unsafe {
            let properties = instance.get_physical_device_properties(physical);
            let families = instance.get_physical_device_queue_family_properties(physical);
            let family = families.iter().position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))? as u32;
            let mut eight = vk::PhysicalDevice8BitStorageFeatures::default();
            let mut sixteen = vk::PhysicalDevice16BitStorageFeatures::default();
            let mut dots = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default();
            let mut all = vk::PhysicalDeviceFeatures2::default().push_next(&mut eight).push_next(&mut sixteen).push_next(&mut dots);
            instance.get_physical_device_features2(physical, &mut all);
            let has_narrow_storage = eight.storage_buffer8_bit_access == vk::TRUE && sixteen.storage_buffer16_bit_access == vk::TRUE;
            let has_byte_dots = dots.shader_integer_dot_product == vk::TRUE;
            let mut eight = vk::PhysicalDevice8BitStorageFeatures::default().storage_buffer8_bit_access(has_narrow_storage);
            let mut sixteen = vk::PhysicalDevice16BitStorageFeatures::default().storage_buffer16_bit_access(has_narrow_storage);
            let mut dots = vk::PhysicalDeviceShaderIntegerDotProductFeatures::default().shader_integer_dot_product(has_byte_dots);
            let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut eight).push_next(&mut sixteen);
            let info = if has_byte_dots { info.push_next(&mut dots) } else { info };
            let extensions = instance.enumerate_device_extension_properties(physical).unwrap_or_default();
            let tells = extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(STATISTICS));
            let names = [STATISTICS.as_ptr()];
            let mut statistics = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default().pipeline_executable_info(true);
            let info = if tells { info.enabled_extension_names(&names).push_next(&mut statistics) } else { info };
            let device = instance.create_device(physical, &info, None).ok()?;
            let told = tells.then(|| ash::khr::pipeline_executable_properties::Device::new(&instance, &device));
            let wanted = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
            let memory = instance.get_physical_device_memory_properties(physical);
            let memory_type =
                memory.memory_types_as_slice().iter().position(|ty| ty.property_flags.contains(wanted)).map(|number| number as u32);
            let name = properties.device_name_as_c_str().map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned());
            let queue = device.get_device_queue(family, 0);
            let _entry = entry;
            Some(Self {
                device,
                instance,
                _entry,
                queue,
                family,
                memory_type,
                properties,
                has_narrow_storage,
                has_byte_dots,
                listener,
                told,
                name,
            })
        }
    }

    /// Tests whether the device has the features of a profile.
    pub fn has(&self, gpu: &Gpu) -> bool {
        let limits = &self.properties.limits;
        limits.max_compute_work_group_invocations >= gpu.invocations
            && limits.max_compute_shared_memory_size >= gpu.shared_bytes
            && limits.max_per_stage_descriptor_storage_buffers >= gpu.bindings
            && u64::from(limits.max_storage_buffer_range) >= gpu.range_bytes
            && limits.min_storage_buffer_offset_alignment <= gpu.offset_alignment
            && (self.has_narrow_storage || !gpu.narrow_storage)
            && (self.has_byte_dots || !gpu.byte_dots)
    }

    /// Runs a module on buffers, each at the binding of its index, and reads them back.
    pub fn run(&self, words: &[u32], groups: [u32; 3], buffers: &mut [Vec<u8>]) -> Result<(), String> {
        self.heard();
        // SAFETY: handles are used while their parents live. Structures that calls read live until these return. The queue is waited for before
        // memory is read and anything is destroyed.
        let done = unsafe { self.dispatched(words, groups, buffers) };
        done.map_err(|result| format!("{}: {result}", self.name))?;
        let heard = self.heard();
        if heard.is_empty() { Ok(()) } else { Err(heard.join("\n")) }
    }

    /// Returns the messages of the validation layer since the last call.
    fn heard(&self) -> Vec<String> {
        self.listener.as_ref().map_or_else(Vec::new, |listener| std::mem::take(&mut *listener.said.lock().unwrap()))
    }

    unsafe fn dispatched(&self, words: &[u32], groups: [u32; 3], buffers: &mut [Vec<u8>]) -> Result<(), vk::Result> {
        let device = &self.device;
        let mut end = 0u64;
        let ranges: Vec<(u64, u64)> = buffers
            .iter()
            .map(|buffer| {
                let (offset, bytes) = (end, (buffer.len() as u64).next_multiple_of(4).max(4));
                end = (offset + bytes).next_multiple_of(256);
                (offset, bytes)
            })
            .collect();
        // SAFETY: as of the function.
        unsafe {
            let info = vk::BufferCreateInfo::default().size(end.max(256)).usage(vk::BufferUsageFlags::STORAGE_BUFFER);
            let buffer = device.create_buffer(&info, None)?;
            let needed = device.get_buffer_memory_requirements(buffer).size;
            let memory_type = self.memory_type.ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
            let info = vk::MemoryAllocateInfo::default().allocation_size(needed).memory_type_index(memory_type);
            let memory = device.allocate_memory(&info, None)?;
            device.bind_buffer_memory(buffer, memory, 0)?;
            let mapped: *mut u8 = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?.cast();
            let mapped = std::slice::from_raw_parts_mut(mapped, end as usize);
            for (data, &(offset, _)) in buffers.iter().zip(&ranges) {
                mapped[offset as usize..][..data.len()].copy_from_slice(data);
            }
            let run = self.submitted(words, groups, buffer, &ranges);
            if run.is_ok() {
                for (data, &(offset, _)) in buffers.iter_mut().zip(&ranges) {
                    let bytes = data.len();
                    data.copy_from_slice(&mapped[offset as usize..][..bytes]);
                }
            }
            device.destroy_buffer(buffer, None);
            device.free_memory(memory, None);
            run
        }
    }

    unsafe fn submitted(&self, words: &[u32], groups: [u32; 3], buffer: vk::Buffer, ranges: &[(u64, u64)]) -> Result<(), vk::Result> {
        let device = &self.device;
        // SAFETY: as of the caller.
        unsafe {
            let made = self.pipeline(words, ranges.len(), vk::PipelineCreateFlags::empty())?;
            let sizes = [vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: ranges.len().max(1) as u32 }];
            let sets = device.create_descriptor_pool(&vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes), None)?;
            let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(sets).set_layouts(&made.sets);
            let set = device.allocate_descriptor_sets(&info)?;
            for (i, &(offset, range)) in (0..).zip(ranges) {
                let info = [vk::DescriptorBufferInfo { buffer, offset, range }];
                let write = vk::WriteDescriptorSet::default().dst_set(set[0]).dst_binding(i);
                let write = write.descriptor_type(vk::DescriptorType::STORAGE_BUFFER).buffer_info(&info);
                device.update_descriptor_sets(&[write], &[]);
            }
            let commands = device.create_command_pool(&vk::CommandPoolCreateInfo::default().queue_family_index(self.family), None)?;
            let info = vk::CommandBufferAllocateInfo::default().command_pool(commands).command_buffer_count(1);
            let command = device.allocate_command_buffers(&info)?;
            device.begin_command_buffer(command[0], &vk::CommandBufferBeginInfo::default())?;
            device.cmd_bind_pipeline(command[0], vk::PipelineBindPoint::COMPUTE, made.pipeline);
            device.cmd_bind_descriptor_sets(command[0], vk::PipelineBindPoint::COMPUTE, made.layout, 0, &set, &[]);
            device.cmd_dispatch(command[0], groups[0], groups[1], groups[2]);
            let seen =
                [vk::MemoryBarrier::default().src_access_mask(vk::AccessFlags::SHADER_WRITE).dst_access_mask(vk::AccessFlags::HOST_READ)];
            let (from, to) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::PipelineStageFlags::HOST);
            device.cmd_pipeline_barrier(command[0], from, to, vk::DependencyFlags::empty(), &seen, &[], &[]);
            device.end_command_buffer(command[0])?;
            device.queue_submit(self.queue, &[vk::SubmitInfo::default().command_buffers(&command)], vk::Fence::null())?;
            let done = device.queue_wait_idle(self.queue);
            device.destroy_command_pool(commands, None);
            device.destroy_descriptor_pool(sets, None);
            self.destroy(made);
            done
        }
    }

    /// Makes a pipeline of a module with a given number of bindings.
    unsafe fn pipeline(&self, words: &[u32], bindings: usize, flags: vk::PipelineCreateFlags) -> Result<Pipeline, vk::Result> {
        let device = &self.device;
        // SAFETY: as of the caller.
        unsafe {
            let module = device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None)?;
            let binding = |i| {
                let binding = vk::DescriptorSetLayoutBinding::default().binding(i).descriptor_type(vk::DescriptorType::STORAGE_BUFFER);
                binding.descriptor_count(1).stage_flags(vk::ShaderStageFlags::COMPUTE)
            };
            let bindings: Vec<_> = (0..bindings as u32).map(binding).collect();
            let sets = [device.create_descriptor_set_layout(&vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings), None)?];
            let layout = device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default().set_layouts(&sets), None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(c"main");
            let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(flags)];
            let pipelines = device.create_compute_pipelines(vk::PipelineCache::null(), &info, None).map_err(|(_, result)| result)?;
            Ok(Pipeline { module, sets, layout, pipeline: pipelines[0] })
        }
    }

    unsafe fn destroy(&self, Pipeline { module, sets, layout, pipeline }: Pipeline) {
        let device = &self.device;
        // SAFETY: as of the caller.
        unsafe {
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(sets[0], None);
            device.destroy_shader_module(module, None);
        }
    }

    /// Tests whether the driver has statistics of modules.
    pub fn tells(&self) -> bool {
        self.told.is_some()
    }

    /// Returns the driver's statistics of a module after compilation: numbers with the driver's names. `None` if it has none.
    pub fn statistics(&self, words: &[u32], bindings: usize) -> Option<Result<Vec<(String, u64)>, String>> {
        let told = self.told.as_ref()?;
        // SAFETY: handles are used while their parents live; structures that calls read live until these return.
        let found = unsafe {
            self.pipeline(words, bindings, vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR).and_then(|made| {
                let info = vk::PipelineExecutableInfoKHR::default().pipeline(made.pipeline);
                let found = told.get_pipeline_executable_statistics(&info);
                self.destroy(made);
                found
            })
        };
        Some(found.map(|found| found.iter().filter_map(statistic).collect()).map_err(|result| format!("{}: {result}", self.name)))
    }
}

/// Returns a statistic that is an integer, with its name.
fn statistic(found: &vk::PipelineExecutableStatisticKHR<'_>) -> Option<(String, u64)> {
    let name = found.name_as_c_str().ok()?.to_string_lossy().into_owned();
    // SAFETY: the format says which of the numbers is there.
    let value = unsafe {
        match found.format {
            vk::PipelineExecutableStatisticFormatKHR::UINT64 => found.value.u64,
            vk::PipelineExecutableStatisticFormatKHR::INT64 => u64::try_from(found.value.i64).ok()?,
            _ => return None,
        }
    };
    Some((name, value))
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: nothing runs on the device, and nothing of it is used after this.
        unsafe {
            self.device.destroy_device(None);
            if let Some(listener) = &self.listener {
                listener.utils.destroy_debug_utils_messenger(listener.messenger, None);
            }
            self.instance.destroy_instance(None);
        }
    }
}

impl Listener {
    /// # Safety
    /// It is destroyed before the instance.
    unsafe fn new(entry: &ash::Entry, instance: &ash::Instance) -> Result<Self, vk::Result> {
        let utils = ash::ext::debug_utils::Instance::new(entry, instance);
        let said = Box::<Said>::default();
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR)
            .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
            .pfn_user_callback(Some(listen))
            .user_data((&raw const *said).cast_mut().cast());
        // SAFETY: the function called back only reads what the box holds, which stays where it is while the messenger lives.
        let messenger = unsafe { utils.create_debug_utils_messenger(&info, None) }?;
        Ok(Self { utils, messenger, said })
    }
}

/// Callback of the layer.
unsafe extern "system" fn listen(
    _: vk::DebugUtilsMessageSeverityFlagsEXT,
    _: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    said: *mut std::ffi::c_void,
) -> vk::Bool32 {
    // SAFETY: the layer passes a message that lives during the call, and what the messenger was given.
    let (message, said) = unsafe { (data.as_ref().and_then(|data| data.message_as_c_str()), said.cast::<Said>().as_ref()) };
    if let (Some(message), Some(Ok(mut said))) = (message, said.map(Mutex::lock)) {
        said.push(message.to_string_lossy().into_owned());
    }
    vk::FALSE
}
