//! Objects that a network found in an image: boxes decoded from anchors, the best of overlapping boxes, and their classes.

use super::terms::Terms;
use super::{Error, Graph, extents};
use crate::ir::{Comparison, ElementType, Extent, Order, Reduction, Scalar, ScalarOp, Value};
use ElementType::{F32, F64, I32};

/// The settings for decoding boxes and choosing detections.
pub struct Detection {
    /// The maximum number of detections.
    pub detections: u64,
    /// The number of classes of each detection if boxes are suppressed across classes.
    pub classes_per_detection: u64,
    /// The maximum number of boxes of a class if every class is suppressed by itself.
    pub detections_per_class: u64,
    /// `true` if every class is suppressed by itself.
    pub by_class: bool,
    /// The minimum score.
    pub score_threshold: f32,
    /// The maximum overlap: intersection divided by union.
    pub overlap_threshold: f32,
    /// The scales of y, x, height and width.
    pub scales: [f32; 4],
}

/// The detections: corners `[D, 4]`, and numbers `[D]`.
pub struct Detections {
    /// The corners.
    pub boxes: Value,
    /// Numbers of classes.
    pub classes: Value,
    /// Scores.
    pub scores: Value,
    /// The number of detections, one number. The other tensors are filled with zeros.
    pub count: Value,
}

/// The detections of boxes `[N, 4 or more]` with anchors `[N, 4]` and scores `[N, C]`, all binary32.
///
/// # Errors
/// [`Error::DynamicExtent`].
pub fn detect(g: &mut Graph<'_>, settings: &Detection, [boxes, scores, anchors]: [Value; 3]) -> Result<Detections, Error> {
    let corners = decoded(g, settings, boxes, anchors)?;
    if settings.by_class { by_class(g, settings, corners, scores) } else { across_classes(g, settings, corners, scores) }
}

/// Corners `[N, 4]` of boxes given by centre and size relative to their anchors. Centres are computed in binary64, like the reference.
fn decoded(g: &mut Graph<'_>, settings: &Detection, boxes: Value, anchors: Value) -> Result<Value, Error> {
    let mut operands = Vec::new();
    for value in [boxes, anchors] {
        operands.extend([columns(g, value, 0, 2)?, columns(g, value, 2, 2)?]);
    }
    let [y, x, height, width] = settings.scales;
    operands.extend([g.constant_f32(&[2], &[y, x])?, g.constant_f32(&[2], &[height, width])?]);
    let mut terms = Terms::new(&[F32; 6]);
    let [centre, anchor, side, scale] = [0, 2, 3, 4].map(|i| terms.input_as(i, F64));
    let centre = terms.div(centre, scale)?;
    let centre = terms.mul(centre, side)?;
    let centre = terms.add(centre, anchor)?;
    let centre = terms.convert(centre, F32);
    let (size, size_scale, half) = (terms.input(1), terms.input(5), terms.f64(0.5));
    let size = terms.div(size, size_scale)?;
    let size = terms.op(ScalarOp::Exp, &[size])?;
    let size = terms.convert(size, F64);
    let size = terms.mul(half, size)?;
    let size = terms.mul(size, side)?;
    let size = terms.convert(size, F32);
    let (low, high) = (terms.sub(centre, size)?, terms.add(centre, size)?);
    let corners = g.builder.map_many(&operands, terms.finish_many(vec![low, high]))?;
    Ok(g.builder.concat(&corners, 1)?)
}

/// The boxes chosen for each row of scores: their positions, scores and number. The reference keeps scores that equal the threshold, and
/// drops boxes whose overlap exceeds the threshold. The operator of the tensor language does the reverse, so thresholds are moved by one unit.
fn suppressed(g: &mut Graph<'_>, settings: &Detection, [boxes, scores]: [Value; 2], count: u64) -> Result<[Value; 3], Error> {
    let (overlap, score) = (settings.overlap_threshold.next_up(), settings.score_threshold.next_down());
    let mut number = |threshold: f32| g.constant_f32(&[], &[threshold]);
    let operands = [boxes, scores, number(overlap)?, number(score)?, number(0.0)?];
    Ok(g.builder.non_max_suppression(operands, count as i64)?)
}

