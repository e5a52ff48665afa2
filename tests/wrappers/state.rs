//! Restores an earlier state of a model that counts, also with separate scratch memory.

mod net;

use net::{Arena, Model, Scratch, Shared, State, forward};

fn main() {
    let mut arena = Arena::new();
    let mut model = Model::new(&mut arena).expect("any x86-64");
    let mut next = || {
        let mut out0 = [0.0; 4];
        model.forward(&forward::Inputs { in0: &[1.0, 2.0, 3.0, 4.0] }, &mut forward::Outputs { out0: &mut out0 }).expect("a call");
        (out0, model.snapshot())
    };
    let ((first, after_first), (second, _)) = (next(), next());
    assert_ne!(first, second);
    let call = |model: &mut Model<'_>| {
        let mut out0 = [0.0; 4];
        model.forward(&forward::Inputs { in0: &[1.0, 2.0, 3.0, 4.0] }, &mut forward::Outputs { out0: &mut out0 }).expect("a call");
        out0
    };
    model.restore(&after_first);
    assert_eq!(call(&mut model), second);
    model.reset().expect("an initialised model");
    assert_eq!(call(&mut model), first);

    let (mut state, mut scratch) = (State::new(), Scratch::new());
    let mut shared = Shared::new(&mut state).expect("any x86-64");
    shared.restore(&after_first);
    let mut out0 = [0.0; 4];
    let mut outputs = forward::Outputs { out0: &mut out0 };
    shared.forward(&mut scratch, &forward::Inputs { in0: &[1.0, 2.0, 3.0, 4.0] }, &mut outputs).expect("a call");
    assert_eq!(out0, second);
    // An instance may go to another thread.
    let mut other = Arena::new();
    let mut moved = Model::new(&mut other).expect("any x86-64");
    let answer = std::thread::scope(|scope| scope.spawn(move || call(&mut moved)).join());
    assert_eq!(answer.expect("no panic"), first);
    println!("right");
}
