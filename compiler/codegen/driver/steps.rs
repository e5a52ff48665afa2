//! The steps of a method: kernel calls (whole, over slices, or divided among tasks), custom operators, branches and loops.

use super::addresses::{Addresses, NearConstants};
use super::context::LevelKernels;
use super::hooks::{self, AFTER, BEFORE, Hooks, measured_as};
use super::language::{BinaryOp, Builder, Callee, CompareOp, Operand, Region, Signature, Value, Width};
use super::rows::MethodRows;
use super::tasks::{self, InTasks};
use super::{external, gpu};
use modelc_interface::{E_ABORTED, RECORD, Record};
use modelc_program::{Address, Blocks, Call, Parallel, Step, Tasks, calls};

/// The writer of a method's steps.
pub struct Body<'a> {
    pub(super) addresses: Addresses<'a>,
    pub(super) level: &'a LevelKernels<'a>,
    /// The values of `on_kernel` and `user`.
    pub(super) hooks: Option<Hooks>,
    /// Number of the next kernel call.
    pub(super) call: u32,
    /// Numbers of the functions for the next steps that tasks divide.
    pub(super) tasks: std::slice::Iter<'a, u32>,
    /// Address of the data that tasks share.
    pub(super) shared: Option<Value>,
    /// Address of the crossing records of regions.
    pub(super) crossings: Option<Value>,
    /// `true` if a region of the device may have run earlier in this method.
    pub(super) follows_region: bool,
    /// Constants whose addresses are known in this region.
    pub(super) constants: NearConstants,
    /// Rows of the method. `None` if each call has code.
    pub(super) rows: Option<MethodRows>,
}

