//! Choice of the positions of a workgroup: positions that read the same places.
//!
//! The rounds of nested loops are digits of a position's number, and any of them may be the low digits. A product of matrices reads weights that all
//! rows share, and rows that all panels share. If a workgroup has positions of one panel, all its lanes read each weight at the same place. This
//! place follows from the number of the workgroup: it is uniform, and a device reads it once for all lanes. So the low digits are those that move
//! most of the words that are read. Each round of the other digits begins with a new workgroup, and lanes after the last low digit are idle.

use super::chain::{Chain, Digit};
use super::counts;
use super::limits::{MOST_POSITIONS, WORKGROUP};
use super::tree::{Item, Nest, Tree, needed};
use crate::dependence::Loops;
use crate::*;
use rustc_hash::FxHashMap;

/// Minimum number of positions. With fewer, devices are not full, and lanes do better by sharing long rows (`team.rs`).
const LEAST_POSITIONS: u64 = 1024;

/// Assumed number of rounds of a loop inside a position, relative to code outside it.
const ROUNDS: u64 = 8;

/// Denominator for shares of idle lanes.
const SCALE: u64 = 64;

/// Maximum number of digits; a set of digits is a bit mask.
const MOST_DIGITS: usize = 16;

/// Returns items as chains, if this makes some of them faster, or if it is necessary to leave out the positions beyond a loop's end.
pub fn chains(loops: &Loops<'_>, items: &[Item]) -> Option<Vec<Chain>> {
    let is_many = items.iter().map(Item::positions).fold(0, u64::saturating_add) >= LEAST_POSITIONS;
    let chains: Vec<Chain> = items.iter().flat_map(paths).map(|item| chain(loops, item, is_many)).collect();
    let has_uniform = |chain: &Chain| chain.digits.iter().any(|digit| digit.is_uniform);
    let is_open_inside = |chain: &Chain| chain.open.is_some_and(|digit| digit > 0);
    let groups = chains.iter().map(Chain::groups).fold(0, u64::saturating_add);
    let fits = groups <= MOST_POSITIONS / u64::from(WORKGROUP);
    (fits && chains.iter().any(|chain| has_uniform(chain) || is_open_inside(chain))).then_some(chains)
}

/// Splits an item so that each loop contains one item.
fn paths(item: &Item) -> Vec<Item> {
    let Some(Nest { rounds, body: Tree::Items(inside) }) = &item.nest else { return vec![item.clone()] };
    let around =
        |inner: Item| Item { statements: item.statements.clone(), nest: Some(Nest { rounds: *rounds, body: Tree::Items(vec![inner]) }) };
    inside.iter().flat_map(paths).map(around).collect()
}

/// Returns the chain of a path. If there are many positions, it chooses the uniform digits.
fn chain(loops: &Loops<'_>, item: Item, is_many: bool) -> Chain {
    let mut reads = Reads::default();
    reads.item(&loops.kernel.body, &item);
    let digits: Vec<Digit> = reads.rounds.iter().map(|&(rounds, counter)| Digit { rounds, is_uniform: false, counter }).collect();
    let open = digits.iter().position(|digit| counts::can_count(loops, digit.counter));
    let mut best = Chain { item, digits, open };
    if reads.rounds.len() > MOST_DIGITS || !is_many {
        return best;
    }
    // The cost is the words that differ between lanes, plus half of all words for the computation. Idle lanes increase both.
    let all = reads.moved_by(u32::MAX);
    let price = |low: u32, chain: &Chain| {
        let lanes = chain.groups_of_round() * u64::from(WORKGROUP);
        (reads.moved_by(low) + all / 2).saturating_mul(lanes * SCALE / chain.lanes().max(1))
    };
    // An order must save a tenth to be chosen.
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

/// Words that a position reads, by the digits that move their places.
#[derive(Default)]
struct Reads {
    /// Rounds and counter of each digit.
    rounds: Vec<(u64, Value)>,
    /// Set of digits that a value depends on.
    digits: FxHashMap<Value, u32>,
    /// Number of words read, for each set of digits that their places depend on.
    words: Vec<(u32, u64)>,
}

impl Reads {
    /// Returns the number of words whose places depend on any of these digits.
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

    /// Counts the words of statements that run `often` times in a position.
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

/// Returns the number of elements that an instruction reads. Their width does not matter: it is the same for all operands of a product.
fn words(inst: &Inst) -> u64 {
    match inst {
        Inst::Load { active, .. } => u64::from(*active),
        Inst::LoadSplat { .. } => 1,
        Inst::LoadSplatGroup { group, .. } => u64::from(*group),
        _ => 0,
    }
}
