//! The system as a whole: see `it/`.
