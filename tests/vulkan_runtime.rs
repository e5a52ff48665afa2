//! The runtime that runs regions on a device of Vulkan: on Mesa's software device with the validation layer, where both are installed.
//!
//! Vulkan's loader reads the environment, and the layer prints, so each of these tests runs a test of its own as another process.

mod vulkan;

use modelc::codegen::vulkan::{GpuOptions, LoaderChoice, RuntimePlace};
use modelc::diagnostic::Diagnostic;
use modelc::emit::{ModelInfo, ObjectOptions, runtime_object, runtime_options};
use modelc::jit::gpu::GpuInfo;
use modelc::jit::{Instance, Jit, JitOptions};
use modelc::machine::GPUS;
use modelc::program::{DeviceStep, Program};
use modelc::target::{host_machine, level, target};
use object::{Object, ObjectSection, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use vulkan::modules::LENGTH;
use vulkan::pretend::{self, Host, Properties, world};
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
    let mut command = Command::new(std::env::current_exe().unwrap());
    let text = with_software_device(command.args([test, "--exact", "--ignored", "--nocapture"]))?;
    assert!(text.contains("1 passed"), "{text}");
    Some(text)
}

/// What a program prints that sees the software device and no other; nothing where it is not installed.
fn with_software_device(command: &mut Command) -> Option<String> {
    let (Some(driver), Some(_)) =
        (installed("/usr/share/vulkan/icd.d", "lvp_icd"), installed("/usr/share/vulkan/explicit_layer.d", "VkLayer_khronos_validation"))
    else {
        println!("skipped: Mesa's software device and the validation layer are not installed");
        return None;
    };
    let cache = tempfile::tempdir().unwrap();
    let output = command
        .env("VK_DRIVER_FILES", driver)
        .env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
        .env("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT")
        .env("XDG_RUNTIME_DIR", cache.path())
        .env("MESA_SHADER_CACHE_DIR", cache.path())
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
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
fn a_device_of_the_application_runs_regions_and_stays() {
    if let Some(text) = on_software_device("child_brings_its_device") {
        assert_silent(&text);
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
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

/// The pretended library has the convention of C, which generated code has too but on Windows.
fn can_pretend() -> bool {
    cfg!(unix)
}

fn on_device_of(jit: &Jit, host: &Host) -> Result<Instance, Diagnostic> {
    // SAFETY: the library stays in this program, and the test drops the instance before what the host has.
    unsafe { jit.instance_with_device(host.address()) }
}

/// Everything made was freed, and nothing was done that must not be.
fn assert_clean(what: &str) {
    world(|world| assert!(world.alive.is_empty() && world.mistakes.is_empty(), "{what}: {:?} {:?}", world.alive, world.mistakes));
}

/// What the state says of a failure is what the library did.
fn assert_told(found: &GpuInfo) {
    let (failed, result) = world(|world| (world.failed.clone().unwrap_or_default(), world.result));
    let (call, told) = found.failed.clone().expect("a call failed");
    match failed.strip_prefix("find ") {
        Some(name) => assert_eq!((call.as_str(), told), (name, -3)),
        None => assert!(call.starts_with("vk") && told == result, "{failed}: {call} {told}"),
    }
}

#[test]
fn whichever_call_fails_the_cpu_does_the_work_and_nothing_is_left() {
    if !can_pretend() {
        return;
    }
    let (jit, host) = (jit(&program(), false), Host::library());
    let mut number = 0;
    let calls = loop {
        number += 1;
        pretend::begin(number, -1, Properties { is_coherent: number % 2 == 0, ..Properties::default() });
        let mut instance = on_device_of(&jit, &host).unwrap();
        let opened = world(|world| world.failed.is_none());
        assert_eq!(info(&mut instance).runs, opened, "call {number}");
        if opened {
            drop(instance);
            assert_clean("opened");
            break number - 1;
        }
        assert_told(&info(&mut instance));
        let x = inputs(number as f32);
        assert_eq!(run(&mut instance, &x), expected(&x));
        drop(instance);
        assert_clean(&format!("call {number}"));
    };
    assert!(calls > 80, "only {calls} calls can fail");
}

#[test]
fn whichever_call_fails_a_required_device_is_missed_and_nothing_is_left() {
    if !can_pretend() {
        return;
    }
    let (jit, host) = (jit(&program(), true), Host::library());
    for number in 1.. {
        pretend::begin(number, -4, Properties::default());
        let opened = on_device_of(&jit, &host);
        let failed = world(|world| world.failed.clone());
        assert_eq!(opened.is_err(), failed.is_some(), "call {number}");
        let Err(error) = opened else { break };
        let told = error.message.contains("no device") && (error.message.contains("-4") || error.message.contains("-3"));
        assert!(told, "{error}");
        assert_clean(&format!("call {number}"));
    }
}

#[test]
fn a_device_that_is_lost_in_a_call_is_not_asked_again() {
    if !can_pretend() {
        return;
    }
    let (jit, host) = (jit(&program(), false), Host::library());
    let bytes: Vec<u8> = inputs(1.0).iter().flat_map(|x| x.to_le_bytes()).collect();
    // Each region resets the fence, submits and waits.
    for after in 1..=6 {
        pretend::begin(0, 0, Properties::default());
        let mut instance = on_device_of(&jit, &host).unwrap();
        assert!(info(&mut instance).runs);
        pretend::fail_next(after, -4);
        let (x, mut outputs) = (inputs(1.0), vec![]);
        let answer = instance.call(0, &[&bytes], &mut outputs);
        let found = info(&mut instance);
        assert!(!found.runs);
        assert_told(&found);
        // Only what comes first can be done again at once.
        match after {
            1..=3 => assert_eq!(run(&mut instance, &x), expected(&x)),
            _ => assert!(answer.unwrap_err().message.contains("MODELC_E_GPU")),
        }
        let submissions = world(|world| world.submissions);
        assert_eq!(run(&mut instance, &x), expected(&x));
        assert_eq!(world(|world| world.submissions), submissions, "the CPU did it");
        drop(instance);
        assert_clean("lost");
    }
}

#[test]
fn devices_without_what_the_profile_asks_for_are_not_taken() {
    if !can_pretend() {
        return;
    }
    let host = Host::library();
    let words = jit(&program(), false);
    let bytes = jit(&changed(|device| device.machine = &GPUS[1]), false);
    let usual = Properties::default();
    let cases = [
        (&words, usual, true),
        (&words, Properties { storage_buffers: 3, ..usual }, false),
        (&words, Properties { version: 0, ..usual }, false),
        (&words, Properties { is_cpu: true, ..usual }, false),
        (&bytes, usual, false),
        (&bytes, Properties { narrow: true, ..usual }, true),
        (&bytes, Properties { narrow: true, version: 2, ..usual }, true),
        (&bytes, Properties { narrow: true, storage_buffers: 7, ..usual }, false),
    ];
    for (number, (jit, properties, runs)) in cases.into_iter().enumerate() {
        pretend::begin(0, 0, properties);
        let mut instance = on_device_of(jit, &host).unwrap();
        let found = info(&mut instance);
        assert_eq!(found.runs, runs, "case {number}: {found:?}");
        if runs {
            assert_eq!(found.device, "pretended");
        } else {
            assert_eq!(found.failed, Some(("vkEnumeratePhysicalDevices".into(), -8)), "case {number}");
        }
        drop(instance);
        assert_clean(&format!("case {number}"));
    }
}

extern "C" fn count(user: *mut u32) {
    // SAFETY: the test gives a counter.
    unsafe { *user += 1 };
}

#[test]
fn a_device_of_the_application_is_locked_and_not_freed() {
    if !can_pretend() {
        return;
    }
    let jit = jit(&program(), false);
    pretend::begin(0, 0, Properties { is_cpu: true, ..Properties::default() });
    let mut calls = 0u32;
    let host = Host { lock: Some(count), unlock: Some(count), user: &mut calls, ..Host::device() };
    let mut instance = on_device_of(&jit, &host).unwrap();
    assert!(info(&mut instance).runs, "whatever it is");
    run(&mut instance, &inputs(0.0));
    assert_eq!(world(|world| world.submissions), 3, "constants and two regions");
    drop(instance);
    world(|world| {
        let left: Vec<&str> = world.alive.values().copied().collect();
        assert_eq!((left, &world.mistakes), (vec!["instance", "device"], &vec![]));
    });
    assert_eq!(calls, 8, "three submissions and the last wait");
    pretend::begin(0, 0, Properties::default());
    let error = on_device_of(&jit, &Host { struct_size: 8, ..Host::library() }).err().unwrap();
    assert!(error.message.contains("MODELC_E_ABI"), "{error}");
}

/// A program with the object for a target, and with that of the runtime where the object leaves it out; nothing where its compiler is not
/// installed.
fn linked(triple: &str, compiler: &str, gpu: GpuOptions, flags: &[&str]) -> Option<(tempfile::TempDir, PathBuf)> {
    let target = target(triple).unwrap();
    let machine = level(target, None).unwrap();
    let runtime = (gpu.runtime == RuntimePlace::Linked)
        .then(|| runtime_object(target, machine, &runtime_options(target, machine, gpu.loader)).unwrap_or_else(|error| panic!("{error}")));
    let options = ObjectOptions { gpu, ..ObjectOptions::new("net", target, machine) };
    let model = ModelInfo { sha256: [7; 32], file: "hand.pte".into() };
    let files = modelc::emit::object(&program(), &model, &options).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let [object, header, program, runtime_path] = ["net.o", "net.h", "program", "runtime.o"].map(|name| folder.path().join(name));
    std::fs::write(&object, files.object.to_vec()).unwrap();
    std::fs::write(&header, &files.header).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vulkan/main.c");
    let mut command = Command::new(compiler);
    command.args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]).args(flags).arg("-I").arg(folder.path());
    if let Some(runtime) = runtime {
        std::fs::write(&runtime_path, runtime.to_vec()).unwrap();
        command.arg(&runtime_path);
    }
    match command.arg(source).arg(object).arg("-o").arg(&program).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            println!("skipped: {compiler}: {error}");
            return None;
        }
    }
    Some((folder, program))
}

