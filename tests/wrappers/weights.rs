//! Passes weights to a model, first those of another model.

mod net;

use net::{Arena, Error, Model, forward};

/// Copies bytes to an address that is a multiple of 64.
fn aligned(bytes: &[u8]) -> &'static [u8] {
    let memory = vec![0; bytes.len() + 63].leak();
    let start = memory.as_ptr().align_offset(64);
    memory[start..start + bytes.len()].copy_from_slice(bytes);
    &memory[start..start + bytes.len()]
}

fn main() {
    let path = std::env::args().nth(1).expect("the path of the weights");
    let weights = aligned(&std::fs::read(path).expect("a file of weights"));
    let mut arena = Arena::new();
    assert_eq!(Model::new(&mut arena, aligned(&[0; 256])).err(), Some(Error::Weights));
    let mut model = Model::new(&mut arena, weights).expect("its own weights");
    let mut out0 = [0; forward::OUT0_ELEMENTS];
    model.forward(&forward::Inputs { in0: &[forward::in0_quantize(0.25); 64] }, &mut forward::Outputs { out0: &mut out0 }).expect("a call");
    assert_eq!(out0, [-113, -87, -95, -110, -107, -97, -87, -102, -114, -113]);
    println!("right");
}
