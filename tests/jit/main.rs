//! Programs in memory: the same answers as from an object or the interpreter, the checking modes, profiles.

mod extents;
#[path = "../handmade/mod.rs"]
mod handmade;
mod memory;
mod modes;
mod rounding;

use modelc::ir::text::parse_module;
use modelc::ir::{self, Function, Method, Module, Port, Type, Value};
use modelc::lower::{Lowered, Options};
use modelc::pipeline;
use modelc::program::calls;
use modelc::target::host_machine;

/// Parses a module. If it has no methods, one is added for its last function.
fn parsed(text: &str) -> Module {
    let mut module = parse_module(text).unwrap_or_else(|error| panic!("{error}"));
    if module.methods.is_empty() {
        let function = module.functions.keys().next_back().expect("a function");
        let Function { params, results, .. } = &module.functions[function];
        let ports = |values: &[Value]| {
            let tensors = values.iter().filter(|&&value| matches!(module.functions[function].values[value].ty, Type::Tensor(_)));
            tensors.map(|_| Port::default()).collect()
        };
        let (inputs, outputs) = (ports(params), ports(results));
        module.methods.push(Method { name: "main".into(), function, inputs, outputs });
    }
    ir::verify(&module).unwrap_or_else(|error| panic!("{error}"));
    module
}

/// Parses a module, and lowers it for this computer.
fn lowered_text(text: &str) -> (Module, Lowered) {
    let module = parsed(text);
    let options = Options::new(host_machine().unwrap());
    let lowered = pipeline::lower(&module, "text", options).unwrap_or_else(|error| panic!("{error}"));
    (module, lowered)
}

fn lowered(text: &str) -> Lowered {
    lowered_text(text).1
}

/// Returns the schedules of a method's kernel calls.
fn schedules(lowered: &Lowered) -> Vec<&str> {
    calls(&lowered.program.methods[0].steps).iter().map(|call| call.origin.schedule.as_str()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|f| f.to_le_bytes()).collect()
}

fn numbers(shape: &[u64], seed: u64) -> ir::Tensor {
    let count = shape.iter().product::<u64>();
    let number = |i: u64| ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 977) >> 7) % 41) as f32 / 8.0 - 2.5;
    ir::Tensor { element: ir::ElementType::F32, shape: shape.to_vec(), bytes: (0..count).flat_map(|i| number(i).to_le_bytes()).collect() }
}
