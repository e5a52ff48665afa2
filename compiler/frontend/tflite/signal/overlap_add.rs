//! SignalOverlapAdd: frames that overlap, added up to samples.

use super::super::error::unsupported;
use super::super::operator::{Lowered, Operator};
use super::common::{MOST_SAMPLES, columns, misfit};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{self, F32, I16, I32};
use crate::ir::{Extent, Value};
use crate::operators::terms::Terms;

/// Frames that one call may add.
const MOST_FRAMES: u64 = 1024;

/// SignalOverlapAdd: each frame is added to the rest of earlier ones, 16-bit integers with saturation. Its first `frame_step` samples are final.
pub(in super::super) fn overlap_add(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(1..=1, 1..=1)?;
    let (input, output) = (operator.input(0)?, operator.output(0)?);
    let element = input.element();
    if output.element != element || !matches!(element, I16 | F32) {
        return Err(operator.type_error(&[element, output.element]));
    }
    let [ref outer @ .., frames, size] = input.shape[..] else {
        return Err(misfit("the input must be frames of samples", "two dimensions or more", input.rank()));
    };
    if frames > MOST_FRAMES {
        return Err(
            unsupported("so many frames in one call are not supported").expected(format!("at most {MOST_FRAMES}"), frames.to_string())
        );
    }
    let settings = Settings::read(operator)?;
    settings.check_type(element)?;
    let step = settings.integer("frame_step", 1..=(size as i64).min(MOST_SAMPLES))? as u64;
    let rows = outer.iter().product::<u64>();
    let whole = operator.reshape(input.value, &[rows, frames * size])?;
    let overlap = size - step;
    let state = if overlap > 0 { Some(operator.own_state("samples", element, &[rows, overlap])?) } else { None };
    let mut earlier = match state {
        Some(state) => Some(operator.load(state)?),
        None => None,
    };
    let mut done = Vec::new();
    for frame in 0..frames {
        let mut samples = columns(operator, whole, frame * size, size)?;
        if let Some(before) = &mut earlier {
            samples = added(operator, element, *before, samples)?;
            *before = columns(operator, samples, step, overlap)?;
        }
        done.push(columns(operator, samples, 0, step)?);
    }
    if let (Some(state), Some(rest)) = (state, earlier) {
        operator.store(state, rest)?;
    }
    let value = if done.len() == 1 { done[0] } else { operator.builder().concat(&done, 1)? };
    let shape = [outer, &[frames * step]].concat();
    let value = operator.reshape(value, &shape)?;
    operator.bind(0, value)
}

/// Adds the rest of earlier frames to a frame's first samples.
fn added(operator: &mut Operator<'_, '_, '_>, element: ElementType, earlier: Value, frame: Value) -> Result<Value, Diagnostic> {
    let [overlap, size] = [earlier, frame].map(|value| operator.extents_of(value)[1]);
    let (Extent::Static(overlap), Extent::Static(size)) = (overlap, size) else { return Err(super::super::extents::dynamic()) };
    let first = columns(operator, frame, 0, overlap)?;
    let mut terms = Terms::new(&[element, element]);
    let result = if element == I16 {
        let (x, y) = (terms.input_as(0, I32), terms.input_as(1, I32));
        let sum = terms.add(x, y)?;
        terms.saturate(sum, I16)
    } else {
        let (x, y) = (terms.input(0), terms.input(1));
        terms.add(x, y)?
    };
    let first = operator.map(&[earlier, first], terms.finish(result))?;
    let last = columns(operator, frame, overlap, size - overlap)?;
    Ok(operator.builder().concat(&[first, last], 1)?)
}
