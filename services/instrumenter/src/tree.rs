//! Parses a program, whatever a policy wrote, without harm to the process.

use ruff_python_ast::ModModule;
use ruff_python_parser::{Parsed, parse_module};

/// Longest program that is parsed, bytes. Longer ones run without markers.
pub const PROGRAM_LIMIT_BYTES: usize = 64 * 1024;

/// Stack of the parsing thread: a tree can be as deep as its program is long, and only pages touched cost memory.
const STACK_BYTES: usize = 512 * 1024 * 1024;

/// A program is no Python.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("program does not parse as Python at byte {offset}: {message}")]
pub struct SyntaxError {
    /// Where, bytes from the start.
    pub offset: usize,
    /// What the parser says.
    pub message: String,
}

/// The parsing thread ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// It could not be started.
    #[error("can't start a thread for the parser: {0}")]
    Spawn(#[from] std::io::Error),
    /// It panicked.
    #[error("the parser panicked")]
    Panicked,
}

/// The tree and tokens of `source`.
pub fn parse(source: &str) -> Result<Parsed<ModModule>, SyntaxError> {
    parse_module(source).map_err(|error| SyntaxError {
        offset: error.location.start().to_usize(),
        message: error.error.to_string(),
    })
}

/// Runs `work` on a stack that no program under [`PROGRAM_LIMIT_BYTES`] can exhaust. Blocks.
pub fn with_large_stack<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StackError> {
    std::thread::Builder::new()
        .name("parser".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)?
        .join()
        .map_err(|_| StackError::Panicked)
}
