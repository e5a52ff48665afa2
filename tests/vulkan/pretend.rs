//! A mock Vulkan that computes nothing: it counts calls, fails at one of them, and tracks objects that were made and not freed.
//!
//! Its functions use the world of the thread. Mistakes of the caller are collected, because no panic may unwind through it.

use ash::vk;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};

/// State of the mock.
#[derive(Default)]
pub struct World {
    /// Number of the call that fails, from 1.
    pub fails_at: u32,
    /// Result of that call.
    pub result: i32,
    /// Number of calls so far that may fail.
    pub calls: u32,
    /// Name of the call that failed.
    pub failed: Option<String>,
    /// Kinds of the objects that are alive, by handle.
    pub alive: BTreeMap<u64, &'static str>,
    /// Mistakes of the caller.
    pub mistakes: Vec<String>,
    /// Properties of the device.
    pub device: Properties,
    /// Mapped host memory, by the handle of the device memory.
    mapped: BTreeMap<u64, Vec<u64>>,
    /// Number of submissions.
    pub submissions: u32,
    /// Number of recorded dispatches whose workgroups are read from memory.
    pub indirect: u32,
    last: u64,
}

/// Properties of the mock device.
#[derive(Clone, Copy)]
pub struct Properties {
    /// Storage buffers of a stage.
    pub storage_buffers: u32,
    /// `true` if it has elements of 8 and 16 bits.
    pub narrow: bool,
    /// `true` if it is a CPU.
    pub is_cpu: bool,
    /// `true` if the staging memory is coherent.
    pub is_coherent: bool,
    /// Kind of memory that the host sees.
    pub host_memory: HostMemory,
    /// Minor version of Vulkan 1.
    pub version: u32,
    /// Number of valid bits of its timestamps; 0 without timestamps.
    pub timestamp_bits: u32,
}

/// Device memory that the host sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostMemory {
    /// Memory that the host reads fast, and other memory that is coherent.
    All,
    /// Only the memory that the host reads fast.
    Cached,
    /// No memory.
    Nothing,
}

impl Default for Properties {
    fn default() -> Self {
        Self {
            storage_buffers: 8,
            narrow: false,
            is_cpu: false,
            is_coherent: true,
            host_memory: HostMemory::All,
            version: 1,
            timestamp_bits: 36,
        }
    }
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

/// Starts a new world, in which the call with a given number fails.
pub fn begin(fails_at: u32, result: i32, device: Properties) {
    WORLD.with_borrow_mut(|world| *world = World { fails_at, result, device, last: 0x1000, ..World::default() });
}

/// Reads the world.
pub fn world<T>(look: impl FnOnce(&World) -> T) -> T {
    WORLD.with_borrow(look)
}

/// Makes the call fail that is `after` calls after this one.
pub fn fail_next(after: u32, result: i32) {
    WORLD.with_borrow_mut(|world| (world.fails_at, world.result) = (world.calls + after, result));
}

/// `modelc_vk_host`
#[repr(C)]
pub struct Host {
    pub struct_size: u32,
    pub queue_family: u32,
    pub get_instance_proc_addr: *const c_void,
    pub handles: [u64; 4],
    pub lock: Option<extern "C" fn(*mut u32)>,
    pub unlock: Option<extern "C" fn(*mut u32)>,
    pub user: *mut u32,
    pub allocation_callbacks: *const c_void,
}

impl Host {
    /// Makes a host with access to the mock library.
    pub fn library() -> Self {
        let get_instance_proc_addr = (find as *const ()).cast();
        Self {
            struct_size: size_of::<Self>() as u32,
            queue_family: 0,
            get_instance_proc_addr,
            handles: [0; 4],
            lock: None,
            unlock: None,
            user: std::ptr::null_mut(),
            allocation_callbacks: std::ptr::null(),
        }
    }

    /// Makes a host with a device of the application in the mock library: instance, physical device, device and queue.
    pub fn device() -> Self {
        let [instance, device] = ["instance", "device"].map(|kind| WORLD.with_borrow_mut(|world| world.make(kind)));
        Self { queue_family: 1, handles: [instance, 0x77, device, 0x99], ..Self::library() }
    }

    /// Returns the address for the configuration.
    pub fn address(&self) -> *const u8 {
        std::ptr::from_ref(self).cast()
    }
}

impl World {
    /// Counts a call. Returns the error with which it fails.
    fn count(&mut self, name: &str) -> Option<i32> {
        self.calls += 1;
        if self.calls != self.fails_at {
            return None;
        }
        self.failed = Some(name.to_owned());
        Some(self.result)
    }

