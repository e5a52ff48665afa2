//! A small handwritten program with one of everything: constants, variables, scratch memory, branches, loops, scalar arguments, an error
//! status, a method without inputs.

use modelc::ir::{Data, ElementType, PortNotes, Quantization};
use modelc::kernel::{BinaryOp, Buffer, BufferKind, CompareOp, ConvertOp, Kernel, KernelBuilder, Lane, Type, Value};
use modelc::machine::Alignment;
use modelc::program::{Address, Blob, Call, Division, Method, Origin, Port, Program, Step, Variable};

/// Elements of `forward`'s first input.
pub const LENGTH: u64 = 37;
/// Scratch bytes of `forward`.
pub const FORWARD_SCRATCH: u64 = LENGTH;

/// Makes a kernel with the same operation on every element of its buffers; the last buffer is written.
fn elementwise(name: &str, lanes: &[Lane], length: u64, body: impl Fn(&mut KernelBuilder, &[Value]) -> Value) -> Kernel {
    let mut b = KernelBuilder::new(name);
    let last = lanes.len() - 1;
    let buffers: Vec<Buffer> = (lanes.iter().enumerate())
        .map(|(i, &lane)| {
            let kind = if i == last { BufferKind::Output } else { BufferKind::Input };
            b.buffer(format!("b{i}"), kind, lane, length, lane.bytes())
        })
        .collect();
    b.for_range(0, length as i64, 1, |b, i| {
        let values: Vec<_> = buffers[..last].iter().map(|&buffer| b.load(buffer, i, 0, 1)).collect();
        let value = body(b, &values);
        b.store(buffers[last], i, 0, value);
    });
    b.finish()
}

fn copy(name: &str, lane: Lane, length: u64) -> Kernel {
    elementwise(name, &[lane, lane], length, |_, v| v[0])
}

/// count += 1; out = count
fn tick() -> Kernel {
    let mut b = KernelBuilder::new("op3_tick");
    let count = b.buffer("count", BufferKind::Output, Lane::I32, 1, 4);
    let out = b.buffer("out", BufferKind::Output, Lane::I32, 1, 4);
    let zero = b.index(0);
    let old = b.load(count, zero, 0, 1);
    let one = b.int(Type::scalar(Lane::I32), 1);
    let new = b.add(old, one);
    b.store(count, zero, 0, new);
    b.store(out, zero, 0, new);
    b.finish()
}

/// counter += 1; more = counter < end
fn step() -> Kernel {
    let mut b = KernelBuilder::new("op4_step");
    let end = b.buffer("end", BufferKind::Input, Lane::I64, 1, 8);
    let counter = b.buffer("counter", BufferKind::Output, Lane::I64, 1, 8);
    let more = b.buffer("more", BufferKind::Output, Lane::I8, 1, 1);
    let zero = b.index(0);
    let (last, old, one) = (b.load(end, zero, 0, 1), b.load(counter, zero, 0, 1), b.index(1));
    let new = b.add(old, one);
    b.store(counter, zero, 0, new);
    let less = b.compare(CompareOp::Less, new, last);
    let truth = b.convert(ConvertOp::MaskToInteger, less, Lane::I8);
    b.store(more, zero, 0, truth);
    b.finish()
}

/// out = in, unless a byte is negative
fn guarded() -> Kernel {
    let mut b = KernelBuilder::new("op5_guarded");
    let x = b.buffer("x", BufferKind::Input, Lane::I8, 2, 1);
    let y = b.buffer("y", BufferKind::Output, Lane::I8, 2, 1);
    b.for_range(0, 2, 1, |b, i| {
        let value = b.load(x, i, 0, 1);
        let zero = b.int(Type::scalar(Lane::I8), 0);
        let negative = b.compare(CompareOp::Less, value, zero);
        b.fail_if(negative, -12);
        b.store(y, i, 0, value);
    });
    b.finish()
}

fn kernels() -> Vec<Kernel> {
    use Lane::{F32, I8, I32, I64};
    vec![
        elementwise("op0_add", &[I8, I8, I8], LENGTH, |b, v| b.add(v[0], v[1])),
        elementwise("op1_double", &[I8, I8], LENGTH, |b, v| b.add(v[0], v[0])),
        elementwise("op2_scale", &[F32, F32], 3, |b, v| {
            let two = b.float(Type::scalar(F32), 2.0);
            b.binary(BinaryOp::Mul, v[0], two)
        }),
        tick(),
        step(),
        guarded(),
        elementwise("op6_increment", &[I32, I32], 1, |b, v| {
            let one = b.int(Type::scalar(I32), 1);
            b.add(v[0], one)
        }),
        elementwise("op7_double", &[I32, I32], 1, |b, v| b.add(v[0], v[0])),
        copy("op8_copy", I32, 1),
        copy("op9_copy", I64, 1),
        elementwise("op10_zero", &[I64], 1, |b, _| b.index(0)),
    ]
}

