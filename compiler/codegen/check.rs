//! A last check of a lowered program. Numbers must be in range, and each kernel must access only the memory that it is given. A mistake in a schedule
//! or in the planner becomes an error that names the operator, instead of a write to other memory.

use cranelift_entity::EntityRef;
use modelc_diagnostic::{Diagnostic, codes};
use modelc_kernel::verify::verify;
use modelc_kernel::{BufferKind, Kernel, Member, Members};
use modelc_program::{Address, Call, Crossing, Division, Method, Parallel, Program, Step, Tasks, Visit, calls_of_sides, externals, walk};
use std::fmt;

/// Maximum nesting depth of steps.
const DEEPEST: usize = 200;

/// A mistake in the steps or the data of a program.
#[derive(Debug, thiserror::Error)]
enum StepFault {
    /// A region of a program for the host alone.
    #[error("a region of a program without a device")]
    NoDevice,
    /// A region beyond the table.
    #[error("region {0} does not exist")]
    NoRegion(usize),
    /// Data that crosses in a region outside of host memory.
    #[error("what crosses in region {region} is not where it should be: {crossing:?}")]
    Crossing { region: usize, crossing: Crossing },
    /// Parallel calls with ranges of other numbers.
    #[error("calls together are not of {rounds} rounds in {most} tasks")]
    Ranges { rounds: u64, most: u32 },
    /// Parallel lists that are empty, or have divided calls.
    #[error("calls are not lists of whole calls: {0:?}")]
    Lists(Tasks),
    /// A call of a kernel beyond the table.
    #[error("kernel {0} does not exist")]
    NoKernel(usize),
    /// A call with other numbers of arguments than its kernel.
    #[error("kernel {kernel} takes {expected} pointers and numbers, and is given {found}")]
    Arguments { kernel: String, expected: Counts, found: Counts },
    /// Slices without cells, or with wrong strides.
    #[error("the slices of kernel {kernel} are not sound")]
    Slices { kernel: String },
    /// An argument that does not fit its buffer.
    #[error("buffer {buffer} of kernel {kernel} at {address:?} {fault}")]
    Buffer { buffer: String, kernel: String, address: Address, fault: BufferFault },
    /// Numbers of a joined kernel that no member has.
    #[error("a call of kernel {kernel} passes the numbers of no member")]
    NoMember { kernel: String },
    /// A variable outside of its memory, or with first contents of another size.
    #[error("variable {0} is not where it should be")]
    Variable(String),
    /// A tensor of an external function outside of memory, or written where it must not be.
    #[error("a tensor of {0} is not where it should be")]
    External(String),
    /// A constant of an external function that is beyond the table.
    #[error("a constant of {0} does not exist")]
    NoConstant(String),
    /// A dynamic dimension of a port without a cell.
    #[error("extent {dimension} of {port:?} is not kept")]
    Extent { dimension: u32, port: String },
    /// A condition outside of memory.
    #[error("condition outside memory: {0:?}")]
    Condition(Address),
}

/// The numbers of a kernel's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    pointers: usize,
    integers: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.pointers, self.integers)
    }
}

/// A mistake in an argument of a kernel.
#[derive(Debug, thiserror::Error)]
enum BufferFault {
    /// An address outside of all memory.
    #[error("is nowhere")]
    Nowhere,
    /// A length beyond all numbers.
    #[error("is too large")]
    TooLarge,
    /// A memory block that is too short.
    #[error("has {room} bytes of {bytes}")]
    Room { room: u64, bytes: u64 },
    /// An address that is less aligned than the kernel relies on.
    #[error("is aligned to {known} bytes, not to {needed}")]
    Alignment { known: u64, needed: u32 },
    /// Read-only memory that the kernel writes.
    #[error("is written, and must not be")]
    Written,
}

/// Checks a lowered program.
///
/// # Errors
/// A bug's diagnostic that names the operator. [`codes::CONTROL_DEPTH`] if control flow is nested too deeply.
pub fn check(program: &Program) -> Result<(), Diagnostic> {
    for variable in &program.variables {
        let end = variable.offset.checked_add(variable.bytes);
        let fits = end.is_some_and(|end| end <= program.variable_bytes) && variable.offset % 8 == 0;
        let initial = variable.initial.map(|constant| program.constants.get(constant).map(|blob| blob.data.len() as u64));
        if !fits || initial.is_some_and(|bytes| bytes != Some(variable.bytes)) {
            return Err(bug(&StepFault::Variable(variable.name.clone())));
        }
    }
    for kernel in program.kernels.iter().filter(|kernel| kernel.members().is_some()) {
        verify(kernel).map_err(|error| bug(&error))?;
    }
    for method in &program.methods {
        check_method(program, method).map_err(|diagnostic| diagnostic.in_function(&method.name))?;
    }
    Ok(())
}

