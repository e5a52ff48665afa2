//! TFLite_Detection_PostProcess: boxes decoded from anchors, the best of those that overlap, and their classes.

use super::error::{invalid, unsupported};
use super::external;
use super::flexbuffer::Options;
use super::operator::{Lowered, Operand, Operator, extents};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{Comparison, ElementType, Extent, Order, Reduction, Scalar, ScalarOp, Value};
use crate::operators::terms::Terms;
use ElementType::{F32, F64, I32, U8};

/// The operator's options.
struct Settings {
    detections: u64,
    classes_per_detection: u64,
    detections_per_class: u64,
    /// Whether every class is suppressed by itself.
    by_class: bool,
    score_threshold: f32,
    overlap_threshold: f32,
    classes: u64,
    /// Of y, x, height and width.
    scales: [f32; 4],
}

impl Settings {
    fn read(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let options = Options::read(bytes).ok_or_else(|| invalid(codes::OPTIONS_UNREADABLE, "the options are no map of numbers"))?;
        // What is not there is 0, as the format's own reader has it.
        let number = |name: &str| options.number(name).unwrap_or(0.0);
        let count = |name: &str, default: f64| {
            let found = options.number(name).unwrap_or(default);
            let whole = (0.0..=65536.0).contains(&found).then_some(found as u64);
            whole.ok_or_else(|| {
                invalid(codes::OPTION_RANGE, format!("the option {name} is out of range")).expected("0 to 65536", found.to_string())
            })
        };
        let settings = Self {
            detections: count("max_detections", 0.0)?,
            classes_per_detection: count("max_classes_per_detection", 0.0)?,
            detections_per_class: count("detections_per_class", 100.0)?,
            by_class: number("use_regular_nms") != 0.0,
            score_threshold: number("nms_score_threshold") as f32,
            overlap_threshold: number("nms_iou_threshold") as f32,
            classes: count("num_classes", 0.0)?,
            scales: ["y_scale", "x_scale", "h_scale", "w_scale"].map(|name| number(name) as f32),
        };
        let counts = [settings.detections, settings.classes_per_detection, settings.detections_per_class, settings.classes];
        if counts.contains(&0) {
            return Err(invalid(codes::OPTION_RANGE, "a count among the options is zero"));
        }
        if !(settings.overlap_threshold > 0.0 && settings.overlap_threshold <= 1.0) {
            let found = settings.overlap_threshold.to_string();
            return Err(invalid(codes::OPTION_RANGE, "the overlap threshold is out of range").expected("above 0, at most 1", found));
        }
        Ok(settings)
    }
}

/// Binary32 of an operand, which may be quantized to 8 bits.
fn real(operator: &mut Operator<'_, '_, '_>, operand: &Operand) -> Result<Value, Diagnostic> {
    match operand.element() {
        F32 => Ok(operand.value),
        U8 => {
            let affine = operator.affine(&operand.info)?;
            let mut terms = Terms::new(&[U8]);
            let (x, zero_point, scale) = (terms.input_as(0, F32), terms.f32(affine.zero_point as f32), terms.f32(affine.scale));
            let x = terms.sub(x, zero_point)?;
            let x = terms.mul(x, scale)?;
            operator.map(&[operand.value], terms.finish(x))
        }
        other => Err(operator.type_error(&[other])),
    }
}

/// Columns of a matrix.
fn columns(operator: &mut Operator<'_, '_, '_>, value: Value, first: u64, count: u64) -> Result<Value, Diagnostic> {
    let rows = operator.shape(value)?[0];
    Ok(operator.builder().slice(value, extents(&[0, first]), extents(&[rows, count]), vec![1, 1])?)
}

/// Corners `[N, 4]` of boxes given by centre and size relative to their anchors. Centres are computed in binary64 as the reference does.
fn decoded(operator: &mut Operator<'_, '_, '_>, settings: &Settings, boxes: Value, anchors: Value) -> Result<Value, Diagnostic> {
    let mut operands = Vec::new();
    for value in [boxes, anchors] {
        operands.extend([columns(operator, value, 0, 2)?, columns(operator, value, 2, 2)?]);
    }
    let [y, x, height, width] = settings.scales;
    operands.extend([operator.constant_f32(&[2], &[y, x])?, operator.constant_f32(&[2], &[height, width])?]);
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
    let corners = operator.builder().map_many(&operands, terms.finish_many(vec![low, high]))?;
    Ok(operator.builder().concat(&corners, 1)?)
}

