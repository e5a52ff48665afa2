//! Constant methods in C: methods without inputs whose outputs are the same in every call.
//!
//! `get_dim`, a scalar, is `NET_GET_DIM_VALUE`. Several scalars, or the elements of a tensor, are `NET_GET_ENDS_VALUES` and
//! `NET_GET_ENDS_COUNT`. The method also has a function, like every method.

use super::c_text::c_type;
use crate::ir::{ElementType, Scalar};
use crate::program::{Method, Port};
use std::fmt::Write;

/// Limit of the elements in the header, because people read it; larger tensors are only returned by the method.
const MOST_ELEMENTS: usize = 4096;

/// Declares the values of a constant method; writes nothing for other methods. `upper` is `NET_GET_DIM`.
pub fn declare(text: &mut String, method: &Method, upper: &str) {
    let Some(element) = element(method) else { return };
    let numbers: Vec<String> = method.outputs.iter().flat_map(numbers).collect();
    if numbers.is_empty() || numbers.len() > MOST_ELEMENTS {
        return;
    }
    if let ([number], [Port { scalar: true, .. }]) = (&numbers[..], &method.outputs[..]) {
        let ty = c_type(element);
        let _ = write!(
            text,
            "#ifdef __cplusplus\n#define {upper}_VALUE static_cast<{ty}>({number})\n#else\n#define {upper}_VALUE (({ty}){number})\n#endif\n"
        );
        return;
    }
    let _ = writeln!(text, "#define {upper}_COUNT {}", numbers.len());
    let _ = writeln!(text, "static const {} {upper}_VALUES[{upper}_COUNT] = {{ {} }};", c_type(element), numbers.join(", "));
}

/// Returns the common type of all outputs of a constant method, if C has numbers of it.
fn element(method: &Method) -> Option<ElementType> {
    let first = method.outputs.first()?.element;
    let plain = first.bits() >= 8 && !matches!(first, ElementType::F16 | ElementType::Bf16 | ElementType::C64 | ElementType::C128);
    let constant = method.inputs.is_empty() && method.outputs.iter().all(|port| port.value.is_some() && port.element == first);
    (plain && constant).then_some(first)
}

/// Returns the elements of an output as C literals.
fn numbers(port: &Port) -> Vec<String> {
    let size = (port.element.bits() / 8).max(1) as usize;
    let bytes = port.value.as_ref().map_or(&[][..], |value| value.bytes());
    let number = |bytes: &[u8]| literal(Scalar::from_bytes(port.element, bytes));
    bytes.chunks_exact(size).map(number).collect()
}

/// Formats a number so that C99 and C++17 read it back exactly, without a library.
fn literal(number: Scalar) -> String {
    let element = number.element();
    if element.is_float() {
        let value = number.as_f64();
        let suffix = if element == ElementType::F32 { "f" } else { "" };
        return match value {
            _ if value.is_nan() => format!("(0.0{suffix} / 0.0{suffix})"),
            _ if value.is_infinite() => format!("({}1.0{suffix} / 0.0{suffix})", if value < 0.0 { "-" } else { "" }),
            // The shortest decimal in the type's own precision.
            _ if element == ElementType::F32 => format!("{:?}f", value as f32),
            _ => format!("{value:?}"),
        };
    }
    match (element, number.as_i64()) {
        // Minus applies to a literal that would be one too large.
        (ElementType::I64, i64::MIN) => "(-9223372036854775807 - 1)".into(),
        (ElementType::I32, -2_147_483_648) => "(-2147483647 - 1)".into(),
        (ElementType::U64, value) => format!("{}u", value as u64),
        (_, value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(element: ElementType, shape: &[u64], bytes: &[u8]) -> Port {
        Port {
            name: String::new(),
            element,
            shape: shape.to_vec(),
            dynamic: vec![false; shape.len()],
            bytes: bytes.len() as u64,
            quantization: None,
            scalar: shape.is_empty(),
            value: Some(bytes.to_vec().into()),
            notes: crate::ir::PortNotes::default(),
        }
    }

    fn declared(outputs: Vec<Port>) -> String {
        let method = Method { name: "m".into(), outputs, optimal: true, ..Method::default() };
        let mut text = String::new();
        declare(&mut text, &method, "NET_M");
        text
    }

    #[test]
    fn numbers_are_macros_and_lists_arrays() {
        let cast = |ty: &str, number: &str| {
            format!(
                "#ifdef __cplusplus\n#define NET_M_VALUE static_cast<{ty}>({number})\n#else\n#define NET_M_VALUE (({ty}){number})\n#endif\n"
            )
        };
        let number = |value: i64| output(ElementType::I64, &[], &value.to_le_bytes());
        assert_eq!(declared(vec![number(16)]), cast("int64_t", "16"));
        let list = "#define NET_M_COUNT 2\nstatic const int64_t NET_M_VALUES[NET_M_COUNT] = { 1, (-9223372036854775807 - 1) };\n";
        assert_eq!(declared(vec![number(1), number(i64::MIN)]), list);
        assert_eq!(declared(vec![output(ElementType::F64, &[], &7.5f64.to_le_bytes())]), cast("double", "7.5"));
        assert_eq!(declared(vec![output(ElementType::Bool, &[], &[1])]), cast("uint8_t", "1"));
        let table = output(ElementType::F32, &[2], &[0.1f32, f32::NEG_INFINITY].map(f32::to_le_bytes).concat());
        assert!(declared(vec![table]).ends_with("static const float NET_M_VALUES[NET_M_COUNT] = { 0.1f, (-1.0f / 0.0f) };\n"));
    }

    #[test]
    fn other_methods_have_none() {
        let number = output(ElementType::I64, &[], &[0; 8]);
        assert_eq!(declared(vec![]), "");
        assert_eq!(declared(vec![number.clone(), Port { value: None, ..number.clone() }]), "");
        assert_eq!(declared(vec![number, output(ElementType::Bool, &[], &[1])]), "", "types differ");
    }
}
