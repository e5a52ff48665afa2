//! The layouts of constants in the file. A view of a constant has no instruction: it is a second tensor of the same bytes with other sizes, and
//! row-major. It means the elements in logical order, as in PyTorch, so the order of the viewed tensor counts.

use super::program::{EValue, Form, Instruction, Plan, Storage};
use std::collections::HashMap;

/// Identity of the bytes of a constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Source {
    Buffer(u32),
    Name(String),
}

/// The forms of all constants, in which the file has them.
#[derive(Default)]
pub struct Layouts {
    forms: HashMap<Source, Vec<Form>>,
    /// The forms of tensors that are no views, even if others share their bytes. An example is a filter with channels last made from another filter.
    own: HashMap<Source, Vec<Form>>,
}

impl Layouts {
    /// Collects the forms of the tensors of all methods.
    pub fn of(plans: &[Plan]) -> Self {
        let mut layouts = Self::default();
        for value in plans.iter().flat_map(|plan| &plan.values) {
            add(&mut layouts.forms, value);
        }
        for plan in plans {
            for instruction in &plan.instructions {
                let Instruction::Kernel { operator, args } = instruction else { continue };
                // Exporters to this back end lay out its constants themselves.
                if plan.operators.get(*operator).is_some_and(|name| name.starts_with("cortex_m::")) {
                    args.iter().filter_map(|&register| plan.values.get(register)).for_each(|value| add(&mut layouts.own, value));
                }
            }
        }
        layouts
    }

    /// The form in which the bytes of a buffer's constant lie. For a view, it is the form of the viewed tensor.
    pub fn of_buffer(&self, buffer: u32, form: &Form) -> Form {
        self.candidates(&Source::Buffer(buffer), form).swap_remove(0)
    }

    /// Forms of a constant that has a name, the likeliest first.
    pub fn of_name(&self, name: &str, form: &Form) -> Vec<Form> {
        self.candidates(&Source::Name(name.to_owned()), form)
    }

    fn candidates(&self, source: &Source, form: &Form) -> Vec<Form> {
        if self.own.get(source).is_some_and(|own| own.contains(form)) {
            return vec![form.clone()];
        }
        let others = self.forms.get(source).into_iter().flatten();
        let mut others: Vec<Form> =
            others.filter(|other| other.element == form.element && other.bytes() == form.bytes()).cloned().collect();
        let is_ordered = |form: &Form| form.layout.order().is_some();
        let ordered = others.iter().filter(|other| is_ordered(other)).count();
        // Views are row major. Equal bytes in two orders are constants of their own.
        if is_ordered(form) || ordered != 1 {
            others.sort_by_key(|other| other != form);
        } else {
            others.sort_by_key(|other| (!is_ordered(other), other != form));
        }
        if others.is_empty() { vec![form.clone()] } else { others }
    }
}

/// Adds the form of a register, if that is a constant.
fn add(forms: &mut HashMap<Source, Vec<Form>>, value: &EValue) {
    let EValue::Tensor(meta) = value else { return };
    let source = match &meta.storage {
        Storage::Constant(buffer) => Source::Buffer(*buffer),
        Storage::External(name) => Source::Name(name.clone()),
        _ => return,
    };
    let forms = forms.entry(source).or_default();
    if !forms.contains(&meta.form) {
        forms.push(meta.form.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Layout};

    #[test]
    fn a_view_lies_as_the_tensor_that_it_is_a_view_of() {
        let row_major = |shape: &[u64]| Form::row_major(ElementType::F32, shape.to_vec());
        let last = Form { layout: Layout::from_order(&[0, 2, 3, 1]).expect("a permutation"), ..row_major(&[2, 3, 2, 2]) };
        let (view, shorter) = (row_major(&[6, 4]), row_major(&[6]));
        let forms = HashMap::from([(Source::Buffer(1), vec![view.clone(), last.clone(), shorter.clone()])]);
        let mut layouts = Layouts { forms, ..Layouts::default() };
        assert_eq!(layouts.of_buffer(1, &view), last);
        assert_eq!(layouts.of_buffer(1, &last), last);
        assert_eq!(layouts.of_buffer(1, &shorter), shorter);
        assert_eq!(layouts.of_buffer(2, &view), view);
        layouts.own.insert(Source::Buffer(1), vec![view.clone()]);
        assert_eq!(layouts.of_buffer(1, &view), view);
    }
}
