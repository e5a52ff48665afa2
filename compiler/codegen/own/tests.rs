//! Tests with a small instruction set and its interpreter: four registers, jumps of two lengths, and constants after the code.

use super::allocate::Flat;
use super::check::check;
use super::error::{AssemblyError, Position};
use super::function::Edge;
use super::instruction::{Flow, Instruction, InstructionSet, Reach};
use super::{Buffer, FrameBases, Function, Need, StackFrame, allocatable, assemble, count_uses, registers_in, sweep};
use regalloc2::{Allocation, MachineEnv, Operand, PReg, PRegSet, RegClass, VReg};

const REGISTERS: usize = 4;
const ENTER: u8 = 0;
const NUMBER: u8 = 1;
const CONSTANT: u8 = 2;
const ADD: u8 = 3;
const MOVE: u8 = 4;
const SPILL: u8 = 5;
const RELOAD: u8 = 6;
const COMPARE: u8 = 7;
const NEAR: u8 = 8;
const FAR: u8 = 9;
const NEAR_IF: u8 = 10;
const FAR_IF: u8 = 11;
const RETURN: u8 = 12;
const NOP: u8 = 13;

#[derive(Debug)]
enum Toy {
    Number(VReg, i8),
    Constant(VReg, u32),
    /// A sum in the first operand's register.
    Add(VReg, VReg, VReg),
    Jump,
    /// A branch if the first is less.
    Less(VReg, VReg),
    Return(VReg),
}

fn first() -> PReg {
    PReg::new(0, RegClass::Int)
}

impl Instruction for Toy {
    fn operands(&self, list: &mut Vec<Operand>) {
        match *self {
            Self::Number(to, _) | Self::Constant(to, _) => list.push(Operand::reg_def(to)),
            Self::Add(to, a, b) => list.extend([Operand::reg_reuse_def(to, 1), Operand::reg_use(a), Operand::reg_use(b)]),
            Self::Less(a, b) => list.extend([Operand::reg_use(a), Operand::reg_use(b)]),
            Self::Return(value) => list.push(Operand::reg_fixed_use(value, first())),
            Self::Jump => {}
        }
    }

    fn flow(&self) -> Flow {
        match self {
            Self::Jump => Flow::Jump,
            Self::Less(..) => Flow::Branch,
            Self::Return(_) => Flow::Return,
            _ => Flow::Straight { pure: true },
        }
    }

    fn reads_locals(&self) -> bool {
        false
    }
}

struct ToySet;

/// The number of spill slots.
struct ToyFrame(u32);

impl StackFrame<()> for ToyFrame {
    fn new(need: &Need) -> Self {
        Self(need.slots)
    }

    fn bases(&self) -> FrameBases {
        FrameBases { locals: (0, 0), arguments: (0, 0) }
    }

    fn stack_bytes(&self) -> u32 {
        self.0
    }

    fn enter(&self, code: &mut Buffer<()>) -> Result<(), AssemblyError> {
        code.bytes.extend([ENTER, self.0 as u8]);
        Ok(())
    }
}

/// `true` if a jump is taken when the comparison holds, `false` if it is taken otherwise.
type Holds = bool;

fn number(register: PReg) -> u8 {
    register.hw_enc() as u8
}

impl InstructionSet for ToySet {
    type Inst = Toy;
    type Frame = ToyFrame;
    type Condition = Holds;
    type Reference = ();

