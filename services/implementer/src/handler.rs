//! One job: build the prompt, ask for the completion, keep it, take the program out, and hand it to the instrumenter.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use journeyman_bus::JobError;
use journeyman_schemas::{
    envelope::Envelope,
    execution::NotRun,
    generate::ChatMessage,
    ideate::Idea,
    ids::ContentHash,
    job::{Completion, ImplementJob, InstrumentJob, Policy, State},
};
use journeyman_service::{Context, Metric, chain};
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
        let messages = self.messages(&job.body).await?;
        let completion = self.ctx.complete(&job, &job.body.generation, messages).await?;
        let hash = self.ctx.keep_json(&completion).await?;
        let mut work = job.body.work.clone();
        // With a frozen implementer the policy's completion is the idea, if there is one.
        if work.policy == Policy::Implementer || work.completion.is_none() {
            work.completion = Some(hash);
        }
        let program = extract::program(&completion.text);
        self.measure(&completion, program.is_some());
        let Some(program) = program else {
            return self
                .ctx
                .hand_on_unrun(&job, attempt, work, None, NotRun::NoProgram)
                .await;
        };
        let next = InstrumentJob {
            work,
            program: self.ctx.keep(program.as_bytes()).await?,
            instrument: job.body.instrument.clone(),
            limits: job.body.limits.clone(),
        };
        self.ctx.hand_on(&job, attempt, next).await
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
            Some(idea) => Some(self.ctx.kept_json(idea).await?),
            None => None,
        };
        let kind = match (&idea, &earlier) {
            (Some(_), _) => "idea",
            (None, Some(_)) => "improve",
            (None, None) => "scratch",
        };
        self.ctx.metrics.count(Metric::Prompts, &[kind]);
        let sections = Sections {
            description: &task.summary(),
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
        Ok(excerpt(&self.ctx.kept_text(hash).await?, limit))
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
