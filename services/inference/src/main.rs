//! The `journeyman-inference` process.

/// Burn allocates and frees large buffers in every layer; the system's allocator gives them back each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    journeyman_service::main(journeyman_inference::NAME, journeyman_inference::run)
}
