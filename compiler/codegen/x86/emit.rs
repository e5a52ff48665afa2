//! Emission of instructions with allocated registers: each operand goes to its field.

use super::encode::{Assembler, Fields, MemoryOperand, Rm};
use super::frame::Frame;
use super::inst::{Arg, Arithmetic, Inst, Op, Width};
use super::length::Length;
use super::registers::{MASK, class};
use super::rows::{Memory, Row, Shape};
use crate::own::{Address, AssemblyError, Missing, PhysicalAddress, Position, RowFault, StackFrame, memory_of};
use regalloc2::PReg;
use smallvec::SmallVec;

/// A writer of instructions to code, with the frame that their addresses are relative to.
pub(super) struct Emitter<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The code so far.
    pub code: &'a mut Assembler,
}

impl Emitter<'_> {
    fn address(&self, address: &Address, registers: impl Iterator<Item = u8>) -> Result<MemoryOperand, AssemblyError> {
        Ok(match address.physical(&self.frame.bases(), registers)? {
            None => MemoryOperand::Pool(address.displacement as u32),
            Some(PhysicalAddress { base, index, displacement }) => MemoryOperand::Sum { base, index, displacement },
        })
    }

    /// Writes an instruction. `at` has its registers in the order of its operands.
    pub fn inst(&mut self, inst: &Inst, at: &[PReg]) -> Result<(), AssemblyError> {
        let numbers: Vec<u8> = at.iter().map(|register| register.hw_enc() as u8).collect();
        if let Op::Vector { row, length, zeroing, broadcast } = inst.op {
            let mut fields = self.fields(row, inst, at)?;
            (fields.length, fields.zeroing, fields.broadcast) = (length, zeroing, broadcast);
            self.code.vector(row, &fields);
            return Ok(());
        }
        let place = match memory_of(&inst.args, at) {
            Ok((address, registers)) => Some(Rm::Memory(self.address(address, registers)?)),
            Err(_) => None,
        };
        self.scalar(inst, at, &numbers, place)
    }

    /// Computes the fields of a vector instruction.
    fn fields(&self, row: &Row, inst: &Inst, at: &[PReg]) -> Result<Fields, AssemblyError> {
        let mut registers = at.iter().copied();
        let (mut explicit, mut mask, mut immediate) = (SmallVec::<[Explicit; 4]>::new(), 0, None);
        for arg in &inst.args {
            match arg {
                Arg::Number(number) => immediate = Some(*number as u8),
                Arg::Memory(address) => {
                    let numbers = &mut registers.by_ref().map(|register| register.hw_enc() as u8);
                    explicit.push(Explicit::Memory(self.address(address, numbers)?));
                }
                arg => {
                    let register = registers.next().ok_or(Missing::Register)?;
                    match arg {
                        Arg::Masked(_) => mask = register.hw_enc() as u8,
                        Arg::Tied(_) => {}
                        _ => explicit.push(Explicit::Register(register)),
                    }
                }
            }
        }
        check(row, &explicit, immediate.is_some())?;
        let explicit: SmallVec<[Rm; 4]> = explicit.into_iter().map(Explicit::field).collect();
        let register = |i: usize| match explicit.get(i) {
            Some(Rm::Register(number)) => Ok(*number),
            _ => Err(AssemblyError::row(row.name, RowFault::NoRegister(i))),
        };
        let any = |i: usize| explicit.get(i).copied().ok_or_else(|| AssemblyError::row(row.name, RowFault::Lacks(i)));
        let (reg, vvvv, rm) = match row.shape {
            // Two equal source registers: the result is zeros or ones, independent of their contents.
            Shape::Rvm if explicit.len() == 1 => (register(0)?, register(0)?, any(0)?),
            // The result overwrites the first operand.
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

    /// Writes an instruction on general-purpose registers.
    fn scalar(&mut self, inst: &Inst, at: &[PReg], numbers: &[u8], place: Option<Rm>) -> Result<(), AssemblyError> {
        let first = numbers.first().copied().unwrap_or(0);
        let memory = || place.ok_or(Missing::Memory);
        match inst.op {
            Op::Parameters => {}
            Op::Constant(number) => self.code.constant(first, number),
            Op::LoadAddress => self.code.general(None, true, &[0x8D], first, memory()?, &[]),
            Op::Arithmetic(op) => self.arithmetic(op, inst, numbers)?,
            Op::Shift(shift) => {
                let Some(Arg::Number(count)) = inst.args.last() else { return Err(Missing::ShiftCount.into()) };
                self.code.general(None, true, &[0xC1], shift as u8, Rm::Register(first), &[*count as u8]);
            }
            Op::Negate => self.code.general(None, true, &[0xF7], 3, Rm::Register(first), &[]),
            Op::Not => self.code.general(None, true, &[0xF7], 2, Rm::Register(first), &[]),
            Op::LeadingZeros => self.code.general(Some(0xF3), true, &[0x0F, 0xBD], first, Rm::Register(numbers[1]), &[]),
            Op::Extend(width, signed) => self.widened(width, signed, first, Rm::Register(numbers[1])),
            Op::Load(width, signed) => self.widened(width, signed, first, memory()?),
            Op::Store(width) => {
                let value = *numbers.last().ok_or(Missing::Moved)?;
                match width {
                    Width::Byte => self.code.general_byte(&[0x88], value, memory()?),
                    Width::Word => self.code.general(Some(0x66), false, &[0x89], value, memory()?, &[]),
                    Width::Double => self.code.general(None, false, &[0x89], value, memory()?, &[]),
                    Width::Quad => self.code.general(None, true, &[0x89], value, memory()?, &[]),
                }
            }
            Op::Fetch { writes: true } => self.code.general(None, false, &[0x0F, 0x0D], 1, memory()?, &[]),
            Op::Fetch { writes: false } => self.code.general(None, false, &[0x0F, 0x18], 1, memory()?, &[]),
            Op::Divide { signed } => {
                let divisor = Rm::Register(*numbers.last().ok_or(Missing::Divisor)?);
                if signed {
                    self.code.bytes.extend([0x48, 0x99]);
                } else {
                    self.code.constant(2, 0);
                }
                self.code.general(None, true, &[0xF7], if signed { 7 } else { 6 }, divisor, &[]);
            }
            Op::CompareSet(condition) => {
                compare(&inst.args, at, self.code)?;
                self.code.general_byte(&[0x0F, 0x90 | condition as u8], 0, Rm::Register(first));
                self.widened(Width::Byte, false, first, Rm::Register(first));
            }
            Op::Extreme(condition) => {
                // Compares a with b, which is in the result's register.
                self.code.general(None, true, &[0x39], first, Rm::Register(numbers[2]), &[]);
                self.code.general(None, true, &[0x0F, 0x40 | condition as u8], first, Rm::Register(numbers[2]), &[]);
            }
            Op::TestSelect => {
                self.code.general(None, false, &[0x85], numbers[3], Rm::Register(numbers[3]), &[]);
                self.code.general(None, true, &[0x0F, 0x45], first, Rm::Register(numbers[2]), &[]);
            }
            Op::CompareSelect(condition) => {
                compare(&inst.args, at, self.code)?;
                self.code.general(None, true, &[0x0F, 0x40 | condition as u8], first, Rm::Register(numbers[2]), &[]);
            }
            other => return Err(AssemblyError::misplaced(other, Position::Inside)),
        }
        Ok(())
    }

    fn arithmetic(&mut self, op: Arithmetic, inst: &Inst, numbers: &[u8]) -> Result<(), AssemblyError> {
        let digit = match op {
            Arithmetic::Add => 0,
            Arithmetic::Or => 1,
            Arithmetic::And => 4,
            Arithmetic::Sub => 5,
            Arithmetic::Xor => 6,
            Arithmetic::Multiply => {
                match inst.args.last() {
                    Some(Arg::Number(number)) => {
                        self.code.general(None, true, &[0x69], numbers[0], Rm::Register(numbers[1]), &number.to_le_bytes());
                    }
                    _ => self.code.general(None, true, &[0x0F, 0xAF], numbers[0], Rm::Register(numbers[2]), &[]),
                }
                return Ok(());
            }
        };
        match inst.args.last() {
            Some(&Arg::Number(number)) => with_number(digit, numbers[0], number, self.code),
            _ => self.code.general(None, true, &[digit << 3 | 1], numbers[2], Rm::Register(numbers[0]), &[]),
        }
        Ok(())
    }

    /// Loads a register, or memory, of some width and extends it to 64 bits.
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

/// An operand with a field of its own.
#[derive(Clone, Copy)]
enum Explicit {
    Register(PReg),
    Memory(MemoryOperand),
}

impl Explicit {
    fn field(self) -> Rm {
        match self {
            Self::Register(register) => Rm::Register(register.hw_enc() as u8),
            Self::Memory(place) => Rm::Memory(place),
        }
    }
}

/// Checks operands against a row: each must be in the row's register file, or memory where the row allows it.
fn check(row: &Row, explicit: &[Explicit], number: bool) -> Result<(), AssemblyError> {
    // The first operand may be omitted if it is the result. All but the result may be omitted if their contents do not matter.
    let files = row.files();
    let skipped = files.len().saturating_sub(explicit.len());
    let of = |i: usize| if i == 0 { 0 } else { i + skipped };
    for (i, operand) in explicit.iter().enumerate() {
        let fits = match operand {
            Explicit::Register(register) => {
                let file = files.get(of(i)).copied();
                let only_memory = row.memory == Memory::Only && of(i) == row.memory_operand();
                file.is_some_and(|file| class(file) == register.class()) && !only_memory
            }
            Explicit::Memory(_) => of(i) == row.memory_operand() && row.memory != Memory::No,
        };
        if !fits {
            return Err(AssemblyError::row(row.name, RowFault::OtherKind(i)));
        }
    }
    if number != row.number { Err(AssemblyError::row(row.name, RowFault::HasNumber)) } else { Ok(()) }
}

/// Compares the last two operands; the second is a register or a constant.
pub(super) fn compare(args: &[Arg], at: &[PReg], code: &mut Assembler) -> Result<(), AssemblyError> {
    let last = at.len().saturating_sub(1);
    match args.last() {
        Some(Arg::Number(0)) => {
            let a = general(at, last)?;
            code.general(None, true, &[0x85], a, Rm::Register(a), &[]);
        }
        Some(&Arg::Number(number)) => with_number(7, general(at, last)?, number, code),
        _ => {
            let (a, b) = (general(at, last.saturating_sub(1))?, general(at, last)?);
            code.general(None, true, &[0x39], b, Rm::Register(a), &[]);
        }
    }
    Ok(())
}

/// Writes an arithmetic instruction with an immediate; `digit` selects one of eight.
fn with_number(digit: u8, register: u8, number: i32, code: &mut Assembler) {
    match i8::try_from(number) {
        Ok(short) => code.general(None, true, &[0x83], digit, Rm::Register(register), &[short as u8]),
        Err(_) => code.general(None, true, &[0x81], digit, Rm::Register(register), &number.to_le_bytes()),
    }
}

/// Returns the number of a general-purpose register.
pub(super) fn general(at: &[PReg], i: usize) -> Result<u8, AssemblyError> {
    let register = at.get(i).ok_or(Missing::Register)?;
    if register.class() == MASK {
        Err(AssemblyError::Class { found: "mask register", wanted: "number" })
    } else {
        Ok(register.hw_enc() as u8)
    }
}
