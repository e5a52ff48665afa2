//! Operators alone, in shapes with schedules of their own. The kernels of every machine, and the code of this one, are compared with the tensor
//! interpreter.

mod support;

use modelc::ir::interpret::Interpreter;
use modelc::ir::text::parse_module;
use modelc::ir::{ElementType, Module, Tensor, verify};
use modelc::jit::memory::Placement;
use modelc::jit::{Jit, JitOptions};
use modelc::lower::Options;
use modelc::target::host_machine;
use modelc::{passes, pipeline};
use support::program::Memory;

/// Numbers that differ from their neighbours, in the range of a byte.
fn number(i: u64) -> i64 {
    (i.wrapping_mul(2_654_435_761) >> 9) as i64 % 251 - 125
}

/// A tensor of floats or integers; the first elements are given.
fn tensor(element: ElementType, shape: &[u64], first: &[f32]) -> Tensor {
    let bytes = (0..shape.iter().product::<u64>()).flat_map(|i| match element {
        ElementType::F32 => first.get(i as usize).copied().unwrap_or(number(i) as f32 / 8.0).to_le_bytes().to_vec(),
        _ => number(i).to_le_bytes()[..element.bits() as usize / 8].to_vec(),
    });
    Tensor { element, shape: shape.to_vec(), bytes: bytes.collect() }
}

fn module(body: &str) -> Module {
    let mut module = parse_module(body).unwrap_or_else(|error| panic!("{error}\n{body}"));
    verify(&module).unwrap_or_else(|error| panic!("{error}\n{body}"));
    passes::run_all(&mut module);
    module
}

/// A function of tensors with one result, which the body calls `v9`.
fn text(constants: &str, parameters: &[(&str, &Tensor)], body: &str) -> String {
    let list: Vec<String> = parameters.iter().map(|(name, t)| format!("{name}: {}{:?}", t.element, t.shape)).collect();
    let inputs: String = parameters.iter().map(|(name, _)| format!("  input \"{name}\"\n")).collect();
    let list = list.join(", ");
    let results = body.lines().filter(|line| line.starts_with("  v")).count();
    let result = format!("v{}", parameters.len() + results - 1);
    let body = body.replace("v9", &result);
    format!(
        "{constants}func @main({list}) {{\n{body}\n  return {result}\n}}\nmethod \"main\" = @main {{\n{inputs}  output \"result\"\n}}\n"
    )
}

/// Compares kernels of all machines, and this computer's code, with the interpreter. Gives the schedules of this computer's kernels.
fn is_right(text: &str, inputs: &[Tensor], tolerance: f64) -> Vec<String> {
    let module = module(text);
    let wanted = Interpreter::new(&module).run(0, inputs).unwrap_or_else(|error| panic!("{error}"));
    let lowered = |machine| pipeline::lower(&module, "model", Options::new(machine)).unwrap_or_else(|error| panic!("{error}"));
    let is_wanted = |bytes: Vec<u8>, what: &str| {
        let found = Tensor { bytes, ..wanted[0].clone() };
        support::compare(&found, &wanted[0], tolerance).unwrap_or_else(|error| panic!("{what}: {error}"));
    };
    for machine in support::machines() {
        let program = lowered(machine).program;
        let found = Memory::new(&program).call(&program.methods[0], inputs).unwrap_or_else(|error| panic!("{}: {error}", machine.level));
        is_wanted(found[0].clone(), machine.level);
    }
    let host = host_machine().expect("a machine");
    let lowered = lowered(host);
    let options = JitOptions { placement: Placement::AgainstGuard, live: Some(lowered.live.clone()), ..JitOptions::default() };
    let jit = Jit::with_options(&lowered.program, host, options).unwrap_or_else(|error| panic!("{error}"));
    let found = jit.instance().unwrap().call_tensors(0, inputs).unwrap_or_else(|error| panic!("{error}"));
    is_wanted(found[0].bytes.clone(), "this computer");
    lowered.program.methods[0].steps.iter().filter_map(schedule).collect()
}

fn schedule(step: &modelc::program::Step) -> Option<String> {
    modelc::program::calls(std::slice::from_ref(step)).first().map(|call| call.origin.schedule.clone())
}

#[test]
fn shares_of_a_softmax_are_right() {
    let body = "  v1 = reduce v0 { reduction = max, axes = [1] }
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = constant -87.33654
      n4: f32 = constant 0.0
      n5: bool = lt n2, n3
      n6: f32 = max.first n2, n3
      n7: f32 = exp n6
      n8: f32 = select n5, n4, n7
      return n8
    }
  }
  v3 = reduce v2 { reduction = sum, axes = [1] }
  v9 = map v2, v3 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = div n0, n1
      return n2
    }
  }";
    for columns in [5, 49, 100, 1001] {
        let x = tensor(ElementType::F32, &[5, columns], &[f32::NEG_INFINITY, -1e30, 90.0, f32::NEG_INFINITY]);
        is_right(&text("", &[("v0", &x)], body), std::slice::from_ref(&x), 1e-5);
    }
}

