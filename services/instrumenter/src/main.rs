//! The `journeyman-instrumenter` process.

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_instrumenter::NAME, journeyman_instrumenter::run)
}
