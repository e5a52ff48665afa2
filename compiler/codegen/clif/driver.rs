//! Compilation of the driver's functions through Cranelift, with its whole mid-end.

use super::code::{DATA, EXTERNALS, FUNCTIONS, Known};
use crate::driver::language::verify::verify;
use crate::driver::language::{
    BinaryOp, Callee, CompareOp, End, Function, Inst, KernelConvention, Operand, Region, Signature, Statement, Value, Width,
};
use crate::{Bug, Code, CodegenError};
use cranelift_codegen::ir::{
    self, AbiParam, Block, BlockArg, ExtFuncData, ExternalName, FuncRef, GlobalValueData, InstBuilder, MemFlagsData, StackSlotData,
    StackSlotKind, Type, UserExternalName, UserFuncName, condcodes::IntCC, types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_entity::SecondaryMap;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use modelc_interface::Layout;

/// Compiles a function of the driver to a function of the target's C calling convention. `isa` comes from [`super::isa_for`] with
/// [`super::Optimise::Driver`]. `known` has the functions that were compiled for it before.
///
/// # Errors
/// [`CodegenError::Driver`] if the function breaks a rule of its language. [`CodegenError::Bug`] if it would need an external symbol.
pub fn compile_driver(function: &Function, isa: &dyn TargetIsa, known: &Known) -> Result<Code, CodegenError> {
    verify(function, Layout { pointer: u64::from(isa.pointer_bytes()) }).map_err(CodegenError::Driver)?;
    let code = known.compile(lower(function, isa), isa);
    code.map_err(|error| Bug::Cranelift { function: "a function of the driver".into(), error }.into())
}

/// Lowers a verified function to Cranelift's language.
fn lower(function: &Function, isa: &dyn TargetIsa) -> ir::Function {
    let mut own = signature(isa, &function.signature, isa.default_call_conv());
    for result in &mut own.returns {
        // Some conventions require the extension.
        *result = result.sext();
    }
    let mut lowered = ir::Function::with_name_signature(UserFuncName::default(), own);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut lowered, &mut context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let exit = builder.create_block();
    let result = function.signature.result.map(|width| builder.append_block_param(exit, ty(isa, width)));
    let mut values = SecondaryMap::new();
    for (&value, &parameter) in function.parameters.iter().zip(builder.block_params(entry)) {
        values[value] = Some(parameter);
    }
    let mut lowering = Lowering { builder, isa, function, exit, values };
    lowering.arm(&function.body, &[], exit);
    let mut builder = lowering.builder;
    builder.switch_to_block(exit);
    builder.ins().return_(result.as_slice());
    builder.seal_all_blocks();
    builder.finalize(isa.frontend_config());
    lowered
}

/// Returns the signature in Cranelift's terms. riscv64 passes 32-bit numbers sign-extended, even unsigned ones; the other conventions ignore the
/// upper half. Bits above a callee's result are ignored.
fn signature(isa: &dyn TargetIsa, signature: &Signature, convention: CallConv) -> ir::Signature {
    let mut result = ir::Signature::new(convention);
    let parameter = |&width: &Width| match width {
        Width::Word => AbiParam::new(isa.pointer_type()),
        other => AbiParam::new(ty(isa, other)).sext(),
    };
    result.params = signature.parameters.iter().map(parameter).collect();
    result.returns = signature.result.iter().map(|&width| AbiParam::new(ty(isa, width))).collect();
    result
}

fn ty(isa: &dyn TargetIsa, width: Width) -> Type {
    match width {
        Width::Byte => types::I8,
        Width::Half => types::I16,
        Width::Single => types::I32,
        Width::Word | Width::Cell => isa.pointer_type(),
    }
}

/// The lowering of one function. Instructions go into the builder's current block.
struct Lowering<'a, 'b> {
    builder: FunctionBuilder<'b>,
    isa: &'a dyn TargetIsa,
    function: &'a Function,
    /// The block that returns; it takes the result, if the function has one.
    exit: Block,
    values: SecondaryMap<Value, Option<ir::Value>>,
}

impl Lowering<'_, '_> {
    fn ty(&self, width: Width) -> Type {
        ty(self.isa, width)
    }

    fn type_of(&self, value: Value) -> Type {
        self.ty(self.function.widths[value])
    }

    fn value(&self, value: Value) -> ir::Value {
        self.values[value].expect("verified functions define values before they use them")
    }

    fn operand(&mut self, operand: Operand, ty: Type) -> ir::Value {
        match operand {
            Operand::Value(value) => self.value(value),
            // Cranelift does not allow bits above the type's.
            Operand::Number(number) => {
                let bits = number & (u64::MAX >> (64 - ty.bits()));
                self.builder.ins().iconst(ty, bits as i64)
            }
        }
    }

    /// Returns two operands of one type.
    fn pair(&mut self, a: Operand, b: Operand) -> (ir::Value, ir::Value) {
        let ty = match (a, b) {
            (Operand::Value(value), _) | (_, Operand::Value(value)) => self.type_of(value),
            _ => self.isa.pointer_type(),
        };
        (self.operand(a, ty), self.operand(b, ty))
    }

    fn block_arguments(&mut self, operands: &[Operand], values: &[Value]) -> Vec<BlockArg> {
        operands.iter().zip(values).map(|(&operand, &value)| self.operand(operand, self.type_of(value)).into()).collect()
    }

    /// Lowers a region and ends its last block. It jumps to `after` with the yields for `results`, or to the exit.
    fn arm(&mut self, region: &Region, results: &[Value], after: Block) {
        if let (Some((last, others)), End::Yield(yields)) = (region.statements.split_last(), &region.end)
            && let Inst::If { truth, then, otherwise } = &last.inst
            && yields.iter().copied().eq(last.results.iter().map(|&value| Operand::Value(value)))
        {
            // The arms of a branch at the end of a region end the region, too.
            others.iter().for_each(|statement| self.statement(statement));
            return self.branch(*truth, [then, otherwise], &last.results, after);
        }
        region.statements.iter().for_each(|statement| self.statement(statement));
        match &region.end {
            End::Yield(yields) => {
                let arguments = self.block_arguments(yields, results);
                self.builder.ins().jump(after, &arguments);
            }
            End::Leave(status) => {
                let arguments = self.exit_arguments(*status);
                self.builder.ins().jump(self.exit, &arguments);
            }
        }
    }

    fn exit_arguments(&mut self, status: Option<Operand>) -> Vec<BlockArg> {
        let parameter = self.builder.block_params(self.exit).first().copied();
        let argument = status.zip(parameter).map(|(status, parameter)| {
            let ty = self.builder.func.dfg.value_type(parameter);
            self.operand(status, ty).into()
        });
        argument.into_iter().collect()
    }

    /// Lowers a branch to two regions, which both end with a jump to `after` or to the exit.
    fn branch(&mut self, truth: Value, regions: [&Region; 2], results: &[Value], after: Block) {
        let truth = self.value(truth);
        // A region that only yields one value needs no block. Several constants get a block, so that they take no registers across the branch.
        let targets = regions.map(|region| match &region.end {
            End::Yield(yields) if region.statements.is_empty() && yields.len() <= 1 => (after, self.block_arguments(yields, results), None),
            _ => (self.builder.create_block(), vec![], Some(region)),
        });
        let [(then, then_arguments, _), (otherwise, other_arguments, _)] = &targets;
        self.builder.ins().brif(truth, *then, then_arguments, *otherwise, other_arguments);
        for (block, _, region) in targets {
            if let Some(region) = region {
                self.builder.switch_to_block(block);
                self.arm(region, results, after);
            }
        }
    }

    fn repeat(&mut self, carried: &[Value], initial: &[Operand], head: &Region, body: &Region) {
        let [start, inside, after] = [(); 3].map(|()| self.builder.create_block());
        for &value in carried {
            self.values[value] = Some(self.builder.append_block_param(start, ty(self.isa, self.function.widths[value])));
        }
        let initial = self.block_arguments(initial, carried);
        self.builder.ins().jump(start, &initial);
        self.builder.switch_to_block(start);
        head.statements.iter().for_each(|statement| self.statement(statement));
        let End::Yield(truth) = &head.end else { unreachable!("the head of a loop yields") };
        let truth = self.operand(truth[0], types::I8);
        self.builder.ins().brif(truth, inside, &[], after, &[]);
        self.builder.switch_to_block(inside);
        self.arm(body, carried, start);
        self.builder.switch_to_block(after);
    }

    /// Returns a status if a value is not 0.
    fn leave_if(&mut self, truth: Value, status: Operand) {
        let truth = self.value(truth);
        let arguments = self.exit_arguments(Some(status));
        let next = self.builder.create_block();
        self.builder.ins().brif(truth, self.exit, &arguments, next, &[]);
        self.builder.switch_to_block(next);
    }

    fn statement(&mut self, Statement { results, inst }: &Statement) {
        let value = match inst {
            Inst::If { truth, then, otherwise } => {
                let after = self.builder.create_block();
                for &value in results {
                    self.values[value] = Some(self.builder.append_block_param(after, ty(self.isa, self.function.widths[value])));
                }
                self.branch(*truth, [then, otherwise], results, after);
                self.builder.switch_to_block(after);
                return;
            }
            Inst::Repeat { carried, initial, head, body } => return self.repeat(carried, initial, head, body),
            Inst::LeaveIf { truth, status } => return self.leave_if(*truth, Operand::Number(u64::from(*status as u32))),
            Inst::LeaveWith { status } => return self.leave_if(*status, Operand::Value(*status)),
            Inst::Store { width, value, base, offset } => return self.store(*width, *value, *base, *offset),
            Inst::Call { callee, signature, arguments } => self.call(*callee, signature, arguments),
            inst => Some(self.compute(inst)),
        };
        if let (Some(&result), Some(value)) = (results.first(), value) {
            self.values[result] = Some(value);
        }
    }

    /// Lowers an instruction that only computes a value.
    fn compute(&mut self, inst: &Inst) -> ir::Value {
        match inst {
            Inst::Data { data, offset } => self.data(*data, *offset),
            Inst::Function(number) => {
                let function = self.declare(FUNCTIONS, *number, &Signature::new(&[], None), self.isa.default_call_conv());
                self.builder.ins().func_addr(self.isa.pointer_type(), function)
            }
            Inst::Memory { bytes } => {
                let slot = self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, *bytes, 3));
                self.builder.ins().stack_addr(self.isa.pointer_type(), slot, 0)
            }
            Inst::Load { width, base, offset } => {
                let (ty, base) = (self.ty(*width), self.value(*base));
                self.builder.ins().load(ty, flags(), base, *offset)
            }
            Inst::Binary { op, a, b } => {
                let (a, b) = self.pair(*a, *b);
                let ins = self.builder.ins();
                match op {
                    BinaryOp::Add => ins.iadd(a, b),
                    BinaryOp::Sub => ins.isub(a, b),
                    BinaryOp::Mul => ins.imul(a, b),
                    BinaryOp::Div => ins.udiv(a, b),
                    BinaryOp::And => ins.band(a, b),
                    BinaryOp::Or => ins.bor(a, b),
                    BinaryOp::Xor => ins.bxor(a, b),
                }
            }
            Inst::Compare { op, a, b } => {
                let (a, b) = self.pair(*a, *b);
                self.builder.ins().icmp(condition(*op), a, b)
            }
            Inst::Select { truth, a, b } => {
                let truth = self.value(*truth);
                let (a, b) = self.pair(*a, *b);
                self.builder.ins().select(truth, a, b)
            }
            Inst::Extend { width, value } => {
                let (to, value) = (self.ty(*width), self.value(*value));
                let same = self.builder.func.dfg.value_type(value) == to;
                if same { value } else { self.builder.ins().uextend(to, value) }
            }
            Inst::Differs { base, offset, bits } => {
                let base = self.value(*base);
                let found = self.builder.ins().load(types::I64, flags(), base, *offset);
                let bits = self.builder.ins().iconst(types::I64, *bits as i64);
                self.builder.ins().icmp(IntCC::NotEqual, found, bits)
            }
            other => unreachable!("{other:?} has more than a value"),
        }
    }

    fn store(&mut self, width: Width, value: Operand, base: Value, offset: i32) {
        let (ty, base) = (self.ty(width), self.value(base));
        let value = self.operand(value, ty);
        self.builder.ins().store(flags(), value, base, offset);
        if width == Width::Cell && ty.bytes() < 8 {
            let zero = self.builder.ins().iconst(ty, 0);
            self.builder.ins().store(flags(), zero, base, offset + 4);
        }
    }

    /// Computes the address of a byte of data.
    fn data(&mut self, data: u32, offset: u64) -> ir::Value {
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace: DATA, index: data });
        let symbol = self.builder.create_global_value(GlobalValueData::Symbol {
            name: ExternalName::user(name),
            offset: (offset as i64).into(),
            colocated: true,
            tls: false,
        });
        self.builder.ins().symbol_value(self.isa.pointer_type(), symbol)
    }

    fn declare(&mut self, namespace: u32, number: u32, declared: &Signature, convention: CallConv) -> FuncRef {
        let signature = self.builder.import_signature(signature(self.isa, declared, convention));
        let name = self.builder.func.declare_imported_user_function(UserExternalName { namespace, index: number });
        self.builder.import_function(ExtFuncData { name: ExternalName::user(name), signature, colocated: true, patchable: false })
    }

    fn call(&mut self, callee: Callee, called: &Signature, arguments: &[Operand]) -> Option<ir::Value> {
        let target = self.isa.default_call_conv();
        let of_kernels = |convention| match convention {
            KernelConvention::Target => target,
            KernelConvention::SystemV => CallConv::SystemV,
        };
        let (place, convention) = match callee {
            Callee::Kernel(number, convention) => (Ok((FUNCTIONS, number)), of_kernels(convention)),
            Callee::KernelAt(address, convention) => (Err(address), of_kernels(convention)),
            Callee::Function(number) => (Ok((FUNCTIONS, number)), target),
            Callee::Import(number) => (Ok((EXTERNALS, number)), target),
            Callee::Pointer(address) => (Err(address), target),
        };
        let arguments: Vec<ir::Value> =
            arguments.iter().zip(&called.parameters).map(|(&argument, &width)| self.operand(argument, self.ty(width))).collect();
        let call = match place {
            Ok((namespace, number)) => {
                let function = self.declare(namespace, number, called, convention);
                self.builder.ins().call(function, &arguments)
            }
            Err(address) => {
                let address = self.operand(address, self.isa.pointer_type());
                let signature = self.builder.import_signature(signature(self.isa, called, convention));
                self.builder.ins().call_indirect(signature, address, &arguments)
            }
        };
        self.builder.inst_results(call).first().copied()
    }
}

