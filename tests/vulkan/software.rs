//! Programs on Mesa's software device. Vulkan's loader reads the environment and the validation layer prints, so each test runs a child
//! process.

use super::instances::{info, inputs, jit, measured, on_device_of, run};
use super::pretend::Host;
use super::program::{changed, checked, expected, expected_keeping, keeping, program, weights};
use crate::support::harness::Test;
use crate::support::vulkan::{SOFTWARE_DEVICE, with_software_device};
use modelc::program::{DeviceStep, calls};
use std::process::Command;

/// The tests.
pub const TESTS: &[Test] = &[
    ("regions_run_on_a_device_and_the_layer_is_silent", SOFTWARE_DEVICE, regions_run_on_a_device_and_the_layer_is_silent),
    ("a_device_of_the_application_runs_regions_and_stays", SOFTWARE_DEVICE, a_device_of_the_application_runs_regions_and_stays),
    ("variables_live_on_a_device_and_the_layer_is_silent", SOFTWARE_DEVICE, variables_live_on_a_device_and_the_layer_is_silent),
    ("what_a_device_does_is_measured", SOFTWARE_DEVICE, what_a_device_does_is_measured),
    ("a_missing_barrier_is_heard", SOFTWARE_DEVICE, a_missing_barrier_is_heard),
    ("kernels_that_fail_end_the_call_with_their_status", SOFTWARE_DEVICE, kernels_that_fail_end_the_call_with_their_status),
    (
        "a_device_that_is_a_cpu_is_taken_only_where_one_is_required",
        SOFTWARE_DEVICE,
        a_device_that_is_a_cpu_is_taken_only_where_one_is_required,
    ),
];

/// Environment variable with the name of a child, in its process.
pub const CHILD: &str = "MODELC_TEST_CHILD";

/// The children, with their names.
pub const CHILDREN: [(&str, fn()); 7] = [
    ("child_runs_regions", child_runs_regions),
    ("child_brings_its_device", child_brings_its_device),
    ("child_drops_a_barrier", child_drops_a_barrier),
    ("child_fails_in_a_kernel", child_fails_in_a_kernel),
    ("child_has_only_a_cpu", child_has_only_a_cpu),
    ("child_measures", child_measures),
    ("child_keeps_variables", child_keeps_variables),
];

/// Returns the output of a child.
fn child(name: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    printed(command.env(CHILD, name))
}

/// Returns the output of a program that sees only the software device.
pub fn printed(command: &mut Command) -> String {
    assert!(with_software_device(command), "the test needs the device");
    let cache = tempfile::tempdir().unwrap();
    let output = command.env("XDG_RUNTIME_DIR", cache.path()).env("MESA_SHADER_CACHE_DIR", cache.path()).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}

/// Checks that the validation layer reported nothing.
pub fn assert_silent(text: &str) {
    assert!(!text.contains("Validation") && !text.contains("VUID") && !text.contains("SYNC-HAZARD"), "{text}");
}

pub fn regions_run_on_a_device_and_the_layer_is_silent() {
    let text = child("child_runs_regions");
    assert_silent(&text);
}

fn child_runs_regions() {
    let jit = jit(&program(), true);
    let (mut one, mut two) = (jit.instance().unwrap(), jit.instance().unwrap());
    for first in [-8.0, 0.0, 3.5] {
        let x = inputs(first);
        for instance in [&mut one, &mut two] {
            assert_eq!(run(instance, &x), expected(&x));
        }
    }
    let found = info(&mut one);
    assert!(found.runs && found.failed.is_none() && found.device.contains("llvmpipe"), "{found:?}");
    one.reset().unwrap();
    drop(two);
    let x = inputs(1.0);
    assert_eq!(run(&mut one, &x), expected(&x));
}

pub fn variables_live_on_a_device_and_the_layer_is_silent() {
    assert_silent(&child("child_keeps_variables"));
}

fn child_keeps_variables() {
    for measures in [false, true] {
        let jit = if measures { measured(&keeping(), true) } else { jit(&keeping(), true) };
        let (mut one, mut two) = (jit.instance().unwrap(), jit.instance().unwrap());
        let [first, second, third] = [-8.0, 0.5, 2.0].map(inputs);
        for _ in 0..2 {
            assert_eq!(run(&mut one, &first), expected_keeping(&first, &weights()));
            assert_eq!(run(&mut one, &second), expected_keeping(&second, &first));
            // Each instance has its own variable.
            assert_eq!(run(&mut two, &third), expected_keeping(&third, &weights()));
            assert_eq!(run(&mut one, &third), expected_keeping(&third, &second));
            one.reset().unwrap();
            two.reset().unwrap();
        }
        let times = one.region_times();
        assert!(!measures || times.iter().map(|times| times.enter.runs).eq([6, 6, 0]), "the first contents are of no call: {times:?}");
    }
}

