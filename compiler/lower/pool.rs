//! Kernels and constants of a program, each kept once. Open constants are one only where they are the same bytes of the file:
//! that others are equal may be chance, and the weights that take their place need not be.

use crate::ir::Data;
use crate::kernel::Kernel;
use crate::program::Blob;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Collects kernels, a list a CPU level, and constants; equal ones are one. Order is that of first use.
pub struct Pool {
    open: bool,
    kernels: Vec<Kernels>,
    constants: Vec<Blob>,
    by_bytes: FxHashMap<u64, Vec<usize>>,
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
        Self { open, kernels: vec![Kernels::default(); levels], constants: vec![], by_bytes: FxHashMap::default() }
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
        let key = if self.open { data.bytes().as_ptr() as u64 } else { hash_of(data.bytes(), DefaultHasher::new()) };
        let known = self.by_bytes.entry(key).or_default();
        let same = |other: &Data| if self.open { other.is_same(data) } else { other == data };
        if let Some(&found) = known.iter().find(|&&i| same(&self.constants[i].data)) {
            return found as u32;
        }
        known.push(self.constants.len());
        self.constants.push(Blob { name: name(), data: data.clone() });
        data.release();
        (self.constants.len() - 1) as u32
    }

    /// The kernels of each level, and the constants, in order.
    pub fn finish(self) -> (Vec<Vec<Kernel>>, Vec<Blob>) {
        (self.kernels.into_iter().map(|kernels| kernels.list).collect(), self.constants)
    }
}

impl Kernels {
    fn position(&mut self, mut kernel: Kernel, name: String) -> usize {
        kernel.name = String::new();
        let hash = hash_of(&kernel, FxHasher::default());
        let same =
            |k: &Kernel| (&k.buffers, k.integers, &k.types, &k.body) == (&kernel.buffers, kernel.integers, &kernel.types, &kernel.body);
        let known = self.by_shape.entry(hash).or_default();
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

/// A hash that only groups candidates: it is never written anywhere. A file can choose the bytes of its constants, and would find equal hashes of
/// a simple hasher; the many small parts of kernels, which we make, are hashed several times faster by one.
fn hash_of<T: Hash + ?Sized>(value: &T, mut hasher: impl Hasher) -> u64 {
    value.hash(&mut hasher);
    hasher.finish()
}
