//! Delegates: parts of an ExecuTorch program that were given to a back end, as a graph in the back end's own format.
//!
//! ```text
//! bytes ─ container ─▶ tables, constants ─ known ─▶ xnnpack, vulkan: a graph, every number checked
//!                                                     └─ caller ─▶ values of the method that calls the delegate
//! ```
//!
//! A graph becomes a part of the function that calls it. XNNPACK's graphs ask the method for what [`caller::Caller`] names. Vulkan's are methods
//! themselves, so the translator of programs runs them.

pub mod caller;
pub mod container;
pub mod graph;
pub mod known;
pub mod vulkan;
pub mod xnnpack;
