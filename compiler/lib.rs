//! modelc: an ahead-of-time compiler from TFLite and ExecuTorch models to native object files.

pub mod cli;
pub mod codegen;
pub mod compare;
pub mod diagnostic;
pub mod emit;
pub mod frontend;
pub mod fuse;
pub mod interface;
pub mod ir;
pub mod jit;
pub mod kernel;
pub mod lower;
pub mod machine;
pub mod npz;
pub mod passes;
pub mod pipeline;
pub mod plan;
pub mod program;
pub mod schedule;
pub mod schema;
pub mod target;
