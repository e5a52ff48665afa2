//! The operands of products: their forms, and the right one in panels.

pub mod form;
pub mod lacking;
pub mod moved;
pub mod paired_products;
pub mod panels;
pub mod right;
pub mod sums;
pub mod types;
pub mod weights;
