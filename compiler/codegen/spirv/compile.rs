//! Compilation of a kernel to a module.

use super::lower::Lowering;
use crate::CodegenError;
use crate::bug::Mistake;
use crate::unsupported::{Excess, Lack};
use modelc_kernel::passes::DEAD;
use modelc_kernel::verify::verify;
use modelc_machine::Gpu;
use modelc_program::DeviceKernel;
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::{Capability, Op};

/// Compiles a kernel with a grid to SPIR-V words, for devices with the limits of `gpu`.
///
/// # Errors
/// [`CodegenError::Kernel`] if the kernel breaks a rule of its language. [`CodegenError::Bug`] if it has no grid.
/// [`CodegenError::Unsupported`] if it needs more than the limits allow, or features that GPUs lack: numbers of 64 bits, products rounded towards zero.
pub fn module(kernel: &DeviceKernel, gpu: &Gpu) -> Result<Vec<u32>, CodegenError> {
    Ok(lowered(kernel, gpu)?.assemble())
}

/// Compiles a kernel to a module that is not yet assembled to words.
///
/// # Errors
/// The errors of [`module`].
pub fn lowered(DeviceKernel { kernel, bindings, shares }: &DeviceKernel, gpu: &Gpu) -> Result<dr::Module, CodegenError> {
    verify(kernel)?;
    let kernel = &DEAD.of(kernel);
    let grid = kernel.grid.ok_or_else(|| CodegenError::lowering(kernel, Mistake::NoGrid))?;
    let mut lowering = Lowering::new(kernel, gpu);
    if grid.workgroup > gpu.invocations {
        return Err(lowering.excess(Excess::Workgroup { positions: grid.workgroup, most: gpu.invocations }));
    }
    if let Some(wide) = kernel.body.params.iter().map(|&position| kernel.ty(position)).find(|ty| ty.lane.bytes() != 4) {
        return Err(lowering.lack(Lack::Position(wide)));
    }
    lowering.out.capability(Capability::Shader);
    let inputs = lowering.begin(grid);
    lowering.place_buffers(bindings, shares)?;
    lowering.region(&kernel.body)?;
    lowering.out.effect(Op::Return, vec![]);
    Ok(lowering.out.finish(&inputs, grid.workgroup))
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelc_kernel::text::parse_kernel;
    use modelc_machine::GPUS;

    /// Returns the error of a kernel for devices of the first profile.
    fn refused(text: &str) -> String {
        let gpu = &GPUS[0].limits;
        let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        module(&DeviceKernel::alone(kernel), gpu).map_or_else(|error| error.to_string(), |words| format!("{} words", words.len()))
    }

    #[test]
    fn what_devices_lack_is_named() {
        let body = |buffers: &str, body: &str| refused(&format!("kernel @k({buffers}, %0: i32) grid 64 workgroup 64 {{ {body} }}"));
        let long = "x: input i64[64] align 8, y: output i64[64] align 8";
        let wanted = "kernel k on a GPU: numbers of type i64";
        assert_eq!(body(long, "%1: i64 = load x[%0] store y[%0], %1"), wanted);
        let double = "x: input f64[64] align 8, y: output f64[64] align 8";
        assert_eq!(body(double, "%1: f64 = load x[%0] store y[%0], %1"), "kernel k on a GPU: numbers of type f64");
        let float = "y: output f32[64] align 4";
        let fused = "%1: f32 = load y[%0] %2: f32 = fma.toward_zero %1, %1, %1 store y[%0], %2";
        assert_eq!(body(float, fused), "kernel k on a GPU: fma.toward_zero of f32");
        let scaled = "%1: f32 = load y[%0] %2: f32 = float_scale %1, %1 store y[%0], %2";
        assert_eq!(body(float, scaled), "kernel k on a GPU: float_scale of f32");
        let five: Vec<String> = (0..5).map(|i| format!("y{i}: output f32[64] align 4")).collect();
        assert_eq!(body(&five.join(", "), ""), "kernel k on a GPU: 5 ranges are bound, of which a device has 4");
        let large = "y: output f32[33554433] align 4";
        assert_eq!(body(large, ""), "kernel k on a GPU: y of 134217732 bytes, of which 134217728 are seen");
        let arrays = |kind: &str, elements: u32| body(float, &format!("t: {kind} f32[{elements}] align 4 store t[%0], 1.0"));
        assert_eq!(arrays("local", 16385), "kernel k on a GPU: local arrays of 65540 bytes, of which there are 65536");
        assert_eq!(arrays("shared", 4097), "kernel k on a GPU: shared arrays of 16388 bytes, of which there are 16384");
        assert!(arrays("shared", 4096).ends_with(" words"));
    }

    #[test]
    fn operands_may_share_a_range() {
        let gpu = &GPUS[0].limits;
        let text = "kernel @k(a: input f32[64] align 4, b: input i8[64] align 4, c: output f32[64] align 4, %0: i32) grid 64 workgroup 64 {
          %1: f32 = load a[%0] %2: i8 = load b[%0] %3: i32 = sign_extend %2 %4: f32 = signed_to_float %3
          %5: f32 = add %1, %4 store c[%0], %5
        }";
        let kernel = parse_kernel(text).unwrap_or_else(|error| panic!("{error}"));
        let numbers = |bindings: Vec<usize>| {
            let module =
                lowered(&DeviceKernel { bindings, ..DeviceKernel::alone(kernel.clone()) }, gpu).unwrap_or_else(|error| panic!("{error}"));
            let number = |inst: &dr::Instruction| match inst.operands[..] {
                [_, dr::Operand::Decoration(rspirv::spirv::Decoration::Binding), dr::Operand::LiteralBit32(number)] => Some(number),
                _ => None,
            };
            module.annotations.iter().filter_map(number).collect::<Vec<u32>>()
        };
        assert_eq!(numbers(vec![0, 1, 2]), [0, 1, 2]);
        assert_eq!(numbers(vec![0, 1, 0]), [0, 1, 0]);
    }

    #[test]
    fn decorations_say_what_may_be_loaded_when() {
        use rspirv::spirv::Decoration::{Aliased, Coherent, NonWritable, Restrict};
        let gpu = &GPUS[0].limits;
        // The decorations of the variables of `x` and of `y`, in this order.
        let decorations = |shares: bool, body: &str| {
            let text = format!("kernel @k(x: input f32[64] align 4, y: output f32[64] align 4, %0: i32) grid 64 workgroup 64 {{ {body} }}");
            let alone = DeviceKernel::alone(parse_kernel(&text).unwrap_or_else(|error| panic!("{error}")));
            let kernel = DeviceKernel { shares: vec![shares; 2], ..alone };
            let module = lowered(&kernel, gpu).unwrap_or_else(|error| panic!("{error}"));
            let of_interest = |inst: &dr::Instruction| match inst.operands[..] {
                [dr::Operand::IdRef(variable), dr::Operand::Decoration(what @ (Aliased | Coherent | NonWritable | Restrict))] => {
                    Some((variable, what))
                }
                _ => None,
            };
            let mut list: Vec<_> = module.annotations.iter().filter_map(of_interest).collect();
            list.sort_by_key(|&(variable, _)| variable);
            list.into_iter().map(|(_, what)| what).collect::<Vec<_>>()
        };
        let once = "%1: f32 = load x[%0] store y[%0], %1";
        assert_eq!(decorations(false, once), [NonWritable, Restrict, Restrict]);
        assert_eq!(decorations(true, once), [Aliased, Aliased]);
        let again = "%1: f32 = load x[%0] store y[%0], %1 %2: f32 = load y[%0] %3: f32 = add %2, %2 store y[%0], %3";
        assert_eq!(decorations(false, again), [NonWritable, Restrict, Restrict, Coherent]);
        assert_eq!(decorations(true, again), [Aliased, Aliased, Coherent]);
    }

    #[test]
    fn lanes_of_a_workgroup_have_its_number_in_common() {
        let gpu = &GPUS[0].limits;
        let divisions = |by: u32| {
            let text = format!(
                "kernel @k(y: output i32[64] align 4, %0: i32) grid 128 workgroup 64 {{
                  %1: i32 = unsigned_div %0, {by} %2: i32 = unsigned_rem %0, {by} store y[%2], %1
                }}"
            );
            let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}"));
            let module = lowered(&DeviceKernel::alone(kernel), gpu).unwrap_or_else(|error| panic!("{error}"));
            module.all_inst_iter().filter(|inst| matches!(inst.class.opcode, Op::UDiv | Op::UMod)).count()
        };
        assert_eq!([divisions(64), divisions(32)], [0, 2]);
    }

    #[test]
    fn grids_fit_the_device() {
        let head = |head: &str| refused(&format!("kernel @k(y: output f32[64] align 4{head} {{ }}"));
        assert_eq!(head(")"), "kernel k: no grid, which a GPU needs");
        assert_eq!(head(", %0: i32) grid 64 workgroup 0"), "kernel k: a grid of 64 positions in workgroups of 0");
        let long = head(", %0: i32) grid 256 workgroup 256");
        assert_eq!(long, "kernel k on a GPU: 256 positions in a workgroup, of 128");
        assert_eq!(head(", %0: i64) grid 64 workgroup 64"), "kernel k on a GPU: a position of type i64");
        assert!(head(", %0: i32) grid 64 workgroup 64").ends_with(" words"));
    }
}
