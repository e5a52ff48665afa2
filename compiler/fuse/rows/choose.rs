//! Selection of the part of a chain to cut, and of the number of bands.

use super::chain::{Chain, Link, chains};
use super::division::Division;
use super::window::image;
use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Function, Module, Op, Value};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A part of a chain to be computed in bands.
#[derive(Clone, Debug)]
pub struct Split {
    /// The operators.
    pub links: Vec<Link>,
    /// The values before and after each operator: one more than operators.
    pub values: Vec<Value>,
    /// The bands of the result.
    pub division: Division,
    /// Bytes live at once without bands, from the sizes of the tensors.
    pub peak: u64,
    /// Multiply-accumulate operations and elements that are computed twice.
    pub extra_work: u64,
}

/// Limit of operators in a part, without element-wise ones.
const MOST_OPERATORS: usize = 6;
/// Numbers of bands that are tried.
const BANDS: [u64; 12] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 28];
/// Limit of additional work, as a fraction of the part's work.
const MOST_EXTRA: f64 = 0.25;
/// Factor by which more bands must shrink the memory.
const GAIN: f64 = 0.97;

/// Two values in memory, by their positions in a chain.
#[derive(Clone, Copy)]
struct Pair {
    /// The value that a kernel reads.
    read: usize,
    /// The value that it writes.
    written: usize,
}

/// Returns the parts of chains whose memory bands would shrink, largest peak first, and the method's total work. `threads` bands are computed
/// at the same time.
pub fn candidates(module: &Module, flow: &Flow, uses: &FxHashMap<Value, usize>, threads: u64) -> (Vec<Split>, u64) {
    let mut list = Vec::new();
    for chain in chains(module, flow, uses) {
        Cutter::new(&flow.function, &chain, threads).cut(0..chain.values.len(), &mut list);
    }
    list.sort_by_key(|split| std::cmp::Reverse(split.peak));
    (list, work(flow))
}

/// Returns the multiply-accumulate operations of the outermost body, plus one for each element of other results.
pub fn work(flow: &Flow) -> u64 {
    let function = &flow.function;
    let of = |item: &Item| {
        let Item::Inst(inst) = item else { return 0 };
        let data = &function.insts[*inst];
        let elements = |value: Value| row_major(function, value).map_or(0, |shape| shape.iter().product::<u64>());
        match data.op() {
            Op::Conv => {
                let filter = row_major(function, data.operands[1]).unwrap_or_default();
                elements(data.results[0]).saturating_mul(filter.iter().skip(1).product())
            }
            Op::Matmul | Op::BlockMatmul => {
                let depth = row_major(function, data.operands[0]).and_then(|shape| shape.last().copied());
                elements(data.results[0]).saturating_mul(depth.unwrap_or(0))
            }
            _ => data.results.first().map_or(0, |&value| if function.values[value].ty.as_tensor().is_some() { elements(value) } else { 0 }),
        }
    };
    flow.items.iter().map(of).fold(0, u64::saturating_add)
}

struct Cutter<'a> {
    function: &'a Function,
    chain: &'a Chain,
    /// Rows of each value.
    rows: Vec<u64>,
    row_bytes: Vec<u64>,
    /// `true` for each value that is stored in memory, and not only in registers of a kernel.
    in_memory: Vec<bool>,
    threads: u64,
}

impl<'a> Cutter<'a> {
    fn new(function: &'a Function, chain: &'a Chain, threads: u64) -> Self {
        let is_map = |link: &Link| function.insts[link.inst].op() == Op::Map;
        let in_memory = (0..chain.values.len()).map(|i| i == 0 || chain.links.get(i).is_none_or(|link| !is_map(link))).collect();
        let size = |&value: &Value| {
            let [rows, columns, channels] = image(function, value).unwrap_or([1, 0, 0]);
            let bytes = function.tensor(value).element.bytes_for(columns.saturating_mul(channels)).unwrap_or(u64::MAX);
            (rows, if is_outside(function, value) { 0 } else { bytes })
        };
        let (rows, row_bytes) = chain.values.iter().map(size).unzip();
        Self { function, chain, rows, row_bytes, in_memory, threads }
    }

