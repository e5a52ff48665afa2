//! Options of the GPU runtime.

use super::modules::Modules;
use super::runtime::Loader;
use modelc_target::Platform;
use std::sync::Arc;

/// The source of the Vulkan library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LoaderChoice {
    /// The system's loader of libraries, unless the application provides `vkGetInstanceProcAddr`.
    #[default]
    System,
    /// The application only.
    Host,
}

/// The place of the runtime's functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RuntimePlace {
    /// The object of the model.
    #[default]
    Embedded,
    /// A separate object, for several models.
    Linked,
}

/// Options of a program's GPU part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// `true` if the program must fail without a device. It then also accepts a CPU as a device. Otherwise it runs on the CPU if there is no GPU.
    pub required: bool,
    /// Source of the library.
    pub loader: LoaderChoice,
    /// Place of the runtime.
    pub runtime: RuntimePlace,
    /// `true` if regions take timestamps; this needs an embedded runtime.
    pub measures: bool,
    /// Compiled kernels of the device; `None` if they must be compiled.
    pub modules: Option<Arc<Modules>>,
}

impl GpuOptions {
    /// Returns the functions that load the library on a system. `None` if the application provides the library.
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
