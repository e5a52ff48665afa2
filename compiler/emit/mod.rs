//! What is written for a user: the object, its header, the dependency file, the report, the file of weights.

pub mod archive;
mod constants;
pub mod depfile;
pub mod files;
mod format;
mod gpu;
pub mod header;
pub mod html;
pub mod image;
pub mod info;
mod kind;
pub mod object;
mod own;
pub mod pending;
mod quantization;
pub mod report;
mod riscv;
mod runtime;
mod test_program;
pub mod topology;
mod wrappers;
mod writer;

pub use archive::archive;
pub use files::{Output, check_places, write_all};
pub use image::Image;
pub use info::ModelRecord;
pub use kind::OutputKind;
pub use object::{ModelInfo, ObjectFiles, ObjectOptions, RiscvAbi, WeightsPlace, object, object_of_levels};
pub use own::CSV_BEGINNING;
pub use runtime::{runtime_header, runtime_object, runtime_options};
pub use test_program::{TestCall, Tested, check_test_size, test_program};
pub use topology::{TopologyRecord, weights_for};
pub use wrappers::Wrappers;
