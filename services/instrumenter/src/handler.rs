//! One job: fetch the program, put its markers in, store it, and hand it to the sandbox.

use journeyman_bus::{JobError, job_id};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    execution::NotRun,
    generate::Sampling,
    ids::{ContentHash, ModelId, RolloutKey},
    job::{ExecuteJob, Generation, GradeJob, InstrumentJob, Outcome},
};
use journeyman_service::{Context, Metric, job_error_of, word};

use crate::{
    config::Config,
    instrument::{Instrumented, Proposal, draw_nonce, instrument},
    proposal::{ANSWER_TOKENS, question},
    tree::{PROGRAM_LIMIT_BYTES, SyntaxError, parse, with_large_stack},
};

/// What every job needs.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) ctx: Context<Config>,
}

impl Handler {
    /// Instruments the program of a job, on its delivery number `attempt`. A program that is no Python is graded at once.
    pub(crate) async fn instrument(
        &self,
        job: Envelope<InstrumentJob>,
        attempt: u32,
    ) -> Result<(), JobError> {
        let Some(key) = job.key.clone() else {
            return Err(JobError::poison("an instrument job without a rollout"));
        };
        let store = &self.ctx.store;
        let bytes = store
            .get_blob(&job.body.program)
            .await
            .map_err(|error| job_error_of(&error))?;
        let Ok(program) = String::from_utf8(bytes) else {
            return self.refuse(&job, &key, attempt).await;
        };
        let proposal = match self.propose(&job, &key, &program).await? {
            Ok(proposal) => proposal,
            Err(error) => {
                tracing::debug!(%error, "no markers");
                return self.refuse(&job, &key, attempt).await;
            }
        };
        // Drawn here, at each delivery: it exists in the queue between us and the grader, and in what runs.
        let nonce = draw_nonce();
        let drawn = nonce.clone();
        let instrumented = match on_parser(move || instrument(&program, &proposal, &drawn)).await? {
            Ok(instrumented) => instrumented,
            Err(error) => {
                tracing::debug!(%error, "no markers");
                return self.refuse(&job, &key, attempt).await;
            }
        };
        self.measure(&instrumented);
        let hash = store
            .put_blob(instrumented.program.as_bytes())
            .await
            .map_err(|error| job_error_of(&error))?;
        let body = ExecuteJob {
            work: job.body.work.clone(),
            program: job.body.program.clone(),
            instrumented: hash,
            nonce,
            markers: instrumented.markers,
            limits: job.body.limits.clone(),
        };
        let mut next = job.next(job_id(&key, Stage::Execute, attempt), body);
        next.attempt = attempt;
        Ok(self.ctx.bus.enqueue(&next).await?)
    }

    /// What the frozen model says, when it is this rollout's turn and the program is one.
    async fn propose(
        &self,
        job: &Envelope<InstrumentJob>,
        key: &RolloutKey,
        program: &str,
    ) -> Result<Result<Proposal, SyntaxError>, JobError> {
        let rule = &job.body.instrument;
        let Some(model) = rule.model.as_ref().filter(|_| is_chosen(key, rule.model_share)) else {
            return Ok(Ok(Proposal::NotAsked));
        };
        if program.len() > self.ctx.config.instrumenter.asked_bytes.min(PROGRAM_LIMIT_BYTES) {
            return Ok(Ok(Proposal::TooLong));
        }
        let owned = program.to_owned();
        if let Err(error) = on_parser(move || parse(&owned).map(|_| ())).await? {
            return Ok(Err(error));
        }
        Ok(Ok(self.ask(job, model, program).await))
    }

    /// Whatever goes wrong here, the syntax tree does instead.
    async fn ask(&self, job: &Envelope<InstrumentJob>, model: &ModelId, program: &str) -> Proposal {
        let messages = match question(program) {
            Ok(messages) => messages,
            Err(error) => {
                tracing::error!(%error, "the question about a program can't be written");
                return Proposal::Unavailable;
            }
        };
        let generation = Generation {
            model: model.clone(),
            adapter: None,
            sampling: Sampling::greedy(ANSWER_TOKENS),
        };
        match self.ctx.complete(job, &generation, messages).await {
            Ok(completion) => Proposal::Answer(completion.text),
            Err(error) => {
                tracing::warn!(%error, "model `{model}` could not be asked for markers");
                Proposal::Unavailable
            }
        }
    }

    /// Sends a program that is no Python to the grader.
    async fn refuse(
        &self,
        job: &Envelope<InstrumentJob>,
        key: &RolloutKey,
        attempt: u32,
    ) -> Result<(), JobError> {
        self.ctx
            .metrics
            .count(Metric::NotRun, &[word(NotRun::SyntaxError)]);
        let body = GradeJob {
            work: job.body.work.clone(),
            program: Some(job.body.program.clone()),
            outcome: Outcome::NotRun(NotRun::SyntaxError),
        };
        let mut next = job.next(job_id(key, Stage::Grade, attempt), body);
        next.attempt = attempt;
        Ok(self.ctx.bus.enqueue(&next).await?)
    }

    fn measure(&self, instrumented: &Instrumented) {
        let (way, reason) = (instrumented.way.as_str(), instrumented.reason.as_str());
        self.ctx.metrics.count(Metric::Instrumented, &[way, reason]);
        let markers = instrumented.markers.len();
        tracing::debug!(way, reason, markers, "program has {markers} markers");
    }
}

/// Runs `work` with the parser's stack, off the runtime's threads.
async fn on_parser<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JobError> {
    let done = tokio::task::spawn_blocking(move || with_large_stack(work)).await;
    done.map_err(|error| JobError::retry(format!("the parser's thread ended: {error}")))?
        .map_err(|error| JobError::retry(error.to_string()))
}

/// Whether the model is asked for this rollout: the same answer at each delivery, for `share` of all rollouts.
fn is_chosen(key: &RolloutKey, share: f64) -> bool {
    let hash = ContentHash::of(format!("markers of {key}").as_bytes());
    // 13 hex digits are 52 bits, which an f64 holds exactly.
    let digits = u64::from_str_radix(&hash.as_str()[..13], 16).unwrap_or(u64::MAX);
    (digits as f64) < share * (1u64 << 52) as f64
}

#[cfg(test)]
mod tests;
