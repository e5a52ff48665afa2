//! How many workgroups of a grid have something to do, where loops end at numbers that are known when the kernel runs.
//!
//! A grid has positions for the most rounds. Those of an outermost loop's last rounds have the highest numbers, so that a dispatch may leave them
//! out. What a loop ends at is computed from numbers in memory, which another kernel can load before: one of a single position, that does nothing but this
//! arithmetic and stores how many workgroups there are in each direction.

use super::super::super::verify::verify;
use super::super::{COMMON, DEAD, KNOWN};
use super::accesses::Loops;
use super::tree::{Item, Nest, Tree};
use super::uniform::{Chain, Digit};
use super::{WORKGROUP, only_used};
use crate::kernel::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Words of a count: workgroups in each direction.
const WORDS: u64 = 3;

/// How the workgroups that a stage needs follow from the rounds of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Computes the rounds, and yields them. Its buffers are those of the kernel that the stage is of.
    rounds: Kernel,
    share: Share,
}

/// What the rounds of a loop are of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Share {
    /// The most rounds.
    most: u64,
    /// Positions before those of the loop, which need not fill a workgroup.
    before: u64,
    /// Positions of each round.
    of_round: u64,
    /// How many of them are a workgroup.
    in_group: u64,
    /// As many workgroups are needed for each of these.
    times: u64,
    /// Workgroups before.
    groups_before: u64,
    /// Workgroups at least: one where something is checked.
    least: u64,
}

impl Default for Share {
    fn default() -> Self {
        Self { most: 1, before: 0, of_round: 1, in_group: 1, times: 1, groups_before: 0, least: 0 }
    }
}

impl Counts {
    /// Of items that are done at the same time, of which the last one has the last positions.
    pub fn of_items(loops: &Loops<'_>, items: &[Item]) -> Option<Self> {
        let (last, before) = items.split_last()?;
        let of_last = Self::of_item(loops, last)?;
        let before = before.iter().map(Item::positions).sum();
        Some(Self { share: Share { before, ..of_last.share }, ..of_last })
    }

    /// Of one item alone.
    pub fn of_item(loops: &Loops<'_>, item: &Item) -> Option<Self> {
        let (counter, most) = outermost(loops, item)?;
        let of_round = item.positions() / most;
        Self::new(loops, counter, Share { most, of_round, in_group: WORKGROUP.into(), ..Share::default() })
    }

    /// Of chains, of which the last one has the last workgroups.
    pub fn of_chains(loops: &Loops<'_>, chains: &[Chain]) -> Option<Self> {
        let (last, before) = chains.split_last()?;
        let of_last = Self::of_chain(loops, last)?;
        let groups_before = before.iter().map(Chain::groups).sum();
        Some(Self { share: Share { groups_before, ..of_last.share }, ..of_last })
    }

    /// Of one chain alone.
    pub fn of_chain(loops: &Loops<'_>, chain: &Chain) -> Option<Self> {
        let &Digit { rounds, is_uniform, counter } = &chain.digits[chain.open?];
        let share = if is_uniform {
            Share { of_round: chain.groups() / rounds, in_group: 1, ..Share::default() }
        } else {
            Share { of_round: chain.lanes() / rounds, in_group: WORKGROUP.into(), times: chain.uniform(), ..Share::default() }
        };
        Self::new(loops, counter, Share { most: rounds, ..share })
    }

    fn new(loops: &Loops<'_>, counter: Value, share: Share) -> Option<Self> {
        let mut slice = Slice::new(loops);
        let rounds = slice.rounds(counter)?;
        let mut kernel = slice.kernel;
        kernel.body.yields = vec![rounds];
        Some(Self { rounds: kernel, share: Share { least: loops.kernel.may_fail().into(), ..share } })
    }