/// What the program answers.
fn answers() -> String {
    expected(&inputs(-2.0)).iter().map(|y| format!("{y}\n")).collect()
}

/// The first line of a program's output, and its answers as this test prints numbers.
fn told(text: &str) -> (String, String) {
    let mut lines = text.lines().skip_while(|line| !line.ends_with(']'));
    let first = lines.next().unwrap_or_default().to_owned();
    (first, lines.filter_map(|line| line.parse::<f32>().ok()).map(|y| format!("{y}\n")).collect())
}

#[test]
fn a_c_program_of_one_object_runs_on_a_device() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let Some((_folder, program)) = linked("x86_64-linux-gnu", "cc", options(true), &[]) else { return };
    let Some(text) = with_software_device(&mut Command::new(&program)) else { return };
    assert_silent(&text);
    let (first, found) = told(&text);
    assert!(first.starts_with("0 1 - 0 [llvmpipe"), "{text}");
    assert_eq!(found, answers());
}

#[test]
fn the_runtime_can_be_an_object_of_its_own() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return;
    }
    let gpu = GpuOptions { runtime: RuntimePlace::Linked, ..options(true) };
    let Some((_folder, program)) = linked("x86_64-linux-gnu", "cc", gpu, &[]) else { return };
    let Some(text) = with_software_device(&mut Command::new(&program)) else { return };
    assert_silent(&text);
    assert_eq!(told(&text).1, answers());
}

