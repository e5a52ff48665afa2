//! Kernel calls that tasks divide, through the configuration's `parallel_for`: single calls, and several together. The method leaves shared
//! data on its stack. Each task computes its range and its private memory from its number. The number of tasks changes no result.

use super::context::{Context, LevelKernels};
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use modelc_interface::Layout;
use modelc_program::{Call, Parallel, Private, Step, Tasks, Visit, calls, walk};

/// Number of threads if the configuration does not give one.
pub const USUAL_THREADS: i32 = 8;

/// Offsets in the data that tasks share. For each call, its arguments follow, then the private memory of the second task.
pub mod shared {
    /// Status of a failed task, else 0.
    pub const STATUS: i32 = 0;
    /// Number of tasks, 32 bits.
    pub const TASKS: i32 = 4;
    /// Address of the first argument.
    pub const ARGUMENTS: i32 = 8;
}

/// Work that tasks divide, one function for all: a kernel call, or several.
#[derive(Clone, Copy, Debug)]
pub enum InTasks<'a> {
    /// A call, of which each task does a range.
    Call(&'a Call),
    /// Several calls.
    Parallel(&'a Parallel),
}

/// Description of a task's function, see [`InTasks::outline`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outline {
    /// Rounds of calls that run together.
    rounds: Option<u64>,
    /// Index of the first call of each stream.
    starts: Vec<usize>,
    calls: Vec<CallOutline>,
}

/// Parameters of a task's code for a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CallOutline {
    kernel: usize,
    /// Number of arguments.
    arguments: usize,
    rounds: Option<u64>,
    /// Private memory: the number of the argument, and the distance between tasks.
    private: Vec<(usize, u64)>,
}

/// Lists the steps that tasks divide, in the driver's order. If `are_told`, a hook is called for each kernel call, and each runs by itself.
pub fn in_tasks(steps: &[Step], are_told: bool) -> Vec<InTasks<'_>> {
    let (mut found, mut inside) = (vec![], 0);
    for visit in walk(steps) {
        match visit {
            Visit::Parallel(run) if !are_told => {
                inside = run.calls.len();
                found.push(InTasks::Parallel(run));
            }
            Visit::Call(_) if inside > 0 => inside -= 1,
            Visit::Call(call) => found.extend(call.division.divided().map(|_| InTasks::Call(call))),
            _ => {}
        }
    }
    found
}

impl<'a> InTasks<'a> {
    /// Lists the calls.
    pub fn calls(self) -> Vec<&'a Call> {
        match self {
            Self::Call(call) => vec![call],
            Self::Parallel(run) => calls(&run.calls),
        }
    }

    /// Returns everything that the function is written from, except the level. Work with equal outlines shares one function.
    pub fn outline(self) -> Outline {
        let of_call = |call: &Call| {
            let private = private(call).iter().map(|private| (private.argument, private.step)).collect();
            let rounds = call.division.ranges().map(|ranges| ranges.rounds);
            CallOutline { kernel: call.kernel, arguments: call.arguments.len(), rounds, private }
        };
        let (rounds, starts) = match self {
            Self::Call(_) => (None, vec![]),
            Self::Parallel(Parallel { tasks: Tasks::Ranges { rounds, .. }, .. }) => (Some(*rounds), vec![]),
            Self::Parallel(Parallel { tasks: Tasks::Lists { starts }, .. }) => (None, starts.clone()),
        };
        Outline { rounds, starts, calls: self.calls().into_iter().map(of_call).collect() }
    }

    /// Returns the maximum number of tasks.
    pub fn most(self) -> u32 {
        match self {
            Self::Call(call) => call.division.ranges().map_or(1, |ranges| ranges.most),
            Self::Parallel(run) => run.most(),
        }
    }

    /// Returns the bytes of the shared data.
    pub fn shared_bytes(self, layout: Layout) -> u32 {
        argument(self.calls().into_iter().map(addresses).sum(), layout) as u32
    }
}

/// Lists the memory that each task has for itself.
pub fn private(call: &Call) -> &[Private] {
    call.division.ranges().map_or(&[], |ranges| &ranges.private)
}

/// Returns the number of rounds that tasks of a call divide.
fn rounds_of(call: &Call) -> u64 {
    call.division.ranges().map_or(0, |ranges| ranges.rounds)
}

/// Counts the addresses that the tasks of a call share.
fn addresses(call: &Call) -> usize {
    call.arguments.len() + private(call).len()
}

/// Returns the offset of an argument's address in the shared data.
pub fn argument(number: usize, layout: Layout) -> i32 {
    shared::ARGUMENTS + (layout.pointer as usize * number) as i32
}

/// Returns the signature `void task(void *shared, uint32_t number)`.
pub fn task_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single], None)
}

/// Returns the signature `void parallel_for(void *user, uint32_t count, void (*task)(void *, uint32_t), void *shared)`.
pub fn parallel_for_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single, Width::Word, Width::Word], None)
}

