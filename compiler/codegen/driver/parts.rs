//! Kernel calls in parts, where the configuration brings a `parallel_for`, one by one or several together: the caller of the kernels leaves what the parts share on its
//! stack, and each part works out its range and its working memory from its number. How many parts there are changes no result.

use super::context::{Context, LevelKernels};
use super::language::{BinaryOp, Builder, Callee, CompareOp, Function, Operand, Signature, Value, Width, function};
use crate::interface::Layout;
use crate::program::{Call, Parts, Step, Together, Visit, calls, walk};

/// Of a configuration that does not say how many threads there are.
pub const USUAL_THREADS: i32 = 8;

/// Offsets in what parts share. After it are for each call the arguments, then the working memory of the second part.
pub mod shared {
    /// A status that is not 0, if a part ended so.
    pub const STATUS: i32 = 0;
    /// The number of parts, 32 bits.
    pub const PARTS: i32 = 4;
    /// The first argument.
    pub const ARGUMENTS: i32 = 8;
}

/// What a function does a part of: a kernel call, or several that run together.
#[derive(Clone, Copy, Debug)]
pub enum InParts<'a> {
    /// A call.
    Call(&'a Call, &'a Parts),
    /// Calls that run together.
    Together(&'a Together),
}

/// See [`InParts::outline`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outline {
    /// The rounds of calls that run together.
    rounds: Option<u64>,
    calls: Vec<CallOutline>,
}

/// All that a part of a call is written from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CallOutline {
    kernel: usize,
    /// Their number.
    arguments: usize,
    extent: Option<i64>,
    /// Of the working memory the arguments and the steps.
    working: Vec<(usize, u64)>,
}

/// What of steps runs in parts, in the order in which the driver comes to it. Where each call is told to a hook, each runs by itself.
pub fn in_parts(steps: &[Step], are_told: bool) -> Vec<InParts<'_>> {
    let (mut found, mut together) = (vec![], 0);
    for visit in walk(steps) {
        match visit {
            Visit::Together(run) if !are_told => {
                together = run.calls.len();
                found.push(InParts::Together(run));
            }
            Visit::Call(_) if together > 0 => together -= 1,
            Visit::Call(call) => found.extend(call.parts.as_ref().map(|parts| InParts::Call(call, parts))),
            _ => {}
        }
    }
    found
}

impl<'a> InParts<'a> {
    /// The calls with their parts.
    pub fn calls(self) -> Vec<(&'a Call, &'a Parts)> {
        match self {
            Self::Call(call, parts) => vec![(call, parts)],
            Self::Together(run) => calls(&run.calls).into_iter().filter_map(|call| Some((call, call.parts.as_ref()?))).collect(),
        }
    }

    /// All that its function is written from beside the level: of equal ones one function does the parts.
    pub fn outline(self) -> Outline {
        let of_call = |(call, parts): (&Call, &Parts)| {
            let working = parts.working.iter().map(|working| (working.argument, working.step)).collect();
            CallOutline { kernel: call.kernel, arguments: call.arguments.len(), extent: call.integers.last().copied(), working }
        };
        let rounds = if let Self::Together(run) = self { Some(run.rounds) } else { None };
        Outline { rounds, calls: self.calls().into_iter().map(of_call).collect() }
    }

    /// Parts at most.
    pub fn most(self) -> u32 {
        match self {
            Self::Call(_, parts) => parts.most,
            Self::Together(run) => run.most,
        }
    }

    /// Bytes of what the parts share.
    pub fn shared_bytes(self, layout: Layout) -> u32 {
        argument(self.calls().into_iter().map(|(call, parts)| addresses(call, parts)).sum(), layout) as u32
    }
}

/// Addresses that the parts of a call share.
fn addresses(call: &Call, parts: &Parts) -> usize {
    call.arguments.len() + parts.working.len()
}

/// Where the address of an argument is in what parts share.
pub fn argument(number: usize, layout: Layout) -> i32 {
    shared::ARGUMENTS + (layout.pointer as usize * number) as i32
}

/// `void part(void *shared, uint32_t number)`.
fn part_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single], None)
}

/// `void parallel_for(void *user, uint32_t count, void (*part)(void *, uint32_t), void *shared)`.
pub fn parallel_for_signature() -> Signature {
    Signature::new(&[Width::Word, Width::Single, Width::Word, Width::Word], None)
}

/// A part of a kernel call, or of calls that run together, on the level of a number.
pub fn part(context: &Context<'_>, level: usize, work: InParts<'_>) -> Function {
    let level = &context.levels[level];
    function(context.interface.layout, part_signature(), |e, parameters| {
        let &[shared, number] = parameters else { unreachable!("a part has two parameters") };
        let number = e.extend(Width::Word, number);
        match work {
            InParts::Call(call, parts) => {
                let mut arguments = arguments(e, (call, parts), shared, (number, 0));
                arguments.extend(share(e, shared, number, call.integers.last().copied().unwrap_or(0)));
                let status = kernel(e, level, call, arguments);
                e.when(status, |e| e.store(Width::Single, status, shared, shared::STATUS));
            }
            InParts::Together(run) => {
                let rounds = share(e, shared, number, run.rounds.cast_signed());
                let mut first = 0;
                for (call, parts) in work.calls() {
                    let mut arguments = arguments(e, (call, parts), shared, (number, first));
                    let of_round = call.integers.last().copied().unwrap_or(0).cast_unsigned() / run.rounds.max(1);
                    arguments.extend(rounds.map(|round| if of_round == 1 { round } else { e.mul(round, of_round) }));
                    let status = kernel(e, level, call, arguments);
                    e.when(status, |e| {
                        e.store(Width::Single, status, shared, shared::STATUS);
                        e.leave(0);
                    });
                    first += addresses(call, parts);
                }
            }
        }
    })
}

/// The arguments of a part of a call, which are those from the number `first` on of what parts share.
fn arguments(e: &mut Builder, (call, parts): (&Call, &Parts), shared: Value, (number, first): (Value, usize)) -> Vec<Value> {
    let layout = e.layout;
    let mut arguments: Vec<Value> = (0..call.arguments.len()).map(|i| e.load(Width::Word, shared, argument(first + i, layout))).collect();
    for (i, working) in parts.working.iter().enumerate() {
        let second = e.load(Width::Word, shared, argument(first + call.arguments.len() + i, layout));
        arguments[working.argument] = working_memory(e, arguments[working.argument], second, number, working.step);
    }
    arguments
}

/// The first of a part's share of an extent, and the first after it.
fn share(e: &mut Builder, shared: Value, number: Value, extent: i64) -> [Value; 2] {
    let count = e.load(Width::Single, shared, shared::PARTS);
    let count = e.extend(Width::Word, count);
    let next = e.at(number, 1);
    [number, next].map(|bound| {
        let product = e.mul(bound, extent as u64);
        e.binary(BinaryOp::Div, product, count)
    })
}

/// The status of a kernel.
fn kernel(e: &mut Builder, level: &LevelKernels, call: &Call, arguments: Vec<Value>) -> Value {
    let arguments: Vec<Operand> = arguments.into_iter().map(Operand::Value).collect();
    let callee = Callee::Kernel(level.first + call.kernel as u32, level.convention);
    e.call(callee, Signature::status(arguments.len()), arguments)
}

/// The first part works where the call would, the others side by side in another place.
fn working_memory(e: &mut Builder, first: Value, second: Value, number: Value, step: u64) -> Value {
    let others = e.add(number, -1);
    let offset = e.mul(others, step);
    let own = e.add(second, offset);
    let is_first = e.compare(CompareOp::Equal, number, 0);
    e.select(is_first, first, own)
}
