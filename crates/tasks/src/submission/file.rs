//! A submission that is a file: what can be told without reading it.

use std::{fs::File, io::Read, path::Path};

use super::{Invalid, InvalidKind};

/// The bytes of the file `path`. Refused without being read: nothing there, a directory, or more than `limit` bytes.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, Invalid> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let missing = |what: String| Invalid::new(InvalidKind::Missing, what);
    let unreadable = |error: std::io::Error| missing(format!("`{name}` can't be read: {error}"));
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => missing(format!(
            "there is no file `{name}`; write it into the directory in which the program starts"
        )),
        _ => unreadable(error),
    })?;
    if metadata.is_dir() {
        return Err(missing(format!(
            "`{name}` is a directory; write a file of that name"
        )));
    }
    if !metadata.is_file() {
        return Err(missing(format!(
            "`{name}` is not a plain file; write the rows into a file of that name"
        )));
    }
    check_size(metadata.len(), limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    let file = File::open(path).map_err(unreadable)?;
    // One byte more than allowed tells of a file that grew.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Refuses what is larger than `limit` bytes.
pub fn check_size(bytes: u64, limit: u64) -> Result<(), Invalid> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Invalid::new(
        InvalidKind::TooLarge,
        format!(
            "it has {bytes} bytes; at most {limit} are read, so write only the id and the target columns, once per row, \
             with fewer digits"
        ),
    ))
}

#[cfg(test)]
mod tests;
