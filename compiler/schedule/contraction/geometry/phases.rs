//! Convolutions of a dilated input, divided into phases. Output positions that are equal modulo the dilation use the same taps of the filter,
//! and these taps read neighbouring input elements. Each phase is a plain convolution of the input with a part of the filter, so no product has
//! an inserted zero. A convolution of an input that is not dilated has one phase.

/// One dimension of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Extent of the input.
    pub input: u64,
    /// Extent of the output.
    pub output: u64,
    /// Taps of the filter.
    pub window: u64,
    /// Step between taps, in the dilated input.
    pub dilation: u64,
    /// Dilation of the input.
    pub input_dilation: u64,
    /// Padding before the dilated input.
    pub padding_low: u64,
    /// Padding after the dilated input.
    pub padding_high: u64,
}

/// A phase of one dimension: output positions `first`, `first + step`, …
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phase {
    /// First output position.
    pub first: u64,
    /// Number of output positions.
    pub count: u64,
    /// Place of the first tap of the first position, in the padded input.
    pub lead: u64,
    /// Taps of the filter. They are [`Phases::dilation`] apart in the input.
    pub taps: Vec<u64>,
}

/// The phases of one dimension. The input's padding is enough for all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phases {
    /// Every phase.
    pub list: Vec<Phase>,
    /// Distance between output positions of a phase.
    pub step: u64,
    /// Step between taps in the input.
    pub dilation: u64,
    /// Padding before the input.
    pub padding_low: u64,
    /// Padding after the input.
    pub padding_high: u64,
}

impl Phases {
    /// Divides a dimension into phases.
    pub fn new(axis: &Axis) -> Self {
        let taps = (0..axis.window).collect();
        if axis.input_dilation == 1 {
            let list = vec![Phase { first: 0, count: axis.output, lead: 0, taps }];
            let (padding_low, padding_high) = (axis.padding_low, axis.padding_high);
            return Self { list, step: 1, dilation: axis.dilation, padding_low, padding_high };
        }
        // Tap k of output position o is at o + k·dilation − padding in the dilated input. There, multiples of the input's dilation are elements
        // of the input.
        let by = axis.input_dilation as i64;
        let position = |output: u64, tap: u64| (output + tap * axis.dilation) as i64 - axis.padding_low as i64;
        let first = |phase: u64| (0..axis.window).filter(move |&k| position(phase, k) % by == 0);
        let starts: Vec<i64> =
            (0..axis.input_dilation).map(|phase| first(phase).next().map_or(0, |k| position(phase, k).div_euclid(by))).collect();
        let padding_low = starts.iter().map(|&start| -start).max().unwrap_or(0).max(0);
        let dilation = axis.dilation / greatest_common_divisor(axis.dilation, axis.input_dilation);
        let phases = (0..axis.input_dilation.min(axis.output)).zip(&starts).map(|(phase, &start)| Phase {
            first: phase,
            count: (axis.output - phase).div_ceil(axis.input_dilation),
            lead: (start + padding_low) as u64,
            taps: first(phase).collect(),
        });
        let list: Vec<Phase> = phases.collect();
        let reach = |phase: &Phase| phase.count + phase.lead + (phase.taps.len() as u64).saturating_sub(1) * dilation;
        let padded = list.iter().map(reach).max().unwrap_or(0);
        let padding_high = padded.saturating_sub(padding_low as u64 + axis.input);
        Self { list, step: axis.input_dilation, dilation, padding_low: padding_low as u64, padding_high }
    }

    /// Returns the elements of an input with its padding.
    pub fn padded(&self, input: u64) -> u64 {
        self.padding_low + input + self.padding_high
    }

    /// Returns the number of elements that the taps of a window span.
    pub fn reach(&self) -> u64 {
        let reach = |phase: &Phase| phase.lead + (phase.taps.len() as u64).saturating_sub(1) * self.dilation + 1;
        self.list.iter().map(reach).max().unwrap_or(1)
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every tap of every output position is in the phase of the position, at the input element that the definition gives.
    #[test]
    fn phases_take_every_tap_once() {
        for (input_dilation, window, dilation, low) in
            [(2, 3, 1, 1), (2, 2, 1, 0), (3, 5, 2, 4), (4, 3, 2, 6), (2, 4, 2, 3), (1, 3, 2, 2), (5, 2, 1, 1)]
        {
            let (input, high) = (6u64, 3);
            let padded = (input - 1) * input_dilation + 1 + low + high;
            let output = padded - (window - 1) * dilation;
            let axis = Axis { input, output, window, dilation, input_dilation, padding_low: low, padding_high: high };
            let phases = Phases::new(&axis);
            let mut found = Vec::new();
            for phase in &phases.list {
                for i in 0..phase.count {
                    for (j, &tap) in phase.taps.iter().enumerate() {
                        let element = (i + phase.lead + j as u64 * phases.dilation) as i64 - phases.padding_low as i64;
                        assert!(element < (phases.padded(input) - phases.padding_low) as i64);
                        found.push((phase.first + i * phases.step, tap, element));
                    }
                }
            }
            let mut wanted = Vec::new();
            for o in 0..output {
                for k in 0..window {
                    let position = (o + k * dilation) as i64 - low as i64;
                    if position.rem_euclid(input_dilation as i64) == 0 {
                        wanted.push((o, k, position.div_euclid(input_dilation as i64)));
                    }
                }
            }
            found.sort_unstable();
            assert_eq!(found, wanted, "{axis:?}");
        }
    }
}
