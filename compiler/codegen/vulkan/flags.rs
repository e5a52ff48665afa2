//! Pipeline stages and memory accesses in barriers.

/// `VkPipelineStageFlagBits`
pub mod stage {
    /// Reads of workgroup counts from memory.
    pub const COUNTS: u64 = 0x2;
    /// Dispatches.
    pub const COMPUTE: u64 = 0x800;
    /// Copies and fills.
    pub const TRANSFER: u64 = 0x1000;
    /// The host.
    pub const HOST: u64 = 0x4000;
}

/// `VkAccessFlagBits`
pub mod access {
    /// Reads of workgroup counts.
    pub const COUNTS_READ: u64 = 0x1;
    /// Reads of kernels.
    pub const SHADER_READ: u64 = 0x20;
    /// Writes of kernels.
    pub const SHADER_WRITE: u64 = 0x40;
    /// Reads of copies.
    pub const TRANSFER_READ: u64 = 0x800;
    /// Writes of copies.
    pub const TRANSFER_WRITE: u64 = 0x1000;
    /// Reads of the host.
    pub const HOST_READ: u64 = 0x2000;
}
