//! Compiles the model for the target of this package.

fn main() -> Result<(), modelc_build::Error> {
    modelc_build::Model::new("../digits/digits_int8.tflite").name("digits").compile()
}
