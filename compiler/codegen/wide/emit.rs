//! From allocated registers to bytes: the frame, moves, jumps, and each instruction's operands in their fields.

use super::allocate::{Flat, Registers};
use super::encode::{Assembler, Condition, Fields, Length, Place, Rm};
use super::machine_ir::{Address, Arg, Arithmetic, Base, Function, GENERAL, Inst, MASK, Op, Width};
use super::rows::{self, Row, Shape};
use crate::codegen::Code;
use regalloc2::{Allocation, Edit, InstOrEdit, Output, PReg, RegClass};

const RAX: u8 = 0;
const RSP: u8 = 4;
const RBP: u8 = 5;
/// Alignment of code, constants and the frame.
const ALIGNMENT: u32 = 64;

/// The stack below the caller's: the caller's frame pointer, saved registers, then the frame with spilled registers and stack arrays.
/// rbp points to the frame's top in every function, so that profilers find the callers.
struct Frame {
    saved: Vec<u8>,
    slot_bytes: u32,
    bytes: u32,
    /// Where the caller's MXCSR is kept, and behind it ours, if floats are rounded towards zero.
    control: Option<i32>,
}

/// Opcode, and the number in the register field.
const LDMXCSR: (&[u8], u8) = (&[0x0F, 0xAE], 2);
const STMXCSR: (&[u8], u8) = (&[0x0F, 0xAE], 3);
/// The field of MXCSR that says how floats are rounded: all ones is towards zero.
const ROUNDING: i32 = 0x6000;

impl Frame {
    fn new(function: &Function, output: &Output) -> Self {
        let mut used = [false; 16];
        let edits = output.edits.iter().map(|(_, Edit::Move { to, .. })| *to);
        for register in output.allocs.iter().copied().chain(edits).filter_map(Allocation::as_reg) {
            if register.class() == GENERAL {
                used[register.hw_enc()] = true;
            }
        }
        let slot_bytes = (8 * output.num_spillslots as u32).next_multiple_of(ALIGNMENT);
        let used_bytes = slot_bytes + function.local_bytes.next_multiple_of(ALIGNMENT);
        let control = function.toward_zero.then_some(used_bytes as i32);
        let bytes = used_bytes + if control.is_some() { ALIGNMENT } else { 0 };
        let saved = [3, 12, 13, 14, 15].into_iter().filter(|&n: &u8| used[usize::from(n)]).collect();
        Self { saved, slot_bytes, bytes, control }
    }

    /// Bytes below the stack pointer of the caller at most.
    fn stack_bytes(&self) -> u32 {
        let alignment = if self.bytes > 0 { ALIGNMENT } else { 0 };
        16 + 8 * self.saved.len() as u32 + alignment + self.bytes
    }

    fn enter(&self, code: &mut Assembler) {
        code.push_pop(0x50, RBP);
        code.general(None, true, &[0x89], RSP, Rm::Register(RBP), &[]);
        for &register in &self.saved {
            code.push_pop(0x50, register);
        }
        if self.bytes > 0 {
            code.general(None, true, &[0x83], 4, Rm::Register(RSP), &[(ALIGNMENT as i8).wrapping_neg() as u8]);
            code.general(None, true, &[0x81], 5, Rm::Register(RSP), &(self.bytes as i32).to_le_bytes());
        }
        if let Some(place) = self.control {
            // No parameter arrives in eax.
            let [kept, ours] = [0, 4].map(|behind| Rm::Memory(Place::Sum { base: RSP, index: None, displacement: place + behind }));
            code.general(None, false, STMXCSR.0, STMXCSR.1, kept, &[]);
            code.general(None, false, &[0x8B], RAX, kept, &[]);
            code.general(None, false, &[0x81], 1, Rm::Register(RAX), &ROUNDING.to_le_bytes());
            code.general(None, false, &[0x89], RAX, ours, &[]);
            code.general(None, false, LDMXCSR.0, LDMXCSR.1, ours, &[]);
        }
    }

