//! Memory of chips and boards.
//!
//! Banks are listed where a chip has several that differ in address or speed. Banks that follow each other, with one speed, are one. Names are those
//! of the makers, and of their linker scripts.

use std::fmt;

/// Flash and RAM of a chip, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Flash on the chip or the board; 0 if programs run from other memory.
    pub flash: u64,
    /// RAM of all banks on the chip together.
    pub ram: u64,
    /// Banks of RAM, in an order for `--memory`; empty if there is one, or if they are not known.
    pub banks: &'static [Bank],
}

impl Memory {
    /// Returns the banks as `--memory` takes them. `None` if there are none.
    pub fn areas(&self) -> Option<String> {
        let banks: Vec<String> = self.banks.iter().map(Bank::to_string).collect();
        (!banks.is_empty()).then(|| banks.join(","))
    }
}

/// A bank of RAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bank {
    /// Name of its area.
    pub name: &'static str,
    /// Size in KiB.
    pub kib: u64,
    /// `fast`, `slow`, or empty. Slow banks are beside the chip.
    pub rank: &'static str,
}

impl fmt::Display for Bank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, unit) = if self.kib.is_multiple_of(1024) { (self.kib >> 10, 'M') } else { (self.kib, 'K') };
        let colon = if self.rank.is_empty() { "" } else { ":" };
        write!(f, "{}={size}{unit}{colon}{}", self.name, self.rank)
    }
}

/// Makes a bank.
const fn plain(name: &'static str, kib: u64) -> Bank {
    Bank { name, kib, rank: "" }
}

/// Makes a bank next to the core.
const fn fast(name: &'static str, kib: u64) -> Bank {
    Bank { name, kib, rank: "fast" }
}

/// Makes a bank behind a narrow bus, beside the chip.
const fn slow(name: &'static str, kib: u64) -> Bank {
    Bank { name, kib, rank: "slow" }
}

pub(super) const RP2040: &[Bank] = &[plain("sram", 256), plain("scratch", 8)];
pub(super) const RP2350: &[Bank] = &[plain("sram", 512), plain("scratch", 8)];
/// The external RAM in the package has 16 or 32 MiB.
pub(super) const ESP32P4: &[Bank] = &[plain("l2mem", 768), fast("tcm", 8), slow("psram", 16 << 10)];
pub(super) const STM32F303: &[Bank] = &[plain("sram", 64), plain("ccm", 16)];
pub(super) const STM32F407: &[Bank] = &[plain("sram", 128), plain("ccm", 64)];
pub(super) const STM32F429: &[Bank] = &[plain("sram", 192), plain("ccm", 64)];
pub(super) const STM32F469: &[Bank] = &[plain("sram", 320), plain("ccm", 64)];
pub(super) const STM32F746: &[Bank] = &[fast("dtcm", 64), fast("itcm", 16), plain("sram", 256)];
pub(super) const STM32F767: &[Bank] = &[fast("dtcm", 128), fast("itcm", 16), plain("sram", 384)];
pub(super) const STM32H743: &[Bank] =
    &[fast("dtcm", 128), fast("itcm", 64), plain("ram_d1", 512), plain("ram_d2", 288), plain("ram_d3", 64)];
pub(super) const STM32H7A3: &[Bank] =
    &[fast("dtcm", 128), fast("itcm", 64), plain("axi_sram", 1024), plain("ahb_sram", 128), plain("srd_sram", 32)];
pub(super) const STM32U575: &[Bank] = &[plain("sram", 768), plain("sram4", 16)];
pub(super) const LPC1768: &[Bank] = &[plain("sram", 32), plain("ahb_sram", 32)];
pub(super) const LPC55S69: &[Bank] = &[plain("sram", 272), plain("sramx", 32)];
/// The program divides FlexRAM into ITCM, DTCM and OCRAM.
pub(super) const IMXRT1062: &[Bank] = &[fast("flexram", 512), plain("ocram", 512)];
pub(super) const RA8: &[Bank] = &[fast("dtcm", 64), fast("itcm", 64), plain("sram", 896)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_are_written_as_areas() {
        let memory = Memory { flash: 0, ram: 0, banks: ESP32P4 };
        assert_eq!(memory.areas().as_deref(), Some("l2mem=768K,tcm=8K:fast,psram=16M:slow"));
        assert_eq!(Memory { banks: &[], ..memory }.areas(), None);
    }
}
