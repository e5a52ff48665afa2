//! Interpreter of independent rounds and divided ranges. They run in an order drawn from a seed, and their accesses are noted to find races.

use super::order::shuffled;
use super::{Machine, Stop};
use crate::*;

/// Limit of the number of ranges.
const MOST_RANGES: u64 = 8;

impl<'k> Machine<'k, '_> {
    /// Runs the independent rounds of a loop in the order of the seed.
    pub(super) fn each(&mut self, ends: [Value; 2], step: i64, private: &[Buffer], body: &'k Region) -> Result<(), Stop> {
        let [start, end] = ends.map(|value| self.index(value));
        let span = end.checked_sub(start).and_then(|span| u64::try_from(span).ok()).unwrap_or(0);
        let own = [self.kernel.arrays_written_in(body), private.to_vec()].concat();
        let shared = self.memory.enter(private);
        for round in self.shuffled(span.div_ceil(step.cast_unsigned())) {
            let counter = start + i64::from(round) * step;
            self.memory.round(counter, &own);
            self.set_index(body.params[0], counter);
            self.region(body)?;
        }
        self.memory.leave(private, shared)?;
        Ok(())
    }

    /// Divides the rounds below an extent into ranges, and runs the ranges in the order of the seed.
    pub(super) fn divide(&mut self, extent: Value, private: &[Buffer], body: &'k Region) -> Result<(), Stop> {
        let extent = u64::try_from(self.index(extent)).unwrap_or(0);
        let own = [self.kernel.arrays_written_in(body), private.to_vec()].concat();
        let ranges = self.ranges(extent);
        let shared = self.memory.enter(private);
        for range in self.shuffled(ranges.len() as u64) {
            let [first, end] = ranges[range as usize];
            self.memory.round(first, &own);
            self.set_index(body.params[0], first);
            self.set_index(body.params[1], end);
            self.region(body)?;
        }
        self.memory.leave(private, shared)?;
        Ok(())
    }

    /// Returns non-empty ranges that together are all numbers below an extent.
    fn ranges(&mut self, extent: u64) -> Vec<[i64; 2]> {
        if extent == 0 {
            return vec![];
        }
        let count = 1 + u64::from(self.shuffled(MOST_RANGES.min(extent))[0]);
        let mut cuts: Vec<i64> = self.shuffled(extent - 1).into_iter().take(count as usize - 1).map(|cut| i64::from(cut) + 1).collect();
        cuts.extend([0, extent as i64]);
        cuts.sort_unstable();
        cuts.windows(2).map(|ends| [ends[0], ends[1]]).collect()
    }

    /// Returns the numbers below `count` in the next order of the seed.
    fn shuffled(&mut self, count: u64) -> Vec<u32> {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        shuffled(count, self.seed)
    }

    fn set_index(&mut self, value: Value, index: i64) {
        self.set(value, vec![super::lane::cut(self.lane(value), index.into())]);
    }
}

#[cfg(test)]
mod tests {
    use crate::interpret::{InterpretError, interpret_shuffled};
    use crate::text::parse_kernel;
    use crate::verify::{Rule, verify};

