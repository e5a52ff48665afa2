//! Objects in shared libraries whose runtime loads a library of Vulkan: a mock of this test, or a damaged one. The dynamic loader reads the
//! environment, so each test runs a child process.

use super::instances::{assert_clean, assert_told, inputs};
use super::linked::{HERE, compile, objects, source};
use super::pretend::{self, Properties, find, world};
use super::program::{expected, options};
use super::software::CHILD;
use crate::support::harness::Test;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests.
pub const TESTS: &[Test] = &[
    ("whichever_call_of_a_library_fails_the_cpu_does_the_work", HERE, whichever_call_of_a_library_fails_the_cpu_does_the_work),
    ("whichever_call_of_a_library_fails_a_required_device_is_missed", HERE, whichever_call_of_a_library_fails_a_required_device_is_missed),
    ("memory_that_has_a_device_can_be_initialised", HERE, memory_that_has_a_device_can_be_initialised),
    ("a_copy_of_a_state_has_no_device", HERE, a_copy_of_a_state_has_no_device),
    ("a_damaged_library_is_none", HERE, a_damaged_library_is_none),
    ("a_library_without_its_entry_is_none", HERE, a_library_without_its_entry_is_none),
];

/// The children, with their names.
pub const CHILDREN: [(&str, fn()); 5] = [
    ("child_falls_back", child_falls_back),
    ("child_is_refused", child_is_refused),
    ("child_initialises_twice", child_initialises_twice),
    ("child_copies_its_state", child_copies_its_state),
    ("child_finds_no_library", child_finds_no_library),
];

/// Environment variable with the folder of the libraries for a child.
const FOLDER: &str = "MODELC_TEST_FOLDER";

/// Runs a child that finds a library of Vulkan, made by `library`, in its folder.
fn child(name: &str, library: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let shared = |command: &mut Command, to: &Path| compile(command.args(["-shared", "-fPIC", "-o"]).arg(to));
    for required in [false, true] {
        let objects = objects(folder.path(), "x86_64-linux-gnu", options(required));
        shared(Command::new("cc").args(objects), &folder.path().join(model(required)));
    }
    library(folder.path());
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.env(CHILD, name).env(FOLDER, folder.path()).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
}

/// Returns the name of the library with the program.
fn model(required: bool) -> &'static str {
    if required { "librequired.so" } else { "libauto.so" }
}

/// Makes a library of Vulkan that calls this test's mock.
fn answered(folder: &Path) {
    let to = folder.join("libvulkan.so.1");
    compile(Command::new("cc").args(["-shared", "-fPIC", "-Wl,-soname,libvulkan.so.1", "-o"]).arg(to).arg(source("library.c")));
}

pub fn whichever_call_of_a_library_fails_the_cpu_does_the_work() {
    child("child_falls_back", answered);
}

pub fn whichever_call_of_a_library_fails_a_required_device_is_missed() {
    child("child_is_refused", answered);
}

pub fn memory_that_has_a_device_can_be_initialised() {
    child("child_initialises_twice", answered);
}

pub fn a_copy_of_a_state_has_no_device() {
    child("child_copies_its_state", answered);
}

pub fn a_damaged_library_is_none() {
    child("child_finds_no_library", |folder| {
        for name in ["libvulkan.so.1", "libvulkan.so"] {
            std::fs::write(folder.join(name), "no library").unwrap();
        }
    });
}

