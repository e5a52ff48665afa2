//! What a Linux kernel finds in memory when it starts: its parameters, by the kernel's `Documentation/arch/x86/boot.rst` and
//! `zero-page.rst`, the kernel itself and a file system; and the disk that holds all three.

use crate::Outcome;

/// Where each part lies in the emulated computer's memory. `boot.S` has the first and the second too.
pub const PARAMETERS: u32 = 0x10_0000;
/// The kernel's part that runs in protected mode.
pub const KERNEL: u32 = 0x100_0000;
/// The first file system.
pub const FILE_SYSTEM: u32 = 0x1000_0000;

/// Bytes of a cylinder of the disk.
pub const CYLINDER: usize = 16 * 63 * 512;

/// The end of memory, where the firmware has its tables.
const FIRMWARE_TABLES: u64 = 0x10_0000;

const PAGE: usize = 0x1000;
const COMMAND_LINE: usize = PAGE;

/// Offsets of fields of the parameters.
mod field {
    pub const MEMORY_RANGES: usize = 0x1E8;
    pub const SETUP_SECTORS: usize = 0x1F1;
    pub const JUMP: usize = 0x201;
    pub const MAGIC: usize = 0x202;
    pub const LOADER: usize = 0x210;
    pub const FILE_SYSTEM_ADDRESS: usize = 0x218;
    pub const FILE_SYSTEM_BYTES: usize = 0x21C;
    pub const COMMAND_LINE: usize = 0x228;
    pub const RANGE_TABLE: usize = 0x2D0;
}

/// A kernel file: its header, and the part that runs in protected mode.
pub struct Kernel<'a> {
    header: &'a [u8],
    /// To be placed at [`KERNEL`].
    pub code: &'a [u8],
}

impl<'a> Kernel<'a> {
    /// Reads a file in the format that is called bzImage.
    ///
    /// # Errors
    /// When it is no such file.
    pub fn read(file: &'a [u8]) -> Result<Self, String> {
        let kernel = || {
            let header_end = field::MAGIC + usize::from(*file.get(field::JUMP)?);
            // No number of sectors means four.
            let sectors = match file[field::SETUP_SECTORS] {
                0 => 4,
                n => usize::from(n),
            };
            let is_kernel = file.get(field::MAGIC..field::MAGIC + 4)? == b"HdrS";
            let header = file.get(field::SETUP_SECTORS..header_end)?;
            let code = file.get((1 + sectors) * 512..)?;
            is_kernel.then_some(Self { header, code })
        };
        kernel().ok_or_else(|| "this is no Linux kernel for x86".to_owned())
    }

    /// The page of parameters and the command line, to be placed at [`PARAMETERS`].
    ///
    /// # Errors
    /// When the command line is longer than a page.
    pub fn parameters(&self, command_line: &str, file_system_bytes: u32, memory_bytes: u64) -> Result<Vec<u8>, String> {
        let mut image = vec![0; 2 * PAGE];
        image[field::SETUP_SECTORS..][..self.header.len()].copy_from_slice(self.header);
        // A loader without a number of its own.
        image[field::LOADER] = 0xFF;
        put(&mut image, field::FILE_SYSTEM_ADDRESS, &FILE_SYSTEM.to_le_bytes());
        put(&mut image, field::FILE_SYSTEM_BYTES, &file_system_bytes.to_le_bytes());
        put(&mut image, field::COMMAND_LINE, &(PARAMETERS + COMMAND_LINE as u32).to_le_bytes());
        let above = u64::from(PARAMETERS);
        let ranges = [(0, 0x9_F000), (above, memory_bytes.saturating_sub(above + FIRMWARE_TABLES))];
        image[field::MEMORY_RANGES] = ranges.len() as u8;
        for (i, (start, bytes)) in ranges.into_iter().enumerate() {
            const USABLE: u32 = 1;
            let at = field::RANGE_TABLE + 20 * i;
            put(&mut image, at, &u64::to_le_bytes(start));
            put(&mut image, at + 8, &u64::to_le_bytes(bytes));
            put(&mut image, at + 16, &USABLE.to_le_bytes());
        }
        if command_line.len() >= PAGE {
            return Err("the kernel's command line is longer than a page".into());
        }
        put(&mut image, COMMAND_LINE, command_line.as_bytes());
        Ok(image)
    }
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A disk: the first sector, which reads the others, and what is to be read, each with its address in memory.
pub fn disk(first_sector: &[u8], parts: &[(u32, &[u8])]) -> Vec<u8> {
    const SECTOR: usize = 512;
    /// What `boot.S` reads by one command, and where it has its table.
    const RUN: usize = 128 * SECTOR;
    const TABLE: usize = 478;
    let mut disk = first_sector.to_vec();
    disk.resize(SECTOR, 0);
    for (i, (address, bytes)) in parts.iter().enumerate() {
        put(&mut disk, TABLE + 8 * i, &address.to_le_bytes());
        put(&mut disk, TABLE + 8 * i + 4, &(bytes.len().div_ceil(RUN) as u32).to_le_bytes());
        disk.extend_from_slice(bytes);
        disk.resize(SECTOR + (disk.len() - SECTOR).next_multiple_of(RUN), 0);
    }
    disk.resize(disk.len().next_multiple_of(CYLINDER), 0);
    disk
}

/// An archive in cpio's `newc` format, from which the kernel makes its first file system.
#[derive(Default)]
pub struct FileSystem {
    archive: Vec<u8>,
    folders: std::collections::BTreeSet<String>,
    entries: u32,
}

impl FileSystem {
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_755;

    /// Adds a file under an absolute path, and the folders above it.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        for (end, _) in path.match_indices('/').skip(1) {
            self.folder(&path[..end]);
        }
        self.entry(path, Self::FILE, contents);
    }

    /// Adds an empty folder under an absolute path, if it is not there yet.
    pub fn folder(&mut self, path: &str) {
        if self.folders.insert(path.to_owned()) {
            self.entry(path, Self::FOLDER, &[]);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, contents: &[u8]) {
        let name = path.trim_start_matches('/');
        self.entries += 1;
        let links = 1;
        let fields = [self.entries, mode, 0, 0, links, 0, contents.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0]
            .map(|field| format!("{field:08X}"));
        self.archive.extend_from_slice(b"070701");
        self.archive.extend_from_slice(fields.concat().as_bytes());
        self.archive.extend_from_slice(name.as_bytes());
        self.archive.push(0);
        self.pad();
        self.archive.extend_from_slice(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.archive.resize(self.archive.len().next_multiple_of(4), 0);
    }

    /// The archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.archive
    }

    /// Adds a file, or every file of a folder, of this computer under its own path.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn copy(&mut self, path: &std::path::Path) -> Outcome {
        let error = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
        if !path.is_dir() {
            let contents = std::fs::read(path).map_err(error)?;
            self.file(&path.to_string_lossy(), &contents);
            return Ok(());
        }
        let mut entries: Vec<_> = std::fs::read_dir(path).map_err(error)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
        entries.sort();
        entries.iter().try_for_each(|entry| self.copy(entry))
    }
}
