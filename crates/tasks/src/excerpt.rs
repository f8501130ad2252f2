//! How much of a long program or output a prompt shows.

/// `text`, cut to `limit` characters: a quarter from its head and the rest from its tail, where errors are told, with a
/// line between them that says how much is left out.
pub fn excerpt(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit / 4).collect();
    let tail: String = text.chars().skip(count - (limit - limit / 4)).collect();
    format!("{head}\n[{} characters left out]\n{tail}", count - limit)
}

#[cfg(test)]
mod tests;
