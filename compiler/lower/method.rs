//! One method: its groups in order, the places of its values, the planner's request, and the steps with their addresses.

use super::bands::Candidate;
use super::emission::{self, Emission};
use super::extents::{Ends, check_bounds, measured, port_extents};
use super::memory_map::{memory_map, peak};
use super::needs::Needs;
use super::parts::{Parts, Pinned};
use super::places::{self, Places, Point};
use super::pool::Pool;
use super::tensors::{Outside, StatePlace, Tensors, duplicate, outputs_of, root_of};
use super::variables::Variables;
use super::work::{self, Work};
use super::{LiveRanges, Options, Peak, PlanSource, bands, bug, fusions, imported};
use crate::diagnostic::{Diagnostic, Diagnostics, codes};
use crate::fuse::flow::{self, FlowError};
use crate::fuse::{self, Fusions, Group, Grouped, Move, Node};
use crate::ir::{self, Function, Module, Type, Value, Verified};
use crate::machine::Machine;
use crate::parallel::Memo;
use crate::plan::{self, Effort, Plan};
use crate::program::{Method, Port};
use crate::schedule::outer::Choice;
use crate::schedule::{Context, PackedWeights, Requirements, Unsupported};
use std::collections::{HashMap, HashSet};

/// A method, its plan and what reports and checks want to know of it.
pub struct LoweredMethod {
    /// The method for each machine: its steps differ, all else is the same.
    pub levels: Vec<Method>,
    /// Its plan.
    pub plan: Plan,
    /// Live byte ranges after each kernel call.
    pub live: LiveRanges,
    /// What is live where most is.
    pub peak: Peak,
}

/// Lowers a method for some machines, with one plan.
///
/// # Errors
/// One diagnostic for each operator without lowering.
pub(super) fn lower(
    verified: Verified<'_>,
    method: &ir::Method,
    (options, machines): (Options, &[&'static Machine]),
    variables: &Variables,
    pool: &mut Pool,
) -> Result<LoweredMethod, Diagnostics> {
    let module = verified.module();
    let flow = flow::unroll(verified, method.function).map_err(|error| flow_diagnostic(module, method, &error))?;
    let packed = &PackedWeights::default();
    let plans = &Memo::default();
    let frame = Frame { module, method, options, machines, variables, packed, plans };
    let trial = Frame { options: Options { effort: Effort::Trial, ..options }, ..frame };
    let candidate = bands::choose(module, flow, options, |candidate| trial.arena(candidate, &Fusions::none()))?;
    let merges = match options.plan {
        // The plan of the file is one for the tensors of the file.
        PlanSource::Program => vec![],
        PlanSource::Own | PlanSource::Smallest => fuse::group(candidate.flow.clone(), module, &Fusions::All).merges,
    };
    let mut fusions = fusions::choose(&merges, |fusions| trial.arena(&candidate, fusions))?;
    // The trials look less far than the plan that is used.
    if !fusions.is_empty() && frame.arena(&candidate, &fusions)? > frame.arena(&candidate, &Fusions::none())? {
        fusions = fusions::choose(&merges, |fusions| frame.arena(&candidate, fusions))?;
    }
    frame.planned(&candidate, &fusions, |planned| frame.written(&planned, &candidate.parts, pool))
}

/// What a method is lowered from and for.
#[derive(Clone, Copy)]
struct Frame<'a> {
    module: &'a Module,
    method: &'a ir::Method,
    options: Options,
    machines: &'a [&'static Machine],
    variables: &'a Variables,
    packed: &'a PackedWeights,
    plans: &'a Plans,
}

/// The plans that were made, with the order of their steps, or why there is none.
type Plans = Memo<plan::Request, Result<(Vec<usize>, Plan), String>>;

/// A method with a place for everything.
struct Planned<'a> {
    prepared: &'a Prepared,
    tensors: Tensors<'a>,
    /// In the order of the plan.
    work: Vec<Work<'a>>,
    request: plan::Request,
    plan: Plan,
}

