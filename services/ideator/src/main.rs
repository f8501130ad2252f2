//! The `journeyman-ideator` process.

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_ideator::NAME, journeyman_ideator::run)
}
