//! Calls a model of two inputs, one of them with up to four rows.

mod net;

use net::{Arena, Error, Model, forward};

fn main() {
    let mut memory = [0; net::ARENA_BYTES + 63];
    let arena = Arena::within(&mut memory).expect("room for an arena");
    let mut model = Model::new(arena).expect("any x86-64");
    let in0: Vec<f32> = (0..12).map(|i| i as f32 * 0.5 - 2.0).collect();
    let in1 = [1.0, 2.0, -3.0];
    let mut all = [0.0; forward::OUT0_MAX_ELEMENTS];
    let mut one = [7.0; forward::OUT0_MAX_ELEMENTS];
    let mut outputs = forward::Outputs { out0: &mut all, out0_shape: [0; 2] };
    model.forward(&forward::Inputs { in0: &in0, in0_shape: [4, 3], in1: &in1 }, &mut outputs).expect("four rows");
    assert_eq!(outputs.out0_shape, [4, 3]);
    let mut outputs = forward::Outputs { out0: &mut one, out0_shape: [0; 2] };
    model.forward(&forward::Inputs { in0: &in0[..3], in0_shape: [1, 3], in1: &in1 }, &mut outputs).expect("one row");
    assert_eq!(outputs.out0_shape, [1, 3]);
    // A slice that is too short, a shape beyond the bound, and one that no memory has.
    for (in0, shape) in [(&in0[..5], [2, 3]), (&in0[..], [5, 3]), (&in0[..], [usize::MAX, 3])] {
        let inputs = forward::Inputs { in0, in0_shape: shape, in1: &in1 };
        assert_eq!(model.forward(&inputs, &mut outputs), Err(Error::Shape), "{shape:?}");
    }
    let mut short = [0.0; 11];
    let mut outputs = forward::Outputs { out0: &mut short, out0_shape: [0; 2] };
    let inputs = forward::Inputs { in0: &in0, in0_shape: [4, 3], in1: &in1 };
    assert_eq!(model.forward(&inputs, &mut outputs), Err(Error::Shape));
    assert_eq!((&all[..3], &one[3..]), (&one[..3], &[7.0; 9][..]));
    assert!(all[..3] != all[3..6] && Arena::within(&mut [0; net::ARENA_BYTES - 1]).is_none());
    assert_eq!((Error::Shape.status(), Error::Other(-99).to_string()), (-4, "unknown status -99".to_owned()));
    println!("right");
}
