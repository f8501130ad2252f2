//! The `journeyman-trainer` process.

/// Burn allocates and frees large buffers in every layer; the system's allocator gives them back each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_trainer::NAME, journeyman_trainer::run)
}
