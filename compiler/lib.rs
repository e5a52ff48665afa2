//! modelc: an ahead-of-time compiler from TFLite and ExecuTorch models to native object files.
//!
//! A model goes one way, once. A **front end** ([`frontend`]) turns a file into the **tensor language** ([`ir`]): SSA over tensors, a closed
//! table of operators, element-wise work as scalar expressions inside `map`, quantized arithmetic written out with its rounding
//! named. The verifier is the gate; the interpreter says what a module means, and everything below is compared with it.
//!
//! **Rewrites** ([`passes`]) simplify the module. **Grouping** ([`fuse`]) decides what becomes one kernel. A **schedule** ([`schedule`]) is
//! chosen for each group and says what memory it needs; the **planner** ([`plan`]) places every tensor and proves how good the plan is;
//! then the schedule writes its kernel in the **kernel language** ([`kernel`]), with loops, vectors of any length and named buffers. All of it
//! together is a **program** ([`program`]): kernels, constants, and steps with every address decided.
//!
//! The **back end** ([`codegen`]) turns kernels into machine code and writes the driver that calls them. The same code becomes an
//! object with its header ([`emit`]) or runs in this process ([`jit`]), so what is measured is what ships.
//!
//! [`Compiler`] does all of it for a program that uses this library; [`pipeline`] is this page as code. `docs/ARCHITECTURE.md` has the reasons, the
//! READMEs of the folders the figures.

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