    fn make(&mut self, kind: &'static str) -> u64 {
        self.last += 0x10;
        self.alive.insert(self.last, kind);
        self.last
    }

    fn expect(&mut self, handle: u64, kind: &'static str) {
        if self.alive.get(&handle) != Some(&kind) {
            self.mistakes.push(format!("{handle:#x} is no {kind}"));
        }
    }

    /// Frees an object; 0 is no object.
    fn free(&mut self, handle: u64, kind: &'static str) {
        if handle != 0 {
            self.expect(handle, kind);
            self.alive.remove(&handle);
        }
    }
}

fn counted(name: &str) -> i32 {
    WORLD.with_borrow_mut(|world| world.count(name)).unwrap_or(0)
}

/// Writes a handle, or an invalid one if the call fails.
fn give(name: &str, kind: &'static str, out: *mut u64) -> i32 {
    WORLD.with_borrow_mut(|world| {
        let failure = world.count(name);
        let handle = if failure.is_some() { 0xdead } else { world.make(kind) };
        // SAFETY: the caller has room for a handle there.
        unsafe { out.write(handle) };
        failure.unwrap_or(0)
    })
}

/// Functions that make an object of a device, and functions that free it.
macro_rules! objects {
    ($($create:ident $destroy:ident $kind:literal)*) => {$(
        extern "C" fn $create(device: u64, _: *const c_void, _: *const c_void, out: *mut u64) -> i32 {
            WORLD.with_borrow_mut(|world| world.expect(device, "device"));
            give(stringify!($create), $kind, out)
        }
        extern "C" fn $destroy(device: u64, handle: u64, _: *const c_void) {
            WORLD.with_borrow_mut(|world| {
                world.expect(device, "device");
                world.free(handle, $kind);
            });
        }
    )*};
}

objects! {
    create_buffer destroy_buffer "buffer"
    allocate_memory free_memory_only "memory"
    create_shader destroy_shader "shader"
    create_set_layout destroy_set_layout "set layout"
    create_pipeline_layout destroy_pipeline_layout "pipeline layout"
    create_descriptor_pool destroy_descriptor_pool "descriptor pool"
    create_command_pool destroy_command_pool "command pool"
    create_fence destroy_fence "fence"
    create_pipeline_only destroy_pipeline "pipeline"
    create_query_pool destroy_query_pool "query pool"
}

extern "C" fn create_instance(_: *const c_void, _: *const c_void, out: *mut u64) -> i32 {
    give("create_instance", "instance", out)
}

extern "C" fn destroy_instance(instance: u64, _: *const c_void) {
    WORLD.with_borrow_mut(|world| world.free(instance, "instance"));
}

extern "C" fn enumerate(_: u64, count: *mut u32, devices: *mut u64) -> i32 {
    let result = counted("enumerate");
    if result == 0 {
        // SAFETY: the caller has room for a device there.
        unsafe {
            count.write(1);
            devices.write(0x77);
        }
    }
    result
}

extern "C" fn properties(_: u64, out: *mut vk::PhysicalDeviceProperties) {
    let device = world(|world| world.device);
    // SAFETY: the caller has room for the structure there.
    let out = unsafe { &mut *out };
    *out = vk::PhysicalDeviceProperties::default();
    out.api_version = vk::make_api_version(0, 1, device.version, 200);
    out.device_type = if device.is_cpu { vk::PhysicalDeviceType::CPU } else { vk::PhysicalDeviceType::INTEGRATED_GPU };
    for (to, from) in out.device_name.iter_mut().zip(b"pretended") {
        *to = *from as c_char;
    }
    let limits = &mut out.limits;
    limits.max_compute_work_group_invocations = 128;
    limits.max_compute_work_group_size = [128, 128, 64];
    limits.max_compute_shared_memory_size = 16 << 10;
    limits.max_per_stage_descriptor_storage_buffers = device.storage_buffers;
    limits.max_storage_buffer_range = 128 << 20;
    limits.min_storage_buffer_offset_alignment = 256;
}

extern "C" fn features(_: u64, out: *mut vk::PhysicalDeviceFeatures2<'_>) {
    let narrow = vk::Bool32::from(world(|world| world.device.narrow));
    // SAFETY: the chain is of structures that begin as this one does, and of the types that they name.
    unsafe {
        let mut next = (*out).p_next.cast::<vk::BaseOutStructure<'_>>();
        while !next.is_null() {
            match (*next).s_type {
                vk::StructureType::PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES => {
                    (*next.cast::<vk::PhysicalDevice16BitStorageFeatures<'_>>()).storage_buffer16_bit_access = narrow;
                }
                vk::StructureType::PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES => {
                    (*next.cast::<vk::PhysicalDevice8BitStorageFeatures<'_>>()).storage_buffer8_bit_access = narrow;
                }
                vk::StructureType::PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES => {
                    (*next.cast::<vk::PhysicalDeviceShaderFloat16Int8Features<'_>>()).shader_int8 = narrow;
                }
                _ => {}
            }
            next = (*next).p_next;
        }
    }
}

extern "C" fn families(_: u64, count: *mut u32, out: *mut vk::QueueFamilyProperties) {
    let timestamp_valid_bits = world(|world| world.device.timestamp_bits);
    let family = |queue_flags| vk::QueueFamilyProperties { queue_flags, queue_count: 1, timestamp_valid_bits, ..Default::default() };
    // SAFETY: the caller has room for more than two.
    unsafe {
        count.write(2);
        out.write(family(vk::QueueFlags::TRANSFER));
        out.add(1).write(family(vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER));
    }
}

extern "C" fn memory_properties(_: u64, out: *mut vk::PhysicalDeviceMemoryProperties) {
    use vk::MemoryPropertyFlags as Flags;
    let device = world(|world| world.device);
    let coherent = if device.is_coherent { Flags::HOST_COHERENT } else { Flags::empty() };
    let (plain, cached) = (Flags::HOST_VISIBLE | Flags::HOST_COHERENT, Flags::HOST_VISIBLE | Flags::HOST_CACHED | coherent);
    let of_host: &[Flags] = match device.host_memory {
        HostMemory::All => &[plain, cached],
        HostMemory::Cached => &[cached],
        HostMemory::Nothing => &[],
    };
    let kinds = [&[Flags::empty(), Flags::DEVICE_LOCAL], of_host].concat();
    // SAFETY: the caller has room for the structure there.
    let out = unsafe { &mut *out };
    *out = vk::PhysicalDeviceMemoryProperties { memory_type_count: kinds.len() as u32, ..Default::default() };
    for (to, property_flags) in out.memory_types.iter_mut().zip(kinds) {
        to.property_flags = property_flags;
    }
}

extern "C" fn create_device(_: u64, info: *const vk::DeviceCreateInfo<'_>, _: *const c_void, out: *mut u64) -> i32 {
    // SAFETY: the caller gives a structure and in it an array of one queue.
    let (info, queue) = unsafe { (&*info, &*(*info).p_queue_create_infos) };
    WORLD.with_borrow_mut(|world| {
        let extensions = if world.device.narrow && world.device.version < 2 { 2 } else { 0 };
        if (queue.queue_family_index, queue.queue_count, info.enabled_extension_count) != (1, 1, extensions) {
            world.mistakes.push("the device is not made as it should be".into());
        }
    });
    give("create_device", "device", out)
}

extern "C" fn destroy_device(device: u64, _: *const c_void) {
    WORLD.with_borrow_mut(|world| world.free(device, "device"));
}

extern "C" fn queue(_: u64, _: u32, _: u32, out: *mut u64) {
    // SAFETY: the caller has room for a handle there.
    unsafe { out.write(0x99) };
}

extern "C" fn requirements(_: u64, _: u64, out: *mut vk::MemoryRequirements) {
    // SAFETY: the caller has room for the structure there. The first type is not allowed.
    unsafe { out.write(vk::MemoryRequirements { size: 1 << 16, alignment: 256, memory_type_bits: !1 }) };
}

extern "C" fn free_memory(device: u64, handle: u64, allocator: *const c_void) {
    WORLD.with_borrow_mut(|world| world.mapped.remove(&handle));
    free_memory_only(device, handle, allocator);
}

extern "C" fn bind(_: u64, _: u64, _: u64, _: u64) -> i32 {
    counted("bind")
}

extern "C" fn map(_: u64, memory: u64, _: u64, _: u64, _: u32, out: *mut *mut u64) -> i32 {
    let result = counted("map");
    WORLD.with_borrow_mut(|world| {
        world.expect(memory, "memory");
        let contents = world.mapped.entry(memory).or_insert_with(|| vec![0; 1 << 13]);
        // SAFETY: the caller has room for an address there.
        unsafe { out.write(contents.as_mut_ptr()) };
    });
    result
}

extern "C" fn ranges(_: u64, _: u32, _: *const c_void) -> i32 {
    counted("ranges")
}

extern "C" fn create_pipeline(device: u64, _: u64, _: u32, info: *const c_void, allocator: *const c_void, out: *mut u64) -> i32 {
    create_pipeline_only(device, info, allocator, out)
}

extern "C" fn allocate(_: u64, _: *const c_void, out: *mut u64) -> i32 {
    let result = counted("allocate");
    // SAFETY: the caller has room for a handle there.
    unsafe { out.write(0x55) };
    result
}

extern "C" fn nothing() {}

extern "C" fn dispatch_indirect(_: u64, _: u64, _: u64) {
    WORLD.with_borrow_mut(|world| world.indirect += 1);
}

extern "C" fn command_buffer(_: u64) -> i32 {
    counted("command_buffer")
}

extern "C" fn wait(_: u64, _: u32, _: *const u64, _: u32, _: u64) -> i32 {
    counted("wait")
}

extern "C" fn submit(_: u64, _: u32, _: *const c_void, _: u64) -> i32 {
    WORLD.with_borrow_mut(|world| world.submissions += 1);
    counted("submit")
}

extern "C" fn wait_idle(_: u64) -> i32 {
    0
}

/// Resolves functions, as `vkGetInstanceProcAddr` and `vkGetDeviceProcAddr` do. The functions that free instance and device always succeed.
///
/// # Safety
/// `name` is a string of C.
pub unsafe extern "C" fn find(_: u64, name: *const c_char) -> *const c_void {
    // SAFETY: by the contract of this function.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let address = |address: usize| address as *const c_void;
    match &*name {
        "vkDestroyInstance" => return address(destroy_instance as *const () as usize),
        "vkDestroyDevice" => return address(destroy_device as *const () as usize),
        _ => {}
    }
    if WORLD.with_borrow_mut(|world| world.count(&format!("find {name}"))).is_some() {
        return std::ptr::null();
    }
    let function = match &*name {
        "vkCreateInstance" => create_instance as *const (),
        "vkEnumeratePhysicalDevices" => enumerate as *const (),
        "vkGetPhysicalDeviceProperties" => properties as *const (),
        "vkGetPhysicalDeviceFeatures2" => features as *const (),
        "vkGetPhysicalDeviceQueueFamilyProperties" => families as *const (),
        "vkGetPhysicalDeviceMemoryProperties" => memory_properties as *const (),
        "vkCreateDevice" => create_device as *const (),
        "vkGetDeviceProcAddr" => find as *const (),
        "vkGetDeviceQueue" => queue as *const (),
        "vkCreateBuffer" => create_buffer as *const (),
        "vkDestroyBuffer" => destroy_buffer as *const (),
        "vkGetBufferMemoryRequirements" => requirements as *const (),
        "vkAllocateMemory" => allocate_memory as *const (),
        "vkFreeMemory" => free_memory as *const (),
        "vkBindBufferMemory" => bind as *const (),
        "vkMapMemory" => map as *const (),
        "vkFlushMappedMemoryRanges" | "vkInvalidateMappedMemoryRanges" | "vkResetFences" => ranges as *const (),
        "vkCreateShaderModule" => create_shader as *const (),
        "vkDestroyShaderModule" => destroy_shader as *const (),
        "vkCreateDescriptorSetLayout" => create_set_layout as *const (),
        "vkDestroyDescriptorSetLayout" => destroy_set_layout as *const (),
        "vkCreatePipelineLayout" => create_pipeline_layout as *const (),
        "vkDestroyPipelineLayout" => destroy_pipeline_layout as *const (),
        "vkCreateComputePipelines" => create_pipeline as *const (),
        "vkDestroyPipeline" => destroy_pipeline as *const (),
        "vkCreateDescriptorPool" => create_descriptor_pool as *const (),
        "vkDestroyDescriptorPool" => destroy_descriptor_pool as *const (),
        "vkAllocateDescriptorSets" | "vkAllocateCommandBuffers" => allocate as *const (),
        "vkCreateCommandPool" => create_command_pool as *const (),
        "vkDestroyCommandPool" => destroy_command_pool as *const (),
        "vkBeginCommandBuffer" | "vkEndCommandBuffer" => command_buffer as *const (),
        "vkCreateFence" => create_fence as *const (),
        "vkDestroyFence" => destroy_fence as *const (),
        "vkWaitForFences" => wait as *const (),
        "vkQueueSubmit" => submit as *const (),
        "vkQueueWaitIdle" => wait_idle as *const (),
        "vkCreateQueryPool" => create_query_pool as *const (),
        "vkDestroyQueryPool" => destroy_query_pool as *const (),
        "vkCmdDispatchIndirect" => dispatch_indirect as *const (),
        _ if name.starts_with("vkCmd") || name == "vkUpdateDescriptorSets" => nothing as *const (),
        _ => {
            WORLD.with_borrow_mut(|world| world.mistakes.push(format!("nobody knows {name}")));
            std::ptr::null()
        }
    };
    function.cast()
}