impl Body<'_> {
    /// Writes steps in their order.
    pub fn steps(&mut self, e: &mut Builder, mut steps: &[Step]) {
        // Values of a region are not visible in others.
        self.constants = NearConstants::default();
        while let Some((step, others)) = steps.split_first() {
            let rows = self.rows(e, steps);
            steps = if rows > 0 { &steps[rows..] } else { others };
            if rows == 0 {
                self.step(e, step);
            }
        }
        self.constants = NearConstants::default();
    }

    /// Writes the calls at the beginning of steps as rows. Returns their number.
    fn rows(&mut self, e: &mut Builder, steps: &[Step]) -> usize {
        let count = self.rows.as_mut().map_or(0, |rows| rows.write(e, (self.addresses.context, self.level), steps));
        self.call += count as u32;
        count
    }

    fn step(&mut self, e: &mut Builder, step: &Step) {
        match step {
            Step::Call(call) => self.call(e, call),
            Step::External(external) => external::call(&self.addresses, e, external),
            Step::If { condition, then, otherwise } => {
                let condition = self.truth(e, *condition);
                let [then, otherwise] = [then, otherwise].map(|steps| self.region(e, steps));
                e.branch(condition, &[], then, otherwise);
            }
            Step::While { head, condition, body } => self.repeat(e, head, *condition, body),
            // A hook is called for each kernel call.
            Step::Parallel(run) if self.hooks.is_some() => self.steps(e, &run.calls),
            Step::Parallel(run) => self.parallel(e, run),
            Step::Region { region, otherwise } => self.device_region(e, *region, otherwise),
        }
    }

    /// Writes a region of the device, and the equivalent steps for the CPU.
    fn device_region(&mut self, e: &mut Builder, number: usize, otherwise: &[Step]) {
        let context = self.addresses.context;
        let (Some(gpu), Some(room)) = (&context.gpu, self.crossings) else {
            return self.steps(e, otherwise);
        };
        let is_first = !std::mem::replace(&mut self.follows_region, true);
        let notify = |e: &mut Builder, phase| {
            if context.options.gpu.measures {
                hooks::notify(e, self.hooks, measured_as(context.program, number), phase);
            }
        };
        match gpu::region(&self.addresses, e, gpu, number, (room, &notify), is_first) {
            Some(is_left) => e.when(is_left, |e| self.steps(e, otherwise)),
            None => self.skip(otherwise),
        }
    }

    /// Advances the counters past steps that never run.
    fn skip(&mut self, steps: &[Step]) {
        self.call += calls(steps).len() as u32;
        tasks::in_tasks(steps, self.hooks.is_some()).iter().for_each(|_| {
            self.tasks.next();
        });
    }

    /// Writes calls that tasks divide.
    fn parallel(&mut self, e: &mut Builder, run: &Parallel) {
        self.call += run.calls.len() as u32;
        let task = *self.tasks.next().expect("calls that tasks divide have a function for their tasks");
        let Some(shared) = self.shared else { return };
        let calls: Vec<(&Call, Vec<Value>)> = calls(&run.calls).into_iter().map(|call| (call, self.arguments(e, call))).collect();
        let status = match run.tasks {
            Tasks::Ranges { .. } => self.ranges(e, run, &calls, (task, shared)),
            Tasks::Lists { .. } => self.lists(e, run, &calls, (task, shared)),
        };
        e.leave_with(status);
    }

    /// Writes ranges of calls. Without a `parallel_for`, each call runs whole. Returns the status.
    fn ranges(&self, e: &mut Builder, run: &Parallel, calls: &[(&Call, Vec<Value>)], task: (u32, Value)) -> Value {
        let pointers: Vec<&[Value]> = calls.iter().map(|(_, pointers)| &pointers[..]).collect();
        let alone = |e: &mut Builder| {
            for (call, pointers) in calls {
                let status = self.kernel(e, call, pointers);
                e.leave_with(status);
            }
            Operand::Number(0)
        };
        self.call_in_tasks(e, InTasks::Parallel(run), &pointers, task, alone)
    }

    /// Writes lists of calls. Without a `parallel_for`, they run one after the other. Returns the status.
    fn lists(&self, e: &mut Builder, run: &Parallel, calls: &[(&Call, Vec<Value>)], (task, shared): (u32, Value)) -> Value {
        let pointers: Vec<&[Value]> = calls.iter().map(|(_, pointers)| &pointers[..]).collect();
        e.store(Width::Single, 0, shared, tasks::shared::STATUS);
        self.leave_to_tasks(e, InTasks::Parallel(run), &pointers, shared);
        let count = run.most();
        let parallel_for = e.member(&RECORD, self.addresses.state, Record::ParallelFor);
        let side_by_side = e.region(|e| {
            self.in_parallel(e, parallel_for, u64::from(count).into(), (task, shared));
            vec![]
        });
        let one_by_one = e.region(|e| {
            for number in 0..count {
                let arguments = vec![shared.into(), u64::from(number).into()];
                e.call_only(Callee::Function(task), tasks::task_signature(), arguments);
            }
            vec![]
        });
        e.branch(parallel_for, &[], side_by_side, one_by_one);
        e.load(Width::Single, shared, tasks::shared::STATUS)
    }

    fn arguments(&mut self, e: &mut Builder, call: &Call) -> Vec<Value> {
        self.constants.next();
        call.arguments.iter().map(|&address| self.addresses.near(e, address, &mut self.constants)).collect()
    }

    fn region(&mut self, e: &mut Builder, steps: &[Step]) -> Region {
        e.region(|e| {
            self.steps(e, steps);
            vec![]
        })
    }

    fn repeat(&mut self, e: &mut Builder, head: &[Step], condition: Address, body: &[Step]) {
        // In all rounds but the first, the device may have run a region before.
        self.follows_region = true;
        let rounds = self.addresses.context.program.max_iterations.map(|limit| (limit, e.value(Width::Word)));
        let head = e.region(|e| {
            self.steps(e, head);
            vec![self.truth(e, condition).into()]
        });
        let body = e.region(|e| {
            let next = rounds.map(|(limit, rounds)| {
                let enough = e.compare(CompareOp::Equal, rounds, limit);
                e.leave_if(enough, E_ABORTED);
                e.add(rounds, 1).into()
            });
            self.steps(e, body);
            next.into_iter().collect()
        });
        let carried: Vec<(Value, Operand)> = rounds.iter().map(|&(_, rounds)| (rounds, Operand::Number(0))).collect();
        e.repeat(&carried, head, body);
    }

    fn truth(&self, e: &mut Builder, address: Address) -> Value {
        let address = self.addresses.address(e, address);
        e.load(Width::Byte, address, 0)
    }

    fn call(&mut self, e: &mut Builder, call: &Call) {
        let number = self.call;
        self.call += 1;
        hooks::notify(e, self.hooks, number, BEFORE);
        let arguments = self.arguments(e, call);
        let task = call.division.divided().map(|_| *self.tasks.next().expect("each call that may be cut has a function for its tasks"));
        match call.division.blocks() {
            None => self.once(e, (call, task), &arguments),
            Some(blocks) => self.blocks(e, (call, task), blocks, &arguments),
        }
        hooks::notify(e, self.hooks, number, AFTER);
    }

    /// Writes a kernel call, or a call that tasks divide, by the function numbered `task`.
    fn once(&self, e: &mut Builder, (call, task): (&Call, Option<u32>), arguments: &[Value]) {
        let status = match task.zip(self.shared) {
            Some((task, shared)) => {
                let alone = |e: &mut Builder| self.kernel(e, call, arguments).into();
                self.call_in_tasks(e, InTasks::Call(call), &[arguments], (task, shared), alone)
            }
            None => self.kernel(e, call, arguments),
        };
        e.leave_with(status);
    }

    /// Calls a kernel; returns its status.
    fn kernel(&self, e: &mut Builder, call: &Call, arguments: &[Value]) -> Value {
        let pointers = arguments.iter().copied().map(Operand::Value);
        let arguments: Vec<Operand> =
            pointers.chain(call.division.integers().into_iter().map(|integer| Operand::Number(integer.cast_unsigned()))).collect();
        let callee = Callee::Kernel(self.level.first + call.kernel as u32, self.level.convention);
        e.call(callee, Signature::status(arguments.len()), arguments)
    }

    /// Writes a loop that calls a kernel for one block of slices after the other, as long as whole blocks remain.
    fn blocks(&self, e: &mut Builder, call: (&Call, Option<u32>), blocks: &Blocks, arguments: &[Value]) {
        let mut count = Operand::Number(1);
        for &(extent, _) in &blocks.extents {
            let cell = self.addresses.address(e, extent);
            let extent = e.load(Width::Cell, cell, 0);
            count = e.mul(count, extent).into();
        }
        let first = match blocks.after {
            Some(size) => {
                let whole = e.binary(BinaryOp::Div, count, size);
                e.mul(whole, size).into()
            }
            None => Operand::Number(0),
        };
        let rest = e.binary(BinaryOp::Sub, count, first);
        let count = e.binary(BinaryOp::Div, rest, blocks.block);
        e.each(count, 1, |e, block| {
            let slice = e.mul(block, blocks.block);
            let slice = e.add(slice, first);
            let at = |(&argument, &stride): (&Value, &u64)| {
                if stride == 0 {
                    return argument;
                }
                let offset = e.mul(slice, stride);
                e.add(argument, offset)
            };
            let arguments: Vec<Value> = arguments.iter().zip(&blocks.strides).map(at).collect();
            self.once(e, call, &arguments);
        });
    }

    /// Divides work among tasks if the configuration has a `parallel_for`, else `alone`; returns the status. `pointers` are the arguments of each call.
    fn call_in_tasks(
        &self,
        e: &mut Builder,
        work: InTasks<'_>,
        pointers: &[&[Value]],
        (task, shared): (u32, Value),
        alone: impl FnOnce(&mut Builder) -> Operand,
    ) -> Value {
        let parallel_for = e.member(&RECORD, self.addresses.state, Record::ParallelFor);
        let together = e.region(|e| {
            let threads = e.member(&RECORD, self.addresses.state, Record::Threads);
            let told = e.compare(CompareOp::NotEqual, threads, 0);
            let threads = e.select(told, threads, tasks::USUAL_THREADS);
            let most = u64::from(work.most());
            let fewer = e.compare(CompareOp::Less, threads, most);
            let count = e.select(fewer, threads, most);
            e.store(Width::Single, 0, shared, tasks::shared::STATUS);
            e.store(Width::Single, count, shared, tasks::shared::TASKS);
            self.leave_to_tasks(e, work, pointers, shared);
            self.in_parallel(e, parallel_for, count.into(), (task, shared));
            vec![e.load(Width::Single, shared, tasks::shared::STATUS).into()]
        });
        let alone = e.region(|e| vec![alone(e)]);
        e.branch(parallel_for, &[Width::Single], together, alone)[0]
    }

    /// Stores all addresses that the tasks share.
    fn leave_to_tasks(&self, e: &mut Builder, work: InTasks<'_>, pointers: &[&[Value]], shared: Value) {
        let mut number = 0;
        for (call, pointers) in work.calls().into_iter().zip(pointers) {
            let second: Vec<Value> = tasks::private(call).iter().map(|private| self.addresses.address(e, private.second)).collect();
            for &pointer in pointers.iter().chain(&second) {
                e.store(Width::Word, pointer, shared, tasks::argument(number, e.layout));
                number += 1;
            }
        }
    }

    /// Calls `parallel_for` for `count` tasks.
    fn in_parallel(&self, e: &mut Builder, parallel_for: Value, count: Operand, (task, shared): (u32, Value)) {
        let user = e.member(&RECORD, self.addresses.state, Record::User);
        let task = e.function_address(task);
        let arguments = vec![user.into(), count, task.into(), shared.into()];
        e.call_only(Callee::Pointer(parallel_for.into()), tasks::parallel_for_signature(), arguments);
    }
}
