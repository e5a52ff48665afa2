//! Kernels and constants of a program, without duplicates. Open constants (external weights) are merged only if they are the same range of the file.
//! Other equal contents may be equal by chance, and may differ in the weights that replace them.

pub mod alike;

use crate::ir::{Data, EqualData};
use crate::kernel::Kernel;
use crate::program::Blob;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Collects the kernels of each CPU level and the constants, in the order of first use. Equal ones are kept once.
pub struct Pool {
    kernels: Vec<Kernels>,
    constants: Vec<Blob>,
    /// Positions of constants in `constants`, by their contents.
    by_bytes: EqualData<usize>,
}

/// The kernels of a level.
#[derive(Clone, Default)]
struct Kernels {
    list: Vec<Kernel>,
    /// Positions of kernels in `list`, by the hash of everything except the name.
    by_shape: FxHashMap<u64, Vec<usize>>,
}

impl Pool {
    /// Makes an empty pool for a number of levels. `open` says that the module's constants are external.
    pub fn new(open: bool, levels: usize) -> Self {
        Self { kernels: vec![Kernels::default(); levels], constants: vec![], by_bytes: EqualData::new(open) }
    }

    /// Returns the position of a kernel in a level. Adds it as `name` if the level has no equal kernel.
    pub fn kernel(&mut self, level: usize, kernel: Kernel, name: String) -> usize {
        self.kernels[level].position(kernel, name)
    }

    /// Takes the kernels of a level out of the pool.
    pub fn take_kernels(&mut self, level: usize) -> Vec<Kernel> {
        std::mem::take(&mut self.kernels[level]).list
    }

    /// Sets the kernels of a level. No kernel may be added later.
    pub fn set_kernels(&mut self, level: usize, list: Vec<Kernel>) {
        self.kernels[level].list = list;
    }

    /// Returns the position of a constant, and adds it if it is new.
    pub fn constant(&mut self, data: &Data, name: impl FnOnce() -> String) -> u32 {
        let position = self.by_bytes.first(data, self.constants.len());
        if position == self.constants.len() {
            self.constants.push(Blob { name: name(), data: data.clone() });
            data.release();
        }
        position as u32
    }

    /// Returns the kernels of each level and the constants, in order.
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
