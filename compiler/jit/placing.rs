//! Code and data of a compiled program, placed in this process.

use super::custom::CustomOperator;
use super::failure::failed;
use super::{imports, memory};
use crate::codegen::clif::{Optimise, code, isa_for};
use crate::codegen::compile::CompiledModel;
use crate::codegen::{Code, RelocationTarget};
use crate::diagnostic::Diagnostic;
use crate::machine::CpuMachine;
use crate::program::Program;
use crate::target::Target;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{DataDescription, FuncId, Linkage, Module, ModuleError, ModuleReloc, ModuleRelocTarget};

/// Returns the size of one address range for code and data, so that relative distances suffice. Only used pages take memory.
fn reserved_bytes(compiled: &CompiledModel) -> usize {
    const PAGE: usize = 1 << 16;
    let code: usize = compiled.functions.iter().map(|f| f.code.bytes.len() + 32 * f.code.relocations.len() + 2 * PAGE).sum();
    let data: u64 = compiled.data.iter().map(|section| section.bytes(&compiled.constants)).sum();
    code + data as usize + (16 + compiled.data.len() + compiled.imports.len()) * PAGE
}

/// Places a compiled program in memory, and returns its functions.
pub(super) fn placed(
    program: &Program,
    host: &Target,
    machine: &CpuMachine,
    customs: &[(String, CustomOperator)],
    compiled: &CompiledModel,
) -> Result<(JITModule, Vec<FuncId>), Diagnostic> {
    let isa = isa_for(&host.triple(), machine, Optimise::Driver).map_err(|error| failed(&error))?;
    let forwards = imports::forwards(program, compiled, customs, &*isa)?;
    let mut builder = JITBuilder::with_isa(isa, Box::new(|call| format!("{call:?}")));
    let provider = ArenaMemoryProvider::new_with_size(reserved_bytes(compiled)).map_err(memory::no_memory)?;
    builder.memory_provider(Box::new(provider));
    let mut module = JITModule::new(builder);
    let functions = place(&mut module, program, compiled, &forwards).map_err(|error| failed(&error))?;
    Ok((module, functions))
}

fn place(module: &mut JITModule, program: &Program, compiled: &CompiledModel, forwards: &[Code]) -> Result<Vec<FuncId>, Box<ModuleError>> {
    // Only addresses of entry functions are used, so one signature is enough.
    let signature = module.make_signature();
    let mut functions = Vec::with_capacity(compiled.functions.len());
    for number in 0..compiled.functions.len() {
        functions.push(module.declare_function(&format!("f{number}"), Linkage::Local, &signature)?);
    }
    let mut forwarded = Vec::with_capacity(forwards.len());
    for (number, code) in forwards.iter().enumerate() {
        let id = module.declare_function(&format!("external{number}"), Linkage::Local, &signature)?;
        module.define_function_bytes(id, code.alignment, &code.bytes, &[])?;
        forwarded.push(id);
    }
    let mut sections = Vec::with_capacity(compiled.data.len());
    for section in &compiled.data {
        let id = module.declare_data(&section.name, Linkage::Local, false, false)?;
        let mut data = DataDescription::new();
        data.define(section.to_vec(&compiled.constants, program).into_boxed_slice());
        data.set_align(section.alignment);
        module.define_data(id, &data)?;
        sections.push(id);
    }
    for (function, &id) in compiled.functions.iter().zip(&functions) {
        let target = |target| match target {
            RelocationTarget::Function(number) => ModuleRelocTarget::from(functions[number as usize]),
            RelocationTarget::External(number) => ModuleRelocTarget::from(forwarded[number as usize]),
            RelocationTarget::Support(what) => unreachable!("{what:?} has a number in a compiled model"),
            RelocationTarget::Data(number) => ModuleRelocTarget::from(sections[number as usize]),
            RelocationTarget::Here(offset) => ModuleRelocTarget::FunctionOffset(id, offset),
        };
        let relocations: Vec<_> = (function.code.relocations.iter())
            .map(|r| ModuleReloc { offset: r.offset, kind: code::reloc(r.kind), name: target(r.target), addend: r.addend })
            .collect();
        module.define_function_bytes(id, function.code.alignment, &function.code.bytes, &relocations)?;
    }
    module.finalize_definitions()?;
    Ok(functions)
}