pub fn a_library_without_its_entry_is_none() {
    child("child_finds_no_library", |folder| {
        let to = folder.join("libvulkan.so.1");
        compile(Command::new("cc").args(["-shared", "-fPIC", "-DWITHOUT_ENTRY", "-o"]).arg(to).arg(source("library.c")));
    });
}

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NOW`
const NOW: c_int = 2;

/// Opens a library, which stays loaded.
fn open(path: &Path) -> *mut c_void {
    let name = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a string of C; the libraries are those that the parent has made, without initialisers.
    let library = unsafe { dlopen(name.as_ptr(), NOW) };
    assert!(!library.is_null(), "{} cannot be opened", path.display());
    library
}

/// Returns the address of a function.
fn function(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: the library is open, and the name a string of C.
    let address = unsafe { dlsym(library, name.as_ptr()) };
    assert!(!address.is_null(), "there is no {name:?}");
    address
}

type Init = unsafe extern "C" fn(*mut u8, usize, *const u8) -> i32;
type Forward = unsafe extern "C" fn(*mut u8, *const [*const f32; 1], *const [*mut f32; 1]) -> i32;
type Deinit = unsafe extern "C" fn(*mut u8);
type Gpu = unsafe extern "C" fn(*mut u8, *mut Info) -> i32;

/// The first fields of `modelc_gpu_info`.
#[repr(C)]
struct Info {
    struct_size: u32,
    runs: u32,
    result: i32,
    reserved: u32,
    failed: *const c_char,
    rest: [u32; 70],
}

/// The loaded program.
struct Net {
    init: Init,
    forward: Forward,
    deinit: Deinit,
    gpu: Gpu,
}

/// Memory of an instance.
#[repr(C, align(64))]
#[derive(Clone)]
struct Arena([u8; 1 << 15]);

fn folder() -> PathBuf {
    std::env::var_os(FOLDER).expect("the parent sets it").into()
}

impl Net {
    /// Loads the program, and connects the library to the mock Vulkan.
    fn pretending(required: bool) -> Self {
        let answer = function(open(Path::new("libvulkan.so.1")), c"answer_with");
        // SAFETY: the function is that of `library.c`, and takes what answers for `vkGetInstanceProcAddr`.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(*const c_void)>(answer)((find as *const ()).cast()) };
        Self::load(required)
    }

    fn load(required: bool) -> Self {
        let library = open(&folder().join(model(required)));
        let [init, forward, deinit, gpu] = [c"net_init", c"net_forward", c"net_deinit", c"net_gpu"].map(|name| function(library, name));
        // SAFETY: the types are those that the header declares.
        unsafe {
            Self {
                init: std::mem::transmute::<*mut c_void, Init>(init),
                forward: std::mem::transmute::<*mut c_void, Forward>(forward),
                deinit: std::mem::transmute::<*mut c_void, Deinit>(deinit),
                gpu: std::mem::transmute::<*mut c_void, Gpu>(gpu),
            }
        }
    }

    fn init(&self, arena: &mut Arena) -> i32 {
        // SAFETY: the memory has the bytes that the call says, and is aligned.
        unsafe { (self.init)(arena.0.as_mut_ptr(), arena.0.len(), std::ptr::null()) }
    }

    fn deinit(&self, arena: &mut Arena) {
        // SAFETY: the memory is aligned, and has the bytes of a state.
        unsafe { (self.deinit)(arena.0.as_mut_ptr()) }
    }

    /// Returns the status of a call, and its results.
    fn forward(&self, arena: &mut Arena, x: &[f32]) -> (i32, Vec<f32>) {
        let mut y = vec![0.0; x.len()];
        // SAFETY: the structures hold the addresses of as many numbers as the model takes and gives.
        let status = unsafe { (self.forward)(arena.0.as_mut_ptr(), &[x.as_ptr()], &[y.as_mut_ptr()]) };
        (status, y)
    }

    /// Returns `true` if the device runs, and the call that failed with its result.
    fn told(&self, arena: &mut Arena) -> (bool, Option<(String, i32)>) {
        let mut info =
            Info { struct_size: size_of::<Info>() as u32, runs: 7, result: 7, reserved: 7, failed: std::ptr::null(), rest: [0; 70] };
        // SAFETY: the record has the size that it says.
        assert_eq!(unsafe { (self.gpu)(arena.0.as_mut_ptr(), &mut info) }, 0);
        // SAFETY: a name is a string of C in the library's data.
        let failed = (!info.failed.is_null()).then(|| unsafe { CStr::from_ptr(info.failed) }.to_string_lossy().into_owned());
        (info.runs == 1, failed.map(|call| (call, info.result)))
    }
}

fn arena() -> Box<Arena> {
    Box::new(Arena([0xa5; 1 << 15]))
}

fn child_falls_back() {
    let (net, mut arena) = (Net::pretending(false), arena());
    let mut number = 0;
    loop {
        number += 1;
        pretend::begin(number, -1, Properties::default());
        assert_eq!(net.init(&mut arena), 0, "call {number}");
        let opened = world(|world| world.failed.is_none());
        let (runs, failed) = net.told(&mut arena);
        assert_eq!(runs, opened, "call {number}");
        if opened {
            break;
        }
        assert_told(failed);
        let x = inputs(number as f32);
        assert_eq!(net.forward(&mut arena, &x), (0, expected(&x)), "call {number}");
        net.deinit(&mut arena);
        assert_clean(&format!("call {number}"));
    }
    net.deinit(&mut arena);
    assert_clean("opened");
    assert!(number > 80, "only {number} calls can fail");
}

fn child_is_refused() {
    let (net, mut arena) = (Net::pretending(true), arena());
    for number in 1.. {
        pretend::begin(number, -4, Properties::default());
        let status = net.init(&mut arena);
        let (runs, failed) = net.told(&mut arena);
        if world(|world| world.failed.is_none()) {
            assert_eq!((status, runs, failed), (0, true, None));
            break;
        }
        assert_eq!((status, runs), (-9, false), "call {number}");
        assert_told(failed);
        assert_clean(&format!("call {number}"));
    }
}

/// Returns the kinds of objects that are alive.
fn alive() -> Vec<&'static str> {
    let mut kinds: Vec<&str> = world(|world| world.alive.values().copied().collect());
    kinds.sort_unstable();
    kinds
}

fn child_initialises_twice() {
    for required in [false, true] {
        let (net, mut arena) = (Net::pretending(required), arena());
        pretend::begin(0, 0, Properties::default());
        assert_eq!(net.init(&mut arena), 0);
        let once = alive();
        assert!(once.contains(&"device"), "{once:?}");
        assert_eq!(net.init(&mut arena), 0);
        assert_eq!((alive(), net.told(&mut arena)), (once, (true, None)));
        // A lost device is made again, too.
        pretend::fail_next(1, -4);
        net.forward(&mut arena, &inputs(0.0));
        assert_eq!(net.init(&mut arena), 0);
        assert!(net.told(&mut arena).0);
        net.deinit(&mut arena);
        assert_clean("deinit");
    }
}

fn child_copies_its_state() {
    for required in [false, true] {
        let (net, mut arena) = (Net::pretending(required), arena());
        pretend::begin(0, 0, Properties::default());
        assert_eq!(net.init(&mut arena), 0);
        let (before, mut copy) = (alive(), arena.clone());
        let (x, submissions) = (inputs(1.0), world(|world| world.submissions));
        let answer = net.forward(&mut copy, &x);
        match required {
            false => assert_eq!(answer, (0, expected(&x)), "the CPU does it"),
            true => assert_eq!(answer.0, -9),
        }
        assert_eq!(net.told(&mut copy), (false, None));
        net.deinit(&mut copy);
        assert_eq!((alive(), world(|world| world.submissions)), (before, submissions), "the device is that of the first");
        assert_eq!(net.forward(&mut arena, &x).0, 0);
        assert_eq!(world(|world| world.submissions), submissions + 2);
        // A new instance at the address of a copy.
        let mut copy = arena.clone();
        assert_eq!(net.init(&mut copy), 0);
        assert!(net.told(&mut copy).0 && net.told(&mut arena).0);
        for memory in [&mut copy, &mut arena] {
            net.deinit(memory);
        }
        assert_clean("both");
    }
}

fn child_finds_no_library() {
    let call = if folder().join("libvulkan.so").exists() { "dlopen" } else { "vkGetInstanceProcAddr" };
    let (mut arena, x) = (arena(), inputs(-1.0));
    for (required, status) in [(false, 0), (true, -9)] {
        let net = Net::load(required);
        assert_eq!(net.init(&mut arena), status);
        assert_eq!(net.told(&mut arena), (false, Some((call.to_owned(), -3))));
        if !required {
            assert_eq!(net.forward(&mut arena, &x), (0, expected(&x)));
        }
        net.deinit(&mut arena);
    }
}