pub fn a_device_of_the_application_runs_regions_and_stays() {
    let text = child("child_brings_its_device");
    assert_silent(&text);
}

fn child_brings_its_device() {
    use ash::vk::{self, Handle};
    // SAFETY: the library is Vulkan's.
    let entry = unsafe { ash::Entry::load() }.unwrap();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
    let information = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structures are as Vulkan wants them, and what is made is destroyed below, the device before the instance.
    let (instance, physical, device, queue) = unsafe {
        let instance = entry.create_instance(&information, None).unwrap();
        let physical = instance.enumerate_physical_devices().unwrap()[0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
        let device = instance.create_device(physical, &vk::DeviceCreateInfo::default().queue_create_infos(&queues), None).unwrap();
        let queue = device.get_device_queue(0, 0);
        (instance, physical, device, queue)
    };
    let host = Host {
        get_instance_proc_addr: (entry.static_fn().get_instance_proc_addr as *const ()).cast(),
        handles: [instance.handle().as_raw(), physical.as_raw(), device.handle().as_raw(), queue.as_raw()],
        ..Host::library()
    };
    let jit = jit(&program(), false);
    for first in [0.0, 1.0] {
        let mut own = on_device_of(&jit, &host).unwrap();
        assert!(info(&mut own).runs);
        let x = inputs(first);
        assert_eq!(run(&mut own, &x), expected(&x));
    }
    // SAFETY: nothing of the device is in use.
    unsafe {
        device.device_wait_idle().unwrap();
        device.destroy_device(None);
        instance.destroy_instance(None);
    }
}

pub fn a_missing_barrier_is_heard() {
    let text = child("child_drops_a_barrier");
    assert!(text.contains("SYNC-HAZARD-READ-AFTER-WRITE"), "{text}");
}

fn child_drops_a_barrier() {
    let program = changed(|device| device.regions[1].steps.retain(|step| *step != DeviceStep::Barrier));
    run(&mut jit(&program, true).instance().unwrap(), &inputs(0.0));
}

pub fn kernels_that_fail_end_the_call_with_their_status() {
    let text = child("child_fails_in_a_kernel");
    assert_silent(&text);
}

fn child_fails_in_a_kernel() {
    let jit = jit(&checked(), true);
    let mut instance = jit.instance().unwrap();
    let x = inputs(0.5);
    assert_eq!(run(&mut instance, &x), expected(&x));
    let bytes: Vec<u8> = inputs(-0.5).iter().flat_map(|x| x.to_le_bytes()).collect();
    let error = instance.call(0, &[&bytes], &mut vec![]).unwrap_err();
    assert!(error.message.contains("MODELC_E_INDEX"), "{error}");
    assert!(info(&mut instance).failed.is_none(), "the device did what it should");
    assert_eq!(run(&mut instance, &x), expected(&x));
}

pub fn a_device_that_is_a_cpu_is_taken_only_where_one_is_required() {
    child("child_has_only_a_cpu");
}

fn child_has_only_a_cpu() {
    let mut instance = jit(&program(), false).instance().unwrap();
    let found = info(&mut instance);
    assert_eq!((found.runs, found.failed), (false, Some(("vkEnumeratePhysicalDevices".into(), -8))));
    let x = inputs(2.0);
    assert_eq!(run(&mut instance, &x), expected(&x));
}

pub fn what_a_device_does_is_measured() {
    assert_silent(&child("child_measures"));
}

fn child_measures() {
    let program = program();
    let mut instance = measured(&program, true).instance().unwrap();
    for first in [0.0, 1.0, 2.0] {
        let x = inputs(first);
        assert_eq!(run(&mut instance, &x), expected(&x));
    }
    let kernels: usize = program.methods.iter().map(|method| calls(&method.steps).len()).sum();
    let regions = &instance.kernel_times()[kernels..];
    assert!(regions.len() == 2 && regions.iter().all(|time| time.runs == 3), "{regions:?}");
    for (times, whole) in instance.region_times().iter().zip(regions) {
        let parts: Vec<_> = times.dispatches.iter().chain([&times.enter, &times.leave]).collect();
        assert!(times.dispatches.len() == 2 && parts.iter().all(|time| time.runs == 3), "{times:?}");
        let device: u64 = parts.iter().map(|time| time.nanoseconds).sum();
        assert!(device > 0 && device < whole.nanoseconds, "{device} of {}", whole.nanoseconds);
    }
    instance.clear_kernel_times();
    assert!(instance.region_times().iter().all(|times| times.enter.runs == 0));
}
