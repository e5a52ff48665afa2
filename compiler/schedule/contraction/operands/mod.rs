//! The operands of products: their forms, and the right one in panels.

pub mod block_panels;
pub mod cuts;
pub mod filling;
pub mod form;
pub mod lacking;
pub mod moved;
pub mod packing;
pub mod paired_products;
pub mod panels;
pub mod right;
pub mod sparse;
pub mod storage;
pub mod strips;
pub mod sums;
pub mod types;
pub mod weights;
