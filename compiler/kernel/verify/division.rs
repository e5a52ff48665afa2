//! Rules of independent rounds and ranges. The interpreter finds races between them. In debug builds, places that contradict a mark are a broken rule.

use super::Rule;
use crate::dependence::{apart, contradicted};
use crate::*;
use cranelift_entity::EntityRef;

/// Checks the rules of all loops and divisions of a kernel.
pub fn check(kernel: &Kernel) -> Result<(), Rule> {
    for Statement { inst, .. } in kernel.statements() {
        if let Inst::For { each: false, private, .. } = inst
            && !private.is_empty()
        {
            return Err(Rule::PrivateInOrder);
        }
        let (Inst::For { each: true, private, body, .. } | Inst::Divide { private, body, .. }) = inst else { continue };
        if kernel.grid.is_some() {
            return Err(Rule::GridOfRounds);
        }
        check_private(kernel, private)?;
        check_own(kernel, body, &kernel.arrays_written_in(body))?;
    }
    let divides = kernel.statements().filter(|statement| matches!(statement.inst, Inst::Divide { .. })).count();
    if divides > 0 {
        check_divide(kernel, divides)?;
    }
    if cfg!(debug_assertions) { check_marks(kernel) } else { Ok(()) }
}

/// Checks that no marked rounds certainly meet, if the pointer parameters are apart.
fn check_marks(kernel: &Kernel) -> Result<(), Rule> {
    contradicted(kernel, &apart(kernel.pointer_params().count())).map_or(Ok(()), |counter| Err(Rule::RoundsMeet(counter)))
}

/// Checks that private buffers are scratch memory, each listed once.
fn check_private(kernel: &Kernel, private: &[Buffer]) -> Result<(), Rule> {
    for (number, &buffer) in private.iter().enumerate() {
        let data = kernel.buffers.get(buffer.index()).ok_or(Rule::NoBuffer(buffer))?;
        if data.kind != BufferKind::Scratch {
            return Err(Rule::PrivateKind(data.name.clone()));
        }
        if private[..number].contains(&buffer) {
            return Err(Rule::PrivateTwice(data.name.clone()));
        }
    }
    Ok(())
}

/// Checks that buffers with a copy for each round or range are only accessed inside them.
fn check_own(kernel: &Kernel, body: &Region, own: &[Buffer]) -> Result<(), Rule> {
    for &buffer in own {
        let accesses = |region: &Region| {
            let mut count = 0;
            region.for_each(&mut |inst| count += usize::from(inst.buffer() == Some(buffer)));
            count
        };
        if accesses(body) < accesses(&kernel.body) {
            return Err(Rule::OutsideRounds(kernel.buffer(buffer).name.clone()));
        }
    }
    Ok(())
}

/// Checks the rules of a kernel with a `Divide`. `divides` is the number of these statements.
fn check_divide(kernel: &Kernel, divides: usize) -> Result<(), Rule> {
    let mut effects = kernel.body.statements.iter().map(|statement| &statement.inst).filter(|inst| inst.has_effect());
    let (Some(Inst::Divide { private, body, .. }), None, 1) = (effects.next(), effects.next(), divides) else {
        return Err(Rule::DivideBesideOthers);
    };
    if kernel.integers > 0 {
        return Err(Rule::DivideParameters);
    }
    check_own(kernel, body, private)
}

#[cfg(test)]
mod tests {
    use crate::Inst;
    use crate::text::parse_kernel;
    use crate::verify::{Rule, verify};

