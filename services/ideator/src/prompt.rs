//! Builds what the ideator is shown, from the template files in `prompts/`.

#[cfg(test)]
mod tests;

use journeyman_schemas::generate::ChatMessage;
use minijinja::{Environment, UndefinedBehavior, context};

/// The templates.
#[derive(Debug)]
pub struct Prompts(Environment<'static>);

/// Where the implementer stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The task in words.
    pub description: &'a str,
    /// The present program; none when there is none.
    pub program: Option<&'a str>,
    /// What it printed, markers stripped.
    pub output: Option<&'a str>,
    /// Its score in the task's metric, none when it was not valid.
    pub score: Option<f64>,
    /// The implementer's question; may be empty.
    pub query: &'a str,
}

impl Prompts {
    /// Reads the templates.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template("system", include_str!("../prompts/system.md.j2"))?;
        environment.add_template("state", include_str!("../prompts/state.md.j2"))?;
        Ok(Self(environment))
    }

    /// The chat: one system and one user message.
    pub fn render(&self, progress: &Progress<'_>) -> Result<Vec<ChatMessage>, minijinja::Error> {
        let system = self.0.get_template("system")?.render(context! {})?;
        let state = self.0.get_template("state")?.render(context! {
            description => progress.description.trim(),
            program => progress.program.map(str::trim_end),
            output => progress.output.map(str::trim_end),
            score => progress.score.map(|score| format!("{score:.4}")),
            query => progress.query.trim(),
        })?;
        let message = |role: &str, content: String| ChatMessage {
            role: role.to_owned(),
            content: content.trim().to_owned(),
        };
        Ok(vec![message("system", system), message("user", state)])
    }
}
