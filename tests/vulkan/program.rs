//! A handwritten program with a GPU part: y = ((x + w)² + 1)² + w. Each square is in a region of its own.
//!
//! The first region computes (x + w)². The CPU adds 1. The second region squares the result and adds w.

use super::modules::{self, LENGTH, Work};
use modelc::codegen::vulkan::{GpuOptions, Modules};
use modelc::ir::{Data, ElementType, PortNotes};
use modelc::kernel::{BufferKind, Kernel, KernelBuilder, Lane, Type};
use modelc::machine::GPUS;
use modelc::program::{
    Address, Blob, Bound, Call, Crossing, Device, DeviceConstant, DeviceKernel, DeviceMemory, DeviceRegion, DeviceStep, Dispatch, Division,
    Method, Origin, Port, Program, Residents, Step, Variable,
};
use std::sync::Arc;

const BYTES: u64 = 4 * LENGTH as u64;
/// The kernels of the device.
const WORKS: [Work; 3] = [Work::Sum, Work::Square, Work::Check];

/// Returns the weights.
pub fn weights() -> Vec<f32> {
    (0..LENGTH).map(|i| i as f32 * 0.25 - 3.0).collect()
}

/// Returns the expected results of the program.
pub fn expected(x: &[f32]) -> Vec<f32> {
    let square = |v: f32| v * v;
    x.iter().zip(weights()).map(|(x, w)| square(square(x + w) + 1.0) + w).collect()
}

/// Makes a CPU kernel; `write` computes the result for each element of two inputs.
fn kernel(name: &str, write: impl Fn(&mut KernelBuilder, [modelc::kernel::Value; 2]) -> modelc::kernel::Value) -> Kernel {
    let mut b = KernelBuilder::new(name);
    let buffers = [("x", BufferKind::Input), ("w", BufferKind::Input), ("y", BufferKind::Output)]
        .map(|(name, kind)| b.buffer(name, kind, Lane::F32, LENGTH.into(), 4));
    b.for_range(0, LENGTH.into(), 4, |b, i| {
        let [x, w] = [buffers[0], buffers[1]].map(|buffer| b.load(buffer, i, 0, 4));
        let y = write(b, [x, w]);
        b.store(buffers[2], i, 0, y);
    });
    b.finish()
}

fn call(kernel: usize, from: Address, to: Address) -> Step {
    Step::Call(Call {
        kernel,
        arguments: vec![from, Address::Constant(0, 0), to],
        bounds: vec![],
        division: Division::Whole,
        origin: Origin::default(),
    })
}

fn port(name: &str) -> Port {
    Port {
        name: name.into(),
        element: ElementType::F32,
        shape: vec![LENGTH.into()],
        dynamic: vec![false],
        bytes: BYTES,
        quantization: None,
        scalar: false,
        value: None,
        notes: PortNotes::default(),
    }
}

fn area(offset: u64) -> Bound {
    Bound { memory: DeviceMemory::Area, offset, bytes: BYTES }
}

const WEIGHTS: Bound = Bound { memory: DeviceMemory::Constants, offset: 256, bytes: BYTES };

fn dispatch(work: Work, bindings: &[Bound]) -> DeviceStep {
    let kernel = WORKS.iter().position(|known| *known == work).unwrap();
    DeviceStep::Dispatch(Dispatch { kernel, bindings: bindings.to_vec(), counts: None, origin: Origin::default() })
}

fn region(steps: Vec<DeviceStep>, from: Address, to: Address, last: u64) -> DeviceRegion {
    let crossing = |host, staging, device| Crossing { host, staging, device, bytes: BYTES, is_extent: false };
    DeviceRegion { enter: vec![crossing(from, 16, 256)], steps, leave: vec![crossing(to, 512, last)] }
}

fn device() -> Device {
    let kernel = |work: &Work| {
        let mut b = KernelBuilder::new(format!("{work:?}").to_lowercase());
        for number in 1..modules::bindings(*work) {
            b.buffer(format!("b{number}"), BufferKind::Input, Lane::F32, if number == 1 { LENGTH.into() } else { 1 }, 4);
        }
        b.buffer("last", BufferKind::Output, Lane::F32, 1, 4);
        b.finish()
    };
    let first =
        vec![dispatch(Work::Sum, &[area(256), WEIGHTS, area(512)]), DeviceStep::Barrier, dispatch(Work::Square, &[area(512), area(768)])];
    let second =
        vec![dispatch(Work::Square, &[area(256), area(512)]), DeviceStep::Barrier, dispatch(Work::Sum, &[area(512), WEIGHTS, area(256)])];
    Device {
        host_calls: vec![],
        residents: None,
        estimate: None,
        machine: &GPUS[0],
        kernels: WORKS.iter().map(kernel).map(DeviceKernel::alone).collect(),
        constants: vec![DeviceConstant { constant: 0, offset: 256 }],
        constant_bytes: 256 + BYTES,
        area_bytes: 1024,
        staging_bytes: 512 + BYTES,
        regions: vec![
            region(first, Address::Input(0, 0), Address::Scratch(0), 768),
            region(second, Address::Scratch(256), Address::Output(0, 0), 256),
        ],
    }
}

