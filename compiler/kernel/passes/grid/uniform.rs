//! Which positions are a workgroup: those that read the same places.
//!
//! The rounds of nested loops are digits of a position's number, and any of them may be the low ones. A product of matrices reads weights that all
//! rows share, and rows that all panels share. Where a workgroup has positions of one panel, its lanes read every weight at one place, which follows
//! from the number of the workgroup: it is uniform, and a device reads it once for all lanes. So the digits that move most of what is read are
//! the low ones, and each round of the others begins with a new workgroup. Lanes after the last low digit have nothing to do.

use super::accesses::Loops;
use super::counts;
use super::tree::{Item, Nest, Tree, needed};
use super::{MOST_POSITIONS, WORKGROUP};
use crate::kernel::*;
use rustc_hash::FxHashMap;

/// With fewer positions devices are not full, and lanes of long rows are better employed otherwise (`team.rs`).
const LEAST_POSITIONS: u64 = 1024;

/// How much more often a loop inside a position reads than what stands outside.
const ROUNDS: u64 = 8;

/// Shares of idle lanes are counted in parts of this.
const SCALE: u64 = 64;

/// Digits at most: sets of them are bits.
const MOST_DIGITS: usize = 16;

/// Loops inside each other down to what a position does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The loops: each is the only item of the one around.
    pub item: Item,
    /// What they are of a position's number, outermost first.
    pub digits: Vec<Digit>,
    /// The digit whose loop's end is known when the kernel runs, if there is one: its last rounds have the last workgroups.
    pub open: Option<usize>,
}

/// A loop as a digit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digit {
    /// How many rounds it has.
    pub rounds: u64,
    /// Whether all lanes of a workgroup are in one round.
    pub is_uniform: bool,
    /// The loop's counter.
    pub counter: Value,
}

impl Chain {
    /// Whether the rounds of the uniform digits are the low part of a workgroup's number. They are the high part elsewhere, so that workgroups that
    /// follow each other read the same; but where the open digit is of lanes, its last rounds then are not together.
    pub fn is_uniform_low(&self) -> bool {
        self.open.is_some_and(|digit| !self.digits[digit].is_uniform) && self.uniform() > 1
    }

    /// The numbers of the digits, the one that changes most often first.
    pub fn low_first(&self) -> Vec<usize> {
        let others = (0..self.digits.len()).rev().filter(|&digit| Some(digit) != self.open);
        others.chain(self.open).collect()
    }

    /// Rounds of the uniform digits.
    pub fn uniform(&self) -> u64 {
        self.product(true)
    }

    fn product(&self, is_uniform: bool) -> u64 {
        self.digits.iter().filter(|digit| digit.is_uniform == is_uniform).map(|digit| digit.rounds).product()
    }

    /// Lanes that have something to do in each round of the uniform digits.
    pub fn lanes(&self) -> u64 {
        self.product(false)
    }

    /// Workgroups of each round of the uniform digits.
    pub fn groups_of_round(&self) -> u64 {
        self.lanes().div_ceil(WORKGROUP.into())
    }

    /// All workgroups.
    pub fn groups(&self) -> u64 {
        self.uniform() * self.groups_of_round()
    }
}

/// Items as chains, if some of them are better off so, or if only then what is beyond a loop's end can be left out.
pub fn chains(loops: &Loops<'_>, items: &[Item]) -> Option<Vec<Chain>> {
    let is_many = items.iter().map(Item::positions).fold(0, u64::saturating_add) >= LEAST_POSITIONS;
    let chains: Vec<Chain> = items.iter().flat_map(paths).map(|item| chain(loops, item, is_many)).collect();
    let has_uniform = |chain: &Chain| chain.digits.iter().any(|digit| digit.is_uniform);
    let is_open_inside = |chain: &Chain| chain.open.is_some_and(|digit| digit > 0);
    let groups = chains.iter().map(Chain::groups).fold(0, u64::saturating_add);
    let fits = groups <= MOST_POSITIONS / u64::from(WORKGROUP);
    (fits && chains.iter().any(|chain| has_uniform(chain) || is_open_inside(chain))).then_some(chains)
}

/// An item whose loops have several items inside as one for each of these.
fn paths(item: &Item) -> Vec<Item> {
    let Some(Nest { rounds, body: Tree::Items(inside) }) = &item.nest else { return vec![item.clone()] };
    let around =
        |inner: Item| Item { statements: item.statements.clone(), nest: Some(Nest { rounds: *rounds, body: Tree::Items(vec![inner]) }) };
    inside.iter().flat_map(paths).map(around).collect()
}