fn condition(op: CompareOp) -> IntCC {
    match op {
        CompareOp::Equal => IntCC::Equal,
        CompareOp::NotEqual => IntCC::NotEqual,
        CompareOp::Less => IntCC::UnsignedLessThan,
        CompareOp::Greater => IntCC::UnsignedGreaterThan,
        CompareOp::GreaterOrEqual => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// Returns the flags of all accesses: they do not trap, and must not move above a check.
fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clif::{Optimise, isa_for};
    use crate::driver::language::function;
    use crate::{Relocation, RelocationTarget};
    use modelc_machine::{Isa, MACHINES};

    /// Makes a function that calls others with its parameter.
    fn calling(callees: &[Callee]) -> Function {
        function(Layout { pointer: 8 }, Signature::status(1), |e, parameters| {
            for &callee in callees {
                let status = e.call(callee, Signature::status(1), vec![parameters[0].into()]);
                e.leave_with(status);
            }
        })
    }

    fn targets(relocations: &[Relocation]) -> Vec<RelocationTarget> {
        relocations.iter().map(|relocation| relocation.target).collect()
    }

    #[test]
    fn functions_that_call_others_in_the_same_way_have_the_same_code() {
        let machine = MACHINES.iter().find(|machine| machine.isa == Isa::X86_64).unwrap();
        let isa = isa_for(&"x86_64-unknown-linux-gnu".parse().unwrap(), machine, Optimise::Driver).unwrap();
        let known = Known::default();
        let kernel = |number| Callee::Kernel(number, KernelConvention::SystemV);
        // The C convention of this target is System V.
        let plain = |number| Callee::Kernel(number, KernelConvention::Target);
        let lists = [[kernel(3), kernel(5)], [plain(7), plain(2)], [kernel(3), kernel(3)], [kernel(3), Callee::Import(5)]];
        let codes = lists.map(|callees| {
            let code = compile_driver(&calling(&callees), &*isa, &known).unwrap();
            let alone = compile_driver(&calling(&callees), &*isa, &Known::default()).unwrap();
            assert_eq!((&code.bytes, &code.relocations), (&alone.bytes, &alone.relocations));
            code
        });
        let function = RelocationTarget::Function;
        assert_eq!(targets(&codes[0].relocations), [function(3), function(5)]);
        assert_eq!(targets(&codes[1].relocations), [function(7), function(2)]);
        assert_eq!(targets(&codes[2].relocations), [function(3), function(3)]);
        assert_eq!(targets(&codes[3].relocations), [function(3), RelocationTarget::External(5)]);
        // Two calls of one function are another pattern than calls of two functions. The kind of symbol is only a name.
        assert_eq!(known.count(), 2);
    }
}
