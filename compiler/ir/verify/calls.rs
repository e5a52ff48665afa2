//! Functions call each other without a circle.

use super::check::Check;
use super::mistake::{Mistake, VerifyError};
use crate::entities::Func;
use crate::module::Module;
use cranelift_entity::SecondaryMap;

#[derive(Clone, Copy, PartialEq, Default)]
enum State {
    #[default]
    New,
    Open,
    Done,
}

/// A depth-first walk with a stack of its own; an edge to a function that is still open closes a circle.
pub(super) fn check_no_recursion(module: &Module) -> Check {
    let mut states: SecondaryMap<Func, State> = SecondaryMap::new();
    for root in module.functions.keys() {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::Open;
        let mut stack = vec![(root, called(module, root))];
        while let Some((func, rest)) = stack.last_mut() {
            let Some(next) = rest.pop() else {
                states[*func] = State::Done;
                stack.pop();
                continue;
            };
            match states[next] {
                State::Done => {}
                State::Open => return Err(VerifyError::new(Mistake::Recursion(module.functions[next].name.clone()))),
                State::New => {
                    states[next] = State::Open;
                    let callees = called(module, next);
                    stack.push((next, callees));
                }
            }
        }
    }
    Ok(())
}

fn called(module: &Module, func: Func) -> Vec<Func> {
    let function = &module.functions[func];
    function.body.iter().flat_map(|&inst| function.insts[inst].operation.functions()).collect()
}