/// Writes the function of a task: of a kernel call, or of calls that tasks divide. `level` is the number of the CPU level.
pub fn task(context: &Context<'_>, level: usize, work: InTasks<'_>) -> Function {
    let level = &context.levels[level];
    function(context.interface.layout, task_signature(), |e, parameters| {
        let &[shared, number] = parameters else { unreachable!("a task has two parameters") };
        let number = e.extend(Width::Word, number);
        match work {
            InTasks::Call(call) => {
                let mut arguments = arguments(e, call, shared, (number, 0));
                arguments.extend(share(e, shared, number, rounds_of(call)).map(Operand::Value));
                let status = kernel(e, level, call, arguments);
                e.when(status, |e| e.store(Width::Single, status, shared, shared::STATUS));
            }
            InTasks::Parallel(run) => match run.tasks {
                Tasks::Ranges { rounds, .. } => ranges(e, level, (run, rounds), Task { shared, number }),
                Tasks::Lists { .. } => lists(e, level, run, Task { shared, number }),
            },
        }
    })
}

/// A task: the data that all tasks share, and its number.
#[derive(Clone, Copy)]
struct Task {
    shared: Value,
    number: Value,
}

/// Calls each kernel in turn for a range of its rounds.
fn ranges(e: &mut Builder, level: &LevelKernels, (run, rounds): (&Parallel, u64), Task { shared, number }: Task) {
    let range = share(e, shared, number, rounds);
    let mut first = 0;
    for call in calls(&run.calls) {
        let mut arguments = arguments(e, call, shared, (number, first));
        let of_round = rounds_of(call) / rounds.max(1);
        let bound = |round| Operand::Value(if of_round == 1 { round } else { e.mul(round, of_round) });
        arguments.extend(range.map(bound));
        kernel_or_leave(e, level, (call, arguments), shared);
        first += addresses(call);
    }
}

/// Calls the kernels of one list in turn.
fn lists(e: &mut Builder, level: &LevelKernels, run: &Parallel, Task { shared, number }: Task) {
    let mut first = 0;
    for (list, steps) in (0u64..).zip(run.lists()) {
        let is_taken = e.compare(CompareOp::Equal, number, list);
        e.when(is_taken, |e| {
            for call in calls(steps) {
                let mut arguments = arguments(e, call, shared, (number, first));
                arguments.extend(call.division.integers().into_iter().map(|integer| Operand::Number(integer.cast_unsigned())));
                kernel_or_leave(e, level, (call, arguments), shared);
                first += addresses(call);
            }
        });
    }
}

/// Loads the arguments of a call for a task. They begin at argument `first` of the shared data.
fn arguments(e: &mut Builder, call: &Call, shared: Value, (number, first): (Value, usize)) -> Vec<Operand> {
    let layout = e.layout;
    let mut arguments: Vec<Value> = (0..call.arguments.len()).map(|i| e.load(Width::Word, shared, argument(first + i, layout))).collect();
    for (i, private) in private(call).iter().enumerate() {
        let second = e.load(Width::Word, shared, argument(first + call.arguments.len() + i, layout));
        arguments[private.argument] = private_memory(e, arguments[private.argument], second, number, private.step);
    }
    arguments.into_iter().map(Operand::Value).collect()
}

/// Computes the range of a task: its first round, and the round after its last.
fn share(e: &mut Builder, shared: Value, number: Value, rounds: u64) -> [Value; 2] {
    let count = e.load(Width::Single, shared, shared::TASKS);
    let count = e.extend(Width::Word, count);
    let next = e.at(number, 1);
    [number, next].map(|bound| {
        let product = e.mul(bound, rounds);
        e.binary(BinaryOp::Div, product, count)
    })
}

/// Calls a kernel; returns its status.
fn kernel(e: &mut Builder, level: &LevelKernels, call: &Call, arguments: Vec<Operand>) -> Value {
    let callee = Callee::Kernel(level.first + call.kernel as u32, level.convention);
    e.call(callee, Signature::status(arguments.len()), arguments)
}

/// Calls a kernel. A status that is not 0 is stored in the shared data, and ends the task.
fn kernel_or_leave(e: &mut Builder, level: &LevelKernels, (call, arguments): (&Call, Vec<Operand>), shared: Value) {
    let status = kernel(e, level, call, arguments);
    e.when(status, |e| {
        e.store(Width::Single, status, shared, shared::STATUS);
        e.leave(0);
    });
}

/// Selects the private memory of a task. The first task uses the call's own; the others use consecutive blocks from `second` on.
fn private_memory(e: &mut Builder, first: Value, second: Value, number: Value, step: u64) -> Value {
    let others = e.add(number, -1);
    let offset = e.mul(others, step);
    let own = e.add(second, offset);
    let is_first = e.compare(CompareOp::Equal, number, 0);
    e.select(is_first, first, own)
}
