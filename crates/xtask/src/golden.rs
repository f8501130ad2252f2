//! `cargo xtask golden`: the frozen messages and the JSON Schema, written from the types.

use std::fs;

use anyhow::Result;
use journeyman_schemas::{run_config::RunConfig, samples::samples};
use serde::Serialize;

use crate::tidy::root;

/// Writes `schemas/golden/`, `schemas/json/` and the schema of the run's configuration.
pub(crate) fn run() -> Result<()> {
    let samples = samples()?;
    for sample in &samples {
        write("golden", sample.name, &sample.json)?;
        write("json", sample.name, &sample.schema)?;
    }
    write("json", "run_config", &schemars::schema_for!(RunConfig))?;
    println!(
        "golden: {} messages written; review the change before you commit it",
        samples.len()
    );
    Ok(())
}

fn write(folder: &str, name: &str, value: &impl Serialize) -> Result<()> {
    let directory = root().join("schemas").join(folder);
    fs::create_dir_all(&directory)?;
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(fs::write(directory.join(format!("{name}.json")), text)?)
}
