use super::declaration::name_and_type;
use super::*;
use crate::device::{FIELDS, Field};
use crate::{RECORD, Record};

fn offsets<F: Copy + PartialEq>(of: &Struct<F>, pointer: u64) -> (Vec<i32>, u64) {
    let layout = Layout { pointer };
    (of.kinds().map(|(member, _)| of.offset(member, layout)).collect(), of.bytes(layout))
}

#[test]
fn structs_are_laid_out_as_c_does() {
    assert_eq!(offsets(&CONFIG, 8), (vec![0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80], 88));
    assert_eq!(offsets(&CONFIG, 4), (vec![0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48], 56));
    assert_eq!(offsets(&HOST, 8), (vec![0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72], 80));
    assert_eq!(offsets(&TENSOR, 8), (vec![0, 8, 16, 24, 28, 32, 36], 40));
    assert_eq!(offsets(&TENSOR, 4), (vec![0, 4, 8, 12, 16, 20, 24], 28));
    assert_eq!(offsets(&PORT, 8), (vec![0, 8, 16, 17, 18, 20, 24, 32, 40, 48, 52], 56));
    assert_eq!(offsets(&PORT, 4), (vec![0, 4, 8, 9, 10, 12, 16, 20, 24, 28, 32], 36));
    assert_eq!(offsets(&GPU_INFO, 8), (vec![0, 4, 8, 12, 16, 24, 28, 32, 36, 40, 44, 304, 312], 320));
}

/// Checks that each variant of the enumeration up to the last is a member, in this order.
fn has_all<F: Copy + PartialEq>(of: &Struct<F>, number: impl Fn(F) -> usize, last: F) {
    let numbers: Vec<usize> = of.kinds().map(|(member, _)| number(member)).collect();
    assert_eq!(numbers, (0..=number(last)).collect::<Vec<_>>());
}

#[test]
fn every_member_has_a_row() {
    has_all(&CONFIG, |member| member as usize, Config::Vk);
    has_all(&HOST, |member| member as usize, Host::Allocator);
    has_all(&TENSOR, |member| member as usize, Tensor::ZeroPoint);
    has_all(&PORT, |member| member as usize, PortMember::ZeroPoint);
    has_all(&GPU_INFO, |member| member as usize, GpuInfo::GpuNs);
    has_all(&RECORD, |field| field as usize, Record::Areas);
    has_all(&FIELDS, |field| field as usize, Field::Functions);
}

/// Returns the name and the kind of each member that C declares in a row.
fn in_c(declaration: &str) -> Vec<(&str, Member)> {
    let ty = declaration.rsplit_once(", ").map_or(declaration, |(first, _)| first).trim_start_matches("const ").split(' ').next();
    let single = match ty.unwrap_or_default() {
        "uint8_t" => Member::Byte,
        "uint16_t" => Member::Half,
        "uint32_t" | "int32_t" | "float" => Member::Single,
        "uint64_t" => Member::Long,
        _ => Member::Word,
    };
    declaration.split(", ").map(|text| declarator(text, single)).collect()
}

/// Returns the name and the kind of one member; `single` is the kind of a plain one.
fn declarator(text: &str, single: Member) -> (&str, Member) {
    let (name, kind) = match (text.split_once("(*"), text.split_once('[')) {
        (Some((_, function)), _) => (function.split(')').next(), Member::Word),
        (None, Some((array, count))) => (array.rsplit(' ').next(), Member::Bytes(count.trim_end_matches(']').parse().unwrap())),
        (None, None) => (text.rsplit([' ', '*']).next(), if text.contains('*') { Member::Word } else { single }),
    };
    (name.unwrap(), kind)
}

/// Returns the kind of a type in Rust.
fn in_rust(ty: &str) -> Member {
    match ty {
        "u32" | "i32" | "f32" => Member::Single,
        "u64" => Member::Long,
        "[u8; 256]" => Member::Bytes(256),
        _ if ty == "usize" || ty.starts_with(['*', 'O']) => Member::Word,
        _ => panic!("no member has the type {ty}"),
    }
}

/// Checks that C and Rust declare the members of each row, with its kind.
fn check<F>(of: &Struct<F>) {
    for row in of.rows {
        let in_c: Vec<Member> = in_c(row.c).into_iter().map(|(_, kind)| kind).collect();
        let rust = row.rust.iter().filter_map(|line| name_and_type(line));
        let rust: Vec<Member> = rust.map(|(_, ty)| in_rust(ty)).collect();
        let wanted = vec![row.kind; row.members.len()];
        assert_eq!(in_c, wanted, "{}", row.c);
        assert!(rust.is_empty() || rust == wanted, "{rust:?} of {}", row.c);
    }
}

#[test]
fn declarations_have_the_kinds_of_their_rows() {
    check(&CONFIG);
    check(&HOST);
    check(&TENSOR);
    check(&PORT);
    check(&GPU_INFO);
}

/// Lists the members of a struct with their names in C.
fn named<F>(of: &Struct<F>) -> Vec<(&'static str, Member)> {
    of.rows.iter().flat_map(|row| in_c(row.c)).collect()
}

/// Reads a file of this repository.
fn file(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(path).expect("the file can be read")
}

#[test]
fn the_runtime_crate_declares_the_same() {
    let text = file("runtime/src/lib.rs");
    let members = |name: &str| {
        let (_, members) = text.split_once(&format!("pub struct {name} {{\n")).expect("the crate has the struct");
        let (members, _) = members.split_once("\n}\n").expect("the struct ends");
        members.lines().filter_map(name_and_type).map(|(name, ty)| (name, in_rust(ty))).collect::<Vec<_>>()
    };
    assert_eq!(members("Config"), named(&CONFIG));
    assert_eq!(members("VkHost"), named(&HOST));
    assert_eq!(members("GpuInfo"), named(&GPU_INFO));
}

#[test]
fn the_python_package_declares_the_same() {
    let text = file("python/modelc/_shared.py");
    let (_, members) = text.split_once("_fields_ = [\n").expect("the package has the struct");
    let (members, _) = members.split_once("    ]\n").expect("the struct ends");
    let kind = |ty: &str| match ty {
        "c_uint32" => Member::Single,
        "c_uint64" => Member::Long,
        "c_void_p" | "c_size_t" => Member::Word,
        _ => panic!("no member has the type {ty}"),
    };
    let members = members.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.strip_suffix("),")?.split_once("\", ctypes."));
    let members: Vec<_> = members.map(|(name, ty)| (name, kind(ty))).collect();
    assert_eq!(members, named(&CONFIG));
}

#[test]
fn zeros_of_rust_have_the_types_of_members() {
    let zeros = CONFIG.rust_zeros("", "88");
    assert!(zeros.starts_with("struct_size: 88,\nflags: 0,\nweights: core::ptr::null(),\n"), "{zeros}");
    assert!(zeros.contains("\nparallel_for: None,\nthreads: 0,\n") && zeros.contains("\nuser: core::ptr::null_mut(),\n"), "{zeros}");
    assert!(GPU_INFO.rust_zeros("  ", "320").contains("\n  device_name: [0; 256],\n  cpu_ns: 0,\n"));
}