    /// The kernel that stores the count of a grid, and for its pointer parameters but the last, which is the count, the numbers of those of the kernel
    /// that the stage is of.
    ///
    /// # Panics
    /// In debug builds, if it breaks a rule of the language.
    pub fn kernel(&self, grid: &Grid) -> (Kernel, Vec<usize>) {
        let mut kernel =
            Kernel { name: "counts".into(), integers: 1, grid: Some(Grid { positions: 1, workgroup: 1 }), ..self.rounds.clone() };
        let rounds = std::mem::take(&mut kernel.body.yields);
        let mut writer = Writer { kernel };
        let position = writer.value(Type::INDEX);
        writer.kernel.body.params = vec![position];
        rounds.first().into_iter().for_each(|&rounds| writer.store(rounds, &self.share, grid));
        let mut kernel = writer.kernel;
        for pass in [KNOWN, COMMON, DEAD] {
            (pass.run)(&mut kernel);
        }
        let pointers = only_used(&mut kernel);
        debug_assert_eq!(verify(&kernel), Ok(()), "{kernel}");
        (kernel, pointers.into_iter().flatten().take_while(|&pointer| pointer < self.pointer_params()).collect())
    }

    fn pointer_params(&self) -> usize {
        self.rounds.pointer_params().count()
    }
}

/// The outermost loop of an item that is positions, and its most rounds, if only what runs knows them.
fn outermost(loops: &Loops<'_>, item: &Item) -> Option<(Value, u64)> {
    let mut region = &loops.kernel.body;
    let mut item = item;
    loop {
        let Nest { rounds, body: inside } = item.nest.as_ref()?;
        let Inst::For { body, .. } = &region.statements[item.statements.start].inst else { return None };
        let counter = body.params[0];
        if *rounds > 1 {
            return loops.counted(counter)?.end.map(|_| (counter, *rounds));
        }
        // Every position runs this one.
        let Tree::Items(items) = inside else { return None };
        let [only] = &items[..] else { return None };
        (region, item) = (body, only);
    }
}

/// Whether the rounds of a counter's loop are known when the kernel runs, and can be computed before.
pub fn can_count(loops: &Loops<'_>, counter: Value) -> bool {
    loops.counted(counter).is_some_and(|counted| counted.end.is_some()) && Slice::new(loops).rounds(counter).is_some()
}

/// The list with the largest element last of those whose workgroups can be counted.
pub fn ordered<T>(mut list: Vec<T>, counts: impl Fn(&T) -> Option<Counts>, size: impl Fn(&T) -> u64) -> Vec<T> {
    let counted = (0..list.len()).filter(|&number| counts(&list[number]).is_some());
    if let Some(number) = counted.max_by_key(|&number| (size(&list[number]), number)) {
        let last = list.remove(number);
        list.push(last);
    }
    list
}

/// Statements of a kernel that compute some of its values from nothing but numbers of buffers that are only read.
struct Slice<'k> {
    loops: &'k Loops<'k>,
    definitions: FxHashMap<Value, &'k Statement>,
    ends: FxHashMap<Value, (Value, Value, i64)>,
    /// What is computed, with the kernel's names.
    kernel: Kernel,
}

impl<'k> Slice<'k> {
    fn new(loops: &'k Loops<'k>) -> Self {
        let from = loops.kernel;
        let definitions =
            from.statements().flat_map(|statement| statement.results.iter().map(move |&result| (result, statement))).collect();
        let end = |statement: &Statement| match &statement.inst {
            Inst::For { start, end, step, body, .. } => Some((body.params[0], (*start, *end, *step))),
            _ => None,
        };
        let kernel = Kernel { buffers: from.buffers.clone(), types: from.types.clone(), ..Kernel::default() };
        Self { loops, definitions, ends: from.statements().filter_map(end).collect(), kernel }
    }

    /// The rounds of the loop of a counter; below 0 where it ends before it begins.
    fn rounds(&mut self, counter: Value) -> Option<Value> {
        let &(start, end, step) = self.ends.get(&counter)?;
        self.value(start)?;
        self.value(end)?;
        let mut writer = Writer { kernel: std::mem::take(&mut self.kernel) };
        let length = writer.binary(BinaryOp::Sub, end, start);
        let length = writer.with(BinaryOp::SignedMax, length, 0);
        let rounds = writer.quotient(length, step as u64);
        self.kernel = writer.kernel;
        Some(rounds)
    }

