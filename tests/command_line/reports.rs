//! Reports beside the object: graphs, traces, times, and differences from earlier ones.

use super::folder::{Folder, json, text};
use serde_json::Value;
use std::fs;

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&fs::read(folder.at(name)).expect("a file")).expect("JSON")
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// All operators of the file are present, with their parameters; kernels and rows refer to them.
#[test]
fn the_report_has_the_graph_of_the_file() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "net.o", "--emit", "json=net.json", "--emit", "graph=net.graph.json"]);
    let (report, graph) = (read(&folder, "net.json"), read(&folder, "net.graph.json"));
    let operators = items(&report["graphs"][0]["operators"]);
    let inspected = json(&folder.run(&["inspect", "m.tflite", "--json"]));
    let counted: u64 = items(&inspected["operators"]).iter().filter_map(|operator| operator["count"].as_u64()).sum();
    assert_eq!(operators.len() as u64, counted);
    let parameters: u64 = operators.iter().filter_map(|operator| operator["parameters"].as_u64()).sum();
    assert!(parameters > 500, "{parameters} parameters");
    for list in ["kernels", "operators"] {
        for entry in items(&report[list]) {
            assert!(!items(&entry["nodes"]).is_empty(), "{entry}");
            assert!(items(&entry["nodes"]).iter().all(|node| (node[1].as_u64() < Some(operators.len() as u64)) && node[0] == 0));
        }
    }
    let calls: usize = items(&report["operators"]).iter().map(|row| items(&row["kernels"]).len()).sum();
    assert_eq!(calls, items(&report["kernels"]).len(), "each call is in one row");
    for level in items(&report["levels"]) {
        assert_eq!(items(&level["kernels"]).len(), calls, "{level}");
    }
    assert_eq!(items(&graph["graphs"][0]["nodes"]).len(), operators.len() + 2);
}

/// Operators refer to calls, calls to functions, and functions to bytes of the object with the right hash.
#[test]
fn a_trace_leads_from_operators_to_bytes() {
    let folder = Folder::new();
    for (target, object) in [("x86_64-unknown-linux-gnu", "a.o"), ("aarch64-apple-darwin", "b.o"), ("x86_64-pc-windows-msvc", "c.obj")] {
        folder.done(&["m.tflite", "-o", object, "--target", target, "--name", "net", "--emit", "trace=net.trace.json"]);
        let trace = read(&folder, "net.trace.json");
        let bytes = fs::read(folder.at(object)).expect("the object");
        assert_eq!(trace["object"]["bytes"], bytes.len());
        let functions: Vec<&str> = items(&trace["functions"]).iter().filter_map(|function| function["symbol"].as_str()).collect();
        for call in items(&trace["calls"]) {
            for symbol in call["functions"].as_object().into_iter().flatten().filter_map(|(_, symbol)| symbol.as_str()) {
                let found = functions.iter().any(|function| *function == symbol || function.strip_prefix('_') == Some(symbol));
                assert!(found, "{symbol} is not in {object}");
            }
        }
        let hashed =
            items(&trace["functions"]).iter().filter(|function| function["sha256"].is_string() && function["stack_bytes"].is_u64());
        assert!(hashed.count() >= items(&trace["calls"]).len().min(3), "{trace:#}");
        assert!(items(&trace["operators"]).iter().any(|operator| !items(&operator["calls"]).is_empty()));
        assert_eq!((&trace["plans"][0]["proof"], &trace["options"]["target"]), (&"equal to the lower bound".into(), &target.into()));
    }
}

#[test]
fn operators_come_first_in_a_profile() {
    let folder = Folder::new();
    let short = ["bench", "m.tflite", "--num-runs", "2", "--min-secs", "0"];
    let operators = text(&folder.done(&[&short[..], &["--profile"]].concat()).stdout);
    let heads = operators.lines().find(|line| line.starts_with("operators")).expect("a table");
    assert!(["% of peak", "MAC", "params", "schedule"].iter().all(|head| heads.contains(head)), "{heads}");
    assert!(operators.lines().any(|line| line.starts_with("total")), "{operators}");
    assert!(!operators.contains("\n  op0"), "kernels are folded: {operators}");
    let kernels = text(&folder.done(&[&short[..], &["--profile=kernels"]].concat()).stdout);
    assert!(kernels.contains("\n  op0") && kernels.lines().count() > operators.lines().count(), "{kernels}");
}

