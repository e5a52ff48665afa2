//! Programs in memory: the same answers as from an object, the checking modes, profiles.

mod handmade;

use handmade::LENGTH;
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::target::host_machine;

fn inputs() -> (Vec<u8>, Vec<u8>) {
    let bytes = (0..LENGTH).map(|i| (i as i8 - 20) as u8).collect();
    let floats = [-1.0f32, -0.5, 0.0].iter().flat_map(|f| f.to_le_bytes()).collect();
    (bytes, floats)
}

fn expected(calls: i32) -> Vec<Vec<u8>> {
    let bytes = (0..LENGTH as i32).map(|i| (2 * (i - 20 + 3 * i)) as u8).collect();
    let floats = [-2.0f32, -1.0, 0.0].iter().flat_map(|f| f.to_le_bytes()).collect();
    vec![bytes, floats, (5 + calls).to_le_bytes().to_vec()]
}

fn jit(options: JitOptions) -> Jit {
    Jit::with_options(&handmade::program(), host_machine().unwrap(), options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_placement_gives_the_same_answers() {
    let (bytes, floats) = inputs();
    for placement in [Placement::Aligned, Placement::AgainstGuard, Placement::Odd] {
        let jit = jit(JitOptions { placement, ..JitOptions::default() });
        let (mut one, mut two) = (jit.instance().unwrap(), jit.instance().unwrap());
        drop(jit);
        let mut outputs = vec![];
        for calls in 1..4 {
            one.call(0, &[&bytes, &floats], &mut outputs).unwrap();
            assert_eq!(outputs, expected(calls), "{placement:?}");
        }
        two.call(0, &[&bytes, &floats], &mut outputs).unwrap();
        assert_eq!(outputs, expected(1), "{placement:?}");
        one.reset().unwrap();
        one.call(0, &[&bytes, &floats], &mut outputs).unwrap();
        assert_eq!(outputs, expected(1), "{placement:?}");
        one.call(1, &[&7i64.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(outputs, [7i64.to_le_bytes()], "{placement:?}");
        one.call(2, &[&[0], &40i32.to_le_bytes()], &mut outputs).unwrap();
        assert_eq!(outputs, [80i32.to_le_bytes()], "{placement:?}");
    }
}

#[test]
fn bad_calls_are_errors() {
    let jit = jit(JitOptions::default());
    let mut instance = jit.instance().unwrap();
    let (bytes, _) = inputs();
    let mut outputs = vec![];
    assert_eq!(instance.call(0, &[&bytes], &mut outputs).unwrap_err().code, 510);
    assert_eq!(instance.call(0, &[&bytes, &bytes], &mut outputs).unwrap_err().code, 511);
    assert_eq!(instance.call(9, &[], &mut outputs).unwrap_err().code, 512);
    let check = jit.method("check").unwrap();
    let error = instance.call(check, &[&[1, 255]], &mut outputs).unwrap_err();
    assert!(error.code == 513 && error.message.contains("MODELC_E_INDEX"), "{error}");
    instance.call(check, &[&[1, 2]], &mut outputs).unwrap();
    assert_eq!(outputs, [[1, 2]]);
}

#[test]
fn dead_memory_is_poisoned_and_live_memory_is_not() {
    let (bytes, floats) = inputs();
    let none = || vec![vec![]; 4];
    let mut right = vec![none(), none(), none(), none(), none()];
    // `forward` keeps the sums from the first kernel to the third.
    right[0][0] = vec![0..1, 1..LENGTH];
    right[0][1] = vec![0..1, 1..LENGTH];
    let mut outputs = vec![];
    let live = Some(right.clone());
    let checking = jit(JitOptions { live, placement: Placement::AgainstGuard, ..JitOptions::default() });
    checking.instance().unwrap().call(0, &[&bytes, &floats], &mut outputs).unwrap();
    assert_eq!(outputs, expected(1));
    // One byte too few is seen in the answer.
    right[0][1] = vec![0..1, 1..LENGTH - 1];
    let checking = jit(JitOptions { live: Some(right), ..JitOptions::default() });
    checking.instance().unwrap().call(0, &[&bytes, &floats], &mut outputs).unwrap();
    let mut wrong = expected(1);
    wrong[0][LENGTH as usize - 1] = 254;
    assert_eq!(outputs, wrong);
}

#[test]
fn profiles_count_every_kernel() {
    let jit = jit(JitOptions { profile: true, ..JitOptions::default() });
    let mut instance = jit.instance().unwrap();
    let mut outputs = vec![];
    for _ in 0..3 {
        instance.call(1, &[&5i64.to_le_bytes()], &mut outputs).unwrap();
    }
    // `count_to` follows the four kernels of `forward`: zero, step, copy in the loop, copy.
    let runs: Vec<_> = instance.kernel_times().iter().map(|time| time.runs).collect();
    assert_eq!(runs[..8], [0, 0, 0, 0, 3, 15, 12, 3]);
    assert!(instance.kernel_times()[5].nanoseconds > 0);
    instance.clear_kernel_times();
    assert_eq!(instance.kernel_times()[5].runs, 0);
}
