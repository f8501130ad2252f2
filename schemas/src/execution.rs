//! How a program ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ContentHash;

/// Limits of one execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Memory of the whole tree, bytes, tmpfs files included.
    pub memory_bytes: u64,
    /// Processes and threads.
    pub pids: u32,
    /// Output kept, bytes: half from the head, half from the tail.
    pub output_bytes: u64,
    /// Files written, bytes.
    pub disk_bytes: u64,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Exit status 0.
    Ok,
    /// Another exit status or a signal of its own.
    Error,
    /// Over the wall limit.
    Timeout,
    /// Over the memory limit.
    OutOfMemory,
    /// Ended by us: cancelled, or over another limit.
    Killed,
    /// The sandbox failed; not the program's fault.
    SandboxError,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 6] = [
        Verdict::Ok,
        Verdict::Error,
        Verdict::Timeout,
        Verdict::OutOfMemory,
        Verdict::Killed,
        Verdict::SandboxError,
    ];

    /// The word in reports and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Error => "error",
            Verdict::Timeout => "timeout",
            Verdict::OutOfMemory => "out_of_memory",
            Verdict::Killed => "killed",
            Verdict::SandboxError => "sandbox_error",
        }
    }
}

/// How strongly a program was walled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IsolationLevel {
    /// Not at all.
    None,
    /// Namespaces without cgroup limits.
    Namespaces,
    /// Own uid, namespaces, cgroup limits and system call filter.
    Full,
}

/// What came of an execution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// How it ended.
    pub verdict: Verdict,
    /// Exit status, when it exited.
    pub exit_code: Option<i32>,
    /// Signal, when one ended it.
    pub signal: Option<i32>,
    /// Measured wall-clock seconds, queueing excluded.
    pub wall_s: f64,
    /// Measured CPU seconds of the whole tree.
    pub cpu_s: f64,
    /// Output, stdout and stderr as they came, capped; still with marker lines.
    pub output: ContentHash,
    /// The file `submission.csv`, when there was a regular one within the size limit.
    pub submission: Option<ContentHash>,
    /// Why a submission that was there could not be taken.
    pub submission_refused: Option<String>,
    /// How strongly it was walled in.
    pub isolation: IsolationLevel,
    /// The secret word of its markers.
    pub nonce: Nonce,
    /// Markers that were put in, in the order in which they count.
    pub markers: Vec<Marker>,
}

/// Why a program never ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotRun {
    /// The completion holds no code block.
    NoProgram,
    /// It does not parse as Python.
    SyntaxError,
    /// The idea is badly formed (policy = ideator).
    BadIdea,
}

/// The secret word of one execution's markers: 32 hex digits that the policy never sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Nonce(pub String);

/// A step of a program that earns partial credit, in the order in which steps count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// Its imports succeeded.
    Imported,
    /// A data file was read.
    LoadedData,
    /// A model object exists.
    DefinedModel,
    /// A model was fitted.
    TrainedModel,
    /// Predictions for the test rows exist.
    Predicted,
    /// A submission was written.
    WroteSubmission,
}

impl Marker {
    /// Every marker, in order.
    pub const ALL: [Marker; 6] = [
        Marker::Imported,
        Marker::LoadedData,
        Marker::DefinedModel,
        Marker::TrainedModel,
        Marker::Predicted,
        Marker::WroteSubmission,
    ];

    /// The word printed after the nonce.
    pub fn as_str(self) -> &'static str {
        match self {
            Marker::Imported => "imported",
            Marker::LoadedData => "loaded_data",
            Marker::DefinedModel => "defined_model",
            Marker::TrainedModel => "trained_model",
            Marker::Predicted => "predicted",
            Marker::WroteSubmission => "wrote_submission",
        }
    }

    /// The line that a program prints when it reaches this marker: `<nonce> <word>`.
    pub fn line(self, nonce: &Nonce) -> String {
        format!("{} {}", nonce.0, self.as_str())
    }
}
