//! Attention: the scores of a tile of queries, their softmax, and the weighted sum of values, one after another. Each score is written once.
//! Keys and values are read in place and widened in registers. Heads of queries that share keys are computed together.
//!
//! Products of queries and keys run along the depth, sums of values across it. There is room for the scores of all possible keys, or of a
//! block. Scores are padded to whole vectors with −∞, whose weight is 0.
//!
//! Many queries are computed head by head (`by_head.rs`). A single query of a large cache is computed key by key (`by_key.rs`), which sums in
//! another order.

mod blocks;
mod by_head;
mod by_key;
mod tile;

use super::arguments::{Arguments, Elements};
use super::context::{Context, Goal};
use super::interface::{Lowered, Requirements, Schedule};
use super::quantity::{Cells, Number, Quantity, product};
use super::unsupported::Unsupported;
use crate::ir::operators::Attention;
use crate::ir::{ElementType, Inst, Operation, Value as Tensor};
use crate::kernel::{Buffer, BufferKind, CompareOp, KernelBuilder, Lane, Value};
use crate::schedule::elementwise::lanes::memory_lane;
use crate::schedule::pair::Pair;
use crate::schedule::technique::Technique;
use blocks::{Blocks, Together};
use by_head::KEYS;
use tile::{Cache, KEYS_OF_ROW, Lowering, Shape, Vectors};

/// Minimum bytes of keys from which a single query goes key by key. Fewer bytes stay in the cache of a core, where the order of reads does not
/// matter.
const KEY_BY_KEY_FROM: u64 = 256 << 10;

/// Schedule of an `attention`.
pub struct AttentionSchedule<'a> {
    cx: Context<'a>,
    operands: Vec<Tensor>,
    batch: Quantity,
    queries: Quantity,
    /// Capacity of the cache in keys, and the number of keys in it.
    room: Quantity,
    keys: Quantity,
    causal_from: Option<Quantity>,
    shape: Shape,
}

impl<'a> AttentionSchedule<'a> {
    /// Makes the schedule of an `attention`.
    ///
    /// # Errors
    /// [`Unsupported`] if heads or depth are unknown at compile time.
    pub fn new(cx: Context<'a>, root: Inst) -> Result<Self, Unsupported> {
        let Operation::Attention(operator) = cx.operation(root) else { return Err(cx.no_schedule(root)) };
        let operands = cx.function.insts[root].operands.to_vec();
        let (query, key) = (cx.quantities(operands[0]), cx.quantities(operands[1]));
        let known = |quantity: &Quantity| {
            let number = quantity.as_known().and_then(|n| u64::try_from(n).ok());
            number.ok_or(Unsupported::AttentionExtents)
        };
        let of = |extent: &crate::ir::Extent| Quantity::of(cx.function.resolved(*extent));
        let many = cx.machine.registers.count() >= 32 && cx.machine.has_vectors();
        let rows = if cx.goal == Goal::Size || !cx.machine.has_vectors() {
            1
        } else if many {
            4
        } else {
            2
        };
        let mask = operands.get(Attention::mask_operand(cx.element(operands[1]))).copied();
        let mask_by_query = mask.is_some_and(|mask| !cx.quantities(mask)[0].is(1));
        let (heads, groups, depth) = (known(&query[2])?, known(&key[2])?, known(&query[3])?);
        Ok(Self {
            cx,
            batch: query[0].clone(),
            queries: query[1].clone(),
            room: key[1].clone(),
            keys: of(&operator.keys[0]),
            causal_from: operator.causal_from.first().map(of),
            shape: Shape { scale: operator.scale.as_f64(), mask_by_query, heads, groups, depth, rows },
            operands,
        })
    }

    /// Tests whether a single query goes key by key: it has several heads, so that head by head would read with gaps, and many bytes.
    fn goes_key_by_key(&self) -> bool {
        let keys = self.keys.scaled((self.shape.groups * self.shape.depth * self.element_bytes()) as i64);
        let bytes = keys.most(self.cx.function).unwrap_or(0);
        let single = self.queries.as_known().is_none_or(|queries| queries == 1);
        // All CPU levels must have the same number of kernels.
        let in_order = self.cx.writes_out() && self.cx.levels.iter().all(|machine| machine.combines_lanes());
        self.cx.uses(Technique::KeyByKey) && single && in_order && self.shape.groups > 1 && bytes >= KEY_BY_KEY_FROM
    }

