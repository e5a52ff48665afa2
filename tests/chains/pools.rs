//! Pools of bytes and copies of rows, as long as vector registers or somewhat longer, on an image.

use super::{Random, geometry};
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, Extent, Module, Reduction, Tensor, TensorType, Type};

/// Makes a module with a pool, whose rows are then cut and joined, and an image.
pub fn module(seed: u64) -> (Module, Tensor) {
    let mut random = Random(seed);
    let element = [ElementType::I8, ElementType::U8, ElementType::I16, ElementType::I32][random.below(4) as usize];
    let channels = [16, 32, 48, 16, 64, 20, 12][random.below(7) as usize];
    let shape = [1, 4 + random.below(6), 4 + random.below(6), channels];
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let input = builder.param(Type::Tensor(TensorType::of(element, &shape)), None);
    let size = 1 + random.below(3) as i64;
    let reduction = [Reduction::Max, Reduction::Min][random.below(2) as usize];
    let geometry = geometry(&mut random, size);
    // A wide window may have no place on a small image.
    let has_elements = |extents: Vec<u64>| !extents.contains(&0);
    let pool = builder.window(input, reduction, vec![size, size], geometry).ok();
    let pool = pool.filter(|&pool| builder.tensor(pool).static_shape().is_some_and(has_elements)).unwrap_or(input);
    let extents = builder.tensor(pool).static_shape().expect("a static shape");
    let statics = |shape: &[u64]| shape.iter().map(|&extent| Extent::Static(extent)).collect::<Vec<_>>();
    let cut = random.below(extents[1]);
    let rest = [1, extents[1] - cut, extents[2], channels];
    let below = builder.slice(pool, statics(&[0, cut, 0, 0]), statics(&rest), vec![1; 4]).expect("it is inside");
    let joined = builder.concat(&[below, pool], 1).expect("rows of one length");
    builder.finish_method("forward", vec![joined]);
    let bytes = random.bytes(shape.iter().product::<u64>() * u64::from(element.bits() / 8));
    (module, Tensor { element, shape: shape.to_vec(), bytes })
}
