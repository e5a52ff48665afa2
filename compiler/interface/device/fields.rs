//! Fixed fields of the device record.

use crate::structs::Member::{Single, Singles, Word, Words};
use crate::structs::{Layout, Row, Struct};
use Field::*;

/// Bytes of the device's properties.
pub const PROPERTIES_BYTES: u64 = 5 * 4 + 256;
/// Number of function addresses.
pub const FUNCTIONS: usize = 57;
/// Distance from a buffer's field to its memory's.
pub const MEMORY: i32 = 8;

/// Fixed fields of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// 1 while the device runs its part.
    Runs,
    /// Number of the call that failed, plus one.
    Call,
    /// The result of that call, a `VkResult`.
    Result,
    /// 1 when instance and device are the runtime's own.
    Owns,
    /// The family of the queue.
    Family,
    /// Properties of the staging memory.
    StagingFlags,
    /// 1 when the device's functions are known.
    IsLoaded,
    /// The first fields of `VkPhysicalDeviceProperties`: five 32-bit numbers, and a name of 256 bytes.
    Properties,
    /// `VkInstance`
    Instance,
    /// `VkPhysicalDevice`
    Physical,
    /// `VkDevice`
    Device,
    /// `VkQueue`
    Queue,
    /// `const VkAllocationCallbacks *` of the application.
    Allocator,
    /// The application's function that locks its queue.
    Lock,
    /// The application's function that unlocks its queue.
    Unlock,
    /// The argument of both functions.
    User,
    /// The buffer of the area.
    Area,
    /// Its memory.
    AreaMemory,
    /// The buffer of constants.
    Constants,
    /// Its memory.
    ConstantsMemory,
    /// The staging buffer.
    Staging,
    /// Its memory.
    StagingMemory,
    /// Host address of the staging memory.
    Mapped,
    /// The pool of descriptor sets.
    Sets,
    /// The pool of command buffers.
    Commands,
    /// The fence that every submission signals.
    Fence,
    /// The command buffer that copies constants.
    Upload,
    /// The shader of the pipeline that is being made.
    Shader,
    /// Address of this record when the device was opened. A copy of the state at another address has no device.
    Place,
    /// The pool of timestamps, if regions are measured.
    Queries,
    /// Nanoseconds of a tick of the timestamps, a float.
    Period,
    /// Addresses of the functions, by number.
    Functions,
}

/// The fixed fields in their order.
pub static FIELDS: Struct<Field> = Struct::record(&[
    Row::new(Single, &[Runs, Call, Result, Owns, Family, StagingFlags, IsLoaded]),
    Row::new(Singles(PROPERTIES_BYTES / 4), &[Properties]),
    Row::new(Word, &[Instance, Physical, Device, Queue, Allocator, Lock, Unlock, User]),
    Row::new(Word, &[Area, AreaMemory, Constants, ConstantsMemory, Staging, StagingMemory]),
    Row::new(Word, &[Mapped, Sets, Commands, Fence, Upload, Shader, Place, Queries]),
    Row::new(Single, &[Period]),
    Row::new(Words(FUNCTIONS as u64), &[Functions]),
]);

impl Field {
    /// Returns the offset of the field.
    pub fn offset(self) -> i32 {
        FIELDS.offset(self, Layout::WIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_follow_each_other_and_words_are_aligned() {
        let places: Vec<u64> = FIELDS.members(Layout::WIDE).map(|place| place.2).collect();
        assert_eq!(places[..9], [0, 4, 8, 12, 16, 20, 24, 28, 304]);
        assert_eq!(places[8..30], (304..480).step_by(8).collect::<Vec<u64>>());
        assert_eq!(places[30..], [480, 488]);
        assert_eq!(FIELDS.bytes(Layout::WIDE), 488 + 8 * FUNCTIONS as u64);
        for (buffer, memory) in [(Area, AreaMemory), (Constants, ConstantsMemory), (Staging, StagingMemory)] {
            assert_eq!(buffer.offset() + MEMORY, memory.offset());
        }
    }
}
