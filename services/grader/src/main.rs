//! The `journeyman-grader` process.

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_grader::NAME, journeyman_grader::run)
}
