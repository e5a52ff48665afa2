//! Loops and branches whose bodies may fail while they are built. After an error, the kernel is never finished.

use super::unsupported::Unsupported;
use crate::kernel::{KernelBuilder, Value};
use std::ops::Range;

/// Result of building a body: nothing if it cannot fail, otherwise success or an error.
pub trait Outcome: Sized {
    /// Returns success.
    fn done() -> Self;

    /// Continues with `next`, unless an error occurred.
    #[must_use]
    fn then(self, next: impl FnOnce() -> Self) -> Self;
}

impl Outcome for () {
    fn done() -> Self {}

    fn then(self, next: impl FnOnce() -> Self) -> Self {
        next();
    }
}

impl Outcome for Result<(), Unsupported> {
    fn done() -> Self {
        Ok(())
    }

    fn then(self, next: impl FnOnce() -> Self) -> Self {
        self.and_then(|()| next())
    }
}

/// Builds [`KernelBuilder::for_range`] with a body that may fail.
pub fn for_range<R: Outcome>(
    b: &mut KernelBuilder,
    Range { start, end }: Range<i64>,
    step: i64,
    body: impl FnOnce(&mut KernelBuilder, Value) -> R,
) -> R {
    let mut outcome = R::done();
    b.for_range(start, end, step, |b, i| outcome = body(b, i));
    outcome
}

/// Builds [`KernelBuilder::for_values`] with a body that may fail.
pub fn for_values<R: Outcome>(
    b: &mut KernelBuilder,
    Range { start, end }: Range<Value>,
    step: i64,
    body: impl FnOnce(&mut KernelBuilder, Value) -> R,
) -> R {
    let mut outcome = R::done();
    b.for_values(start, end, step, |b, i| outcome = body(b, i));
    outcome
}

/// Builds a branch that runs `body` if a condition holds.
pub fn if_then<R: Outcome>(b: &mut KernelBuilder, condition: Value, body: impl FnOnce(&mut KernelBuilder) -> R) -> R {
    let mut outcome = R::done();
    let then = |b: &mut KernelBuilder| {
        outcome = body(b);
        vec![]
    };
    b.if_else(condition, then, |_| vec![]);
    outcome
}

/// Builds a loop over `count` elements by `lanes`, then the rest with fewer active lanes.
pub fn row<R: Outcome>(b: &mut KernelBuilder, count: u64, lanes: u16, body: impl FnMut(&mut KernelBuilder, Value, u16) -> R) -> R {
    row_between(b, 0..count, lanes, body)
}

/// Builds [`row`] for elements from `start` to `count`. `start` is a multiple of `lanes`.
pub fn row_between<R: Outcome>(
    b: &mut KernelBuilder,
    Range { start, end: count }: Range<u64>,
    lanes: u16,
    mut body: impl FnMut(&mut KernelBuilder, Value, u16) -> R,
) -> R {
    let whole = count / u64::from(lanes) * u64::from(lanes);
    let outcome = for_range(b, start as i64..whole as i64, i64::from(lanes), |b, i| body(b, i, lanes));
    if count == whole {
        return outcome;
    }
    outcome.then(|| {
        let start = b.index(whole as i64);
        body(b, start, (count - whole) as u16)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_built_up_to_its_first_error() {
        let built = |fails_at: u16| {
            let (mut b, mut parts) = (KernelBuilder::new("row"), vec![]);
            let outcome = row(&mut b, 19, 8, |_, _, active| {
                parts.push(active);
                if active == fails_at { Err(Unsupported::Positions) } else { Ok(()) }
            });
            (parts, outcome.is_ok())
        };
        assert_eq!(built(0), (vec![8, 3], true));
        assert_eq!(built(8), (vec![8], false));
        assert_eq!(built(3), (vec![8, 3], false));
    }

    #[test]
    fn an_error_inside_a_branch_comes_out_of_it() {
        let mut b = KernelBuilder::new("branch");
        let zero = b.index(0);
        let holds = b.compare(crate::kernel::CompareOp::Equal, zero, zero);
        let outcome: Result<(), Unsupported> = if_then(&mut b, holds, |_| Err(Unsupported::Positions));
        assert_eq!(outcome, Err(Unsupported::Positions));
        assert_eq!(if_then(&mut b, holds, |_| Ok(())), Ok::<(), Unsupported>(()));
    }
}
