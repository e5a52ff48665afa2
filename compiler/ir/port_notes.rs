//! Notes on inputs and outputs that do not affect any computation.

/// Notes on an input or output that no computation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortNotes {
    /// A name for it that is valid in C and other languages.
    pub alias: Option<String>,
    /// The normalization that an application applies to its own numbers.
    pub normalization: Option<Normalization>,
}

/// The normalization of numbers as in training, before they are quantized: `(x - mean) / std`.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalization {
    /// A single number, or one for each channel.
    pub mean: Vec<f32>,
    /// The divisors, as many as in `mean`, and none of them 0.
    pub std: Vec<f32>,
}
