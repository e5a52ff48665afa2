//! A compiled model, with names, counts and checks that are the same in all languages.

use super::port::Method;
use crate::codegen::driver::ImportKind;
use crate::emit::c_text::comment;
use crate::emit::info::ModelRecord;
use crate::emit::object::ObjectFiles;
use crate::emit::options::ModelInfo;
use crate::interface::Interface;
use crate::program::Program;

/// A compiled model to wrap.
pub(super) struct Wrapped<'a> {
    pub(super) program: &'a Program,
    pub(super) model: &'a ModelInfo,
    pub(super) record: &'a ModelRecord,
    pub(super) interface: &'a Interface,
    pub(super) has_external_weights: bool,
    /// Functions that the application defines.
    pub(super) customs: Vec<&'a str>,
}

impl<'a> Wrapped<'a> {
    pub(super) fn new(program: &'a Program, model: &'a ModelInfo, files: &'a ObjectFiles) -> Self {
        let compiled = &files.compiled;
        let customs = compiled.imports.iter().filter(|import| import.kind == ImportKind::Custom).map(|import| &*import.symbol);
        Self {
            program,
            model,
            record: &files.record,
            interface: &compiled.interface,
            has_external_weights: compiled.external.is_some(),
            customs: customs.collect(),
        }
    }

    /// Returns the methods, with names that a language accepts: a reserved name gets `_` at its end.
    pub(super) fn methods(&self, reserved: &[&str]) -> Vec<Method<'_>> {
        let c_names = || self.interface.methods.iter().map(|method| &*method.identifier);
        let is_taken = |name: &str| reserved.contains(&name) || c_names().any(|other| other == name);
        let free = |c_name: &str| {
            let mut name = c_name.to_owned();
            while reserved.contains(&&*name) || name != c_name && is_taken(&name) {
                name.push('_');
            }
            name
        };
        let methods = self.program.methods.iter().zip(&self.interface.methods);
        methods.map(|(method, interface)| Method::new(method, &interface.identifier, free(&interface.identifier))).collect()
    }

    /// Tells whether a copy of the state contains the whole instance: no state is on a GPU or in a memory area.
    pub(super) fn has_snapshots(&self) -> bool {
        self.program.device.is_none() && self.record.footprint.area_bytes.is_empty()
    }

    /// Returns a template with its parts, and then the numbers of the model, in place of their names.
    pub(super) fn filled(&self, template: &str, parts: &[(&str, String)]) -> String {
        let footprint = &self.record.footprint;
        let numbers = [
            ("STATE_BYTES", footprint.state_bytes),
            ("SCRATCH_BYTES", footprint.scratch_bytes),
            ("ARENA_BYTES", footprint.arena_bytes()),
            ("STACK_BYTES", footprint.stack_bytes),
            ("FLASH_BYTES", footprint.flash_bytes()),
            ("ALIGNMENT", self.program.alignment.bytes()),
        ];
        let filled = parts.iter().fold(template.to_owned(), |text, (name, part)| fill(&text, name, part));
        let filled = numbers.iter().fold(filled, |text, (name, number)| fill(&text, name, &number.to_string()));
        let filled = fill(&filled, "VERSION", &self.record.version);
        let filled = fill(&filled, "FILE", &comment(self.model.file_name()));
        let filled = fill(&filled, "TARGET", &format!("{} ({})", self.record.target, self.record.levels));
        fill(&filled, "name", &self.interface.name)
    }
}

/// Replaces a name in braces by a text.
fn fill(template: &str, name: &str, text: &str) -> String {
    template.replace(&format!("{{{{{name}}}}}"), text)
}
