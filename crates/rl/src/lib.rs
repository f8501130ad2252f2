//! rl
