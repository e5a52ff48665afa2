//! Reads twenty handwritten digits with the model that the build script compiled. Fails if one is read wrongly.

use digits::{Arena, Model, forward};
use std::process::ExitCode;

/// The model, as the build script wrote it.
#[allow(unsafe_code, reason = "calls of the object are inside, and nowhere else")]
mod digits {
    include!(concat!(env!("OUT_DIR"), "/digits.rs"));
}

/// The numbers of a C array: those between the braces after its name.
fn numbers(name: &str) -> Vec<u8> {
    let header = include_str!("../../digits/images.h");
    let start = header.find(&format!(" {name}[")).expect("the images are there");
    let array = &header[start..];
    let body = &array[array.find('{').expect("an array has braces")..array.find(';').expect("and an end")];
    body.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn main() -> Result<ExitCode, digits::Error> {
    let mut arena = Arena::new();
    let mut model = Model::new(&mut arena)?;
    let (labels, images) = (numbers("image_labels"), numbers("images"));
    let mut mistakes = 0;
    for (label, image) in labels.iter().zip(images.as_chunks::<64>().0) {
        let pixels = image.map(|pixel| forward::in0_quantize(f32::from(pixel) / 16.0));
        let mut answer = [0; forward::OUT0_ELEMENTS];
        model.forward(&forward::Inputs { in0: &pixels }, &mut forward::Outputs { out0: &mut answer })?;
        let digit = (0..answer.len()).rev().max_by_key(|&digit| answer[digit]).expect("there are ten");
        let right = digit == usize::from(*label);
        println!("a {label}, read as {digit}{}", if right { "" } else { ": WRONG" });
        mistakes += usize::from(!right);
    }
    println!("{} of {} right; arena {} bytes", labels.len() - mistakes, labels.len(), digits::ARENA_BYTES);
    Ok(if mistakes == 0 && labels.len() == 20 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
