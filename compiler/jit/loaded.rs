//! A compiled model in memory, as instances share it.

use super::options::JitOptions;
use crate::interface::{Footprint, Interface};
use crate::ir::data::Pages;
use crate::program::{Device, Method};
use cranelift_jit::JITModule;
use std::sync::Arc;

/// Data that instances share.
pub(super) struct Loaded {
    /// Owner of the code; `None` after it is freed.
    pub(super) module: Option<JITModule>,
    /// Weights that `init` receives.
    pub(super) weights: Arc<Pages>,
    pub(super) interface: Interface,
    pub(super) methods: Vec<Method>,
    pub(super) device: Option<Arc<Device>>,
    pub(super) options: JitOptions,
    pub(super) init: *const u8,
    pub(super) reset: *const u8,
    pub(super) deinit: *const u8,
    /// Entry function of the GPU information, if the program has a GPU part.
    pub(super) gpu: Option<*const u8>,
    /// The split entry of each method.
    pub(super) splits: Vec<*const u8>,
    /// Function of each method that returns its scratch memory, if it has one.
    pub(super) scratches: Vec<Option<*const u8>>,
    pub(super) footprint: Footprint,
    pub(super) symbols: Vec<Symbol>,
}

/// A function in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Name as in an object.
    pub name: String,
    /// Address of the first byte.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
}

// SAFETY: the pointers lead to code, which nobody writes after it is placed; the module that owns them is only touched on drop.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: instances hold the model while they call it; none is left, so no code of it runs or will.
            unsafe { module.free_memory() };
        }
    }
}
