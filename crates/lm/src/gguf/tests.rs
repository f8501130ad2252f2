//! Reads generated files, whole and damaged.
