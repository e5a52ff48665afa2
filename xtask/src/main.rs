//! `cargo xtask COMMAND`: see `USAGE`.

use std::process::ExitCode;
use xtask::{Outcome, count, docs, emulate, examples, fuzz, peers, replay, setup, shaders, test};

const USAGE: &str = "\
cargo xtask setup                   installs what the tests need and is missing: compilers, qemu, cmake (Debian packages)
cargo xtask test [CARGO TEST ARGS]  set-up, then every test of the workspace, then the totals
cargo xtask examples [NAME ...]     builds and runs the examples: all of them, or those named
cargo xtask fuzz [TARGET ...] [--runs N]
                                    runs the fuzz targets, or those named, N times each (a million)
cargo xtask peers [MODEL.tflite|MODEL.pte ...] [--rounds N] [--seconds S] [--cpu N] [--threads N]
                                    measures modelc, LiteRT and ExecuTorch in turns: tables and charts in target/peers
cargo xtask count [MODEL.tflite|MODEL.pte ...] [--cpu LEVEL] [--peer LIBRARY] [--head BINARY]
                                    counts the instructions that a call executes on aarch64 (qemu-user), by class, and compares
                                    them with recorded counts. LIBRARY is LiteRT's for aarch64: its counts stand beside ours
cargo xtask replay BASE|--claimed [--head BINARY] [--sample N|--all] [--only TEXT] [MODEL ...]
                                    compiles models with two compilers, for targets, levels, threads, goals and GPUs in turn, and
                                    compares objects and headers byte by byte. BASE is a modelc program or a git revision
cargo xtask docs [--out DIR] [--repository URL]
                                    builds the documentation as a site in target/docs, by mdBook; links to files that are no pages
                                    lead to the repository at URL
cargo xtask shaders MODEL ... [--vk-profile PROFILE] [--all] [--each]
                                    asks a driver (Mesa's RADV, no GPU needed) what it makes of the kernels that models
                                    give to a GPU: all operators with --all, a row a kernel with --each
cargo xtask emulate [--data FILE] [-I FOLDER]... FILE.c|FILE.o ...
                                    runs a C program in an emulated computer whose CPU has AVX-512 (Bochs)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Outcome {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(format!("which command?\n{USAGE}"));
    };
    match command.as_str() {
        "setup" if rest.is_empty() => setup::run(),
        "test" => test::run(rest),
        "examples" => examples::run_named(rest),
        "fuzz" => fuzz::run(rest),
        "peers" => peers::run(rest),
        "count" => count::run(rest),
        "replay" => replay::run(rest),
        "docs" => docs::run(rest),
        "shaders" => shaders::run(rest),
        "emulate" => emulate::emulate(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("`{}` is no command\n{USAGE}", arguments.join(" "))),
    }
}