#[test]
fn without_a_library_the_cpu_does_the_work_on_every_machine() {
    let tools = [
        ("x86_64-linux-gnu", "cc", None, cfg!(all(target_arch = "x86_64", target_os = "linux"))),
        ("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", Some("qemu-aarch64"), true),
        ("riscv64-linux-gnu", "riscv64-linux-gnu-gcc", Some("qemu-riscv64"), true),
    ];
    for (triple, compiler, emulator, is_here) in tools {
        for required in [false, true].into_iter().filter(|_| is_here) {
            let Some((_folder, program)) = linked(triple, compiler, options(required), &["-static", "-DWITHOUT_LIBRARY"]) else { continue };
            let mut command = Command::new(emulator.map_or(program.as_os_str(), |emulator| emulator.as_ref()));
            let Ok(output) = command.args(emulator.map(|_| &program)).output() else {
                println!("skipped: {emulator:?} is not installed");
                continue;
            };
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{triple}: {} {text}", output.status);
            let (first, found) = told(&text);
            let (status, answers) = if required { (-9, String::new()) } else { (0, answers()) };
            assert_eq!((first, found), (format!("{status} 0 dlopen -3 []"), answers), "{triple}");
        }
    }
}

#[test]
fn an_object_needs_the_loader_of_libraries_and_nothing_else() {
    let undefined = |gpu: GpuOptions| {
        let target = target("aarch64-linux-gnu").unwrap();
        let options = ObjectOptions { gpu, ..ObjectOptions::new("net", target, level(target, None).unwrap()) };
        let model = ModelInfo { sha256: [7; 32], file: String::new() };
        let bytes = modelc::emit::object(&program(), &model, &options).unwrap_or_else(|error| panic!("{error}")).object.to_vec();
        let file = object::File::parse(&*bytes).unwrap();
        assert!(file.section_by_name(".rodata.net_device").is_some_and(|section| section.size() > 0));
        let mut names: Vec<String> = file.symbols().filter(|s| s.is_undefined()).map(|s| s.name().unwrap().to_owned()).collect();
        names.retain(|name| !name.is_empty());
        names
    };
    assert_eq!(undefined(options(false)), ["dlopen", "dlsym"]);
    let entries = ["open", "run", "close", "report"].map(|entry| format!("modelc_vulkan_{entry}_1_00000001"));
    assert_eq!(undefined(GpuOptions { runtime: RuntimePlace::Linked, ..options(false) }), entries);
    assert_eq!(undefined(GpuOptions { loader: LoaderChoice::Host, ..options(false) }), Vec::<String>::new());
}
