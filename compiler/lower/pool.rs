//! Kernels and constants of a program, each kept once. Open constants are one only where they are the same bytes of the file:
//! that others are equal may be chance, and the weights that take their place need not be.

use crate::ir::{Data, EqualData};
use crate::kernel::Kernel;
use crate::program::Blob;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Collects kernels, a list a CPU level, and constants; equal ones are one. Order is that of first use.
pub struct Pool {
    kernels: Vec<Kernels>,
    constants: Vec<Blob>,
    /// Positions of constants.
    by_bytes: EqualData<usize>,
}

/// The kernels of a level.
#[derive(Clone, Default)]
struct Kernels {
    list: Vec<Kernel>,
    /// Positions of kernels by the hash of all but their name.
    by_shape: FxHashMap<u64, Vec<usize>>,
}

impl Pool {
    /// An empty pool for some levels, for a module whose constants are open or not.
    pub fn new(open: bool, levels: usize) -> Self {
        Self { kernels: vec![Kernels::default(); levels], constants: vec![], by_bytes: EqualData::new(open) }
    }

    /// The position of a kernel of a level, added under `name` if none does the same.
    pub fn kernel(&mut self, level: usize, kernel: Kernel, name: String) -> usize {
        self.kernels[level].position(kernel, name)
    }

    /// The kernels of a level, which are gone from the pool then.
    pub fn take_kernels(&mut self, level: usize) -> Vec<Kernel> {
        std::mem::take(&mut self.kernels[level]).list
    }

    /// Sets the kernels of a level, when no more are added.
    pub fn set_kernels(&mut self, level: usize, list: Vec<Kernel>) {
        self.kernels[level].list = list;
    }

    /// The position of a constant.
    pub fn constant(&mut self, data: &Data, name: impl FnOnce() -> String) -> u32 {
        let position = self.by_bytes.first(data, self.constants.len());
        if position == self.constants.len() {
            self.constants.push(Blob { name: name(), data: data.clone() });
            data.release();
        }
        position as u32
    }

    /// The kernels of each level, and the constants, in order.
    pub fn finish(self) -> (Vec<Vec<Kernel>>, Vec<Blob>) {
        (self.kernels.into_iter().map(|kernels| kernels.list).collect(), self.constants)
    }
}

impl Kernels {
    fn position(&mut self, mut kernel: Kernel, name: String) -> usize {
        kernel.name = String::new();
        let mut hasher = FxHasher::default();
        kernel.hash(&mut hasher);
        let same =
            |k: &Kernel| (&k.buffers, k.integers, &k.types, &k.body) == (&kernel.buffers, kernel.integers, &kernel.types, &kernel.body);
        let known = self.by_shape.entry(hasher.finish()).or_default();
        if let Some(&found) = known.iter().find(|&&i| same(&self.list[i])) {
            return found;
        }
        known.push(self.list.len());
        let taken = self.list.iter().filter(|k| k.name == name || k.name.starts_with(&format!("{name}_"))).count();
        kernel.name = if taken == 0 { name } else { format!("{name}_{}", taken + 1) };
        self.list.push(kernel);
        self.list.len() - 1
    }
}
