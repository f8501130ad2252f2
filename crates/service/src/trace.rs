//! Trace ids: one from the prompt to the gradient.

use uuid::Uuid;

/// A W3C `traceparent` that starts a new trace, sampled.
pub fn new_traceparent() -> String {
    let trace = Uuid::new_v4().simple();
    let span = &Uuid::new_v4().simple().to_string()[..16];
    format!("00-{trace}-{span}-01")
}

#[cfg(test)]
mod tests;
