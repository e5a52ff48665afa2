//! Strength reduction of addresses in innermost loops. If addresses are a base plus a multiple of the counter, a pointer is stepped in each round, and
//! accesses have displacements from it. If nothing else uses the counter, the loop compares a pointer with its end instead.

use super::inst::{Arg, Inst, Op, Operations};
use super::rounds::{Made, Round, Stepped, made, sum, sum_of};
use crate::own::{Address, Base, Function, count_uses, sweep};
use regalloc2::{RegClass, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Value of a pointer: a loop-invariant base, and the factor of the counter that is added.
type Key = (VReg, i32);

/// A pointer that may end a loop: its next value, its base address, and the factor of the counter.
type Ending = (VReg, Address, i32);

/// Registers that hold constants.
pub type Numbers = FxHashMap<VReg, i32>;

/// Makes pointers for all innermost loops. `counts` lets a loop end by its number of rounds, and returns `true`, if the machine can.
pub fn step_pointers<S: Stepped>(
    function: &mut Function<Inst<S::Own>>,
    counts: impl Fn(&mut Function<Inst<S::Own>>, &Round, &Numbers) -> bool,
) {
    let numbers = numbers(function);
    let rounds: Vec<Round> = function.order.iter().filter_map(|head| Round::of::<S>(function, *head)).collect();
    let endings: Vec<Option<Ending>> = rounds.iter().map(|round| rewritten::<S>(function, round, &numbers)).collect();
    let mut uses = count_uses(function);
    sweep(function, &mut uses);
    for (round, pointer) in rounds.into_iter().zip(endings) {
        // The counter is only used by its sum, and the sum by the comparison and the next round.
        let is_free = uses[round.counter.vreg()] == 1 && uses[round.next.vreg()] == 2;
        if counts(function, &round, &numbers) {
            if is_free {
                round.drop_counter::<S>(function);
            }
        } else if let Some(pointer) = pointer.filter(|_| is_free) {
            round.end_by::<S>(function, pointer, &numbers);
        }
    }
}

/// Returns the registers that hold constants.
fn numbers<O: Operations>(function: &Function<Inst<O>>) -> Numbers {
    let number = |inst: &Inst<O>| match (inst.op, &inst.args[..]) {
        (Op::Constant(number), &[Arg::Def(to)]) => Some((to, number)),
        _ => None,
    };
    function.blocks.iter().flat_map(|block| &block.insts).filter_map(number).collect()
}

/// Registers of a loop that hold addresses: the value of a pointer plus a displacement.
struct Places<'a> {
    /// Registers that hold constants.
    numbers: &'a Numbers,
    /// Registers that each round defines.
    inside: FxHashSet<VReg>,
    /// Registers that hold multiples of the counter, with their factors.
    multiples: FxHashMap<VReg, i32>,
    known: FxHashMap<VReg, (Key, i32)>,
}

impl<'a> Places<'a> {
    fn new<O: Operations>(function: &Function<Inst<O>>, round: &Round, numbers: &'a Numbers) -> Self {
        let data = &function.blocks[round.head.0 as usize];
        let defined = data.insts.iter().flat_map(|inst| &inst.args).filter_map(|arg| match arg {
            Arg::Def(v) | Arg::EarlyDef(v) | Arg::FixedDef(v, _) => Some(*v),
            _ => None,
        });
        let inside = data.params.iter().copied().chain(defined).collect();
        Self { numbers, inside, multiples: FxHashMap::from_iter([(round.counter, 1)]), known: FxHashMap::default() }
    }

    fn of(&self, address: &Address) -> Option<(Key, i32)> {
        let Address { base: Base::Register(base), index, displacement } = *address else { return None };
        match index {
            Some((index, shift)) => {
                let moved = |base: VReg, index: VReg, shift: u8| Some(((self.outer(base)?, self.multiple(index, shift)?), displacement));
                moved(base, index, shift).or_else(|| moved(index, base, 0).filter(|_| shift == 0))
            }
            None => self.known.get(&base).map(|&(key, bytes)| (key, bytes + displacement)),
        }
    }

    /// Returns a register that is the same in all rounds.
    fn outer(&self, register: VReg) -> Option<VReg> {
        (!self.inside.contains(&register)).then_some(register)
    }

    /// Returns a pointer with the register from which the base was computed, and the displacement from that. Accesses at several bases of one register
    /// may share pointers.
    fn rooted(&self, sums: &FxHashMap<VReg, (VReg, i32)>, (mut base, factor): Key, mut bytes: i32) -> (Key, i32) {
        while let Some(&(from, number)) = sums.get(&base)
            && self.outer(from).is_some()
            && let Some(sum) = bytes.checked_add(number)
        {
            (base, bytes) = (from, sum);
        }
        ((base, factor), bytes)
    }