fn check_method(program: &Program, method: &Method) -> Result<(), Diagnostic> {
    check_extents(program, method)?;
    check_conditions(program, method)?;
    check_regions(program, method).map_err(|fault| bug(&fault))?;
    check_parallel(method).map_err(|fault| bug(&fault))?;
    for external in externals(&method.steps) {
        for (tensor, written) in external.inputs.iter().map(|t| (t, false)).chain(external.outputs.iter().map(|t| (t, true))) {
            let fits = room(program, method, tensor.address).is_some_and(|(room, _)| room >= tensor.bytes);
            if !fits || (written && matches!(tensor.address, Address::Constant(..) | Address::Input(..))) {
                return Err(bug(&StepFault::External(external.symbol.clone())));
            }
        }
        let shapes = external.inputs.iter().chain(&external.outputs).filter_map(|tensor| tensor.shape);
        if shapes.chain(external.options).any(|constant| program.constants.len() <= constant as usize) {
            return Err(bug(&StepFault::NoConstant(external.symbol.clone())));
        }
    }
    for (call, is_in_region) in calls_of_sides(&method.steps) {
        check_call(program, method, call, is_in_region).map_err(|fault| {
            let diagnostic = bug(&fault);
            match call.origin.operators.first() {
                Some((index, name)) => diagnostic.at_operator(*index, name),
                None => diagnostic,
            }
        })?;
    }
    Ok(())
}

/// Checks that every dynamic extent of a port has a cell, and that cells of input extents are writable.
fn check_extents(program: &Program, method: &Method) -> Result<(), Diagnostic> {
    for (ports, extents, written) in [(&method.inputs, &method.input_extents, true), (&method.outputs, &method.output_extents, false)] {
        for (number, port) in (0..).zip(ports) {
            for (dimension, _) in (0..).zip(&port.dynamic).filter(|(_, dynamic)| **dynamic) {
                let extent = extents.iter().find(|x| (x.port, x.dimension) == (number, dimension));
                let sound = extent.is_some_and(|x| {
                    let fits = is_cell(program, method, x.cell) && port.shape.get(dimension as usize).is_some_and(|&most| x.low <= most);
                    fits && (!written || matches!(x.cell, Address::Scratch(_) | Address::Area(..) | Address::Moving(..)))
                });
                if !sound || port.scalar {
                    return Err(bug(&StepFault::Extent { dimension, port: port.name.clone() }));
                }
            }
        }
    }
    Ok(())
}

/// Tests whether an address has room for an aligned `i64`.
fn is_cell(program: &Program, method: &Method, address: Address) -> bool {
    room(program, method, address).is_some_and(|(room, alignment)| room >= 8 && alignment >= 8)
}

fn check_conditions(program: &Program, method: &Method) -> Result<(), Diagnostic> {
    let mut depth = 0;
    for visit in walk(&method.steps) {
        match visit {
            Visit::If(_) | Visit::While | Visit::Parallel(_) | Visit::Region(_) => depth += 1,
            Visit::End => depth -= 1,
            _ => {}
        }
        if depth > DEEPEST {
            return Err(Diagnostic::new(codes::CONTROL_DEPTH, format!("control flow is nested deeper than {DEEPEST} levels")));
        }
        if let Visit::If(condition) | Visit::Do(condition) = visit
            && room(program, method, condition).is_none_or(|(room, _)| room == 0)
        {
            return Err(bug(&StepFault::Condition(condition)));
        }
    }
    Ok(())
}

/// Checks that all data that crosses between host and device lies inside host memory.
fn check_regions(program: &Program, method: &Method) -> Result<(), StepFault> {
    for visit in walk(&method.steps) {
        let Visit::Region(number) = visit else { continue };
        let device = program.device.as_ref().ok_or(StepFault::NoDevice)?;
        let region = device.regions.get(number).ok_or(StepFault::NoRegion(number))?;
        for (crossing, is_written) in region.enter.iter().map(|c| (c, false)).chain(region.leave.iter().map(|c| (c, true))) {
            let fits = room(program, method, crossing.host).is_some_and(|(room, _)| room >= crossing.bytes);
            if !fits || (is_written && matches!(crossing.host, Address::Constant(..) | Address::Input(..))) {
                return Err(StepFault::Crossing { region: number, crossing: *crossing });
            }
        }
    }
    Ok(())
}

