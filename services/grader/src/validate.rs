//! Is this submission well formed? Asked over NATS and over HTTP; the answer depends on no label.

use std::{future::Future, sync::Arc};

use journeyman_schemas::{
    envelope::Envelope,
    fault::{Fault, FaultCode},
    ids::TaskId,
    validate::{Validate, Validated},
};
use journeyman_service::{Clock, Context, Metric, Metrics, fault_of};
use journeyman_store::{Store, StoreError};
use journeyman_tasks::{grading::GradingTask, submission::Invalid};

use crate::{
    config::Config,
    judge::{Judge, Trouble},
    tasks::Tasks,
};

/// The time in which questions are counted, seconds.
const WINDOW_S: u64 = 60;
/// Longest name of an asker.
const ASKER_CHARS: usize = 64;

/// Answers questions, however they came.
pub(crate) struct Validator {
    store: Store,
    clock: Clock,
    metrics: Metrics,
    tasks: Arc<Tasks>,
    judge: Judge,
    per_minute: u64,
}

/// The asker has asked too often.
pub(crate) struct Limited {
    /// When asking helps again, seconds from now.
    pub(crate) wait_s: u64,
    /// For people.
    pub(crate) message: String,
}

impl Validator {
    pub(crate) fn new(ctx: &Context<Config>, tasks: Arc<Tasks>, judge: Judge) -> Self {
        Self {
            store: ctx.store.clone(),
            clock: ctx.clock.clone(),
            metrics: ctx.metrics.clone(),
            tasks,
            judge,
            per_minute: ctx.config.grader.validate.per_minute,
        }
    }

    /// A question over NATS. It is counted by its run, else by its asker.
    pub(crate) async fn answer(&self, envelope: Envelope<Validate>) -> Result<Validated, Fault> {
        let Validate {
            task,
            asker,
            submission,
        } = envelope.body;
        let asker = match envelope.key {
            Some(key) => format!("run/{}", key.run),
            None => format!("asker/{}", checked(asker)?),
        };
        if let Some(limited) = self.admit(&asker).await? {
            return Err(Fault::new(FaultCode::Busy, limited.message));
        }
        let bytes = self
            .store
            .blob_bytes(&submission)
            .await
            .map_err(|error| fault_of(&error))?;
        let read = async {
            let read = self.store.get_blob(&submission).await;
            read.map_err(|error| match error {
                StoreError::NoBlob(_) => Fault::new(
                    FaultCode::NotFound,
                    format!("submission `{submission}` is not stored"),
                ),
                _ => fault_of(&error),
            })
        };
        self.validate(&task, bytes, read).await
    }

    /// Counts a question of `asker`; an answer means that it is one too many.
    pub(crate) async fn admit(&self, asker: &str) -> Result<Option<Limited>, Fault> {
        if self.per_minute == 0 {
            return Ok(None);
        }
        let now_s = self.clock.now_ms().div_euclid(1000);
        let window = now_s.div_euclid(WINDOW_S as i64);
        let counted = self.store.count_question(asker, window, WINDOW_S).await;
        let count = counted.map_err(|error| fault_of(&error))?;
        if count <= self.per_minute {
            return Ok(None);
        }
        self.metrics.count(Metric::Validations, &["limited"]);
        let wait_s = WINDOW_S - now_s.rem_euclid(WINDOW_S as i64) as u64;
        Ok(Some(Limited {
            wait_s,
            message: format!(
                "`{asker}` has asked {count} times within this minute; {} are answered; ask again in {wait_s} s",
                self.per_minute
            ),
        }))
    }

    /// Reads and checks a submission of `bytes` bytes.
    pub(crate) async fn validate(
        &self,
        task: &TaskId,
        bytes: u64,
        read: impl Future<Output = Result<Vec<u8>, Fault>>,
    ) -> Result<Validated, Fault> {
        let task = self.tasks.get(task).await.map_err(|reason| {
            // The reason may quote the answers, so it is for the log alone.
            tracing::warn!(task = %task, reason, "validation for task {task}, which can't be loaded");
            Fault::new(FaultCode::NotFound, format!("task `{task}` is not known here"))
        })?;
        let checked = self
            .judge
            .judge(&task, bytes, read, GradingTask::check_within)
            .await
            .map_err(|trouble| match trouble {
                Trouble::Read(fault) => fault,
                Trouble::Panic(panic) => {
                    tracing::error!(panic, "a check panicked");
                    Fault::new(
                        FaultCode::Internal,
                        "the check failed; this is not your submission's fault",
                    )
                }
            })?;
        Ok(self.told(checked))
    }

    fn told(&self, checked: Result<(), Invalid>) -> Validated {
        let word = if checked.is_ok() { "valid" } else { "invalid" };
        self.metrics.count(Metric::Validations, &[word]);
        match checked {
            Ok(()) => Validated {
                valid: true,
                kind: None,
                message: "submission.csv is well formed".to_owned(),
            },
            Err(Invalid { kind, message }) => Validated {
                valid: false,
                kind: Some(kind.as_str().to_owned()),
                message: format!("submission.csv: {message}"),
            },
        }
    }
}

/// A name that can stand in a key.
fn checked(asker: String) -> Result<String, Fault> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if (1..=ASKER_CHARS).contains(&asker.len()) && asker.chars().all(good) {
        return Ok(asker);
    }
    let message = "`asker` must be 1 to 64 characters of a-z, A-Z, 0-9, `-`, `_` and `.`";
    Err(Fault::new(FaultCode::Invalid, message))
}
