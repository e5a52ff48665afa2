//! All functions of the runtime.

use super::runtime::{Own, Runtime};
use super::{choose, close, memory, open, pipelines, record, report, run};
use crate::driver::language::Function;

impl Runtime {
    /// Writes all functions, in the order of their numbers.
    pub fn functions(&self) -> Vec<(Own, Function)> {
        Own::all().map(|own| (own, self.function(own))).collect()
    }

    fn function(&self, own: Own) -> Function {
        match own {
            Own::Copy => memory::copy(self),
            Own::Suits => choose::suits(self),
            Own::Buffer => memory::buffer(self),
            Own::Submit => run::submit(self),
            Own::Device => open::device(self),
            Own::Pipelines => pipelines::pipelines(self),
            Own::Upload => memory::upload(self),
            Own::Record => record::record(self),
            Own::Open => open::open(self),
            Own::Run => run::run(self),
            Own::Close => close::close(self),
            Own::Report => report::report(self),
        }
    }
}
