//! Two operations in one instruction. The first operation is noted with its result register; the instruction that uses the register then includes it.

use super::held::{Made, Vector};
use super::inst::Arg;
use super::lowering::Lowering;
use super::rows::{self, Row, Size};
use regalloc2::VReg;

/// Returns the size of lanes half as long.
fn half(size: Size) -> Size {
    Size::of(size.bits() / 16)
}

impl Lowering<'_> {
    /// Notes that a vector's registers hold another vector's lanes, extended to twice their size.
    pub fn note_widened(&mut self, narrow: &Vector, wide: &Vector, signed: bool) {
        let halves = wide.parts.len() / narrow.parts.len();
        for (number, &part) in wide.parts.iter().enumerate() {
            let (from, upper) = (narrow.parts[number / halves], number % halves == 1);
            let made = if signed { Made::Widened { from, upper } } else { Made::Extended { from, upper } };
            self.set.made.insert((part, wide.size()), made);
        }
    }

    /// Notes that an instruction has picked every second lane.
    pub fn note_every_second(&mut self, row: &'static Row, size: Size, result: VReg, of: [VReg; 2]) {
        if [&rows::UZP1, &rows::UZP2].contains(&row) {
            self.set.made.insert((result, size), Made::EverySecond { of, odd: *row == rows::UZP2 });
        }
    }

    fn made(&self, register: VReg, size: Size) -> Option<Made> {
        self.set.made.get(&(register, size)).copied()
    }

    /// Computes a product of integers. Two widened factors are multiplied in their narrow lanes.
    pub fn multiply_integers(&mut self, size: Size, x: VReg, y: VReg) -> VReg {
        match (self.made(x, size), self.made(y, size)) {
            (Some(Made::Widened { from: a, upper }), Some(Made::Widened { from: b, upper: other })) if upper == other => {
                let product = self.two(if upper { &rows::SMULL2 } else { &rows::SMULL }, half(size), a, b);
                self.set.made.insert((product, size), Made::Product { factors: [a, b], upper });
                product
            }
            _ => self.two(&rows::MUL, size, x, y),
        }
    }

    /// Computes a sum of integers. It includes an earlier product, a widening, or the addition of neighbouring lanes in one instruction.
    pub fn add_integers(&mut self, size: Size, x: VReg, y: VReg) -> VReg {
        match (self.made(x, size), self.made(y, size)) {
            (_, Some(Made::Product { factors, upper })) => self.add_product(size, x, factors, upper),
            (Some(Made::Product { factors, upper }), _) => self.add_product(size, y, factors, upper),
            (Some(Made::EverySecond { of, odd: false }), Some(Made::EverySecond { of: others, odd: true })) if of == others => {
                self.two(&rows::ADDP, size, of[0], of[1])
            }
            (_, Some(Made::Signs { of })) => self.add_signs(size, x, of),
            (Some(Made::Signs { of }), _) => self.add_signs(size, y, of),
            (_, Some(Made::Widened { from, upper })) => self.add_half(size, x, from, upper),
            (Some(Made::Widened { from, upper }), _) => self.add_half(size, y, from, upper),
            _ => self.two(&rows::ADD, size, x, y),
        }
    }

    /// Shifts lanes to the left by a constant. It includes an earlier extension whose lanes become the upper halves.
    pub fn shift_left(&mut self, size: Size, x: VReg, count: u32) -> VReg {
        match self.made(x, size) {
            Some(Made::Widened { from, upper } | Made::Extended { from, upper }) if 2 * count == size.bits() => {
                self.one(if upper { &rows::SHLL2 } else { &rows::SHLL }, half(size), from)
            }
            _ => self.one_with(&rows::SHL, size, x, count.into()),
        }
    }

    /// Shifts the sign of lanes to all their bits.
    pub fn signs(&mut self, size: Size, x: VReg) -> VReg {
        let signs = self.one_with(&rows::SSHR, size, x, i64::from(size.bits()) - 1);
        self.set.made.insert((signs, size), Made::Signs { of: x });
        signs
    }

    fn add_signs(&mut self, size: Size, sum: VReg, of: VReg) -> VReg {
        self.row(&rows::SSRA, size, &[Arg::Tied(sum), Arg::Use(of), Arg::Number(i64::from(size.bits()) - 1)])
    }

    fn add_product(&mut self, size: Size, sum: VReg, [a, b]: [VReg; 2], upper: bool) -> VReg {
        self.tied(if upper { &rows::SMLAL2 } else { &rows::SMLAL }, half(size), sum, a, b)
    }

    fn add_half(&mut self, size: Size, sum: VReg, from: VReg, upper: bool) -> VReg {
        self.two(if upper { &rows::SADDW2 } else { &rows::SADDW }, half(size), sum, from)
    }
}
