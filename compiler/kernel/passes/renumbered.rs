//! Values in the order of their definitions, without unused ones. Kernels that were written alike, but of which other parts were dropped, then have
//! equal numbers.

use super::dead;
use crate::*;
use cranelift_entity::EntityRef;

/// Returns the kernel without unused instructions, and with values numbered in the order of the statements.
pub fn renumbered(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    dead::run(&mut kernel);
    let mut numbering = Numbering { old: std::mem::take(&mut kernel.types), new: vec![], types: vec![] };
    numbering.new = vec![None; numbering.old.len()];
    numbering.region(&mut kernel.body);
    kernel.types = numbering.types;
    kernel
}

struct Numbering {
    /// Types of the old values.
    old: Vec<Type>,
    /// New number of each old value.
    new: Vec<Option<Value>>,
    /// Types of the new values.
    types: Vec<Type>,
}

impl Numbering {
    fn region(&mut self, region: &mut Region) {
        region.params.iter_mut().for_each(|param| self.define(param));
        for statement in &mut region.statements {
            statement.inst.operands_mut().into_iter().for_each(|operand| self.rename(operand));
            statement.inst.regions_mut().into_iter().for_each(|inner| self.region(inner));
            statement.results.iter_mut().for_each(|result| self.define(result));
        }
        region.yields.iter_mut().for_each(|value| self.rename(value));
    }

    fn define(&mut self, value: &mut Value) {
        let new = Value::new(self.types.len());
        self.types.push(self.old[value.index()]);
        self.new[value.index()] = Some(new);
        *value = new;
    }

    fn rename(&self, value: &mut Value) {
        *value = self.new[value.index()].unwrap_or(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::verify;

    #[test]
    fn equal_work_gets_equal_numbers() {
        let copy = |unused: i64| {
            let mut b = KernelBuilder::new("k");
            let x = b.buffer("x", BufferKind::Input, Lane::I32, 8, 4);
            let y = b.buffer("y", BufferKind::Output, Lane::I32, 8, 4);
            (0..unused).for_each(|number| _ = b.index(number));
            let zero = b.index(0);
            let loaded = b.load(x, zero, 0, 8);
            b.store(y, zero, 0, loaded);
            b.finish()
        };
        let (one, other) = (copy(0), copy(3));
        assert_ne!(one, other);
        assert_eq!(renumbered(&one), renumbered(&other));
        assert_eq!(verify(&renumbered(&other)), Ok(()));
    }
}