    /// Runs a kernel on eight zeros in the order of a seed, and returns the elements.
    fn run(body: &str, seed: u64) -> Result<Vec<u8>, InterpretError> {
        let text = format!(
            "kernel @k(x: input i8[9] align 1, y: output i8[8] align 1, ring: scratch i8[2] align 1) {{
              own: local i8[1] align 1
              {body}
            }}"
        );
        let kernel = parse_kernel(&text).unwrap();
        // In debug builds, the verifier finds rounds that certainly meet, too.
        assert!(matches!(verify(&kernel).map_err(|error| error.rule), Ok(()) | Err(Rule::RoundsMeet(_))), "{kernel}");
        let mut buffers = [(1..=9).collect(), vec![0; 8], vec![0; 2]];
        assert_eq!(interpret_shuffled(&kernel, &mut buffers, &[], seed)?, 0);
        let [_, y, _] = buffers;
        Ok(y)
    }

    /// Tests, for each of some orders, whether two rounds race.
    fn meet(body: &str) -> Vec<bool> {
        (0..12).map(|seed| matches!(run(body, seed), Err(InterpretError::Race { .. }))).collect()
    }

    #[test]
    fn rounds_run_in_any_order_and_meet_nowhere() {
        let copy = "for each %1 in 0..8 step 2 { %2: i8x2 = load x[%1] store y[%1], %2 }";
        assert!((0..12).all(|seed| run(copy, seed) == Ok((1..=8).collect())));
        // Each round has its own array, and the rounds of the first loop end before the second loop.
        let own = "for each %1 in 0..8 step 1 { %2: i8 = load x[%1] store own[0], %2 %3: i8 = load own[0] store y[%1], %3 }
                   for each %4 in 0..7 step 1 { %5: i8 = load y[7] store y[%4], %5 }";
        assert!((0..12).all(|seed| run(own, seed) == Ok(vec![8; 8])));
        let nested = "for each %1 in 0..2 step 1 {
                        for %2 in 0..3 step 1 {
                          for each %3 in 0..4 step 1 { %4: i64 = mul %1, 4 %5: i64 = add %4, %3 %6: i8 = load x[%5] store y[%5], %6 }
                        }
                      }";
        assert!((0..12).all(|seed| run(nested, seed) == Ok((1..=8).collect())));
    }

    #[test]
    fn rounds_that_meet_are_an_error() {
        for body in [
            "for each %1 in 0..8 step 1 { store y[0], 1 }",
            "for each %1 in 0..7 step 1 { %2: i8 = load y[%1 + 1] store y[%1], %2 }",
            "for each %1 in 0..4 step 1 { %2: i8 = load x[%1] store ring[0], %2 %3: i8 = load ring[0] store y[%1], %3 }",
            "for each %1 in 0..2 step 1 { for each %2 in 0..4 step 1 { store y[%2], 1 } }",
            "for each %1 in 0..2 step 1 { for %2 in 0..4 step 1 { store y[%2], 1 } }",
        ] {
            assert!(meet(body).into_iter().all(|meets| meets), "{body}");
        }
        let error = run("for each %1 in 3..5 step 1 { store y[6], 1 }", 1).unwrap_err().to_string();
        assert!(error.starts_with("kernel k: rounds ") && error.ends_with(" meet in element 6 of buffer y"), "{error}");
    }

    #[test]
    fn rounds_have_their_own_private_buffers() {
        let copy = |read: &str| format!("%2: i8 = load x[%1] store ring[0], %2 %3: i8 = load ring[{read}] store y[%1], %3");
        let copies = format!("for each %1 in 0..8 step 1 private ring {{ {} }}", copy("0"));
        assert!((0..12).all(|seed| run(&copies, seed) == Ok((1..=8).collect())));
        let unwritten = format!("for each %1 in 0..8 step 1 private ring {{ {} }}", copy("1"));
        assert!((0..12).all(|seed| run(&unwritten, seed) == Ok(vec![255; 8])));
        // The loop may overwrite the memory around it.
        let after = format!("store ring[1], 7 {copies} %4: i8 = load ring[1] store y[0], %4");
        assert!((0..12).all(|seed| run(&after, seed).is_ok_and(|y| y[0] == 255)));
        let nested = |outer: &str, inner: &str| {
            let body = copy("0").replace("[%1]", "[%6]");
            format!(
                "for each %4 in 0..2 step 1{outer} {{
                  for each %1 in 0..4 step 1{inner} {{ %5: i64 = mul %4, 4 %6: i64 = add %5, %1 {body} }}
                }}"
            )
        };
        let both = nested(" private ring", " private ring");
        assert!((0..12).all(|seed| run(&both, seed) == Ok((1..=8).collect())));
        assert!(meet(&nested("", " private ring")).into_iter().all(|meets| meets), "the outer rounds share the ring");
        assert!(meet(&nested(" private ring", "")).into_iter().all(|meets| meets), "the inner rounds share a ring");
    }

    /// A ring of two elements that each range fills itself.
    const RING: &str = "{
        %3: i8 = load x[%1]
        store ring[0], %3
        for %4 in %1..%2 step 1 {
          %6: i64 = sub %4, %1
          %7: i64 = and %6, 1
          %8: i64 = xor %7, 1
          %9: i8 = load x[%4 + 1]
          store ring[%8], %9
          %10: i8 = load ring[%7]
          store y[%4], %10
        }
      }";

    #[test]
    fn ranges_have_their_own_private_buffers() {
        let private = format!("divide 0..8 as (%1, %2) private ring {RING}");
        assert!((0..12).all(|seed| run(&private, seed) == Ok((1..=8).collect())));
        let meets = meet(&format!("divide 0..8 as (%1, %2) {RING}"));
        assert!(meets.contains(&true), "ranges share a ring");
        // Elements that a range does not fill itself are undefined.
        let unfilled = "divide 0..8 as (%1, %2) private ring {
            %3: mask = equal %1, 0
            if %3 { store ring[0], 7 }
            %4: i8 = load ring[0]
            for %5 in %1..%2 step 1 { store y[%5], %4 }
        }";
        assert!((0..12).any(|seed| run(unfilled, seed).is_ok_and(|y| y.contains(&255))));
    }

    #[test]
    fn no_rounds_do_nothing() {
        assert_eq!(run("for each %1 in 5..5 step 1 { store y[0], 1 }", 0), Ok(vec![0; 8]));
        assert_eq!(run("divide 0..0 as (%1, %2) { store y[0], 1 }", 0), Ok(vec![0; 8]));
    }
}