/// Checks the calls that tasks divide.
fn check_parallel(method: &Method) -> Result<(), StepFault> {
    for visit in walk(&method.steps) {
        let Visit::Parallel(run) = visit else { continue };
        match run.tasks {
            Tasks::Ranges { rounds, most } => check_ranges(run, rounds, most)?,
            Tasks::Lists { .. } => check_lists(run)?,
        }
    }
    Ok(())
}

/// Checks that all calls have ranges, and that the number of rounds divides theirs.
fn check_ranges(run: &Parallel, rounds: u64, most: u32) -> Result<(), StepFault> {
    let fits = |step: &Step| {
        let Step::Call(call) = step else { return false };
        let Division::Ranges(ranges) = &call.division else { return false };
        rounds > 0 && ranges.rounds.is_multiple_of(rounds) && most <= ranges.most
    };
    match run.calls.iter().all(fits) {
        true => Ok(()),
        false => Err(StepFault::Ranges { rounds, most }),
    }
}

/// Checks that lists consist of whole kernel calls, and that none is empty.
fn check_lists(run: &Parallel) -> Result<(), StepFault> {
    let is_whole = |step: &Step| matches!(step, Step::Call(call) if call.division.blocks().is_none() && call.division.divided().is_none());
    let all: usize = run.lists().map(<[_]>::len).sum();
    match run.calls.iter().all(is_whole) && all == run.calls.len() && !run.lists().any(<[_]>::is_empty) {
        true => Ok(()),
        false => Err(StepFault::Lists(run.tasks.clone())),
    }
}

fn check_call(program: &Program, method: &Method, call: &Call, is_in_region: bool) -> Result<(), StepFault> {
    let kernel = program.kernels.get(call.kernel).ok_or(StepFault::NoKernel(call.kernel))?;
    let expected = Counts { pointers: kernel.pointer_params().count(), integers: kernel.integers };
    let found = Counts { pointers: call.arguments.len(), integers: call.division.integers().len() };
    if expected != found {
        return Err(StepFault::Arguments { kernel: kernel.name.clone(), expected, found });
    }
    let blocks = call.division.blocks();
    let sound = blocks.is_none_or(|blocks| {
        let cells = blocks.extents.iter().all(|&(cell, _)| is_cell(program, method, cell));
        cells && blocks.strides.len() == call.arguments.len() && blocks.block > 0 && blocks.after != Some(0)
    });
    if !sound {
        return Err(StepFault::Slices { kernel: kernel.name.clone() });
    }
    let member = kernel.members().map(|members| member(program, (kernel, members), call)).transpose()?;
    for (i, ((number, buffer), &address)) in kernel.pointer_params().zip(&call.arguments).enumerate() {
        // A call for a member is as large as its own buffers.
        let buffer = member.and_then(|member| member.buffers.get(number.index())).unwrap_or(buffer);
        let (stride, last) = blocks.map_or((0, 0), |blocks| (blocks.strides[i], blocks.most.saturating_sub(blocks.block)));
        let wrong = |fault| StepFault::Buffer { buffer: buffer.name.clone(), kernel: kernel.name.clone(), address, fault };
        let of_device = if is_in_region { room_on_device(program, address) } else { None };
        let (room, alignment) = of_device.or_else(|| room(program, method, address)).ok_or_else(|| wrong(BufferFault::Nowhere))?;
        let bytes = buffer.elements.checked_mul(u64::from(buffer.lane.bytes())).ok_or_else(|| wrong(BufferFault::TooLarge))?;
        if stride.checked_mul(last).and_then(|distance| distance.checked_add(bytes)).is_none_or(|bytes| bytes > room) {
            return Err(wrong(BufferFault::Room { room, bytes }));
        }
        if u64::from(buffer.alignment) > alignment || !stride.is_multiple_of(u64::from(buffer.alignment).max(1)) {
            return Err(wrong(BufferFault::Alignment { known: alignment, needed: buffer.alignment }));
        }
        let constant = matches!(address, Address::Constant(..) | Address::Input(..));
        if constant && buffer.kind != BufferKind::Input {
            return Err(wrong(BufferFault::Written));
        }
    }
    Ok(())
}

