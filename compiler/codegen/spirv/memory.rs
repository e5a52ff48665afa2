//! Places of buffers, and pointers to their elements.

use super::assembler::{Kind, Register};
use super::lower::Lowering;
use super::place::{At, Place, View, elements_of_word};
use crate::CodegenError;
use crate::bug::Mistake;
use crate::unsupported::Excess;
use cranelift_entity::EntityRef;
use modelc_kernel::indices::exponent;
use modelc_kernel::{Buffer, BufferData, BufferKind, Inst, Lane, Run};
use modelc_machine::Gpu;
use rspirv::dr::Operand;
use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

/// An access to consecutive elements of a buffer.
struct Access {
    at: Option<At>,
    count: u16,
    is_store: bool,
}

impl Lowering<'_> {
    /// Assigns places to all buffers. `bindings` are the binding numbers of the pointer parameters; `shares` tells which of them overlap others.
    pub fn place_buffers(&mut self, bindings: &[usize], shares: &[bool]) -> Result<(), CodegenError> {
        let kernel = self.kernel;
        let (mut bound, mut local_bytes, mut shared_bytes) = (bindings.iter().zip(shares), 0u64, 0u64);
        for (i, data) in kernel.buffers.iter().enumerate() {
            // An element of an array takes a whole register.
            let in_array = data.elements.saturating_mul(4);
            let place = match data.kind {
                BufferKind::Local => {
                    local_bytes = local_bytes.saturating_add(in_array);
                    self.array(data, StorageClass::Function)?
                }
                BufferKind::Shared if self.is_of_words(Buffer::new(i)) => {
                    shared_bytes = shared_bytes.saturating_add(data.elements.saturating_mul(data.lane.bytes().into()));
                    self.array_of_words(data)
                }
                BufferKind::Shared => {
                    shared_bytes = shared_bytes.saturating_add(in_array);
                    self.array(data, StorageClass::Workgroup)?
                }
                BufferKind::Input | BufferKind::Output | BufferKind::Scratch => {
                    let bytes = data.elements.saturating_mul(data.lane.bytes().into());
                    if bytes > self.gpu.range_bytes {
                        let (buffer, most) = (data.name.clone(), self.gpu.range_bytes);
                        return Err(self.excess(Excess::Range { buffer, bytes, most }));
                    }
                    let (&binding, &shares) =
                        bound.next().ok_or_else(|| CodegenError::lowering(kernel, Mistake::NotBound(data.name.clone())))?;
                    self.bound(Buffer::new(i), binding as u32, shares)
                }
            };
            self.places.push(place);
        }
        for (memory, bytes, most) in [("local", local_bytes, Gpu::LOCAL_BYTES), ("shared", shared_bytes, self.gpu.shared_bytes.into())] {
            if bytes > most {
                return Err(self.excess(Excess::Arrays { memory, bytes, most }));
            }
        }
        let ranges = bindings.iter().map(|binding| binding + 1).max().unwrap_or(0);
        if ranges > self.gpu.bindings as usize {
            return Err(self.excess(Excess::Bindings { ranges, most: self.gpu.bindings }));
        }
        self.find_factors();
        Ok(())
    }

    fn array(&mut self, data: &BufferData, class: StorageClass) -> Result<Place, CodegenError> {
        let element = self.element_register(data.lane)?;
        let element = self.out.ty(element);
        let count = u32::try_from(data.elements.max(1)).unwrap_or(u32::MAX);
        let array = self.out.array_type(element, count);
        let variable = if class == StorageClass::Function { self.out.local(array) } else { self.out.global(class, array) };
        Ok(Place::Array(class, variable))
    }

    /// Tests whether elements are smaller than a word, and all accesses are to whole words.
    fn is_of_words(&self, buffer: Buffer) -> bool {
        let lane = self.kernel.buffer(buffer).lane;
        lane.bytes() < 4 && self.accesses(buffer).iter().all(|access| self.is_whole(access, elements_of_word(lane)))
    }

    fn array_of_words(&mut self, data: &BufferData) -> Place {
        let word = self.out.ty(Register::INT);
        let words = data.elements.div_ceil(elements_of_word(data.lane)).max(1);
        let array = self.out.array_type(word, u32::try_from(words).unwrap_or(u32::MAX));
        Place::Words(self.out.global(StorageClass::Workgroup, array))
    }

    fn bound(&self, buffer: Buffer, binding: u32, shares: bool) -> Place {
        let data = self.kernel.buffer(buffer);
        let accesses = self.accesses(buffer);
        let per_word = elements_of_word(data.lane);
        let whole = |elements: u64| accesses.iter().all(|access| self.is_whole(access, elements));
        let is_narrow = data.lane.bytes() < 4;
        let only = match () {
            _ if data.kind == BufferKind::Input => None,
            _ if !is_narrow && whole(4) => Some(View::Quads),
            _ if is_narrow && self.gpu.narrow_storage && !whole(per_word) => Some(View::Narrow),
            _ => Some(View::Words),
        };
        let parts = accesses.iter().any(|access| access.is_store && !self.is_whole(access, per_word));
        Place::Bound { binding, shares, views: vec![], only, shares_words: only == Some(View::Words) && is_narrow && parts }
    }

    /// Lists all accesses to a buffer.
    fn accesses(&self, buffer: Buffer) -> Vec<Access> {
        let statements = self.kernel.statements();
        let access = |inst: &Inst| match inst.run() {
            Some(Run { index, offset, elements, stores }) => Access { at: Some((index, offset)), count: elements, is_store: stores },
            None => Access { at: None, count: 1, is_store: false },
        };
        statements.filter(|statement| statement.inst.buffer() == Some(buffer)).map(|statement| access(&statement.inst)).collect()
    }

    /// Tests whether an access consists of whole, aligned groups of `elements` elements.
    fn is_whole(&self, access: &Access, elements: u64) -> bool {
        elements == 1 || u64::from(access.count).is_multiple_of(elements) && access.at.is_some_and(|at| self.is_aligned(at, elements))
    }

    /// Tests whether an access begins at a multiple of `elements`, a power of two. Buffers are aligned.
    pub fn is_aligned(&self, (index, offset): At, elements: u64) -> bool {
        let constant = self.indices.composed(index).map_or(0, |sum| sum.constant).wrapping_add(offset);
        self.indices.multiple_of_terms(index).min(exponent(constant)) >= elements.trailing_zeros()
    }

    /// Returns the register type of an element.
    ///
    /// # Errors
    /// [`CodegenError::Unsupported`] if it has 64 bits.
    pub fn element_register(&self, lane: Lane) -> Result<Register, CodegenError> {
        self.register(modelc_kernel::Type::scalar(lane))
    }

    /// Returns the view for an access to a buffer in device memory. The access begins at a multiple of `aligned` elements, and consists of whole
    /// groups of that size.
    pub fn view_for(&self, buffer: Buffer, aligned: u64) -> View {
        let lane = self.kernel.buffer(buffer).lane;
        match &self.places[buffer.index()] {
            Place::Bound { only: Some(only), .. } => *only,
            Place::Words(_) => View::Words,
            _ if lane.bytes() == 4 => {
                if aligned >= 4 {
                    View::Quads
                } else {
                    View::Words
                }
            }
            _ if self.gpu.narrow_storage && aligned < elements_of_word(lane) => View::Narrow,
            _ => View::Words,
        }
    }

    /// Tests whether positions share words of a buffer. Its loads and stores are then atomic.
    pub fn shares_words(&self, buffer: Buffer) -> bool {
        matches!(self.places[buffer.index()], Place::Bound { shares_words: true, .. })
    }

    /// Returns the element type of a view, its size in bytes, and the register that it is loaded to.
    fn element_type(&mut self, view: View, lane: Lane) -> (Word, u32, Register) {
        let kind = if lane.is_float() { Kind::Float } else { Kind::Int };
        match view {
            View::Quads => {
                let register = Register { kind, lanes: 4 };
                (self.out.ty(register), 16, register)
            }
            View::Words => {
                let register = Register { kind, lanes: 1 };
                (self.out.ty(register), 4, register)
            }
            View::Narrow => (self.out.integer_type(8 * lane.bytes()), lane.bytes(), Register::INT),
        }
    }

    /// Returns the decorations of a buffer's memory.
    fn accessed(&self, buffer: Buffer, shares: bool) -> &'static [Decoration] {
        let is_written = |data: &BufferData| matches!(data.kind, BufferKind::Output | BufferKind::Scratch);
        if !is_written(self.kernel.buffer(buffer)) {
            // A device may load non-writable memory at any time, and from its own caches.
            return if shares { &[Decoration::Aliased] } else { &[Decoration::NonWritable, Decoration::Restrict] };
        }
        let several = self.kernel.buffers.iter().filter(|data| is_written(data)).count() > 1;
        // Loads see writes of other positions after a barrier. Loads must also see earlier writes of the same position, which NVIDIA's driver 580
        // does not ensure.
        let loads_again = self.kernel.has_barrier() || self.kernel.reads(buffer);
        match (several || shares, loads_again) {
            (true, true) => &[Decoration::Aliased, Decoration::Coherent],
            (true, false) => &[Decoration::Aliased],
            (false, true) => &[Decoration::Restrict, Decoration::Coherent],
            (false, false) => &[Decoration::Restrict],
        }
    }

    /// Returns the variable of a view, and makes it at its first use.
    fn variable(&mut self, buffer: Buffer, view: View) -> Word {
        let data = self.kernel.buffer(buffer);
        let &Place::Bound { binding, shares, ref views, .. } = &self.places[buffer.index()] else { return 0 };
        if let Some((_, variable)) = views.iter().find(|(known, _)| *known == view) {
            return *variable;
        }
        let (element, bytes, _) = self.element_type(view, data.lane);
        let block = self.out.block_type(element, bytes);
        let variable = self.out.global(StorageClass::StorageBuffer, block);
        self.out.decorate(variable, Decoration::DescriptorSet, &[Operand::LiteralBit32(0)]);
        self.out.decorate(variable, Decoration::Binding, &[Operand::LiteralBit32(binding)]);
        for &decoration in self.accessed(buffer, shares) {
            self.out.decorate(variable, decoration, &[]);
        }
        match (view, data.lane) {
            (View::Narrow, Lane::I8) => {
                self.out.extension("SPV_KHR_8bit_storage");
                self.out.capability(Capability::StorageBuffer8BitAccess);
            }
            (View::Narrow, _) => self.out.capability(Capability::StorageBuffer16BitAccess),
            _ => {}
        }
        if let Place::Bound { views, .. } = &mut self.places[buffer.index()] {
            views.push((view, variable));
        }
        variable
    }

    /// Makes a pointer to an element of a view or of an array. Returns it with the element's type and register.
    pub fn pointer(&mut self, buffer: Buffer, view: View, element: Word) -> (Word, Word, Register) {
        let lane = self.kernel.buffer(buffer).lane;
        let array = match self.places[buffer.index()] {
            Place::Array(class, array) => Some((class, array)),
            Place::Words(array) => Some((StorageClass::Workgroup, array)),
            Place::Bound { .. } => None,
        };
        if let Some((class, array)) = array {
            let register = Register { kind: if lane.is_float() { Kind::Float } else { Kind::Int }, lanes: 1 };
            let ty = self.out.ty(register);
            let pointer = self.out.pointer_type(class, ty);
            return (self.out.result(Op::AccessChain, pointer, vec![Operand::IdRef(array), Operand::IdRef(element)]), ty, register);
        }
        let variable = self.variable(buffer, view);
        let (ty, _, register) = self.element_type(view, lane);
        let pointer = self.out.pointer_type(StorageClass::StorageBuffer, ty);
        let member = self.out.int(Register::INT, 0);
        let operands = [variable, member, element].map(Operand::IdRef).to_vec();
        (self.out.result(Op::AccessChain, pointer, operands), ty, register)
    }

    /// Computes the number of an element, `further` elements after an access.
    pub fn element(&mut self, (index, offset): At, further: u32) -> Word {
        let added = (offset as u32).wrapping_add(further);
        match self.constant_of(index) {
            Some(bits) => self.out.int(Register::INT, (bits as u32).wrapping_add(added)),
            None => {
                let index = self.one(index);
                self.plus(index, added)
            }
        }
    }

    /// Adds a constant to an integer.
    pub fn plus(&mut self, a: Word, number: u32) -> Word {
        if number == 0 {
            return a;
        }
        let number = self.out.int(Register::INT, number);
        self.out.op(Op::IAdd, Register::INT, &[a, number])
    }

    /// Tests whether a buffer is an array of registers.
    pub fn is_array(&self, buffer: Buffer) -> bool {
        matches!(self.places[buffer.index()], Place::Array(..))
    }
}