/// The chain of a path, with the digits that are uniform where there are many positions.
fn chain(loops: &Loops<'_>, item: Item, is_many: bool) -> Chain {
    let mut reads = Reads::default();
    reads.item(&loops.kernel.body, &item);
    let digits: Vec<Digit> = reads.rounds.iter().map(|&(rounds, counter)| Digit { rounds, is_uniform: false, counter }).collect();
    let open = digits.iter().position(|digit| counts::can_count(loops, digit.counter));
    let mut best = Chain { item, digits, open };
    if reads.rounds.len() > MOST_DIGITS || !is_many {
        return best;
    }
    // Lanes compute with all that is read, each or together. Idle ones take the time of both.
    let all = reads.moved_by(u32::MAX);
    let price = |low: u32, chain: &Chain| {
        let lanes = chain.groups_of_round() * u64::from(WORKGROUP);
        (reads.moved_by(low) + all / 2).saturating_mul(lanes * SCALE / chain.lanes().max(1))
    };
    // What a tenth is saved by is not worth another order.
    let mut least = (all + all / 2).saturating_mul(SCALE * 9 / 10);
    for &(low, _) in reads.words.iter().filter(|(low, _)| *low != 0) {
        let digits: Vec<Digit> =
            best.digits.iter().enumerate().map(|(number, digit)| Digit { is_uniform: low & 1 << number == 0, ..*digit }).collect();
        let other = Chain { item: best.item.clone(), digits, open };
        let of_other = price(low, &other);
        if of_other < least {
            (best, least) = (other, of_other);
        }
    }
    best
}

/// What a position reads, by the digits that move it.
#[derive(Default)]
struct Reads {
    /// The rounds of each digit, and its counter.
    rounds: Vec<(u64, Value)>,
    /// The digits that a value depends on.
    digits: FxHashMap<Value, u32>,
    /// Sets of digits, and the words that are read at places that depend on these.
    words: Vec<(u32, u64)>,
}

impl Reads {
    /// The words that depend on any of some digits.
    fn moved_by(&self, digits: u32) -> u64 {
        self.words.iter().filter(|(moved, _)| moved & digits != 0).map(|(_, words)| words).sum()
    }

    fn item(&mut self, region: &Region, item: &Item) {
        for number in needed(region, &item.statements) {
            let statement = &region.statements[number];
            match (&item.nest, &statement.inst) {
                (Some(nest), Inst::For { start, body, .. }) if item.statements.contains(&number) => {
                    let mut of_counter = self.of(*start);
                    if nest.rounds > 1 {
                        of_counter |= 1u32.checked_shl(self.rounds.len() as u32).unwrap_or(0);
                        self.rounds.push((nest.rounds, body.params[0]));
                    }
                    self.digits.insert(body.params[0], of_counter);
                    match &nest.body {
                        Tree::Items(inside) => inside.iter().for_each(|inner| self.item(body, inner)),
                        Tree::Whole => self.region(body, 1),
                    }
                }
                _ => self.statement(statement, u64::from(item.nest.is_none())),
            }
        }
    }

    fn of(&self, value: Value) -> u32 {
        self.digits.get(&value).copied().unwrap_or(0)
    }

    /// Statements that run so often in a position.
    fn region(&mut self, region: &Region, often: u64) {
        region.statements.iter().for_each(|statement| self.statement(statement, often));
    }

    fn statement(&mut self, statement: &Statement, often: u64) {
        let inst = &statement.inst;
        let depends = inst.operands().into_iter().fold(0, |all, operand| all | self.of(operand));
        let is_loop = matches!(inst, Inst::For { .. } | Inst::Loop { .. });
        for region in inst.regions() {
            region.params.iter().for_each(|&param| {
                self.digits.insert(param, depends);
            });
            self.region(region, if is_loop { often * ROUNDS } else { often });
        }
        statement.results.iter().for_each(|&result| {
            self.digits.insert(result, depends);
        });
        let words = often * words(inst);
        match self.words.iter_mut().find(|known| known.0 == depends) {
            _ if words == 0 => {}
            Some(known) => known.1 += words,
            None => self.words.push((depends, words)),
        }
    }
}

/// Words that an instruction reads, as elements: how wide these are is the same for all that a position multiplies.
fn words(inst: &Inst) -> u64 {
    match inst {
        Inst::Load { active, .. } => u64::from(*active),
        Inst::LoadSplat { .. } => 1,
        Inst::LoadSplatGroup { group, .. } => u64::from(*group),
        _ => 0,
    }
}
