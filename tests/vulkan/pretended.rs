//! Programs in the JIT on a mock Vulkan that fails.

use super::instances::{assert_clean, assert_told, info, inputs, jit, measured, on_device_of, run};
use super::pretend::{self, Host, HostMemory, Properties, world};
use super::program::{changed, counted, expected, keeping, program};
use crate::support::harness::{Needs, Test};
use modelc::machine::GPUS;

/// Requirement: the mock has C's calling convention, which generated code uses except on Windows.
const CAN_PRETEND: Needs = Needs::Tool("convention of C as on Unix", || cfg!(unix));

/// The tests.
pub const TESTS: &[Test] = &[
    (
        "whichever_call_fails_the_cpu_does_the_work_and_nothing_is_left",
        CAN_PRETEND,
        whichever_call_fails_the_cpu_does_the_work_and_nothing_is_left,
    ),
    (
        "whichever_call_fails_a_required_device_is_missed_and_nothing_is_left",
        CAN_PRETEND,
        whichever_call_fails_a_required_device_is_missed_and_nothing_is_left,
    ),
    ("a_required_device_that_fails_is_not_asked_again_until_init", CAN_PRETEND, a_required_device_that_fails_is_not_asked_again_until_init),
    ("memory_that_the_host_does_not_see_makes_no_device", CAN_PRETEND, memory_that_the_host_does_not_see_makes_no_device),
    ("measuring_leaves_nothing_whichever_call_fails", CAN_PRETEND, measuring_leaves_nothing_whichever_call_fails),
    ("a_device_that_is_lost_in_a_call_is_not_asked_again", CAN_PRETEND, a_device_that_is_lost_in_a_call_is_not_asked_again),
    ("devices_without_what_the_profile_asks_for_are_not_taken", CAN_PRETEND, devices_without_what_the_profile_asks_for_are_not_taken),
    ("a_device_of_the_application_is_locked_and_not_freed", CAN_PRETEND, a_device_of_the_application_is_locked_and_not_freed),
];

pub fn whichever_call_fails_the_cpu_does_the_work_and_nothing_is_left() {
    for (program, indirect) in [(program(), 0), (counted(), 1)] {
        let (jit, host) = (jit(&program, false), Host::library());
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
                assert_eq!(world(|world| world.indirect), indirect);
                break number - 1;
            }
            assert_told(info(&mut instance).failed);
            let x = inputs(number as f32);
            assert_eq!(run(&mut instance, &x), expected(&x));
            drop(instance);
            assert_clean(&format!("call {number}"));
        };
        assert!(calls > 80, "only {calls} calls can fail");
    }
}

pub fn whichever_call_fails_a_required_device_is_missed_and_nothing_is_left() {
    // The initialization of variables is one more region.
    for (program, submissions) in [(program(), 1), (keeping(), 2)] {
        let (jit, host) = (jit(&program, true), Host::library());
        for number in 1.. {
            pretend::begin(number, -4, Properties::default());
            let opened = on_device_of(&jit, &host);
            let failed = world(|world| world.failed.clone());
            assert_eq!(opened.is_err(), failed.is_some(), "call {number}");
            let Err(error) = opened else {
                assert_eq!(world(|world| world.submissions), submissions);
                break;
            };
            let told = error.message.contains("no device") && (error.message.contains("-4") || error.message.contains("-3"));
            assert!(told, "{error}");
            assert_clean(&format!("call {number}"));
        }
    }
}

pub fn a_required_device_that_fails_is_not_asked_again_until_init() {
    let (jit, host) = (jit(&keeping(), true), Host::library());
    let bytes: Vec<u8> = inputs(1.0).iter().flat_map(|x| x.to_le_bytes()).collect();
    // A reset has one region and a call two, each of which resets the fence, submits and waits.
    for (resets, calls) in [(true, 3), (false, 6)] {
        for after in 1..=calls {
            pretend::begin(0, 0, Properties { is_coherent: after % 2 == 0, ..Properties::default() });
            let mut instance = on_device_of(&jit, &host).unwrap();
            run(&mut instance, &inputs(0.0));
            instance.reset().unwrap();
            assert!(info(&mut instance).runs);
            pretend::fail_next(after, -4);
            let failed = if resets { instance.reset() } else { instance.call(0, &[&bytes], &mut vec![]).map(|_| ()) };
            let found = info(&mut instance);
            assert!(failed.unwrap_err().message.contains("MODELC_E_GPU") && !found.runs, "call {after}");
            assert_told(found.failed);
            let submissions = world(|world| world.submissions);
            let later = [instance.call(0, &[&bytes], &mut vec![]).map(|_| ()), instance.reset()];
            assert!(later.into_iter().all(|later| later.unwrap_err().message.contains("MODELC_E_GPU")));
            assert_eq!(world(|world| world.submissions), submissions);
            drop(instance);
            assert_clean("failed");
        }
    }
}

pub fn memory_that_the_host_does_not_see_makes_no_device() {
    let (jit, host) = (jit(&program(), false), Host::library());
    for (host_memory, is_coherent, runs) in
        [(HostMemory::Cached, true, true), (HostMemory::Cached, false, true), (HostMemory::Nothing, true, false)]
    {
        pretend::begin(0, 0, Properties { is_coherent, host_memory, ..Properties::default() });
        let mut instance = on_device_of(&jit, &host).unwrap();
        let found = info(&mut instance);
        assert_eq!(found.runs, runs, "{host_memory:?}: {found:?}");
        if !runs {
            assert_eq!(found.failed, Some(("vkAllocateMemory".into(), -8)));
            let x = inputs(1.0);
            assert_eq!(run(&mut instance, &x), expected(&x));
        }
        drop(instance);
        assert_clean(&format!("{host_memory:?}"));
    }
}

pub fn measuring_leaves_nothing_whichever_call_fails() {
    let (jit, host) = (measured(&program(), false), Host::library());
    for timestamp_bits in [0, 64] {
        for number in 1.. {
            pretend::begin(number, -1, Properties { timestamp_bits, ..Properties::default() });
            let mut instance = on_device_of(&jit, &host).unwrap();
            let opened = world(|world| world.failed.is_none());
            let has_pool = world(|world| world.alive.values().any(|kind| *kind == "query pool"));
            assert_eq!((info(&mut instance).runs, has_pool), (opened, opened && timestamp_bits > 0), "call {number}");
            if !opened {
                assert_told(info(&mut instance).failed);
            }
            let x = inputs(number as f32);
            let answer = run(&mut instance, &x);
            assert!(opened || answer == expected(&x), "call {number}");
            assert!(instance.region_times().iter().all(|times| times.enter.runs == 0), "the pretended device takes no times");
            drop(instance);
            assert_clean(&format!("call {number}"));
            if opened {
                break;
            }
        }
    }
}

pub fn a_device_that_is_lost_in_a_call_is_not_asked_again() {
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
        assert_told(found.failed);
        // Only failures before the wait allow another attempt at once.
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

pub fn devices_without_what_the_profile_asks_for_are_not_taken() {
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

pub fn a_device_of_the_application_is_locked_and_not_freed() {
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
