//! Tests of encodings against another decoder, and of listings of hot loops. The results of instructions are tested together with Cranelift's, by the
//! same cases.

mod encodings;
mod loops;
