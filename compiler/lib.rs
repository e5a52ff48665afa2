//! modelc: an ahead-of-time compiler from TFLite and ExecuTorch models to native object files.

pub mod codegen;
pub mod diagnostic;
pub mod ir;
pub mod kernel;
pub mod machine;
pub mod passes;
pub mod program;
pub mod schema;
