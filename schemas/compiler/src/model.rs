//! A checked schema: every name resolved, every slot and value assigned.

/// Declarations of one file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) enums: Vec<Enum>,
    pub(crate) unions: Vec<Union>,
    pub(crate) tables: Vec<Table>,
    /// The root table's name.
    pub(crate) root: Option<String>,
    /// The file identifier: four characters.
    pub(crate) identifier: Option<String>,
}

/// A type of some module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) module: String,
    pub(crate) name: String,
}

/// An enum over an integer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Enum {
    pub(crate) name: String,
    pub(crate) base: Scalar,
    /// Names and values, the latter within the range of `base`.
    pub(crate) members: Vec<(String, i128)>,
}

/// A union; member `i` has tag `i + 1`, and 0 means none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Union {
    pub(crate) name: String,
    pub(crate) members: Vec<UnionMember>,
}

/// One member; its name may differ from its table's.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnionMember {
    pub(crate) name: String,
    pub(crate) table: Reference,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// A field that is read and written. Deprecated fields are left out, but their slots count.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// Name in snake case.
    pub(crate) name: String,
    /// Position of the field's offset in a vtable: after 4 bytes of sizes, 2 bytes for each slot. The tag of a union is in the slot before.
    pub(crate) vtable_offset: u16,
    pub(crate) kind: FieldKind,
}

/// Type of a field. `default` is the value of an absent field, as Rust.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldKind {
    Scalar { scalar: Scalar, default: String },
    Enum { name: Reference, base: Scalar, default: i128 },
    String,
    Table(Reference),
    Union { name: Reference, members: Vec<UnionMember> },
    Vector(Element),
}

/// Type of a vector's elements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    Scalar(Scalar),
    Enum(Reference),
    String,
    Table(Reference),
}

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Scalar {
    /// Returns the scalar with this name in schemas, by either of its names.
    pub(crate) fn from_schema(name: &str) -> Option<Scalar> {
        Some(match name {
            "bool" => Scalar::Bool,
            "byte" | "int8" => Scalar::I8,
            "ubyte" | "uint8" => Scalar::U8,
            "short" | "int16" => Scalar::I16,
            "ushort" | "uint16" => Scalar::U16,
            "int" | "int32" => Scalar::I32,
            "uint" | "uint32" => Scalar::U32,
            "long" | "int64" => Scalar::I64,
            "ulong" | "uint64" => Scalar::U64,
            "float" | "float32" => Scalar::F32,
            "double" | "float64" => Scalar::F64,
            _ => return None,
        })
    }

    /// Returns the Rust type.
    pub(crate) fn rust(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::I8 => "i8",
            Scalar::U8 => "u8",
            Scalar::I16 => "i16",
            Scalar::U16 => "u16",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// Returns the bytes in a file.
    pub(crate) fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    /// Returns the smallest and largest value of an integer type.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Scalar::I8 => (i8::MIN.into(), i8::MAX.into()),
            Scalar::U8 => (0, u8::MAX.into()),
            Scalar::I16 => (i16::MIN.into(), i16::MAX.into()),
            Scalar::U16 => (0, u16::MAX.into()),
            Scalar::I32 => (i32::MIN.into(), i32::MAX.into()),
            Scalar::U32 => (0, u32::MAX.into()),
            Scalar::I64 => (i64::MIN.into(), i64::MAX.into()),
            Scalar::U64 => (0, u64::MAX.into()),
            Scalar::Bool | Scalar::F32 | Scalar::F64 => return None,
        })
    }
}
