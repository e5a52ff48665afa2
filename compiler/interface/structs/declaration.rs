//! Declarations of structs in C and in Rust.

use super::table::{Row, Struct};

impl<F: Copy> Struct<F> {
    /// Returns the members as C declares them, a line for each declaration.
    pub fn c_members(&self) -> String {
        self.rows.iter().map(c_line).collect()
    }

    /// Returns the struct in C.
    pub fn c_struct(&self) -> String {
        format!("struct {} {{\n{}}};\n", self.name, self.c_members())
    }

    /// Returns the struct and a type of its name in C.
    pub fn c_type(&self) -> String {
        format!("typedef struct {name} {{\n{}}} {name};\n", self.c_members(), name = self.name)
    }

    /// Returns an initializer in C. `value` writes the value of a member.
    pub fn c_initializer(&self, value: impl Fn(F) -> String) -> String {
        let values: Vec<String> = self.rows.iter().flat_map(|row| row.members).map(|&member| value(member)).collect();
        format!("{{ {} }}", values.join(", "))
    }

    /// Returns the members as Rust declares them.
    pub fn rust_members(&self) -> String {
        self.rows.iter().flat_map(|row| row.rust).map(|line| format!("    {line}\n")).collect()
    }

    /// Returns the members of a Rust constant, a line for each. The first member, the size, has the value `size`; all others are 0.
    pub fn rust_zeros(&self, indent: &str, size: &str) -> String {
        let lines = self.rows.iter().flat_map(|row| row.rust);
        let line = |(number, (name, ty)): (usize, (&str, &str))| {
            let value = if number == 0 { size.to_owned() } else { zero(ty) };
            format!("{indent}{name}: {value},\n")
        };
        lines.filter_map(|line| name_and_type(line)).enumerate().map(line).collect()
    }
}

fn c_line<F>(row: &Row<F>) -> String {
    match row.comment {
        "" => format!("  {};\n", row.c),
        comment => format!("  {}; /* {comment} */\n", row.c),
    }
}

/// Splits a line that declares a member in Rust; `None` for documentation.
pub(super) fn name_and_type(line: &str) -> Option<(&str, &str)> {
    let declaration = line.trim().strip_suffix(',')?;
    declaration.strip_prefix("pub ").unwrap_or(declaration).split_once(": ").filter(|_| !line.contains("///"))
}

/// Returns the zero of a type in Rust.
fn zero(ty: &str) -> String {
    match ty {
        _ if ty.starts_with("*const ") => "core::ptr::null()".into(),
        _ if ty.starts_with("*mut ") => "core::ptr::null_mut()".into(),
        _ if ty.starts_with("Option<") => "None".into(),
        _ if ty.starts_with('[') => ty.replacen("u8", "0", 1),
        _ => "0".into(),
    }
}
