//! Opening a device: library, instance, device, buffers, pipelines, constants and commands. The application may provide instance and device.

use super::choose::{Features, choose};
use super::common::{self, EXTENSION_NAMES, NAME_BYTES};
use super::functions::{Source, Vk, from};
use super::layout::{APPLICATION_INFO, DEVICE_CREATE_INFO, DEVICE_PROPERTIES, DEVICE_QUEUE_CREATE_INFO, INSTANCE_CREATE_INFO};
use super::measure;
use super::memory::memory_property::{DEVICE_LOCAL, HOST_CACHED, HOST_COHERENT, HOST_VISIBLE};
use super::runtime::{Loader, Own, Runtime};
use super::tables::{Head, region_row};
use super::write::{FEATURE_NOT_PRESENT, INITIALIZATION_FAILED, function_place};
use crate::driver::language::{Builder, Callee, CompareOp, Function, Operand, Value, Width, function};
use modelc_interface::device::{Field, PROPERTIES_BYTES};
use modelc_interface::{E_GPU, HOST, Host};

/// `VkBufferUsageFlagBits`
mod usage {
    pub const COPIED_FROM: u64 = 1;
    pub const COPIED_TO: u64 = 2;
    pub const STORAGE: u64 = 0x20;
    pub const COUNTS: u64 = 0x100;
}

/// The version of Vulkan from which elements of 8 bits need no extension.
const WITH_BYTES: u64 = 1 << 22 | 2 << 12;

/// Writes `int open(part, table, const void *weights, const modelc_vk_host *host)`. If it fails, `close` frees all that exists.
pub fn open(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Open.signature(), |e, arguments| {
        let &[part, table, weights, host] = arguments else { unreachable!("open has four parameters") };
        clear(e, part, table);
        library(runtime, e, part, host);
        let owns = e.field(part, Field::Owns);
        e.when(owns, |e| {
            find(runtime, e, part, Source::Global);
            instance(e, part, table);
        });
        find(runtime, e, part, Source::Instance);
        let own = e.region(|e| {
            let status = e.call(runtime.callee(Own::Device), Own::Device.signature(), vec![part.into(), table.into()]);
            e.leave_with(status);
            vec![]
        });
        let given = e.region(|e| {
            given_device(runtime, e, part, table);
            vec![]
        });
        e.branch(owns, &[], own, given);
        find(runtime, e, part, Source::Device);
        if runtime.measures {
            find(runtime, e, part, Source::Measuring);
        }
        e.set_field(1, part, Field::IsLoaded);
        e.when(owns, |e| queue(e, part));
        buffers(runtime, e, part, table);
        if runtime.measures {
            measure::prepare(e, part, table);
        }
        for (own, argument) in [(Own::Pipelines, None), (Own::Upload, Some(weights))] {
            let arguments = [part, table].into_iter().chain(argument).map(Operand::Value).collect();
            let status = e.call(runtime.callee(own), own.signature(), arguments);
            e.leave_with(status);
        }
        e.rows(table, [Head::Regions, Head::RegionsEnd], region_row::BYTES, |e, row| {
            let arguments = vec![part.into(), table.into(), row.into()];
            let status = e.call(runtime.callee(Own::Record), Own::Record.signature(), arguments);
            e.leave_with(status);
        });
        e.set_field(0, part, Field::Call);
        e.set_field(1, part, Field::Runs);
    })
}

/// Fills the part of the state with zeros, and stores its address in it.
pub fn clear(e: &mut Builder, part: Value, table: Value) {
    let bytes = e.head(table, Head::PartBytes);
    e.each(bytes, 8, |e, offset| {
        let word = e.add(part, offset);
        e.store(Width::Word, 0, word, 0);
    });
    e.set_field(part, part, Field::Place);
}

/// Stores the fields that the application provides. Finds `vkGetInstanceProcAddr` if the application does not provide it.
fn library(runtime: &Runtime, e: &mut Builder, part: Value, host: Value) {
    e.set_field(1, part, Field::Owns);
    let get = e.region(|e| {
        let field = |e: &mut Builder, member: Host| e.member(&HOST, host, member);
        for (member, place) in
            [(Host::Allocator, Field::Allocator), (Host::Lock, Field::Lock), (Host::Unlock, Field::Unlock), (Host::User, Field::User)]
        {
            let value = field(e, member);
            e.set_field(value, part, place);
        }
        let device = field(e, Host::Device);
        e.when(device, |e| {
            e.set_field(0, part, Field::Owns);
            let handles = [
                (Host::Instance, Field::Instance),
                (Host::Physical, Field::Physical),
                (Host::Device, Field::Device),
                (Host::Queue, Field::Queue),
            ];
            for (member, place) in handles {
                let value = field(e, member);
                e.set_field(value, part, place);
            }
            let family = e.member(&HOST, host, Host::QueueFamily);
            e.set_field(family, part, Field::Family);
        });
        vec![field(e, Host::GetInstanceProcAddr).into()]
    });
    let absent = e.region(|_| vec![0.into()]);
    let given = e.branch(host, &[Width::Word], get, absent)[0];
    let known = e.region(|_| vec![given.into()]);
    let opened = e.region(|e| match runtime.loader {
        Some((loader, imports)) => vec![open_library(runtime, e, part, &loader, imports).into()],
        None => vec![given.into()],
    });
    let get = e.branch(given, &[Width::Word], known, opened)[0];
    keep_entry(e, part, get);
}

