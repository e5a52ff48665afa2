//! TFLite_Detection_PostProcess: boxes decoded from anchors, the best of overlapping boxes, and their classes.

use super::error::{invalid, unsupported};
use super::external;
use super::flexbuffer::Options;
use super::operator::{Lowered, Operand, Operator};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::{ElementType, Extent, Value};
use crate::operators::detection::{self, Detection, Detections};
use crate::operators::terms::Terms;
use ElementType::{F32, I32, U8};

/// The operator's options, and the number of classes.
struct Settings {
    detection: Detection,
    classes: u64,
}

impl Settings {
    fn read(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let options = Options::read(bytes).ok_or_else(|| invalid(codes::OPTIONS_UNREADABLE, "the options are not a map of numbers"))?;
        // A missing option is 0, as in the format's own reader.
        let number = |name: &str| options.number(name).unwrap_or(0.0);
        let count = |name: &str, default: f64| {
            let found = options.number(name).unwrap_or(default);
            let whole = (0.0..=65536.0).contains(&found).then_some(found as u64);
            whole.ok_or_else(|| {
                invalid(codes::OPTION_RANGE, format!("the option {name} is out of range")).expected("0 to 65536", found.to_string())
            })
        };
        let detection = Detection {
            detections: count("max_detections", 0.0)?,
            classes_per_detection: count("max_classes_per_detection", 0.0)?,
            detections_per_class: count("detections_per_class", 100.0)?,
            by_class: number("use_regular_nms") != 0.0,
            score_threshold: number("nms_score_threshold") as f32,
            overlap_threshold: number("nms_iou_threshold") as f32,
            scales: ["y_scale", "x_scale", "h_scale", "w_scale"].map(|name| number(name) as f32),
        };
        let classes = count("num_classes", 0.0)?;
        let counts = [detection.detections, detection.classes_per_detection, detection.detections_per_class, classes];
        if counts.contains(&0) {
            return Err(invalid(codes::OPTION_RANGE, "a count among the options is zero"));
        }
        if !(detection.overlap_threshold > 0.0 && detection.overlap_threshold <= 1.0) {
            let found = detection.overlap_threshold.to_string();
            return Err(invalid(codes::OPTION_RANGE, "the overlap threshold is out of range").expected("above 0, at most 1", found));
        }
        Ok(Self { detection, classes })
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
    let scores = real(operator, &scores)?;
    let scores = operator.reshape(scores, &[*count, *classes])?;
    let scores = operator.graph().slice_along(scores, 1, Extent::Static(background), Extent::Static(settings.classes))?;
    let found = detection::detect(operator.graph(), &settings.detection, [encoded, scores, anchor_values])?;
    bind(operator, &settings.detection, &found)
}

fn bind(operator: &mut Operator<'_, '_, '_>, settings: &Detection, found: &Detections) -> Lowered {
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
