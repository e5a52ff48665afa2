//! Custom operators that models in the wild have.

use super::activation::Activation;
use super::convolution::{self, Convolution, Kind};
use super::matrix::{transposed, turned};
use super::operator::{Lowered, Operator, invalid};
use super::registry::Lower;
use super::{detection, signal, unpooling};
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::F32;
use crate::ir::WindowGeometry;
use crate::schema::tflite::TensorType as TypeCode;

/// Every custom operator that is compiled, in the order of their names.
pub(super) const SUPPORTED: &[(&str, Lower)] = &[
    ("Convolution2DTransposeBias", transpose_bias),
    ("MaxPoolingWithArgmax2D", unpooling::max_pool_with_positions),
    ("MaxUnpooling2D", unpooling::max_unpool),
    ("SignalDelay", signal::delay),
    ("SignalEnergy", signal::energy),
    ("SignalFftAutoScale", signal::auto_scale),
    ("SignalFilterBank", signal::filter_bank),
    ("SignalFilterBankLog", signal::filter_bank_log),
    ("SignalFilterBankSpectralSubtraction", signal::spectral_subtraction),
    ("SignalFilterBankSquareRoot", signal::filter_bank_square_root),
    ("SignalFramer", signal::framer),
    ("SignalIrfft", signal::inverse_real_fourier),
    ("SignalOverlapAdd", signal::overlap_add),
    ("SignalPCAN", signal::pcan),
    ("SignalRfft", signal::real_fourier),
    ("SignalStacker", signal::stacker),
    ("SignalWindow", signal::window),
    ("TFLite_Detection_PostProcess", detection::post_process),
];

/// MediaPipe's transposed convolution with a bias: input `[N, h, w, C]`, filter `[O, kh, kw, C]`, bias `[O]`. Its options are three
/// 32-bit numbers: the padding (1 for SAME, 2 for VALID), the step along the width, and the step along the height.
fn transpose_bias(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(3..=3, 1..=1)?;
    let [padding, stride_width, stride_height] = numbers(operator)?;
    let (input, filter) = (operator.input(0)?, operator.input(1)?);
    let types = [input.element(), filter.element(), operator.output(0)?.element];
    if types != [F32; 3] {
        return Err(operator.type_error(&types));
    }
    if input.rank() != 4 || filter.rank() != 4 || filter.shape[3] != input.shape[3] {
        let found = format!("{:?} with {:?}", input.shape, filter.shape);
        return Err(invalid(311, "shapes of input and filter do not fit").expected("[N, h, w, C] with [O, kh, kw, C]", found));
    }
    let strides = [stride_height, stride_width].map(i64::from);
    let too_large = || invalid(312, "strides and windows must be positive and small");
    let mut wanted = vec![];
    let mut forward = WindowGeometry { strides: strides.to_vec(), dilation: vec![1; 2], ..WindowGeometry::default() };
    for (d, &stride) in strides.iter().enumerate() {
        let (extent, taps) = (input.shape[d + 1] as i64, filter.shape[d + 1] as i64);
        let small = |n: i64| (1..1 << 31).contains(&n);
        if !(small(stride) && small(extent) && small(taps)) {
            return Err(too_large());
        }
        let total = match padding {
            1 => (taps - (extent - 1) % stride - 1).max(0),
            2 => 0,
            other => return Err(invalid(313, "unknown padding").expected("1 or 2", other.to_string())),
        };
        let output = stride * (extent - 1) + taps - total;
        wanted.push(u64::try_from(output).ok().filter(|&n| n > 0).ok_or_else(too_large)?);
        forward.padding_low.push(total / 2);
        forward.padding_high.push(total - total / 2);
    }
    let convolution = Convolution {
        filter_value: turned(operator, &filter)?,
        channel_axis: 0,
        channels: filter.shape[0],
        groups: 1,
        geometry: transposed(&forward, &input.shape[1..3], &filter.shape[1..3], &wanted)?,
        activation: Activation::NONE,
        bias_type: TypeCode::FLOAT32,
        kind: Kind::Transposed,
        input_dilation: strides,
        size: Some([wanted[0], wanted[1]]),
        bias_operand: 2,
        input,
        filter,
    };
    convolution::lower(operator, &convolution)
}

/// The first three numbers of the options.
fn numbers(operator: &Operator<'_, '_, '_>) -> Result<[i32; 3], Diagnostic> {
    let bytes = operator.record.custom_options().map(|options| options.bytes()).unwrap_or_default();
    let number = |i: usize| Some(i32::from_le_bytes(bytes.get(4 * i..4 * i + 4)?.try_into().ok()?));
    let short = || invalid(211, "the operator's options are too short").expected("12 bytes", format!("{} bytes", bytes.len()));
    Ok([number(0).ok_or_else(short)?, number(1).ok_or_else(short)?, number(2).ok_or_else(short)?])
}
