//! Queries the side that runs a model: the processor, because the program has no Vulkan.

mod net;

use net::{Arena, Model, Shared, State};

fn main() {
    let mut arena = Arena::new();
    let mut model = Model::new(&mut arena).expect("any x86-64");
    let info = model.gpu().expect("an initialised model");
    assert!(info.runs == 1 || info.failed().is_some() || info.cpu_ns > 0, "a reason: {}", info.result);
    assert_eq!(info.device_name().is_empty(), info.vendor_id == 0 && info.device_id == 0);
    let mut state = State::new();
    let mut shared = Shared::new(&mut state).expect("any x86-64");
    assert_eq!(shared.gpu().expect("an initialised model").runs, info.runs);
    println!("right");
}