/// Stores the address of `vkGetInstanceProcAddr`; fails if it is 0.
pub fn keep_entry(e: &mut Builder, part: Value, get: Value) {
    e.vulkan_fail_unless(part, get, Vk::GetInstanceProcAddr, INITIALIZATION_FAILED);
    e.store(Width::Word, get, part, function_place(Vk::GetInstanceProcAddr));
}

/// Opens the first library that exists; returns the address of `vkGetInstanceProcAddr`, or 0.
pub fn open_library(runtime: &Runtime, e: &mut Builder, part: Value, loader: &Loader, [open, find]: [u32; 2]) -> Value {
    let mut library: Option<Value> = None;
    for number in 0..loader.libraries.len() as u64 {
        let attempt = |e: &mut Builder| {
            let name = e.data(runtime.data, common::LIBRARIES + NAME_BYTES * number);
            let arguments = [Some(name.into()), loader.flags.map(|flags| u64::from(flags).into())].into_iter().flatten().collect();
            e.call(Callee::Import(open), loader.open_signature(), arguments)
        };
        library = Some(match library {
            None => attempt(e),
            Some(before) => {
                let there = e.region(|_| vec![before.into()]);
                let next = e.region(|e| vec![attempt(e).into()]);
                e.branch(before, &[Width::Word], there, next)[0]
            }
        });
    }
    let Some(library) = library else { unreachable!("a loader has the names of libraries") };
    e.vulkan_fail_unless(part, library, Vk::OpenLibrary, INITIALIZATION_FAILED);
    let name = e.data(runtime.data, common::NAMES + NAME_BYTES * Vk::GetInstanceProcAddr as u64);
    e.call(Callee::Import(find), loader.find_signature(), vec![library.into(), name.into()])
}

/// Finds all functions of a source, and stores their addresses.
pub fn find(runtime: &Runtime, e: &mut Builder, part: Value, source: Source) {
    let (by, handle) = match source {
        Source::Library | Source::Global => (Vk::GetInstanceProcAddr, Operand::Number(0)),
        Source::Instance => (Vk::GetInstanceProcAddr, e.field(part, Field::Instance).into()),
        Source::Device | Source::Measuring => (Vk::GetDeviceProcAddr, e.field(part, Field::Device).into()),
    };
    let numbers = from(source);
    let first_name = e.data(runtime.data, common::NAMES + NAME_BYTES * numbers.start);
    let first_slot = e.at(part, Field::Functions.offset() as u64 + 8 * numbers.start);
    let (number, name, slot) = (e.value(Width::Single), e.value(Width::Word), e.value(Width::Word));
    let head = e.region(|e| vec![e.compare(CompareOp::Less, number, numbers.end).into()]);
    let body = e.region(|e| {
        let next = e.add(number, 1);
        e.set_field(next, part, Field::Call);
        e.set_field(INITIALIZATION_FAILED, part, Field::Result);
        let address = e.vulkan_call(part, by, vec![handle, name.into()]);
        let absent = e.compare(CompareOp::Equal, address, 0);
        e.leave_if(absent, E_GPU);
        e.store(Width::Word, address, slot, 0);
        vec![next.into(), e.add(name, NAME_BYTES).into(), e.add(slot, 8).into()]
    });
    e.repeat(&[(number, numbers.start.into()), (name, first_name.into()), (slot, first_slot.into())], head, body);
}

/// Makes the instance.
pub fn instance(e: &mut Builder, part: Value, table: Value) {
    let version = e.head_single(table, Head::InstanceVersion);
    let application = e.structure(&APPLICATION_INFO, &[("apiVersion", version.into())]);
    let information = e.structure(&INSTANCE_CREATE_INFO, &[("pApplicationInfo", application.into())]);
    let allocator = e.field(part, Field::Allocator);
    e.vulkan_make(part, Vk::CreateInstance, vec![information.into(), allocator.into()], (part, Field::Instance.offset()));
}

