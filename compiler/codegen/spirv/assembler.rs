//! A module of SPIR-V as it grows: ids, types and constants that are made once, and the blocks of its one function.

use rspirv::binary::Assemble;
use rspirv::dr::{self, Instruction, Operand};
use rspirv::spirv::{self, Decoration, Op, StorageClass, Word};
use std::collections::HashMap;

/// What the components of a register are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A truth value.
    Bool,
    /// An integer of 32 bits.
    Int,
    /// A binary32.
    Float,
}

/// The type of a register: one to four components.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register {
    /// What each component is.
    pub kind: Kind,
    /// How many there are.
    pub lanes: u16,
}

impl Register {
    /// One integer.
    pub const INT: Self = Self { kind: Kind::Int, lanes: 1 };

    /// As many components of another kind.
    pub const fn with(self, kind: Kind) -> Self {
        Self { kind, lanes: self.lanes }
    }

    /// One component.
    pub const fn scalar(self) -> Self {
        Self { kind: self.kind, lanes: 1 }
    }
}

/// The extended instructions that are used.
pub use rspirv::spirv::GlslStd450Op as Extended;

/// A module with one function.
pub struct Assembler {
    module: dr::Module,
    /// The next id.
    next: Word,
    /// Types and constants, by their words without the id.
    known: HashMap<Vec<u32>, Word>,
    /// The set of extended instructions.
    extended: Word,
    blocks: Vec<dr::Block>,
    /// Arrays of the function, which stand at the beginning of its first block.
    variables: Vec<Instruction>,
}

impl Assembler {
    /// A module without capabilities and blocks.
    pub fn new() -> Self {
        let mut assembler =
            Self { module: dr::Module::new(), next: 1, known: HashMap::new(), extended: 0, blocks: vec![], variables: vec![] };
        assembler.extended = assembler.id();
        let name = Operand::LiteralString("GLSL.std.450".into());
        assembler.module.ext_inst_imports.push(Instruction::new(Op::ExtInstImport, None, Some(assembler.extended), vec![name]));
        let model = [Operand::AddressingModel(spirv::AddressingModel::Logical), Operand::MemoryModel(spirv::MemoryModel::GLSL450)];
        assembler.module.memory_model = Some(Instruction::new(Op::MemoryModel, None, None, model.to_vec()));
        assembler
    }

    /// An id that is not used yet.
    pub fn id(&mut self) -> Word {
        self.next += 1;
        self.next - 1
    }

    /// Something that devices may lack.
    pub fn capability(&mut self, capability: spirv::Capability) {
        let inst = Instruction::new(Op::Capability, None, None, vec![Operand::Capability(capability)]);
        if !self.module.capabilities.contains(&inst) {
            self.module.capabilities.push(inst);
        }
    }

    /// An extension that capabilities come from.
    pub fn extension(&mut self, name: &str) {
        let inst = Instruction::new(Op::Extension, None, None, vec![Operand::LiteralString(name.into())]);
        if !self.module.extensions.contains(&inst) {
            self.module.extensions.push(inst);
        }
    }