impl Frame<'_> {
    /// The bytes of the arena of a method with some merges of its groups.
    fn arena(&self, candidate: &Candidate, fusions: &Fusions) -> Result<u64, Diagnostics> {
        self.planned(candidate, fusions, |planned| Ok(planned.plan.arena_bytes))
    }

    /// Cuts a method into groups, asks their schedules what they need, and plans its memory.
    fn planned<R>(
        &self,
        candidate: &Candidate,
        fusions: &Fusions,
        then: impl FnOnce(Planned<'_>) -> Result<R, Diagnostics>,
    ) -> Result<R, Diagnostics> {
        let (module, options) = (self.module, self.options);
        let prepared = Prepared::new(fuse::group(candidate.flow.clone(), module, fusions), self.method);
        let Prepared { grouped, outputs, states, spares, parts } = &prepared;
        let function = &grouped.function;
        check_bounds(module, self.method, function, &grouped.nodes)?;
        let fail = |(error, group): (Unsupported, &Group)| unsupported(module, function, self.method, group, &error);

        let work = work::of_method(function, &grouped.nodes);
        let levels = self.machines;
        let context =
            |group, machine| Context { module, function, group, machine, block: None, levels, packed: self.packed, goal: options.goal };
        let needs = candidate.known.of(&work, levels, context).map_err(|list| Diagnostics(list.into_iter().map(fail).collect()))?;
        let outside = Outside::new(module, function, self.variables, states, self.method.inputs.len(), outputs);
        let inputs = &function.params[..self.method.inputs.len()];
        let ends = Ends { entered: measured(function, inputs), left: measured(function, outputs), outputs };
        let places = choose_places(&work, &needs, &outside, parts, &ends);
        let copies = copies_of(&work, &places, function, spares);
        let (work, is_copy) = with_copies(&work, &copies);
        let copied: Vec<Work> = work.iter().zip(&is_copy).filter(|(_, copy)| **copy).map(|(work, _)| *work).collect();
        let copied = candidate.known.of(&copied, levels, context);
        let mut copied = copied.map_err(|list| Diagnostics(list.into_iter().map(fail).collect()))?.into_iter();
        let mut originals = needs.into_iter();
        let needs: Vec<_> = is_copy.iter().map(|&copy| if copy { copied.next() } else { originals.next() }.flatten()).collect();

        let mut tensors = Tensors::new(&outside, &places, parts);
        let steps = steps_of(&work, &needs, &mut tensors, states, &ends);
        let mut request = plan::Request { tensors: tensors.list.clone(), steps, effort: options.effort };
        let found = match options.plan {
            PlanSource::Own | PlanSource::Smallest => self.plans.get(&request, || planned(&request)),
            // The plan of the file holds for the order of the file.
            PlanSource::Program => {
                let groups = work.iter().filter_map(|item| if let Work::Group(group) = item { Some(*group) } else { None });
                for (root, offset) in imported::places(module, self.method, function, groups) {
                    if let Some(id) = tensors.ids.get(&root) {
                        request.tensors[id.index()].fixed = Some(offset);
                    }
                }
                let plan = imported::plan_with_places(&mut request).map_err(refused);
                plan.and_then(|plan| checked(&request, (0..work.len()).collect(), plan))
            }
        };
        let (order, plan) = found.map_err(bug)?;
        let request = request.reordered(&order);
        let work = order.iter().map(|&i| work[i]).collect();
        then(Planned { prepared: &prepared, tensors, work, request, plan })
    }

    /// Writes the kernels and steps of a planned method.
    fn written(&self, planned: &Planned<'_>, bands: &HashSet<Value>, pool: &mut Pool) -> Result<LoweredMethod, Diagnostics> {
        let Planned { prepared, tensors, work, request, plan } = planned;
        let (module, method, function) = (self.module, self.method, &prepared.grouped.function);
        let fail = |(error, group): (Unsupported, &Group)| unsupported(module, function, method, group, &error);
        let lifetimes = plan::Lifetimes::new(request).map_err(|error| bug(error.to_string()))?;
        let mut memory_map = memory_map(request, plan, &lifetimes, vec![]);
        let peak = peak(plan, &memory_map);
        let (mut steps, mut calls) = (Vec::new(), Vec::new());
        for level in 0..self.machines.len() {
            let context = |group| Context {
                module,
                function,
                group,
                machine: self.machines[level],
                block: None,
                levels: self.machines,
                packed: self.packed,
                goal: self.options.goal,
            };
            let kernels = emission::kernels(work, context, |pair| tensors.shares(plan, pair)).map_err(fail)?;
            let items = work.iter().copied().zip(kernels).collect::<Vec<_>>().into_iter().enumerate();
            let (map, unwritten) = (&memory_map, prepared.parts.counts());
            let mut emission = Emission { level, tensors, plan, pool, bands, unwritten, map, items, calls: vec![] };
            steps.push(emission.steps().map_err(fail)?);
            // The same for all levels.
            calls = emission.calls;
        }
        let live_at =
            |&(step, last): &(usize, bool)| if last { lifetimes.live_after(plan, step) } else { lifetimes.live_within(plan, step) };
        let live = calls.iter().map(live_at).collect();
        memory_map.calls = calls.into_iter().map(|(step, _)| step).collect();
        let (inputs, outputs) = (&function.params[..method.inputs.len()], &prepared.outputs);
        let mut cell = |index| tensors.address(plan, pool, index);
        let lowered = Method {
            name: method.name.clone(),
            inputs: ports(function, inputs, &method.inputs)?,
            outputs: ports(function, outputs, &method.outputs)?,
            input_extents: port_extents(function, inputs, &mut cell),
            output_extents: port_extents(function, outputs, &mut cell),
            steps: vec![],
            scratch_bytes: plan.arena_bytes,
            lower_bound: plan.lower_bound,
            optimal: plan.optimal,
            memory_map,
        };
        let levels = steps.into_iter().map(|steps| Method { steps, ..lowered.clone() }).collect();
        Ok(LoweredMethod { levels, plan: plan.clone(), live, peak })
    }
}

