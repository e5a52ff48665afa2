//! Computation of indices and addresses. An index is a constant plus multiples of registers. Each part of a sum is computed in the region that defines
//! its registers. So loop-invariant parts are computed before a loop.

use super::address::{Access, Address, Base};
use super::inst::Inst;
use super::lowering::{Lowering, Select};
use super::scope::{Linear, Scope, Terms};
use crate::CodegenError;
use crate::bug::{Form, Mistake};
use cranelift_entity::EntityRef;
use modelc_kernel::{Buffer, Inst as KernelInst, Type, Value};
use regalloc2::VReg;

impl<S: Select> Lowering<'_, S> {
    /// Notes a constant or a sum of indices, which needs no instruction. Returns `false` for other instructions.
    pub fn note(&mut self, inst: &KernelInst, result: Value) -> bool {
        if let KernelInst::Constant { bits } = inst {
            self.constants.insert(result, *bits);
            return true;
        }
        self.is_composed(result)
    }

    /// Tests whether a value is an index that is a sum of other indices, or a constant.
    pub(super) fn is_composed(&self, value: Value) -> bool {
        self.is_index(value) && self.indices.composed(value).is_some()
    }

    /// Tests whether a value is an index: by its type, or by its uses if this type has other uses, too.
    fn is_index(&self, value: Value) -> bool {
        self.ty(value) == S::INDEX && (S::INDEX == Type::INDEX || self.places.contains(value))
    }

    /// Returns a scalar index as a sum of registers.
    pub fn linear(&mut self, value: Value) -> Option<Linear> {
        let sum = self.indices.sum(value);
        sum.map(|term| self.general(term).ok())
    }

    /// Returns the value of a constant index.
    pub fn known(&self, value: Value) -> Option<i64> {
        if self.ty(value) == S::INDEX { self.indices.number(value) } else { None }
    }

    /// Adds an instruction to the region at a depth, at most the current depth.
    fn push_at(&mut self, depth: usize, inst: Inst<S::Op>) {
        let block = match self.scopes.get(depth) {
            Some(Scope { outlet: Some(outlet), .. }) if depth < self.depth() => *outlet,
            _ => self.block,
        };
        self.function.at(block).insts.push(inst);
    }

    fn scalar_at(&mut self, depth: usize) -> VReg {
        let register = self.scalar();
        self.depths.insert(register, depth);
        register
    }

    fn depth_of(&self, register: VReg) -> usize {
        self.depths.get(&register).copied().unwrap_or(0)
    }

    fn deepest(&self, terms: &Terms) -> usize {
        terms.iter().map(|term| self.depth_of(term.0)).max().unwrap_or(0)
    }

    /// Splits terms into those that are defined at a smaller depth, and the others.
    fn split(&self, terms: &Terms, depth: usize) -> (Terms, Terms) {
        terms.iter().partition(|term| self.depth_of(term.0) < depth)
    }

    /// Computes the product of a register and a constant, once for each region.
    fn product(&mut self, register: VReg, factor: i64) -> VReg {
        if factor == 1 {
            return register;
        }
        let depth = self.depth_of(register);
        if let Some(&known) = self.scopes[depth].products.get(&(register, factor)) {
            return known;
        }
        let result = self.scalar_at(depth);
        match S::multiple(result, register, factor) {
            Some(inst) => self.push_at(depth, inst),
            None => {
                let number = self.scalar_at(depth);
                self.push_at(depth, S::number(number, factor));
                self.push_at(depth, S::product(result, register, number));
            }
        }
        self.scopes[depth].products.insert((register, factor), result);
        result
    }

    /// Computes a sum in a register, once for each region.
    pub fn sum(&mut self, linear: &Linear) -> VReg {
        if let ([(register, 1)], 0) = (&linear.terms[..], linear.constant) {
            return *register;
        }
        let depth = self.deepest(&linear.terms);
        if linear.terms.is_empty() {
            // A constant is computed at its use: that costs an instruction, but no register in outer regions.
            let result = self.scalar();
            self.push(S::number(result, linear.constant));
            return result;
        }
        if let Some(&known) = self.scopes[depth].sums.get(linear) {
            return known;
        }
        let (outer, inner) = self.split(&linear.terms, depth);
        let mut sum = match outer.is_empty() {
            true => None,
            false => Some(self.sum(&Linear { terms: outer, constant: 0 })),
        };
        for (register, factor) in inner {
            let product = self.product(register, factor);
            sum = Some(match sum {
                None => product,
                Some(sum) => self.add_at(depth, sum, product),
            });
        }
        let Some(mut result) = sum else { return self.scalar() };
        if linear.constant != 0 {
            result = self.add_number_at(depth, result, linear.constant);
        }
        self.scopes[depth].sums.insert(linear.clone(), result);
        result
    }

    fn add_at(&mut self, depth: usize, a: VReg, b: VReg) -> VReg {
        let result = self.scalar_at(depth);
        self.push_at(depth, S::sum(result, a, b));
        result
    }

    fn add_number_at(&mut self, depth: usize, a: VReg, number: i64) -> VReg {
        if S::adds(number) {
            let result = self.scalar_at(depth);
            self.push_at(depth, S::sum_with(result, a, number));
            return result;
        }
        let far = self.scalar_at(depth);
        self.push_at(depth, S::number(far, number));
        self.add_at(depth, a, far)
    }

    /// Makes the address of `buffer[index + offset]` that is legal for an access.
    pub fn address(&mut self, buffer: Buffer, (index, offset): (Value, i64), access: Access) -> Result<Address, CodegenError> {
        let bytes = i64::from(self.kernel.buffer(buffer).lane.bytes());
        let Some(linear) = self.linear(index) else { return self.is_not(index, Form::Index) };
        let place = Linear::number(offset);
        let Some(place) = linear.plus(&place, 1).and_then(|sum| sum.times(bytes)) else {
            return self.bug(Mistake::Offset { offset, buffer: self.kernel.buffer(buffer).name.clone() });
        };
        Ok(self.place(buffer, &place, access))
    }

    /// Makes the address at a sum of bytes in a buffer. It has as many parts of the sum as are legal for the access; a register holds the others.
    fn place(&mut self, buffer: Buffer, place: &Linear, access: Access) -> Address {
        let depth = self.deepest(&place.terms);
        let (outer, inner) = self.split(&place.terms, if depth < self.depth() { depth + 1 } else { depth });
        if let [(register, factor)] = inner[..] {
            let root = self.root(buffer, &outer);
            if let Some(address) = self.with_index(root, (register, factor), place.constant, access) {
                return address;
            }
            if let Some(address) = self.far_with_index(root, (register, factor), place.constant, access) {
                return address;
            }
        }
        let root = self.root(buffer, &place.terms);
        if let Some(address) = root.far(place.constant).filter(|&address| S::legal(address, access)) {
            return address;
        }
        let whole = match root {
            Address { base: Base::Register(register), index: None, displacement: 0 } => register,
            _ => self.register_of(root),
        };
        Address::at(self.add_number_at(self.depth(), whole, place.constant))
    }

    /// Makes an address with an index and a displacement, if that is legal. The index is the register with a scale, or a computed product.
    fn with_index(&mut self, root: Address, (register, factor): (VReg, i64), number: i64, access: Access) -> Option<Address> {
        let far = root.far(number)?;
        if let Some(address) = far.indexed(register, factor).filter(|&address| S::legal(address, access)) {
            return Some(address);
        }
        // Computing the whole address costs no more than the product, and other accesses can reuse it.
        if root.indexed(register, factor).is_some_and(|address| S::legal(address, Access::Address)) {
            return None;
        }
        far.indexed(register, 1).filter(|&address| S::legal(address, access))?;
        far.indexed(self.product(register, factor), 1)
    }

    /// Makes an address with an index if the displacement is not legal. The displacement is added to the base, in the region that defines the base.
    fn far_with_index(&mut self, root: Address, (register, factor): (VReg, i64), number: i64, access: Access) -> Option<Address> {
        let Address { base: Base::Register(base), index: None, displacement: 0 } = root else { return None };
        if root.far(number).is_none_or(|far| S::legal(far, access)) || self.depth_of(base) >= self.depth() {
            return None;
        }
        let whole = root.indexed(register, factor).filter(|&whole| S::legal(whole, Access::Address))?;
        let far = self.sum(&Linear { terms: vec![(base, 1)], constant: number });
        let whole = Address { base: Base::Register(far), ..whole };
        Some(if S::legal(whole, access) { whole } else { Address::at(self.register_of(whole)) })
    }

    /// Computes an address in a register.
    pub fn register_of(&mut self, address: Address) -> VReg {
        let result = self.scalar();
        self.push(S::load_address(result, address));
        result
    }

    /// Computes the address of a buffer plus terms, once, in the region that defines the deepest term.
    fn root(&mut self, buffer: Buffer, terms: &Terms) -> Address {
        let (base, displacement) = self.bases[buffer.index()];
        if terms.is_empty() {
            return Address { base, index: None, displacement };
        }
        let depth = self.deepest(terms);
        let key = (buffer, terms.clone());
        let register = match self.scopes[depth].addresses.get(&key) {
            Some(&known) => known,
            None => {
                let (outer, inner) = self.split(terms, depth);
                let mut address = self.root(buffer, &outer);
                for (register, factor) in inner {
                    let whole = match address.indexed(register, factor).filter(|&address| S::legal(address, Access::Address)) {
                        Some(whole) => whole,
                        None => Address { index: Some((self.product(register, factor), 0)), ..address },
                    };
                    let result = self.scalar_at(depth);
                    self.push_at(depth, S::load_address(result, whole));
                    address = Address::at(result);
                }
                let Base::Register(register) = address.base else { return address };
                self.scopes[depth].addresses.insert(key, register);
                register
            }
        };
        Address::at(register)
    }

    /// Makes the address of an element with a constant number that is legal for an access.
    pub fn element_at(&mut self, buffer: Buffer, element: i64, access: Access) -> Address {
        let bytes = i64::from(self.kernel.buffer(buffer).lane.bytes());
        self.place(buffer, &Linear::number(element * bytes), access)
    }

    /// Makes the address of one element by an index in a register.
    pub fn element(&mut self, buffer: Buffer, index: VReg) -> Address {
        let (base, displacement) = self.bases[buffer.index()];
        let bytes = self.kernel.buffer(buffer).lane.bytes();
        let start = Address { base, index: None, displacement };
        match self.with_index(start, (index, bytes.into()), 0, Access::one(bytes)) {
            Some(address) => address,
            None => {
                let whole = Address { index: Some((self.product(index, bytes.into()), 0)), ..start };
                Address::at(self.register_of(whole))
            }
        }
    }
}
