//! Builds what the implementer is shown, from the template files in `prompts/`.

#[cfg(test)]
mod tests;

use journeyman_schemas::{generate::ChatMessage, ideate::Idea};
use minijinja::{Environment, UndefinedBehavior, context};

/// The templates, one per section.
#[derive(Debug)]
pub struct Prompts(Environment<'static>);

/// All that a prompt can hold.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a> {
    /// The task in words.
    pub description: &'a str,
    /// Columns, types, examples, form of a submission.
    pub data_snippet: &'a str,
    /// The program to go on from; shown unless a valid earlier program takes its place.
    pub starter_code: &'a str,
    /// The program to improve.
    pub earlier: Option<Earlier<'a>>,
    /// The idea to carry out.
    pub idea: Option<&'a Idea>,
}

/// An earlier program.
#[derive(Clone, Copy, Debug)]
pub struct Earlier<'a> {
    /// Its text.
    pub program: &'a str,
    /// What it printed, markers stripped.
    pub output: Option<&'a str>,
    /// Its score in the task's metric, none when it was not valid.
    pub score: Option<f64>,
}

impl Prompts {
    /// Reads the templates.
    pub fn new() -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_template("system", include_str!("../prompts/system.md.j2"))?;
        environment.add_template("task", include_str!("../prompts/task.md.j2"))?;
        environment.add_template("starter", include_str!("../prompts/starter.md.j2"))?;
        environment.add_template("improve", include_str!("../prompts/improve.md.j2"))?;
        environment.add_template("idea", include_str!("../prompts/idea.md.j2"))?;
        environment.add_template("answer", include_str!("../prompts/answer.md.j2"))?;
        Ok(Self(environment))
    }

    /// The chat: one system and one user message.
    pub fn render(&self, sections: &Sections<'_>) -> Result<Vec<ChatMessage>, minijinja::Error> {
        let render = |name: &str, values: minijinja::Value| -> Result<String, minijinja::Error> {
            Ok(self.0.get_template(name)?.render(values)?.trim().to_owned())
        };
        let valid = sections.earlier.is_some_and(|earlier| earlier.score.is_some());
        let mut parts = vec![render(
            "task",
            context! { description => sections.description.trim(), data_snippet => sections.data_snippet.trim() },
        )?];
        if !valid {
            parts.push(render(
                "starter",
                context! { starter_code => sections.starter_code.trim_end() },
            )?);
        }
        if let Some(earlier) = sections.earlier {
            parts.push(render(
                "improve",
                context! {
                    program => earlier.program.trim_end(),
                    output => earlier.output.map(str::trim_end),
                    score => earlier.score.map(|score| format!("{score:.4}")),
                },
            )?);
        }
        if let Some(idea) = sections.idea {
            parts.push(render(
                "idea",
                context! { action => &idea.action, rationale => &idea.rationale },
            )?);
        }
        parts.push(render(
            "answer",
            context! { has_idea => sections.idea.is_some(), has_earlier => sections.earlier.is_some(), valid },
        )?);
        Ok(vec![
            ChatMessage {
                role: "system".to_owned(),
                content: render("system", context! {})?,
            },
            ChatMessage {
                role: "user".to_owned(),
                content: parts.join("\n\n"),
            },
        ])
    }
}
