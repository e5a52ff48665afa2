//! What barriers wait for.

/// `VkPipelineStageFlagBits`
pub mod stage {
    /// Counts of workgroups are taken from memory.
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
    /// Counts of workgroups are read.
    pub const COUNTS_READ: u64 = 0x1;
    /// Kernels read.
    pub const SHADER_READ: u64 = 0x20;
    /// Kernels write.
    pub const SHADER_WRITE: u64 = 0x40;
    /// Copies read.
    pub const TRANSFER_READ: u64 = 0x800;
    /// Copies write.
    pub const TRANSFER_WRITE: u64 = 0x1000;
    /// The host reads.
    pub const HOST_READ: u64 = 0x2000;
}
