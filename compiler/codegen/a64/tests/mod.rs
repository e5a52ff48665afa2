//! Encodings against another's decoder, and listings of hot loops. What the instructions compute is tested beside Cranelift's, by the same
//! cases.

mod encodings;
mod loops;
