//! Scales, zero points and the conversions of a quantized input or output, in C.

use crate::ir::{ElementType, Quantization};
use crate::program::Port;
use std::fmt::Write;

/// The shared conversions, with TFLite's rounding (to nearest, halves away from zero) and without libm. The product of a scale and a difference
/// of up to 24 bits is rounded once, as in TFLite's double arithmetic.
pub const SHARED: &str = "\
#ifdef __cplusplus
#define MODELC_CAST(type, value) static_cast<type>(value)
#else
#define MODELC_CAST(type, value) ((type)(value))
#endif
static inline int32_t modelc_quantize(float value, float scale, int32_t zero_point, int32_t low, int32_t high)
{
  float scaled = value / scale;
  int32_t whole;
  if (scaled != scaled) return zero_point; /* not a number */
  if (scaled >= 16777216.0f) return high;
  if (scaled <= -16777216.0f) return low;
  whole = MODELC_CAST(int32_t, scaled);
  scaled -= MODELC_CAST(float, whole);
  if (scaled >= 0.5f) whole++;
  if (scaled <= -0.5f) whole--;
  whole += zero_point;
  return whole < low ? low : whole > high ? high : whole;
}
";

/// Returns the quantization of a port, and the range of its elements. `None` for ports that are not quantized to 16 bits or less, or whose
/// parameters no language can write.
pub fn writable(port: &Port) -> Option<(&Quantization, (i128, i128))> {
    let quantization = port.quantization.as_ref()?;
    let is_finite = !quantization.scales.is_empty() && quantization.scales.iter().all(|s| s.is_finite() && *s > 0.0);
    c_type(port.element)?;
    (is_finite && quantization.zero_points.len() == quantization.scales.len()).then_some((quantization, port.element.integer_range()?))
}

/// Declares macros and functions of one port; `lower` is `net_forward_in0`, `upper` is `NET_FORWARD_IN0`. Writes nothing for ports without
/// [`writable`] parameters.
pub fn declare(text: &mut String, port: &Port, lower: &str, upper: &str) {
    let (Some((quantization, (low, high))), Some(ty)) = (writable(port), c_type(port.element)) else {
        return;
    };
    let per_channel = quantization.scales.len() > 1;
    parameters(text, quantization, upper, per_channel);
    let (more, index) = if per_channel { (", size_t channel", "[channel]") } else { ("", "") };
    let _ = write!(
        text,
        "static inline {ty} {lower}_quantize(float value{more})\n{{\n  return MODELC_CAST({ty}, modelc_quantize(value, {upper}_SCALE{index}, \
         {upper}_ZERO_POINT{index}, {low}, {high}));\n}}\n\
         static inline float {lower}_dequantize({ty} value{more})\n{{\n  return {upper}_SCALE{index} * MODELC_CAST(float, MODELC_CAST(int32_t, value) - \
         {upper}_ZERO_POINT{index});\n}}\n"
    );
}

fn parameters(text: &mut String, quantization: &Quantization, upper: &str, per_channel: bool) {
    let scales: Vec<_> = quantization.scales.iter().map(|scale| format!("{scale:?}f")).collect();
    let points: Vec<_> = quantization.zero_points.iter().map(ToString::to_string).collect();
    let _ = if per_channel {
        let count = scales.len();
        write!(
            text,
            "static const float {upper}_SCALE[{count}] = {{ {} }};\nstatic const int32_t {upper}_ZERO_POINT[{count}] = {{ {} }};\n",
            scales.join(", "),
            points.join(", ")
        )
    } else {
        write!(text, "#define {upper}_SCALE {}\n#define {upper}_ZERO_POINT ({})\n", scales[0], points[0])
    };
}

/// Returns the type of a single element; packed numbers have a byte each.
fn c_type(element: ElementType) -> Option<&'static str> {
    match element {
        ElementType::I2 | ElementType::I4 | ElementType::I8 => Some("int8_t"),
        ElementType::U4 | ElementType::U8 => Some("uint8_t"),
        ElementType::I16 => Some("int16_t"),
        ElementType::U16 => Some("uint16_t"),
        _ => None,
    }
}
