//! Arrays of users: their accepted names, and messages about arrays that do not fit.

use super::folder::{Folder, text};
use modelc::ir::{ElementType, Tensor};
use modelc::npz::{Archive, to_npy};

fn archive(arrays: &[(&str, &Tensor)]) -> Vec<u8> {
    let tensors = arrays.iter().map(|(name, tensor)| ((*name).to_owned(), (*tensor).clone())).collect();
    Archive { tensors, ..Archive::default() }.to_bytes().expect("an archive")
}

/// Returns an input of the model, and its output.
fn call(folder: &Folder) -> (Tensor, Tensor) {
    let shape = folder.input().1;
    let bytes = (0..shape.iter().product::<u64>()).map(|n| n as u8).collect();
    let input = Tensor { element: ElementType::I8, shape, bytes };
    folder.put("in.npz", archive(&[("in0_0", &input)]));
    folder.done(&["run", "m.tflite", "--inputs", "in.npz", "--outputs", "out.npz"]);
    let outputs = Archive::read(&folder.at("out.npz")).expect("the outputs");
    (input, outputs.tensors["out0_0"].clone())
}

#[test]
fn arrays_of_one_call_are_called_by_number_or_name() {
    let folder = Folder::new();
    let (input, output) = call(&folder);
    let name = folder.input().0;
    let listed = text(&folder.done(&["inspect", "m.tflite", "--json"]).stdout);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let out_name = listed["methods"][0]["outputs"][0]["name"].as_str().expect("a name").to_owned();
    let verify = |inputs: &str, expected: &str| {
        let output = folder.done(&["verify", "m.tflite", "--inputs", inputs, "--expected", expected]);
        assert!(text(&output.stdout).contains("1 output of 1 call agree"), "{inputs} {expected}");
    };
    for spelling in ["in0", "in0_0", &name, "arr_0"] {
        folder.put("given.npz", archive(&[(spelling, &input)]));
        verify("given.npz", "out.npz");
    }
    for spelling in ["out0", "out0_0", &out_name, "arr_0"] {
        folder.put("expected.npz", archive(&[(spelling, &output), ("of_no_output", &input)]));
        verify("in.npz", "expected.npz");
    }
    folder.put("x.npy", to_npy(&input));
    folder.put("y.npy", to_npy(&output));
    verify("x.npy", "y.npy");
    let run = |arguments: &[&str]| text(&folder.done(&[&["run", "m.tflite"], arguments].concat()).stdout);
    let wanted = run(&["--inputs", "in.npz"]);
    for arguments in
        [&["--inputs", "x.npy"][..], &["--input", "in0=x.npy"], &["--input", &format!("{name}=x.npy")], &["--inputs", "given.npz"]]
    {
        assert_eq!(run(arguments), wanted, "{arguments:?}");
    }
    folder.done(&["bench", "m.tflite", "--inputs", "x.npy", "--num-runs", "1", "--min-secs", "0"]);
    folder.done(&["m.tflite", "-o", "t.o", "--emit", "test=t.c", "--inputs", "x.npy", "--expected", "y.npy"]);
}

#[test]
fn what_is_missing_is_said_with_what_is_there() {
    let folder = Folder::new();
    let (input, _) = call(&folder);
    let name = folder.input().0;
    folder.put("other.npz", archive(&[("picture", &input), ("arr_1", &input)]));
    let said = folder.fails(1, &["run", "m.tflite", "--inputs", "other.npz"]);
    for part in ["MC0506", "picture int8[1, 8, 8, 1]", "arr_1 int8", "call the array in0", &name, "expected: int8[1, 8, 8, 1]"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The advice is right.
    folder.put("named.npz", archive(&[(&name, &input)]));
    folder.done(&["run", "m.tflite", "--inputs", "named.npz"]);
    let said = folder.fails(1, &["verify", "m.tflite", "--inputs", "in.npz", "--expected", "other.npz"]);
    assert!(said.contains("MC0504") && said.contains("picture int8") && said.contains("out0"), "{said}");
}

#[test]
fn types_have_numpy_s_names() {
    let folder = Folder::new();
    let shape = folder.input().1;
    for (element, found) in
        [(ElementType::U8, "uint8"), (ElementType::F32, "float32"), (ElementType::I64, "int64"), (ElementType::F16, "float16")]
    {
        folder.put("in.npz", archive(&[("in0", &Tensor::zeros(element, &shape).expect("a tensor"))]));
        let said = folder.fails(1, &["run", "m.tflite", "--inputs", "in.npz"]);
        assert!(said.contains("MC0503") && said.contains("expected: int8") && said.contains(&format!("found: {found}")), "{said}");
    }
    folder.put("in.npz", archive(&[("in0", &Tensor::zeros(ElementType::I8, &[64]).expect("a tensor"))]));
    assert!(folder.fails(1, &["run", "m.tflite", "--inputs", "in.npz"]).contains("MC0502"));
}