    fn leave(&self, code: &mut Assembler) {
        if let Some(displacement) = self.control {
            code.general(None, false, LDMXCSR.0, LDMXCSR.1, Rm::Memory(Place::Sum { base: RSP, index: None, displacement }), &[]);
        }
        if self.bytes > 0 {
            let displacement = -8 * self.saved.len() as i32;
            code.general(None, true, &[0x8D], RSP, Rm::Memory(Place::Sum { base: RBP, index: None, displacement }), &[]);
        }
        for &register in self.saved.iter().rev() {
            code.push_pop(0x58, register);
        }
        code.push_pop(0x58, RBP);
    }
}

/// A jump whose distance is missing.
struct Jump {
    at: usize,
    to: usize,
}

struct Emitter<'a> {
    flat: &'a Flat<'a>,
    output: &'a Output,
    frame: Frame,
    /// Length of a whole vector register.
    whole: Length,
    code: Assembler,
    jumps: Vec<Jump>,
    /// Where each block begins.
    starts: Vec<usize>,
    /// Where a jump to each block really goes.
    threads: Vec<usize>,
    position: Vec<usize>,
}

/// Code, and where its instructions end.
pub(super) struct Emitted {
    /// Instructions, then constants.
    pub code: Code,
    /// Bytes of the instructions.
    pub instruction_bytes: usize,
    /// Where blocks start that are jumped to.
    pub labels: Vec<usize>,
}

/// Code of a function whose registers are allocated.
///
/// # Errors
/// When an instruction's operands do not fit it: a mistake of ours.
pub(super) fn emit(flat: &Flat<'_>, output: &Output, registers: &Registers) -> Result<Emitted, String> {
    let function = flat.function;
    let mut position = vec![0; function.blocks.len()];
    for (i, block) in function.order.iter().enumerate() {
        position[block.0 as usize] = i;
    }
    let mut emitter = Emitter {
        flat,
        output,
        frame: Frame::new(function, output),
        whole: Length::of(registers.vector_bytes),
        code: Assembler::default(),
        jumps: vec![],
        starts: vec![0; function.order.len()],
        threads: (0..function.order.len()).collect(),
        position,
    };
    emitter.thread();
    let frame = std::mem::replace(&mut emitter.frame, Frame { saved: vec![], slot_bytes: 0, bytes: 0, control: None });
    frame.enter(&mut emitter.code);
    emitter.frame = frame;
    for index in 0..function.order.len() {
        emitter.block(index)?;
    }
    for jump in &emitter.jumps {
        let distance = (emitter.starts[emitter.threads[jump.to]] as i64 - (jump.at as i64 + 4)) as i32;
        emitter.code.bytes[jump.at..jump.at + 4].copy_from_slice(&distance.to_le_bytes());
    }
    let instruction_bytes = emitter.code.bytes.len();
    let labels = emitter.jumps.iter().map(|jump| emitter.starts[emitter.threads[jump.to]]).collect();
    emitter.code.place_pool(&function.pool, ALIGNMENT as usize);
    let code =
        Code { bytes: emitter.code.bytes, alignment: u64::from(ALIGNMENT), relocations: vec![], stack_bytes: emitter.frame.stack_bytes() };
    Ok(Emitted { code, instruction_bytes, labels })
}

impl<'a> Emitter<'a> {
    /// Jumps to blocks that only jump on go where those go.
    fn thread(&mut self) {
        for index in (0..self.threads.len()).rev() {
            let data = &self.flat.function.blocks[self.flat.function.order[index].0 as usize];
            let Some((Inst { op: Op::Jump, .. }, edges)) = &data.end else { continue };
            let alone = self.output.block_insts_and_edits(self.flat, regalloc2::Block::new(index)).count() == 1;
            if data.insts.is_empty() && alone {
                let to = self.position[edges[0].to.0 as usize];
                // Backward jumps come later in this walk; following one more step is enough for them.
                self.threads[index] = self.threads[to];
            }
        }
        for index in 0..self.threads.len() {
            self.threads[index] = self.threads[self.threads[index]];
        }
    }