/// A plan of a request, with the order of its steps.
fn planned(request: &plan::Request) -> Result<(Vec<usize>, Plan), String> {
    let (order, plan) = plan::plan_reordered(request).map_err(refused)?;
    checked(&request.reordered(&order), order, plan)
}

fn refused(error: plan::PlanError) -> String {
    format!("the memory planner refused its request: {error}")
}

/// A plan of a request whose steps are in an order, if it passes its check.
fn checked(request: &plan::Request, order: Vec<usize>, plan: Plan) -> Result<(Vec<usize>, Plan), String> {
    plan::check(request, &plan).map_err(|error| format!("the memory plan does not pass its check: {error}"))?;
    Ok((order, plan))
}

/// A method cut into groups, and values for what lies outside the arena.
struct Prepared {
    grouped: Grouped,
    /// The tensor of each output.
    outputs: Vec<Value>,
    states: Vec<StatePlace>,
    /// For what values become where several become others at once: values to hold one of them meanwhile.
    spares: HashMap<Value, Value>,
    parts: Parts,
}

impl Prepared {
    fn new(mut grouped: Grouped, method: &ir::Method) -> Self {
        let mut written = Vec::new();
        produced(&grouped.nodes, &mut written);
        let (outputs, copies) = outputs_of(&mut grouped.function, method.outputs.len(), &written);
        grouped.nodes.extend(copies.into_iter().map(|copy| Node::Group(Box::new(copy))));
        let function = &mut grouped.function;
        let states: Vec<_> = grouped.states.iter().map(|&flow| StatePlace { flow, left: duplicate(function, flow.entry) }).collect();
        let changed = states.iter().filter(|s| s.flow.exit != s.flow.entry);
        grouped.nodes.push(Node::Moves(changed.map(|s| Move { from: s.flow.exit, to: s.left }).collect()));
        let mut spares = HashMap::new();
        add_spares(&grouped.nodes, function, &mut spares);
        let mut handed_on = HashSet::new();
        moved(&grouped.nodes, function, &mut handed_on);
        let places = Pinned { handed_on, outputs: outputs.iter().map(|&v| root_of(function, v)).collect() };
        let parts = Parts::new(&mut grouped, places, &written);
        Self { grouped, outputs, states, spares, parts }
    }
}

fn add_spares(nodes: &[Node], function: &mut Function, spares: &mut HashMap<Value, Value>) {
    for node in nodes {
        match node {
            Node::Group(_) => {}
            Node::Moves(moves) if moves.len() < 2 => {}
            Node::Moves(moves) => {
                for moved in moves {
                    spares.entry(moved.to).or_insert_with(|| duplicate(function, moved.to));
                }
            }
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                add_spares(first, function, spares);
                add_spares(second, function, spares);
            }
        }
    }
}

/// The values that groups and moves write.
fn produced(nodes: &[Node], list: &mut Vec<Value>) {
    for node in nodes {
        match node {
            Node::Group(group) => list.extend(&group.outputs),
            Node::Moves(moves) => list.extend(moves.iter().map(|m| m.to)),
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                produced(first, list);
                produced(second, list);
            }
        }
    }
}

/// The values that become others.
fn moved(nodes: &[Node], function: &Function, list: &mut HashSet<Value>) {
    for node in nodes {
        match node {
            Node::Group(_) => {}
            Node::Moves(moves) => list.extend(moves.iter().map(|m| root_of(function, m.from))),
            Node::If { then: first, otherwise: second, .. } | Node::While { head: first, body: second, .. } => {
                moved(first, function, list);
                moved(second, function, list);
            }
        }
    }
}

