//! Which operators work matrix by matrix, and which of them are computed batch by batch.

use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Axis, Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Operators to be computed batch by batch.
#[derive(Clone, Debug)]
pub struct Region {
    /// The operators in their order, each with one result.
    pub insts: Vec<Inst>,
    /// How many batches: the product of the leading dimensions of every result.
    pub count: u64,
    /// How many leading dimensions that are, for each result.
    pub leading: FxHashMap<Value, usize>,
    /// The results that others read.
    pub outputs: Vec<Value>,
    /// The bytes of the largest result that nobody else reads.
    pub peak: u64,
}

/// More batches than this would be more calls than they are worth.
const MOST_BATCHES: u64 = 64;
/// Operators of all batches of all regions: each has a place in plans, and what a plan takes grows with their square (3,000 take a second).
const MOST_OPERATORS: u64 = 1 << 12;
/// Operators of a region, and instructions after its first that are looked at: attention has some dozen.
const MOST_OF_REGION: usize = 1 << 6;
const FARTHEST: usize = 1 << 10;
/// A batch of this many bytes stays in the cache of a core while it is worked on: half of what the smallest ones of today have.
const CACHED: u64 = 1 << 17;

/// The regions of the outermost body of a method, none of which overlaps another.
pub fn regions(module: &Module, flow: &Flow, uses: &FxHashMap<Value, usize>) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    let (mut taken, mut operators): (FxHashSet<Inst>, u64) = (FxHashSet::default(), 0);
    for (position, item) in flow.items.iter().enumerate() {
        let Item::Inst(inst) = *item else { continue };
        if flow.function.insts[inst].op() != Op::Matmul || taken.contains(&inst) {
            continue;
        }
        let grown = |&count: &u64| Growth { module, function: &flow.function, uses, count }.region(&flow.items[position..], &taken);
        if let Some(region) = counts(&flow.function, inst).iter().find_map(grown) {
            taken.extend(&region.insts);
            operators += region.count * region.insts.len() as u64;
            if operators > MOST_OPERATORS {
                break;
            }
            regions.push(region);
        }
    }
    regions
}

/// In how many batches a product of matrices may be computed, the best first: the fewest that stay in the cache, else the most.
fn counts(function: &Function, matmul: Inst) -> Vec<u64> {
    let result = function.insts[matmul].results[0];
    let (Some(shape), Some(bytes)) = (row_major(function, result), function.tensor(result).static_bytes()) else { return vec![] };
    let mut counts: Vec<u64> = (1..shape.len() - 1).map(|leading| shape[..leading].iter().product()).collect();
    counts.retain(|count| (2..=MOST_BATCHES).contains(count));
    counts.dedup();
    let is_cached = |count: &u64| bytes / count <= CACHED;
    let (cached, mut larger): (Vec<u64>, Vec<u64>) = counts.into_iter().partition(is_cached);
    larger.reverse();
    cached.into_iter().chain(larger).collect()
}

/// How many leading dimensions have this many positions.
fn leading(shape: &[u64], count: u64) -> Option<usize> {
    (1..=shape.len()).find(|&leading| shape[..leading].iter().product::<u64>() == count)
}

struct Growth<'a> {
    module: &'a Module,
    function: &'a Function,
    uses: &'a FxHashMap<Value, usize>,
    count: u64,
}

