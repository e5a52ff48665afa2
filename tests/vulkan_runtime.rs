//! The runtime that runs regions on a Vulkan device: Mesa's software device with the validation layer, a device of the application, and
//! libraries that fail.

mod support;
mod vulkan;

use std::process::ExitCode;
use support::harness;
use vulkan::{barriers, linked, loaded, pretended, software};

fn main() -> ExitCode {
    if let Some(child) = std::env::var_os(software::CHILD) {
        let mut children = software::CHILDREN.iter().chain(&loaded::CHILDREN).chain(&barriers::CHILDREN);
        let (_, run) = children.find(|(name, _)| child == *name).expect("there is a child of this name");
        run();
        return ExitCode::SUCCESS;
    }
    harness::run(&[software::TESTS, barriers::TESTS, pretended::TESTS, loaded::TESTS, linked::TESTS].concat())
}