/// Which values have one place.
fn choose_places(work: &[Work<'_>], needs: &Needs, outside: &Outside<'_>, parts: &Parts, ends: &Ends<'_>) -> Places {
    let root = |v: Value| root_of(outside.function, v);
    let base = |v: Value| parts.base(outside.function, v);
    let states = outside.states;
    let point = |(item, needs): (&Work, &Option<Requirements>)| {
        let mut point = Point::default();
        match item {
            Work::Enter => point.writes = states.iter().map(|s| s.flow.entry).chain(ends.entered.iter().copied()).collect(),
            Work::Group(group) | Work::External(group) => {
                point.reads = group.inputs(outside.function).into_iter().map(base).collect();
                point.writes = group.outputs.iter().copied().map(base).collect();
                // Who writes a part leaves the rest as it is.
                point.reads.extend(group.outputs.iter().filter(|&&v| parts.host(root(v)).is_some()).map(|&v| base(v)));
                // A schedule knows whether other operands are the one that may be overwritten, not whether they are parts of it.
                let inputs = group.inputs(outside.function);
                let apart = |read: Value| !inputs.iter().any(|&v| root(v) != root(read) && base(v) == base(read));
                let pairs = needs.iter().flat_map(|needs| &needs.may_share).filter(|(read, _)| apart(*read));
                point.may_share = pairs.map(|&(read, written)| (root(read), root(written))).collect();
                // A part lies after the start of what it is a part of, so what may start below it may take the whole's place.
                let slides = needs.iter().flat_map(|needs| &needs.may_slide);
                let alone = |whole: &Value| point.reads.iter().filter(|&read| read == whole).count() == 1;
                let slides = slides.map(|&(read, written)| (base(read), root(written))).filter(|(whole, _)| alone(whole));
                point.may_share.extend(slides.collect::<Vec<_>>());
            }
            Work::Moves(moves) => {
                point.moves = moves.iter().map(|m| Move { from: root(m.from), to: m.to }).collect();
                point.reads = point.moves.iter().map(|m| base(m.from)).collect();
                point.writes = point.moves.iter().map(|m| m.to).collect();
            }
            Work::Test(condition) | Work::Check(condition) => point.reads = vec![base(*condition)],
            // What a branch or a round has handed on is needed after what follows here.
            Work::Else(moves) | Work::Repeat(moves) => point.reads = moves.iter().map(|m| m.to).collect(),
            Work::Leave => point.reads = ends.read().map(root).chain(states.iter().map(StatePlace::last)).collect(),
            Work::End | Work::Loop => {}
        }
        point
    };
    let points: Vec<Point> = work.iter().zip(needs).map(point).collect();
    let together: Vec<_> = states.iter().map(|s| (s.flow.entry, s.left)).collect();
    places::choose(&points, &places::loops(work), &together, |value| outside.holder(value))
}

/// For each entry of the list, the copies that its moves cost.
fn copies_of(work: &[Work<'_>], places: &Places, function: &Function, spares: &HashMap<Value, Value>) -> Vec<Vec<Group>> {
    let copies = |item: &Work| match item {
        Work::Moves(moves) => {
            let costly = moves.iter().filter(|m| !places.same(root_of(function, m.from), m.to));
            sequence(costly.copied().collect(), |from, to| places.same(root_of(function, from), to), spares)
        }
        _ => vec![],
    };
    work.iter().map(copies).collect()
}

/// Copies one by one that do what moves do all at once: none overwrites what another still reads. Where they form a circle, one
/// value is put aside.
fn sequence(mut moves: Vec<Move>, same: impl Fn(Value, Value) -> bool, spares: &HashMap<Value, Value>) -> Vec<Group> {
    let mut copies = Vec::new();
    while !moves.is_empty() {
        let harmless = |m: &Move| !moves.iter().any(|other| other.to != m.to && same(other.from, m.to));
        match moves.iter().position(harmless) {
            Some(next) => {
                let moved = moves.remove(next);
                copies.push(Group::copy(moved.from, moved.to));
            }
            None => {
                let moved = &mut moves[0];
                let spare = spares[&moved.to];
                copies.push(Group::copy(moved.from, spare));
                moved.from = spare;
            }
        }
    }
    copies
}

/// The list with the copies in front of the moves that need them, and which entries they are.
fn with_copies<'a>(work: &[Work<'a>], copies: &'a [Vec<Group>]) -> (Vec<Work<'a>>, Vec<bool>) {
    let mut list = Vec::new();
    for (item, copies) in work.iter().zip(copies) {
        list.extend(copies.iter().map(|group| (Work::Group(group), true)));
        list.push((*item, false));
    }
    list.into_iter().unzip()
}

