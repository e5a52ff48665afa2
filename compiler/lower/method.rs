//! One method: its groups in order, the planner's request, and the steps with their addresses.

use super::memory_map::{memory_map, peak};
use super::pool::Pool;
use super::{LiveRanges, Options, Peak, PlanSource, bug, imported};
use crate::diagnostic::{Diagnostic, Diagnostics, Kind};
use crate::fuse::flow::{self, FlowError};
use crate::fuse::{self, Group, Node};
use crate::ir::{self, Function, Module, Op, Type, Value};
use crate::plan::{self, Place, Plan, TensorId};
use crate::program::{Address, Call, External, ExternalTensor, Method, Origin, Port, Step};
use crate::schedule::movement::MovementSchedule;
use crate::schedule::{self, Argument, Context, Schedule, Unsupported};
use std::collections::HashMap;

/// Tensors in the arena start at a multiple of this: a vector register of the narrowest machine.
const TENSOR_ALIGNMENT: u64 = 16;

/// A method, its plan and what reports and checks want to know of it.
pub struct LoweredMethod {
    /// The method.
    pub method: Method,
    /// Its plan.
    pub plan: Plan,
    /// Live byte ranges after each kernel call.
    pub live: LiveRanges,
    /// What is live where most is.
    pub peak: Peak,
}

/// Lowers a method.
///
/// # Errors
/// One diagnostic for each operator without lowering.
pub fn lower(module: &Module, method: &ir::Method, options: Options, pool: &mut Pool) -> Result<LoweredMethod, Diagnostics> {
    let flow = flow::unroll(module, method.function).map_err(|error| flow_diagnostic(module, method, &error))?;
    let mut grouped = fuse::group(flow);
    let outputs = place_outputs(method, &mut grouped);
    let mut tensors = Tensors::new(module, &grouped.function, method, &outputs);
    let mut work = Vec::new();
    let mut failures = Vec::new();
    let context = |group| Context { module, function: &grouped.function, group, machine: options.machine };
    linearise(&grouped.function, &grouped.nodes, &mut work);
    let mut steps = Vec::new();
    for item in &work {
        let step = match item {
            Work::Group(group) => choose(context(group)).map(|schedule| {
                let step = tensors.group_step(group, &schedule.requirements());
                (step, Some(schedule))
            }),
            // Its function may have effects: what comes before and behind it stays there.
            Work::External(group) => {
                let step = tensors.group_step(group, &schedule::Requirements::default());
                Ok((plan::Step { barrier: true, ..step }, None))
            }
            Work::Test(condition) => Ok((tensors.test_step(*condition), None)),
            Work::Else | Work::End => Ok((plan::Step { barrier: true, ..plan::Step::default() }, None)),
        };
        match step {
            Ok(step) => steps.push(step),
            Err((error, group)) => failures.push(unsupported(module, &grouped.function, method, group, &error)),
        }
    }
    if !failures.is_empty() {
        return Err(Diagnostics(failures));
    }
    let (steps, mut schedules): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
    let mut request = plan::Request { tensors: tensors.list.clone(), steps, effort: options.effort };
    let planned = match options.plan {
        PlanSource::Own => plan::plan_reordered(&request),
        // The plan of the file holds for the order of the file.
        PlanSource::Program => {
            let groups = work.iter().filter_map(|item| if let Work::Group(group) = item { Some(*group) } else { None });
            for (root, offset) in imported::places(module, method, &grouped.function, groups) {
                if let Some(id) = tensors.ids.get(&root) {
                    request.tensors[id.index()].fixed = Some(offset);
                }
            }
            imported::plan_with_places(&mut request).map(|plan| ((0..work.len()).collect(), plan))
        }
    };
    let (order, plan) = planned.map_err(|error| bug(format!("the memory planner refused its request: {error}")))?;
    let request = request.reordered(&order);
    let work: Vec<Work> = order.iter().map(|&i| work[i]).collect();
    plan::check(&request, &plan).map_err(|error| bug(format!("the memory plan does not pass its check: {error}")))?;
    let schedules = order.iter().map(|&i| schedules[i].take());
    let items: Vec<_> = work.iter().copied().zip(schedules).enumerate().collect();
    let mut emission = Emission { module, tensors: &tensors, plan: &plan, pool, items: items.into_iter() };
    let steps = emission.steps().map_err(|(error, group)| unsupported(module, &grouped.function, method, group, &error))?;
    let calls: Vec<usize> = (0..work.len()).filter(|&i| matches!(work[i], Work::Group(_))).collect();
    let lifetimes = plan::Lifetimes::new(&request).map_err(|error| bug(error.to_string()))?;
    let live = calls.iter().map(|&step| lifetimes.live_after(&plan, step)).collect();
    let memory_map = memory_map(&request, &plan, &lifetimes, calls);
    let peak = peak(&plan, &memory_map);
    let lowered = Method {
        name: method.name.clone(),
        inputs: ports(&module.functions[method.function], &module.functions[method.function].params, &method.inputs)?,
        outputs: ports(&grouped.function, &outputs, &method.outputs)?,
        steps,
        scratch_bytes: plan.arena_bytes,
        lower_bound: plan.lower_bound,
        optimal: plan.optimal,
        memory_map,
    };
    Ok(LoweredMethod { method: lowered, plan, live, peak })
}

