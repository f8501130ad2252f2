//! The `journeyman-sandbox` process.

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_sandbox::NAME, journeyman_sandbox::run)
}
