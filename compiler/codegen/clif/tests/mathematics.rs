//! Tests of mathematical functions on every machine. They must give the bits of the kernel interpreter, whose errors are measured in its own tests.

use super::engines::check;
use super::{Case, Random, bytes};
use modelc_kernel::interpret::interpret;
use modelc_kernel::mathematics::Arithmetic;
use modelc_kernel::{BufferKind, Kernel, KernelBuilder, Lane, Value, mathematics};

const COUNT: usize = 512;

type Function = fn(&mut KernelBuilder, Arithmetic, &[Value]) -> Value;

const FUNCTIONS: [(&str, usize, Function); 11] = [
    ("exp", 1, |b, with, x| mathematics::exp(b, with, x[0])),
    ("log", 1, |b, with, x| mathematics::log(b, with, x[0])),
    ("tanh", 1, |b, with, x| mathematics::tanh(b, with, x[0])),
    ("logistic", 1, |b, with, x| mathematics::logistic(b, with, x[0])),
    ("erf", 1, |b, with, x| mathematics::erf(b, with, x[0])),
    ("erfc", 1, |b, with, x| mathematics::erfc(b, with, x[0])),
    ("normal_cdf", 1, |b, with, x| mathematics::normal_cdf(b, with, x[0])),
    ("sin", 1, |b, with, x| mathematics::sin(b, with, x[0])),
    ("cos", 1, |b, with, x| mathematics::cos(b, with, x[0])),
    ("rsqrt", 1, |b, _, x| mathematics::rsqrt(b, x[0])),
    ("pow", 2, |b, _, x| mathematics::pow(b, x[0], x[1])),
];

/// The arithmetic of all machines. A machine that lacks some of it gets no such kernel.
const ARITHMETICS: [Arithmetic; 3] =
    [Arithmetic::PLAIN, Arithmetic { fused: true, scales: false }, Arithmetic { fused: true, scales: true }];

/// Makes a kernel that loops over `COUNT` operands of each input, `lanes` at a time.
fn kernel(name: &str, inputs: usize, (function, arithmetic): (Function, Arithmetic), lanes: u16) -> Kernel {
    let mut b = KernelBuilder::new(format!("{name}x{lanes}"));
    let inputs: Vec<_> = (0..inputs).map(|i| b.buffer(format!("x{i}"), BufferKind::Input, Lane::F32, COUNT as u64, 4)).collect();
    let output = b.buffer("y", BufferKind::Output, Lane::F32, COUNT as u64, 4);
    b.for_range(0, COUNT as i64, lanes.into(), |b, i| {
        let operands: Vec<_> = inputs.iter().map(|&input| b.load(input, i, 0, lanes)).collect();
        let result = function(b, arithmetic, &operands);
        b.store(output, i, 0, result);
    });
    b.finish()
}

#[test]
fn every_machine_gives_the_same_bits() {
    let mut random = Random(7);
    let mut cases = vec![];
    for (name, inputs, function) in FUNCTIONS {
        for (lanes, arithmetic) in [1, 4, 16].into_iter().flat_map(|lanes| ARITHMETICS.map(|arithmetic| (lanes, arithmetic))) {
            let kernel = kernel(name, inputs, (function, arithmetic), lanes);
            let mut buffers: Vec<_> = (0..inputs).map(|_| bytes(Lane::F32, &random.elements(Lane::F32, COUNT))).collect();
            let before = buffers.clone();
            buffers.push(vec![0; 4 * COUNT]);
            assert_eq!(interpret(&kernel, &mut buffers, &[]), Ok(0));
            cases.push(Case { fma: arithmetic.fused, ..Case::new(kernel, before, buffers.remove(inputs)) });
        }
    }
    check(&cases);
}