    /// Returns the factor of the counter in a register that is shifted to the left.
    fn multiple(&self, register: VReg, shift: u8) -> Option<i32> {
        self.multiples.get(&register)?.checked_mul(1i32.checked_shl(shift.into())?)
    }

    /// Returns the factor of the counter in a product, of which one register holds a constant.
    fn product(&self, a: VReg, b: VReg) -> Option<i32> {
        let of = |a: VReg, b: VReg| self.multiples.get(&a)?.checked_mul(*self.numbers.get(&b)?);
        of(a, b).or_else(|| of(b, a))
    }

    /// Notes the multiple of the counter or the address that an instruction computes.
    fn note<S: Stepped>(&mut self, inst: &Inst<S::Own>) {
        if let (Op::LoadAddress, &[Arg::Def(to) | Arg::EarlyDef(to), Arg::Memory(address)]) = (inst.op, &inst.args[..]) {
            return self.note_place(to, self.of(&address));
        }
        let Some((to, made)) = made::<S>(inst) else { return };
        let at = |key: Option<Key>| key.map(|key| (key, 0));
        match made {
            Made::Sum(a, b) => self.note_place(to, self.of(&Address { index: Some((b, 0)), ..Address::at(a) })),
            Made::SumWith(from, number) => self.note_place(to, self.of(&Address::at(from).plus(number))),
            Made::Shifted(a, count) => self.note_multiple(to, self.multiple(a, count)),
            Made::SumShifted(a, b, count) => {
                let both = self.multiple(a, 0).zip(self.multiple(b, count)).and_then(|(a, b)| a.checked_add(b));
                self.note_multiple(to, both);
                self.note_place(to, at(self.outer(a).zip(self.multiple(b, count))));
            }
            Made::Product(a, b) => self.note_multiple(to, self.product(a, b)),
            Made::SumOfProduct(a, b, sum) => self.note_place(to, at(self.outer(sum).zip(self.product(a, b)))),
        }
    }

    fn note_place(&mut self, to: VReg, place: Option<(Key, i32)>) {
        if let Some(place) = place {
            self.known.insert(to, place);
        }
    }

    fn note_multiple(&mut self, to: VReg, factor: Option<i32>) {
        if let Some(factor) = factor.filter(|factor| *factor > 0) {
            self.multiples.insert(to, factor);
        }
    }
}

/// Returns the registers that hold a sum of a register and a constant, with these.
fn sums<S: Stepped>(function: &Function<Inst<S::Own>>) -> FxHashMap<VReg, (VReg, i32)> {
    let sum = |inst: &Inst<S::Own>| match (inst.op, &inst.args[..]) {
        (Op::LoadAddress, &[Arg::Def(to), Arg::Memory(Address { base: Base::Register(from), index: None, displacement })]) => {
            Some((to, (from, displacement)))
        }
        _ => sum_of::<S>(inst).map(|(to, from, number)| (to, (from, number))),
    };
    function.blocks.iter().flat_map(|block| &block.insts).filter_map(sum).collect()
}

/// Returns the memory that an instruction reads or writes.
fn accessed<O: Operations>(inst: &Inst<O>) -> Option<&Address> {
    let memory = inst.args.iter().find_map(|arg| if let Arg::Memory(address) = arg { Some(address) } else { None });
    memory.filter(|_| inst.op != Op::LoadAddress)
}

/// Lets an instruction access another place.
fn access<O: Operations>(inst: &mut Inst<O>, place: Address) {
    for arg in &mut inst.args {
        if let Arg::Memory(address) = arg {
            *address = place;
        }
    }
}

/// Returns the accesses of a loop: their positions in the block, with the value of a pointer and the displacement.
fn accesses<S: Stepped>(function: &Function<Inst<S::Own>>, round: &Round, numbers: &Numbers) -> Vec<(usize, Key, i32)> {
    let mut places = Places::new(function, round, numbers);
    let insts = &function.blocks[round.head.0 as usize].insts;
    let sums = if insts.iter().any(S::reaches_few) { sums::<S>(function) } else { FxHashMap::default() };
    let mut found = vec![];
    for (at, inst) in insts.iter().enumerate() {
        let memory = accessed(inst).and_then(|address| places.of(address));
        let memory = memory.map(|(key, bytes)| if S::reaches_few(inst) { places.rooted(&sums, key, bytes) } else { (key, bytes) });
        found.extend(memory.map(|(key, bytes)| (at, key, bytes)));
        places.note::<S>(inst);
    }
    found
}