    /// Computes a value.
    fn value(&mut self, value: Value) -> Option<()> {
        if self.kernel.body.statements.iter().any(|statement| statement.results.contains(&value)) {
            return Some(());
        }
        let statement = *self.definitions.get(&value)?;
        let ty = self.kernel.ty(value);
        let is_load = match &statement.inst {
            Inst::Load { buffer, index, mask: None, .. } => {
                let is_only_read = self.loops.kernel.buffer(*buffer).kind == BufferKind::Input;
                (is_only_read && self.loops.number(*index).is_some()).then_some(())?;
                true
            }
            Inst::Constant { .. } | Inst::Binary { .. } | Inst::ShiftConstant { .. } | Inst::Compare { .. } => false,
            Inst::Select { .. } | Inst::Convert { .. } => false,
            _ => return None,
        };
        if ty.lanes != 1 || ty.lane.is_float() || is_load && !ty.lane.is_integer() {
            return None;
        }
        for operand in statement.inst.operands() {
            self.value(operand)?;
        }
        self.kernel.body.statements.push(statement.clone());
        Some(())
    }
}

/// Adds statements to the body of a kernel.
struct Writer {
    kernel: Kernel,
}

impl Writer {
    /// Stores the count that follows from the rounds, in rows as long as those of the grid.
    fn store(&mut self, rounds: Value, share: &Share, grid: &Grid) {
        let rounds = self.with(BinaryOp::SignedMin, rounds, share.most);
        let positions = self.with(BinaryOp::Mul, rounds, share.of_round);
        let positions = self.with(BinaryOp::Add, positions, share.before);
        let groups = self.quotient(positions, share.in_group);
        let groups = self.with(BinaryOp::Mul, groups, share.times);
        let groups = self.with(BinaryOp::Add, groups, share.groups_before);
        let groups = self.with(BinaryOp::SignedMax, groups, share.least);
        let one = self.number(1);
        let is_one_row = grid.groups() <= Grid::MOST_GROUPS.into();
        let count = if is_one_row {
            [groups, one, one]
        } else {
            let row = self.number(Grid::MOST_GROUPS.into());
            [row, self.quotient(groups, Grid::MOST_GROUPS.into()), one]
        };
        let buffer = Buffer::new(self.kernel.buffers.len());
        let data = BufferData { name: "count".into(), kind: BufferKind::Output, lane: Lane::I32, elements: WORDS, alignment: 4 };
        self.kernel.buffers.push(data);
        let index = self.number(0);
        for (offset, value) in (0..).zip(count) {
            let value = self.push(Type::scalar(Lane::I32), Inst::Convert { op: ConvertOp::Wrap, a: value });
            let inst = Inst::Store { buffer, index, offset, active: 1, value, mask: None };
            self.kernel.body.statements.push(Statement { results: smallvec![], inst });
        }
    }

    /// A number that is not negative divided by another one, rounded up.
    fn quotient(&mut self, number: Value, by: u64) -> Value {
        if by == 1 {
            return number;
        }
        let above = self.with(BinaryOp::Add, number, by - 1);
        self.with(BinaryOp::UnsignedDiv, above, by)
    }

    fn with(&mut self, op: BinaryOp, a: Value, number: u64) -> Value {
        let b = self.number(number);
        self.binary(op, a, b)
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.push(Type::INDEX, Inst::Binary { op, a, b })
    }

    fn number(&mut self, number: u64) -> Value {
        self.push(Type::INDEX, Inst::Constant { bits: number })
    }

    fn push(&mut self, ty: Type, inst: Inst) -> Value {
        let result = self.value(ty);
        self.kernel.body.statements.push(Statement { results: smallvec![result], inst });
        result
    }

    fn value(&mut self, ty: Type) -> Value {
        self.kernel.types.push(ty);
        Value::new(self.kernel.types.len() - 1)
    }
}
