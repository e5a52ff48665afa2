//! The runtime that runs regions on a device of Vulkan: on Mesa's software device with the validation layer, where both are installed.
//!
//! Vulkan's loader reads the environment, and the layer prints, so each of these tests runs a test of its own as another process.

mod vulkan;

use modelc::jit::gpu::GpuInfo;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::program::{DeviceStep, Program};
use modelc::target::host_machine;
use std::path::{Path, PathBuf};
use std::process::Command;
use vulkan::modules::LENGTH;
use vulkan::program::{changed, checked, expected, options, program};

fn jit(program: &Program, required: bool) -> Jit {
    let options = JitOptions { gpu: options(required), ..JitOptions::default() };
    Jit::with_options(program, host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"))
}

fn inputs(first: f32) -> Vec<f32> {
    (0..LENGTH).map(|i| first + i as f32 * 0.5).collect()
}

fn run(instance: &mut Instance, x: &[f32]) -> Vec<f32> {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut outputs = vec![];
    instance.call(0, &[&bytes], &mut outputs).unwrap();
    outputs[0].chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

fn info(instance: &mut Instance) -> GpuInfo {
    instance.gpu().unwrap().expect("the program has a part for a GPU")
}

/// The first file of a folder whose name begins and ends so.
fn installed(folder: &str, begins: &str) -> Option<PathBuf> {
    let entries = Path::new(folder).read_dir().ok()?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins)));
    paths.sort();
    paths.into_iter().next()
}

/// What a test prints that runs in a process of its own on the software device; nothing where it is not installed.
fn on_software_device(test: &str) -> Option<String> {
    let (Some(driver), Some(_)) =
        (installed("/usr/share/vulkan/icd.d", "lvp_icd"), installed("/usr/share/vulkan/explicit_layer.d", "VkLayer_khronos_validation"))
    else {
        println!("skipped: Mesa's software device and the validation layer are not installed");
        return None;
    };
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env("VK_DRIVER_FILES", driver)
        .env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
        .env("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT")
        .env("XDG_RUNTIME_DIR", cache.path())
        .env("MESA_SHADER_CACHE_DIR", cache.path())
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    Some(text)
}

fn assert_silent(text: &str) {
    assert!(!text.contains("Validation") && !text.contains("VUID") && !text.contains("SYNC-HAZARD"), "{text}");
}

#[test]
fn regions_run_on_a_device_and_the_layer_is_silent() {
    if let Some(text) = on_software_device("child_runs_regions") {
        assert_silent(&text);
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
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

#[test]
fn a_missing_barrier_is_heard() {
    if let Some(text) = on_software_device("child_drops_a_barrier") {
        assert!(text.contains("SYNC-HAZARD-READ-AFTER-WRITE"), "{text}");
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_drops_a_barrier() {
    let program = changed(|device| device.regions[1].steps.retain(|step| *step != DeviceStep::Barrier));
    run(&mut jit(&program, true).instance().unwrap(), &inputs(0.0));
}

#[test]
fn kernels_that_fail_end_the_call_with_their_status() {
    if let Some(text) = on_software_device("child_fails_in_a_kernel") {
        assert_silent(&text);
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
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

#[test]
fn a_device_that_is_a_cpu_is_taken_only_where_one_is_required() {
    on_software_device("child_has_only_a_cpu");
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_has_only_a_cpu() {
    let mut instance = jit(&program(), false).instance().unwrap();
    let found = info(&mut instance);
    assert_eq!((found.runs, found.failed), (false, Some(("vkEnumeratePhysicalDevices".into(), -8))));
    let x = inputs(2.0);
    assert_eq!(run(&mut instance, &x), expected(&x));
}
