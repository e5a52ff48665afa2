use super::*;
use crate::diagnostic::{Kind, codes};

fn output(path: PathBuf, contents: &[u8], kind: OutputKind) -> Output {
    Output { path, contents: contents.to_vec().into(), kind }
}

fn object(path: PathBuf, contents: &[u8]) -> Output {
    output(path, contents, OutputKind::Object)
}

fn header(path: PathBuf, contents: &str) -> Output {
    output(path, format!("{}{contents}", crate::emit::header::BEGINNING).as_bytes(), OutputKind::Header)
}

#[test]
fn all_files_are_written_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (good, bad) = (folder.path().join("a.o"), folder.path().join("missing/b.o"));
    let outputs = [object(good.clone(), b"1"), object(bad.clone(), b"2")];
    let error = write_all(&outputs, &[]).unwrap_err();
    assert!(error.code == codes::CANNOT_WRITE && error.message.contains("b.o") && !error.message.contains(".modelc-"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::create_dir(bad.parent().unwrap()).unwrap();
    write_all(&outputs, &[]).unwrap();
    assert_eq!((fs::read(&good).unwrap(), fs::read(&bad).unwrap()), (b"1".to_vec(), b"2".to_vec()));
    assert_eq!(write_all(&[object(folder.path().into(), b"")], &[]).unwrap_err().kind(), Kind::Io);
}

#[test]
fn an_equal_header_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.h");
    write_all(&[header(path.clone(), "1")], &[]).unwrap();
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    write_all(&[header(path.clone(), "1")], &[]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), old);
    write_all(&[header(path.clone(), "2")], &[]).unwrap();
    assert_ne!(fs::metadata(&path).unwrap().modified().unwrap(), old);
    assert!(fs::read(&path).unwrap().ends_with(b"2"));
}

#[test]
fn a_header_of_the_user_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.h");
    fs::write(&path, "#pragma once\n").unwrap();
    let outputs = [object(folder.path().join("main.o"), b"1"), header(path.clone(), "1")];
    assert_eq!(write_all(&outputs, &[]).unwrap_err().code, codes::FOREIGN_FILE);
    assert_eq!(fs::read(&path).unwrap(), b"#pragma once\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // An empty file holds nothing that could be lost.
    fs::write(&path, "").unwrap();
    write_all(&outputs, &[]).unwrap();
    let weights = output(path, b"modelcwt", OutputKind::Weights);
    assert_eq!(check_places(&[(&weights.path.with_extension("bin"), weights.kind)], &[]), Ok(()));
    fs::write(weights.path.with_extension("bin"), "mine").unwrap();
    assert_eq!(check_places(&[(&weights.path.with_extension("bin"), weights.kind)], &[]).unwrap_err().code, codes::FOREIGN_FILE);
}

#[test]
fn inputs_and_other_outputs_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("model"), "model").unwrap();
    fs::create_dir(at("sub")).unwrap();
    let check = |output: PathBuf| check_places(&[(&output, OutputKind::Object)], &[&at("model")]).err().map(|error| error.code);
    assert_eq!([at("model"), at("sub/../model"), at("./model")].map(check), [Some(codes::OUTPUT_IS_INPUT); 3]);
    assert_eq!(check(at("sub/model")), None);
    let two = |a: &str, b: &str| {
        let outputs = [(&*at(a), OutputKind::Object), (&*at(b), OutputKind::Json)];
        check_places(&outputs, &[]).err().map(|error| error.code)
    };
    assert_eq!(
        (two("net", "sub/../net"), two("net", "sub/net"), two("nowhere/net", "nowhere/net")),
        (Some(codes::OUTPUTS_COLLIDE), None, Some(codes::OUTPUTS_COLLIDE))
    );
    assert_eq!(check_places(&[(Path::new("/dev/null"), OutputKind::Object); 2], &[Path::new("/dev/null")]), Ok(()));
}

#[cfg(unix)]
#[test]
fn links_are_the_files_they_lead_to() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("model"), "model").unwrap();
    symlink(at("model"), at("soft")).unwrap();
    fs::hard_link(at("model"), at("hard")).unwrap();
    for (output, input) in [("soft", "model"), ("hard", "model"), ("model", "soft"), ("soft", "hard")] {
        let error = check_places(&[(&at(output), OutputKind::Object)], &[&at(input)]).unwrap_err();
        assert_eq!(error.code, codes::OUTPUT_IS_INPUT, "{output} {input}");
    }
}

#[cfg(unix)]
#[test]
fn links_stay_and_modes_follow_the_mask() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("a.o"), folder.path().join("link.o"));
    // An object that modelc made.
    fs::write(&path, b"modelc net_info\0").unwrap();
    symlink(&path, &link).unwrap();
    write_all(&[object(link.clone(), b"1")], &[]).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"1");
    let plain = folder.path().join("plain");
    fs::write(&plain, b"").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
    write_all(&[object("/dev/null".into(), b"1")], &[]).unwrap();
}
