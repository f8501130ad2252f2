//! ideator
