//! Output for people: help that fits the screen, messages in the requested format, lists as JSON.

use super::folder::{Folder, json, text};

const COMMANDS: [&str; 12] =
    ["run", "bench", "verify", "inspect", "ops", "targets", "doctor", "weights", "export", "runtime", "completions", "man"];

#[test]
fn help_fits_the_screen() {
    let folder = Folder::new();
    for command in std::iter::once(&[][..]).chain(COMMANDS.iter().map(std::slice::from_ref)) {
        let long = text(&folder.done(&[command, &["--help"]].concat()).stdout);
        assert_eq!(long, text(&folder.done(&[command, &["-h"]].concat()).stdout), "{command:?}");
        for line in long.lines() {
            assert!(line.chars().count() <= 100, "{command:?}: {line}");
        }
    }
    let main = text(&folder.done(&["--help"]).stdout);
    assert!(main.lines().count() <= 90, "{main}");
    assert_eq!(folder.fails(2, &[]), main, "without arguments, the help is an error's message");
    let headings = ["Output:", "Target:", "Memory:", "Shapes (", "GPU:", "Test (", "Messages:"];
    assert!(headings.iter().all(|heading| main.lines().any(|line| line.starts_with(heading))), "{main}");
    let run = text(&folder.done(&["run", "--help"]).stdout);
    assert!(!run.contains("--vk-loader") && !run.contains("--runtime") && main.contains("--vk-loader"), "{run}");
}

#[test]
fn messages_are_as_many_as_asked_for() {
    let folder = Folder::new();
    assert_eq!(text(&folder.done(&["m.tflite", "-o", "net.o", "-q"]).stderr), "");
    let usual = text(&folder.done(&["m.tflite", "-o", "net.o"]).stderr);
    let verbose = text(&folder.done(&["m.tflite", "-o", "net.o", "-v"]).stderr);
    assert!(!usual.contains("compiling") && verbose.contains("compiling m.tflite: ") && verbose.ends_with(&usual), "{verbose}");
    assert!(text(&folder.done(&["run", "m.tflite", "-v"]).stderr).contains("reading m.tflite: "));
    assert!(folder.fails(1, &["missing.tflite", "-o", "n.o", "-q"]).contains("MC0102"), "errors are told");
    folder.fails(2, &["m.tflite", "-o", "n.o", "-q", "-v"]);
}

/// Colours are for terminals, unless the user disables them.
#[test]
fn files_have_no_colours() {
    let folder = Folder::new();
    assert!(!folder.fails(1, &["missing.tflite", "-o", "n.o"]).contains('\x1b'));
    let forced = |name: &str, value: &str| {
        let mut command = folder.command(&["missing.tflite", "-o", "n.o"]);
        text(&command.env("CLICOLOR_FORCE", "1").env(name, value).output().expect("it runs").stderr)
    };
    assert!(forced("LANG", "C").contains("\x1b[31merror[MC0102]:"), "{:?}", forced("LANG", "C"));
    assert!(!forced("NO_COLOR", "1").contains('\x1b'));
}

