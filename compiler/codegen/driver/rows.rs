//! Calls as rows: read-only data that one function walks, instead of code for each call.
//!
//! A row begins with the distance from the row to its kernel, 4 bytes. A word for each argument follows. Its low 24 bits are an offset. The next 7 bits
//! are four times the place of a base in the list of bases. The highest bit is 1 in all words of a row but the last.

use super::addresses::Addresses;
use super::context::{Context, LevelKernels};
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, KernelConvention, Operand, Signature, Value, Width, function};
use crate::section::Section;
use crate::{Relocation, RelocationKind, RelocationTarget};
use modelc_program::{Address, Call, Division, Step, lists};

/// Estimated bytes of code for an argument of a call.
const CODE_OF_ARGUMENT: usize = 8;

/// Estimated bytes of code for the function that walks rows, for its list of bases and for its call.
const CODE_OF_ROWS: usize = 200;

/// Minimum number of bytes that a run of rows saves with pointers of 64 bits. Each run has a call of the function that walks rows, of about 28 bytes.
/// MobileNetV2, where most runs are a single call of nine arguments, was larger by 1.3 KB on riscv64 without this limit.
const LEAST_SAVED_BY_RUN: usize = 64;

/// Minimum number of bytes that rows must save, because they take stack. It is up to 140 bytes with pointers of 32 bits, and 180 with those of 64
/// bits.
const LEAST_SAVED: usize = 512;

/// Bits of an argument's offset.
const OFFSET_BITS: u32 = 24;

/// Bits of four times the place of an argument's base.
const PLACE_BITS: u32 = 7;

/// Bit of a word that another one of the row follows.
const MORE: u32 = 1 << (OFFSET_BITS + PLACE_BITS);

/// Bytes of a word of a row, on every machine.
const WORD: u64 = 4;

/// The rows of an object: their function, and what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Number of the function that walks rows.
    pub function: u32,
    /// Number of arguments of the longest row.
    pub arguments: usize,
    /// Convention of the kernels.
    pub convention: KernelConvention,
    /// Encoding of a kernel's distance.
    pub distance: RelocationKind,
}

/// The rows of a method at one level, while its steps are written.
pub struct MethodRows {
    rows: Rows,
    /// Number of their data section.
    data: u32,
    /// Address of the list of bases.
    bases: Value,
    contents: Vec<u8>,
    relocations: Vec<Relocation>,
}

/// Returns the number of arguments of the longest row. `None` if the calls of the object are no rows, because they would save little.
pub fn longest(context: &Context<'_>) -> Option<usize> {
    if !context.options.small || context.options.profile_hooks {
        return None;
    }
    let methods = context.levels.iter().flat_map(|level| &level.level.program.methods);
    let calls = methods.flat_map(|method| rows_of(context, &method.steps));
    let lengths: Vec<usize> = calls.filter_map(|call| words(context, call)).map(|words| words.len()).collect();
    let rows: usize = lengths.iter().map(|arguments| WORD as usize * (1 + arguments)).sum();
    let code: usize = lengths.iter().map(|arguments| CODE_OF_ARGUMENT * arguments).sum();
    lengths.into_iter().max().filter(|_| rows + CODE_OF_ROWS + LEAST_SAVED <= code)
}

/// Lists the calls among steps that become rows.
pub fn rows_of<'a>(context: &Context<'_>, steps: &'a [Step]) -> Vec<&'a Call> {
    let mut found = vec![];
    for mut list in lists(steps) {
        while let Some((_, others)) = list.split_first() {
            let run = run(context, list);
            list = if run.is_empty() { others } else { &list[run.len()..] };
            found.extend(run.into_iter().map(|row| row.call));
        }
    }
    found
}

/// A call as a row.
struct Row<'a> {
    call: &'a Call,
    words: Vec<u32>,
}

/// Returns the rows of a **run**: the calls at the beginning of steps that one call of the walking function makes. Empty if they are code.
fn run<'a>(context: &Context<'_>, steps: &'a [Step]) -> Vec<Row<'a>> {
    let row = |step: &'a Step| if let Step::Call(call) = step { Some(Row { call, words: words(context, call)? }) } else { None };
    let rows: Vec<Row<'a>> = steps.iter().map_while(row).collect();
    let least = if context.interface.layout.pointer == WORD { 0 } else { LEAST_SAVED_BY_RUN };
    let code: usize = rows.iter().map(|row| CODE_OF_ARGUMENT * row.words.len()).sum();
    if bytes(&rows) + least <= code { rows } else { vec![] }
}