/// Suppression by the best class of each box, and then the best classes of each box that is left.
fn across_classes(g: &mut Graph<'_>, settings: &Detection, corners: Value, scores: Value) -> Result<Detections, Error> {
    let (slots, each) = (settings.detections, settings.classes_per_detection);
    let kept = each.min(g.shape(scores)?[1]);
    let [best, classes] = top_k(g, scores, kept)?;
    let first = columns(g, best, 0, 1)?;
    let boxes = g.shape(first)?[0];
    let row = reshape(g, first, &[1, boxes])?;
    let [chosen, _, count] = suppressed(g, settings, [corners, row], slots)?;
    let chosen = reshape(g, chosen, &[slots])?;
    let corners = rows_of(g, corners, chosen)?;
    let corners = up_to(g, corners, 0, count, 0.0)?;
    let corners = reshape(g, corners, &[slots, 1, 4])?;
    let corners = g.builder.broadcast(corners, extents(&[slots, kept, 4]))?;
    let mut results = vec![corners];
    for value in [classes, best] {
        let value = rows_of(g, value, chosen)?;
        let value = up_to(g, value, 0, count, 0.0)?;
        results.push(reshape(g, value, &[slots, kept, 1])?);
    }
    for value in &mut results {
        let last = g.shape(*value)?[2];
        *value = g.builder.pad(*value, vec![0; 3], vec![0, (each - kept) as i64, 0], Scalar::f32(0.0))?;
        *value = reshape(g, *value, &[slots * each, last])?;
    }
    Ok(Detections { boxes: results[0], classes: results[1], scores: results[2], count })
}

/// Suppression for every class by itself, and then the best of all of them.
fn by_class(g: &mut Graph<'_>, settings: &Detection, corners: Value, scores: Value) -> Result<Detections, Error> {
    let (classes, each) = (g.shape(scores)?[1], settings.detections_per_class);
    let rows = g.builder.transpose(scores, vec![1, 0])?;
    let [chosen, best, counts] = suppressed(g, settings, [corners, rows], each)?;
    let column = reshape(g, counts, &[classes, 1])?;
    let best = up_to(g, best, 1, column, f32::NEG_INFINITY)?;
    let all = classes * each;
    let (best, chosen) = (reshape(g, best, &[all])?, reshape(g, chosen, &[all])?);
    let kept = settings.detections.min(all);
    let [best, slots] = top_k(g, best, kept)?;
    let total = g.builder.reduce(counts, Reduction::Sum, vec![0])?;
    let mut terms = Terms::new(&[I32]);
    let (total_term, most) = (terms.input(0), terms.i32(kept as i32));
    let count = terms.min(total_term, most)?;
    let count = g.map(&[total], terms.finish(count))?;
    let mut terms = Terms::new(&[I32]);
    let (slot, each_term) = (terms.input(0), terms.i32(each as i32));
    let class = terms.div(slot, each_term)?;
    let classes = g.map(&[slots], terms.finish(class))?;
    let boxes = rows_of(g, chosen, slots)?;
    let corners = rows_of(g, corners, boxes)?;
    let mut results = Vec::new();
    for (value, width) in [(corners, 4), (classes, 1), (best, 1)] {
        let value = reshape(g, value, &[kept, width])?;
        let value = up_to(g, value, 0, count, 0.0)?;
        let missing = settings.detections * settings.classes_per_detection - kept;
        results.push(g.builder.pad(value, vec![0; 2], vec![missing as i64, 0], Scalar::f32(0.0))?);
    }
    Ok(Detections { boxes: results[0], classes: results[1], scores: results[2], count })
}

/// Columns of a matrix.
fn columns(g: &mut Graph<'_>, value: Value, first: u64, count: u64) -> Result<Value, Error> {
    let rows = g.shape(value)?[0];
    Ok(g.builder.slice(value, extents(&[0, first]), extents(&[rows, count]), vec![1, 1])?)
}

fn top_k(g: &mut Graph<'_>, values: Value, count: u64) -> Result<[Value; 2], Error> {
    Ok(g.builder.top_k(values, Order::Largest, Extent::Static(count))?)
}

fn rows_of(g: &mut Graph<'_>, table: Value, numbers: Value) -> Result<Value, Error> {
    Ok(g.builder.gather(table, numbers, 0, 0)?)
}

/// Numbers, another one in the slots of dimension `axis` from the count on; as binary32.
fn up_to(g: &mut Graph<'_>, values: Value, axis: usize, count: Value, filler: f32) -> Result<Value, Error> {
    let element = g.builder.tensor(values).element;
    let mut slots = vec![1; g.shape(values)?.len()];
    slots[axis] = g.shape(values)?[axis];
    let slots = g.positions(&extents(&slots), axis, I32)?;
    let mut terms = Terms::new(&[element, I32, I32]);
    let (value, slot, count_term, filler) = (terms.input_as(0, F32), terms.input(1), terms.input(2), terms.f32(filler));
    let used = terms.compare(Comparison::Less, slot, count_term)?;
    let value = terms.select(used, value, filler)?;
    g.map(&[values, slots, count], terms.finish(value))
}

fn reshape(g: &mut Graph<'_>, value: Value, shape: &[u64]) -> Result<Value, Error> {
    g.reshape(value, &extents(shape))
}