    /// Returns the bytes of an element of keys and values.
    fn element_bytes(&self) -> u64 {
        u64::from(self.cx.element(self.operands[1]).bits() / 8)
    }

    /// Returns the blocks of a single query, if it goes key by key.
    fn blocks(&self) -> Result<Option<Blocks>, Unsupported> {
        let keys = self.keys.most(self.cx.function)?;
        Ok(self.goes_key_by_key().then(|| Blocks::new(&self.shape, keys, self.cx.uses(Technique::KeyBlocks))))
    }

    /// Returns the number of scores that need room: of a tile, or of all heads and a block.
    fn score_elements(&self) -> Result<u64, Unsupported> {
        let of_tile = if self.is_by_key_alone() { 0 } else { self.shape.rows * self.row_elements()? };
        Ok(self.blocks()?.map_or(0, |blocks| blocks.score_elements()).max(of_tile))
    }

    /// Tests whether the kernel only ever has one query, which goes key by key.
    fn is_by_key_alone(&self) -> bool {
        self.goes_key_by_key() && self.queries.is(1)
    }

    /// Returns the number of elements in a row of scores, head by head.
    fn row_elements(&self) -> Result<u64, Unsupported> {
        Ok(self.keys.most(self.cx.function)?.next_multiple_of(KEYS_OF_ROW))
    }

    /// Returns the number of elements of the blocks' results, for all images.
    fn found_elements(&self, blocks: &Blocks) -> Result<u64, Unsupported> {
        Ok(blocks.elements().saturating_mul(self.batch.most(self.cx.function)?))
    }

    fn vectors(&self) -> Vectors<'_> {
        Vectors { shape: &self.shape, machine: self.cx.machine }
    }

    fn multiply_accumulates(&self) -> u64 {
        let all = product([&self.batch, &self.queries, &self.keys]).scaled(2 * (self.shape.heads * self.shape.depth) as i64);
        all.most(self.cx.function).unwrap_or(u64::MAX)
    }
}