    /// A property of an id.
    pub fn decorate(&mut self, id: Word, decoration: Decoration, more: &[Operand]) {
        let operands = [&[Operand::IdRef(id), Operand::Decoration(decoration)], more].concat();
        self.module.annotations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    /// A type or a constant, made once. Returns its id and whether it is new.
    fn once(&mut self, op: Op, ty: Option<Word>, operands: Vec<Operand>) -> (Word, bool) {
        let mut inst = Instruction::new(op, ty, None, operands);
        let key = inst.assemble();
        if let Some(&id) = self.known.get(&key) {
            return (id, false);
        }
        let id = self.id();
        self.known.insert(key, id);
        inst.result_id = Some(id);
        self.module.types_global_values.push(inst);
        (id, true)
    }

    fn scalar_type(&mut self, kind: Kind) -> Word {
        match kind {
            Kind::Bool => self.once(Op::TypeBool, None, vec![]).0,
            Kind::Int => self.integer_type(32),
            Kind::Float => self.once(Op::TypeFloat, None, vec![Operand::LiteralBit32(32)]).0,
        }
    }

    /// Integers of some bits, which have no sign: operations do.
    pub fn integer_type(&mut self, bits: u32) -> Word {
        self.once(Op::TypeInt, None, vec![Operand::LiteralBit32(bits), Operand::LiteralBit32(0)]).0
    }

    /// The type of registers.
    pub fn ty(&mut self, register: Register) -> Word {
        let scalar = self.scalar_type(register.kind);
        if register.lanes == 1 {
            return scalar;
        }
        self.once(Op::TypeVector, None, vec![Operand::IdRef(scalar), Operand::LiteralBit32(register.lanes.into())]).0
    }

    /// Two members of one type.
    pub fn pair_type(&mut self, register: Register) -> Word {
        let ty = self.ty(register);
        self.once(Op::TypeStruct, None, vec![Operand::IdRef(ty); 2]).0
    }

    /// Pointers into a class of memory.
    pub fn pointer_type(&mut self, class: StorageClass, to: Word) -> Word {
        self.once(Op::TypePointer, None, vec![Operand::StorageClass(class), Operand::IdRef(to)]).0
    }

    /// A buffer's contents: as many elements as there are, each of some bytes.
    pub fn block_type(&mut self, element: Word, bytes: u32) -> Word {
        let (array, is_new) = self.once(Op::TypeRuntimeArray, None, vec![Operand::IdRef(element)]);
        if is_new {
            self.decorate(array, Decoration::ArrayStride, &[Operand::LiteralBit32(bytes)]);
        }
        let (block, is_new) = self.once(Op::TypeStruct, None, vec![Operand::IdRef(array)]);
        if is_new {
            self.decorate(block, Decoration::Block, &[]);
            let offset =
                [Operand::IdRef(block), Operand::LiteralBit32(0), Operand::Decoration(Decoration::Offset), Operand::LiteralBit32(0)];
            self.module.annotations.push(Instruction::new(Op::MemberDecorate, None, None, offset.to_vec()));
        }
        block
    }

    /// An array of a number of elements.
    pub fn array_type(&mut self, element: Word, count: u32) -> Word {
        let count = self.int(Register::INT, count);
        self.once(Op::TypeArray, None, vec![Operand::IdRef(element), Operand::IdRef(count)]).0
    }

    /// A variable of the module.
    pub fn global(&mut self, class: StorageClass, ty: Word) -> Word {
        let pointer = self.pointer_type(class, ty);
        let id = self.id();
        let inst = Instruction::new(Op::Variable, Some(pointer), Some(id), vec![Operand::StorageClass(class)]);
        self.module.types_global_values.push(inst);
        id
    }

    /// A variable of the function.
    pub fn local(&mut self, ty: Word) -> Word {
        let pointer = self.pointer_type(StorageClass::Function, ty);
        let id = self.id();
        self.variables.push(Instruction::new(Op::Variable, Some(pointer), Some(id), vec![Operand::StorageClass(StorageClass::Function)]));
        id
    }

    /// The same bits in every component; a truth value is any bit.
    pub fn constant(&mut self, register: Register, bits: u32) -> Word {
        let ty = self.ty(register.scalar());
        let scalar = match register.kind {
            Kind::Bool if bits != 0 => self.once(Op::ConstantTrue, Some(ty), vec![]).0,
            Kind::Bool => self.once(Op::ConstantFalse, Some(ty), vec![]).0,
            Kind::Int | Kind::Float => self.once(Op::Constant, Some(ty), vec![Operand::LiteralBit32(bits)]).0,
        };
        if register.lanes == 1 {
            return scalar;
        }
        self.constant_vector(register, &vec![scalar; register.lanes.into()])
    }

    /// Constants as components.
    pub fn constant_vector(&mut self, register: Register, components: &[Word]) -> Word {
        let ty = self.ty(register);
        self.once(Op::ConstantComposite, Some(ty), components.iter().map(|&id| Operand::IdRef(id)).collect()).0
    }

    /// An integer in every component.
    pub fn int(&mut self, register: Register, number: u32) -> Word {
        self.constant(register.with(Kind::Int), number)
    }

    /// A float in every component.
    pub fn float(&mut self, register: Register, number: f32) -> Word {
        self.constant(register.with(Kind::Float), number.to_bits())
    }

    /// Begins a block, which is the one before it from then on that grows no more.
    pub fn begin(&mut self, label: Word) {
        let label = Instruction::new(Op::Label, None, Some(label), vec![]);
        self.blocks.push(dr::Block { label: Some(label), instructions: vec![] });
    }

    /// The label of the block that grows.
    pub fn label(&self) -> Word {
        self.blocks.last().and_then(dr::Block::label_id).unwrap_or_default()
    }

    /// The number of the block that grows, for [`Assembler::phi`].
    pub fn block(&self) -> usize {
        self.blocks.len() - 1
    }

    fn push(&mut self, inst: Instruction) {
        if let Some(block) = self.blocks.last_mut() {
            block.instructions.push(inst);
        }
    }

    /// An instruction without a result.
    pub fn effect(&mut self, op: Op, operands: Vec<Operand>) {
        self.push(Instruction::new(op, None, None, operands));
    }

    /// An instruction with a result of a type.
    pub fn result(&mut self, op: Op, ty: Word, operands: Vec<Operand>) -> Word {
        let id = self.id();
        self.push(Instruction::new(op, Some(ty), Some(id), operands));
        id
    }

    /// An instruction on ids with a result in a register.
    pub fn op(&mut self, op: Op, register: Register, ids: &[Word]) -> Word {
        let ty = self.ty(register);
        self.result(op, ty, ids.iter().map(|&id| Operand::IdRef(id)).collect())
    }

    /// An extended instruction.
    pub fn extended(&mut self, op: Extended, register: Register, ids: &[Word]) -> Word {
        let ty = self.ty(register);
        let head = [Operand::IdRef(self.extended), Operand::LiteralExtInstInteger(op as u32)];
        self.result(Op::ExtInst, ty, head.into_iter().chain(ids.iter().map(|&id| Operand::IdRef(id))).collect())
    }

    /// One component of a register.
    pub fn component(&mut self, a: Word, register: Register, lane: u16) -> Word {
        if register.lanes == 1 {
            return a;
        }
        let ty = self.ty(register.scalar());
        self.result(Op::CompositeExtract, ty, vec![Operand::IdRef(a), Operand::LiteralBit32(lane.into())])
    }

    /// Scalars as the components of a register.
    pub fn vector(&mut self, register: Register, scalars: &[Word]) -> Word {
        if register.lanes == 1 { scalars[0] } else { self.op(Op::CompositeConstruct, register, scalars) }
    }

    /// A value at the beginning of a block that has ended or grows: what each block before it hands on.
    pub fn phi(&mut self, block: usize, id: Word, register: Register, from: &[(Word, Word)]) {
        let ty = self.ty(register);
        let operands = from.iter().flat_map(|&(value, label)| [Operand::IdRef(value), Operand::IdRef(label)]).collect();
        self.blocks[block].instructions.insert(0, Instruction::new(Op::Phi, Some(ty), Some(id), operands));
    }

    /// The words of the module: its blocks as the function `main` of a compute shader with workgroups of `workgroup` in a row.
    pub fn finish(mut self, inputs: &[Word], workgroup: u32) -> dr::Module {
        let void = self.once(Op::TypeVoid, None, vec![]).0;
        let ty = self.once(Op::TypeFunction, None, vec![Operand::IdRef(void)]).0;
        let main = self.id();
        if let Some(first) = self.blocks.first_mut() {
            first.instructions.splice(0..0, std::mem::take(&mut self.variables));
        }
        let control = vec![Operand::FunctionControl(spirv::FunctionControl::NONE), Operand::IdRef(ty)];
        let function = dr::Function {
            def: Some(Instruction::new(Op::Function, Some(void), Some(main), control)),
            end: Some(Instruction::new(Op::FunctionEnd, None, None, vec![])),
            parameters: vec![],
            blocks: self.blocks,
        };
        let name = [Operand::ExecutionModel(spirv::ExecutionModel::GLCompute), Operand::IdRef(main), Operand::LiteralString("main".into())];
        let entry = name.into_iter().chain(inputs.iter().map(|&id| Operand::IdRef(id))).collect();
        let sizes = [workgroup, 1, 1].map(Operand::LiteralBit32);
        let mode = [Operand::IdRef(main), Operand::ExecutionMode(spirv::ExecutionMode::LocalSize)].into_iter().chain(sizes).collect();
        let mut module = self.module;
        module.functions.push(function);
        module.entry_points.push(Instruction::new(Op::EntryPoint, None, None, entry));
        module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
        let mut header = dr::ModuleHeader::new(self.next);
        header.set_version(1, 3);
        module.header = Some(header);
        module
    }
}
