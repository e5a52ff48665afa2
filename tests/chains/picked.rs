//! Random images with gathers of rows and columns at constant positions, and blends of them.

use super::{Random, narrowed};
use modelc::ir::builder::FunctionBuilder;
use modelc::ir::{ElementType, Module, Reduction, Tensor, TensorType, Type, Value};

/// Makes up to four tensors that are gathered from one or two images of bytes, blended, and used once more; and the images.
pub fn module(seed: u64) -> (Module, Vec<Tensor>) {
    let mut random = Random(seed);
    let rank = 2 + random.below(3) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(7)).collect();
    let mut module = Module::default();
    let mut builder = FunctionBuilder::new(&mut module, "main");
    let images: Vec<Value> = (0..1 + random.below(2))
        .map(|i| {
            let image = builder.param(Type::Tensor(TensorType::of(ElementType::I8, &shape)), format!("image {i}"));
            // A caller's buffer takes no arena, so one image comes from a tensor in memory.
            if i == 0 { image } else { narrowed(&mut builder, &[image, image]) }
        })
        .collect();
    let resized: Vec<u64> = shape[..rank - 1].iter().map(|_| 1 + random.below(12)).chain([shape[rank - 1]]).collect();
    let mut blended = Vec::new();
    for _ in 0..1 + random.below(4) {
        let image = images[random.below(images.len() as u64) as usize];
        blended.push(picked(&mut builder, &mut random, image, &resized));
    }
    // Only gathered tensors have the size of the result, or one more.
    if random.below(4) == 0 {
        blended.push(literal(&mut builder, &mut random, &resized));
    }
    let weights: Vec<u64> = resized.iter().map(|&n| if random.below(2) == 0 { 1 } else { n }).collect();
    if weights != resized {
        blended.push(literal(&mut builder, &mut random, &weights));
    }
    let blend = narrowed(&mut builder, &blended);
    let mut results = vec![blend];
    match random.below(4) {
        0 => results.push(blended[0]),
        1 => {
            results = vec![builder.reduce(blend, Reduction::Max, vec![random.below(rank as u64) as usize]).expect("one of its dimensions")]
        }
        2 => results = vec![narrowed(&mut builder, &[blend, blended[0]])],
        _ => {}
    }
    let inputs = images.len();
    builder.finish_method("forward", results);
    let tensors = (0..inputs).map(|_| {
        let bytes = random.bytes(shape.iter().product());
        Tensor { element: ElementType::I8, shape: shape.clone(), bytes }
    });
    (module, tensors.collect())
}

fn literal(builder: &mut FunctionBuilder<'_>, random: &mut Random, shape: &[u64]) -> Value {
    let bytes = random.bytes(shape.iter().product());
    builder.literal(TensorType::of(ElementType::I8, shape), bytes).expect("a literal fits its own type")
}

/// Gathers an image to a shape, dimension by dimension, with positions in any order. Some dimensions that already have their extent are
/// skipped.
fn picked(builder: &mut FunctionBuilder<'_>, random: &mut Random, image: Value, resized: &[u64]) -> Value {
    let mut value = image;
    for (axis, &extent) in resized[..resized.len() - 1].iter().enumerate() {
        let own = builder.tensor(value).static_shape().expect("all is static")[axis];
        if own == extent && random.below(3) != 0 {
            continue;
        }
        let (element, size) = if random.below(2) == 0 { (ElementType::I32, 4) } else { (ElementType::I64, 8) };
        let bytes = (0..extent).flat_map(|_| random.below(own).to_le_bytes()[..size].to_vec()).collect();
        let positions = builder.literal(TensorType::of(element, &[extent]), bytes).expect("a literal fits its own type");
        value = builder.gather(value, positions, axis, 0).expect("positions along a dimension");
    }
    value
}