impl AttentionSchedule<'_> {
    /// Returns the number of heads of keys, along which the kernel is divided. `None` if there is too little work.
    fn extent(&self) -> Option<u64> {
        (self.batch.is(1) && self.shape.groups > 1 && self.cx.sharing.is_worth_long_ranges(self.multiply_accumulates()))
            .then_some(self.shape.groups)
    }

    /// Writes the kernel of the queries, or of their blocks of keys.
    fn first(&self) -> Result<Lowered, Unsupported> {
        let mut b = KernelBuilder::new("attention");
        let range = self.extent().map(|rounds| b.divide_all(rounds));
        let mut arguments = Arguments::default();
        let mut input = |operand: usize, name: &str| -> Result<Buffer, Unsupported> {
            let tensor = self.operands[operand];
            let elements = Elements::new(memory_lane(self.cx.element(tensor))?, self.cx.most_elements(tensor)?);
            Ok(arguments.input(&mut b, name, tensor, elements))
        };
        let element = self.cx.element(self.operands[1]);
        let mask = Attention::mask_operand(element);
        let (query, keys, values) = (input(0, "query")?, input(1, "key")?, input(2, "value")?);
        let mut scaled = [None; 2];
        if element == ElementType::I8 {
            let keys = [input(3, "key_scale")?, input(4, "key_zero_point")?];
            scaled = [Some(keys), Some([input(5, "value_scale")?, input(6, "value_zero_point")?])];
        }
        let mask = if self.operands.len() > mask { Some(input(mask, "mask")?) } else { None };
        let keys_and_values = [(keys, scaled[0]), (values, scaled[1])].map(|(elements, scaled)| Cache { elements, element, scaled });
        let target = self.cx.group.outputs[0];
        let output = arguments.output(&mut b, "output", target, Elements::new(Lane::F32, self.cx.most_elements(target)?));
        let scores = arguments.scratch(&mut b, "scores", 0, Lane::F32, self.score_elements()?);
        let by_key = match self.blocks()? {
            Some(blocks) => {
                Some((blocks, arguments.common(&mut b, "found", 0, BufferKind::Output, Lane::F32, self.found_elements(&blocks)?)))
            }
            None => None,
        };
        let mut cells = Cells::default();
        let sizes = [&self.batch, &self.queries, &self.room, &self.keys];
        cells.load(&mut b, &mut arguments, sizes.into_iter().chain(&self.causal_from).flat_map(Quantity::extents));
        let [batch, queries, room, keys] = sizes.map(|quantity| cells.number(&mut b, quantity));
        let start = self.causal_from.as_ref().map(|start| cells.number(&mut b, start));
        let lowering = Lowering { vectors: self.vectors(), query, keys_and_values, mask, output, scores, queries, room, keys, start };
        let (groups, stride) = (self.shape.groups as i64, self.row_elements()? as i64);
        let by_head = |b: &mut KernelBuilder| {
            batch.repeat(b, |b, image| match range {
                Some((first, end)) => b.for_values(first, end, 1, |b, group| lowering.head_by_head(b, image, group, stride)),
                None => b.for_range(0, groups, 1, |b, group| lowering.head_by_head(b, image, group, stride)),
            });
        };
        let in_blocks = |b: &mut KernelBuilder, (blocks, found): (Blocks, Buffer)| {
            let (first, end) = range.unwrap_or_else(|| (b.index(0), b.index(groups)));
            let [first, end] = [first, end].map(|group| blocks.of_group(b, group, groups));
            batch.repeat(b, |b, image| b.for_values(first, end, 1, |b, block| lowering.block(b, &blocks, found, image, block)));
        };
        match (by_key, queries) {
            (None, _) => by_head(&mut b),
            (Some(by_key), Number::Known(_)) => in_blocks(&mut b, by_key),
            (Some(by_key), Number::Computed(queries)) => {
                let single = b.index(1);
                either(&mut b, [queries, single], |b| in_blocks(b, by_key), by_head);
            }
        }
        let order = if self.goes_key_by_key() { ", one key by key" } else { "" };
        let description = format!("attention of {} queries to {KEYS} keys{order}", self.shape.rows);
        let multiply_accumulates = self.multiply_accumulates();
        Ok(Lowered { multiply_accumulates, ..Lowered::new(b.finish(), arguments, description) })
    }

    /// Writes the kernel that combines the results of blocks, if there are any.
    fn last(&self) -> Result<Option<Lowered>, Unsupported> {
        let Some(blocks) = self.blocks()? else { return Ok(None) };
        let mut b = KernelBuilder::new("attention_of_blocks");
        b.independent(true);
        let mut arguments = Arguments::default();
        let found = arguments.common(&mut b, "found", 0, BufferKind::Input, Lane::F32, self.found_elements(&blocks)?);
        let target = self.cx.group.outputs[0];
        let output = arguments.output(&mut b, "output", target, Elements::new(Lane::F32, self.cx.most_elements(target)?));
        let mut cells = Cells::default();
        cells.load(&mut b, &mut arguments, self.batch.extents().chain(self.queries.extents()));
        let [batch, queries] = [&self.batch, &self.queries].map(|quantity| cells.number(&mut b, quantity));
        let together = Together { blocks, vectors: self.vectors(), found, output };
        let all = |b: &mut KernelBuilder| batch.repeat(b, |b, image| together.all(b, image));
        match queries {
            Number::Known(_) => all(&mut b),
            Number::Computed(queries) => {
                let single = b.index(1);
                either(&mut b, [queries, single], all, |_| {});
            }
        }
        let description = format!("attention of {} blocks of keys", blocks.count);
        Ok(Some(Lowered::new(b.finish(), arguments, description)))
    }
}

impl Schedule for AttentionSchedule<'_> {
    fn requirements(&self) -> Requirements {
        let bytes = |elements: Result<u64, Unsupported>| elements.unwrap_or(0).saturating_mul(Lane::F32.bytes().into());
        let found = self.blocks().ok().flatten().map(|blocks| bytes(self.found_elements(&blocks)));
        let (scratch, common) = (vec![bytes(self.score_elements())], found.into_iter().collect());
        Requirements { scratch, common, divides: self.extent(), ..Requirements::default() }
    }

    fn kernels(&self, _shared: &[Pair]) -> Result<Vec<Lowered>, Unsupported> {
        let all = [Some(self.first()?), self.last()?];
        Ok(all.into_iter().flatten().collect())
    }
}

/// Writes two variants; the first runs if two numbers are equal.
fn either(b: &mut KernelBuilder, [x, y]: [Value; 2], equal: impl FnOnce(&mut KernelBuilder), different: impl FnOnce(&mut KernelBuilder)) {
    let are_equal = b.compare(CompareOp::Equal, x, y);
    b.if_else(
        are_equal,
        |b| {
            equal(b);
            vec![]
        },
        |b| {
            different(b);
            vec![]
        },
    );
}