fn port(name: &str, element: ElementType, shape: &[u64]) -> Port {
    let bytes = element.bytes_for(shape.iter().product()).unwrap();
    Port {
        name: name.into(),
        element,
        shape: shape.to_vec(),
        dynamic: vec![false; shape.len()],
        bytes,
        quantization: None,
        scalar: false,
        value: None,
        notes: PortNotes::default(),
    }
}

fn quantized(port: Port) -> Port {
    Port { quantization: Some(Quantization { scales: vec![0.5], zero_points: vec![-3], axis: 0 }), ..port }
}

fn call(kernel: usize, arguments: &[Address]) -> Step {
    let operators = vec![(kernel as u32, format!("OP_{kernel}"))];
    let (tensors, schedule) = (vec!["t".into()], "by hand".into());
    let origin = Origin { operators, tensors, schedule, multiply_accumulates: 1, bytes: 2, ..Origin::default() };
    Step::Call(Call { kernel, arguments: arguments.to_vec(), bounds: vec![], division: Division::Whole, origin })
}

fn method(name: &str, inputs: Vec<Port>, outputs: Vec<Port>, scratch_bytes: u64, steps: Vec<Step>) -> Method {
    Method {
        name: name.into(),
        inputs,
        outputs,
        steps,
        scratch_bytes,
        lower_bound: scratch_bytes,
        optimal: true,
        moving: modelc::program::Moving::default(),
        ..Method::default()
    }
}

fn methods() -> Vec<Method> {
    use Address::{Constant, Input, Output, Scratch, Variable};
    use ElementType::{Bool, F32, I8, I32, I64};
    let number = |name: &str| Port { scalar: true, ..port(name, I64, &[]) };
    vec![
        method(
            "forward",
            vec![quantized(port("in \"0\" ?\u{3f}/ */ é", I8, &[1, LENGTH])), port("in1", F32, &[3])],
            vec![port("out0", I8, &[LENGTH]), port("out1", F32, &[3]), port("count", I32, &[])],
            FORWARD_SCRATCH,
            vec![
                call(0, &[Input(0, 0), Constant(1, 0), Scratch(0)]),
                call(2, &[Input(1, 0), Output(1, 0)]),
                call(1, &[Scratch(0), Output(0, 0)]),
                call(3, &[Variable(64), Output(2, 0)]),
            ],
        ),
        method(
            "count_to",
            vec![number("end")],
            vec![number("counted")],
            64,
            vec![
                call(10, &[Scratch(8)]),
                Step::While {
                    head: vec![call(4, &[Input(0, 0), Scratch(8), Scratch(1)])],
                    condition: Scratch(1),
                    body: vec![call(9, &[Scratch(8), Scratch(16)])],
                },
                call(9, &[Scratch(8), Output(0, 0)]),
            ],
        ),
        method(
            "choose",
            vec![port("which", Bool, &[]), port("x", I32, &[])],
            vec![port("y", I32, &[])],
            8,
            vec![Step::If {
                condition: Input(0, 0),
                then: vec![call(6, &[Input(1, 0), Output(0, 0)])],
                otherwise: vec![call(7, &[Input(1, 0), Scratch(4)]), call(8, &[Scratch(4), Output(0, 0)])],
            }],
        ),
        method("check", vec![port("x", I8, &[2])], vec![port("y", I8, &[2])], 0, vec![call(5, &[Input(0, 0), Output(0, 0)])]),
        method("tick", vec![], vec![port("count", I32, &[])], 0, vec![call(3, &[Variable(64), Output(0, 0)])]),
    ]
}

/// Returns the program.
pub fn program() -> Program {
    let blob = |name: &str, bytes: Vec<u8>| Blob { name: name.into(), data: Data::from(bytes) };
    Program {
        kernels: kernels(),
        constants: vec![
            blob("first", 5i32.to_le_bytes().to_vec()),
            blob("table", (0..LENGTH).map(|i| (3 * i) as u8).collect()),
            blob("long", (0..83).collect()),
        ],
        variables: vec![
            Variable { name: "zeros".into(), offset: 0, bytes: 13, initial: None, is_copy: false },
            Variable { name: "count".into(), offset: 64, bytes: 4, initial: Some(0), is_copy: false },
            Variable { name: "long".into(), offset: 128, bytes: 83, initial: Some(2), is_copy: false },
        ],
        alignment: Alignment::LINE,
        variable_bytes: 211,
        copies: vec![],
        methods: methods(),
        device: None,
        max_iterations: None,
    }
}
