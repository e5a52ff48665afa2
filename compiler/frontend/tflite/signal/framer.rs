//! SignalFramer: samples cut into frames that overlap.

use super::super::error::unsupported;
use super::super::operator::{Lowered, Operator};
use super::common::{MOST_SAMPLES, check_types, columns, integers, lines, misfit, number, valid_or_zero};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{Bool, I16, I32};
use crate::ir::{Comparison, Value};
use crate::operators::terms::Terms;

/// Frames that one call may make.
const MOST_FRAMES: u64 = 1024;

/// SignalFramer: each `frame_step` new samples make a frame of `frame_size`. The runtime keeps them in a ring that holds a whole number of steps, and
/// takes the oldest from it. With `prefill` the ring begins with all zeros that the first frame needs. The second result says whether all frames of
/// the call are full.
pub(in super::super) fn framer(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 2..=2)?;
    check_types(operator, &[I16], &[I16, Bool])?;
    let settings = Settings::read(operator)?;
    let size = settings.integer("frame_size", 1..=MOST_SAMPLES)? as u64;
    let step = settings.integer("frame_step", 1..=MOST_SAMPLES)? as u64;
    let prefill = settings.flag("prefill")?;
    let input = operator.input(0)?;
    let (rows, length) = lines(&input)?;
    if !length.is_multiple_of(step) {
        return Err(misfit("the length of the input is not a multiple of the step", format!("a multiple of {step} samples"), length));
    }
    if prefill && size < step {
        return Err(misfit("a frame that begins full must hold a step", format!("at least {step} samples"), size));
    }
    let frames = length / step;
    if frames > MOST_FRAMES {
        return Err(
            unsupported("so many frames in one call are not supported").expected(format!("at most {MOST_FRAMES}"), frames.to_string())
        );
    }
    let mut all = operator.reshape(input.value, &[rows, length])?;
    // Samples of earlier calls that a frame needs.
    let kept = if prefill { size - step } else { size.next_multiple_of(step) - step };
    if kept > 0 {
        let history = operator.own_state("samples", I16, &[rows, kept])?;
        let earlier = operator.load(history)?;
        all = operator.builder().concat(&[earlier, all], 1)?;
        let newest = columns(operator, all, length, kept)?;
        operator.store(history, newest)?;
    }
    let mut list = Vec::new();
    for frame in 0..frames {
        let samples = columns(operator, all, frame * step, size)?;
        list.push(operator.reshape(samples, &[rows, 1, size])?);
    }
    let mut value = if list.len() == 1 { list[0] } else { operator.builder().concat(&list, 1)? };
    // Frames that come before the first full one.
    let missing = if prefill { 0 } else { (kept / step) as i64 };
    let full = match missing {
        0 => operator.constant(Bool, &[], vec![1])?,
        _ => {
            let [each, all] = full_frames(operator, missing, frames)?;
            value = valid_or_zero(operator, each, value)?;
            all
        }
    };
    let shape = [&input.shape[..input.rank() - 1], &[frames, size]].concat();
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)?;
    operator.bind(1, full)
}

/// Truth values for the frames of a call, and one for all together. A frame is full if it is none of the first `missing` frames of all calls.
fn full_frames(operator: &mut Operator<'_, '_, '_>, missing: i64, frames: u64) -> Result<[Value; 2], Diagnostic> {
    let counter = operator.own_state("frames", I32, &[])?;
    let before = operator.load(counter)?;
    let mut terms = Terms::new(&[I32]);
    let (x, count, most) = (terms.input(0), number(&mut terms, I32, frames as i64), number(&mut terms, I32, missing));
    let sum = terms.add(x, count)?;
    let next = terms.min(sum, most)?;
    let all = terms.compare(Comparison::GreaterEqual, x, most)?;
    let results = operator.builder().map_many(&[before], terms.finish_many(vec![next, all]))?;
    operator.store(counter, results[0])?;
    let order = integers(operator, I32, &[1, frames, 1], &(0..frames as i64).collect::<Vec<_>>())?;
    let mut terms = Terms::new(&[I32, I32]);
    let (x, frame, most) = (terms.input(0), terms.input(1), number(&mut terms, I32, missing));
    let sum = terms.add(x, frame)?;
    let full = terms.compare(Comparison::GreaterEqual, sum, most)?;
    let each = operator.map(&[before, order], terms.finish(full))?;
    Ok([each, results[1]])
}