/// Returns the program with a change.
pub fn changed(change: impl FnOnce(&mut Device)) -> Program {
    let mut device = device();
    change(&mut device);
    let squares = kernel("squares", |b, [x, w]| {
        let sum = b.add(x, w);
        b.mul(sum, sum)
    });
    let next = kernel("next", |b, [x, _]| {
        let one = b.float(Type::vector(Lane::F32, 4), 1.0);
        b.add(x, one)
    });
    let last = kernel("last", |b, [x, w]| {
        let square = b.mul(x, x);
        b.add(square, w)
    });
    let method = Method {
        name: "forward".into(),
        inputs: vec![port("x")],
        outputs: vec![port("y")],
        steps: vec![
            Step::Region { region: 0, otherwise: vec![call(0, Address::Input(0, 0), Address::Scratch(0))] },
            call(1, Address::Scratch(0), Address::Scratch(256)),
            Step::Region { region: 1, otherwise: vec![call(2, Address::Scratch(256), Address::Output(0, 0))] },
        ],
        scratch_bytes: 512,
        lower_bound: 512,
        optimal: true,
        moving: modelc::program::Moving::default(),
        ..Method::default()
    };
    let weights: Vec<u8> = weights().iter().flat_map(|w| w.to_le_bytes()).collect();
    Program {
        kernels: vec![squares, next, last],
        constants: vec![Blob { name: "w".into(), data: Data::from(weights) }],
        methods: vec![method],
        device: Some(Arc::new(device)),
        ..Program::default()
    }
}

/// Returns the program.
pub fn program() -> Program {
    changed(|_| {})
}

/// Returns the program with a first region that reads the workgroups of its last dispatch from memory.
pub fn counted() -> Program {
    changed(|device| {
        let steps = &mut device.regions[0].steps;
        let Some(DeviceStep::Dispatch(last)) = steps.last_mut() else { panic!("a dispatch is last") };
        last.counts = Some(device.area_bytes);
        steps.insert(steps.len() - 1, DeviceStep::CountBarrier);
        device.area_bytes += Dispatch::COUNT_BYTES;
    })
}

/// Returns the program with a first region that also fails for numbers below 0.
pub fn checked() -> Program {
    changed(|device| {
        let status = Bound { memory: DeviceMemory::Area, offset: 0, bytes: 4 };
        device.regions[0].steps.insert(0, dispatch(Work::Check, &[area(256), area(1024), status]));
        device.area_bytes = 2048;
    })
}

/// Returns the program with a variable v on the device, in place of w in the first sum. It starts as w², and is x² after a call.
pub fn keeping() -> Program {
    changed(|device| {
        let variable = Variable { name: "v".into(), offset: 1024, bytes: BYTES, initial: Some(0), is_copy: false };
        device.area_bytes = 1024 + BYTES;
        device.regions[0].steps = vec![
            dispatch(Work::Sum, &[area(256), area(1024), area(512)]),
            DeviceStep::Barrier,
            dispatch(Work::Square, &[area(512), area(768)]),
            dispatch(Work::Square, &[area(256), area(1024)]),
        ];
        let first = DeviceRegion { steps: vec![dispatch(Work::Square, &[WEIGHTS, area(1024)])], ..DeviceRegion::default() };
        device.residents = Some(Residents { variables: vec![variable], region: device.regions.len() });
        device.regions.push(first);
    })
}

/// Returns the expected results of that program if the variable is the square of `from`.
pub fn expected_keeping(x: &[f32], from: &[f32]) -> Vec<f32> {
    let square = |v: f32| v * v;
    let of_one = |((x, from), w): ((&f32, &f32), f32)| square(square(x + square(*from)) + 1.0) + w;
    x.iter().zip(from).zip(weights()).map(of_one).collect()
}

/// Returns options with the kernels of the device.
pub fn options(required: bool) -> GpuOptions {
    let modules = Modules { words: WORKS.map(modules::module).into(), groups: vec![modules::groups(); WORKS.len()] };
    GpuOptions { required, modules: Some(Arc::new(modules)), ..GpuOptions::default() }
}
