//! What is written for a user: the object, its header, the dependency file, the report.

pub mod archive;
pub mod depfile;
pub mod files;
pub mod header;
pub mod html;
pub mod info;
pub mod object;
mod quantization;
pub mod report;

pub use archive::archive;
pub use files::{Output, write_all};
pub use info::ModelRecord;
pub use object::{ModelInfo, ObjectFiles, ObjectOptions, RiscvAbi, object};