/// The planner's steps.
fn steps_of(work: &[Work<'_>], needs: &Needs, tensors: &mut Tensors<'_>, states: &[StatePlace], ends: &Ends<'_>) -> Vec<plan::Step> {
    let mut steps: Vec<plan::Step> = Vec::new();
    let mut loops = Vec::new();
    for (item, needs) in work.iter().zip(needs) {
        let step = match item {
            Work::Group(group) => tensors.group_step(group, &needs.clone().unwrap_or_default()),
            // Its function may have effects: what comes before and after it stays there.
            Work::External(group) => plan::Step { barrier: true, ..tensors.group_step(group, &Requirements::default()) },
            Work::Enter => {
                let entered = states.iter().map(|s| s.flow.entry).chain(ends.entered.iter().copied());
                let writes = entered.map(|value| tensors.id(value)).collect();
                plan::Step { writes, ..tensors.barrier("enter", []) }
            }
            Work::Moves(moves) => moves_step(moves, tensors),
            Work::Test(condition) => tensors.barrier("if", [*condition]),
            Work::Check(condition) => tensors.barrier("while", [*condition]),
            Work::Else(_) | Work::End => tensors.barrier("end", []),
            Work::Loop => {
                loops.push(steps.len());
                tensors.barrier("loop", [])
            }
            Work::Repeat(moves) => {
                let start = loops.pop().unwrap_or(0);
                let mut step = tensors.barrier("repeat", moves.iter().map(|m| m.to));
                step.reads.extend(tensors.brought_in(&steps[start..]));
                step
            }
            Work::Leave => tensors.barrier("leave", ends.read().chain(states.iter().map(StatePlace::last))),
        };
        steps.push(step);
    }
    steps
}

/// Only moves within one place are left: copies do the others.
fn moves_step(moves: &[Move], tensors: &mut Tensors<'_>) -> plan::Step {
    let free: Vec<_> = moves.iter().filter(|m| tensors.in_place(**m)).copied().collect();
    let mut step = tensors.barrier("moves", free.iter().map(|m| m.from));
    step.moves = free.iter().map(|m| (tensors.id(m.from), tensors.id(m.to))).collect();
    step.moves.retain(|(from, to)| from != to);
    step
}

fn flow_diagnostic(module: &Module, method: &ir::Method, error: &FlowError) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(codes::USE_UNSUPPORTED, error.to_string()).in_function(&method.name);
    if let FlowError::StoringCondition(Some(source)) = error {
        let source = &module.sources[*source];
        diagnostic = diagnostic.at_operator(source.operator, &source.operator_name);
    }
    diagnostic
}

/// The schedule of a group.
pub(super) fn choose<'a>(cx: Context<'a>) -> Result<Choice<'a>, (Unsupported, &'a Group)> {
    Choice::new(cx).map_err(|error| (error, cx.group))
}

pub(super) fn unsupported(module: &Module, function: &Function, method: &ir::Method, group: &Group, error: &Unsupported) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(codes::OPERATOR_UNSUPPORTED, error.to_string());
    let source = group.insts.iter().find_map(|&inst| function.insts[inst].source);
    if let Some(source) = source {
        let source = &module.sources[source];
        diagnostic =
            diagnostic.at_operator(source.operator, &source.operator_name).about_tensor(&source.tensor).in_function(&source.function);
    }
    diagnostic.in_function(&method.name)
}

fn ports(function: &Function, values: &[Value], ports: &[ir::Port]) -> Result<Vec<Port>, Diagnostics> {
    let port = |(&value, port): (&Value, &ir::Port)| {
        let Type::Tensor(ty) = &function.values[value].ty else { return Err(bug("a port is no tensor")) };
        let high = |e: &ir::Extent| u64::try_from(function.interval(*e).high).unwrap_or(0);
        let bytes = function.bound_bytes(ty).ok_or_else(|| {
            Diagnostic::new(codes::PORT_WITHOUT_BOUND, format!("tensor {:?} has no bound on its size", port.name))
                .help("give one with --bound in0.DIMENSION=N")
        })?;
        Ok(Port {
            name: port.name.clone(),
            element: ty.element,
            shape: ty.shape.iter().map(high).collect(),
            dynamic: ty.shape.iter().map(|&e| function.resolved(e).as_static().is_none()).collect(),
            bytes,
            quantization: port.quantization.clone(),
            scalar: port.scalar,
            value: port.value.clone(),
        })
    };
    Ok(values.iter().zip(ports).map(port).collect::<Result<_, _>>()?)
}
