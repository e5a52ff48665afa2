//! Values that stay packed in words: halfwords and bytes that are only factors of dot products, or that are stored again.

use cranelift_entity::EntitySet;
use modelc_kernel::{ConvertOp, DotOp, Inst, Kernel, Lane, Statement, Value};
use rustc_hash::FxHashMap;

/// Use of a value.
enum Use {
    /// A factor of a dot product, or a stored value.
    Factor,
    /// Lanes that are copied to another value.
    Moved(Value),
    /// Bytes that are widened to halfwords of another value.
    Widened(Value),
    /// Any other use.
    Other,
}

/// Returns the pairs of 16-bit lanes that several products take as a factor, or one product in a loop inside.
pub fn shared_factors(kernel: &Kernel) -> EntitySet<Value> {
    let (mut taken, mut shared) = (EntitySet::new(), EntitySet::new());
    for region in kernel.regions() {
        let mut defined = EntitySet::new();
        defined.extend(region.statements.iter().flat_map(|statement| statement.results.iter().copied()));
        for statement in &region.statements {
            let Inst::Dot { op: DotOp::Signed16, a, b, .. } = statement.inst else { continue };
            for pair in [a, b].into_iter().filter(|&pair| kernel.ty(pair).lanes == 2) {
                if !taken.insert(pair) || !defined.contains(pair) {
                    shared.insert(pair);
                }
            }
        }
    }
    shared
}

/// Returns the values with lanes of 8 or 16 bits that only dot products and stores use, directly, widened or in another order.
pub fn factors(kernel: &Kernel) -> EntitySet<Value> {
    let mut uses: FxHashMap<Value, Vec<Use>> = FxHashMap::default();
    for region in kernel.regions() {
        region.yields.iter().for_each(|&value| uses.entry(value).or_default().push(Use::Other));
        for statement in &region.statements {
            of_statement(kernel, statement, &mut |value, becomes| uses.entry(value).or_default().push(becomes));
        }
    }
    let is_narrow = |value: &Value| matches!(kernel.ty(*value).lane, Lane::I8 | Lane::I16);
    let mut found: EntitySet<Value> = EntitySet::new();
    uses.keys().copied().filter(is_narrow).for_each(|value| _ = found.insert(value));
    loop {
        let stays = |value: Value| {
            uses[&value].iter().all(|becomes| match *becomes {
                Use::Factor => true,
                Use::Moved(to) | Use::Widened(to) => found.contains(to),
                Use::Other => false,
            })
        };
        let lost: Vec<Value> = found.iter().filter(|&value| !stays(value)).collect();
        if lost.is_empty() {
            return found;
        }
        lost.into_iter().for_each(|value| _ = found.remove(value));
    }
}

fn of_statement(kernel: &Kernel, Statement { results, inst }: &Statement, note: &mut impl FnMut(Value, Use)) {
    match (inst, &results[..]) {
        (Inst::Dot { op: DotOp::Signed16 | DotOp::Signed8, accumulator, a, b }, _) => {
            note(*accumulator, Use::Other);
            note(*a, Use::Factor);
            note(*b, Use::Factor);
        }
        (Inst::Store { index, value, .. }, _) if matches!(kernel.ty(*value).lane, Lane::I8 | Lane::I16) => {
            note(*index, Use::Other);
            note(*value, Use::Factor);
        }
        (Inst::Join { a, b } | Inst::Shuffle { a, b, .. }, &[to]) if kernel.ty(to).lane == Lane::I16 => {
            note(*a, Use::Moved(to));
            note(*b, Use::Moved(to));
        }
        (Inst::Part { a, .. }, &[to]) if kernel.ty(to).lane == Lane::I16 => note(*a, Use::Moved(to)),
        (Inst::Convert { op: ConvertOp::SignExtend, a }, &[to]) if kernel.ty(to).lane == Lane::I16 => note(*a, Use::Widened(to)),
        _ => inst.operands().into_iter().for_each(|value| note(value, Use::Other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::text::parse_kernel;

    #[test]
    fn factors_are_used_by_products_alone() {
        let text = "kernel @k(x: input i16[84] align 4, w: input i8[84] align 4, y: output i32[80] align 4, z: output i16[80] align 4) {
          %1: i16x2 = load x[0]
          %2: i16x2 = load x[2]
          %3: i16x4 = shuffle %1, %2 [0, 2, 1, 3]
          %4: i8x4 = load w[0]
          %5: i16x4 = sign_extend %4
          %6: i32x2 = load y[0]
          %7: i32x2 = dot_signed16 %6, %3, %5
          %8: i16x2 = load x[4]
          store z[0], %8
          store y[0], %7
        }";
        let kernel = parse_kernel(text).expect("a kernel");
        let found = factors(&kernel);
        let loads = kernel.statements().filter(|s| matches!(s.inst, Inst::Load { .. })).map(|s| found.contains(s.results[0]));
        assert_eq!(loads.collect::<Vec<_>>(), [true, true, true, false, true]);
    }
}