fn flow_diagnostic(module: &Module, method: &ir::Method, error: &FlowError) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(402, Kind::Unsupported, error.to_string()).in_function(&method.name);
    if let FlowError::While(Some(source)) = error {
        let source = &module.sources[*source];
        diagnostic = diagnostic.at_operator(source.operator, &source.operator_name);
    }
    diagnostic
}

fn choose<'a>(cx: Context<'a>) -> Result<Box<dyn Schedule + 'a>, (Unsupported, &'a Group)> {
    let schedule = match cx.group.copied {
        Some(from) => MovementSchedule::whole(cx, from).map(|s| Box::new(s) as Box<dyn Schedule>),
        None => schedule::choose(cx),
    };
    schedule.map_err(|error| (error, cx.group))
}

fn unsupported(module: &Module, function: &Function, method: &ir::Method, group: &Group, error: &Unsupported) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(401, Kind::Unsupported, error.to_string());
    let source = group.insts.iter().find_map(|&inst| function.insts[inst].source);
    if let Some(source) = source {
        let source = &module.sources[source];
        diagnostic =
            diagnostic.at_operator(source.operator, &source.operator_name).about_tensor(&source.tensor).in_function(&source.function);
    }
    diagnostic.in_function(&method.name)
}

/// Makes every output of the method a tensor of its own that some group writes: what is an input, a constant, a part of
/// something else or returned twice is copied. Gives the tensor of each output.
fn place_outputs(method: &ir::Method, grouped: &mut fuse::Grouped) -> Vec<Value> {
    let mut written = Vec::new();
    produced(&grouped.nodes, &mut written);
    let mut taken: Vec<Value> = Vec::new();
    let mut outputs = Vec::new();
    let results = grouped.function.results.clone();
    for &result in results.iter().take(method.outputs.len()) {
        let root = root_of(&grouped.function, result);
        if written.contains(&root) && !taken.contains(&root) {
            taken.push(root);
            outputs.push(result);
            continue;
        }
        let data = grouped.function.values[result].clone();
        let copy = grouped.function.values.push(data);
        grouped.nodes.push(Node::Group(Group::copy(result, copy)));
        outputs.push(copy);
    }
    outputs
}

/// The tensors that groups and branches write.
fn produced(nodes: &[Node], list: &mut Vec<Value>) {
    for node in nodes {
        match node {
            Node::Group(group) => list.extend(&group.outputs),
            Node::If { results, then, otherwise, .. } => {
                list.extend(results);
                produced(then, list);
                produced(otherwise, list);
            }
        }
    }
}

