//! modelc compiles TFLite and ExecuTorch models to native code, ahead of time or in this process.
//!
//! This page is the whole API. A [`Model`] is a file. [`Settings`] are the command line's options.
//!
//! | to | call | it gives |
//! |---|---|---|
//! | see what a model takes and gives | [`Model::methods`] | [`Method`]s, whose inputs and outputs are [`Port`]s |
//! | get an object file and a C header | [`Model::compile`] | [`Compiled`] |
//! | run a model here | [`Model::load`] | a [`Session`] |
//!
//! # In `build.rs`
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use modelc::{Model, Settings};
//! let settings = Settings::new().target(&std::env::var("TARGET")?).name("net");
//! Model::open("model.tflite")?.compile(&settings)?.write("libnet.a")?;
//! # Ok(())
//! # }
//! ```
//!
//! # In this process
//!
//! ```
//! # fn main() -> Result<(), modelc::Error> {
//! use modelc::{Array, Model, Settings};
//! let model = Model::open("examples/digits/digits_int8.tflite")?;
//! let mut session = model.load(&Settings::new())?;
//! let (image, scores) = (session.methods()[0].inputs[0].clone(), session.methods()[0].outputs[0].clone());
//! let pixels = image.quantize(&Array::from_slice(&[1, 8, 8, 1], &[0.5f32; 64])?)?;
//! let outputs = session.call(&[pixels])?;
//! let probabilities = scores.dequantize(&outputs[0])?.to_vec::<f32>();
//! assert_eq!(probabilities.map(|list| list.len()), Some(10));
//! # Ok(())
//! # }
//! ```
//!
//! [`Session::call`] takes and gives [`Array`]s. [`Session::call_into`] works on memory of the caller, and neither copies nor allocates. Both check
//! number, type, rank and extents of the inputs. Every [`Error`] has the code of the command line, and names operator, tensor and the next step.
//!
//! `docs/STABILITY.md` says what stays compatible. Everything that this page does not list may change.

#[doc(hidden)]
pub mod api;
#[doc(hidden)]
pub mod bisect;
#[cfg(test)]
#[path = "../tests/support/bless.rs"]
mod bless;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub use modelc_codegen as codegen;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub use modelc_cursor as cursor;
#[doc(hidden)]
pub use modelc_diagnostic as diagnostic;
#[doc(hidden)]
pub mod emit;
#[doc(hidden)]
pub mod frontend;
#[doc(hidden)]
pub mod fuse;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub use modelc_interface as interface;
#[doc(hidden)]
pub use modelc_ir as ir;
#[doc(hidden)]
pub mod jit;
#[doc(hidden)]
pub use modelc_kernel as kernel;
#[doc(hidden)]
pub mod lower;
#[doc(hidden)]
pub use modelc_machine as machine;
#[doc(hidden)]
pub mod npz;
#[doc(hidden)]
pub mod operators;
#[doc(hidden)]
pub use modelc_parallel as parallel;
#[doc(hidden)]
pub mod passes;
#[doc(hidden)]
pub mod pipeline;
#[doc(hidden)]
pub use modelc_plan as plan;
#[doc(hidden)]
pub use modelc_program as program;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub use modelc_target as target;

/// The pages for compiler developers, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("README.md")]
pub mod inside {}

#[doc(inline)]
pub use api::{Array, ArrayView, Element, Error, KernelTime, Method, Model, Port, Session, State};
#[doc(inline)]
pub use compile::{Compiled, GpuMode, Settings};
#[doc(inline)]
pub use diagnostic::Kind as ErrorKind;
#[doc(inline)]
pub use frontend::given::Number;
#[doc(inline)]
pub use ir::{ElementType, Normalization, Quantization};
