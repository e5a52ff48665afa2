//! The command `modelc`.

fn main() -> std::process::ExitCode {
    modelc::cli::main()
}
