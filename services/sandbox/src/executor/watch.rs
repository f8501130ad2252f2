//! Memory, processes and files of a job where no control group counts them. Weaker: looked at now and then.

use std::{fs, path::Path};

/// Directory entries looked at in one pass.
const ENTRIES: usize = 20_000;

/// What a tree holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) memory_bytes: u64,
    pub(super) tasks: u64,
    /// CPU seconds, those of reaped children included.
    pub(super) cpu_s: f64,
}

/// Adds up the process `pid` and everything below it.
pub(super) fn tree(pid: i32) -> Usage {
    let mut usage = Usage::default();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let directory = format!("/proc/{pid}");
        usage.memory_bytes += private_bytes(&directory);
        usage.cpu_s += cpu_s(&directory);
        let Ok(tasks) = fs::read_dir(format!("{directory}/task")) else {
            continue;
        };
        for task in tasks.filter_map(Result::ok) {
            usage.tasks += 1;
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            open.extend(
                children
                    .split_whitespace()
                    .filter_map(|child| child.parse::<i32>().ok()),
            );
        }
    }
    usage
}

/// Threads and processes of the user who runs us.
pub(super) fn own_tasks() -> u64 {
    let me = nix::unistd::geteuid().as_raw();
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| {
            use std::os::unix::fs::MetadataExt;
            entry.metadata().is_ok_and(|metadata| metadata.uid() == me)
        })
        .map(|entry| fs::read_dir(entry.path().join("task")).map_or(0, |tasks| tasks.count() as u64))
        .sum()
}

/// Resident pages that are not shared with files.
fn private_bytes(directory: &str) -> u64 {
    let text = fs::read_to_string(format!("{directory}/statm")).unwrap_or_default();
    let mut words = text
        .split_whitespace()
        .skip(1)
        .map(|word| word.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}

/// The four times in `stat`: own user and system, and those of reaped children.
fn cpu_s(directory: &str) -> f64 {
    let text = fs::read_to_string(format!("{directory}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold anything; the times are fields 14 to 17, and 3 follows the name.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Bytes of the files below `directory`, as far as they can be seen.
pub(super) fn disk_bytes(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let (mut bytes, mut seen) = (0, 0);
    let mut open = vec![directory.to_path_buf()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(directory) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if seen > ENTRIES {
                return u64::MAX;
            }
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => bytes += metadata.blocks() * 512,
                Err(_) => {}
            }
        }
    }
    bytes
}
