//! Functions of the driver, which call others: the procedure call standard for Arm (AAPCS).

use super::inst::{Arg, Inst, Op};
use super::lowering::{Baseline, Lowering};
use super::set::Thumb1;
use crate::codegen::driver::language as driver;
use crate::codegen::own::words::{Called, Driven, Entered, word_driver, word_support};
use crate::codegen::own::{Address, Base};
use crate::codegen::support::Support;
use crate::codegen::thumb::registers::{GENERAL, PARAMETERS};
use crate::codegen::{Code, CodegenError, RelocationTarget};
use regalloc2::{PReg, VReg};

/// Compiles a function of the driver.
///
/// # Errors
/// [`CodegenError::Bug`] when the function breaks a rule of its language.
pub fn compile_driver(function: &driver::Function) -> Result<Code, CodegenError> {
    word_driver(function, &Thumb1, Baseline::without_kernel())
}

/// Compiles a function that kernels call.
///
/// # Errors
/// [`CodegenError::Bug`] when the function cannot be compiled.
pub fn compile_support(what: Support) -> Result<Code, CodegenError> {
    word_support(what, &Thumb1, Baseline::without_kernel())
}

fn fixed(words: &[VReg]) -> impl Iterator<Item = (VReg, PReg)> + '_ {
    words.iter().enumerate().map(|(number, &word)| (word, PReg::new(number, GENERAL)))
}

impl Driven for Baseline {
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
        args.extend(fixed(arguments).map(|(argument, register)| Arg::FixedUse(argument, register)));
        Inst { op: Op::Call(target), args }
    }

    fn leave_with(words: &[VReg]) -> Inst {
        Inst { op: Op::ReturnWith, args: fixed(words).map(|(word, register)| Arg::FixedUse(word, register)).collect() }
    }
}

impl Entered for Lowering<'_> {
    fn parameters(&mut self, count: usize) -> Vec<VReg> {
        let registers: Vec<VReg> = (0..count).map(|_| self.scalar()).collect();
        let defined = fixed(&registers[..count.min(PARAMETERS)]).map(|(v, register)| Arg::FixedDef(v, register)).collect();
        self.emit(Op::Parameters, defined);
        for (i, &register) in registers.iter().enumerate().skip(PARAMETERS) {
            let address = Address { base: Base::Arguments, index: None, displacement: 4 * (i - PARAMETERS) as i32 };
            self.emit(Op::Load(4, false), vec![Arg::Def(register), Arg::Memory(address)]);
        }
        registers
    }
}
