//! Compilation of a function in Cranelift's language to [`Code`]. Cranelift's names and relocations become ours.

use crate::{Code, Relocation, RelocationKind, RelocationTarget};
use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::function::FunctionStencil;
use cranelift_codegen::ir::{self, ExternalName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Context, FinalizedMachReloc, FinalizedRelocTarget};
use std::sync::{Arc, Mutex, PoisonError};

/// Namespace of functions in Cranelift's names; the index is the number of the function.
pub const FUNCTIONS: u32 = 0;
/// Namespace of data in Cranelift's names; the index is the number of the data section.
pub const DATA: u32 = 1;
/// Namespace of imported functions in Cranelift's names; the index is the number of the import.
pub const EXTERNALS: u32 = 2;
/// Bytes of the return address and the saved frame pointer, which Cranelift's frame size omits. All instruction sets here save at most two words.
const FRAME_HEAD: u32 = 16;

/// The reason why a function has no self-contained code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// A function that Cranelift refuses, in its own words.
    #[error("{0}")]
    Refused(String),
    /// A compilation without a result.
    #[error("no code came out")]
    Nothing,
    /// A relocation that objects do not have.
    #[error("the code has a relocation {0:?}")]
    Relocation(Reloc),
    /// A name outside of the three namespaces.
    #[error("an external name of namespace {0}")]
    Namespace(u32),
    /// A reference of a kernel, which must have none.
    #[error("the code refers to {0:?}")]
    Refers(RelocationTarget),
    /// A call of a run-time library. It would be an undefined symbol in an object.
    #[error("the code wants {0:?} from a run-time library")]
    Library(ExternalName),
}

/// Compiles a function.
///
/// # Errors
/// [`CodeError::Refused`] if Cranelift cannot compile the function. Other errors if the code needs a run-time library, or an absolute address.
pub fn compile(function: ir::Function, isa: &dyn TargetIsa) -> Result<Code, CodeError> {
    let mut context = Context::for_function(function);
    let unnamed = Unnamed::compile(&mut context, isa)?;
    unnamed.named(&context.func)
}

/// Functions that are already compiled for one machine. A function that differs only in the symbols that it refers to has the same code. The levels
/// of an object mostly call their kernels in the same way.
#[derive(Default)]
pub struct Known(Mutex<Vec<(FunctionStencil, Arc<Unnamed>)>>);

impl Known {
    /// Counts the functions.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Compiles a function as [`compile`] does, unless its code is already known.
    ///
    /// # Errors
    /// The errors of [`compile`].
    pub fn compile(&self, function: ir::Function, isa: &dyn TargetIsa) -> Result<Code, CodeError> {
        let find = |list: &[(FunctionStencil, Arc<Unnamed>)]| {
            list.iter().find(|(stencil, _)| *stencil == function.stencil).map(|(_, unnamed)| unnamed.clone())
        };
        if let Some(unnamed) = find(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return unnamed.named(&function);
        }
        let stencil = function.stencil.clone();
        let mut context = Context::for_function(function);
        let unnamed = Arc::new(Unnamed::compile(&mut context, isa)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((stencil, unnamed.clone()));
        unnamed.named(&context.func)
    }
}

/// Code in which references are numbers within the function.
struct Unnamed {
    bytes: Vec<u8>,
    alignment: u64,
    relocations: Vec<FinalizedMachReloc>,
    stack_bytes: u32,
}

impl Unnamed {
    fn compile(context: &mut Context, isa: &dyn TargetIsa) -> Result<Self, CodeError> {
        context.compile(isa, &mut ControlPlane::default()).map_err(|error| CodeError::Refused(error.inner.to_string()))?;
        let compiled = context.take_compiled_code().ok_or(CodeError::Nothing)?;
        let buffer = &compiled.buffer;
        let frame = buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
        Ok(Self {
            bytes: buffer.data().to_vec(),
            alignment: u64::from(buffer.alignment).max(isa.symbol_alignment()),
            relocations: buffer.relocs().to_vec(),
            stack_bytes: frame + FRAME_HEAD,
        })
    }

    /// Makes the code of a function, with the function's own references.
    fn named(&self, function: &ir::Function) -> Result<Code, CodeError> {
        let relocation = |reloc: &FinalizedMachReloc| {
            let target = match &reloc.target {
                FinalizedRelocTarget::ExternalName(name) => external(name, function)?,
                FinalizedRelocTarget::Func(offset) => RelocationTarget::Here(*offset),
            };
            let kind = relocation_kind(reloc.kind).ok_or(CodeError::Relocation(reloc.kind))?;
            Ok(Relocation { offset: reloc.offset, kind, target, addend: reloc.addend })
        };
        Ok(Code {
            bytes: self.bytes.clone(),
            alignment: self.alignment,
            relocations: self.relocations.iter().map(relocation).collect::<Result<_, CodeError>>()?,
            stack_bytes: self.stack_bytes,
        })
    }
}

fn external(name: &ExternalName, function: &ir::Function) -> Result<RelocationTarget, CodeError> {
    match name {
        ExternalName::User(reference) => {
            let name = &function.params.user_named_funcs()[*reference];
            match name.namespace {
                FUNCTIONS => Ok(RelocationTarget::Function(name.index)),
                DATA => Ok(RelocationTarget::Data(name.index)),
                EXTERNALS => Ok(RelocationTarget::External(name.index)),
                other => Err(CodeError::Namespace(other)),
            }
        }
        other => Err(CodeError::Library(other.clone())),
    }
}

/// Relocations of code without a global offset table: Cranelift's names and ours.
const KINDS: &[(Reloc, RelocationKind)] = &[
    (Reloc::X86PCRel4, RelocationKind::X86Relative),
    (Reloc::X86CallPCRel4, RelocationKind::X86Call),
    (Reloc::Arm64Call, RelocationKind::Aarch64Call),
    (Reloc::Aarch64AdrPrelPgHi21, RelocationKind::Aarch64Page),
    (Reloc::Aarch64AddAbsLo12Nc, RelocationKind::Aarch64PageOffset),
    (Reloc::RiscvCallPlt, RelocationKind::RiscvCall),
    (Reloc::RiscvPCRelHi20, RelocationKind::RiscvHigh),
    (Reloc::RiscvPCRelLo12I, RelocationKind::RiscvLow),
];

/// Returns our name of a relocation; `None` if code here never has it.
fn relocation_kind(reloc: Reloc) -> Option<RelocationKind> {
    KINDS.iter().find(|(theirs, _)| *theirs == reloc).map(|(_, ours)| *ours)
}

/// Returns Cranelift's name of a relocation, for its JIT.
///
/// # Panics
/// Never panics: a test checks that each kind has a row.
pub fn reloc(kind: RelocationKind) -> Reloc {
    KINDS.iter().find(|(_, ours)| *ours == kind).expect("each kind has a row").0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_name_in_cranelift() {
        use RelocationKind::*;
        for kind in [X86Relative, X86Call, Aarch64Call, Aarch64Page, Aarch64PageOffset, RiscvCall, RiscvHigh, RiscvLow] {
            assert_eq!(relocation_kind(reloc(kind)), Some(kind));
        }
        assert_eq!(relocation_kind(Reloc::X86GOTPCRel4), None);
    }
}
