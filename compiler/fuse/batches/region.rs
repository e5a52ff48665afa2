//! Regions: operators that work matrix by matrix, and can be computed batch by batch.

use crate::fuse::flow::{Flow, Item};
use crate::fuse::row_major;
use crate::ir::{Axis, Function, Inst, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Operators to be computed batch by batch.
#[derive(Clone, Debug)]
pub struct Region {
    /// The operators in their order, each with one result.
    pub insts: Vec<Inst>,
    /// Number of batches: the product of the leading dimensions of every result.
    pub count: u64,
    /// Number of leading dimensions of each result.
    pub leading: FxHashMap<Value, usize>,
    /// The results that are read outside the region.
    pub outputs: Vec<Value>,
    /// Bytes of the largest result that is read only inside the region.
    pub peak: u64,
}

/// Limit of batches: more calls would cost more than they save.
const MOST_BATCHES: u64 = 64;
/// Limit of operators over all batches of all regions. Each gets an address, and planning time grows with their square (3,000 take a second).
const MOST_OPERATORS: u64 = 1 << 12;
/// Limits of a region: its operators, and the instructions searched after its first. Attention has a few dozen.
const MOST_OF_REGION: usize = 1 << 6;
const FARTHEST: usize = 1 << 10;
/// Bytes of a batch that stay in the cache of a core: half of the smallest current caches.
const CACHED: u64 = 1 << 17;

/// Returns disjoint regions of the outermost body of a method.
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

/// Returns possible numbers of batches for a matrix product, best first: the fewest that fit into the cache, then the others in descending
/// order.
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

/// Returns the number of leading dimensions whose extents multiply to `count`; `None` if there is none.
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
    /// Grows the region that begins with the first of some items.
    fn region(&self, items: &[Item], taken: &FxHashSet<Inst>) -> Option<Region> {
        let mut leading = FxHashMap::default();
        let mut insts = Vec::new();
        for item in items.iter().take(FARTHEST) {
            let Item::Inst(inst) = *item else { break };
            let reads = self.function.uses(inst).any(|value| leading.contains_key(&value));
            if !insts.is_empty() && !reads {
                continue;
            }
            // Readers outside the region come after all of it.
            let Some((result, dimensions)) = self.result(inst, &leading).filter(|_| !taken.contains(&inst)) else { break };
            leading.insert(result, dimensions);
            insts.push(inst);
            if insts.len() == MOST_OF_REGION {
                break;
            }
        }
        self.cut(insts, leading)
    }

    /// Truncates a region at the point where the fewest bytes leave it; `None` if this saves no memory.
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

    /// Returns the results of some operators that are read elsewhere.
    fn outputs(&self, insts: &[Inst]) -> Vec<Value> {
        let mut inside: FxHashMap<Value, usize> = FxHashMap::default();
        for &inst in insts {
            self.function.uses(inst).for_each(|value| *inside.entry(value).or_default() += 1);
        }
        let results = insts.iter().map(|&inst| self.function.insts[inst].results[0]);
        results.filter(|result| inside.get(result) != self.uses.get(result)).collect()
    }

    /// Returns the result of an operator that works matrix by matrix, with its number of leading dimensions; `None` for other operators.
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
            // Fields of the operator hold for each batch alike.
            let is_alike = data.operation.extents().next().is_none() && axes.counted.is_empty();
            is_alike && operands.all(|(value, axes)| self.follows(value, axes, shape.len(), dimensions, known))
        };
        works.then_some((result, dimensions))
    }

    /// Tests whether an operand can be sliced along the leading dimensions of a result of rank `rank`.
    fn follows(&self, operand: Value, axes: &[Axis], rank: usize, dimensions: usize, known: &FxHashMap<Value, usize>) -> bool {
        let Some(own) = row_major(self.function, operand) else { return false };
        let Some(new) = rank.checked_sub(own.len()) else { return false };
        // Leading dimensions keep their position, counted from the last, and other dimensions stay after them.
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
        // A constant is packed as a whole, so it is not sliced.
        let is_constant = self.function.defining_inst(operand).is_some_and(|inst| self.function.insts[inst].op() == Op::Constant);
        !(cut && is_constant)
    }
}
