//! Static libraries of one object, without time and owner. The format is GNU's form of `ar`, which Microsoft's linker also reads, or BSD's,
//! which Apple's linker reads.

use super::image::Image;
use crate::target::ObjectFormat;

/// Makes an archive of one object. Its index lists the object's global symbols, as the object spells them.
pub fn archive(format: ObjectFormat, member: &str, object: &Image, symbols: &[String]) -> Image {
    match format {
        ObjectFormat::Elf | ObjectFormat::Coff => gnu(member, object, symbols),
        ObjectFormat::MachO => bsd(member, object, symbols),
    }
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: usize = 60;

fn gnu(member: &str, object: &Image, symbols: &[String]) -> Image {
    // A name that is longer than the header's field is in a separate member.
    let short = member.len() < 16 && !member.contains('/');
    let long_names = if short { String::new() } else { format!("{}/\n", member.replace('/', "_")) };
    let member_name = if short { format!("{member}/") } else { "/0".into() };
    let mut offset = MAGIC.len() + HEADER_BYTES + gnu_index(symbols, 0).len().next_multiple_of(2);
    if !long_names.is_empty() {
        offset += HEADER_BYTES + long_names.len().next_multiple_of(2);
    }
    let mut archive = Image::from(MAGIC.to_vec());
    add(&mut archive, "/", gnu_index(symbols, offset as u32).into());
    if !long_names.is_empty() {
        add(&mut archive, "//", long_names.into_bytes().into());
    }
    add(&mut archive, &member_name, object.clone());
    archive
}

/// Returns the index: the number of symbols, the offset of each symbol's member, and the names. Numbers are big-endian.
fn gnu_index(symbols: &[String], member: u32) -> Vec<u8> {
    let mut index = (symbols.len() as u32).to_be_bytes().to_vec();
    for _ in symbols {
        index.extend(member.to_be_bytes());
    }
    for symbol in symbols {
        index.extend(symbol.bytes());
        index.push(0);
    }
    index
}

fn bsd(member: &str, object: &Image, symbols: &[String]) -> Image {
    let index_name = "__.SYMDEF";
    let offset = MAGIC.len() + HEADER_BYTES + (bsd_name(index_name).len() + bsd_index(symbols, 0).len()).next_multiple_of(8);
    let mut archive = Image::from(MAGIC.to_vec());
    for (name, contents) in [(index_name, bsd_index(symbols, offset as u32).into()), (member, object.clone())] {
        // The name is before the contents and counts as part of them.
        let padded = bsd_name(name);
        let mut named = Image::from(padded.clone());
        named.append(&contents);
        named.align(8);
        add(&mut archive, &format!("#1/{}", padded.len()), named);
    }
    archive
}

/// Returns a name with zeros after it, so that the object after it is aligned.
fn bsd_name(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Returns the index: the bytes of the table, the table, the bytes of the names, the names. The table has the offsets of each symbol's name and
/// member. Numbers are little-endian.
fn bsd_index(symbols: &[String], member: u32) -> Vec<u8> {
    let mut names = Vec::new();
    let mut index = (8 * symbols.len() as u32).to_le_bytes().to_vec();
    for symbol in symbols {
        index.extend((names.len() as u32).to_le_bytes());
        index.extend(member.to_le_bytes());
        // The object's symbols have C's prefix.
        names.push(b'_');
        names.extend(symbol.bytes());
        names.push(0);
    }
    names.resize(names.len().next_multiple_of(8), 0);
    index.extend((names.len() as u32).to_le_bytes());
    index.extend(names);
    index
}

/// Adds a member: name, time, owner, group, mode and size in fields of fixed width, then the contents, padded to an even length.
fn add(archive: &mut Image, name: &str, contents: Image) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", contents.len());
    debug_assert_eq!(header.len(), HEADER_BYTES);
    archive.push(header.into_bytes());
    archive.append(&contents);
    if contents.len() % 2 == 1 {
        archive.push(b"\n".to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::read::archive::ArchiveFile;

    #[test]
    fn members_and_symbols_are_found_again() {
        for format in [ObjectFormat::Elf, ObjectFormat::Coff, ObjectFormat::MachO] {
            for member in ["net.o", "a_name_longer_than_the_field.o"] {
                let symbols = ["net_init".to_string(), "net_info".to_string()];
                let bytes = archive(format, member, &b"odd".to_vec().into(), &symbols).to_vec();
                let file = ArchiveFile::parse(&*bytes).unwrap();
                let members: Vec<_> = file.members().map(Result::unwrap).collect();
                assert_eq!(members.len(), 1);
                assert_eq!(members[0].name(), member.as_bytes());
                assert!(members[0].data(&*bytes).unwrap().starts_with(b"odd"));
                for (symbol, name) in file.symbols().unwrap().unwrap().map(Result::unwrap).zip(symbols) {
                    let spelled = if format == ObjectFormat::MachO { format!("_{name}") } else { name };
                    assert_eq!(symbol.name(), spelled.as_bytes());
                    assert!(file.member(symbol.offset()).unwrap().data(&*bytes).unwrap().starts_with(b"odd"));
                }
            }
        }
    }
}
