//! Memory of the chosen board, compared with what a model needs.

use crate::emit::{ObjectOptions, WeightsPlace};
use crate::interface::Footprint;
use crate::plan::thousands;
use crate::program::Program;
use crate::target::Board;
use std::fmt;

/// A memory of a board that is too small for a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess {
    /// The board's name.
    pub board: String,
    /// The board's core, as `--target` takes it.
    pub core: &'static str,
    /// `flash` or `RAM`.
    pub memory: &'static str,
    /// Bytes that the board has.
    pub most: u64,
    /// Bytes that the model needs.
    pub needed: u64,
    /// Parts of these bytes, with their sizes.
    pub parts: String,
}

impl Excess {
    /// Returns the bytes that the board lacks.
    pub fn missing(&self) -> u64 {
        self.needed - self.most
    }

    /// Returns the advice for boards with more memory than the table has.
    pub fn advice(&self) -> String {
        format!("if the board has more {}, name its core: --target {}", self.memory, self.core)
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [most, needed, missing] = [self.most, self.needed, self.missing()].map(thousands);
        let Self { board, memory, parts, .. } = self;
        write!(f, "{board} has {most} B of {memory}, and the model needs {needed} B, {missing} B more: {parts}; {}", self.advice())
    }
}

/// A compiled program, as far as its memory matters.
#[derive(Clone, Copy)]
pub(super) struct Needs<'a> {
    pub footprint: &'a Footprint,
    pub program: &'a Program,
    pub options: &'a ObjectOptions,
}

impl Needs<'_> {
    /// Returns the memories of a board that are too small.
    pub(super) fn excesses(self, board: &Board) -> Vec<Excess> {
        let excess = |memory, most, (needed, parts)| Excess { board: board.name.clone(), core: board.core, memory, most, needed, parts };
        // Boards without flash of a known size run programs from other memory.
        let of_flash = (board.memory.flash > 0).then(|| excess("flash", board.memory.flash, self.flash()));
        let of_ram = excess("RAM", board.memory.ram, self.ram());
        of_flash.into_iter().chain([of_ram]).filter(|excess| excess.needed > excess.most).collect()
    }

    /// Returns the bytes in flash, and their parts. Weights in another file, or in a section of their own, can lie elsewhere.
    fn flash(self) -> (u64, String) {
        let Footprint { code_bytes, table_bytes, weights_bytes, .. } = *self.footprint;
        let code = code_bytes + table_bytes;
        if self.options.weights == WeightsPlace::External || self.options.weights_section.is_some() {
            return (code, "code and tables, without weights".into());
        }
        (code + weights_bytes, format!("{} B of code and tables, {} B of constants", thousands(code), thousands(weights_bytes)))
    }

    /// Returns the bytes in RAM, and their parts. Slow areas of `--memory` are beside the chip.
    fn ram(self) -> (u64, String) {
        let footprint = self.footprint;
        let areas = self.program.methods.iter().find_map(|method| method.in_areas.as_ref());
        let slow = areas.into_iter().flat_map(|known| &known.areas).filter(|area| area.rank == "slow");
        let beside: u64 = slow.filter_map(|area| footprint.bytes_of_area(&area.name)).sum();
        let all = footprint.arena_bytes() + footprint.area_bytes.iter().sum::<u64>();
        let (areas, stack) = (all.saturating_sub(beside), footprint.stack_bytes);
        let name = if footprint.area_bytes.is_empty() { "arena" } else { "areas" };
        (areas + stack, format!("{} B of {name}, {} B of stack", thousands(areas), thousands(stack)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{AreaUse, InAreas, Method};
    use crate::target::target;

    /// Returns each memory of a board that is too small, with the bytes that it lacks.
    fn lacks(board: &str, needs: Needs<'_>) -> Vec<(&'static str, u64)> {
        let board = Board::of(board).expect("a board");
        needs.excesses(&board).iter().map(|excess| (excess.memory, excess.missing())).collect()
    }

    #[test]
    fn flash_and_ram_are_compared_with_the_board() {
        let target = target("stm32l053").unwrap();
        let options = ObjectOptions::new("net", target, target.default_machine());
        let footprint = Footprint {
            scratch_bytes: 8000,
            stack_bytes: 200,
            weights_bytes: 65_000,
            code_bytes: 600,
            table_bytes: 36,
            ..Footprint::default()
        };
        let program = Program::default();
        let needs = Needs { footprint: &footprint, program: &program, options: &options };
        assert_eq!(lacks("stm32l053", needs), [("flash", 100), ("RAM", 8)]);
        assert_eq!(lacks("nrf52832", needs), []);
        let text = needs.excesses(&Board::of("stm32l053").unwrap())[0].to_string();
        assert!(text.starts_with("stm32l053 has 65,536 B of flash, and the model needs 65,636 B, 100 B more: 636 B of code"), "{text}");
        assert!(text.ends_with("name its core: --target cortex-m0plus"), "{text}");
        for options in [
            ObjectOptions { weights: WeightsPlace::External, ..options.clone() },
            ObjectOptions { weights_section: Some(".qspi".into()), ..options.clone() },
        ] {
            assert_eq!(lacks("stm32l053", Needs { options: &options, ..needs }), [("RAM", 8)]);
        }
        // No flash of a known size.
        let large = Footprint { weights_bytes: 1 << 30, ..footprint.clone() };
        assert_eq!(lacks("imxrt1062", Needs { footprint: &large, ..needs }), []);
    }

    #[test]
    fn slow_areas_are_beside_the_chip() {
        let target = target("stm32l053").unwrap();
        let options = ObjectOptions::new("net", target, target.default_machine());
        let area_names = ["sram", "psram"].map(String::from).into();
        let footprint = Footprint { scratch_bytes: 8000, area_bytes: vec![1 << 20], area_names, ..Footprint::default() };
        let area = |name: &str, rank| AreaUse { name: name.into(), size: 1 << 20, rank, bytes: 0, weights: 0, moved: 0, peak: vec![] };
        let with = |rank| {
            let in_areas = InAreas { areas: vec![area("sram", ""), area("psram", rank)], cost: 0, lower_bound: 0, optimal: true };
            Program { methods: vec![Method { in_areas: Some(in_areas), ..Method::default() }], ..Program::default() }
        };
        let lacking = |rank| lacks("stm32l053", Needs { footprint: &footprint, program: &with(rank), options: &options });
        assert_eq!(lacking("slow"), []);
        assert_eq!(lacking("fast"), [("RAM", 8000 + (1 << 20) - 8192)]);
    }
}
