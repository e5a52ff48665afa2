//! What is wanted of the runtime.

use super::modules::Modules;
use super::runtime::Loader;
use crate::target::Platform;
use std::sync::Arc;

/// Where the library of Vulkan comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LoaderChoice {
    /// The system's loader of libraries, unless the application brings it.
    #[default]
    System,
    /// The application.
    Host,
}

/// Where the runtime's functions are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RuntimePlace {
    /// In the object.
    #[default]
    Embedded,
    /// In an object of their own, for several models.
    Linked,
}

/// How the part of a program that is for a GPU runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Whether a program that finds no device is to fail; else it runs on the CPU, and a device that is a CPU is none.
    pub required: bool,
    /// Where the library comes from.
    pub loader: LoaderChoice,
    /// Where the runtime is.
    pub runtime: RuntimePlace,
    /// Whether regions take times of what they do, which the runtime must be embedded for.
    pub measures: bool,
    /// The kernels of the device, where they are not to be compiled.
    pub modules: Option<Arc<Modules>>,
}

impl GpuOptions {
    /// How the library is found on a system; nothing where the application brings it.
    pub fn loader(&self, platform: Platform) -> Option<Loader> {
        match (self.loader, platform) {
            (LoaderChoice::Host, _) | (_, Platform::None) => None,
            (LoaderChoice::System, Platform::Linux) => Some(Loader::LINUX),
            (LoaderChoice::System, Platform::Windows) => Some(Loader::WINDOWS),
            (LoaderChoice::System, Platform::MacOs | Platform::Ios) => Some(Loader::APPLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_loaders_and_bare_targets_none() {
        let options = GpuOptions::default();
        assert_eq!(options.loader(Platform::Windows).map(|loader| loader.open), Some("LoadLibraryA"));
        assert_eq!(options.loader(Platform::None), None);
        let host = GpuOptions { loader: LoaderChoice::Host, ..options };
        assert_eq!(host.loader(Platform::Linux), None);
    }
}
