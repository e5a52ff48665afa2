//! States that several methods share.
//!
//! Each method has planned memory of its own, except buffers that the exporter shares on purpose. It places shared buffers in separate areas, from
//! the second on, equally in every method; or it names them. Buffers with the same name, or at the same place of equal areas, are one state. This
//! includes methods that only write it.

use super::effects::range_in_file;
use super::memory::{Area, ByteRange};
use super::program::{EValue, Form, Plan, Storage};
use crate::diagnostic::{Diagnostic, codes};
use crate::ir::State;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The area in which the planner puts a method's own memory.
const OWN_AREA: u32 = 1;

/// The identity by which methods recognize a state.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Identity {
    Name(String),
    /// A place, and the size of its area.
    Place(ByteRange, u64),
    /// The counter of the program's random numbers.
    Drawn,
}

impl Identity {
    /// The identity of a method's tensor; `None` if no other method can have it.
    fn of(plan: &Plan, register: usize) -> Option<Self> {
        let EValue::Tensor(meta) = &plan.values[register] else { return None };
        if meta.storage == Storage::Drawn {
            return Some(Self::Drawn);
        }
        let range = range_in_file(plan, register)?;
        let Area::Planned(id) = range.area else { return None };
        match &meta.name {
            Some(name) => Some(Self::Name(name.clone())),
            None if id > OWN_AREA => Some(Self::Place(range, *plan.area_bytes.get(id as usize)?)),
            None => None,
        }
    }
}

/// Tests whether another method may have a state of this method, too.
pub fn may_be_shared(plan: &Plan, register: usize) -> bool {
    Identity::of(plan, register).is_some()
}

/// The states that methods share.
#[derive(Default)]
pub struct SharedStates {
    /// The identities of tensors that are a state in some method.
    identities: HashSet<Identity>,
    /// The states of the methods translated so far.
    translated: HashMap<Identity, (Form, State)>,
    /// The ends of the translated states that are known by their place, by area, its size, and first byte. No two overlap.
    ends: BTreeMap<(Area, u64, u64), u64>,
}

impl SharedStates {
    /// Notes that a tensor is a state in one method, so that it is one in every method.
    pub fn note(&mut self, plan: &Plan, register: usize) {
        self.identities.extend(Identity::of(plan, register));
    }

    /// Tests whether a tensor is a state in some method.
    pub fn is_one(&self, plan: &Plan, register: usize) -> bool {
        Identity::of(plan, register).is_some_and(|identity| self.identities.contains(&identity))
    }

    /// Returns another method's state for a tensor, if it has one.
    ///
    /// # Errors
    /// A state of another method that has some of the tensor's bytes, or its name, but another form.
    pub fn find(&self, plan: &Plan, register: usize, form: &Form) -> Result<Option<State>, Diagnostic> {
        let Some(identity) = Identity::of(plan, register) else { return Ok(None) };
        match self.translated.get(&identity) {
            Some((known, state)) if known == form => Ok(Some(*state)),
            Some((known, _)) => {
                let of = |form: &Form| format!("{}{:?}", form.element, form.shape);
                Err(differ().expected(of(known), of(form)))
            }
            None if self.overlaps(&identity) => Err(differ()),
            None => Ok(None),
        }
    }

    /// Tests whether a state of another method has some of the same bytes.
    fn overlaps(&self, identity: &Identity) -> bool {
        let Identity::Place(range, size) = identity else { return false };
        let before = self.ends.range((range.area, *size, 0)..(range.area, *size, range.end)).next_back();
        before.is_some_and(|(_, &end)| end > range.start)
    }

    /// Adds a state of a method.
    pub fn add(&mut self, plan: &Plan, register: usize, form: &Form, state: State) {
        if let Some(identity) = Identity::of(plan, register) {
            if let Identity::Place(range, size) = &identity {
                self.ends.insert((range.area, *size, range.start), range.end);
            }
            self.translated.insert(identity, (form.clone(), state));
        }
    }

    /// Forgets the states, but keeps the identities.
    pub fn begin_again(&mut self) {
        self.translated.clear();
        self.ends.clear();
    }
}

fn differ() -> Diagnostic {
    Diagnostic::new(codes::PROGRAM_UNSUPPORTED, "two methods share memory that outlives a call, and see other tensors in it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::executorch::program::TensorMeta;
    use crate::ir::ElementType;
    use cranelift_entity::EntityRef;

    /// A method with one tensor of four floats.
    fn plan(memory_id: u32, offset: u64, name: Option<&str>, shape: &[u64]) -> Plan {
        let form = Form::row_major(ElementType::F32, shape.to_vec());
        let storage = Storage::Planned { memory_id, offset, initial: None };
        let meta = TensorMeta { form, storage, dynamic: false, name: name.map(str::to_owned) };
        Plan {
            name: "forward".into(),
            values: vec![EValue::Tensor(meta)],
            inputs: vec![],
            outputs: vec![],
            operators: vec![],
            delegates: vec![],
            instructions: vec![],
            area_bytes: vec![0, 128, 64, 64],
            drawn: None,
            traced: vec![],
        }
    }

    fn find(states: &SharedStates, plan: &Plan) -> Result<Option<State>, Diagnostic> {
        let EValue::Tensor(meta) = &plan.values[0] else { panic!("a tensor") };
        states.find(plan, 0, &meta.form)
    }

    fn with(plans: &[Plan]) -> SharedStates {
        let mut states = SharedStates::default();
        for (number, plan) in plans.iter().enumerate() {
            let EValue::Tensor(meta) = &plan.values[0] else { panic!("a tensor") };
            states.note(plan, 0);
            states.add(plan, 0, &meta.form, State::new(number));
        }
        states
    }

    #[test]
    fn states_are_shared_by_name_and_by_place() {
        let states = with(&[plan(2, 0, None, &[4]), plan(1, 64, Some("cache"), &[4]), plan(1, 0, None, &[4])]);
        assert_eq!(find(&states, &plan(2, 0, None, &[4])), Ok(Some(State::new(0))));
        assert_eq!(find(&states, &plan(1, 0, Some("cache"), &[4])), Ok(Some(State::new(1))));
        // Memory of a method itself, another area, another name, another place, an area of another size.
        let larger = Plan { area_bytes: vec![0, 128, 65, 64], ..plan(2, 0, None, &[4]) };
        for other in [plan(1, 0, None, &[4]), plan(3, 0, None, &[4]), plan(1, 64, Some("keys"), &[4]), plan(2, 16, None, &[4]), larger] {
            assert_eq!(find(&states, &other), Ok(None));
            assert!(!states.is_one(&other, 0));
        }
    }

    #[test]
    fn methods_share_the_count_of_random_numbers() {
        let counting = || {
            let mut counting = plan(1, 0, None, &[1]);
            let EValue::Tensor(meta) = &mut counting.values[0] else { panic!("a tensor") };
            meta.storage = Storage::Drawn;
            counting
        };
        let states = with(&[plan(2, 0, None, &[1]), counting()]);
        assert_eq!(find(&states, &counting()), Ok(Some(State::new(1))));
        assert!(states.is_one(&counting(), 0));
    }

    #[test]
    fn what_is_shared_has_one_form() {
        let mut states = with(&[plan(2, 0, None, &[4])]);
        assert!(find(&states, &plan(2, 0, None, &[2, 2])).is_err() && find(&states, &plan(2, 8, None, &[4])).is_err());
        states.begin_again();
        assert_eq!(find(&states, &plan(2, 0, None, &[2, 2])), Ok(None));
        assert!(states.is_one(&plan(2, 0, None, &[4]), 0), "what is a state stays one");
    }
}