/// The tensor whose memory a value has: reshapes share that of their operand.
pub(super) fn root_of(function: &Function, mut value: Value) -> Value {
    while let Some(inst) = function.defining_inst(value) {
        let data = &function.insts[inst];
        if data.op != Op::Reshape || !data.results.contains(&value) {
            break;
        }
        value = data.operands[0];
    }
    value
}

/// What the planner sees as one step. Groups may change places between two others; those are barriers.
#[derive(Clone, Copy)]
enum Work<'a> {
    Group(&'a Group),
    /// A custom operator, which has no kernel.
    External(&'a Group),
    /// The driver reads a condition; what it does when true follows, up to `Else`.
    Test(Value),
    /// What it does when false follows, up to `End`.
    Else,
    /// A branch ends here.
    End,
}

fn linearise<'a>(function: &Function, nodes: &'a [Node], work: &mut Vec<Work<'a>>) {
    for node in nodes {
        match node {
            Node::Group(group) if group.root.is_some_and(|root| function.insts[root].op == Op::External) => {
                work.push(Work::External(group))
            }
            Node::Group(group) => work.push(Work::Group(group)),
            Node::If { condition, then, otherwise, .. } => {
                work.push(Work::Test(*condition));
                linearise(function, then, work);
                work.push(Work::Else);
                linearise(function, otherwise, work);
                work.push(Work::End);
            }
        }
    }
}

/// The planner's tensors and what they stand for.
struct Tensors<'a> {
    module: &'a Module,
    function: &'a Function,
    list: Vec<plan::Tensor>,
    ids: HashMap<Value, TensorId>,
    /// The method's input or output number of tensors in callers' buffers.
    inputs: HashMap<Value, u32>,
    outputs: HashMap<Value, u32>,
}

impl<'a> Tensors<'a> {
    fn new(module: &'a Module, function: &'a Function, method: &ir::Method, outputs: &[Value]) -> Self {
        let inputs = function.params.iter().take(method.inputs.len()).enumerate().map(|(i, &v)| (v, i as u32)).collect();
        let outputs = outputs.iter().enumerate().map(|(i, &v)| (root_of(function, v), i as u32)).collect();
        Self { module, function, list: vec![], ids: HashMap::new(), inputs, outputs }
    }

    fn constant(&self, root: Value) -> Option<ir::Constant> {
        let data = &self.function.insts[self.function.defining_inst(root)?];
        match (data.op, data.attributes.first()) {
            (Op::Constant, Some(ir::Attribute::Constant(constant))) => Some(*constant),
            _ => None,
        }
    }

    fn id(&mut self, value: Value) -> TensorId {
        let root = root_of(self.function, value);
        if let Some(&id) = self.ids.get(&root) {
            return id;
        }
        let place = if self.inputs.contains_key(&root) {
            Place::Input
        } else if self.outputs.contains_key(&root) {
            Place::Output
        } else if self.constant(root).is_some() {
            Place::Constant
        } else {
            Place::Arena
        };
        let ty = self.function.tensor(root);
        let name = self.function.values[root].name.clone().unwrap_or_else(|| format!("{root}"));
        let bytes = self.function.bound_bytes(ty).unwrap_or(0);
        self.list.push(plan::Tensor { bytes, alignment: TENSOR_ALIGNMENT, place, view_of: None, fixed: None, name });
        let id = TensorId(self.list.len() as u32 - 1);
        self.ids.insert(root, id);
        id
    }

    fn group_step(&mut self, group: &Group, requirements: &schedule::Requirements) -> plan::Step {
        let reads = group.inputs(self.function).iter().map(|&v| self.id(v)).collect();
        let writes = group.outputs.iter().map(|&v| self.id(v)).collect();
        let scratch = requirements.scratch.iter().map(|&bytes| plan::Scratch { bytes, alignment: crate::program::ALIGNMENT }).collect();
        let may_share = requirements.may_share.iter().map(|&(read, written)| (self.id(read), self.id(written))).collect();
        let name = group.insts.first().map_or("copy", |&inst| self.function.insts[inst].op.row().name).to_owned();
        plan::Step { reads, writes, scratch, may_share, name, ..plan::Step::default() }
    }