#[test]
fn lines_of_a_scan_are_right_side_by_side() {
    for (element, exclusive, reverse) in [(ElementType::F32, false, false), (ElementType::I32, true, true), (ElementType::F32, true, false)]
    {
        for lines in [1, 4, 7] {
            let x = tensor(element, &[lines, 33], &[]);
            let body = format!("  v9 = scan v0 {{ reduction = sum, axis = 1, exclusive = {exclusive}, reverse = {reverse} }}");
            is_right(&text("", &[("v0", &x)], &body), std::slice::from_ref(&x), 0.0);
        }
    }
}

#[test]
fn reversed_rows_are_right() {
    for element in [ElementType::I8, ElementType::I16, ElementType::F32, ElementType::I64] {
        for columns in [3, 16, 37, 130] {
            let x = tensor(element, &[3, columns], &[]);
            let body = format!("  v9 = slice v0 {{ start = [0, {}], size = [3, {columns}], stride = [1, -1] }}", columns - 1);
            is_right(&text("", &[("v0", &x)], &body), std::slice::from_ref(&x), 0.0);
        }
    }
}

/// The least bytes of all and the greatest fill 16 bits where 256 are added.
#[test]
fn sums_of_bytes_are_right() {
    for (element, extreme) in [(ElementType::I8, 0x80), (ElementType::I8, 0x7f), (ElementType::U8, 0xff), (ElementType::I8, 0)] {
        for [rows, columns, channels] in [[2, 600, 20], [3, 5, 64], [1, 256, 33]] {
            let mut x = tensor(element, &[rows, columns, channels], &[]);
            if extreme > 0 {
                x.bytes.fill(extreme);
            }
            let body = format!(
                "  v1 = map v0 {{\n    expression = ({element}) {{\n      n0: {element} = input 0\n      n1: i32 = convert n0\n      return n1\n    }}\n  }}
  v9 = reduce v1 {{ reduction = sum, axes = [0, 1] }}"
            );
            is_right(&text("", &[("v0", &x)], &body), std::slice::from_ref(&x), 0.0);
        }
    }
}

#[test]
fn gathered_rows_are_right() {
    for columns in [3, 64, 67, 300] {
        let x = tensor(ElementType::F32, &[9, columns], &[]);
        let indices =
            Tensor { element: ElementType::I32, shape: vec![4], bytes: [8, 0, 3, 3].iter().flat_map(|n: &i32| n.to_le_bytes()).collect() };
        let body = "  v9 = gather v0, v1 { axis = 0, batch = 0 }";
        is_right(&text("", &[("v0", &x), ("v1", &indices)], body), &[x.clone(), indices], 0.0);
    }
}

/// Windows that rows of the first-level cache do not hold, with and without padding on each side. A border is no product with 0: the first elements
/// would show it.
#[test]
fn depthwise_windows_of_long_rows_are_right() {
    for (window, [low, high], stride) in [(3, [0, 1], 2), (3, [1, 1], 2), (5, [1, 2], 2), (5, [2, 2], 3), (3, [0, 0], 2)] {
        let (channels, height, width) = (50, 7, 57);
        let x = tensor(ElementType::F32, &[1, height, width, channels], &[f32::INFINITY]);
        let numbers: Vec<String> = (0..window * window * channels).map(|i| format!("{:?}", number(i) as f32 / 64.0)).collect();
        let constant = format!("const0: f32[{channels}, {window}, {window}, 1] = [{}]\n", numbers.join(", "));
        let body = format!(
            "  v1 = constant {{ data = const0 }}
  v9 = conv v0, v1 {{ strides = [{stride}, {stride}], dilation = [1, 1], padding_low = [{low}, {low}], padding_high = [{high}, {high}], \
             positions = [], shift = [], input_dilation = [1, 1], groups = {channels}, input_zero_point = 0, filter_zero_point = 0, \
             accumulator = f32 }}"
        );
        let schedules = is_right(&text(&constant, &[("v0", &x)], &body), std::slice::from_ref(&x), 1e-5);
        let is_padded = low + high > 0;
        assert!(schedules.iter().all(|schedule| !schedule.contains("staged")), "{schedules:?}");
        assert!(!is_padded || schedules.iter().any(|schedule| schedule.contains("in place")), "{schedules:?}");
    }
}
