//! Reads an idea out of a completion: three sections, or it is badly formed.

#[cfg(test)]
mod tests;

use journeyman_schemas::ideate::Idea;

/// The sections, in the order in which they must come.
const SECTIONS: [&str; 3] = ["ANALYSIS_ON_CURRENT_PROGRESS", "ACTION", "RATIONALE"];

/// Why a completion is no idea.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadIdea {
    /// A section is not there.
    #[error("section `{0}` is missing")]
    Missing(&'static str),
    /// A section has no text.
    #[error("section `{0}` is empty")]
    Empty(&'static str),
    /// A section comes a second time, or before its turn.
    #[error("section `{0}` is out of order")]
    Order(&'static str),
}

/// Takes the three sections out of `text`. Each must be there once, in order, with text in it. A heading starts a line:
/// the name with a colon, or alone on the line; marks of Markdown or a tag around it are taken as part of it. What
/// stands before the first heading is left out.
pub fn parse(text: &str) -> Result<Idea, BadIdea> {
    let mut contents: [String; 3] = Default::default();
    let mut found = 0;
    for line in text.lines() {
        match heading(line) {
            Some((section, rest)) if section == found => {
                contents[section].push_str(rest);
                found += 1;
            }
            Some((section, _)) if section > found => return Err(BadIdea::Missing(SECTIONS[found])),
            Some((section, _)) => return Err(BadIdea::Order(SECTIONS[section])),
            None if found > 0 && !is_closing_tag(line) => {
                contents[found - 1].push('\n');
                contents[found - 1].push_str(line);
            }
            None => {}
        }
    }
    if let Some(missing) = SECTIONS.get(found) {
        return Err(BadIdea::Missing(missing));
    }
    let [analysis, action, rationale] = contents.map(|content| content.trim().to_owned());
    let idea = Idea {
        analysis,
        action,
        rationale,
    };
    for (section, content) in SECTIONS
        .into_iter()
        .zip([&idea.analysis, &idea.action, &idea.rationale])
    {
        if !content.chars().any(char::is_alphanumeric) {
            return Err(BadIdea::Empty(section));
        }
    }
    Ok(idea)
}

/// The section that a line begins, and what follows its name on the line.
fn heading(line: &str) -> Option<(usize, &str)> {
    let marks: &[char] = &['#', '*', '_', '-', '[', ']', '<', '>', '`', ' ', '\t'];
    let begin = line
        .trim_start_matches(marks)
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let begin = begin.trim_start_matches(marks);
    // The longest name first would matter only if one began another; none does.
    let (section, rest) = SECTIONS.iter().enumerate().find_map(|(index, name)| {
        let head = begin.get(..name.len())?;
        let same = head.to_ascii_uppercase().replace(' ', "_") == *name;
        same.then(|| (index, &begin[name.len()..]))
    })?;
    let tagged = rest.starts_with('>');
    let rest = rest.trim_start_matches(marks);
    let content = match rest.strip_prefix(':') {
        Some(content) => content.trim_start_matches(marks),
        None if rest.is_empty() || tagged => rest,
        None => return None,
    };
    let closing = content.rfind("</").filter(|_| tagged).unwrap_or(content.len());
    (!line.trim_start().starts_with("</")).then(|| (section, &content[..closing]))
}

fn is_closing_tag(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("</") && line.ends_with('>')
}
