//! Linear attention by the gated delta rule. The memory of a sequence is a matrix for each head. A step lets it decay, and corrects its answer to the
//! step's key. The step's query then reads it.

use super::sequence::{LoopPlace, Step, sequence};
use crate::ir::{Extent, Reduction, Value};
use crate::operators::{Error, Graph};

/// Sequences, all of f32.
#[derive(Clone, Copy, Debug)]
pub struct DeltaRule {
    /// `[B, H, T, K]`: neighbouring heads share a matrix.
    pub query: Value,
    /// `[B, G, T, K]`
    pub key: Value,
    /// `[B, G, T, V]`
    pub value: Value,
    /// The factor by which each row of the matrix decays, `[B, G, T, K]`, or all of it, `[B, G, T]`.
    pub decay: Value,
    /// The corrected part of the error, `[B, G, T]`.
    pub correction: Value,
    /// The matrices before the first step, `[B, G, K, V]`.
    pub state: Value,
}

/// The static extents of a step.
struct Sizes {
    batch: u64,
    heads: u64,
    groups: u64,
    keys: u64,
    values: u64,
}

impl Sizes {
    fn of(g: &Graph<'_>, rule: &DeltaRule) -> Result<Self, Error> {
        let known = |value: Value, dimension: usize| -> Result<u64, Error> {
            let extent = g.extents(value).get(dimension).copied();
            extent.ok_or(Error::NoMatrix { rank: g.rank(value) })?.as_static().ok_or(Error::DynamicExtent)
        };
        let DeltaRule { query, key, value, .. } = *rule;
        let sizes =
            Self { batch: known(key, 0)?, heads: known(query, 1)?, groups: known(key, 1)?, keys: known(key, 3)?, values: known(value, 3)? };
        if sizes.groups == 0 || !sizes.heads.is_multiple_of(sizes.groups) {
            return Err(Error::Groups { channels: sizes.heads, groups: sizes.groups });
        }
        Ok(sizes)
    }

    /// `[B, G, …]` with these last two dimensions.
    fn shape(&self, last: [u64; 2]) -> Vec<Extent> {
        [self.batch, self.groups, last[0], last[1]].map(Extent::Static).to_vec()
    }
}

/// Runs the rule over a sequence: the answers `[B, H, T, V]`, and the matrices after the last step.
///
/// # Errors
/// When operands do not fit each other, or an extent but the number of steps is not known.
pub fn delta_rule((g, names): LoopPlace<'_, '_>, rule: &DeltaRule) -> Result<[Value; 2], Error> {
    let sizes = Sizes::of(g, rule)?;
    let steps = |g: &Graph<'_>, value: Value| g.extents(value).get(2).copied().ok_or(Error::NoMatrix { rank: g.rank(value) });
    let count = steps(g, rule.key)?;
    for other in [rule.query, rule.value, rule.decay, rule.correction] {
        let found = steps(g, other)?;
        g.equate(found, count)?;
    }
    let mut inputs = Vec::with_capacity(5);
    for input in [rule.query, rule.key, rule.value, rule.decay, rule.correction] {
        let order: Vec<usize> = [2, 0, 1].into_iter().chain(3..g.rank(input)).collect();
        inputs.push(g.transpose(input, &order)?);
    }
    let (answers, states) = sequence((g, names), &inputs, &[rule.state], false, |step, inputs, states| {
        let (answer, state) = sizes.step(step, inputs, states[0])?;
        Ok((answer, vec![state]))
    })?;
    Ok([g.transpose(answers, &[1, 2, 0, 3])?, states[0]])
}

impl Sizes {
    /// The answer of a step, `[B, H, V]`, and the new matrices.
    fn step(&self, step: &mut Step<'_, '_>, inputs: &[Value], state: Value) -> Result<(Value, Value), Error> {
        let (g, &[query, key, value, decay, correction]) = (&mut *step.graph, inputs) else { return Err(Error::NoSteps) };
        let key = g.reshape(key, &self.shape([self.keys, 1]))?;
        let value = g.reshape(value, &self.shape([1, self.values]))?;
        let rows = if g.rank(decay) == 3 { self.keys } else { 1 };
        let decay = g.reshape(decay, &self.shape([rows, 1]))?;
        let correction = g.reshape(correction, &self.shape([1, 1]))?;
        let left = g.compute::<Error>(&[state, decay], |terms, x| Ok(terms.mul(x[0], x[1])?))?;
        let answered = self.sum_of_rows(g, left, key, 2)?;
        let error = g.compute::<Error>(&[value, answered, correction], |terms, x| {
            let distance = terms.sub(x[0], x[1])?;
            Ok(terms.mul(distance, x[2])?)
        })?;
        let state = g.compute::<Error>(&[left, key, error], |terms, x| {
            let more = terms.mul(x[1], x[2])?;
            Ok(terms.add(x[0], more)?)
        })?;
        let together = self.heads / self.groups;
        let of_heads = |rows: u64, last: u64| [self.batch, self.groups, rows, self.keys, last].map(Extent::Static);
        let query = g.reshape(query, &of_heads(together, 1))?;
        let shared = g.reshape(state, &of_heads(1, self.values))?;
        let answer = self.sum_of_rows(g, shared, query, 3)?;
        let answer = g.reshape(answer, &[self.batch, self.heads, self.values].map(Extent::Static))?;
        Ok((answer, state))
    }

