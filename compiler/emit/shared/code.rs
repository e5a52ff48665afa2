//! The code of a library: all functions in one section, then a stub for each imported function.

use super::bug::bug;
use super::patch::patch;
use super::stubs::{Linked, SLOT, STUB};
use crate::codegen::section::Section as Data;
use crate::codegen::{CompiledFunction, CompiledModel, Relocation, RelocationKind, RelocationTarget};
use crate::diagnostic::Diagnostic;

/// The section `.text`.
pub struct Code<'a> {
    compiled: &'a CompiledModel,
    linked: &'a Linked,
    /// Bytes before relocation.
    pub bytes: Vec<u8>,
    /// Alignment of the section.
    pub alignment: u64,
    /// Offset of each function.
    pub functions: Vec<u64>,
    /// Offset of the first stub.
    stubs: u64,
}

impl<'a> Code<'a> {
    /// Lays out the functions and stubs.
    pub fn new(compiled: &'a CompiledModel, linked: &'a Linked) -> Self {
        let mut code = Self { compiled, linked, bytes: vec![], alignment: STUB as u64, functions: vec![], stubs: 0 };
        for function in &compiled.functions {
            code.alignment = code.alignment.max(function.code.alignment);
            let start = code.align(function.code.alignment);
            code.functions.push(start);
            code.bytes.extend(&function.code.bytes);
        }
        code.stubs = code.align(STUB as u64);
        for _ in &compiled.imports {
            code.bytes.extend(linked.stub.code);
        }
        code
    }

    /// Pads to an alignment with the filler byte.
    fn align(&mut self, alignment: u64) -> u64 {
        let end = (self.bytes.len() as u64).next_multiple_of(alignment);
        self.bytes.resize(end as usize, self.linked.filler);
        end
    }

    /// Returns the code with addresses of sections filled in; `data` names the section of each piece of data.
    ///
    /// # Errors
    /// A bug's diagnostic if a distance does not fit.
    pub fn linked(&self, address: &dyn Fn(&str) -> u64, data: &[String]) -> Result<Vec<u8>, Diagnostic> {
        let mut bytes = self.bytes.clone();
        let text = address(".text");
        let data: Vec<u64> = data.iter().map(|name| address(name)).collect();
        for (function, &start) in self.compiled.functions.iter().zip(&self.functions) {
            for relocation in &function.code.relocations {
                let (target, place) = self.ends(function, start, relocation, (text, &data))?;
                patch(relocation.kind, &mut bytes, start as usize + relocation.offset as usize, target, place)
                    .ok_or_else(|| bug(format!("{} reaches too far: {relocation:?}", function.name)))?;
            }
        }
        for (number, import) in self.compiled.imports.iter().enumerate() {
            let (at, slot) = (self.stubs as usize + number * STUB, address(".got") + number as u64 * SLOT);
            for field in self.linked.stub.fields {
                let place = text + (at + field.from) as u64;
                patch(field.kind, &mut bytes, at + field.at, slot, place).ok_or_else(|| bug(format!("no way to {}", import.symbol)))?;
            }
        }
        Ok(bytes)
    }

    /// Fills the distances to functions into a piece of data at the address `start`.
    ///
    /// # Errors
    /// A bug's diagnostic if a distance does not fit, or its target is no function.
    pub fn fill_distances(&self, bytes: &mut [u8], start: u64, text: u64, data: &Data) -> Result<(), Diagnostic> {
        for relocation in &data.relocations {
            let wrong = || bug(format!("{} has no distance: {relocation:?}", data.name));
            let RelocationTarget::Function(number) = relocation.target else { return Err(wrong()) };
            let target = text + self.functions.get(number as usize).ok_or_else(wrong)?;
            let (at, target) = (relocation.offset, target.wrapping_add_signed(relocation.addend));
            patch(relocation.kind, bytes, at as usize, target, start + u64::from(at)).ok_or_else(wrong)?;
        }
        Ok(())
    }

    /// Returns the address that a relocation refers to, and the address relative to which its distance counts.
    fn ends(
        &self,
        function: &CompiledFunction,
        start: u64,
        relocation: &Relocation,
        (text, data): (u64, &[u64]),
    ) -> Result<(u64, u64), Diagnostic> {
        let place = text + start + u64::from(relocation.offset);
        let missing = || bug(format!("{} refers to nothing: {relocation:?}", function.name));
        let target = match relocation.target {
            RelocationTarget::Function(number) => text + self.functions.get(number as usize).ok_or_else(missing)?,
            RelocationTarget::Support(_) => return Err(missing()),
            RelocationTarget::External(number) => text + self.stubs + u64::from(number) * STUB as u64,
            RelocationTarget::Data(number) => *data.get(number as usize).ok_or_else(missing)?,
            // The lower part of a distance names the instruction with the upper part, which has the target.
            RelocationTarget::Here(at) if relocation.kind == RelocationKind::RiscvLow => {
                let is_upper = |other: &&Relocation| other.offset == at && other.kind == RelocationKind::RiscvHigh;
                let upper = function.code.relocations.iter().find(is_upper).ok_or_else(missing)?;
                return self.ends(function, start, upper, (text, data));
            }
            RelocationTarget::Here(at) => text + start + u64::from(at),
        };
        Ok((target.wrapping_add_signed(relocation.addend), place))
    }
}
