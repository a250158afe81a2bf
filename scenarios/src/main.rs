//! The command line `holdup`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
