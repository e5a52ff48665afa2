//! Memory that a compiled model needs. Every output with sizes uses it.

use serde_json::{Value, json};

/// Bytes that a compiled model needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// `NET_STATE_BYTES`: the record and the variables.
    pub state_bytes: u64,
    /// `NET_SCRATCH_BYTES`: the largest scratch memory of any method.
    pub scratch_bytes: u64,
    /// `NET_AREAn_BYTES`: memory areas that the application gives beside the arena.
    pub area_bytes: Vec<u64>,
    /// Names of all areas, with the arena's first; empty unless the application has named them.
    pub area_names: Vec<String>,
    /// `NET_STACK_BYTES`: the most stack of any call, callbacks excluded.
    pub stack_bytes: u64,
    /// Bytes of constants, in the object or in a separate file.
    pub weights_bytes: u64,
    /// Code of all CPU levels, and shared code.
    pub code_bytes: u64,
    /// Code of each CPU level alone, the lowest level first.
    pub level_code_bytes: Vec<u64>,
    /// Read-only bytes other than constants and code: tables of the GPU part, rows of calls.
    pub table_bytes: u64,
}

impl Footprint {
    /// Returns `NET_ARENA_BYTES`: state, then scratch.
    pub fn arena_bytes(&self) -> u64 {
        self.state_bytes + self.scratch_bytes
    }

    /// Returns the bytes of an area with a name. `None` if there is no such area.
    pub fn bytes_of_area(&self, name: &str) -> Option<u64> {
        match self.area_names.iter().position(|known| known == name)? {
            0 => Some(self.arena_bytes()),
            number => self.area_bytes.get(number - 1).copied(),
        }
    }

    /// Returns `NET_FLASH_BYTES`: code, constants and tables, which are read-only.
    pub fn flash_bytes(&self) -> u64 {
        self.code_bytes + self.weights_bytes + self.table_bytes
    }

    /// Returns the code that belongs to no level.
    pub fn shared_code_bytes(&self) -> u64 {
        self.code_bytes.saturating_sub(self.level_code_bytes.iter().sum())
    }

    /// Returns the sizes as JSON fields.
    pub fn to_json(&self) -> Value {
        let mut sizes = json!({
            "state_bytes": self.state_bytes,
            "scratch_bytes": self.scratch_bytes,
            "arena_bytes": self.arena_bytes(),
            "stack_bytes": self.stack_bytes,
            "weights_bytes": self.weights_bytes,
            "code_bytes": self.code_bytes,
            "flash_bytes": self.flash_bytes(),
        });
        if !self.area_bytes.is_empty() {
            sizes["area_bytes"] = json!(self.area_bytes);
        }
        if !self.area_names.is_empty() {
            sizes["area_names"] = json!(self.area_names);
        }
        if self.table_bytes > 0 {
            sizes["table_bytes"] = self.table_bytes.into();
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_of_their_parts() {
        let footprint = Footprint {
            state_bytes: 64,
            scratch_bytes: 192,
            area_bytes: vec![],
            area_names: vec![],
            stack_bytes: 80,
            weights_bytes: 1000,
            code_bytes: 500,
            level_code_bytes: vec![200, 250],
            table_bytes: 0,
        };
        assert_eq!((footprint.arena_bytes(), footprint.flash_bytes(), footprint.shared_code_bytes()), (256, 1500, 50));
        let json = footprint.to_json();
        assert_eq!((json["arena_bytes"].as_u64(), json["flash_bytes"].as_u64()), (Some(256), Some(1500)));
        let with_tables = Footprint { table_bytes: 70, ..footprint };
        assert_eq!((with_tables.flash_bytes(), with_tables.to_json()["table_bytes"].as_u64()), (1570, Some(70)));
    }
}
