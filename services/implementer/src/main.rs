//! The `journeyman-implementer` process.

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_implementer::NAME, journeyman_implementer::run)
}
