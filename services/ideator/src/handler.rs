//! Ideas for rollouts ([`Handler::ideate`]) and for whoever asks ([`Handler::help`]).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use journeyman_bus::{JobError, RequestError};
use journeyman_schemas::{
    envelope::Envelope,
    execution::NotRun,
    fault::{Fault, FaultCode},
    generate::{ChatMessage, Generate, Generated, Prompt},
    ideate::{Idea, Ideas, SeekHelp},
    ids::ContentHash,
    job::{IdeateJob, ImplementJob, State, Work},
};
use journeyman_service::{Context, Metric, chain};
use journeyman_tasks::{excerpt::excerpt, public::PublicTask, shelf::Shelf};

use crate::{
    config::Config,
    idea::{self, BadIdea},
    prompt::{Progress, Prompts},
};

/// What every job and question needs.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) ctx: Context<Config>,
    pub(crate) prompts: Arc<Prompts>,
    pub(crate) shelf: Arc<Shelf>,
}

impl Handler {
    /// Has an idea written for a job, on its delivery number `attempt`. One that is badly formed is graded at once.
    pub(crate) async fn ideate(&self, job: Envelope<IdeateJob>, attempt: u32) -> Result<(), JobError> {
        let messages = self.messages(&job.body).await?;
        let completion = self.ctx.complete(&job, &job.body.generation, messages).await?;
        let work = Work {
            completion: Some(self.ctx.keep_json(&completion).await?),
            ..job.body.work.clone()
        };
        let Ok(idea) = self.read(&completion.text) else {
            return self
                .ctx
                .hand_on_unrun(&job, attempt, work, None, NotRun::BadIdea)
                .await;
        };
        let next = ImplementJob {
            work,
            generation: job.body.implement.clone(),
            idea: Some(self.ctx.keep_json(&idea).await?),
            limits: job.body.limits.clone(),
            instrument: job.body.instrument.clone(),
        };
        self.ctx.hand_on(&job, attempt, next).await
    }

    /// Answers one who seeks help with up to `n` ideas; those that are badly formed are left out.
    pub(crate) async fn help(&self, question: Envelope<SeekHelp>) -> Result<Ideas, Fault> {
        let config = &self.ctx.config.ideator;
        let asked = &question.body;
        if asked.n == 0 || asked.n > config.help.max_ideas {
            let (n, most) = (asked.n, config.help.max_ideas);
            return Err(Fault::new(
                FaultCode::Invalid,
                format!("`n` is `{n}`: it must be 1 to {most}"),
            ));
        }
        let program = excerpt(&asked.program, config.program_chars);
        let progress = Progress {
            description: &asked.description,
            program: (!program.trim().is_empty()).then_some(program.as_str()),
            output: Some(&excerpt(&asked.output, config.output_chars)),
            score: asked.score,
            query: &asked.query,
        };
        let internal = |error: &dyn std::error::Error| Fault::new(FaultCode::Internal, chain(error));
        let request = Generate {
            model: config.help.model().map_err(|error| internal(&error))?,
            adapter: config.help.adapter().map_err(|error| internal(&error))?,
            prompt: Prompt::Messages(self.prompts.render(&progress).map_err(|error| internal(&error))?),
            sampling: config.help.sampling(seed_of(&question.id)),
            n: asked.n,
        };
        let reply = self
            .ctx
            .bus
            .request(&question.next(format!("{}/generate", question.id), request))
            .await;
        let reply = reply.map_err(fault_of_request)?.body;
        self.count(&reply);
        let ideas = reply
            .samples
            .iter()
            .filter_map(|sample| self.read(&sample.text).ok())
            .collect();
        Ok(Ideas { ideas })
    }

    async fn messages(&self, job: &IdeateJob) -> Result<Vec<ChatMessage>, JobError> {
        let config = &self.ctx.config.ideator;
        let task = self.task(job).await?;
        let (program, output, score) = match &job.work.state {
            State::Scratch => (None, None, None),
            State::Improve(solution) => {
                let program = self.text(&solution.program, config.program_chars).await?;
                let output = match &solution.output {
                    Some(output) => Some(self.text(output, config.output_chars).await?),
                    None => None,
                };
                (Some(program), output, solution.score)
            }
        };
        let progress = Progress {
            description: &task.summary(),
            program: program.as_deref(),
            output: output.as_deref(),
            score,
            query: "",
        };
        self.prompts
            .render(&progress)
            .map_err(|error| JobError::poison(format!("the prompt can't be written: {error}")))
    }

    async fn task(&self, job: &IdeateJob) -> Result<Arc<PublicTask>, JobError> {
        let (shelf, task) = (self.shelf.clone(), job.work.task.clone());
        let loaded = tokio::task::spawn_blocking(move || shelf.public(&task)).await;
        loaded
            .map_err(|error| JobError::retry(format!("loading the task ended early: {error}")))?
            .map_err(|error| JobError::poison(chain(&error)))
    }

    async fn text(&self, hash: &ContentHash, limit: usize) -> Result<String, JobError> {
        Ok(excerpt(&self.ctx.kept_text(hash).await?, limit))
    }

    fn read(&self, text: &str) -> Result<Idea, BadIdea> {
        let idea = idea::parse(text);
        self.ctx
            .metrics
            .count(Metric::Ideas, &[if idea.is_ok() { "ok" } else { "failed" }]);
        if let Err(error) = &idea {
            tracing::debug!(%error, "idea is badly formed");
        }
        idea
    }

    fn count(&self, reply: &Generated) {
        let drawn: usize = reply.samples.iter().map(|sample| sample.token_ids.len()).sum();
        self.ctx.metrics.add(
            Metric::AskedPromptTokens,
            &[],
            reply.prompt_token_ids.len() as f64,
        );
        self.ctx
            .metrics
            .add(Metric::AskedCompletionTokens, &[], drawn as f64);
    }
}

/// The same question, asked again under the same id, gets the same ideas.
fn seed_of(id: &str) -> u64 {
    let hash = ContentHash::of(id.as_bytes());
    // 16 hex digits are 64 bits.
    u64::from_str_radix(&hash.as_str()[..16], 16).unwrap_or(0)
}

/// What the one who seeks help is told when the model server does not answer.
fn fault_of_request(error: RequestError) -> Fault {
    match error {
        RequestError::Fault { fault, .. } => fault,
        RequestError::DeadlineExceeded { .. } => Fault::new(FaultCode::DeadlineExceeded, error.to_string()),
        RequestError::TooLarge { .. } => Fault::new(FaultCode::TooLarge, error.to_string()),
        _ if error.retry() => Fault::new(FaultCode::Unavailable, error.to_string()),
        _ => Fault::new(FaultCode::Internal, error.to_string()),
    }
}
