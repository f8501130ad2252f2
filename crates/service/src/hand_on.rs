//! Handing a rollout on to its next stage.

use journeyman_bus::{JobError, job_id};
use journeyman_schemas::{
    Job,
    envelope::Envelope,
    execution::NotRun,
    ids::ContentHash,
    job::{GradeJob, Outcome, Work},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Context, Metric, job_error_of, word};

impl<C> Context<C> {
    /// Queues what came of `job` at its delivery `attempt`. Repeated, it is queued once.
    pub async fn hand_on<T, J: Job>(&self, job: &Envelope<T>, attempt: u32, body: J) -> Result<(), JobError> {
        let Some(key) = &job.key else {
            return Err(JobError::poison(format!("job `{}` has no `key`", job.id)));
        };
        let mut next = job.next(job_id(key, J::STAGE, attempt), body);
        next.attempt = attempt;
        Ok(self.bus.enqueue(&next).await?)
    }

    /// Sends a rollout to the grader of which nothing is run, and counts why.
    pub async fn hand_on_unrun<T>(
        &self,
        job: &Envelope<T>,
        attempt: u32,
        work: Work,
        program: Option<ContentHash>,
        reason: NotRun,
    ) -> Result<(), JobError> {
        self.metrics.count(Metric::NotRun, &[word(reason)]);
        let outcome = Outcome::NotRun(reason);
        let body = GradeJob {
            work,
            program,
            outcome,
        };
        self.hand_on(job, attempt, body).await
    }

    /// Keeps bytes for the stages that follow.
    pub async fn keep(&self, bytes: &[u8]) -> Result<ContentHash, JobError> {
        self.store
            .put_blob(bytes)
            .await
            .map_err(|error| job_error_of(&error))
    }

    /// Keeps a value as JSON for the stages that follow.
    pub async fn keep_json<T: Serialize + Sync>(&self, value: &T) -> Result<ContentHash, JobError> {
        self.store
            .put_json(value)
            .await
            .map_err(|error| job_error_of(&error))
    }

    /// What a stage before kept.
    pub async fn kept(&self, hash: &ContentHash) -> Result<Vec<u8>, JobError> {
        self.store
            .get_blob(hash)
            .await
            .map_err(|error| job_error_of(&error))
    }

    /// A value that a stage before kept as JSON.
    pub async fn kept_json<T: DeserializeOwned>(&self, hash: &ContentHash) -> Result<T, JobError> {
        self.store
            .get_json(hash)
            .await
            .map_err(|error| job_error_of(&error))
    }

    /// What a stage before kept, as text; what is no UTF-8 is replaced.
    pub async fn kept_text(&self, hash: &ContentHash) -> Result<String, JobError> {
        Ok(String::from_utf8_lossy(&self.kept(hash).await?).into_owned())
    }
}