    fn block(&mut self, index: usize) -> Result<(), String> {
        let data = &self.flat.function.blocks[self.flat.function.order[index].0 as usize];
        if data.hot {
            self.code.align(32);
        }
        self.starts[index] = self.code.bytes.len();
        if self.threads[index] != index {
            // Nobody comes here.
            return Ok(());
        }
        for item in self.output.block_insts_and_edits(self.flat, regalloc2::Block::new(index)) {
            match item {
                InstOrEdit::Edit(Edit::Move { from, to }) => self.edit(*from, *to)?,
                InstOrEdit::Inst(inst) => {
                    let data = self.flat.insts[inst.index()];
                    let allocations = self.output.inst_allocs(inst);
                    if data.op.is_terminator() {
                        self.end(index, data, allocations)?;
                    } else {
                        self.inst(data, allocations)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The blocks between this one and another have no code.
    fn is_next(&self, index: usize, to: usize) -> bool {
        to > index && (index + 1..to).all(|between| self.threads[between] != between)
    }

    fn jump_unless_next(&mut self, index: usize, to: usize) -> Result<(), String> {
        if !self.is_next(index, to) {
            self.code.bytes.push(0xE9);
            self.distance(to);
        }
        Ok(())
    }

    fn distance(&mut self, to: usize) {
        self.jumps.push(Jump { at: self.code.bytes.len(), to });
        self.code.bytes.extend([0; 4]);
    }

    fn end(&mut self, index: usize, inst: &Inst, allocations: &[Allocation]) -> Result<(), String> {
        let data = &self.flat.function.blocks[self.flat.function.order[index].0 as usize];
        let edges = data.end.as_ref().map_or(&[][..], |(_, edges)| edges);
        let targets: Vec<usize> = edges.iter().map(|edge| self.threads[self.position[edge.to.0 as usize]]).collect();
        let condition = match inst.op {
            Op::Jump => return self.jump_unless_next(index, targets[0]),
            Op::Return(status) => {
                // No upper halves are left dirty for code that does not know of them.
                self.code.bytes.extend([0xC5, 0xF8, 0x77]);
                self.code.constant(0, i64::from(status as u32));
                self.frame.leave(&mut self.code);
                self.code.bytes.push(0xC3);
                return Ok(());
            }
            Op::TestBranch => {
                let register = general(allocations, 0)?;
                self.code.general(None, false, &[0x85], register, Rm::Register(register), &[]);
                Condition::NotEqual
            }
            Op::CompareBranch(condition) => {
                self.compare(&inst.args, allocations)?;
                condition
            }
            other => return Err(format!("{other:?} ends a block")),
        };
        let (taken, condition, rest) = if self.is_next(index, targets[0]) {
            (targets[1], condition.inverse(), targets[0])
        } else {
            (targets[0], condition, targets[1])
        };
        self.code.bytes.extend([0x0F, 0x80 | condition as u8]);
        self.distance(taken);
        self.jump_unless_next(index, rest)
    }

    /// Flags of the last two operands, the second a register or a number.
    fn compare(&mut self, args: &[Arg], allocations: &[Allocation]) -> Result<(), String> {
        match args.last() {
            Some(Arg::Immediate(0)) => {
                let a = general(allocations, allocations.len() - 1)?;
                self.code.general(None, true, &[0x85], a, Rm::Register(a), &[]);
            }
            Some(&Arg::Immediate(number)) => {
                let a = general(allocations, allocations.len() - 1)?;
                self.with_number(7, a, number);
            }
            _ => {
                let (a, b) = (general(allocations, allocations.len() - 2)?, general(allocations, allocations.len() - 1)?);
                self.code.general(None, true, &[0x39], b, Rm::Register(a), &[]);
            }
        }
        Ok(())
    }

    /// One of the eight arithmetic instructions with a number.
    fn with_number(&mut self, digit: u8, register: u8, number: i32) {
        match i8::try_from(number) {
            Ok(short) => self.code.general(None, true, &[0x83], digit, Rm::Register(register), &[short as u8]),
            Err(_) => self.code.general(None, true, &[0x81], digit, Rm::Register(register), &number.to_le_bytes()),
        }
    }

    /// A move that the allocator wants.
    fn edit(&mut self, from: Allocation, to: Allocation) -> Result<(), String> {
        match (from.as_reg(), to.as_reg()) {
            (Some(from), Some(to)) => self.copy(from, to),
            (Some(from), None) => self.spill(from, to, true)?,
            (None, Some(to)) => self.spill(to, from, false)?,
            (None, None) => return Err("a move from memory to memory".into()),
        }
        Ok(())
    }

    fn copy(&mut self, from: PReg, to: PReg) {
        let (from_number, to_number) = (from.hw_enc() as u8, to.hw_enc() as u8);
        match from.class() {
            RegClass::Int => self.code.general(None, true, &[0x89], from_number, Rm::Register(to_number), &[]),
            RegClass::Float => self.plain(&rows::VMOVAPS, self.whole, to_number, Rm::Register(from_number)),
            RegClass::Vector => self.plain(&rows::KMOVQ, Length::X, to_number, Rm::Register(from_number)),
        }
    }

    fn spill(&mut self, register: PReg, slot: Allocation, store: bool) -> Result<(), String> {
        let slot = slot.as_stack().ok_or("a spill to no slot")?;
        let place = Rm::Memory(Place::Sum { base: RSP, index: None, displacement: 8 * slot.index() as i32 });
        let number = register.hw_enc() as u8;
        match (register.class(), store) {
            (RegClass::Int, true) => self.code.general(None, true, &[0x89], number, place, &[]),
            (RegClass::Int, false) => self.code.general(None, true, &[0x8B], number, place, &[]),
            (RegClass::Float, true) => self.plain(&rows::VMOVUPS_STORE, self.whole, number, place),
            (RegClass::Float, false) => self.plain(&rows::VMOVUPS, self.whole, number, place),
            (RegClass::Vector, true) => self.plain(&rows::KMOVQ_MEMORY, Length::X, number, place),
            (RegClass::Vector, false) => self.plain(&rows::KMOVQ, Length::X, number, place),
        }
        Ok(())
    }

    /// A row with a register and an operand.
    fn plain(&mut self, row: &Row, length: Length, reg: u8, rm: Rm) {
        let fields = Fields { reg, vvvv: 0, rm, length, mask: 0, zeroing: false, broadcast: false, immediate: None };
        self.code.vector(row, &fields);
    }

    fn address(&self, address: &Address, allocations: &mut impl Iterator<Item = u8>) -> Result<Place, String> {
        let mut next = || allocations.next().ok_or("an address without registers");
        let (base, offset) = match address.base {
            Base::Register(_) => (next()?, 0),
            Base::Locals => (RSP, self.frame.slot_bytes as i32),
            // Above the frame pointer are the caller's rbp and the return address.
            Base::Arguments => (RBP, 16),
            Base::Pool => return Ok(Place::Pool(address.displacement as u32)),
        };
        let index = match address.index {
            Some((_, shift)) => Some((next()?, shift)),
            None => None,
        };
        Ok(Place::Sum { base, index, displacement: address.displacement + offset })
    }

    fn inst(&mut self, inst: &Inst, allocations: &[Allocation]) -> Result<(), String> {
        let mut numbers = vec![];
        for allocation in allocations {
            let register = allocation.as_reg().ok_or_else(|| format!("{:?} has an operand on the stack", inst.op))?;
            numbers.push(register.hw_enc() as u8);
        }
        if let Op::Vector { row, length, zeroing, broadcast } = inst.op {
            let mut fields = self.fields(row, inst, &numbers)?;
            (fields.length, fields.zeroing, fields.broadcast) = (length, zeroing, broadcast);
            self.code.vector(row, &fields);
            return Ok(());
        }
        let memory = inst.args.iter().position(|arg| matches!(arg, Arg::Memory(_)));
        let place = match memory.map(|i| &inst.args[i]) {
            Some(Arg::Memory(address)) => {
                // Registers of the address follow those of a definition, and come before those of a value stored.
                let skipped = usize::from(matches!(inst.args[0], Arg::Def(_)));
                Some(Rm::Memory(self.address(address, &mut numbers.iter().copied().skip(skipped))?))
            }
            _ => None,
        };
        self.scalar(inst, &numbers, place)
    }

    /// The fields of a vector instruction.
    fn fields(&self, row: &Row, inst: &Inst, numbers: &[u8]) -> Result<Fields, String> {
        let mut numbers = numbers.iter().copied();
        let (mut explicit, mut mask, mut immediate) = (vec![], 0, None);
        for arg in &inst.args {
            match arg {
                Arg::Immediate(number) => immediate = Some(*number as u8),
                Arg::Memory(address) => explicit.push(Rm::Memory(self.address(address, &mut numbers)?)),
                arg => {
                    let number = numbers.next().ok_or("an operand without a register")?;
                    match arg {
                        Arg::Masked(_) => mask = number,
                        Arg::Tied(_) => {}
                        _ => explicit.push(Rm::Register(number)),
                    }
                }
            }
        }
        let register = |i: usize| match explicit.get(i) {
            Some(Rm::Register(number)) => Ok(*number),
            _ => Err(format!("operand {i} of {} is no register", row.name)),
        };
        let any = |i: usize| explicit.get(i).copied().ok_or_else(|| format!("{} lacks operand {i}", row.name));
        let (reg, vvvv, rm) = match row.shape {
            // A register with itself: zeros or ones, whatever it held.
            Shape::Rvm if explicit.len() == 1 => (register(0)?, register(0)?, any(0)?),
            // The result takes the place of the first operand.
            Shape::Rvm if explicit.len() == 2 => (register(0)?, register(0)?, any(1)?),
            Shape::Rvm => (register(0)?, register(1)?, any(2)?),
            Shape::Rm => (register(0)?, 0, any(1)?),
            Shape::Mr => (register(1)?, 0, any(0)?),
            Shape::Vm(digit) => (digit, register(0)?, any(1)?),
            Shape::Rvmr => {
                immediate = Some(register(3)? << 4);
                (register(0)?, register(1)?, any(2)?)
            }
            Shape::General => (register(0)?, register(2)?, any(1)?),
        };
        Ok(Fields { reg, vvvv, rm, length: Length::X, mask, zeroing: false, broadcast: false, immediate })
    }

    /// An instruction of general-purpose registers.
    fn scalar(&mut self, inst: &Inst, numbers: &[u8], place: Option<Rm>) -> Result<(), String> {
        let first = numbers.first().copied().unwrap_or(0);
        let memory = || place.ok_or("no memory operand");
        match inst.op {
            Op::Parameters => {}
            Op::Constant(number) => self.code.constant(first, number),
            Op::LoadAddress => self.code.general(None, true, &[0x8D], first, memory()?, &[]),
            Op::Arithmetic(op) => self.arithmetic(op, inst, numbers)?,
            Op::Shift(shift) => {
                let Some(Arg::Immediate(count)) = inst.args.last() else { return Err("a shift without a count".into()) };
                self.code.general(None, true, &[0xC1], shift as u8, Rm::Register(first), &[*count as u8]);
            }
            Op::Negate => self.code.general(None, true, &[0xF7], 3, Rm::Register(first), &[]),
            Op::Not => self.code.general(None, true, &[0xF7], 2, Rm::Register(first), &[]),
            Op::LeadingZeros => self.code.general(Some(0xF3), true, &[0x0F, 0xBD], first, Rm::Register(numbers[1]), &[]),
            Op::Extend(width, signed) => self.widened(width, signed, first, Rm::Register(numbers[1])),
            Op::Load(width, signed) => self.widened(width, signed, first, memory()?),
            Op::Store(width) => {
                let value = *numbers.last().ok_or("nothing to store")?;
                match width {
                    Width::Byte => self.code.general_byte(&[0x88], value, memory()?),
                    Width::Word => self.code.general(Some(0x66), false, &[0x89], value, memory()?, &[]),
                    Width::Double => self.code.general(None, false, &[0x89], value, memory()?, &[]),
                    Width::Quad => self.code.general(None, true, &[0x89], value, memory()?, &[]),
                }
            }
            Op::Divide { signed } => {
                let divisor = Rm::Register(*numbers.last().ok_or("no divisor")?);
                if signed {
                    self.code.bytes.extend([0x48, 0x99]);
                } else {
                    self.code.constant(2, 0);
                }
                self.code.general(None, true, &[0xF7], if signed { 7 } else { 6 }, divisor, &[]);
            }
            Op::CompareSet(condition) => {
                let allocations: Vec<_> = numbers.iter().map(|&n| Allocation::reg(PReg::new(usize::from(n), GENERAL))).collect();
                self.compare(&inst.args, &allocations)?;
                self.code.general_byte(&[0x0F, 0x90 | condition as u8], 0, Rm::Register(first));
                self.widened(Width::Byte, false, first, Rm::Register(first));
            }
            Op::Extreme(condition) => {
                // a against b, which the result's register holds.
                self.code.general(None, true, &[0x39], first, Rm::Register(numbers[2]), &[]);
                self.code.general(None, true, &[0x0F, 0x40 | condition as u8], first, Rm::Register(numbers[2]), &[]);
            }
            Op::TestSelect => {
                self.code.general(None, false, &[0x85], numbers[3], Rm::Register(numbers[3]), &[]);
                self.code.general(None, true, &[0x0F, 0x45], first, Rm::Register(numbers[2]), &[]);
            }
            Op::CompareSelect(condition) => {
                let allocations: Vec<_> = numbers.iter().map(|&n| Allocation::reg(PReg::new(usize::from(n), GENERAL))).collect();
                self.compare(&inst.args, &allocations)?;
                self.code.general(None, true, &[0x0F, 0x40 | condition as u8], first, Rm::Register(numbers[2]), &[]);
            }
            other => return Err(format!("{other:?} inside a block")),
        }
        Ok(())
    }

    fn arithmetic(&mut self, op: Arithmetic, inst: &Inst, numbers: &[u8]) -> Result<(), String> {
        let digit = match op {
            Arithmetic::Add => 0,
            Arithmetic::Or => 1,
            Arithmetic::And => 4,
            Arithmetic::Sub => 5,
            Arithmetic::Xor => 6,
            Arithmetic::Multiply => {
                match inst.args.last() {
                    Some(Arg::Immediate(number)) => {
                        self.code.general(None, true, &[0x69], numbers[0], Rm::Register(numbers[1]), &number.to_le_bytes());
                    }
                    _ => self.code.general(None, true, &[0x0F, 0xAF], numbers[0], Rm::Register(numbers[2]), &[]),
                }
                return Ok(());
            }
        };
        match inst.args.last() {
            Some(&Arg::Immediate(number)) => self.with_number(digit, numbers[0], number),
            _ => self.code.general(None, true, &[digit << 3 | 1], numbers[2], Rm::Register(numbers[0]), &[]),
        }
        Ok(())
    }

    /// A register or memory of some width to 64 bits.
    fn widened(&mut self, width: Width, signed: bool, to: u8, from: Rm) {
        let (wide, opcode): (bool, &[u8]) = match (width, signed) {
            (Width::Byte, false) => (false, &[0x0F, 0xB6]),
            (Width::Byte, true) => (true, &[0x0F, 0xBE]),
            (Width::Word, false) => (false, &[0x0F, 0xB7]),
            (Width::Word, true) => (true, &[0x0F, 0xBF]),
            (Width::Double, false) => (false, &[0x8B]),
            (Width::Double, true) => (true, &[0x63]),
            (Width::Quad, _) => (true, &[0x8B]),
        };
        let source_byte = matches!(from, Rm::Register(n) if (4..8).contains(&n)) && width == Width::Byte;
        if source_byte && !wide {
            self.code.general_byte(opcode, to, from);
        } else {
            self.code.general(None, wide, opcode, to, from, &[]);
        }
    }
}

/// The number of a general-purpose register.
fn general(allocations: &[Allocation], i: usize) -> Result<u8, String> {
    let register = allocations.get(i).and_then(|a| a.as_reg()).ok_or("an operand is no register")?;
    if register.class() == MASK { Err("a mask register where a number is wanted".into()) } else { Ok(register.hw_enc() as u8) }
}