/// The boxes chosen for each row of scores: their positions, scores and number. The reference keeps scores that equal the threshold and
/// drops boxes that overlap by more than the threshold; the operator of the tensor language the other way round.
fn suppressed(
    operator: &mut Operator<'_, '_, '_>,
    settings: &Settings,
    [boxes, scores]: [Value; 2],
    count: u64,
) -> Result<[Value; 3], Diagnostic> {
    let (overlap, score) = (settings.overlap_threshold.next_up(), settings.score_threshold.next_down());
    let mut number = |threshold: f32| operator.constant_f32(&[], &[threshold]);
    let operands = [boxes, scores, number(overlap)?, number(score)?, number(0.0)?];
    Ok(operator.builder().non_max_suppression(operands, count as i64)?)
}

fn top_k(operator: &mut Operator<'_, '_, '_>, values: Value, count: u64) -> Result<[Value; 2], Diagnostic> {
    Ok(operator.builder().top_k(values, Order::Largest, Extent::Static(count))?)
}

fn rows_of(operator: &mut Operator<'_, '_, '_>, table: Value, numbers: Value) -> Result<Value, Diagnostic> {
    Ok(operator.builder().gather(table, numbers, 0, 0)?)
}

/// Numbers, another one in the slots of dimension `axis` from the count on; as binary32.
fn up_to(operator: &mut Operator<'_, '_, '_>, values: Value, axis: usize, count: Value, filler: f32) -> Result<Value, Diagnostic> {
    let element = operator.builder().tensor(values).element;
    let mut slots = vec![1; operator.shape(values)?.len()];
    slots[axis] = operator.shape(values)?[axis];
    let slots = operator.graph().positions(&extents(&slots), axis, I32)?;
    let mut terms = Terms::new(&[element, I32, I32]);
    let (value, slot, count_term, filler) = (terms.input_as(0, F32), terms.input(1), terms.input(2), terms.f32(filler));
    let used = terms.compare(Comparison::Less, slot, count_term)?;
    let value = terms.select(used, value, filler)?;
    operator.map(&[values, slots, count], terms.finish(value))
}

/// Detections before they are brought to the shapes of the results: corners `[D, 4]` for each, and numbers `[D]`.
struct Detections {
    boxes: Value,
    classes: Value,
    scores: Value,
    /// One number.
    count: Value,
}

/// TFLite_Detection_PostProcess
pub(super) fn post_process(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 4..=4)?;
    let settings = Settings::read(&external::options(operator)?)?;
    let (boxes, scores, anchors) = (operator.input(0)?, operator.input(1)?, operator.input(2)?);
    let ([1, count, width], [1, scored, classes], [anchored, 4]) = (&boxes.shape[..], &scores.shape[..], &anchors.shape[..]) else {
        let found = format!("{:?}, {:?}, {:?}", boxes.shape, scores.shape, anchors.shape);
        return Err(invalid(codes::RANK, "boxes, scores and anchors have wrong shapes").expected("[1, N, 4], [1, N, C] and [N, 4]", found));
    };
    let background = classes.checked_sub(settings.classes).filter(|&extra| extra <= 1);
    let (Some(background), true) = (background, scored == count && anchored == count && *width >= 4) else {
        let found = format!("{:?}, {:?}, {:?}", boxes.shape, scores.shape, anchors.shape);
        let expected = format!("as many of each, {} classes with or without background", settings.classes);
        return Err(invalid(codes::SHAPES_DIFFER, "boxes, scores and anchors do not fit").expected(expected, found));
    };
    if *count == 0 {
        return Err(unsupported("detection without boxes is not supported"));
    }
    if boxes.element() != anchors.element() {
        return Err(operator.type_error(&[boxes.element(), anchors.element()]));
    }
    let (encoded, anchor_values) = (real(operator, &boxes)?, real(operator, &anchors)?);
    let encoded = operator.reshape(encoded, &[*count, *width])?;
    let corners = decoded(operator, &settings, encoded, anchor_values)?;
    let scores = real(operator, &scores)?;
    let scores = operator.reshape(scores, &[*count, *classes])?;
    let scores = columns(operator, scores, background, settings.classes)?;
    let found = if settings.by_class {
        by_class(operator, &settings, corners, scores)?
    } else {
        across_classes(operator, &settings, corners, scores)?
    };
    bind(operator, &settings, &found)
}