/// Makes a pointer for each value of a loop that an access can step. Returns the pointer that may end the loop.
fn rewritten<S: Stepped>(function: &mut Function<Inst<S::Own>>, round: &Round, numbers: &Numbers) -> Option<Ending> {
    let accesses = accesses::<S>(function, round, numbers);
    let mut keys: Vec<Key> = vec![];
    for (_, key, _) in &accesses {
        if !keys.contains(key) {
            keys.push(*key);
        }
    }
    let mut last = None;
    for key in keys {
        let own: Vec<(usize, i32)> = accesses.iter().filter(|access| access.1 == key).map(|access| (access.0, access.2)).collect();
        let Some(step) = round.step.checked_mul(key.1) else { continue };
        for near in within_reach::<S>(function, round, step, own) {
            last = pointer::<S>(function, round, key, near, numbers.get(&round.start).copied()).or(last);
        }
    }
    last
}

/// Accesses that one pointer serves: their positions in the block, and their displacements.
struct Near {
    accesses: Vec<(usize, i32)>,
    /// The displacement at which the pointer is.
    begins: i32,
}

/// Divides accesses among several pointers if one does not reach all of them. `step` is what each round adds to a pointer.
fn within_reach<S: Stepped>(function: &Function<Inst<S::Own>>, round: &Round, step: i32, mut accesses: Vec<(usize, i32)>) -> Vec<Near> {
    let insts = &function.blocks[round.head.0 as usize].insts;
    let Some(begins) = beginning::<S>(&accesses) else { return vec![] };
    let reaches = |begins: i32, (at, bytes): (usize, i32)| S::can_be_at(&insts[at], bytes - begins);
    let is_far = accesses.iter().any(|access| !reaches(begins, *access));
    if !is_far || !accesses.iter().all(|access| S::reaches_few(&insts[access.0])) {
        return vec![Near { accesses, begins }];
    }
    let mut all = vec![];
    while let Some(&lowest) = accesses.iter().min_by_key(|access| access.1) {
        // An access at the pointer may step it. Where none can, the pointer may be between accesses, and reaches more of them.
        let is_stepped = S::can_be_at(&insts[lowest.0], step);
        let between = |highest: i32| if is_stepped { highest } else { (lowest.1 + (highest - lowest.1) / 2) & -4 };
        let ends = accesses.iter().map(|access| access.1);
        let fits = |highest: &i32| {
            let begins = between(*highest);
            reaches(begins, lowest) && reaches(begins, (lowest.0, *highest))
        };
        let begins = ends.filter(fits).max().map_or(lowest.1, between);
        let (near, far) = accesses.into_iter().partition(|access| reaches(begins, *access) || *access == lowest);
        all.push(Near { accesses: near, begins });
        accesses = far;
    }
    all
}

/// Returns the displacement at which a pointer that serves all accesses is.
fn beginning<S: Stepped>(accesses: &[(usize, i32)]) -> Option<i32> {
    let mut displacements = accesses.iter().map(|access| access.1);
    match S::NEGATIVE {
        true => displacements.clone().find(|bytes| *bytes == 0).or_else(|| displacements.next()),
        false => displacements.min(),
    }
}

/// Makes a pointer for accesses. `None` if an access cannot have its displacement, or if no access can step it.
fn pointer<S: Stepped>(
    function: &mut Function<Inst<S::Own>>,
    round: &Round,
    (base, factor): Key,
    Near { accesses, begins }: Near,
    start: Option<i32>,
) -> Option<Ending> {
    let step = round.step.checked_mul(factor)?;
    let data = function.at(round.head);
    let mut insts = accesses.iter().map(|(at, bytes)| (&data.insts[*at], bytes - begins));
    if !insts.clone().any(|(inst, _)| S::steps(inst)) || !insts.all(|(inst, bytes)| S::can_be_at(inst, bytes)) {
        return None;
    }
    let [pointer, next] = [0, 1].map(|_| function.register(RegClass::Int));
    let stepped = sum::<S>(next, pointer, step)?;
    let near = Address::at(base).plus(begins);
    let first = match start {
        Some(0) if begins == 0 => base,
        start => round.before::<S>(function, near, factor, start.ok_or(round.start))?,
    };
    let data = function.at(round.head);
    data.insts.push(stepped);
    for (at, bytes) in accesses {
        access(&mut data.insts[at], Address::at(pointer).plus(bytes - begins));
    }
    round.carry(function, pointer, [first, next]);
    Some((next, near, factor))
}
