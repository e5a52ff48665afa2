//! Input rows in scratch memory: staged, padded, converted, and in pairs where products want them so.

pub mod fours;
pub mod preparation;
pub mod row_pairs;
pub mod sections;
pub mod staged_rows;
pub mod staging;
pub mod windows;
