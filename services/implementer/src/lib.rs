//! implementer