    /// Returns the first broken rule of a kernel with a given body.
    fn broken(body: &str) -> Option<String> {
        let text = format!(
            "kernel @k(x: input i32[8] align 4, y: output i32[8] align 4, t: scratch i32[4] align 4) {{
              own: local i32[1] align 4
              {body}
            }}"
        );
        verify(&parse_kernel(&text).unwrap()).err().map(|error| error.rule.to_string())
    }

    #[test]
    fn rounds_have_their_own_arrays_and_carry_nothing() {
        let round = "store own[0], 1 %2: i32 = load own[0] store y[%1], %2";
        assert_eq!(broken(&format!("for each %1 in 0..8 step 1 {{ {round} }}")), None);
        let outside = broken(&format!("for each %1 in 0..8 step 1 {{ {round} }} %3: i32 = load own[0] store y[0], %3"));
        assert_eq!(outside.unwrap(), "an access to own outside of the rounds that each have their own");
        let read = "store own[0], 1 for each %1 in 0..8 step 1 { %2: i32 = load own[0] store y[%1], %2 }";
        assert_eq!(broken(read), None);
        let carries = broken("%4: i64 = for each %1 in 0..8 step 1 carry %2 = 0 { %3: i64 = add %2, %1 yield %3 }");
        assert_eq!(carries.unwrap(), "independent rounds that carry a value");
        let grid = "kernel @k(y: output i32[8] align 4, %0: i64) grid 8 workgroup 8 { for each %1 in 0..1 step 1 { store y[%0], 1 } }";
        assert_eq!(verify(&parse_kernel(grid).unwrap()).unwrap_err().rule, Rule::GridOfRounds);
    }

    #[test]
    #[cfg(debug_assertions)]
    fn rounds_that_certainly_meet_are_not_independent() {
        let met = broken("for each %1 in 0..8 step 1 { store y[3], 1 }");
        assert_eq!(met.unwrap(), "independent rounds of %1 that meet");
        let found = broken("for %0 in 0..4 step 1 { for each %1 in 0..2 step 1 { store y[%0], 1 } }");
        assert_eq!(found.unwrap(), "independent rounds of %1 that meet");
    }

    #[test]
    fn private_buffers_of_rounds_are_scratch_memory() {
        let round = "store t[0], 1 %2: i32 = load t[0] store y[%1], %2";
        let rounds = |private: &str| broken(&format!("for each %1 in 0..8 step 1 private {private} {{ {round} }} store t[1], 1"));
        assert_eq!(rounds("t"), None);
        assert_eq!(rounds("y").unwrap(), "buffer y is private, and no scratch memory");
        assert_eq!(rounds("own").unwrap(), "buffer own is private, and no scratch memory");
        assert_eq!(rounds("t, t").unwrap(), "buffer t is private twice");
        let text = "kernel @k(t: scratch i8[1] align 1) { for each %1 in 0..8 step 1 private t { store t[0], 1 } }";
        let mut kernel = parse_kernel(text).unwrap();
        kernel.body.for_each_statement_mut(&mut |statement| {
            if let Inst::For { each, .. } = &mut statement.inst {
                *each = false;
            }
        });
        assert_eq!(verify(&kernel).unwrap_err().rule, Rule::PrivateInOrder);
    }

    #[test]
    fn a_divide_is_all_that_a_kernel_does() {
        let ranges = |private: &str| {
            format!(
                "divide 0..8 as (%1, %2){private} {{ store t[0], 1 for %3 in %1..%2 step 1 {{ %4: i32 = load t[0] store y[%3], %4 }} }}"
            )
        };
        assert_eq!(broken(&ranges(" private t")), None);
        assert_eq!(broken(&ranges("")), None);
        let all = "a divide that is not all that the kernel does";
        assert_eq!(broken(&format!("store y[0], 1 {}", ranges(" private t"))).unwrap(), all);
        assert_eq!(broken(&format!("for %0 in 0..2 step 1 {{ {} }}", ranges(" private t"))).unwrap(), all);
        assert_eq!(broken(&ranges(" private y")).unwrap(), "buffer y is private, and no scratch memory");
        assert_eq!(broken(&ranges(" private t, t")).unwrap(), "buffer t is private twice");
        let outside = broken(&format!("%5: i32 = load t[0] {}", ranges(" private t")));
        assert_eq!(outside.unwrap(), "an access to t outside of the rounds that each have their own");
    }
}
