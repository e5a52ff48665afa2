//! What is written for a user: the object, its header, the dependency file, the report.

pub mod depfile;
pub mod header;
pub mod info;
pub mod object;
mod quantization;
pub mod report;

pub use info::ModelRecord;
pub use object::{ModelInfo, ObjectFiles, ObjectOptions, RiscvAbi, object};
