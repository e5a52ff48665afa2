//! The disk of the emulated computer.

/// Bytes of a cylinder.
pub const CYLINDER: usize = 16 * 63 * SECTOR;

const SECTOR: usize = 512;

/// Bytes that `boot.S` reads with one command, and the offset of its table.
const RUN: usize = 128 * SECTOR;
const TABLE: usize = 478;

/// Makes a disk: the first sector, which loads the other parts, and these parts, each with its address in memory.
pub fn disk(first_sector: &[u8], parts: &[(u32, &[u8])]) -> Vec<u8> {
    let mut disk = first_sector.to_vec();
    disk.resize(SECTOR, 0);
    for (i, (address, bytes)) in parts.iter().enumerate() {
        let entry = TABLE + 8 * i;
        disk[entry..entry + 4].copy_from_slice(&address.to_le_bytes());
        disk[entry + 4..entry + 8].copy_from_slice(&(bytes.len().div_ceil(RUN) as u32).to_le_bytes());
        disk.extend_from_slice(bytes);
        disk.resize(SECTOR + (disk.len() - SECTOR).next_multiple_of(RUN), 0);
    }
    disk.resize(disk.len().next_multiple_of(CYLINDER), 0);
    disk
}
