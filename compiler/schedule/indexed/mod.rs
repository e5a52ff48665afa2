//! Elements whose places are computed: gathers, scatters, and the indices that programs compute with.

pub mod gather;
pub mod index;
pub mod scatter;
pub mod slices;
