//! Rewrites of a kernel after which more rounds are found to be independent. Results do not change.
//!
//! A loop in a branch moves around the branch: `if c { for … { … } }` becomes `for … { if c { … } }`. Its rounds become positions together with the
//! rounds of the outer loops. The remainder of a counter that counts in multiples becomes 0, so that indices are affine in counters.

use crate::indices::Indices;
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Maximum number of terms of the sums in which multiples are found.
const MOST_TERMS: usize = 8;

/// Replaces `x & (2ᵏ - 1)` by 0 if 2ᵏ divides `x`.
pub fn without_rests(kernel: &mut Kernel) {
    let indices = Indices::of(kernel, MOST_TERMS);
    let mut body = std::mem::take(&mut kernel.body);
    body.for_each_statement_mut(&mut |statement| {
        let Inst::Binary { op: BinaryOp::And, a, b } = statement.inst else { return };
        let divides = |value: Value, mask: Value| {
            let power = indices.number(mask).and_then(|mask| mask.checked_add(1)).filter(|power| power.count_ones() == 1 && *power > 0);
            power.is_some_and(|power| indices.multiple(value) >= power.trailing_zeros())
        };
        if divides(a, b) || divides(b, a) {
            statement.inst = Inst::Constant { bits: 0 };
        }
    });
    kernel.body = body;
}

/// Moves loops out of branches: each branch must be one loop or empty.
pub fn loops_outward(kernel: &mut Kernel) {
    let mut body = std::mem::take(&mut kernel.body);
    outward(&mut body);
    kernel.body = body;
}

fn outward(region: &mut Region) {
    for mut statement in std::mem::take(&mut region.statements) {
        statement.inst.regions_mut().into_iter().for_each(outward);
        let Inst::If { condition, then, otherwise } = &statement.inst else {
            region.statements.push(statement);
            continue;
        };
        let arms = [Arm::of(then), Arm::of(otherwise)];
        if !statement.results.is_empty() || arms.contains(&Arm::Other) || !arms.contains(&Arm::Loop) {
            region.statements.push(statement);
            continue;
        }
        let condition = *condition;
        let Inst::If { then, otherwise, .. } = statement.inst else { continue };
        for (arm, is_then) in [(then, true), (otherwise, false)] {
            around(arm, condition, is_then, &mut region.statements);
        }
    }
}

/// The content of a branch.
#[derive(PartialEq, Eq)]
enum Arm {
    /// No effect.
    Nothing,
    /// One loop that carries no values, with bounds that are constant or computed outside.
    Loop,
    /// Anything else.
    Other,
}

impl Arm {
    fn of(arm: &Region) -> Self {
        let mut effects = arm.statements.iter().filter(|statement| statement.inst.has_effect());
        let Some(first) = effects.next() else { return Self::Nothing };
        let (Inst::For { start, end, carried, .. }, None) = (&first.inst, effects.next()) else { return Self::Other };
        let mut inside: FxHashMap<Value, bool> = FxHashMap::default();
        for statement in &arm.statements {
            let is_constant = matches!(statement.inst, Inst::Constant { .. });
            inside.extend(statement.results.iter().map(|&result| (result, is_constant)));
        }
        let is_outside = |value: &Value| inside.get(value).is_none_or(|is_constant| *is_constant);
        if carried.is_empty() && is_outside(start) && is_outside(end) { Self::Loop } else { Self::Other }
    }
}

/// Writes the loop of a branch with the branch inside. The other statements of the branch move inside, too: a load may be valid only under the
/// condition.
fn around(arm: Region, condition: Value, is_then: bool, out: &mut Vec<Statement>) {
    let Some(number) = arm.statements.iter().position(|statement| statement.inst.has_effect()) else { return };
    let mut statements = arm.statements;
    statements.truncate(number + 1);
    let Some(Statement { inst: Inst::For { start, end, step, each, private, carried, body }, .. }) = statements.pop() else { return };
    let (constants, mut inner): (Vec<Statement>, Vec<Statement>) =
        statements.into_iter().partition(|statement| matches!(statement.inst, Inst::Constant { .. }));
    out.extend(constants);
    inner.extend(body.statements);
    let mut arms = [Region { statements: inner, ..Region::default() }, Region::default()];
    if !is_then {
        arms.reverse();
    }
    let [then, otherwise] = arms;
    let branch = Statement { results: smallvec![], inst: Inst::If { condition, then, otherwise } };
    let body = Region { params: body.params, statements: vec![branch], yields: body.yields };
    out.push(Statement { results: smallvec![], inst: Inst::For { start, end, step, each, private, carried, body } });
}
