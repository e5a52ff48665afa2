//! The number of workgroups that a grid needs if its loops end at numbers known only at run time.
//!
//! A grid has positions for the maximum number of rounds. The last rounds of an outermost loop have the highest numbers, so a dispatch can leave them
//! out. The end of a loop is computed from numbers in memory. Another kernel, with a single position, loads these first: it repeats only this
//! arithmetic, and stores the number of workgroups in each direction.

use super::super::super::verify::verify;
use super::super::{COMMON, DEAD, KNOWN};
use super::chain::{Chain, Digit};
use super::limits::WORKGROUP;
use super::tree::{Item, Nest, Tree};
use super::used::only_used;
use crate::dependence::Loops;
use crate::*;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;
use smallvec::smallvec;

/// Words of a count: one for each direction.
const WORDS: u64 = 3;

/// The computation of a launch's number of workgroups from the rounds of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Kernel that computes the rounds and yields them. It has the buffers of the launch's original kernel.
    rounds: Kernel,
    share: Share,
}

/// The relation between the rounds of a loop and the workgroups of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Share {
    /// Maximum number of rounds.
    most: u64,
    /// Number of positions before the loop's positions. They need not fill a workgroup.
    before: u64,
    /// Positions of one round.
    of_round: u64,
    /// Positions of one workgroup.
    in_group: u64,
    /// Factor: the workgroups are needed this many times.
    times: u64,
    /// Number of workgroups before the loop's workgroups.
    groups_before: u64,
    /// Minimum number of workgroups: 1 if the kernel checks something.
    least: u64,
}

impl Default for Share {
    fn default() -> Self {
        Self { most: 1, before: 0, of_round: 1, in_group: 1, times: 1, groups_before: 0, least: 0 }
    }
}

impl Counts {
    /// Returns the count for items that run at the same time. The last item has the last positions.
    pub fn of_items(loops: &Loops<'_>, items: &[Item]) -> Option<Self> {
        let (last, before) = items.split_last()?;
        let of_last = Self::of_item(loops, last)?;
        let before = before.iter().map(Item::positions).sum();
        Some(Self { share: Share { before, ..of_last.share }, ..of_last })
    }

    /// Returns the count for one item.
    pub fn of_item(loops: &Loops<'_>, item: &Item) -> Option<Self> {
        let (counter, most) = outermost(loops, item)?;
        let of_round = item.positions() / most;
        Self::new(loops, counter, Share { most, of_round, in_group: WORKGROUP.into(), ..Share::default() })
    }

    /// Returns the count for chains. The last chain has the last workgroups.
    pub fn of_chains(loops: &Loops<'_>, chains: &[Chain]) -> Option<Self> {
        let (last, before) = chains.split_last()?;
        let of_last = Self::of_chain(loops, last)?;
        let groups_before = before.iter().map(Chain::groups).sum();
        Some(Self { share: Share { groups_before, ..of_last.share }, ..of_last })
    }

    /// Returns the count for one chain.
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

    /// Returns the kernel that stores the count of a grid. Its last pointer parameter is the count. For each other parameter, the list has the number
    /// of the original kernel's parameter.
    ///
    /// # Panics
    /// In debug builds, if the kernel breaks a rule of the language.
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

/// Returns the outermost loop of an item that becomes positions, and its maximum number of rounds, if its end is known only at run time.
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
        // Every position runs all rounds of this loop.
        let Tree::Items(items) = inside else { return None };
        let [only] = &items[..] else { return None };
        (region, item) = (body, only);
    }
}

/// Tests whether the rounds of a counter's loop are known only at run time, and can be computed before the launch.
pub fn can_count(loops: &Loops<'_>, counter: Value) -> bool {
    loops.counted(counter).is_some_and(|counted| counted.end.is_some()) && Slice::new(loops).rounds(counter).is_some()
}

/// Moves the largest element whose workgroups can be counted to the end of the list.
pub fn ordered<T>(mut list: Vec<T>, counts: impl Fn(&T) -> Option<Counts>, size: impl Fn(&T) -> u64) -> Vec<T> {
    let counted = (0..list.len()).filter(|&number| counts(&list[number]).is_some());
    if let Some(number) = counted.max_by_key(|&number| (size(&list[number]), number)) {
        let last = list.remove(number);
        list.push(last);
    }
    list
}

/// A backward slice: statements that compute some values from constants and read-only buffers alone.
struct Slice<'k> {
    loops: &'k Loops<'k>,
    definitions: FxHashMap<Value, &'k Statement>,
    ends: FxHashMap<Value, (Value, Value, i64)>,
    /// The slice, with the kernel's value names.
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

    /// Computes the number of rounds of a counter's loop; 0 if it ends before it begins.
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

    /// Adds the statements that compute a value. Returns `None` if the slice may not contain one of them.
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

/// Appends statements to the body of a kernel.
struct Writer {
    kernel: Kernel,
}

impl Writer {
    /// Stores the count that follows from the rounds. Several rows of workgroups have the length of the grid's rows.
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
        let data = BufferData::new("count", BufferKind::Output, Lane::I32, WORDS, 4);
        self.kernel.buffers.push(data);
        let index = self.number(0);
        for (offset, value) in (0..).zip(count) {
            let value = self.push(Type::scalar(Lane::I32), Inst::Convert { op: ConvertOp::Wrap, a: value });
            let inst = Inst::Store { buffer, index, offset, active: 1, value, mask: None };
            self.kernel.body.statements.push(Statement { results: smallvec![], inst });
        }
    }

    /// Divides a non-negative number by a constant and rounds up.
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