    fn test_step(&mut self, condition: Value) -> plan::Step {
        plan::Step { reads: vec![self.id(condition)], barrier: true, name: "if".into(), ..plan::Step::default() }
    }

    fn address(&self, plan: &Plan, pool: &mut Pool, value: Value) -> Address {
        let root = root_of(self.function, value);
        if let Some(&input) = self.inputs.get(&root) {
            return Address::Input(input, 0);
        }
        if let Some(&output) = self.outputs.get(&root) {
            return Address::Output(output, 0);
        }
        if let Some(constant) = self.constant(root) {
            let data = &self.module.constants[constant].data;
            return Address::Constant(
                pool.constant(data, || self.function.values[root].name.clone().unwrap_or_else(|| constant.to_string())),
                0,
            );
        }
        let offset = self.ids.get(&root).and_then(|id| plan.offset[id.index()]);
        // A tensor without an offset has no bytes; no access reaches it.
        Address::Scratch(offset.unwrap_or(0))
    }

    fn shares(&self, plan: &Plan, (read, written): (Value, Value)) -> bool {
        let offset = |v: Value| {
            let id = self.ids.get(&root_of(self.function, v))?;
            let in_arena = self.list[id.index()].place == Place::Arena;
            if in_arena { plan.offset[id.index()] } else { None }
        };
        offset(read).is_some() && offset(read) == offset(written)
    }
}

/// Work in the order of the plan, each with its position and the schedule of a group.
type Items<'s> = std::vec::IntoIter<(usize, (Work<'s>, Option<Box<dyn Schedule + 's>>))>;

/// Writes the steps, in the order of the plan.
struct Emission<'a, 's> {
    module: &'a Module,
    tensors: &'a Tensors<'a>,
    plan: &'a Plan,
    pool: &'a mut Pool,
    items: Items<'s>,
}

