//! Values that are indices because of their uses. This matters on machines with 32-bit indices, where scalars of this type are also other numbers.

use cranelift_entity::EntitySet;
use modelc_kernel::{BinaryOp, Inst, Kernel, Type, Value};
use rustc_hash::FxHashMap;

/// Returns the values of the index type that accesses and loops use, and the operands of these values.
pub(super) fn places(kernel: &Kernel, index: Type) -> EntitySet<Value> {
    let mut definitions = FxHashMap::default();
    let mut open: Vec<Value> = vec![];
    for statement in kernel.statements() {
        if let [result] = statement.results[..] {
            definitions.insert(result, &statement.inst);
        }
        open.extend(used(&statement.inst));
    }
    let mut found = EntitySet::new();
    while let Some(value) = open.pop() {
        if kernel.ty(value) == index && found.insert(value) {
            open.extend(definitions.get(&value).into_iter().flat_map(|inst| addends(inst)));
        }
    }
    found
}

/// Returns the values that an instruction uses as indices: of an access, or a loop's counter and bounds.
fn used(inst: &Inst) -> Vec<Value> {
    match inst {
        Inst::Gather { indices, .. } => vec![*indices],
        Inst::For { start, end, body, .. } => body.params.iter().take(1).copied().chain([*start, *end]).collect(),
        inst => inst.run().map(|run| run.index).into_iter().collect(),
    }
}

/// Returns the operands of a sum, difference, product or left shift.
fn addends(inst: &Inst) -> Vec<Value> {
    match inst {
        Inst::Binary { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b } => vec![*a, *b],
        Inst::ShiftConstant { op: BinaryOp::ShiftLeft, a, .. } => vec![*a],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_entity::EntityRef;
    use modelc_kernel::Lane;
    use modelc_kernel::text::parse_kernel;

    #[test]
    fn indices_are_told_from_other_words() {
        let text = "kernel @k(x: input i32[84] align 4, y: output i32[80] align 4) {
          for %1: i32 in 0..8 step 1 {
            %2: i32 = mul %1, 8
            %3: i32 = add %2, 4
            %5: i32 = load x[%3]
            %6: i32 = add %5, %2
            store y[%2], %6
          }
        }";
        let kernel = parse_kernel(text).expect("a kernel");
        let found = places(&kernel, Type::scalar(Lane::I32));
        let is_place = |number: usize| found.contains(Value::new(number));
        let sums: Vec<Value> = kernel.statements().filter(|s| matches!(s.inst, Inst::Binary { .. })).map(|s| s.results[0]).collect();
        assert_eq!(sums.iter().map(|value| is_place(value.index())).collect::<Vec<_>>(), [true, true, false]);
    }
}
