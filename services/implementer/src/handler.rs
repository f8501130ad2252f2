//! One job: build the prompt, ask for the completion, keep it, take the program out, and hand it to the instrumenter.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use journeyman_bus::{JobError, job_id};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    execution::NotRun,
    generate::ChatMessage,
    ideate::Idea,
    ids::{ContentHash, RolloutKey},
    job::{Completion, GradeJob, ImplementJob, InstrumentJob, Outcome, Policy, State, Work},
};
use journeyman_service::{Context, Metric, chain, job_error_of, word};
use journeyman_tasks::{excerpt::excerpt, public::PublicTask, shelf::Shelf};

use crate::{
    config::Config,
    extract,
    prompt::{Earlier, Prompts, Sections},
};

/// What every job needs.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) ctx: Context<Config>,
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) shelf: Arc<Shelf>,
}

impl Handler {
    /// Has a program written for a job, on its delivery number `attempt`. A completion without one is graded at once.
    pub(crate) async fn implement(&self, job: Envelope<ImplementJob>, attempt: u32) -> Result<(), JobError> {
        let Some(key) = job.key.clone() else {
            return Err(JobError::poison("an implement job without a rollout"));
        };
        let messages = self.messages(&job.body).await?;
        let completion = self.ctx.complete(&job, &job.body.generation, messages).await?;
        let hash = self
            .ctx
            .store
            .put_json(&completion)
            .await
            .map_err(|error| job_error_of(&error))?;
        let mut work = job.body.work.clone();
        // With a frozen implementer the policy's completion is the idea, if there is one.
        if work.policy == Policy::Implementer || work.completion.is_none() {
            work.completion = Some(hash);
        }
        let program = extract::program(&completion.text);
        self.measure(&completion, program.is_some());
        match program {
            Some(program) => self.hand_on(&job, &key, attempt, work, &program).await,
            None => self.give_back(&job, &key, attempt, work).await,
        }
    }

    async fn messages(&self, job: &ImplementJob) -> Result<Vec<ChatMessage>, JobError> {
        let config = &self.ctx.config.implementer;
        let task = self.task(job).await?;
        let earlier = match &job.work.state {
            State::Scratch => None,
            State::Improve(solution) => {
                let program = self.text(&solution.program, config.program_chars).await?;
                let output = match &solution.output {
                    Some(output) => Some(self.text(output, config.output_chars).await?),
                    None => None,
                };
                Some((program, output, solution.score))
            }
        };
        let idea: Option<Idea> = match &job.idea {
            Some(idea) => Some(
                self.ctx
                    .store
                    .get_json(idea)
                    .await
                    .map_err(|error| job_error_of(&error))?,
            ),
            None => None,
        };
        let kind = match (&idea, &earlier) {
            (Some(_), _) => "idea",
            (None, Some(_)) => "improve",
            (None, None) => "scratch",
        };
        self.ctx.metrics.count(Metric::Prompts, &[kind]);
        let sections = Sections {
            description: task.description(),
            data_snippet: task.data_snippet(),
            starter_code: task.starter_code(),
            earlier: earlier.as_ref().map(|(program, output, score)| Earlier {
                program,
                output: output.as_deref(),
                score: *score,
            }),
            idea: idea.as_ref(),
        };
        self.prompts
            .render(&sections)
            .map_err(|error| JobError::poison(format!("the prompt can't be written: {error}")))
    }

    async fn task(&self, job: &ImplementJob) -> Result<Arc<PublicTask>, JobError> {
        let (shelf, task) = (self.shelf.clone(), job.work.task.clone());
        let loaded = tokio::task::spawn_blocking(move || shelf.public(&task)).await;
        loaded
            .map_err(|error| JobError::retry(format!("loading the task ended early: {error}")))?
            .map_err(|error| JobError::poison(chain(&error)))
    }

    async fn text(&self, hash: &ContentHash, limit: usize) -> Result<String, JobError> {
        let bytes = self
            .ctx
            .store
            .get_blob(hash)
            .await
            .map_err(|error| job_error_of(&error))?;
        Ok(excerpt(&String::from_utf8_lossy(&bytes), limit))
    }

    async fn hand_on(
        &self,
        job: &Envelope<ImplementJob>,
        key: &RolloutKey,
        attempt: u32,
        work: Work,
        program: &str,
    ) -> Result<(), JobError> {
        let program = self
            .ctx
            .store
            .put_blob(program.as_bytes())
            .await
            .map_err(|error| job_error_of(&error))?;
        let (instrument, limits) = (job.body.instrument.clone(), job.body.limits.clone());
        let mut next = job.next(
            job_id(key, Stage::Instrument, attempt),
            InstrumentJob {
                work,
                program,
                instrument,
                limits,
            },
        );
        next.attempt = attempt;
        Ok(self.ctx.bus.enqueue(&next).await?)
    }

    async fn give_back(
        &self,
        job: &Envelope<ImplementJob>,
        key: &RolloutKey,
        attempt: u32,
        work: Work,
    ) -> Result<(), JobError> {
        self.ctx.metrics.count(Metric::NotRun, &[word(NotRun::NoProgram)]);
        let outcome = Outcome::NotRun(NotRun::NoProgram);
        let mut next = job.next(
            job_id(key, Stage::Grade, attempt),
            GradeJob {
                work,
                program: None,
                outcome,
            },
        );
        next.attempt = attempt;
        Ok(self.ctx.bus.enqueue(&next).await?)
    }

    fn measure(&self, completion: &Completion, has_program: bool) {
        let outcome = match (completion.truncated, has_program) {
            (true, _) => "truncated",
            (false, true) => "program",
            (false, false) => "no_program",
        };
        self.ctx.metrics.count(Metric::Programs, &[outcome]);
        let tokens = completion.token_ids.len();
        tracing::debug!(outcome, tokens, "completion of {tokens} tokens: {outcome}");
    }
}
