//! SignalStacker: frames of features, each with frames before and after it.

use super::super::operator::{Lowered, Operator};
use super::common::{MOST_SAMPLES, check_types, columns, misfit, number, valid_or_zero, vector};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{Bool, I16, I32};
use crate::ir::{Comparison, Value};
use crate::operators::terms::Terms;

/// SignalStacker concatenates `stacker_left_context` frames, one frame, and `stacker_right_context` more. The first frame is repeated for missing
/// earlier ones. A stack is ready when its last frame is there, and then every `stacker_step` calls. The second result is true then.
pub(in super::super) fn stacker(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    check_types(operator, &[I16], &[I16, Bool])?;
    let input = vector(operator, 0)?;
    let settings = Settings::read(operator)?;
    let channels = settings.integer("num_channels", 1..=MOST_SAMPLES)? as u64;
    let left = settings.integer("stacker_left_context", 0..=MOST_SAMPLES)?;
    let right = settings.integer("stacker_right_context", 0..=MOST_SAMPLES)?;
    let frames = left + right + 1;
    let step = settings.integer("stacker_step", 1..=frames)?;
    if input.shape[0] != channels {
        return Err(misfit("the size of the input does not match the number of channels", channels, input.shape[0]));
    }
    let [is_first, ready] = countdown(operator, right + 1, step)?;
    let mut stack = operator.reshape(input.value, &[1, channels])?;
    if frames > 1 {
        let kept = (frames - 1) as u64;
        let history = operator.own_state("frames", I16, &[kept, channels])?;
        let loaded = operator.load(history)?;
        let mut terms = Terms::new(&[Bool, I16, I16]);
        let [first, sample, before] = [0, 1, 2].map(|i| terms.input(i));
        let earlier = terms.select(first, sample, before)?;
        let earlier = operator.map(&[is_first, stack, loaded], terms.finish(earlier))?;
        let all = operator.builder().concat(&[earlier, stack], 0)?;
        let all = operator.reshape(all, &[1, frames as u64 * channels])?;
        let newest = columns(operator, all, channels, kept * channels)?;
        let newest = operator.reshape(newest, &[kept, channels])?;
        operator.store(history, newest)?;
        stack = all;
    }
    let stack = operator.reshape(stack, &[frames as u64 * channels])?;
    let value = valid_or_zero(operator, ready, stack)?;
    operator.bind(0, value)?;
    operator.bind(1, ready)
}

/// Two truth values: this is the first call, and a stack is ready. The latter holds in call number `first`, and then every `step` calls. The state is
/// the number of calls until then, 0 before the first.
fn countdown(operator: &mut Operator<'_, '_, '_>, first: i64, step: i64) -> Result<[Value; 2], Diagnostic> {
    let counter = operator.own_state("calls", I32, &[])?;
    let left = operator.load(counter)?;
    let mut terms = Terms::new(&[I32]);
    let left_node = terms.input(0);
    let [zero, one, first, step] = [0, 1, first, step].map(|n| number(&mut terms, I32, n));
    let is_first = terms.compare(Comparison::Equal, left_node, zero)?;
    let calls = terms.select(is_first, first, left_node)?;
    let rest = terms.sub(calls, one)?;
    let ready = terms.compare(Comparison::Equal, rest, zero)?;
    let next = terms.select(ready, step, rest)?;
    let results = operator.builder().map_many(&[left], terms.finish_many(vec![is_first, ready, next]))?;
    operator.store(counter, results[2])?;
    Ok([results[0], results[1]])
}
