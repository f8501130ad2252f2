//! The subject table: every conversation of the system, one line each, and the only place with subject strings.
//!
//! | subject | kind | type | who asks or publishes | who answers or reads |
//! |---|---|---|---|---|
//! | `jm.lm.<model>.generate` | request | [`Generate`](generate::Generate) → [`Generated`](generate::Generated) | implementer, ideator, instrumenter | inference |
//! | `jm.ideate.<name>` | request | [`SeekHelp`](ideate::SeekHelp) → [`Ideas`](ideate::Ideas) | implementer (episodes), anyone | ideator, or any program that answers |
//! | `jm.validate` | request | [`Validate`](validate::Validate) → [`Validated`](validate::Validated) | agents, anyone | grader |
//! | `jm.job.ideate.<run>` | job | [`IdeateJob`](job::IdeateJob) | trainer | ideator |
//! | `jm.job.implement.<run>` | job | [`ImplementJob`](job::ImplementJob) | trainer, ideator | implementer |
//! | `jm.job.instrument.<run>` | job | [`InstrumentJob`](job::InstrumentJob) | implementer | instrumenter |
//! | `jm.job.execute.<run>` | job | [`ExecuteJob`](job::ExecuteJob) | instrumenter | sandbox |
//! | `jm.job.grade.<run>` | job | [`GradeJob`](job::GradeJob) | sandbox, and any stage whose rollout ends early | grader |
//! | `jm.dead.<stage>.<run>` | event | [`DeadLetter`](event::DeadLetter) | any worker | operators |
//! | `jm.reward.<run>` | event | [`GroupEnded`](event::GroupEnded) | grader, reaper | trainer |
//! | `jm.adapter.<run>` | event | [`AdapterPublished`](event::AdapterPublished) | trainer | inference |
//! | `jm.ctl.cancel.<run>` | core | [`Cancel`](event::Cancel) | cli | every worker |

pub mod envelope;
pub mod event;
pub mod execution;
pub mod fault;
pub mod generate;
pub mod home;
pub mod ideate;
pub mod ids;
pub mod job;
pub mod reward;
pub mod run;
pub mod run_config;
pub mod samples;
pub mod validate;

use serde::{Serialize, de::DeserializeOwned};

use ids::RunId;

/// Version of the message format. Readers accept unknown fields of newer writers.
pub const SCHEMA_VERSION: u16 = 1;

/// Messages are kept under this size; what is larger travels by content hash.
pub const MESSAGE_LIMIT_BYTES: usize = 64 * 1024;

/// One question, one answer.
pub trait Request: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name in spans, metrics and golden files.
    const NAME: &'static str;
    /// What the answer looks like.
    type Reply: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The subject on which this question is asked.
    fn subject(&self) -> String;
}

/// One piece of work in the stream [`JOBS_STREAM`].
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stage that does it, which also names its durable consumer.
    const STAGE: Stage;
}

/// A fact, published once, kept in the stream [`EVENTS_STREAM`].
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Name in spans, metrics and golden files; second word of the subject.
    const NAME: &'static str;
    /// The run that the fact is about.
    fn run(&self) -> &RunId;
    /// Where it is published.
    fn subject(&self) -> String {
        format!("jm.{}.{}", Self::NAME, self.run())
    }
}

/// Stream of all job subjects.
pub const JOBS_STREAM: &str = "JOBS";
/// Subjects of [`JOBS_STREAM`].
pub const JOBS_SUBJECTS: &str = "jm.job.>";
/// Stream of facts.
pub const EVENTS_STREAM: &str = "EVENTS";
/// Subjects of [`EVENTS_STREAM`].
pub const EVENTS_SUBJECTS: [&str; 2] = ["jm.reward.>", "jm.adapter.>"];
/// Stream of dead letters and of the server's own notices about undeliverable jobs.
pub const DEAD_STREAM: &str = "DEAD";
/// Subjects of [`DEAD_STREAM`].
pub const DEAD_SUBJECTS: [&str; 2] = ["jm.dead.>", "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.JOBS.>"];
/// Object store bucket of adapters, named by content hash.
pub const ADAPTERS_BUCKET: &str = "adapters";

/// Subject of a job of `stage` in `run`.
pub fn job_subject(stage: Stage, run: &RunId) -> String {
    format!("jm.job.{stage}.{run}")
}

/// Filter of all jobs of `stage`.
pub fn job_filter(stage: Stage) -> String {
    format!("jm.job.{stage}.>")
}

/// Filter of all facts named `name`, of every run.
pub fn event_filter(name: &str) -> String {
    format!("jm.{name}.>")
}

/// Subject of a dead letter of `stage` in `run`.
pub fn dead_subject(stage: Stage, run: &RunId) -> String {
    format!("jm.dead.{stage}.{run}")
}

/// Subject on which the model `model` is asked to generate.
pub fn generate_subject(model: &ids::ModelId) -> String {
    format!("jm.lm.{model}.generate")
}

/// Subject on which the ideator `name` is asked for ideas: the swap point.
pub fn ideate_subject(name: &str) -> String {
    format!("jm.ideate.{name}")
}

/// Subject on which graders are asked whether a submission is well formed.
pub const VALIDATE_SUBJECT: &str = "jm.validate";

/// Subject that stops work on a run.
pub fn cancel_subject(run: &RunId) -> String {
    format!("jm.ctl.cancel.{run}")
}

/// A stage of the pipeline: one durable consumer, scaled on its own.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Write ideas for a state.
    Ideate,
    /// Write a program.
    Implement,
    /// Add progress markers.
    Instrument,
    /// Run the program.
    Execute,
    /// Score it and commit the reward.
    Grade,
}

impl Stage {
    /// Every stage, in the order of a rollout.
    pub const ALL: [Stage; 5] = [
        Stage::Ideate,
        Stage::Implement,
        Stage::Instrument,
        Stage::Execute,
        Stage::Grade,
    ];

    /// The word used in subjects, metric labels and log fields.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Ideate => "ideate",
            Stage::Implement => "implement",
            Stage::Instrument => "instrument",
            Stage::Execute => "execute",
            Stage::Grade => "grade",
        }
    }
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
