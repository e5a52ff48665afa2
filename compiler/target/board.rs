//! The chip or board that a spelling of a target names.

use super::chips::chip_of;
use super::memory::Memory;

/// A chip or a board with known memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    /// Name as the user wrote it, without modifiers of the core.
    pub name: String,
    /// Core, as `--target` takes it.
    pub core: &'static str,
    /// Its memory.
    pub memory: Memory,
}

impl Board {
    /// Returns the chip or board of a spelling. `None` for a triple or a core, and for a family of chips whose memory differs.
    pub fn of(spelling: &str) -> Option<Self> {
        let plain = spelling.split('+').next().unwrap_or(spelling);
        let chip = chip_of(&plain.to_ascii_lowercase())?;
        Some(Self { name: plain.to_owned(), core: chip.target.levels[0], memory: chip.memory? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_have_their_memory() {
        let sizes = |spelling| Board::of(spelling).map(|board| (board.name, board.core, board.memory.flash, board.memory.ram));
        let found = |name: &str, core, flash: u64, ram: u64| Some((name.to_owned(), core, flash << 10, ram << 10));
        assert_eq!(sizes("stm32l053"), found("stm32l053", "cortex-m0plus", 64, 8));
        assert_eq!(sizes("STM32F746ZG+strict-align"), found("STM32F746ZG", "cortex-m7", 1024, 336));
        for spelling in ["cortex-m4f", "cortex-m0+", "stm32f4", "thumbv7em-none-eabihf", "x86_64-linux-gnu", ""] {
            assert_eq!(sizes(spelling), None, "{spelling}");
        }
    }
}
