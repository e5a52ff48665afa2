//! Static libraries in the common `ar` format with a GNU symbol index, deterministic: no time, no owner.

/// An archive of one object, whose index lists its global symbols.
pub fn archive(member: &str, object: &[u8], symbols: &[String]) -> Vec<u8> {
    let index = symbol_index(symbols, 0);
    // Names longer than a header's field stand in a member of their own.
    let short = member.len() < 16 && !member.contains('/');
    let long_names = if short { String::new() } else { format!("{}/\n", member.replace('/', "_")) };
    let member_name = if short { format!("{member}/") } else { "/0".into() };
    let mut offset = MAGIC.len() + HEADER_BYTES + index.len().next_multiple_of(2);
    if !long_names.is_empty() {
        offset += HEADER_BYTES + long_names.len().next_multiple_of(2);
    }
    let mut bytes = MAGIC.to_vec();
    add(&mut bytes, "/", &symbol_index(symbols, offset as u32));
    if !long_names.is_empty() {
        add(&mut bytes, "//", long_names.as_bytes());
    }
    add(&mut bytes, &member_name, object);
    bytes
}

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: usize = 60;

/// The number of symbols, the offset of the member that defines each, their names; numbers are big-endian.
fn symbol_index(symbols: &[String], member: u32) -> Vec<u8> {
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

/// A member: name, time, owner, group, mode, size in fields of fixed width, then the contents, padded to even.
fn add(archive: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, "100644", contents.len());
    debug_assert_eq!(header.len(), HEADER_BYTES);
    archive.extend(header.bytes());
    archive.extend_from_slice(contents);
    if contents.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::archive;
    use object::read::archive::ArchiveFile;

    #[test]
    fn members_and_symbols_are_found_again() {
        for member in ["net.o", "a_name_longer_than_the_field.o"] {
            let symbols = ["net_init".to_string(), "net_info".to_string()];
            let bytes = archive(member, b"odd", &symbols);
            let file = ArchiveFile::parse(&*bytes).unwrap();
            let members: Vec<_> = file.members().map(Result::unwrap).collect();
            assert_eq!(members.len(), 1);
            assert_eq!(members[0].name(), member.as_bytes());
            assert_eq!(members[0].data(&*bytes).unwrap(), b"odd");
            for (symbol, name) in file.symbols().unwrap().unwrap().map(Result::unwrap).zip(symbols) {
                assert_eq!(symbol.name(), name.as_bytes());
                assert_eq!(file.member(symbol.offset()).unwrap().data(&*bytes).unwrap(), b"odd");
            }
        }
    }
}
