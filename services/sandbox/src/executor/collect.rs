//! Takes the submission file out of a dead job's directory, which the program could fill as it liked.

use std::{
    fs::File,
    io::Read,
    os::{fd::BorrowedFd, unix::fs::MetadataExt},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

/// The file that programs write.
pub(super) const SUBMISSION_FILE: &str = "submission.csv";

/// What was found in place of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// No file.
    Missing,
    /// A regular file within the size limit: its bytes.
    Taken(Vec<u8>),
    /// Something that is not taken, and why.
    Refused(String),
}

/// Reads the submission under `work`. Call it only after every process that could write there is dead.
pub(super) fn submission(work: BorrowedFd<'_>, limit: u64) -> Submission {
    let flags = OFlags::RDONLY
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NOCTTY
        // A FIFO must not make the open wait for a writer.
        | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let file = match openat2(work, SUBMISSION_FILE, flags, Mode::empty(), resolve) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Submission::Missing,
        Err(Errno::LOOP) => return refused("it is a symbolic link"),
        Err(error) => return refused(format!("it cannot be opened: {error}")),
    };
    let metadata = match file.metadata() {
        Ok(metadata) => metadata,
        Err(error) => return refused(format!("it cannot be examined: {error}")),
    };
    if !metadata.is_file() {
        return refused("it is not a regular file");
    }
    if metadata.nlink() != 1 {
        return refused(format!("it has {} names (hard links)", metadata.nlink()));
    }
    let size = metadata.len();
    if size > limit {
        return refused(format!("it has {size} bytes and at most {limit} are allowed"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    match file.take(limit + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > limit => refused(format!("it has more than {limit} bytes")),
        Ok(_) => Submission::Taken(bytes),
        Err(error) => refused(format!("it cannot be read: {error}")),
    }
}

fn refused(reason: impl Into<String>) -> Submission {
    Submission::Refused(format!("{SUBMISSION_FILE}: {}", reason.into()))
}