/// Suppression by the best class of each box, and then the best classes of each box that is left.
fn across_classes(
    operator: &mut Operator<'_, '_, '_>,
    settings: &Settings,
    corners: Value,
    scores: Value,
) -> Result<Detections, Diagnostic> {
    let (slots, each) = (settings.detections, settings.classes_per_detection);
    let kept = each.min(settings.classes);
    let [best, classes] = top_k(operator, scores, kept)?;
    let first = columns(operator, best, 0, 1)?;
    let boxes = operator.shape(first)?[0];
    let row = operator.reshape(first, &[1, boxes])?;
    let [chosen, _, count] = suppressed(operator, settings, [corners, row], slots)?;
    let chosen = operator.reshape(chosen, &[slots])?;
    let corners = rows_of(operator, corners, chosen)?;
    let corners = up_to(operator, corners, 0, count, 0.0)?;
    let corners = operator.reshape(corners, &[slots, 1, 4])?;
    let corners = operator.builder().broadcast(corners, extents(&[slots, kept, 4]))?;
    let mut results = vec![corners];
    for value in [classes, best] {
        let value = rows_of(operator, value, chosen)?;
        let value = up_to(operator, value, 0, count, 0.0)?;
        results.push(operator.reshape(value, &[slots, kept, 1])?);
    }
    for value in &mut results {
        let last = operator.shape(*value)?[2];
        *value = operator.builder().pad(*value, vec![0; 3], vec![0, (each - kept) as i64, 0], Scalar::f32(0.0))?;
        *value = operator.reshape(*value, &[slots * each, last])?;
    }
    Ok(Detections { boxes: results[0], classes: results[1], scores: results[2], count })
}

/// Suppression for every class by itself, and then the best of all of them.
fn by_class(operator: &mut Operator<'_, '_, '_>, settings: &Settings, corners: Value, scores: Value) -> Result<Detections, Diagnostic> {
    let (classes, each) = (settings.classes, settings.detections_per_class);
    let rows = operator.builder().transpose(scores, vec![1, 0])?;
    let [chosen, best, counts] = suppressed(operator, settings, [corners, rows], each)?;
    let column = operator.reshape(counts, &[classes, 1])?;
    let best = up_to(operator, best, 1, column, f32::NEG_INFINITY)?;
    let all = classes * each;
    let (best, chosen) = (operator.reshape(best, &[all])?, operator.reshape(chosen, &[all])?);
    let kept = settings.detections.min(all);
    let [best, slots] = top_k(operator, best, kept)?;
    let total = operator.builder().reduce(counts, Reduction::Sum, vec![0])?;
    let mut terms = Terms::new(&[I32]);
    let (total_term, most) = (terms.input(0), terms.i32(kept as i32));
    let count = terms.min(total_term, most)?;
    let count = operator.map(&[total], terms.finish(count))?;
    let mut terms = Terms::new(&[I32]);
    let (slot, each_term) = (terms.input(0), terms.i32(each as i32));
    let class = terms.div(slot, each_term)?;
    let classes = operator.map(&[slots], terms.finish(class))?;
    let boxes = rows_of(operator, chosen, slots)?;
    let corners = rows_of(operator, corners, boxes)?;
    let mut results = Vec::new();
    for (value, width) in [(corners, 4), (classes, 1), (best, 1)] {
        let value = operator.reshape(value, &[kept, width])?;
        let value = up_to(operator, value, 0, count, 0.0)?;
        let missing = settings.detections * settings.classes_per_detection - kept;
        results.push(operator.builder().pad(value, vec![0; 2], vec![missing as i64, 0], Scalar::f32(0.0))?);
    }
    Ok(Detections { boxes: results[0], classes: results[1], scores: results[2], count })
}

fn bind(operator: &mut Operator<'_, '_, '_>, settings: &Settings, found: &Detections) -> Lowered {
    let slots = settings.detections * settings.classes_per_detection;
    let boxes = operator.reshape(found.boxes, &[1, slots, 4])?;
    operator.bind(0, boxes)?;
    for (index, value) in [(1, found.classes), (2, found.scores)] {
        let value = operator.reshape(value, &[1, slots])?;
        operator.bind(index, value)?;
    }
    let mut terms = Terms::new(&[I32]);
    let count = terms.input_as(0, F32);
    let count = operator.map(&[found.count], terms.finish(count))?;
    operator.bind(3, count)
}
