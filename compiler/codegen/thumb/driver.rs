//! Functions of the driver, which call others: the procedure call standard for Arm (AAPCS).

use super::baseline::{self, is_baseline};
use super::inst::{Arg, Inst, Op};
use super::lowering::{Lowering, Thumb};
use super::registers::{GENERAL, PARAMETERS};
use super::set::Thumb2;
use crate::codegen::driver::language as driver;
use crate::codegen::own::words::{Called, Driven, Entered, word_driver, word_support};
use crate::codegen::own::{Address, Base};
use crate::codegen::support::Support;
use crate::codegen::{Code, CodegenError, RelocationTarget};
use crate::kernel::Kernel;
use crate::machine::Machine;
use regalloc2::{PReg, VReg};

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Driver`] when the function breaks a rule of its language.
pub fn compile_driver(function: &driver::Function, machine: &Machine) -> Result<Code, CodegenError> {
    if is_baseline(machine) {
        return baseline::compile_driver(function);
    }
    word_driver(function, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine))
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support, machine: &Machine) -> Result<Code, CodegenError> {
    if is_baseline(machine) {
        return baseline::compile_support(what);
    }
    word_support(what, &Thumb2::new(machine), Thumb::new(&Kernel::default(), machine))
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
