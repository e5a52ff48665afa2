//! Forms of a kernel in which more rounds are found to be apart. They compute the same.
//!
//! A loop in a branch is one around the branch: `if c { for … { … } }` is `for … { if c { … } }`, so its rounds are positions together with those of
//! the loops around. What is left of a counter that goes by multiples is 0, so that its accesses are sums of counters.

use crate::kernel::indices::Indices;
use crate::kernel::*;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// As many terms as sums of the indices have at most where multiples are looked for.
const MOST_TERMS: usize = 8;

/// `x & (2ᵏ - 1)` is 0 where 2ᵏ divides `x`.
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

/// Loops in branches become loops around them, where a branch is one loop.
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

/// What a branch does.
#[derive(PartialEq, Eq)]
enum Arm {
    /// Nothing.
    Nothing,
    /// One loop that hands nothing on, whose ends are known or computed outside.
    Loop,
    /// Something else.
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

/// Writes the loop of a branch with the branch in it. All else that the branch computes is in there too: it may load what only the branch may.
fn around(arm: Region, condition: Value, is_then: bool, out: &mut Vec<Statement>) {
    let Some(number) = arm.statements.iter().position(|statement| statement.inst.has_effect()) else { return };
    let mut statements = arm.statements;
    statements.truncate(number + 1);
    let Some(Statement { inst: Inst::For { start, end, step, carried, body }, .. }) = statements.pop() else { return };
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
    out.push(Statement { results: smallvec![], inst: Inst::For { start, end, step, carried, body } });
}
