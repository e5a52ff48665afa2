//! Places of buffers, and the views of their bytes.
//!
//! A pointer parameter is a storage buffer of descriptor set 0, with the binding number of its range. The shader sees it as an array of words, of
//! four words, or of halves or bytes if the device supports these. A read-only buffer may have several views. A written buffer has one view, so that
//! no two views write the same memory. It is the widest view in which all accesses of the kernel are whole elements.
//!
//! A local array is an array of registers of the function; a shared array is one of the workgroup. If elements of 8 or 16 bits are only accessed as
//! whole words, the shared array consists of words.

use modelc_kernel::{Lane, Value};
use rspirv::spirv::{StorageClass, Word};

/// The element type in which the shader sees a storage buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Four words.
    Quads,
    /// Words; several elements of 8 or 16 bits share one.
    Words,
    /// Elements of 8 or 16 bits.
    Narrow,
}

/// The place of a buffer.
#[derive(Clone, Debug)]
pub enum Place {
    /// Memory of the device.
    Bound {
        /// Number of its binding.
        binding: u32,
        /// `true` if another buffer overlaps it, and one of the two is written.
        shares: bool,
        /// Variables of the views that are used.
        views: Vec<(View, Word)>,
        /// The only view of a buffer that is written; `None` for a read-only one.
        only: Option<View>,
        /// `true` if parts of words are written; several positions may then share a word.
        shares_words: bool,
    },
    /// An array of registers, of the function or of the workgroup.
    Array(StorageClass, Word),
    /// An array of the workgroup whose words hold several elements each.
    Words(Word),
}

/// Index of an access, and the constant that is added to it.
pub type At = (Value, i64);

/// Returns the number of elements in a word.
pub fn elements_of_word(lane: Lane) -> u64 {
    u64::from(4 / lane.bytes().clamp(1, 4))
}