/// Returns the bytes of rows.
fn bytes(rows: &[Row<'_>]) -> usize {
    rows.iter().map(|row| WORD as usize * (1 + row.words.len())).sum()
}

/// Bases of addresses, in the order of their list.
#[derive(Clone, Copy)]
enum Base {
    Zero,
    State,
    Scratch,
    Weights,
    Area(u32),
    Input(u32),
    Output(u32),
}

/// Returns the words of a call's arguments. `None` if the call is no row: tasks may divide it, it may run once a block, or an address is computed at run time.
fn words(context: &Context<'_>, call: &Call) -> Option<Vec<u32>> {
    let runs_once = matches!(call.division, Division::Whole | Division::Ranges(_)) && call.division.divided().is_none();
    let addresses = call.arguments.iter().map(|&address| based(context, address));
    let integers = call.division.integers().into_iter().map(|integer| Some((Base::Zero, u64::try_from(integer).ok()?)));
    let word = |argument: Option<(Base, u64)>| {
        let (base, offset) = argument?;
        let place = WORD as u32 * place(context, base)?;
        (place >> PLACE_BITS == 0 && offset >> OFFSET_BITS == 0).then_some(MORE | place << OFFSET_BITS | offset as u32)
    };
    let mut words = addresses.chain(integers).map(word).collect::<Option<Vec<u32>>>().filter(|_| runs_once)?;
    *words.last_mut()? &= !MORE;
    Some(words)
}

/// Splits an address into a base and an offset.
fn based(context: &Context<'_>, address: Address) -> Option<(Base, u64)> {
    Some(match address {
        Address::Scratch(offset) => (Base::Scratch, offset),
        Address::Area(number, offset) => (Base::Area(number), offset),
        Address::Variable(offset) => (Base::State, context.interface.state.variables.offset + offset),
        Address::Input(port, offset) => (Base::Input(port), offset),
        Address::Output(port, offset) => (Base::Output(port), offset),
        Address::Constant(constant, offset) => (Base::Weights, context.constants.offsets[constant as usize] + offset),
        Address::Moving(..) | Address::Resident(_) => return None,
    })
}

/// Returns the place of a base in the list, which is long enough for every method of the object.
fn place(context: &Context<'_>, base: Base) -> Option<u32> {
    let methods = || context.levels.iter().flat_map(|level| &level.level.program.methods);
    let areas = methods().map(|method| method.area_bytes.len()).max()? as u32;
    let inputs = methods().map(|method| method.inputs.len()).max()? as u32;
    Some(match base {
        Base::Zero => 0,
        Base::State => 1,
        Base::Scratch => 2,
        Base::Weights => 3,
        Base::Area(number) => 4 + number,
        Base::Input(port) => 4 + areas + port,
        Base::Output(port) => 4 + areas + inputs + port,
    })
}

/// Writes `int call_rows(const void *first, const void *end, void *const *bases)`. It calls kernels until one fails, and returns the last status.
pub fn walk_rows(context: &Context<'_>, rows: Rows) -> Function {
    function(context.interface.layout, Signature::status(3), |e, parameters| {
        let &[first, end, bases] = parameters else { unreachable!("the function has three parameters") };
        let pointer = e.layout.pointer as i32;
        let block = e.memory(pointer as u32 * rows.arguments as u32);
        let row = e.value(Width::Word);
        let head = e.region(|e| vec![e.compare(CompareOp::Less, row, end).into()]);
        let body = e.region(|e| {
            let distance = distance(e, row);
            let kernel = e.add(row, distance);
            let next = arguments(e, row, bases, block);
            // A kernel ignores what follows its own arguments.
            let arguments = (0..rows.arguments).map(|number| e.load(Width::Word, block, pointer * number as i32).into()).collect();
            let status = e.call(Callee::KernelAt(kernel.into(), rows.convention), Signature::status(rows.arguments), arguments);
            e.leave_with(status);
            vec![next.into()]
        });
        e.repeat(&[(row, first.into())], head, body);
    })
}

/// Loads the distance from a row to its kernel, with its sign.
fn distance(e: &mut Builder, row: Value) -> Value {
    const SIGN: u64 = 1 << 31;
    let bits = e.load(Width::Single, row, 0);
    let distance = e.extend(Width::Word, bits);
    if e.layout.pointer == WORD {
        return distance;
    }
    let flipped = e.binary(BinaryOp::Xor, distance, SIGN);
    e.binary(BinaryOp::Sub, flipped, SIGN)
}

/// Computes the arguments of a row into a block of memory. Returns the address of the next row.
fn arguments(e: &mut Builder, row: Value, bases: Value, block: Value) -> Value {
    let pointer = e.layout.pointer;
    let [word, slot] = [(); 2].map(|()| e.value(Width::Word));
    let more = e.value(Width::Single);
    let head = e.region(|_| vec![more.into()]);
    let body = e.region(|e| {
        let bits = e.load(Width::Single, word, 0);
        let offset = e.binary(BinaryOp::And, bits, (1u64 << OFFSET_BITS) - 1);
        let offset = e.extend(Width::Word, offset);
        let high = e.load(Width::Byte, word, OFFSET_BITS as i32 / 8);
        let high = e.extend(Width::Word, high);
        let place = e.binary(BinaryOp::And, high, (1u64 << PLACE_BITS) - 1);
        let place = if pointer == WORD { place } else { e.mul(place, pointer / WORD) };
        let base = e.add(bases, place);
        let base = e.load(Width::Word, base, 0);
        let argument = e.add(base, offset);
        e.store(Width::Word, argument, slot, 0);
        let more = e.binary(BinaryOp::And, bits, u64::from(MORE));
        let [word, slot] = [(word, WORD), (slot, pointer)].map(|(address, bytes)| e.add(address, bytes));
        vec![word.into(), slot.into(), more.into()]
    });
    let first = e.add(row, WORD);
    e.repeat(&[(word, first.into()), (slot, block.into()), (more, 1u64.into())], head, body);
    word
}

impl MethodRows {
    /// Stores the bases of a method's addresses.
    pub fn new(e: &mut Builder, addresses: &Addresses<'_>, (rows, data): (Rows, u32)) -> Self {
        let Addresses { context, state, scratch, areas, inputs, outputs, .. } = addresses;
        let weights = (context.constants.bytes > 0).then(|| (Base::Weights, e.constant(addresses.weights, 0).into()));
        let known = [(Base::Zero, Operand::Number(0)), (Base::State, (*state).into()), (Base::Scratch, (*scratch).into())];
        let areas = (0..).zip(areas).map(|(number, &area)| (Base::Area(number), area.into()));
        let inputs = (0..).zip(inputs).map(|(port, &buffer)| (Base::Input(port), buffer.into()));
        let outputs = (0..).zip(outputs).map(|(port, &buffer)| (Base::Output(port), buffer.into()));
        let all: Vec<(Base, Operand)> = known.into_iter().chain(weights).chain(areas).chain(inputs).chain(outputs).collect();
        let places: Vec<(u32, Operand)> = all.into_iter().filter_map(|(base, value)| Some((place(context, base)?, value))).collect();
        let count = places.iter().map(|(place, _)| place + 1).max().unwrap_or(0);
        let pointer = e.layout.pointer as i32;
        let bases = e.memory(pointer as u32 * count);
        for (place, value) in places {
            e.store(Width::Word, value, bases, pointer * place as i32);
        }
        Self { rows, data, bases, contents: vec![], relocations: vec![] }
    }

    /// Returns the section with the rows of the method of a name. `None` if there are none.
    pub fn section(self, method: &str) -> Option<Section> {
        let section = Section::of_bytes(format!("rows_{method}"), WORD, self.contents);
        (!self.relocations.is_empty()).then_some(Section { relocations: self.relocations, ..section })
    }

    /// Writes the calls at the beginning of some steps as rows, and a call that walks them. Returns the number of these steps.
    pub fn write(&mut self, e: &mut Builder, (context, level): (&Context<'_>, &LevelKernels<'_>), steps: &[Step]) -> usize {
        let rows = run(context, steps);
        if rows.is_empty() {
            return 0;
        }
        let first = e.data(self.data, self.contents.len() as u64);
        let end = e.at(first, bytes(&rows) as u64);
        let status =
            e.call(Callee::Function(self.rows.function), Signature::status(3), [first, end, self.bases].map(Operand::Value).to_vec());
        e.leave_with(status);
        for Row { call, words } in &rows {
            let (offset, target) = (self.contents.len() as u32, RelocationTarget::Function(level.first + call.kernel as u32));
            self.relocations.push(Relocation { offset, kind: self.rows.distance, target, addend: 0 });
            self.contents.extend([0].iter().chain(words).flat_map(|word| word.to_le_bytes()));
        }
        rows.len()
    }
}