#[test]
fn earlier_reports_are_compared() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "net.o", "--emit", "json=old.json"]);
    let same = text(&folder.done(&["inspect", "m.tflite", "--compare", "old.json"]).stdout);
    assert!(same.contains("| arena |") && same.contains("No operator differs."), "{same}");
    let smaller = folder.done(&["inspect", "m.tflite", "--optimize", "size", "--compare", "old.json", "--html", "page.html"]);
    assert!(fs::read_to_string(folder.at("page.html")).expect("a page").contains("modelc.compare/1"), "{smaller:?}");
    let json = json(&folder.done(&["inspect", "m.tflite", "--cpu", "x86-64-v2", "--compare", "old.json", "--json"]));
    assert!(!items(&json["operators"]).is_empty(), "{json:#}");
    folder.put("other.json", "{}");
    assert!(folder.refused(&["inspect", "m.tflite", "--compare", "other.json"]).contains("is not a report"));
}

#[test]
fn measured_reports_have_times() {
    let folder = Folder::new();
    let short = ["bench", "m.tflite", "--num-runs", "2", "--min-secs", "0"];
    folder.done(&[&short[..], &["--report", "old.json", "--node-data", "times.json"]].concat());
    let report = read(&folder, "old.json");
    assert_eq!(items(&report["time"]["kernels"]).len(), items(&report["kernels"]).len());
    let (_, data) = read(&folder, "times.json").as_object().and_then(|graphs| graphs.clone().into_iter().next()).expect("a graph");
    assert!(data["results"]["node0"]["value"].as_f64().is_some(), "{data:#}");
    let text = text(&folder.done(&[&short[..], &["--compare", "old.json", "--report", "page.html"]].concat()).stdout);
    assert!(text.contains("| median |"), "{text}");
    assert!(fs::read_to_string(folder.at("page.html")).expect("a page").contains("peaks"));
}

/// Names are in the header, where the struct has them beside the numbers, and the command line accepts them.
#[test]
fn ports_have_the_names_that_users_give() {
    let folder = Folder::new();
    folder.done(&["m.tflite", "-o", "net.o", "--port-name", "in0=image", "--port-name", "out0=scores"]);
    let header = fs::read_to_string(folder.at("net.h")).expect("the header");
    assert!(header.contains("#define NET_FORWARD_IN0_NAME \"image\"") && header.contains("const int8_t *image;"), "{header}");
    folder.put(
        "use.c",
        "#include \"net.h\"\nint main(void) { net_forward_inputs in; net_forward_outputs out; static int8_t x[64], y[10];\n\
         in.image = x; out.scores = y; return !(in.in0 == x && out.out0 == y && sizeof in == sizeof(void *)); }\n",
    );
    for compiler in ["cc -std=c11 -Wall -Wextra -Wpedantic -Werror", "c++ -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror"] {
        let output = folder.shell(&format!("{compiler} use.c -o use && ./use"));
        assert!(output.status.success(), "{compiler}: {}", text(&output.stderr));
    }
    let old = folder.shell("printf '#include \"net.h\"\\nint x;\\n' > old.c && cc -std=c99 -Wpedantic -Werror -c old.c");
    assert!(old.status.success(), "{}", text(&old.stderr));
    let named = ["--port-name", "in0=image", "--bound", "image.0=4"];
    let inspected = json(&folder.done(&[&["inspect", "m.tflite", "--json"][..], &named].concat()));
    assert_eq!(
        (&inspected["methods"][0]["inputs"][0]["name"], &inspected["methods"][0]["inputs"][0]["dynamic"][0]),
        (&"image".into(), &true.into())
    );
    assert!(folder.refused(&["m.tflite", "-o", "x.o", "--port-name", "in3=image"]).contains("does not have"));
}

/// The GPU runtime opens Vulkan's library by a function that is in a differently named library on Android.
#[test]
fn libraries_for_android_ask_for_its_own() {
    let folder = Folder::new();
    let gpu = ["--gpu", "require", "--gpu-ops", "all"];
    for (target, own, other) in
        [("aarch64-linux-android24", "libdl.so\0", "libdl.so.2\0"), ("aarch64-linux-gnu", "libdl.so.2\0", "libdl.so\0")]
    {
        folder.done(&[&["m.tflite", "-o", "libnet.so", "--target", target][..], &gpu].concat());
        let library = fs::read(folder.at("libnet.so")).expect("the library");
        let has = |name: &str| library.windows(name.len()).any(|bytes| bytes == name.as_bytes());
        assert!(has(own) && !has(other), "{target}");
    }
}