    const ALIGNMENT: usize = 4;
    const LOOP_ALIGNMENT: usize = 8;
    const NOTHING: &'static [&'static [u8]] = &[&[NOP]];
    const STOP: &'static [u8] = &[0xFF];

    fn registers(&self) -> MachineEnv {
        let none = PRegSet::empty();
        allocatable([registers_in(RegClass::Int, 0..REGISTERS), none, none], [none; 3])
    }

    fn slot_words(&self, _: RegClass) -> usize {
        1
    }

    fn emit(&self, inst: &Toy, at: &[PReg], _: &ToyFrame, code: &mut Buffer<()>) -> Result<(), AssemblyError> {
        match inst {
            Toy::Number(_, value) => code.bytes.extend([NUMBER, number(at[0]), *value as u8]),
            Toy::Constant(_, offset) => {
                code.bytes.extend([CONSTANT, number(at[0])]);
                code.name_constant(code.bytes.len(), (), *offset);
                code.bytes.extend([0; 4]);
            }
            Toy::Add(..) => {
                assert_eq!(at[0], at[1], "the sum is not where the first operand was");
                code.bytes.extend([ADD, number(at[0]), number(at[2])]);
            }
            other => return Err(AssemblyError::misplaced(other, Position::Inside)),
        }
        Ok(())
    }

    fn copy(&self, from: PReg, to: PReg, code: &mut Buffer<()>) -> Result<(), AssemblyError> {
        code.bytes.extend([MOVE, number(to), number(from)]);
        Ok(())
    }

    fn spill(&self, register: PReg, slot: usize, store: bool, _: &ToyFrame, code: &mut Buffer<()>) -> Result<(), AssemblyError> {
        let (slot, register) = (slot as u8, number(register));
        code.bytes.extend(if store { [SPILL, slot, register] } else { [RELOAD, register, slot] });
        Ok(())
    }

    fn leave(&self, _: &Toy, _: &ToyFrame, code: &mut Buffer<()>) -> Result<(), AssemblyError> {
        code.bytes.push(RETURN);
        Ok(())
    }

    fn test(&self, _: &Toy, at: &[PReg], code: &mut Buffer<()>) -> Result<Holds, AssemblyError> {
        code.bytes.extend([COMPARE, number(at[0]), number(at[1])]);
        Ok(true)
    }

    fn inverse(&self, condition: Holds) -> Holds {
        !condition
    }

    fn reaches(&self, condition: Option<Holds>) -> &'static [Reach] {
        const ALWAYS: [Reach; 2] =
            [Reach { bytes: 2, from: -128, to: 127 }, Reach { bytes: 5, from: i32::MIN as i64, to: i32::MAX as i64 }];
        const IF: [Reach; 2] = [Reach { bytes: 3, from: -128, to: 127 }, Reach { bytes: 6, from: i32::MIN as i64, to: i32::MAX as i64 }];
        if condition.is_some() { &IF } else { &ALWAYS }
    }

    fn jump(&self, condition: Option<Holds>, reach: usize, distance: i64, bytes: &mut [u8]) {
        let opcode = match condition {
            Some(holds) => vec![[NEAR_IF, FAR_IF][reach], u8::from(holds)],
            None => vec![[NEAR, FAR][reach]],
        };
        let distance = (distance as i32).to_le_bytes();
        let (head, tail) = bytes.split_at_mut(opcode.len());
        head.copy_from_slice(&opcode);
        tail.copy_from_slice(&distance[..tail.len()]);
    }

    fn refer(&self, (): (), distance: i64, field: &mut [u8]) -> Result<(), AssemblyError> {
        field[..4].copy_from_slice(&(distance as i32).to_le_bytes());
        Ok(())
    }
}

/// Executes code, and returns its result.
fn execute(code: &[u8]) -> i64 {
    let (mut registers, mut slots, mut less, mut at) = ([0i64; REGISTERS], vec![], false, 0usize);
    let word = |at: usize| i32::from_le_bytes(code[at..at + 4].try_into().unwrap());
    loop {
        let [a, b] = [1, 2].map(|i| usize::from(code.get(at + i).copied().unwrap_or(0)));
        let near = |i: usize| isize::from(code[at + i] as i8);
        let far = |i: usize| word(at + i) as isize;
        let (length, jump) = match code[at] {
            ENTER => {
                slots.resize(a, 0);
                (2, None)
            }
            NUMBER => {
                registers[a] = i64::from(b as u8 as i8);
                (3, None)
            }
            CONSTANT => {
                registers[a] = word((at + 2).wrapping_add_signed(far(2))).into();
                (6, None)
            }
            ADD => {
                registers[a] += registers[b];
                (3, None)
            }
            MOVE => {
                registers[a] = registers[b];
                (3, None)
            }
            SPILL => {
                slots[a] = registers[b];
                (3, None)
            }
            RELOAD => {
                registers[a] = slots[b];
                (3, None)
            }
            COMPARE => {
                less = registers[a] < registers[b];
                (3, None)
            }
            NEAR => (2, Some(near(1))),
            FAR => (5, Some(far(1))),
            NEAR_IF => (3, (less == (a == 1)).then(|| near(2))),
            FAR_IF => (6, (less == (a == 1)).then(|| far(2))),
            RETURN => return registers[0],
            NOP => (1, None),
            other => panic!("opcode {other} at {at}"),
        };
        at = jump.map_or(at + length, |distance| at.wrapping_add_signed(distance));
    }
}

