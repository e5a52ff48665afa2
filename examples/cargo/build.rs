//! Compiles the model for the target that this package is built for, as a static library, with its sizes as Rust constants.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

const MODEL: &str = "../digits/digits_int8.tflite";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={MODEL}");
    let out = env::var("OUT_DIR")?;
    let compiled = modelc::Model::open(MODEL)?.compile(&modelc::Settings::new().target(&env::var("TARGET")?).name("digits"))?;
    compiled.write(Path::new(&out).join("libdigits.a"))?;

    let methods = compiled.methods();
    let quantization = methods[0].inputs[0].quantization.as_ref().ok_or("the model's input is quantized")?;
    let sizes = format!(
        "pub const ARENA_BYTES: usize = {};\npub const SCALE: f32 = {:?};\npub const ZERO_POINT: i32 = {};\n",
        compiled.arena_bytes(),
        quantization.scales[0],
        quantization.zero_points[0],
    );
    fs::write(Path::new(&out).join("digits.rs"), sizes)?;

    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=static=digits");
    Ok(())
}
