//! Mathematics on every machine: the same bits as the kernel interpreter gives, whose errors are measured where it is written.

use super::engines::check;
use super::{Case, Random, bytes};
use crate::kernel::interpret::interpret;
use crate::kernel::{BufferKind, Kernel, KernelBuilder, Lane, Value, mathematics};

const COUNT: usize = 512;

type Function = fn(&mut KernelBuilder, &[Value]) -> Value;

const FUNCTIONS: [(&str, usize, Function); 10] = [
    ("exp", 1, |b, x| mathematics::exp(b, x[0])),
    ("log", 1, |b, x| mathematics::log(b, x[0])),
    ("tanh", 1, |b, x| mathematics::tanh(b, x[0])),
    ("logistic", 1, |b, x| mathematics::logistic(b, x[0])),
    ("erf", 1, |b, x| mathematics::erf(b, x[0])),
    ("normal_cdf", 1, |b, x| mathematics::normal_cdf(b, x[0])),
    ("sin", 1, |b, x| mathematics::sin(b, x[0])),
    ("cos", 1, |b, x| mathematics::cos(b, x[0])),
    ("rsqrt", 1, |b, x| mathematics::rsqrt(b, x[0])),
    ("pow", 2, |b, x| mathematics::pow(b, x[0], x[1])),
];

/// A loop over `COUNT` operands in each of some inputs, some lanes at a time.
fn kernel(name: &str, inputs: usize, function: Function, lanes: u16) -> Kernel {
    let mut b = KernelBuilder::new(format!("{name}x{lanes}"));
    let inputs: Vec<_> = (0..inputs).map(|i| b.buffer(format!("x{i}"), BufferKind::Input, Lane::F32, COUNT as u64, 4)).collect();
    let output = b.buffer("y", BufferKind::Output, Lane::F32, COUNT as u64, 4);
    b.for_range(0, COUNT as i64, lanes.into(), |b, i| {
        let operands: Vec<_> = inputs.iter().map(|&input| b.load(input, i, 0, lanes)).collect();
        let result = function(b, &operands);
        b.store(output, i, 0, result);
    });
    b.finish()
}

#[test]
fn every_machine_gives_the_same_bits() {
    let mut random = Random(7);
    let mut cases = vec![];
    for (name, inputs, function) in FUNCTIONS {
        for lanes in [1, 4, 16] {
            let kernel = kernel(name, inputs, function, lanes);
            let mut buffers: Vec<_> = (0..inputs).map(|_| bytes(Lane::F32, &random.elements(Lane::F32, COUNT))).collect();
            let before = buffers.clone();
            buffers.push(vec![0; 4 * COUNT]);
            assert_eq!(interpret(&kernel, &mut buffers, &[]), Ok(0));
            cases.push(Case::new(kernel, before, buffers.remove(inputs)));
        }
    }
    check(&cases);
}