    /// Cuts the part of a range of values with the largest peak, then the ranges before and after it.
    fn cut(&self, range: Range<usize>, list: &mut Vec<Split>) {
        let all: Vec<Range<u64>> = self.rows.iter().map(|&rows| 0..rows).collect();
        let worst = self.pairs(&range).max_by_key(|&pair| (self.pair_bytes(pair, &all), std::cmp::Reverse(pair.read)));
        let Some(worst) = worst else { return };
        let peak = self.pair_bytes(worst, &all);
        let places: Vec<usize> = range.clone().filter(|&i| self.in_memory[i]).collect();
        let mut best: Option<(f64, Split, Range<usize>)> = None;
        for &start in places.iter().filter(|&&i| i <= worst.read) {
            for &end in places.iter().filter(|&&i| i >= worst.written && self.operators(start..i) <= MOST_OPERATORS) {
                let work = self.work(start..end);
                for division in self.divisions(start..end) {
                    let Some((bytes, extra_work)) = self.in_bands(start, end, division) else { continue };
                    let extra = extra_work as f64 / work.max(1) as f64;
                    let score = bytes as f64 * (1.0 + extra) * self.longest_stream(division);
                    if extra <= MOST_EXTRA && score < best.as_ref().map_or(peak as f64, |best| best.0) * GAIN {
                        let (links, values) = (self.chain.links[start..end].to_vec(), self.chain.values[start..=end].to_vec());
                        best = Some((score, Split { links, values, division, peak, extra_work }, start..end));
                    }
                }
            }
        }
        let around = match best {
            Some((_, split, part)) => {
                list.push(split);
                part
            }
            // No cut shrinks the largest peak; ranges beside it are still tried.
            None => worst.read..worst.written,
        };
        self.cut(range.start..around.start + 1, list);
        self.cut(around.end..range.end, list);
    }

    /// Returns the divisions to try for the result of some links. With groups of rows, the offset of the band ends decides how many groups a
    /// window needs. So the first band is tried up to a group shorter.
    fn divisions(&self, links: Range<usize>) -> impl Iterator<Item = Division> {
        let all = self.rows[links.end];
        let groups = self.chain.links[links].iter().map(|link| link.window.results).max().unwrap_or(1);
        let rows = BANDS.into_iter().filter(move |&bands| bands <= all).map(move |bands| all.div_ceil(bands));
        rows.flat_map(move |rows| (0..groups.min(rows)).map(move |less| Division { all, first: rows - less, rows }))
    }

    /// Returns the rows of the longest stream of one thread, divided by an equal share of the rows.
    fn longest_stream(&self, division: Division) -> f64 {
        let (all, bands) = (division.all, division.count());
        let streams = self.threads.min(bands);
        let first = |stream: u64| ((stream * bands).div_ceil(streams) * division.rows).min(all);
        let longest = (0..streams).map(|stream| first(stream + 1) - first(stream)).max().unwrap_or(all);
        (longest * self.threads) as f64 / all as f64
    }

    /// Returns the work of some links if each row is computed once.
    fn work(&self, links: Range<usize>) -> u64 {
        links.map(|i| self.chain.links[i].work_per_row.saturating_mul(self.rows[i + 1])).sum()
    }

    fn operators(&self, links: Range<usize>) -> usize {
        links.filter(|&i| self.function.insts[self.chain.links[i].inst].op() != Op::Map).count()
    }

    /// Returns pairs of values in memory that one kernel reads and writes.
    fn pairs(&self, range: &Range<usize>) -> impl Iterator<Item = Pair> {
        let places: Vec<usize> = range.clone().filter(|&i| self.in_memory[i]).collect();
        (1..places.len()).map(move |i| Pair { read: places[i - 1], written: places[i] })
    }

    /// Returns the bytes of some rows of two values; the second may overwrite the first.
    fn pair_bytes(&self, Pair { read, written }: Pair, rows: &[Range<u64>]) -> u64 {
        let bytes = |i: usize| (rows[i].end - rows[i].start).saturating_mul(self.row_bytes[i]);
        if bytes(written) <= bytes(read) { bytes(read) } else { bytes(read).saturating_add(bytes(written)) }
    }

    /// Returns the peak bytes of a part in bands, and its additional work. `None` if a band reads only padding.
    fn in_bands(&self, start: usize, end: usize, division: Division) -> Option<(u64, u64)> {
        let mut needed: Vec<Range<u64>> = vec![0..0; self.rows.len()];
        let (mut computed, mut most) = (0u64, 0);
        let inner: Vec<usize> = (start + 1..end).filter(|&i| self.in_memory[i]).collect();
        for band in division.bands() {
            needed[end] = band;
            for i in (start..end).rev() {
                let needs = self.chain.links[i].window.needs(&needed[i + 1])?;
                let count = needs.computed.end - needs.computed.start;
                (needed[i], needed[i + 1]) = (needs.rows, needs.computed);
                computed = computed.saturating_add(count.saturating_mul(self.chain.links[i].work_per_row));
            }
            let pairs = inner.windows(2).map(|pair| self.pair_bytes(Pair { read: pair[0], written: pair[1] }, &needed));
            let alone = inner.iter().map(|&i| self.pair_bytes(Pair { read: i, written: i }, &needed));
            most = pairs.chain(alone).fold(most, u64::max);
        }
        let ends =
            self.rows[start].saturating_mul(self.row_bytes[start]).saturating_add(self.rows[end].saturating_mul(self.row_bytes[end]));
        let streams = self.threads.min(division.count());
        (!inner.is_empty()).then(|| (ends.saturating_add(most.saturating_mul(streams)), computed.saturating_sub(self.work(start..end))))
    }
}

/// Tests whether a value is in a caller's buffer.
fn is_outside(function: &Function, value: Value) -> bool {
    function.params.contains(&value) || function.results.contains(&value)
}