impl<'s> Emission<'_, 's> {
    /// The steps up to the end of the branch at hand, or of the method.
    fn steps(&mut self) -> Result<Vec<Step>, (Unsupported, &'s Group)> {
        let mut steps = Vec::new();
        while let Some((position, item)) = self.items.next() {
            match item {
                (Work::Group(group), Some(schedule)) => {
                    let call = self.call(group, schedule.as_ref(), position).map_err(|error| (error, group))?;
                    steps.push(Step::Call(call));
                }
                (Work::External(group), _) => steps.push(Step::External(self.external(group).map_err(|error| (error, group))?)),
                (Work::Test(condition), _) => {
                    let condition = self.tensors.address(self.plan, self.pool, condition);
                    let (then, otherwise) = (self.steps()?, self.steps()?);
                    steps.push(Step::If { condition, then, otherwise });
                }
                (Work::Else | Work::End, _) => break,
                (Work::Group(_), None) => unreachable!("groups have schedules"),
            }
        }
        Ok(steps)
    }

    fn call(&mut self, group: &Group, schedule: &dyn Schedule, position: usize) -> Result<Call, Unsupported> {
        let requirements = schedule.requirements();
        let shared: Vec<_> = requirements.may_share.into_iter().filter(|&pair| self.tensors.shares(self.plan, pair)).collect();
        let lowered = schedule.lower(&shared)?;
        let mut origin = self.origin(group);
        origin.schedule = lowered.description;
        origin.multiply_accumulates = lowered.multiply_accumulates;
        let stem = lowered.kernel.name.clone();
        let symbol = match origin.operators.first() {
            Some((operator, _)) => format!("op{operator:03}_{stem}"),
            None => stem,
        };
        let mut arguments = Vec::new();
        for argument in &lowered.arguments {
            arguments.push(match argument {
                Argument::Tensor(value) => self.tensors.address(self.plan, self.pool, *value),
                Argument::Data(data) => Address::Constant(self.pool.constant(data, || symbol.clone()), 0),
                Argument::Scratch(i) => Address::Scratch(self.plan.scratch[position][*i]),
            });
        }
        let kernel = self.pool.kernel(lowered.kernel, symbol);
        Ok(Call { kernel, arguments, integers: vec![], origin })
    }

    fn external(&mut self, group: &Group) -> Result<External, Unsupported> {
        let missing = || Unsupported::new("a custom operator without a function");
        let data = group.root.map(|root| &self.tensors.function.insts[root]).ok_or_else(missing)?;
        let external = schedule::external::External::of(data).ok_or_else(missing)?;
        let (scales, zero_points) = (self.module_constant(external.scales), self.module_constant(external.zero_points));
        let mut tensors = Vec::new();
        for (value, number) in data.operands.iter().chain(&data.results).zip(0u64..) {
            let ty = self.tensors.function.tensor(*value);
            let shape = ty.static_shape().ok_or_else(|| Unsupported::new("a custom operator on a tensor of dynamic shape"))?;
            let extents: Vec<u8> = shape.iter().flat_map(|extent| extent.to_le_bytes()).collect();
            tensors.push(ExternalTensor {
                address: self.tensors.address(self.plan, self.pool, *value),
                bytes: ty.static_bytes().unwrap_or(0),
                element: ty.element,
                rank: shape.len() as u32,
                shape: (!shape.is_empty()).then(|| self.pool.constant(&extents.into(), || "extents".into())),
                scale: Address::Constant(scales, 4 * number),
                zero_point: Address::Constant(zero_points, 4 * number),
            });
        }
        let outputs = tensors.split_off(data.operands.len());
        let has_options = !self.module.constants[external.options].data.bytes().is_empty();
        let options = has_options.then(|| self.module_constant(external.options));
        Ok(External { symbol: external.symbol.to_owned(), inputs: tensors, outputs, options, origin: self.origin(group) })
    }

    fn module_constant(&mut self, constant: ir::Constant) -> u32 {
        self.pool.constant(&self.module.constants[constant].data, || constant.to_string())
    }

    fn origin(&self, group: &Group) -> Origin {
        let function = self.tensors.function;
        let mut origin = Origin::default();
        for &inst in &group.insts {
            let Some(source) = function.insts[inst].source else { continue };
            let source = &self.module.sources[source];
            let operator = (source.operator, source.operator_name.clone());
            if !origin.operators.contains(&operator) {
                origin.operators.push(operator);
                origin.tensors.push(source.tensor.clone());
            }
        }
        let values = group.inputs(function).into_iter().chain(group.outputs.iter().copied());
        origin.bytes = values.filter_map(|v| function.bound_bytes(function.tensor(v))).sum();
        origin
    }
}

fn ports(function: &Function, values: &[Value], ports: &[ir::Port]) -> Result<Vec<Port>, Diagnostics> {
    let port = |(&value, port): (&Value, &ir::Port)| {
        let Type::Tensor(ty) = &function.values[value].ty else { return Err(bug("a port is no tensor")) };
        let high = |e: &ir::Extent| u64::try_from(function.interval(*e).high).unwrap_or(0);
        let bytes = function.bound_bytes(ty).ok_or_else(|| {
            Diagnostic::new(601, Kind::Unsupported, format!("tensor {:?} has no bound on its size", port.name))
                .help("give one with --bound in0.DIMENSION=N")
        })?;
        Ok(Port {
            name: port.name.clone(),
            element: ty.element,
            shape: ty.shape.iter().map(high).collect(),
            dynamic: ty.shape.iter().map(|e| e.as_static().is_none()).collect(),
            bytes,
            quantization: port.quantization.clone(),
            scalar: port.scalar,
        })
    };
    Ok(values.iter().zip(ports).map(port).collect::<Result<_, _>>()?)
}