/// Returns the member whose numbers a call passes to a joined kernel.
fn member<'p>(program: &Program, (kernel, members): (&'p Kernel, &'p Members), call: &Call) -> Result<&'p Member, StepFault> {
    let place = kernel.pointer_params().position(|(buffer, _)| buffer == members.buffer);
    let numbers = place.and_then(|place| call.arguments.get(place)).and_then(|&address| words(program, address, members));
    let found = numbers.and_then(|numbers| members.with(&numbers));
    found.ok_or_else(|| StepFault::NoMember { kernel: kernel.name.clone() })
}

/// Returns the words of a constant, as many as members have.
fn words(program: &Program, address: Address, members: &Members) -> Option<Vec<i32>> {
    let Address::Constant(constant, offset) = address else { return None };
    let bytes = program.constants.get(constant as usize)?.data.bytes();
    let wanted = members.list.first()?.numbers.len();
    let (words, _) = bytes.get(usize::try_from(offset).ok()?..)?.as_chunks::<4>();
    Some(words.get(..wanted)?.iter().map(|&word| i32::from_le_bytes(word)).collect())
}

/// Returns what [`room`] returns, for a variable that lives on the device. It has the same offset from an aligned address as in the state.
fn room_on_device(program: &Program, address: Address) -> Option<(u64, u64)> {
    let Address::Resident(offset) = address else { return None };
    let variable = program.device.as_ref()?.residents.as_ref()?.at(offset)?;
    let alignment = 1 << offset.trailing_zeros().min(program.alignment.bytes().trailing_zeros());
    Some((variable.offset + variable.bytes - offset, alignment))
}

/// Returns the number of bytes from a host address to the end of its memory block, and the known alignment. `None` if the address is outside.
fn room(program: &Program, method: &Method, address: Address) -> Option<(u64, u64)> {
    let (bytes, offset, base_alignment) = match address {
        Address::Scratch(offset) | Address::Moving(_, offset) => (method.scratch_bytes, offset, program.alignment.bytes()),
        Address::Area(number, offset) => (*method.area_bytes.get(number as usize)?, offset, program.alignment.bytes()),
        Address::Variable(offset) => (program.variable_bytes, offset, program.alignment.bytes()),
        Address::Resident(_) => return None,
        Address::Constant(constant, offset) => {
            (program.constants.get(constant as usize)?.data.len() as u64, offset, program.alignment.bytes())
        }
        Address::Input(port, offset) | Address::Output(port, offset) => {
            let ports = if matches!(address, Address::Input(..)) { &method.inputs } else { &method.outputs };
            let port = ports.get(port as usize)?;
            (port.bytes, offset, port.element.alignment())
        }
    };
    let own = if offset == 0 { base_alignment } else { 1 << offset.trailing_zeros().min(32) };
    Some((bytes.checked_sub(offset)?, base_alignment.min(own)))
}

fn bug(fault: &dyn std::error::Error) -> Diagnostic {
    Diagnostic::new(codes::OWN_CHECK, fault.to_string()).help("this is a mistake in modelc; please report it with the model")
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::passes::joined_copies;
    use modelc_program::{Blob, Origin};

    /// A call of a joined kernel that copies 4 or 7 words, and passes a number of words.
    fn program(words: i32, scratch_bytes: u64) -> Program {
        let kernel = joined_copies(&[(4, 4), (7, 7)]);
        let arguments = vec![Address::Scratch(0), Address::Scratch(64), Address::Constant(0, 4)];
        let call = Call { kernel: 0, arguments, bounds: vec![], division: Division::Whole, origin: Origin::default() };
        let method = Method { name: "run".into(), steps: vec![Step::Call(call)], scratch_bytes, optimal: true, ..Method::default() };
        let data: Vec<u8> = [9, words].into_iter().flat_map(i32::to_le_bytes).collect();
        let numbers = Blob { name: "numbers".into(), data: data.into() };
        Program { kernels: vec![kernel], constants: vec![numbers], methods: vec![method], ..Program::default() }
    }

    #[test]
    fn calls_pass_the_numbers_of_a_member_and_have_its_memory() {
        assert_eq!(check(&program(7, 64 + 28)), Ok(()));
        assert_eq!(check(&program(4, 64 + 16)), Ok(()));
        let says = |words, scratch_bytes, what: &str| {
            let message = check(&program(words, scratch_bytes)).unwrap_err().message;
            assert!(message.contains(what), "{message}");
        };
        says(5, 1024, "passes the numbers of no member");
        says(7, 64 + 24, "has 24 bytes of 28");
    }
}
