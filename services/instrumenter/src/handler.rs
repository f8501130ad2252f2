//! One job: fetch the program, put its markers in, store it, and hand it to the sandbox.

use journeyman_bus::JobError;
use journeyman_schemas::{
    envelope::Envelope,
    execution::NotRun,
    generate::Sampling,
    ids::{ContentHash, ModelId, RolloutKey},
    job::{ExecuteJob, Generation, InstrumentJob},
};
use journeyman_service::{Context, Metric};

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
        let Ok(program) = String::from_utf8(self.ctx.kept(&job.body.program).await?) else {
            return self.refuse(&job, attempt).await;
        };
        let proposal = match self.propose(&job, &program).await? {
            Ok(proposal) => proposal,
            Err(error) => {
                tracing::debug!(%error, "no markers");
                return self.refuse(&job, attempt).await;
            }
        };
        // Drawn here, at each delivery: it exists in the queue between us and the grader, and in what runs.
        let nonce = draw_nonce();
        let drawn = nonce.clone();
        let instrumented = match on_parser(move || instrument(&program, &proposal, &drawn)).await? {
            Ok(instrumented) => instrumented,
            Err(error) => {
                tracing::debug!(%error, "no markers");
                return self.refuse(&job, attempt).await;
            }
        };
        self.measure(&instrumented);
        let next = ExecuteJob {
            work: job.body.work.clone(),
            program: job.body.program.clone(),
            instrumented: self.ctx.keep(instrumented.program.as_bytes()).await?,
            nonce,
            markers: instrumented.markers,
            limits: job.body.limits.clone(),
        };
        self.ctx.hand_on(&job, attempt, next).await
    }

    /// What the frozen model says, when it is this rollout's turn and the program is one.
    async fn propose(
        &self,
        job: &Envelope<InstrumentJob>,
        program: &str,
    ) -> Result<Result<Proposal, SyntaxError>, JobError> {
        let rule = &job.body.instrument;
        let chosen = job
            .key
            .as_ref()
            .is_some_and(|key| is_chosen(key, rule.model_share));
        let Some(model) = rule.model.as_ref().filter(|_| chosen) else {
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
    async fn refuse(&self, job: &Envelope<InstrumentJob>, attempt: u32) -> Result<(), JobError> {
        let (work, program) = (job.body.work.clone(), job.body.program.clone());
        self.ctx
            .hand_on_unrun(job, attempt, work, Some(program), NotRun::SyntaxError)
            .await
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
