//! SignalFilterBank: the energies of frequencies added up to channels.

use super::super::operator::{Lowered, Operator};
use super::common::{MOST_SAMPLES, check_types, integers, misfit, sums_before, vector};
use super::settings::Settings;
use crate::diagnostic::Diagnostic;
use crate::ir::ElementType::{I16, I32, I64, U32, U64};
use crate::ir::Value;
use crate::operators::terms::Terms;

/// The tables of a bank.
struct Bank {
    /// The weight of a frequency in its own channel, and in the next one.
    weights: [Vec<i64>; 2],
    /// The first frequency of each channel, its first weight, and the number of both.
    bands: [Vec<i64>; 3],
}

impl Bank {
    /// Reads the tables, which are constants of the file.
    fn read(operator: &mut Operator<'_, '_, '_>, channels: usize) -> Result<Self, Diagnostic> {
        let mut tables = Vec::new();
        for index in 1..6 {
            let operand = vector(operator, index)?;
            tables.push(operator.integers(&operand, "the tables of a filter bank")?);
        }
        let [first, second, frequencies, starts, widths] = &mut tables[..] else { unreachable!("there are five tables") };
        for band in [&*frequencies, &*starts, &*widths] {
            if band.len() < channels + 1 {
                return Err(misfit("a table of the filter bank is too short", format!("{} bands", channels + 1), band.len()));
            }
        }
        let taken = |list: &mut Vec<i64>| std::mem::take(list);
        Ok(Self { weights: [taken(first), taken(second)], bands: [taken(frequencies), taken(starts), taken(widths)] })
    }

    /// The frequencies and weights of one band, with the weights of its own or the next channel. Frequencies without a weight add nothing.
    fn taps(&self, band: usize, of_next: bool, frequencies: u64) -> Result<Vec<Tap>, Diagnostic> {
        let [first, start, width] = [0, 1, 2].map(|table| self.bands[table][band]);
        let weights = &self.weights[usize::from(of_next)];
        let inside = first >= 0 && start >= 0 && first + width <= frequencies as i64 && start + width <= weights.len() as i64;
        if width > 0 && !inside {
            let found = format!("{width} from {first}, weights from {start}");
            let expected = format!("{frequencies} frequencies, {} weights", weights.len());
            return Err(misfit("a band of the filter bank extends beyond its tables", expected, found));
        }
        let taps = (0..width.max(0)).map(|i| Tap { frequency: first + i, weight: weights[(start + i) as usize] });
        Ok(taps.filter(|tap| tap.weight != 0).collect())
    }
}

/// A product of a band.
#[derive(Clone, Copy)]
struct Tap {
    frequency: i64,
    weight: i64,
}

/// SignalFilterBank: channel `i` is the sum of band `i` by its weights and of the previous band by its weights for the next channel. All products are
/// in one list, channel by channel. A channel is the difference of the list's partial sums at its ends.
pub(in super::super) fn filter_bank(operator: &mut Operator<'_, '_, '_>) -> Lowered {
    operator.arity(6..=6, 1..=1)?;
    check_types(operator, &[U32, I16, I16, I16, I16, I16], &[U64])?;
    let channels = Settings::read(operator)?.integer("num_channels", 1..=MOST_SAMPLES)? as usize;
    let input = vector(operator, 0)?;
    let bank = Bank::read(operator, channels)?;
    let (mut taps, mut ends) = (Vec::new(), vec![0]);
    for channel in 1..=channels {
        taps.extend(bank.taps(channel, false, input.shape[0])?);
        taps.extend(bank.taps(channel - 1, true, input.shape[0])?);
        ends.push(taps.len() as i64);
    }
    // One product more, so that there is a sum after the last one.
    taps.push(Tap { frequency: 0, weight: 0 });
    let value = sums(operator, input.value, &taps, &ends)?;
    operator.bind(0, value)
}

/// The sums of products from each end to the next one.
fn sums(operator: &mut Operator<'_, '_, '_>, energies: Value, taps: &[Tap], ends: &[i64]) -> Result<Value, Diagnostic> {
    let (places, weights): (Vec<i64>, Vec<i64>) = taps.iter().map(|tap| (tap.frequency, tap.weight)).unzip();
    let count = taps.len() as u64;
    let (places, weights) = (integers(operator, I32, &[count], &places)?, integers(operator, I16, &[count], &weights)?);
    let energies = operator.graph().gather(energies, places, 0)?;
    let mut terms = Terms::new(&[U32, I16]);
    let energy = terms.input_as(0, I64);
    let weight = terms.input_as(1, I64);
    let product = terms.mul(energy, weight)?;
    let product = terms.convert(product, U64);
    let products = operator.map(&[energies, weights], terms.finish(product))?;
    let partial = sums_before(operator, products)?;
    let channels = ends.len() as u64 - 1;
    let mut bounds = Vec::new();
    for list in [&ends[1..], &ends[..ends.len() - 1]] {
        let places = integers(operator, I32, &[channels], list)?;
        bounds.push(operator.graph().gather(partial, places, 0)?);
    }
    let mut terms = Terms::new(&[U64, U64]);
    let (end, start) = (terms.input(0), terms.input(1));
    let sum = terms.sub(end, start)?;
    operator.map(&bounds, terms.finish(sum))
}