impl Growth<'_> {
    /// The region that begins with the first of some items.
    fn region(&self, items: &[Item], taken: &FxHashSet<Inst>) -> Option<Region> {
        let mut leading = FxHashMap::default();
        let mut insts = Vec::new();
        for item in items.iter().take(FARTHEST) {
            let Item::Inst(inst) = *item else { break };
            let reads = self.function.uses(inst).any(|value| leading.contains_key(&value));
            if !insts.is_empty() && !reads {
                continue;
            }
            // Who reads a result but does not belong to the region comes after all of it.
            let Some((result, dimensions)) = self.result(inst, &leading).filter(|_| !taken.contains(&inst)) else { break };
            leading.insert(result, dimensions);
            insts.push(inst);
            if insts.len() == MOST_OF_REGION {
                break;
            }
        }
        self.cut(insts, leading)
    }

    /// The first operators of a region, up to where the fewest bytes leave it.
    fn cut(&self, mut insts: Vec<Inst>, leading: FxHashMap<Value, usize>) -> Option<Region> {
        let bytes = |value: &Value| self.function.tensor(*value).static_bytes().unwrap_or(u64::MAX);
        let left = |count: usize| self.outputs(&insts[..count]).iter().map(bytes).fold(0, u64::saturating_add);
        let count = (2..=insts.len()).min_by_key(|&count| left(count))?;
        insts.truncate(count);
        let outputs = self.outputs(&insts);
        let results = insts.iter().map(|&inst| self.function.insts[inst].results[0]);
        let peak = results.filter(|result| !outputs.contains(result)).map(|result| bytes(&result)).max()?;
        let leaving = outputs.iter().map(bytes).fold(0, u64::saturating_add);
        (leaving < peak).then_some(Region { insts, count: self.count, leading, outputs, peak })
    }

    /// The results of some operators that others read.
    fn outputs(&self, insts: &[Inst]) -> Vec<Value> {
        let mut inside: FxHashMap<Value, usize> = FxHashMap::default();
        for &inst in insts {
            self.function.uses(inst).for_each(|value| *inside.entry(value).or_default() += 1);
        }
        let results = insts.iter().map(|&inst| self.function.insts[inst].results[0]);
        results.filter(|result| inside.get(result) != self.uses.get(result)).collect()
    }

    /// The result of an operator that works matrix by matrix, and how many of its dimensions lead; `None` for other operators.
    fn result(&self, inst: Inst, known: &FxHashMap<Value, usize>) -> Option<(Value, usize)> {
        let data = &self.function.insts[inst];
        let [result] = data.results[..] else { return None };
        let shape = row_major(self.function, result)?;
        let dimensions = leading(&shape, self.count)?;
        let axes = data.axes(self.module, self.function);
        let mut operands = data.operands.iter().copied().zip(&axes.operands);
        let works = if axes.in_order {
            data.operands.first().is_some_and(|value| known.contains_key(value))
        } else {
            // Its fields are those of each batch.
            let is_alike = data.operation.extents().next().is_none() && axes.counted.is_empty();
            is_alike && operands.all(|(value, axes)| self.follows(value, axes, shape.len(), dimensions, known))
        };
        works.then_some((result, dimensions))
    }

    /// Whether an operand can be cut where a result is that has this many dimensions, of which some lead.
    fn follows(&self, operand: Value, axes: &[Axis], rank: usize, dimensions: usize, known: &FxHashMap<Value, usize>) -> bool {
        let Some(own) = row_major(self.function, operand) else { return false };
        let Some(new) = rank.checked_sub(own.len()) else { return false };
        // Dimensions that lead stay where they are, counted from the last, and the others stay after them.
        let stays = |(d, axis): (usize, &Axis)| match *axis {
            Axis::Kept(at) | Axis::Broadcast(at) if d + new < dimensions || at < dimensions => at == d + new,
            Axis::Kept(_) | Axis::Broadcast(_) | Axis::Reduced => d + new >= dimensions,
            Axis::Windowed(..) | Axis::Gathered | Axis::Opaque => false,
        };
        if !axes.iter().enumerate().all(stays) {
            return false;
        }
        if let Some(&leading) = known.get(&operand) {
            return new == 0 && leading == dimensions && (0..dimensions).all(|d| axes[d] == Axis::Kept(d));
        }
        let cut = (new..dimensions).any(|d| own[d - new] != 1);
        // A constant is packed as a whole.
        let is_constant = self.function.defining_inst(operand).is_some_and(|inst| self.function.insts[inst].op() == Op::Constant);
        !(cut && is_constant)
    }
}
