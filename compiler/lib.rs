//! modelc compiles TFLite and ExecuTorch models to native object files, ahead of time.
//!
//! To use the compiler, start with [`Compiler`]. To change it, read on: this page follows a model from its file to its object.
//!
//! # Three languages
//!
//! A model is described in three languages, one after the other. Each has a text form, a verifier and an
//! interpreter.
//!
//! | language | module | describes | values |
//! |---|---|---|---|
//! | tensor language | [`ir`] | what the model computes | tensors, in SSA form |
//! | kernel language | [`kernel`] | how one step computes it | scalars and vectors, loops over buffers |
//! | driver language | [`codegen::driver`] | the functions that C calls | pointers, calls, status codes |
//!
//! This function of the tensor language is a ReLU of ten elements. Element-wise work is always a `map` over a scalar expression:
//!
//! ```text
//! func @main(v0: f32[10]) {
//!   v1 = map v0 {
//!     expression = (f32) {
//!       n0: f32 = input 0
//!       n1: f32 = constant 0.0
//!       n2: f32 = max.first n0, n1
//!       return n2
//!     }
//!   }
//!   return v1
//! }
//! ```
//!
//! A schedule turns it into this kernel. The vectors have four lanes here, and the last two elements are a part of a vector:
//!
//! ```text
//! kernel @relu(x: input f32[10] align 4, y: output f32[10] align 64) {
//!   for %2 in 0..8 step 4 {
//!     %3: f32x4 = load x[%2]
//!     %5: f32x4 = float_max_first %3, 0.0
//!     store y[%2], %5
//!   }
//!   %7: f32x4 = load x[8] active 2
//!   %9: f32x4 = float_max_first %7, 0.0
//!   store y[8], %9 active 2
//! }
//! ```
//!
//! The driver is the function `net_forward`. It checks the caller's pointers, computes addresses in the arena, and calls the kernels in
//! order.
//!
//! # The pipeline
//!
//! [`pipeline`] is this section as code. Data flows forward, once.
//!
//! 1. A **front end** ([`frontend`]) reads the file and builds a [`Module`](ir::Module) with the operator library ([`operators`]).
//!    Quantized arithmetic is written out, with named roundings. The verifier ([`ir::verify`]) checks the module.
//! 2. **Rewrites** ([`passes`]) simplify the module. It is verified again.
//! 3. **Grouping** ([`fuse`]) puts calls, branches and loops into one list of values. It decides which operators share a kernel, and cuts
//!    large chains into bands of rows.
//! 4. A **schedule** ([`schedule`]) is chosen for each group. It states the memory that it needs, and which tensors may share memory.
//! 5. The **planner** ([`plan`]) gives every tensor an address, and proves a lower bound.
//! 6. Each schedule **writes its kernel**, knowing the addresses. The result is a [`program`]: kernels, constants, and steps with every
//!    address decided. [`lower`] directs steps 3 to 6. It tries some decisions up to the plan, because the plan tells their cost.
//! 7. The **back end** ([`codegen`]) compiles the kernels and the driver to machine code, without addresses.
//! 8. The same code becomes an object with its header ([`emit`]), or runs in this process ([`jit`]). So a measurement is of the code that
//!    ships.
//!
//! # Order of evaluation
//!
//! - **Tensor language.** Instructions have no side effects, except on states. A load or store of a state takes an *effect token* and
//!   returns the next one. So tokens fix the order of states, and data dependencies fix the rest. A call, branch or loop is an
//!   instruction.
//! - **Sums.** The interpreter adds floats in the order of their indices. A kernel may add them in another order, with one accumulator
//!   for each lane. So compiled floats agree within a tolerance. Integers are equal bit for bit. Threads never divide a sum.
//! - **Kernel language.** Statements run in their order. A kernel with a grid runs its body once for each position, in any order. Two
//!   positions never touch an element that one of them writes.
//! - **Program.** The planner may reorder steps, as long as each reads what it would read in the original order. An independent checker
//!   replays the plan.
//!
//! # The interpreter is the reference
//!
//! [`ir::interpret`] defines the meaning of a module. The tests compare every later stage with it, and `modelc verify --bisect` does the
//! same for a model of yours. This example compiles a module and compares:
//!
//! ```
//! use modelc::ir::{ElementType, Tensor, interpret::Interpreter, text::parse_module};
//! use modelc::{jit::Jit, lower::Options, passes, pipeline, target};
//!
//! let mut module = parse_module(
//!     "func @main(v0: f32[4]) {
//!        v1 = map v0 { expression = (f32) { n0: f32 = input 0
//!          n1: f32 = neg n0
//!          return n1 } }
//!        return v1
//!      }
//!      method \"main\" = @main { input \"x\" output \"y\" }",
//! )
//! .unwrap();
//! let bytes = [1.0f32, -2.0, 0.5, 3.0].into_iter().flat_map(f32::to_le_bytes).collect();
//! let inputs = [Tensor { element: ElementType::F32, shape: vec![4], bytes }];
//! let expected = Interpreter::new(&module).run(0, &inputs).unwrap();
//!
//! passes::run_all(&mut module);
//! let machine = target::host_machine().unwrap();
//! let lowered = pipeline::lower(&module, "example", Options::new(machine)).unwrap();
//! let jit = Jit::new(&lowered.program, machine).unwrap();
//! assert_eq!(jit.instance().unwrap().call_tensors(0, &inputs).unwrap(), expected);
//! ```
//!
//! # Where to go next
//!
//! `docs/ARCHITECTURE.md` shows the same on one page, with the folders and what each may use. The README of a folder has its decisions
//! and figures. `CONTRIBUTING.md` says where a new operator goes. `docs/hunt-a-wrong-number.md` helps when a result is wrong.

pub mod bisect;
pub mod cli;
pub mod codegen;
pub mod compare;
mod compile;
pub mod cursor;
pub mod diagnostic;
pub mod emit;
pub mod frontend;
pub mod fuse;
pub mod input;
pub mod interface;
pub mod ir;
pub mod jit;
pub mod kernel;
pub mod lower;
pub mod machine;
pub mod npz;
pub mod operators;
pub mod parallel;
pub mod passes;
pub mod pipeline;
pub mod plan;
pub mod program;
pub mod schedule;
pub mod schema;
pub mod target;

pub use compile::{Compiled, Compiler, GpuMode, GpuSettings, Settings};