    /// Rows of matrices, each times a number, summed.
    fn sum_of_rows(&self, g: &mut Graph<'_>, rows: Value, factors: Value, axis: usize) -> Result<Value, Error> {
        let products = g.compute::<Error>(&[rows, factors], |terms, x| Ok(terms.mul(x[0], x[1])?))?;
        Ok(g.builder.reduce(products, Reduction::Sum, vec![axis])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::testing::{Floats, OpenDimension, run_with};

    /// The rule written out, for one batch: the heads' answers, or the matrices after the last step.
    fn expected([query, key, value, decay, correction, state]: [&Floats; 6], is_answer: bool) -> Vec<f32> {
        let [_, heads, steps, keys] = query.shape[..] else { panic!("a query has four dimensions") };
        let (groups, values) = (key.shape[1], value.shape[3]);
        let by_row = decay.shape.len() == 4;
        let mut states = state.numbers.clone();
        let mut answers = vec![0.0; (heads * steps * values) as usize];
        for t in 0..steps {
            for group in 0..groups {
                let (at, matrix) = (group * steps + t, |k: u64, v: u64| ((group * keys + k) * values + v) as usize);
                for k in 0..keys {
                    let left = decay.numbers[if by_row { at * keys + k } else { at } as usize];
                    (0..values).for_each(|v| states[matrix(k, v)] *= left);
                }
                for v in 0..values {
                    let answered: f32 = (0..keys).map(|k| states[matrix(k, v)] * key.numbers[(at * keys + k) as usize]).sum();
                    let error = (value.numbers[(at * values + v) as usize] - answered) * correction.numbers[at as usize];
                    (0..keys).for_each(|k| states[matrix(k, v)] += key.numbers[(at * keys + k) as usize] * error);
                }
                for (head, v) in (group * heads / groups..(group + 1) * heads / groups).flat_map(|head| (0..values).map(move |v| (head, v)))
                {
                    let of_query = |k: u64| query.numbers[((head * steps + t) * keys + k) as usize];
                    answers[((head * steps + t) * values + v) as usize] = (0..keys).map(|k| states[matrix(k, v)] * of_query(k)).sum();
                }
            }
        }
        if is_answer { answers } else { states }
    }

    #[test]
    fn matrices_decay_and_learn_step_by_step() {
        for (steps, is_open, by_row) in [(1, false, true), (3, false, false), (3, true, true)] {
            let of = |heads: u64, last: u64| {
                let mut floats = Floats::varied(&[1, heads, steps, last]);
                floats.numbers.iter_mut().for_each(|n| *n /= 8.0);
                floats
            };
            let (query, key, value, mut decay, mut correction) = (of(4, 3), of(2, 3), of(2, 5), of(2, 3), of(2, 1));
            if !by_row {
                decay = of(2, 1);
                decay.shape.pop();
            }
            correction.shape.pop();
            let state = Floats::varied(&[1, 2, 3, 5]);
            let inputs = [&query, &key, &value, &decay, &correction, &state];
            let open: Vec<OpenDimension> = if is_open { (0..5).map(|i| [i, 2]).collect() } else { vec![] };
            for is_answer in [true, false] {
                let found = run_with(&inputs, &open, &|g, v| {
                    let rule = DeltaRule { query: v[0], key: v[1], value: v[2], decay: v[3], correction: v[4], state: v[5] };
                    let [answer, state] = delta_rule((g, &mut str::to_owned), &rule)?;
                    Ok(if is_answer { answer } else { state })
                });
                let wanted = expected(inputs, is_answer);
                let close = found.numbers.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1.0));
                assert!(close && found.numbers.len() == wanted.len(), "{steps} {by_row}: {found:?} {wanted:?}");
            }
        }
    }
}
