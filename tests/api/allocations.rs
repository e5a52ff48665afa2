//! Calls on the caller's memory allocate nothing after the first one.

use super::model;
use modelc::{Array, ArrayView, Port, Settings};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Number of allocations of this thread.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with a counter.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it is; the counter is constant-initialised and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Counts the allocations of a model's second call, with zeros of some shapes.
fn allocations(name: &str, settings: &Settings, shapes: &[&[u64]]) -> usize {
    let mut session = model(name).load(settings).unwrap_or_else(|error| panic!("{error}"));
    let method = session.methods()[0].clone();
    let zeros = |(port, shape): (&Port, &&[u64])| {
        let bytes = port.element.bytes_for(shape.iter().product()).unwrap_or(0) as usize;
        Array::new(port.element, shape, vec![0; bytes]).unwrap_or_else(|error| panic!("{error}"))
    };
    let arrays: Vec<Array> = method.inputs.iter().zip(shapes).map(zeros).collect();
    let views: Vec<ArrayView<'_>> = arrays.iter().map(Array::view).collect();
    let mut memory: Vec<Vec<u8>> = method.outputs.iter().map(|port| vec![0; port.max_bytes() as usize]).collect();
    let mut outputs: Vec<&mut [u8]> = memory.iter_mut().map(Vec::as_mut_slice).collect();
    let mut counts = [0; 2];
    for count in &mut counts {
        let before = COUNT.get();
        session.call_into(0, &views, &mut outputs).unwrap_or_else(|error| panic!("{error}"));
        *count = COUNT.get() - before;
    }
    assert!(counts[0] > 0, "the first call makes the structs");
    counts[1]
}

#[test]
fn the_second_call_allocates_nothing() {
    let digits = "../../examples/digits/digits_int8.tflite";
    assert_eq!(allocations(digits, &Settings::new(), &[&[1, 8, 8, 1]]), 0);
    assert_eq!(allocations(digits, &Settings::new().threads(2), &[&[1, 8, 8, 1]]), 0);
    assert_eq!(allocations("composite.tflite", &Settings::new().bound(0, 0, 4), &[&[3, 3], &[3]]), 0);
    assert_eq!(allocations("svdf_f32_r2.tflite", &Settings::new(), &[&[2, 5]]), 0);
}
