//! Readers and writers of the model formats, made by `build.rs` from `schemas/*.fbs`.
//!
//! A file is verified once, as a whole, by its `root_as_…_with_opts`; after that no accessor can fail
//! or read outside the file. What is verified is structure: offsets, lengths, UTF-8. Alignment is not:
//! readers copy numbers from where they lie, and files exist whose numbers lie anywhere. That
//! an index points at something, that a shape is sane, that an enum has a value we know, is for the
//! front ends to check.

use flatbuffers::VerifierOptions;

pub use generated::{bundled_program, flat_tensor, metadata, program, scalar_type, tflite, vulkan, xnnpack};

#[allow(
    dead_code,
    missing_docs,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "generated: names are the schema's, and each unsafe block reads a slot that the verifier \
              has checked against the same schema"
)]
mod generated {
    /// TensorFlow Lite models.
    pub mod tflite {
        include!(concat!(env!("OUT_DIR"), "/tflite.rs"));
    }
    /// Metadata of TensorFlow Lite models: names and labels of tensors.
    pub mod metadata {
        include!(concat!(env!("OUT_DIR"), "/metadata.rs"));
    }
    /// ExecuTorch's element types.
    pub mod scalar_type {
        include!(concat!(env!("OUT_DIR"), "/scalar_type.rs"));
    }
    /// ExecuTorch programs.
    pub mod program {
        include!(concat!(env!("OUT_DIR"), "/program.rs"));
    }
    /// Named tensors beside ExecuTorch programs.
    pub mod flat_tensor {
        include!(concat!(env!("OUT_DIR"), "/flat_tensor.rs"));
    }
    /// XNNPACK graphs in ExecuTorch programs.
    pub mod xnnpack {
        include!(concat!(env!("OUT_DIR"), "/xnnpack.rs"));
    }
    /// Vulkan graphs in ExecuTorch programs.
    pub mod vulkan {
        include!(concat!(env!("OUT_DIR"), "/vulkan.rs"));
    }
    /// ExecuTorch programs with test cases.
    pub mod bundled_program {
        include!(concat!(env!("OUT_DIR"), "/bundled_program.rs"));
    }
}

/// How a file of `length` bytes is verified.
///
/// The limit only exists against files that refer to the same bytes again and again: an honest file that shares
/// strings or vectors still names each byte a few times at most.
pub fn verifier_options(length: usize) -> VerifierOptions {
    VerifierOptions { max_apparent_size: length.saturating_mul(16).saturating_add(1 << 20), ..VerifierOptions::default() }
}

/// The part of `file` that a FlatBuffer can be in: offsets within it are 32-bit and signed. Data that
/// a model keeps outside the FlatBuffer may lie beyond.
pub fn flatbuffer_part(file: &[u8]) -> &[u8] {
    &file[..file.len().min(i32::MAX as usize)]
}

/// Where a part of a buffer lies in it; an empty part, whose address means nothing, at its start.
pub fn range_in(buffer: &[u8], part: &[u8]) -> std::ops::Range<usize> {
    let start = if part.is_empty() { 0 } else { part.as_ptr() as usize - buffer.as_ptr() as usize };
    start..start + part.len()
}
