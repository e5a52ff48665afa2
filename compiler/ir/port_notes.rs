//! What is known of inputs and outputs beside what is computed.

/// What is known of an input or output that no computation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortNotes {
    /// A name that C and other languages can have for it.
    pub alias: Option<String>,
    /// How the numbers that people have become those of training.
    pub normalization: Option<Normalization>,
}

/// Numbers of training: `(x - mean) / std`, before they are quantized.
///
/// ```
/// # fn main() -> Result<(), modelc::Error> {
/// let model = modelc::Model::open("tests/models/softmax_untrained_i8.tflite")?;
/// assert!(model.methods()?[0].inputs[0].normalization.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Normalization {
    /// One number for all, or one a channel.
    pub mean: Vec<f32>,
    /// As many numbers, none of them 0.
    pub std: Vec<f32>,
}