#[test]
fn lists_are_json_where_asked_for() {
    let folder = Folder::new();
    let operators = json(&folder.done(&["ops", "tflite", "--json"]));
    assert_eq!((&operators["schema"], &operators["formats"][0]["format"]), (&"modelc.ops/1".into(), &"tflite".into()));
    assert!(operators["formats"][0]["operators"].as_array().is_some_and(|list| list.len() > 100));
    let targets = json(&folder.done(&["targets", "--json"]));
    assert!(targets["targets"].as_array().is_some_and(|list| list.iter().all(|target| target["cpu_levels"][0].is_string())));
    let doctor = json(&folder.done(&["doctor", "--json"]));
    let named = |program: &str| doctor["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["program"] == program));
    assert!(["cc", "arm-none-eabi-gcc", "qemu-system-arm"].into_iter().all(named), "{doctor}");
    assert!(text(&folder.done(&["doctor"]).stdout).starts_with("run "));
}

/// `--message-format json` asks for JSON as `--json` does.
#[test]
fn every_list_takes_the_options_of_messages() {
    let folder = Folder::new();
    for command in ["ops", "targets", "doctor"] {
        let schema = json(&folder.done(&[command, "--message-format", "json"]))["schema"].clone();
        assert_eq!(schema, format!("modelc.{command}/1"));
    }
    assert_eq!(folder.done(&["ops", "--quiet"]).stdout, folder.done(&["ops"]).stdout);
}

/// Each stage that may be long is timed, so that a terminal shows it.
#[test]
fn every_stage_has_its_time() {
    let folder = Folder::new();
    folder.put("x.npy", modelc::npz::to_npy(&modelc::ir::Tensor::zeros(modelc::ElementType::I8, &folder.input().1).expect("a tensor")));
    folder.done(&["run", "m.tflite", "--inputs", "x.npy", "--outputs", "y.npz"]);
    let commands: [(&[&str], &[&str]); 6] = [
        (&["m.tflite", "-o", "n.o", "--emit", "test=t.c"], &["compiling m.tflite", "computing the calls of the test", "writing"]),
        (&["run", "m.tflite"], &["reading m.tflite", "compiling m.tflite", "running m.tflite"]),
        (
            &["verify", "m.tflite", "--inputs", "x.npy", "--expected", "y.npz"],
            &["reading m.tflite", "compiling m.tflite", "verifying m.tflite"],
        ),
        (&["verify", "m.tflite", "--bisect"], &["reading m.tflite", "compiling m.tflite", "searching m.tflite"]),
        (
            &["bench", "m.tflite", "--num-runs", "1", "--min-secs", "0", "--profile"],
            &["reading m.tflite", "compiling m.tflite", "measuring m.tflite", "measuring the peaks of this computer"],
        ),
        (&["inspect", "m.tflite"], &["compiling m.tflite"]),
    ];
    for (command, stages) in commands {
        let told = text(&folder.done(&[command, &["--verbose"]].concat()).stderr);
        let found: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("  ")?.split_once(": ")).map(|(stage, _)| stage).collect();
        assert!(stages.iter().all(|stage| found.contains(stage)), "{command:?}: {told}");
    }
}

/// A terminal of 80 columns shows progress in a line that disappears, and tables that fit.
#[cfg(target_os = "linux")]
#[test]
fn terminals_show_progress_and_whole_tables() {
    let folder = Folder::new();
    let shown = folder.on_terminal(80, "bench m.tflite --min-secs 1.2 --profile=kernels");
    assert!(shown.contains("measuring m.tflite: ") && shown.contains(" runs, 0 s") && shown.contains(" runs, 1 s"), "{shown}");
    for command in ["inspect m.tflite", "targets", "ops", "doctor", "run m.tflite --top-k 3"] {
        assert_fits(&folder.on_terminal(80, command), 80);
    }
    assert_fits(&shown, 80);
    assert!(shown.contains("products of"), "schedules are there: {shown}");
}

/// Checks the lines that remain on a terminal.
#[cfg(target_os = "linux")]
fn assert_fits(shown: &str, columns: usize) {
    for line in shown.lines() {
        let left = line.rsplit("\x1b[2K").next().unwrap_or(line);
        assert!(left.chars().count() <= columns, "{left}");
    }
}

#[test]
fn outputs_are_ranked_and_real() {
    let folder = Folder::new();
    let arrays =
        |options: &[&str]| json(&folder.done(&[&["run", "m.tflite", "--message-format", "json"], options].concat()))["arrays"][0].clone();
    let (integers, reals) = (arrays(&["--top-k", "3"]), arrays(&["--top-k", "3", "--output-type", "f32"]));
    assert_eq!((&integers["element"], &reals["element"]), (&"i8".into(), &"f32".into()));
    let ranks = |array: &serde_json::Value, key: &str| -> Vec<f64> {
        array["top"][0].as_array().expect("a row").iter().map(|entry| entry[key].as_f64().expect("a number")).collect()
    };
    assert_eq!(ranks(&integers, "index"), ranks(&reals, "index"));
    assert!(ranks(&integers, "value").is_sorted_by(|a, b| a >= b) && ranks(&reals, "value").len() == 3);
    // The file has the shown values.
    folder.done(&["run", "m.tflite", "--output-type", "f32", "--outputs", "out.npz"]);
    let archive = modelc::npz::Archive::read(&folder.at("out.npz")).expect("an archive");
    assert!(archive.tensors.values().all(|tensor| tensor.element == modelc::ElementType::F32));
    folder.fails(2, &["run", "m.tflite", "--top-k", "0"]);
}

/// A page is written by another option if there is no object.
#[test]
fn limits_name_the_option_that_writes_a_page() {
    let folder = Folder::new();
    assert!(folder.fails(1, &["inspect", "m.tflite", "--require", "arena<=1"]).contains("--html page.html"));
    assert!(folder.fails(1, &["m.tflite", "-o", "n.o", "--require", "flash<=1"]).contains("--report page.html"));
}
