//! How does a chat become the text, and the token ids, that the model was trained on?
//!
//! The template is the file's own Jinja program, run as transformers runs it. In
//! [`ChatTemplate::encode`] only the template's own text can give control tokens: what a message
//! says stays text, whatever it contains.

use std::ops::Range;
use std::path::PathBuf;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, ErrorKind, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::{Deserialize, Serialize};

use crate::gguf::{Gguf, GgufError};
use crate::tokenizer::{Tokenizer, TokenizerError};

mod json;
#[cfg(test)]
mod tests;

const NAME: &str = "chat_template";
/// Instructions a template may run; a chat of thousands of messages takes far less.
const FUEL: u64 = 50_000_000;

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    /// `system`, `user`, `assistant`, or another role that the template knows.
    pub role: String,
    /// What is said. Never parsed for control tokens.
    pub content: String,
}

/// A model's chat template.
pub struct ChatTemplate {
    environment: Environment<'static>,
    begin_token: String,
    end_token: String,
}

/// Why a template cannot be used, or a chat not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// A key is missing or of another type.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The template is not valid Jinja.
    #[error("the chat template of `{path}` cannot be parsed")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where in the template.
        source: minijinja::Error,
    },
    /// The template failed, or refused the chat through `raise_exception`.
    #[error("the chat template refuses these messages")]
    Render(#[source] minijinja::Error),
    /// A chat without messages.
    #[error("`messages` is empty; at least one message is needed")]
    NoMessages,
    /// A role that could be taken for a control token.
    #[error("`messages[{index}].role` is `{role}`; a role has no control tokens in it")]
    Role {
        /// Position of the message.
        index: usize,
        /// The role given.
        role: String,
    },
    /// The template changes contents in a way that cannot be followed, and one of them has the
    /// text of a control token.
    #[error(
        "a message has the text of a control token in it, and the chat template rewrites \
         messages, so that the two cannot be told apart"
    )]
    Inseparable,
    /// The rendered text cannot be tokenized.
    #[error(transparent)]
    Tokenize(#[from] TokenizerError),
}

impl ChatTemplate {
    /// Takes the template from `tokenizer.chat_template`.
    ///
    /// # Errors
    /// The file has no template, or it cannot be parsed.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, TemplateError> {
        let source = gguf.string("tokenizer.chat_template")?;
        let tokens = gguf.strings("tokenizer.ggml.tokens")?;
        // A missing or wrong id leaves the name empty, as in transformers.
        let token = |key| {
            let id = gguf.u64(key).ok().and_then(|id| usize::try_from(id).ok());
            id.and_then(|id| tokens.get(id)).cloned().unwrap_or_default()
        };
        Self::parse(
            source,
            token("tokenizer.ggml.bos_token_id"),
            token("tokenizer.ggml.eos_token_id"),
        )
        .map_err(|source| TemplateError::Parse {
            path: gguf.path().to_owned(),
            source,
        })
    }

    fn parse(source: &str, begin_token: String, end_token: String) -> Result<Self, minijinja::Error> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", json::tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_template_owned(NAME, source.to_owned())?;
        Ok(Self {
            environment,
            begin_token,
            end_token,
        })
    }

    /// The text of a chat. With `add_generation_prompt` it ends where the assistant begins to
    /// speak. Some templates begin with a system message of their own if the first is none.
    ///
    /// # Errors
    /// There are no messages, or the template fails on them.
    pub fn render(
        &self,
        messages: &[ChatMessage],
        add_generation_prompt: bool,
    ) -> Result<String, TemplateError> {
        if messages.is_empty() {
            return Err(TemplateError::NoMessages);
        }
        self.render_values(
            Value::from(Serde(messages)),
            Value::UNDEFINED,
            add_generation_prompt,
        )
    }

    fn render_values(
        &self,
        messages: Value,
        tools: Value,
        add_generation_prompt: bool,
    ) -> Result<String, TemplateError> {
        let template = self
            .environment
            .get_template(NAME)
            .map_err(TemplateError::Render)?;
        template
            .render(context! {
                messages,
                tools,
                add_generation_prompt,
                bos_token => self.begin_token.as_str(),
                eos_token => self.end_token.as_str(),
            })
            .map_err(TemplateError::Render)
    }

    /// The token ids of the rendered chat. Control tokens come from the template's text only;
    /// contents are always encoded as plain text. Merges do cross from one to the other, so that
    /// the ids of a chat without control tokens in its contents are those of its rendered text.
    ///
    /// # Errors
    /// As [`render`](Self::render); a role with a control token in it; or a content with one, if
    /// the template does not give contents as they are.
    pub fn encode(
        &self,
        tokenizer: &Tokenizer,
        messages: &[ChatMessage],
        add_generation_prompt: bool,
    ) -> Result<Vec<u32>, TemplateError> {
        if let Some(index) = messages.iter().position(|m| tokenizer.has_control_token(&m.role)) {
            return Err(TemplateError::Role {
                index,
                role: messages[index].role.clone(),
            });
        }
        let text = self.render(messages, add_generation_prompt)?;
        let contents = match self.content_ranges(messages, add_generation_prompt, &text) {
            Some(ranges) => ranges,
            None if messages.iter().any(|m| tokenizer.has_control_token(&m.content)) => {
                return Err(TemplateError::Inseparable);
            }
            None => Vec::new(),
        };
        Ok(tokenizer.encode_around(&text, &contents)?)
    }

    /// Where contents lie in the rendered text, in bytes, ascending: renders again with marks
    /// around them. `None` if the marks change more than themselves, e.g. because the template
    /// trims contents.
    fn content_ranges(
        &self,
        messages: &[ChatMessage],
        add_generation_prompt: bool,
        text: &str,
    ) -> Option<Vec<Range<usize>>> {
        let (open, close) = unused_marks(text)?;
        let marked: Vec<ChatMessage> = messages
            .iter()
            .map(|message| ChatMessage {
                role: message.role.clone(),
                // Templates ask whether there is any content.
                content: match message.content.as_str() {
                    "" => String::new(),
                    content => format!("{open}{content}{close}"),
                },
            })
            .collect();
        let marked = self.render(&marked, add_generation_prompt).ok()?;

        let mut unmarked = String::with_capacity(text.len());
        let mut ranges = Vec::new();
        let mut start = None;
        for character in marked.chars() {
            if character == open {
                if start.replace(unmarked.len()).is_some() {
                    return None;
                }
            } else if character == close {
                ranges.push(start.take()?..unmarked.len());
            } else {
                unmarked.push(character);
            }
        }
        (start.is_none() && unmarked == text).then_some(ranges)
    }
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("begin_token", &self.begin_token)
            .field("end_token", &self.end_token)
            .finish_non_exhaustive()
    }
}

/// Two characters that the text does not have: noncharacters, else from the private use area.
fn unused_marks(text: &str) -> Option<(char, char)> {
    let mut unused = ('\u{FDD0}'..='\u{FDEF}')
        .chain('\u{E000}'..='\u{F8FF}')
        .filter(|&mark| !text.contains(mark));
    Some((unused.next()?, unused.next()?))
}

fn raise_exception(message: String) -> Result<Value, minijinja::Error> {
    Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
}

fn strftime_now(format: &str) -> Result<String, minijinja::Error> {
    use std::fmt::Write as _;
    let mut text = String::new();
    write!(text, "{}", chrono::Local::now().format(format)).map_err(|_| {
        let message = format!("`strftime_now` does not know the format `{format}`");
        minijinja::Error::new(ErrorKind::InvalidOperation, message)
    })?;
    Ok(text)
}
