//! modelc: an ahead-of-time compiler from TFLite and ExecuTorch models to native object files.

pub mod codegen;
pub mod diagnostic;
pub mod emit;
pub mod frontend;
pub mod interface;
pub mod ir;
pub mod jit;
pub mod kernel;
pub mod machine;
pub mod npz;
pub mod passes;
pub mod plan;
pub mod program;
pub mod schema;
pub mod target;
