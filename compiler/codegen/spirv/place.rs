//! Where buffers are, and how their bytes are seen.
//!
//! A pointer parameter is a storage buffer of descriptor set 0, bound to the number of the range that it sees. The shader sees it as an array of
//! words, of four words, or, where the device has that, of halves or bytes. One that is only read may be seen in several ways. Any other is
//! seen in one, so that no two ways write the same memory: the widest in which all accesses of the kernel are whole elements.
//!
//! A local array is an array of registers of the function, and one that positions share is one of the workgroup. Where elements of 8 or 16 bits
//! are only accessed as whole words, the latter is an array of these.

use crate::kernel::{Lane, Value};
use rspirv::spirv::{StorageClass, Word};

/// As what elements a storage buffer is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Four words.
    Quads,
    /// Words; for elements of fewer bytes these hold several.
    Words,
    /// Elements of 8 or 16 bits.
    Narrow,
}

/// Where a buffer is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In memory of the device.
    Bound {
        /// Its binding.
        binding: u32,
        /// Whether another buffer has bytes of it, and one of the two is written.
        shares: bool,
        /// The variables of the views that are used.
        views: Vec<(View, Word)>,
        /// The only view, where something is written.
        only: Option<View>,
        /// Whether parts of words are written, two of which several positions may share.
        shares_words: bool,
    },
    /// An array of the function, or of the workgroup.
    Array(StorageClass, Word),
    /// An array of the workgroup whose words hold several elements each.
    Words(Word),
}

/// The index of an access and the number that is added to it.
pub type At = (Value, i64);

/// Elements that a word holds.
pub fn elements_of_word(lane: Lane) -> u64 {
    u64::from(4 / lane.bytes().clamp(1, 4))
}
