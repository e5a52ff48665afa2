use super::*;
use crate::ir::ElementType;

fn tensor(element: ElementType, shape: &[u64], bytes: Vec<u8>) -> Tensor {
    Tensor { element, shape: shape.to_vec(), bytes }
}

fn of_one(name: &str, tensor: Tensor) -> Archive {
    Archive { tensors: [(name.to_owned(), tensor)].into(), ..Archive::default() }
}

#[test]
fn what_is_written_is_read_back() {
    let mut archive = Archive::default();
    for (element, name) in ElementType::ALL {
        if !element.is_packed() && element != ElementType::Bf16 {
            let bytes = (0..element.bits() / 8 * 6).map(|n| if element == ElementType::Bool { (n % 2) as u8 } else { n as u8 }).collect();
            archive.tensors.insert(name.into(), tensor(element, &[2, 3], bytes));
        }
    }
    archive.tensors.insert("in0_0".into(), tensor(ElementType::F64, &[], 2.5f64.to_le_bytes().to_vec()));
    archive.tensors.insert("in3_1".into(), tensor(ElementType::I8, &[0, 4], vec![]));
    archive.texts.insert("method0".into(), "forward é".into());
    let bytes = archive.to_bytes().unwrap();
    let read = Archive::parse(&bytes).unwrap();
    assert_eq!(read, archive);
    assert_eq!(read.calls(), 4);
    assert!(read.input(0, 0).is_some() && read.input(3, 1).is_some() && read.input(1, 0).is_none());
    assert_eq!(archive.to_bytes().unwrap(), bytes, "no time is in it");
}

#[test]
fn what_is_not_compressed_is_read_and_other_files_are_skipped() {
    let array = tensor(ElementType::F32, &[2], vec![1; 8]);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::DEFAULT.compression_method(CompressionMethod::Stored);
    for (name, contents) in [("in0.npy", to_npy(&array)), ("readme.txt", b"text".to_vec()), ("records.npy", header::write("<M8[s]", &[]))] {
        zip.start_file(name, options).unwrap();
        zip.write_all(&contents).unwrap();
    }
    let read = Archive::parse(&zip.finish().unwrap().into_inner()).unwrap();
    assert_eq!(read.tensors, of_one("in0", array).tensors);
    assert_eq!(read.others, [("records".to_owned(), "datetime64[s]".to_owned())].into());
}

#[test]
fn an_array_alone_is_an_archive_of_one() {
    let array = tensor(ElementType::F32, &[2], vec![1; 8]);
    let read = Archive::parse(&to_npy(&array)).unwrap();
    assert_eq!((read.contents(), read.is_of_one_call()), ("arr_0 float32[2]".into(), true));
    assert_eq!(read, of_one(ONLY, array));
    assert!(Archive::parse(&header::write("|O", &[2])).unwrap_err().to_string().contains("object"));
}

#[test]
fn contents_are_listed_by_numpy_s_names() {
    let mut archive = of_one("out1_0", tensor(ElementType::I8, &[1, 2], vec![0; 2]));
    assert!(!archive.is_of_one_call());
    archive.texts.insert("method0".into(), "forward".into());
    archive.others.insert("when".into(), "datetime64[s]".into());
    assert_eq!(archive.contents(), "out1_0 int8[1, 2], method0 (str), when (datetime64[s])");
    assert_eq!(Archive::default().contents(), "no array");
}

#[test]
fn damaged_files_are_errors() {
    let bytes = of_one("in0_0", tensor(ElementType::F32, &[2, 2], vec![1; 16])).to_bytes().unwrap();
    for cut in 0..bytes.len() {
        assert!(Archive::parse(&bytes[..cut]).is_err());
    }
    for position in 0..bytes.len() {
        for flip in [0x15, 0xFF, 0x80] {
            let mut flipped = bytes.clone();
            flipped[position] ^= flip;
            let _ = Archive::parse(&flipped);
        }
    }
}

#[test]
fn another_checksum_is_an_error() {
    let mut bytes = of_one("in0", tensor(ElementType::U8, &[64], (0..64).collect())).to_bytes().unwrap();
    // The central directory has the checksum 16 bytes after its signature.
    let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap() + 16;
    bytes[at] ^= 1;
    let error = Archive::parse(&bytes).unwrap_err();
    assert!(error.message.to_lowercase().contains("checksum"), "{error}");
}

#[test]
fn sizes_are_checked_before_anything_is_read() {
    let bytes = of_one("in0", tensor(ElementType::U8, &[1 << 20], vec![0; 1 << 20])).to_bytes().unwrap();
    let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    for claimed in [1u32 << 31, (1 << 20) + 1, 5] {
        let mut lying = bytes.clone();
        lying[directory + 24..directory + 28].copy_from_slice(&claimed.to_le_bytes());
        assert!(Archive::parse(&lying).is_err(), "{claimed}");
    }
    let mut unread = Unread { stored: 100, expanded: MAX_BYTES };
    assert!(unread.take(&Unread { stored: 60, expanded: 60 * MOST_EXPANSION }).is_ok());
    assert!(unread.take(&Unread { stored: 60, expanded: 60 }).is_err(), "two entries of 60 bytes are not in 100");
    assert!(unread.take(&Unread { stored: 1, expanded: MOST_EXPANSION + 1 }).is_err());
}
