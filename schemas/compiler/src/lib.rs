//! Turns FlatBuffers schemas into Rust readers.
