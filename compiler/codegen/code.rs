//! Machine code of one function, before it has an address.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, ExternalName};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{Context, FinalizedRelocTarget};

/// The namespace of functions in names inside Cranelift's functions; the index is the function's number.
pub const FUNCTIONS: u32 = 0;
/// The namespace of data in names inside Cranelift's functions; the index is the data's number.
pub const DATA: u32 = 1;
/// The namespace of functions of the application; the index is the function's number among them.
pub const EXTERNALS: u32 = 2;
/// Return address and saved frame pointer, above what a frame layout counts; every instruction set here saves at most two words.
const FRAME_HEAD: u32 = 16;

/// Machine code of one function.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instructions, and constants behind them.
    pub bytes: Vec<u8>,
    /// Alignment of the first byte.
    pub alignment: u64,
    /// Places to fill in when addresses are known.
    pub relocations: Vec<Relocation>,
    /// Bytes of stack the function takes itself, its return address and outgoing arguments included, without what it calls.
    pub stack_bytes: u32,
}

/// A place in code that depends on an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Where, from the function's first byte.
    pub offset: u32,
    /// How the address is written.
    pub kind: Reloc,
    /// The address.
    pub target: RelocationTarget,
    /// What is added to the address.
    pub addend: i64,
}

/// What a relocation points to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationTarget {
    /// The function of that number.
    Function(u32),
    /// The data of that number.
    Data(u32),
    /// An offset in the function itself.
    Here(u32),
    /// The function of the application of that number.
    External(u32),
}

impl Code {
    /// Compiles one function.
    ///
    /// # Errors
    /// With Cranelift's sentence when it cannot compile the function, or when the code would need a run-time library.
    pub fn compile(function: ir::Function, isa: &dyn TargetIsa) -> Result<Self, String> {
        let mut context = Context::for_function(function);
        context.compile(isa, &mut ControlPlane::default()).map_err(|error| error.inner.to_string())?;
        let compiled = context.take_compiled_code().ok_or("no code came out")?;
        let buffer = &compiled.buffer;
        let frame = buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
        let relocations = buffer
            .relocs()
            .iter()
            .map(|reloc| {
                let target = match &reloc.target {
                    FinalizedRelocTarget::ExternalName(name) => external(name, &context.func)?,
                    FinalizedRelocTarget::Func(offset) => RelocationTarget::Here(*offset),
                };
                Ok(Relocation { offset: reloc.offset, kind: reloc.kind, target, addend: reloc.addend })
            })
            .collect::<Result<_, String>>()?;
        Ok(Self {
            bytes: buffer.data().to_vec(),
            alignment: u64::from(buffer.alignment).max(isa.symbol_alignment()),
            relocations,
            stack_bytes: frame + FRAME_HEAD,
        })
    }
}

fn external(name: &ExternalName, function: &ir::Function) -> Result<RelocationTarget, String> {
    match name {
        ExternalName::User(reference) => {
            let name = &function.params.user_named_funcs()[*reference];
            match name.namespace {
                FUNCTIONS => Ok(RelocationTarget::Function(name.index)),
                DATA => Ok(RelocationTarget::Data(name.index)),
                EXTERNALS => Ok(RelocationTarget::External(name.index)),
                other => Err(format!("an external name of namespace {other}")),
            }
        }
        // Objects are self-contained: a call into libc or libm would be an undefined symbol.
        other => Err(format!("the code wants {other:?} from a run-time library")),
    }
}
