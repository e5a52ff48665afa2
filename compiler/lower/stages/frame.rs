//! The frame of a method's lowering: data that all stages read and no stage changes.

use crate::diagnostic::{Diagnostic, codes};
use crate::fuse::Group;
use crate::ir::{Function, Method, Module};
use crate::lower::memory::checked::PlanFault;
use crate::lower::memory::variables::Variables;
use crate::lower::options::Options;
use crate::lower::search::special::{Overwriting, Shortened};
use crate::machine::Machine;
use crate::parallel::Memo;
use crate::plan::{Order, Plan, PlanError, Request};
use crate::schedule::{Context, PackedWeights, Sharing, Unsupported};

/// Data that all stages read: see the module.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Frame<'a> {
    pub module: &'a Module,
    pub method: &'a Method,
    pub options: Options,
    /// The machines of the CPU levels, then the GPU if there is one.
    pub machines: &'a [&'static Machine],
    pub variables: &'a Variables,
    pub packed: &'a PackedWeights,
    pub plans: &'a Plans,
    pub orders: &'a Orders,
    /// The groups that stage their rows to overwrite their operand.
    pub overwriting: &'a Overwriting,
    /// The roots of the groups that compute a row in short sections.
    pub shortened: &'a Shortened,
}

/// Orders of steps that the planner found, by requests at the effort of a trial.
pub(in crate::lower) type Orders = Memo<Request, Result<Order, PlanError>>;

/// Plans with the order of their steps, or a message, by request.
pub(in crate::lower) type Plans = Memo<Request, Result<(Vec<usize>, Plan), PlanFault>>;

impl<'a> Frame<'a> {
    /// Returns the context for the schedule of a group.
    pub fn context(&self, function: &'a Function, group: &'a Group, machine: &'static Machine) -> Context<'a> {
        Context {
            module: self.module,
            function,
            group,
            machine,
            isa: self.options.machine.isa,
            levels: self.machines,
            packed: self.packed,
            goal: self.options.goal,
            sharing: Sharing::among(self.options.threads),
            stages: self.overwriting.holds(group),
            in_short_sections: self.shortens(group),
            techniques: self.options.techniques,
        }
    }

    /// Tests whether a machine is the GPU's.
    pub fn is_on_device(&self, machine: &'static Machine) -> bool {
        self.options.gpu.is_some_and(|gpu| std::ptr::eq(machine, &gpu.capabilities))
    }

    /// Tests whether a group computes a row in short sections.
    fn shortens(&self, group: &Group) -> bool {
        group.root().is_some_and(|root| self.shortened.contains(&root))
    }

    /// Tests whether a group has a special schedule that saves memory, so that its needs differ from the known ones.
    pub fn is_special(&self, group: &Group) -> bool {
        self.overwriting.holds(group) || self.shortens(group)
    }

    /// Makes the diagnostic for a group without a schedule.
    pub fn unsupported(&self, function: &Function, group: &Group, error: &Unsupported) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(error.code(), format!("{error} is not compiled yet"));
        let source = group.insts.iter().find_map(|&inst| function.insts[inst].source);
        if let Some(source) = source {
            let source = &self.module.sources[source];
            diagnostic =
                diagnostic.at_operator(source.operator, &source.operator_name).about_tensor(&source.tensor).in_function(&source.function);
        }
        diagnostic.in_function(&self.method.name)
    }
}

/// Makes the diagnostic of a bug in the compiler that a check has found.
pub(in crate::lower) fn bug(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::OWN_CHECK, message).help("please report this, with the model if you can share it")
}
