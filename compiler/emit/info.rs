//! `net_info`: what an object says about itself, for `modelc inspect`. No path and no time is in it.
//!
//! ```text
//! 0   u32 size of the record, u32 ABI number
//! 8   16 bytes "modelc net_info", by which it is found in a stripped executable
//! 24  32 bytes SHA-256 of the model file
//! 56  u32 ABI hash, u32 zero
//! 64  u64 state, scratch, stack, weights: bytes
//! 96  modelc's version, target, CPU levels with commas, the model's name, bytes of code that each level has for itself, with
//!     commas: strings with a zero behind each
//! ```

use crate::interface::ABI;
use serde::Serialize;

/// The bytes it is found by.
const MAGIC: &[u8; 16] = b"modelc net_info\0";
const MAGIC_AT: usize = 8;
const STRINGS_AT: usize = 96;
/// Larger records are something else that happens to hold the magic.
const LARGEST: usize = 4096;

/// The record's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelRecord {
    /// ABI number.
    pub abi: u32,
    /// SHA-256 of the model file.
    #[serde(serialize_with = "hexadecimal")]
    pub model_sha256: [u8; 32],
    /// The hash in versioned symbols.
    pub abi_hash: u32,
    /// `NET_STATE_BYTES`.
    pub state_bytes: u64,
    /// `NET_SCRATCH_BYTES`.
    pub scratch_bytes: u64,
    /// `NET_STACK_BYTES`.
    pub stack_bytes: u64,
    /// Bytes of the embedded weights.
    pub weights_bytes: u64,
    /// The version of modelc that wrote the object.
    pub version: String,
    /// The target's name.
    pub target: String,
    /// CPU levels, with commas between.
    pub levels: String,
    /// The prefix of its symbols.
    pub name: String,
    /// Bytes of code of each level, without what all levels share.
    pub level_code_bytes: Vec<u64>,
}

fn hexadecimal<S: serde::Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(bytes))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ModelRecord {
    /// The record in memory; all targets are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MAGIC_AT];
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.model_sha256);
        bytes.extend_from_slice(&self.abi_hash.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for number in [self.state_bytes, self.scratch_bytes, self.stack_bytes, self.weights_bytes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let code = self.level_code_bytes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        for text in [&self.version, &self.target, &self.levels, &self.name, &code] {
            bytes.extend(text.bytes().filter(|&b| b != 0));
            bytes.push(0);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let size = bytes.len() as u32;
        bytes[..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..8].copy_from_slice(&ABI.to_le_bytes());
        bytes
    }

    /// All records in a file's bytes, in their order.
    pub fn find_all(file: &[u8]) -> Vec<Self> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(at) = file[from..].windows(MAGIC.len()).position(|window| window == MAGIC) {
            let magic = from + at;
            from = magic + MAGIC.len();
            found.extend(magic.checked_sub(MAGIC_AT).and_then(|start| Self::parse(&file[start..])));
        }
        found
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let size = word(0)? as usize;
        if size > LARGEST {
            return None;
        }
        let mut strings = bytes.get(STRINGS_AT..size)?.split(|&b| b == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        Some(Self {
            abi: word(4)?,
            model_sha256: bytes.get(24..56)?.try_into().ok()?,
            abi_hash: word(56)?,
            state_bytes: long(64)?,
            scratch_bytes: long(72)?,
            stack_bytes: long(80)?,
            weights_bytes: long(88)?,
            version: strings.next()?,
            target: strings.next()?,
            levels: strings.next()?,
            name: strings.next()?,
            level_code_bytes: strings.next()?.split(',').filter_map(|number| number.parse().ok()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_again_and_a_cut_one_is_not() {
        let record = ModelRecord {
            abi: ABI,
            model_sha256: std::array::from_fn(|i| i as u8),
            abi_hash: 0x3fa9_c1d2,
            state_bytes: 64,
            scratch_bytes: 1 << 33,
            stack_bytes: 3,
            weights_bytes: 4,
            version: "0.1.0".into(),
            target: "aarch64-unknown-none-elf".into(),
            levels: "aarch64,aarch64+dotprod".into(),
            name: "net".into(),
            level_code_bytes: vec![1234, 567],
        };
        let bytes = record.to_bytes();
        let file = [b"modelc net_info\0".as_slice(), &[7; 5], &bytes, &bytes[..90]].concat();
        assert_eq!(ModelRecord::find_all(&file), [record]);
        for cut in 0..bytes.len() {
            assert_eq!(ModelRecord::find_all(&bytes[..cut]), [], "{cut}");
        }
    }
}
