//! Marks that places contradict. A schedule declares that rounds are independent, and the interpreter checks it for the rounds that it runs. This
//! test is a second opinion for all rounds. It finds accesses that certainly meet, and says nothing about places that it does not know.

use super::accesses::{Access, Loops};
use super::collide::Rounds;
use super::places::Places;
use crate::intervals::Assumed;
use crate::{Buffer, Inst, Kernel, Region, Value};

/// Returns the counter of a loop that is marked, but of which two rounds certainly touch one element, and one of them writes it. `places` says where
/// the pointer parameters of the verified kernel are.
pub fn contradicted(kernel: &Kernel, places: &Places) -> Option<Value> {
    let is_marked = |inst: &Inst| matches!(inst, Inst::For { each: true, .. });
    if !kernel.statements().any(|statement| is_marked(&statement.inst)) {
        return None;
    }
    let search = Search { loops: Loops::of(kernel, &Assumed::default(), places), private: private_buffers(kernel) };
    search.region(&kernel.body, &mut vec![])
}

/// Returns the buffers of which some rounds have copies.
fn private_buffers(kernel: &Kernel) -> Vec<Buffer> {
    let mut found = vec![];
    for statement in kernel.statements() {
        if let Inst::For { private, .. } | Inst::Divide { private, .. } = &statement.inst {
            found.extend_from_slice(private);
        }
    }
    found
}

struct Search<'k> {
    loops: Loops<'k>,
    private: Vec<Buffer>,
}

impl Search<'_> {
    /// Returns the counter of a contradicted loop in a region, inside loops with the counters `around`.
    fn region(&self, region: &Region, around: &mut Vec<Value>) -> Option<Value> {
        for statement in &region.statements {
            let counter = match &statement.inst {
                Inst::For { each: true, body, .. } if self.is_contradicted(body, around) => return Some(body.params[0]),
                Inst::For { body, .. } => Some(body.params[0]),
                _ => None,
            };
            around.extend(counter);
            let found = statement.inst.regions().iter().find_map(|inner| self.region(inner, around));
            around.truncate(around.len() - usize::from(counter.is_some()));
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Tests whether two rounds of a loop certainly meet, in one round of the loops around it.
    fn is_contradicted(&self, body: &Region, around: &[Value]) -> bool {
        let (counter, mut inside) = (body.params[0], vec![]);
        let mut counters = [around, &[counter]].concat();
        if counters.iter().any(|&counter| !self.loops.has_known_rounds(counter)) {
            return false;
        }
        self.certain(body, &mut counters, &mut inside);
        let of = |other: Value| match other {
            _ if other == counter => Rounds::Differ,
            _ if around.contains(&other) => Rounds::Same,
            _ => Rounds::Any,
        };
        inside.iter().enumerate().any(|(number, a)| inside[..=number].iter().any(|b| self.loops.certainly_meet(a, b, counter, of)))
    }

    /// Adds the accesses that every round makes, at places that depend on nothing but counters.
    fn certain(&self, region: &Region, around: &mut Vec<Value>, list: &mut Vec<Access>) {
        for statement in &region.statements {
            match &statement.inst {
                Inst::For { body, .. } if self.loops.has_known_rounds(body.params[0]) => {
                    around.push(body.params[0]);
                    self.certain(body, around, list);
                    around.pop();
                }
                inst if inst.buffer().is_none_or(|buffer| self.private.contains(&buffer)) => {}
                _ => list.extend(self.loops.access(statement, around).flatten().filter(Access::is_exact)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependence::apart;
    use crate::text::parse_kernel;

    /// Returns the counter of a contradicted loop in a body. The second output begins `start` bytes after the first one.
    fn found(body: &str, start: u64) -> Option<String> {
        let buffers = "x: input i32[64] align 4, y: output i32[64] align 4, z: output i32[64] align 4, t: scratch i32[8] align 4";
        let kernel = parse_kernel(&format!("kernel @k({buffers}) {{ {body} }}")).expect("a kernel");
        let mut places = apart(kernel.pointer_params().count());
        places[2] = (places[1].0, start);
        contradicted(&kernel, &places).map(|counter| counter.to_string())
    }

    #[test]
    fn rounds_that_touch_one_element_contradict_their_mark() {
        let apart = 256;
        assert_eq!(found("for each %1 in 0..8 step 1 { store y[%1], 1 }", apart), None);
        assert_eq!(found("for each %1 in 0..8 step 1 { store y[3], 1 }", apart).as_deref(), Some("%1"));
        let overlapping = "for each %1 in 0..8 step 1 { %2: i32x2 = load x[%1] store y[%1], %2 }";
        assert_eq!(found(overlapping, apart).as_deref(), Some("%1"));
        let inner =
            |mark: &str| format!("for each %1 in 0..4 step 1 {{ {mark} %2 in 0..2 step 1 {{ %3: i64 = mul %1, 2 store y[%3], 1 }} }}");
        assert_eq!([inner("for"), inner("for each")].map(|body| found(&body, apart)), [None, Some("%2".into())]);
    }

    #[test]
    fn buffers_that_share_memory_contradict_a_mark_where_they_overlap() {
        let moved = "for each %1 in 0..8 step 1 { %2: i32 = load y[%1] store z[%1], %2 }";
        assert_eq!([0, 4, 256].map(|start| found(moved, start)), [None, Some("%1".into()), None]);
    }

    #[test]
    fn unknown_places_and_copies_contradict_nothing() {
        let loaded = "for each %1 in 0..8 step 1 { %2: i32 = load x[%1] %3: i64 = sign_extend %2 %4: i64 = and %3, 7 store y[%4], 1 }";
        assert_eq!(found(loaded, 256), None);
        let conditional = "for each %1 in 0..8 step 1 { %2: i32 = load x[%1] %3: mask = equal %2, 0 if %3 { store y[0], 1 } }";
        assert_eq!(found(conditional, 256), None);
        assert_eq!(found("for each %1 in 0..8 step 1 private t { store t[0], 1 %2: i32 = load t[0] store y[%1], %2 }", 256), None);
        assert!(found("for each %1 in 0..8 step 1 { store t[0], 1 %2: i32 = load t[0] store y[%1], %2 }", 256).is_some());
    }
}
