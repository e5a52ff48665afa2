//! Functions of the driver, which call others: the procedure call standard for Arm (AAPCS).

use super::inst::{Arg, Inst, Op};
use super::lowering::{Lowering, Thumb};
use super::registers::{GENERAL, PARAMETERS};
use super::set::Thumb2;
use crate::codegen::driver::language as driver;
use crate::codegen::own::words::{Called, Driven, Entered, lower_driver, lower_support};
use crate::codegen::own::{Address, Base, assemble, count_uses, sweep};
use crate::codegen::support::Support;
use crate::codegen::{Code, CodegenError, RelocationTarget};
use crate::interface::Layout;
use crate::kernel::Kernel;
use crate::machine::Machine;
use regalloc2::{PReg, VReg};

/// How C lays out data here.
pub const LAYOUT: Layout = Layout { pointer: 4 };

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Bug`] when the function breaks a rule of its language.
pub fn compile_driver(function: &driver::Function, machine: &Machine) -> Result<Code, CodegenError> {
    let bug = |what: String| CodegenError::Bug(format!("a function of the driver: {what}"));
    driver::verify::verify(function, LAYOUT).map_err(bug)?;
    let mut lowered = lower_driver(function, Thumb::new(&Kernel::default(), machine))?;
    let mut uses = count_uses(&lowered);
    sweep(&mut lowered, &mut uses);
    Ok(assemble(&Thumb2::new(machine), &lowered).map_err(bug)?.code)
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support, machine: &Machine) -> Result<Code, CodegenError> {
    let mut lowered = lower_support(what, Thumb::new(&Kernel::default(), machine));
    let mut uses = count_uses(&lowered);
    sweep(&mut lowered, &mut uses);
    let emitted = assemble(&Thumb2::new(machine), &lowered).map_err(|why| CodegenError::Bug(format!("{what:?}: {why}")))?;
    Ok(emitted.code)
}

impl Driven for Thumb {
    const ARGUMENTS: usize = PARAMETERS;

    fn refer(to: VReg, target: RelocationTarget, offset: u64) -> Inst {
        Inst { op: Op::Refer(target, offset), args: vec![Arg::Def(to)] }
    }

    fn pass(word: VReg, number: usize) -> Inst {
        Inst { op: Op::Pass(number as u32), args: vec![Arg::Use(word)] }
    }

    fn call(result: VReg, callee: Called, arguments: &[VReg]) -> Inst {
        let mut args = vec![Arg::FixedDef(result, PReg::new(0, GENERAL))];
        let target = match callee {
            Called::Named(target) => Some(target),
            Called::At(register) => {
                args.push(Arg::Use(register));
                None
            }
        };
        args.extend(arguments.iter().enumerate().map(|(number, &argument)| Arg::FixedUse(argument, PReg::new(number, GENERAL))));
        Inst { op: Op::Call(target), args }
    }

    fn leave_with(words: &[VReg]) -> Inst {
        Inst {
            op: Op::ReturnWith,
            args: words.iter().enumerate().map(|(number, &word)| Arg::FixedUse(word, PReg::new(number, GENERAL))).collect(),
        }
    }
}

impl Entered for Lowering<'_> {
    fn parameters(&mut self, count: usize) -> Vec<VReg> {
        let registers: Vec<VReg> = (0..count).map(|_| self.scalar()).collect();
        let fixed = registers.iter().zip(0..PARAMETERS).map(|(&v, p)| Arg::FixedDef(v, PReg::new(p, GENERAL))).collect();
        self.emit(Op::Parameters, fixed);
        for (i, &register) in registers.iter().enumerate().skip(PARAMETERS) {
            let address = Address { base: Base::Arguments, index: None, displacement: 4 * (i - PARAMETERS) as i32 };
            self.emit(Op::Load(4, false), vec![Arg::Def(register), Arg::Memory(address)]);
        }
        registers
    }
}
