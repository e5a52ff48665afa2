//! Weights in a file of their own: its header, which `init` compares, and what two models must have in common for the weights of
//! one to fit the object of the other. `docs/weights.md` describes the file.

use super::constants::ConstantLayout;
use crate::interface::Interface;
use crate::program::{Address, Call, External, Level, Program, Step, Visit, walk};
use sha2::{Digest, Sha256};

/// Bytes of the header; the payload begins after them, at a multiple of the alignment of all constants.
pub const HEADER_BYTES: u64 = 64;
/// What a file starts with.
pub const MAGIC: [u8; 8] = *b"modelcwt";
const VERSION: u32 = 1;
/// Reads as this number in the byte order of the file.
const BYTE_ORDER: u32 = 0x0102_0304;
/// Words of the header that carry something; the rest is zero.
const WORDS: usize = 6;

/// The header of a file of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeightsHeader {
    /// How constants are laid out: CPU levels, version of modelc, sizes.
    pub packing: u64,
    /// Hash of the interface, as in versioned symbols.
    pub interface: u32,
    /// Hash of all that the code does.
    pub topology: u64,
    /// Bytes after the header.
    pub payload_bytes: u64,
}

impl WeightsHeader {
    /// The header for the weights of a program.
    pub fn new(topology: &Topology, interface: &Interface, layout: &ConstantLayout) -> Self {
        Self { packing: topology.packing, interface: interface.abi_hash, topology: topology.hash, payload_bytes: layout.bytes }
    }

    /// The words that `init` compares, the first at the file's first byte.
    pub fn words(&self) -> [u64; WORDS] {
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [u64::from_le_bytes(MAGIC), two(VERSION, BYTE_ORDER), self.packing, two(self.interface, 0), self.topology, self.payload_bytes]
    }

    /// The header as it stands in the file.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Bytes of the whole file.
    pub fn file_bytes(&self) -> u64 {
        HEADER_BYTES + self.payload_bytes
    }
}

/// What a program does, apart from the contents of its constants.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Of everything.
    pub hash: u64,
    /// Of the layout of constants.
    pub packing: u64,
    /// The kernel calls of all methods, in order, level by level.
    pub calls: Vec<CallTopology>,
}

/// One kernel call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTopology {
    /// The method.
    pub method: String,
    /// The first source operator: position and name in the file's vocabulary.
    pub operator: Option<(u32, String)>,
    /// Hash of the kernel, of the addresses that it is given, and of the sizes of its constants.
    pub hash: u64,
}

impl Topology {
    /// What the programs of an object do.
    pub fn new(levels: &[Level<'_>]) -> Self {
        let (mut whole, mut calls) = (Sha256::new(), Vec::new());
        let mut packing = Sha256::new();
        packing.update(env!("CARGO_PKG_VERSION"));
        for &Level { machine, program } in levels {
            let kernels: Vec<[u8; 32]> = program.kernels.iter().map(kernel_digest).collect();
            let mut walk = Walk { program, kernels: &kernels, whole, calls };
            let residents = program.device.iter().filter_map(|device| device.residents.as_ref());
            for variable in program.variables.iter().chain(residents.flat_map(|residents| &residents.variables)) {
                walk.mark(&format!("variable {} {} {:?}", variable.offset, variable.bytes, variable.initial));
            }
            for method in &program.methods {
                walk.mark(&format!("method {} {}", method.name, method.scratch_bytes));
                walk.steps(&method.name, &method.steps);
            }
            (whole, calls) = (walk.whole, walk.calls);
            packing.update(format!(" {}", machine.level));
        }
        for blob in levels.iter().take(1).flat_map(|level| &level.program.constants) {
            packing.update((blob.data.len() as u64).to_le_bytes());
        }
        Self { hash: word(whole), packing: word(packing), calls }
    }
}

fn word(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
}

/// Of all but the name: that carries a number, which tells nothing.
fn kernel_digest(kernel: &crate::kernel::Kernel) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(format!("{:?} {} {:?} {:?}", kernel.buffers, kernel.integers, kernel.types, kernel.body));
    hash.finalize().into()
}

/// One walk over all steps, in the order in which they stand.
struct Walk<'a> {
    program: &'a Program,
    kernels: &'a [[u8; 32]],
    whole: Sha256,
    calls: Vec<CallTopology>,
}

impl Walk<'_> {
    fn mark(&mut self, text: &str) {
        self.whole.update((text.len() as u64).to_le_bytes());
        self.whole.update(text);
    }

    fn steps(&mut self, method: &str, steps: &[Step]) {
        for visit in walk(steps) {
            match visit {
                Visit::Call(call) => self.call(method, call),
                Visit::External(external) => self.external(method, external),
                Visit::If(condition) => self.mark(&format!("if {condition:?}")),
                Visit::Else => ["end", "else"].iter().for_each(|text| self.mark(text)),
                Visit::While => self.mark("while"),
                Visit::Do(condition) => ["end".to_string(), format!("do {condition:?}")].iter().for_each(|text| self.mark(text)),
                Visit::Together(together) => self.mark(&format!("together {} {}", together.rounds, together.most)),
                Visit::Streams(streams) => self.mark(&format!("streams {:?}", streams.starts)),
                Visit::Region(region) => self.mark(&format!("region {region}")),
                Visit::End => self.mark("end"),
            }
        }
        self.mark("end");
    }

    fn external(&mut self, method: &str, external: &External) {
        let mut hash = Sha256::new();
        hash.update(format!("{} {:?} {:?} {:?}", external.symbol, external.inputs, external.outputs, external.options));
        self.push(method, external.origin.operators.first().cloned(), word(hash));
    }

    fn push(&mut self, method: &str, operator: Option<(u32, String)>, hash: u64) {
        self.whole.update(hash.to_le_bytes());
        self.calls.push(CallTopology { method: method.to_owned(), operator, hash });
    }

    fn call(&mut self, method: &str, call: &Call) {
        let mut hash = Sha256::new();
        hash.update(self.kernels.get(call.kernel).copied().unwrap_or_default());
        hash.update(format!("{:?} {:?} {:?}", call.arguments, call.integers, call.parts));
        for address in &call.arguments {
            if let Address::Constant(constant, _) = address {
                let bytes = self.program.constants.get(*constant as usize).map_or(0, |blob| blob.data.len() as u64);
                hash.update(bytes.to_le_bytes());
            }
        }
        self.push(method, call.origin.operators.first().cloned(), word(hash));
    }
}
