//! Structs that object and caller share, and records of the state. Each is one table: offsets, size and declarations follow from it.

mod config;
mod declaration;
mod gpu_info;
mod host;
mod layout;
mod port;
mod table;
mod tensor;
#[cfg(test)]
mod tests;

pub use config::{CONFIG, Config};
pub use gpu_info::{GPU_INFO, GpuInfo};
pub use host::{HOST, Host};
pub use layout::{Layout, Member, Places};
pub use port::{PORT, PortMember};
pub use table::{Row, Struct};
pub use tensor::{TENSOR, Tensor};
