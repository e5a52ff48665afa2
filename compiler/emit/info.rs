//! `net_info`: the record of an object, for `modelc inspect`. It contains no path and no time.
//!
//! ```text
//! 0   u32 size of the record, u32 ABI number
//! 8   16 bytes "modelc net_info", by which it is found in a stripped executable
//! 24  32 bytes SHA-256 of the model file
//! 56  u32 ABI hash, u32 zero
//! 64  u64 state, scratch, stack, weights: bytes
//! 96  modelc's version, target, CPU levels with commas, the model's name, bytes of code that each level has for itself, with
//!     commas, bytes of all code, and where there are any, bytes of tables, of areas with commas, and names of areas with
//!     commas, and the runtime whose results it gives, if that is not LiteRT: strings with a zero after each
//! ```

use crate::interface::{ABI, Footprint};
use serde_json::{Value, json};

/// The bytes that mark a record.
pub(super) const MAGIC: &[u8; 16] = b"modelc net_info\0";
const MAGIC_AT: usize = 8;
const STRINGS_AT: usize = 96;
/// Limit of a record's size. A larger one only happens to contain the mark.
const LARGEST: usize = 4096;

/// Contents of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRecord {
    /// ABI number.
    pub abi: u32,
    /// SHA-256 of the model file.
    pub model_sha256: [u8; 32],
    /// The hash in versioned symbols.
    pub abi_hash: u32,
    /// Memory that the model needs.
    pub footprint: Footprint,
    /// The version of modelc that wrote the object.
    pub version: String,
    /// The target's name.
    pub target: String,
    /// CPU levels, separated by commas.
    pub levels: String,
    /// Prefix of the symbols.
    pub name: String,
    /// The runtime whose results the model gives; `None` for LiteRT.
    pub reference: Option<String>,
}

/// Formats the hash in versioned symbols.
pub fn abi_hash(hash: u32) -> String {
    format!("{hash:08x}")
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl ModelRecord {
    /// Name of the runtime whose results models give by default.
    const LITERT: &'static str = "litert";

    /// Returns the bytes of the record; all targets are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; MAGIC_AT];
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&self.model_sha256);
        bytes.extend_from_slice(&self.abi_hash.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let footprint = &self.footprint;
        let Footprint { state_bytes, scratch_bytes, stack_bytes, weights_bytes, code_bytes, level_code_bytes, table_bytes, .. } = footprint;
        for number in [state_bytes, scratch_bytes, stack_bytes, weights_bytes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let of_levels = level_code_bytes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        for text in [&self.version, &self.target, &self.levels, &self.name, &of_levels, &code_bytes.to_string()] {
            bytes.extend(text.bytes().filter(|&b| b != 0));
            bytes.push(0);
        }
        let areas = footprint.area_bytes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let names = footprint.area_names.join(",");
        let reference = self.reference.clone().unwrap_or_default();
        let has_contents = [*table_bytes > 0, !areas.is_empty(), !names.is_empty(), !reference.is_empty()];
        let written = has_contents.iter().rposition(|&is_there| is_there).map_or(0, |last| last + 1);
        for text in [table_bytes.to_string(), areas, names, reference].into_iter().take(written) {
            bytes.extend(text.bytes().chain([0]));
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let size = bytes.len() as u32;
        bytes[..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..8].copy_from_slice(&ABI.to_le_bytes());
        bytes
    }

    /// Returns the record as JSON, with all sizes.
    pub fn to_json(&self) -> Value {
        let mut record = json!({
            "abi": self.abi,
            "model_sha256": hex(&self.model_sha256),
            "abi_hash": abi_hash(self.abi_hash),
            "version": self.version,
            "target": self.target,
            "levels": self.levels,
            "name": self.name,
            "level_code_bytes": self.footprint.level_code_bytes,
            "reference": self.reference.as_deref().unwrap_or(Self::LITERT),
        });
        if let (Value::Object(record), Value::Object(sizes)) = (&mut record, self.footprint.to_json()) {
            record.extend(sizes);
        }
        record
    }

    /// Returns all records in the bytes of a file, in order.
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
        let (version, target, levels, name) = (strings.next()?, strings.next()?, strings.next()?, strings.next()?);
        let level_code_bytes: Vec<u64> = strings.next()?.split(',').filter_map(|number| number.parse().ok()).collect();
        // Records of older objects end here.
        let code_bytes = strings.next().and_then(|number| number.parse().ok());
        let table_bytes = strings.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let area_bytes = strings.next().unwrap_or_default().split(',').map_while(|number| number.parse().ok()).collect();
        let names = strings.next().unwrap_or_default();
        let area_names = names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let reference = strings.next().filter(|name| !name.is_empty());
        Some(Self {
            abi: word(4)?,
            model_sha256: bytes.get(24..56)?.try_into().ok()?,
            abi_hash: word(56)?,
            footprint: Footprint {
                state_bytes: long(64)?,
                scratch_bytes: long(72)?,
                area_bytes,
                area_names,
                stack_bytes: long(80)?,
                weights_bytes: long(88)?,
                code_bytes: code_bytes.unwrap_or_else(|| level_code_bytes.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes))),
                level_code_bytes,
                table_bytes,
            },
            version,
            target,
            levels,
            name,
            reference,
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
            footprint: Footprint {
                state_bytes: 64,
                scratch_bytes: 1 << 33,
                area_bytes: vec![0, 4096],
                area_names: ["dtcm", "sram", "psram"].map(String::from).into(),
                stack_bytes: 3,
                weights_bytes: 4,
                code_bytes: 2000,
                level_code_bytes: vec![1234, 567],
                table_bytes: 90,
            },
            version: "0.1.0".into(),
            target: "aarch64-unknown-none-elf".into(),
            levels: "aarch64,aarch64+dotprod".into(),
            name: "net".into(),
            reference: None,
        };
        let bytes = record.to_bytes();
        let file = [b"modelc net_info\0".as_slice(), &[7; 5], &bytes, &bytes[..90]].concat();
        assert_eq!(ModelRecord::find_all(&file), std::slice::from_ref(&record));
        for cut in 0..bytes.len() {
            assert_eq!(ModelRecord::find_all(&bytes[..cut]), [], "{cut}");
        }
        let tflm = ModelRecord { reference: Some("tflm".into()), footprint: Footprint::default(), ..record.clone() };
        assert_eq!(ModelRecord::find_all(&tflm.to_bytes()), std::slice::from_ref(&tflm));
        assert_eq!([&record, &tflm].map(|record| record.to_json()["reference"].clone()), ["litert", "tflm"]);
        let json = record.to_json();
        assert_eq!((json["abi_hash"].as_str(), json["flash_bytes"].as_u64()), (Some("3fa9c1d2"), Some(2094)));
    }
}
