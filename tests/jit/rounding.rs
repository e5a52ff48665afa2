//! Rounding of floats, and the order in which they are summed and sorted.

use super::{lowered_text, numbers, parsed, schedules};
use modelc::ir;
use modelc::jit::Jit;
use modelc::lower::{Options, PlanSource};
use modelc::pipeline;
use modelc::target::host_machine;

/// A convolution with 4,608 products, computed in bands. A band alone would have too few products for fused operations; its sums still equal
/// those of the whole.
#[test]
fn a_small_convolution_in_bands_has_the_sums_of_the_whole() {
    let weights: Vec<String> = (0..72).map(|i| format!("{:?}", (i * 37 % 19) as f32 * 0.37 - 3.1)).collect();
    let weights = weights.join(", ");
    let text = format!(
        r#"const0: f32[8, 3, 3, 1] = [{weights}]
func @main(v0: f32[1, 8, 8, 1]) {{
  v1 = constant {{ data = const0 }}
  v2 = conv v0, v1 {{ strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }}
  v3 = window v2 {{ reduction = max, summation = rows, size = [2, 2], strides = [2, 2], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }}
  return v3
}}
"#
    );
    let module = parsed(&text);
    let options = Options::new(host_machine().unwrap());
    let [cut, whole] = [PlanSource::Smallest, PlanSource::Program].map(|plan| {
        let lowered = pipeline::lower(&module, "text", Options { plan, ..options }).unwrap_or_else(|error| panic!("{error}"));
        let outputs =
            Jit::new(&lowered.program, options.machine).unwrap().instance().unwrap().call_tensors(0, &[numbers(&[1, 8, 8, 1], 0)]);
        (schedules(&lowered).len(), outputs.unwrap_or_else(|error| panic!("{error}")))
    });
    assert!(cut.0 > whole.0, "{} kernels in bands, {} of the whole", cut.0, whole.0);
    assert_eq!(cut.1, whole.1);
}

/// Sums of 16-bit floats are rounded when they are stored, as in the interpreter.
#[test]
fn sums_of_halves_are_rounded_where_they_are_stored() {
    for element in ["f16", "bf16"] {
        let text = format!(
            r#"func @main(v0: {element}[2, 12], v1: i32[3], v2: {element}[3, 12]) {{
  v3 = scan v0 {{ reduction = sum, axis = 1, exclusive = false, reverse = false }}
  v4 = scatter v3, v1, v2 {{ axis = 0, batch = 0, combination = sum, skips_negative = false }}
  return v3, v4
}}
"#
        );
        let module = parsed(&text);
        let ty = if element == "f16" { ir::ElementType::F16 } else { ir::ElementType::Bf16 };
        // Numbers between 1 and 2 with all digits in use, so that no sum is exact.
        let one = if element == "f16" { 0x3C00u16 } else { 0x3F80 };
        let mask = if element == "f16" { 0x3FF } else { 0x7F };
        let numbers = |count: u16| (0..count).flat_map(|i| (one | (i.wrapping_mul(37) & mask)).to_le_bytes()).collect();
        let inputs = [
            ir::Tensor { element: ty, shape: vec![2, 12], bytes: numbers(24) },
            ir::Tensor {
                element: ir::ElementType::I32,
                shape: vec![3],
                bytes: [1i32, 0, 1].iter().flat_map(|i| i.to_le_bytes()).collect(),
            },
            ir::Tensor { element: ty, shape: vec![3, 12], bytes: numbers(36) },
        ];
        let options = Options::new(host_machine().unwrap());
        let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
        let found = Jit::new(&lowered.program, options.machine).unwrap().instance().unwrap().call_tensors(0, &inputs).unwrap();
        let expected = ir::interpret::Interpreter::new(&module).run(0, &inputs).unwrap();
        assert_eq!(found, expected, "{element}");
    }
}

/// The order of half-precision numbers differs from the order of their bits.
#[test]
fn top_k_orders_half_precision() {
    for (element, bits) in [
        ("f16", [0xbc00u16, 0x3c00, 0xc000, 0x0000, 0x8000, 0x7e00, 0xfc00]),
        ("bf16", [0xbf80, 0x3f80, 0xc000, 0, 0x8000, 0x7fc0, 0xff80]),
    ] {
        for order in ["largest", "smallest"] {
            let text =
                format!("func @main(v0: {element}[7]) {{\n  v1, v2 = top_k v0 {{ order = {order}, count = [7] }}\n  return v1, v2\n}}\n");
            let (module, lowered) = lowered_text(&text);
            let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap();
            let ty = if element == "f16" { ir::ElementType::F16 } else { ir::ElementType::Bf16 };
            let input = ir::Tensor { element: ty, shape: vec![7], bytes: bits.iter().flat_map(|n| n.to_le_bytes()).collect() };
            let found = jit.instance().unwrap().call_tensors(0, std::slice::from_ref(&input)).unwrap();
            assert_eq!(found, ir::interpret::Interpreter::new(&module).run(0, &[input]).unwrap(), "{element} {order}");
        }
    }
}

/// A 32-bit sum wraps before it is clamped, even if narrowing instructions could clamp its operands.
#[test]
fn sums_wrap_before_they_are_narrowed() {
    let bounds = [("i8", -128, 127), ("i8", -5, 127), ("u8", 0, 255), ("i16", -32768, 32767)];
    for (added, (element, low, high)) in [100, -100, 8191].into_iter().flat_map(|added| bounds.map(|bounds| (added, bounds))) {
        let text = format!(
            "func @main(v0: i32[64]) {{
              v1 = map v0 {{
                expression = (i32) {{
                  n0: i32 = input 0
                  n1: i32 = constant {added}
                  n2: i32 = add n0, n1
                  n3: i32 = constant {low}
                  n4: i32 = max.first n2, n3
                  n5: i32 = constant {high}
                  n6: i32 = min.first n4, n5
                  n7: {element} = convert n6
                  return n7
                }}
              }}
              return v1
            }}"
        );
        let (module, lowered) = lowered_text(&text);
        let numbers = (0..64i32).map(|i| if i % 2 == 0 { i32::MAX - i } else { i32::MIN + i });
        let bytes = numbers.flat_map(i32::to_le_bytes).collect();
        let input = ir::Tensor { element: ir::ElementType::I32, shape: vec![64], bytes };
        let jit = Jit::new(&lowered.program, host_machine().unwrap()).unwrap();
        let found = jit.instance().unwrap().call_tensors(0, std::slice::from_ref(&input)).unwrap();
        assert_eq!(found, ir::interpret::Interpreter::new(&module).run(0, &[input]).unwrap(), "{added} to {element}");
    }
}