/// Makes a function that keeps the numbers 1 to `live` in registers over a loop of ten rounds, and adds them after it. Each round adds 100,000 and
/// `padding` ones. Returns the function with its result.
fn looping(live: i8, padding: usize) -> (Function<Toy>, i64) {
    let mut function = Function::default();
    let [entry, head, latch, exit] = [0; 4].map(|_| function.block());
    function.order = vec![entry, head, latch, exit];
    let register = |function: &mut Function<Toy>| function.register(RegClass::Int);
    let kept: Vec<VReg> = (0..live).map(|_| register(&mut function)).collect();
    let [zero, ten, one, start] = [0; 4].map(|_| register(&mut function));
    for (&v, n) in kept.iter().zip(1..) {
        function.at(entry).insts.push(Toy::Number(v, n));
    }
    let offset = function.constant(&100_000i32.to_le_bytes());
    function.at(entry).insts.extend([Toy::Number(zero, 0), Toy::Number(ten, 10), Toy::Number(one, 1), Toy::Constant(start, offset)]);
    function.at(entry).end = Some((Toy::Jump, vec![Edge { to: head, arguments: vec![zero, zero] }]));
    let [i, sum] = [0; 2].map(|_| register(&mut function));
    function.at(head).params = vec![i, sum];
    let [next, more] = [0; 2].map(|_| register(&mut function));
    function.at(head).insts.extend([Toy::Add(next, i, one), Toy::Add(more, sum, start)]);
    let mut last = more;
    for _ in 0..padding {
        let padded = register(&mut function);
        function.at(head).insts.push(Toy::Add(padded, last, one));
        last = padded;
    }
    let edges = [latch, exit].map(|to| Edge { to, arguments: vec![] });
    function.at(head).end = Some((Toy::Less(next, ten), edges.to_vec()));
    function.at(head).hot = true;
    function.at(latch).end = Some((Toy::Jump, vec![Edge { to: head, arguments: vec![next, last] }]));
    for v in kept {
        let total = register(&mut function);
        function.at(exit).insts.push(Toy::Add(total, last, v));
        last = total;
    }
    function.at(exit).end = Some((Toy::Return(last), vec![]));
    let live = i64::from(live);
    (function, 10 * (100_000 + padding as i64) + live * (live + 1) / 2)
}

#[test]
fn code_does_what_the_function_says() {
    for live in [0, 1, 4, 20] {
        for padding in [0, 3, 100] {
            let (function, wanted) = looping(live, padding);
            let emitted = assemble(&ToySet, &function).unwrap();
            assert_eq!(execute(&emitted.code.bytes), wanted, "{live} kept, {padding} more");
            assert!(emitted.code.stack_bytes >= u32::try_from(live).unwrap().saturating_sub(REGISTERS as u32), "{live} kept");
        }
    }
}

/// Tests that short loops have short jumps and long loops have far ones, and that loop heads and constants are aligned.
#[test]
fn jumps_take_the_shortest_encoding_that_reaches() {
    for (padding, back) in [(0, NEAR), (200, FAR)] {
        let (function, _) = looping(1, padding);
        let emitted = assemble(&ToySet, &function).unwrap();
        let code = &emitted.code.bytes[..emitted.instruction_bytes];
        let head = emitted.labels.iter().copied().min().expect("the head of the loop");
        assert_eq!(head % ToySet::LOOP_ALIGNMENT, 0);
        let distance = |at: usize| match back {
            NEAR => code.get(at + 1).map(|&byte| i32::from(byte as i8)),
            _ => code.get(at + 1..at + 5).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())),
        };
        let goes_back = |at: &usize| code[*at] == back && distance(*at) == Some(head as i32 - *at as i32);
        assert_eq!((head..code.len()).filter(goes_back).count(), 1, "{padding}: {code:?}");
        assert_eq!(emitted.code.bytes.len() - 4, emitted.instruction_bytes.next_multiple_of(4));
    }
}

#[test]
fn instructions_without_a_use_are_dropped() {
    let (mut function, wanted) = looping(2, 0);
    let unused = [0; 3].map(|_| function.register(RegClass::Int));
    let [zero, ten] = [2, 3].map(|n| VReg::new(n, RegClass::Int));
    let entry = function.order[0];
    let before = function.at(entry).insts.len();
    function.at(entry).insts.extend([Toy::Number(unused[0], 7), Toy::Add(unused[1], zero, unused[0]), Toy::Add(unused[2], unused[1], ten)]);
    let mut uses = count_uses(&function);
    sweep(&mut function, &mut uses);
    assert_eq!(function.at(entry).insts.len(), before);
    assert_eq!(uses, count_uses(&function));
    assert_eq!(execute(&assemble(&ToySet, &function).unwrap().code.bytes), wanted);
}

/// Tests that the checker finds an allocation with an operand in another register than its definition.
#[test]
fn wrong_allocations_are_found() {
    let (function, _) = looping(2, 3);
    let registers = ToySet.registers();
    let flat = Flat::new(&function, &ToySet);
    let output = flat.allocate(&registers).unwrap();
    assert_eq!(check(&flat, &registers, &output), Ok(()));
    let mut found = 0;
    for place in 0..output.allocs.len() {
        let mut wrong = output.clone();
        let other = (wrong.allocs[place].as_reg().unwrap().hw_enc() + 1) % REGISTERS;
        wrong.allocs[place] = Allocation::reg(PReg::new(other, RegClass::Int));
        found += usize::from(check(&flat, &registers, &wrong).is_err());
    }
    // Unused results may be in any register.
    assert!(found + 2 >= output.allocs.len(), "{found} of {}", output.allocs.len());
}