/// Writes `int device(part, table)`. It chooses a device and creates it, with one queue.
pub fn device(runtime: &Runtime) -> Function {
    function(runtime.layout, Own::Device.signature(), |e, arguments| {
        let &[part, table] = arguments else { unreachable!("device has two parameters") };
        choose(runtime, e, part, table);
        properties(runtime, e, part);
        let [family, version] = [Field::Family, Field::Properties].map(|field| e.field(part, field));
        let priorities = e.data(runtime.data, common::PRIORITIES);
        let members = [("queueFamilyIndex", family.into()), ("queueCount", 1.into()), ("pQueuePriorities", priorities.into())];
        let queue = e.structure(&DEVICE_QUEUE_CREATE_INFO, &members);
        let features = Features::new(e, table, 1);
        let names = e.memory(8 * EXTENSION_NAMES.len() as u32);
        for number in 0..EXTENSION_NAMES.len() as u64 {
            let name = e.data(runtime.data, common::EXTENSIONS + NAME_BYTES * number);
            e.store(Width::Word, name, names, 8 * number as i32);
        }
        let narrow = e.head_single(table, Head::Narrow);
        let is_old = e.compare(CompareOp::Less, version, WITH_BYTES);
        let count = e.select(is_old, narrow, 0);
        let count = e.mul(count, EXTENSION_NAMES.len() as u64);
        let members = [
            ("pNext", features.first.into()),
            ("queueCreateInfoCount", 1.into()),
            ("pQueueCreateInfos", queue.into()),
            ("enabledExtensionCount", count.into()),
            ("ppEnabledExtensionNames", names.into()),
        ];
        let information = e.structure(&DEVICE_CREATE_INFO, &members);
        let [physical, allocator] = [Field::Physical, Field::Allocator].map(|field| e.field(part, field));
        let arguments = vec![physical.into(), information.into(), allocator.into()];
        e.vulkan_make(part, Vk::CreateDevice, arguments, (part, Field::Device.offset()));
    })
}

/// Fails unless the application's device suits the table.
fn given_device(runtime: &Runtime, e: &mut Builder, part: Value, table: Value) {
    properties(runtime, e, part);
    let physical = e.field(part, Field::Physical);
    let family = e.memory(8);
    let arguments = vec![part.into(), table.into(), physical.into(), family.into()];
    let score = e.call(runtime.callee(Own::Suits), Own::Suits.signature(), arguments);
    e.vulkan_fail_unless(part, score, Vk::GetPhysicalDeviceProperties, FEATURE_NOT_PRESENT);
}

/// Copies the first bytes of the device's properties to the state.
fn properties(runtime: &Runtime, e: &mut Builder, part: Value) {
    let physical = e.field(part, Field::Physical);
    let properties = e.room(&DEVICE_PROPERTIES);
    e.vulkan_only(part, Vk::GetPhysicalDeviceProperties, vec![physical.into(), properties.into()]);
    let to = e.field_address(part, Field::Properties);
    let arguments = vec![to.into(), properties.into(), PROPERTIES_BYTES.into()];
    e.call_only(runtime.callee(Own::Copy), Own::Copy.signature(), arguments);
}

fn queue(e: &mut Builder, part: Value) {
    let device = e.field(part, Field::Device);
    let family = e.field(part, Field::Family);
    let place = e.field_address(part, Field::Queue);
    e.vulkan_only(part, Vk::GetDeviceQueue, vec![device.into(), family.into(), 0.into(), place.into()]);
    let queue = e.field(part, Field::Queue);
    e.vulkan_fail_unless(part, queue, Vk::GetDeviceQueue, INITIALIZATION_FAILED);
}

/// Makes the three buffers, and maps the memory of the last, staging.
fn buffers(runtime: &Runtime, e: &mut Builder, part: Value, table: Value) {
    let near = [DEVICE_LOCAL, DEVICE_LOCAL, 0];
    let visible = [HOST_VISIBLE | HOST_COHERENT | HOST_CACHED, HOST_VISIBLE | HOST_CACHED, HOST_VISIBLE | HOST_COHERENT];
    let both = usage::COPIED_FROM | usage::COPIED_TO;
    let list = [
        (Field::Area, Head::AreaBytes, usage::STORAGE | usage::COUNTS | both, near),
        (Field::Constants, Head::ConstantBytes, usage::STORAGE | usage::COPIED_TO, near),
        (Field::Staging, Head::StagingBytes, both, visible),
    ];
    for (place, field, usage, wanted) in list {
        let slots = e.field_address(part, place);
        let bytes = e.head(table, field);
        // Vulkan does not allow empty buffers.
        let bytes = e.larger(bytes, 4);
        let numbers = [usage, wanted[0], wanted[1], wanted[2]].map(Operand::Number);
        let arguments = [part, slots, bytes].map(Operand::Value).into_iter().chain(numbers).collect();
        let status = e.call(runtime.callee(Own::Buffer), Own::Buffer.signature(), arguments);
        e.leave_with(status);
    }
    let [device, memory] = [Field::Device, Field::StagingMemory].map(|field| e.field(part, field));
    let arguments = vec![device.into(), memory.into(), 0.into(), u64::MAX.into(), 0.into()];
    e.vulkan_make(part, Vk::MapMemory, arguments, (part, Field::Mapped.offset()));
}
