//! Nothing of the kernel is divided: a `divide` is its body for the range of all rounds, and `for each` is `for`. This is for machines that do no
//! more with the marks. Grids take the marks, and only the `divide` is replaced.

use crate::*;
use smallvec::smallvec;

/// The pass.
pub(super) fn run(kernel: &mut Kernel) {
    in_one_range(kernel);
    in_order(kernel);
}

/// Replaces a `divide` by its body for all rounds. Its loops keep their marks.
fn in_one_range(kernel: &mut Kernel) {
    for statement in std::mem::take(&mut kernel.body.statements) {
        let Inst::Divide { extent, mut body, .. } = statement.inst else {
            kernel.body.statements.push(statement);
            continue;
        };
        if let [first, end] = body.params[..] {
            kernel.body.statements.push(Statement { results: smallvec![first], inst: Inst::Constant { bits: 0 } });
            rename(&mut body, end, extent);
        }
        kernel.body.statements.extend(body.statements);
    }
}

/// Returns the kernel with constants instead of its integer parameters, and without a `divide`.
pub(super) fn of_all_rounds(kernel: &Kernel, integers: &[i64]) -> Kernel {
    let mut kernel = kernel.clone();
    in_one_range(&mut kernel);
    let constant =
        |(&param, &number): (&Value, &i64)| Statement { results: smallvec![param], inst: Inst::Constant { bits: number as u64 } };
    let constants: Vec<Statement> = kernel.body.params.iter().zip(integers).map(constant).collect();
    kernel.body.statements.splice(0..0, constants);
    kernel.body.params.clear();
    kernel.integers = 0;
    kernel
}

/// Leaves the rounds of all loops in order.
pub(super) fn in_order(kernel: &mut Kernel) {
    kernel.body.for_each_statement_mut(&mut |statement| {
        if let Inst::For { each, private, .. } = &mut statement.inst {
            *each = false;
            private.clear();
        }
    });
}

/// Puts a value in the place of another one.
fn rename(region: &mut Region, value: Value, by: Value) {
    let change = |operand: &mut Value| {
        if *operand == value {
            *operand = by;
        }
    };
    for statement in &mut region.statements {
        statement.inst.operands_mut().into_iter().for_each(change);
        statement.inst.regions_mut().into_iter().for_each(|inner| rename(inner, value, by));
    }
    region.yields.iter_mut().for_each(change);
}
