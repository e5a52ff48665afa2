//! Weights in a separate file: its header, which `init` compares, and the topology that two models must share to exchange weights. `docs/weights.md`
//! describes the file.

use super::constants::ConstantLayout;
use modelc_interface::Interface;
use modelc_program::{Address, Call, External, Level, Program, Step, Tasks, Visit, walk};
use sha2::{Digest, Sha256};

/// Bytes of the header; the payload begins after them, at a multiple of the alignment of all constants.
pub const HEADER_BYTES: u64 = 64;
/// First bytes of a file of weights.
pub const MAGIC: [u8; 8] = *b"modelcwt";
const VERSION: u32 = 1;
/// A number that shows the byte order of the file.
const BYTE_ORDER: u32 = 0x0102_0304;
/// Number of 64-bit words of the header that are used; the rest is zero.
const WORDS: usize = 6;

/// The header of a file of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeightsHeader {
    /// Hash of the layout of constants: CPU levels, version of modelc, sizes.
    pub packing: u64,
    /// Hash of the interface, as in versioned symbols.
    pub interface: u32,
    /// Hash of everything that the code does.
    pub topology: u64,
    /// Bytes that follow the header.
    pub payload_bytes: u64,
}

impl WeightsHeader {
    /// Makes the header for the weights of a program.
    pub fn new(topology: &Topology, interface: &Interface, layout: &ConstantLayout) -> Self {
        Self { packing: topology.packing, interface: interface.abi_hash, topology: topology.hash, payload_bytes: layout.bytes }
    }

    /// Returns the words that `init` compares, in the order of the file.
    pub fn words(&self) -> [u64; WORDS] {
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [u64::from_le_bytes(MAGIC), two(VERSION, BYTE_ORDER), self.packing, two(self.interface, 0), self.topology, self.payload_bytes]
    }

    /// Returns the header as bytes of the file.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.words()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Returns the size of the whole file in bytes.
    pub fn file_bytes(&self) -> u64 {
        HEADER_BYTES + self.payload_bytes
    }
}

/// The computation of a program, apart from the contents of its constants, as hashes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Topology {
    /// Hash of the whole computation.
    pub hash: u64,
    /// Hash of the layout of constants.
    pub packing: u64,
    /// Kernel calls of all methods, in order, level by level.
    pub calls: Vec<CallTopology>,
}

/// The hash of one kernel call, and its place in the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTopology {
    /// Name of the method.
    pub method: String,
    /// First source operator: position and name in the file's vocabulary.
    pub operator: Option<(u32, String)>,
    /// Hash of the kernel, of the addresses of its arguments, and of the sizes of its constants.
    pub hash: u64,
}

impl Topology {
    /// Hashes the programs of an object.
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
            for copy in &program.copies {
                walk.mark(&format!("copy {copy:?}"));
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

/// Hashes a kernel except its name, which contains a number without meaning.
fn kernel_digest(kernel: &modelc_kernel::Kernel) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(format!("{:?} {} {:?} {:?}", kernel.buffers, kernel.integers, kernel.types, kernel.body));
    hash.finalize().into()
}

/// A walk over all steps in their order.
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
                Visit::Parallel(run) => match &run.tasks {
                    Tasks::Ranges { rounds, most } => self.mark(&format!("together {rounds} {most}")),
                    Tasks::Lists { starts } => self.mark(&format!("streams {starts:?}")),
                },
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
        hash.update(format!("{:?} {:?}", call.arguments, call.division));
        for address in &call.arguments {
            if let Address::Constant(constant, _) = address {
                let bytes = self.program.constants.get(*constant as usize).map_or(0, |blob| blob.data.len() as u64);
                hash.update(bytes.to_le_bytes());
            }
        }
        self.push(method, call.origin.operators.first().cloned(), word(hash));
    }
}
