//! GPU parts of an object: the runtime's functions or their names, its tables, and the functions that the system must define.

use super::constants::ConstantLayout;
use super::driver::language::Callee;
use super::driver::{DriverOptions, Gpu, Import, ImportKind};
use super::function::{Below, Body, CompiledFunction};
use super::section::Section;
use super::vulkan::{DeviceFault, FORMAT, GpuOptions, Loader, Modules, Own, RUNTIME_NAME, Runtime, RuntimePlace, Wishes, tables};
use super::{BackEnd, Bug, CodegenError, Unsupported, spirv};
use modelc_interface::ABI;
use modelc_program::{Device, Program};

/// The lists of an object that GPU parts are added to.
pub struct Parts<'a> {
    pub functions: &'a mut Vec<CompiledFunction>,
    pub data: &'a mut Vec<Section>,
    pub imports: &'a mut Vec<Import>,
    pub below: &'a mut Below,
}

/// Returns the symbol of a runtime entry that is in another object. It contains the version of the tables.
fn runtime_symbol(entry: Own) -> String {
    format!("{RUNTIME_NAME}_{}_{ABI}_{FORMAT:08x}", entry.name())
}

impl Parts<'_> {
    /// Adds all parts that a device needs; returns the numbers that the driver needs.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] on machines of 32 bits. [`CodegenError::Bug`] if a part of the device is not where it must be.
    pub fn add<'d>(
        &mut self,
        device: &'d Device,
        (program, constants): (&Program, &ConstantLayout),
        options: &DriverOptions,
        (back_end, loader): (&dyn BackEnd, Option<Loader>),
    ) -> Result<Gpu<'d>, CodegenError> {
        if back_end.layout().pointer != 8 {
            return Err(Unsupported::Vulkan.into());
        }
        if device.residents.is_some() && !options.gpu.required {
            return Err(Bug::Device(DeviceFault::OptionalDevice).into());
        }
        let modules = modules(device, &options.gpu)?;
        let placed = |number: usize| Some((*constants.offsets.get(number)?, program.constants.get(number)?.data.len() as u64));
        let wishes = Wishes { takes_cpus: options.gpu.required, measures: options.gpu.measures };
        let tables = tables::tables(device, &modules, &placed, wishes)?;
        let entries = match options.gpu.runtime {
            RuntimePlace::Embedded => self.runtime(back_end, loader, options.gpu.measures)?,
            RuntimePlace::Linked => {
                self.stack_of_another(back_end)?;
                Own::ENTRIES.map(|entry| {
                    self.imports.push(Import { symbol: runtime_symbol(entry), kind: ImportKind::Runtime, signature: entry.signature() });
                    (entry, Callee::Import(self.imports.len() as u32 - 1))
                })
            }
        };
        self.data.push(Section::of_bytes("device", tables::ALIGNMENT, tables.bytes));
        let module_bytes = modules.words.iter().map(|words| 4 * words.len() as u64).collect();
        Ok(Gpu { device, required: options.gpu.required, module_bytes, table: self.data.len() as u32 - 1, rows: tables.regions, entries })
    }

    /// Counts the stack of a runtime in another object. This runtime is compiled here for its stack sizes, and dropped.
    fn stack_of_another(&mut self, back_end: &dyn BackEnd) -> Result<(), CodegenError> {
        let (mut functions, mut data, mut imports) = (vec![], vec![], vec![]);
        let mut other = Parts { functions: &mut functions, data: &mut data, imports: &mut imports, below: self.below };
        other.runtime(back_end, Some(Loader::LINUX), false).map(|_| ())
    }

    /// Adds the runtime; returns the functions that models call.
    fn runtime(&mut self, back_end: &dyn BackEnd, loader: Option<Loader>, measures: bool) -> Result<[(Own, Callee); 4], CodegenError> {
        let runtime = self.place(back_end, loader, measures)?;
        Ok(Own::ENTRIES.map(|entry| (entry, runtime.callee(entry))))
    }

    /// Adds the functions and data of the runtime.
    ///
    /// # Errors
    /// [`CodegenError::Driver`] if a function breaks a rule of its language.
    pub fn place(&mut self, back_end: &dyn BackEnd, loader: Option<Loader>, measures: bool) -> Result<Runtime, CodegenError> {
        let loader = loader.map(|loader| {
            let functions = [(loader.open, loader.open_signature()), (loader.find, loader.find_signature())];
            let numbers = functions.map(|(symbol, signature)| {
                self.imports.push(Import { symbol: symbol.into(), kind: ImportKind::System, signature });
                self.imports.len() as u32 - 1
            });
            (loader, numbers)
        });
        let first = self.functions.len() as u32;
        let runtime = Runtime { layout: back_end.layout(), first, data: self.data.len() as u32, loader, measures };
        self.data.push(Section::of_bytes("vulkan", tables::ALIGNMENT, runtime.data()));
        for (own, function) in runtime.functions() {
            let body = Body { code: back_end.driver(&function)?, written: Some(function) };
            self.functions.push(body.into_function(own.name().into(), false, None));
        }
        let functions = &self.functions[first as usize..];
        let stack = |own: Own| own.stack_bytes(&|own| functions[own as usize].code.stack_bytes.into());
        self.below.init = [Own::Open, Own::Run, Own::Close, Own::Report].map(stack).into_iter().max().unwrap_or(0);
        self.below.steps = stack(Own::Run);
        Ok(runtime)
    }
}

/// Compiles the kernels of a device to SPIR-V.
fn modules(device: &Device, options: &GpuOptions) -> Result<Modules, CodegenError> {
    if let Some(modules) = &options.modules {
        return Ok(Modules::clone(modules));
    }
    let compiled = modelc_parallel::map(&device.kernels, |kernel| spirv::module(kernel, &device.machine.limits));
    let words = compiled.into_iter().collect::<Result<_, _>>()?;
    let groups = device.kernels.iter().map(|known| known.kernel.grid.as_ref().map_or([1; 3], spirv::groups)).collect();
    Ok(Modules { words, groups })
}
