//! One grade job, from its blobs to the commit.

use std::{sync::Arc, time::Instant};

use journeyman_bus::JobError;
use journeyman_schemas::{
    envelope::Envelope,
    execution::{Execution, NotRun, Verdict},
    ids::{ContentHash, RolloutKey},
    job::{GradeJob, Outcome, Solution, Work},
    reward::{EndOutcome, Rewarded, RolloutEnd},
};
use journeyman_service::{Context, Ends, Metric, Metrics, chain, job_error_of};
use journeyman_store::{ArchiveEntry, Commit, Store, StoreError};
use journeyman_tasks::grading::{Graded, GradingTask};

use crate::{
    config::Config,
    judge::{Judge, Trouble},
    output, reward,
    tasks::Tasks,
};

/// What the handler needs.
pub(crate) struct Grader {
    store: Store,
    ends: Ends,
    metrics: Metrics,
    tasks: Arc<Tasks>,
    judge: Judge,
    output_bytes: usize,
}

/// What came of an execution or of its absence.
struct Scored {
    graded: Result<Graded, String>,
    markers: u32,
    not_run: Option<NotRun>,
    /// Printed output without markers; none when nothing ran.
    output: Option<ContentHash>,
}

impl Grader {
    pub(crate) fn new(ctx: &Context<Config>, tasks: Arc<Tasks>, judge: Judge) -> Self {
        Self {
            store: ctx.store.clone(),
            ends: ctx.ends.clone(),
            metrics: ctx.metrics.clone(),
            tasks,
            judge,
            output_bytes: ctx.config.grader.output_bytes,
        }
    }

    /// Scores the job and commits its end. The same job gives the same end, so a second delivery is a duplicate.
    pub(crate) async fn handle(&self, envelope: Envelope<GradeJob>, attempt: u32) -> Result<(), JobError> {
        let key = envelope
            .key
            .ok_or_else(|| JobError::poison("the job names no rollout"))?;
        let GradeJob {
            work,
            program,
            outcome,
        } = envelope.body;
        let task = self.tasks.get(&work.task).await.map_err(JobError::poison)?;
        let completion = work
            .completion
            .clone()
            .ok_or_else(|| JobError::poison("the job has no completion"))?;
        // What is trained on must be there when the reward is.
        self.blob("completion", &completion).await?;

        let scored = match &outcome {
            Outcome::NotRun(why) => not_run(*why),
            Outcome::Ran(execution) => self.score(&task, execution).await?,
        };
        let score = scored.graded.as_ref().ok().map(|graded| graded.reward_half);
        let solution = program.map(|program| Solution {
            program,
            output: scored.output.clone(),
            score,
        });
        let report = scored.graded.as_ref().ok().map(|graded| graded.report_half);
        let entry = solution.clone().map(|solution| ArchiveEntry {
            task: work.task.clone(),
            solution,
            gain: score.map(|score| task.definition().gain(score)),
        });
        let result = reward::Result {
            score: scored.graded.map(|graded| graded.reward_half),
            markers: scored.markers,
            not_run: scored.not_run,
        };
        let reward = reward::reward(&work.reward, task.definition(), &work.state, result);
        let rewarded = Rewarded {
            reward,
            completion,
            solution,
            verdict: None,
            not_run: scored.not_run,
            wall_s: 0.0,
            cpu_s: 0.0,
            isolation: None,
        };
        let end = end_of(key, attempt, &work, with_execution(rewarded, &outcome));
        self.commit(&end, entry.as_ref(), report).await
    }

    async fn commit(
        &self,
        end: &RolloutEnd,
        entry: Option<&ArchiveEntry>,
        report: Option<f64>,
    ) -> Result<(), JobError> {
        let commit = self
            .ends
            .commit_and_announce(end, entry)
            .await
            .map_err(|error| job_error_of(&error))?;
        if let (Commit::Accepted { .. }, EndOutcome::Rewarded(rewarded)) = (commit, &end.outcome) {
            let word = if rewarded.reward.valid { "yes" } else { "no" };
            self.metrics.count(Metric::Grades, &[word]);
            self.metrics
                .add(Metric::Markers, &[], f64::from(rewarded.reward.markers));
        }
        // After a duplicate too: the first delivery may have ended between the two writes.
        match (commit, report) {
            (Commit::Accepted { .. } | Commit::Duplicate, Some(score)) => self
                .store
                .put_report(&end.key, score)
                .await
                .map_err(|error| job_error_of(&error)),
            _ => Ok(()),
        }
    }

    async fn score(&self, task: &Arc<GradingTask>, execution: &Execution) -> Result<Scored, JobError> {
        if execution.verdict == Verdict::SandboxError {
            // Another delivery of this job would carry the same verdict.
            return Err(JobError::poison("the sandbox failed; the program was not judged"));
        }
        let printed = self.blob("output", &execution.output).await?;
        let kept = output::without_markers(&printed, &execution.nonce, self.output_bytes);
        let output = self
            .store
            .put_blob(kept.as_bytes())
            .await
            .map_err(|error| job_error_of(&error))?;
        Ok(Scored {
            graded: self.grade(task, execution).await?,
            markers: output::count_markers(&printed, &execution.nonce, &execution.markers),
            not_run: None,
            output: Some(output),
        })
    }

    /// The scores, or why the submission is invalid.
    async fn grade(
        &self,
        task: &Arc<GradingTask>,
        execution: &Execution,
    ) -> Result<Result<Graded, String>, JobError> {
        let Some(submission) = &execution.submission else {
            return Ok(Err(no_submission(execution)));
        };
        let bytes = self
            .store
            .blob_bytes(submission)
            .await
            .map_err(|error| job_error_of(&error))?;
        let started = Instant::now();
        let graded = self
            .judge
            .judge(
                task,
                bytes,
                self.blob("submission", submission),
                GradingTask::grade_within,
            )
            .await;
        self.metrics
            .observe(Metric::GradeSeconds, &[], started.elapsed().as_secs_f64());
        match graded {
            Ok(graded) => Ok(graded.map_err(|invalid| format!("submission.csv: {invalid}"))),
            Err(Trouble::Read(error)) => Err(error),
            Err(Trouble::Panic(panic)) => Err(JobError::poison(format!("grading failed: {panic}"))),
        }
    }

    /// A blob that the job refers to. One that is gone does not come back.
    async fn blob(&self, what: &str, hash: &ContentHash) -> Result<Vec<u8>, JobError> {
        self.store.get_blob(hash).await.map_err(|error| match error {
            StoreError::NoBlob(_) | StoreError::DamagedBlob { .. } => {
                JobError::poison(format!("{what} of the rollout is lost: {}", chain(&error)))
            }
            _ => job_error_of(&error),
        })
    }
}

fn not_run(why: NotRun) -> Scored {
    let reason = match why {
        NotRun::NoProgram => "the completion holds no code block",
        NotRun::SyntaxError => "the program does not parse as Python",
        NotRun::BadIdea => "the idea is badly formed",
    };
    Scored {
        graded: Err(reason.to_owned()),
        markers: 0,
        not_run: Some(why),
        output: None,
    }
}

fn no_submission(execution: &Execution) -> String {
    if let Some(refused) = &execution.submission_refused {
        return format!("submission.csv could not be taken: {refused}");
    }
    let how = match execution.verdict {
        Verdict::Ok => "the program ended well but wrote no submission.csv",
        Verdict::Error => "the program failed before it wrote submission.csv",
        Verdict::Timeout => "the program ran out of time before it wrote submission.csv",
        Verdict::OutOfMemory => "the program ran out of memory before it wrote submission.csv",
        Verdict::Killed | Verdict::SandboxError => "the program was ended before it wrote submission.csv",
    };
    how.to_owned()
}

fn with_execution(rewarded: Rewarded, outcome: &Outcome) -> Rewarded {
    match outcome {
        Outcome::NotRun(_) => rewarded,
        Outcome::Ran(execution) => Rewarded {
            verdict: Some(execution.verdict),
            wall_s: execution.wall_s,
            cpu_s: execution.cpu_s,
            isolation: Some(execution.isolation),
            ..rewarded
        },
    }
}

fn end_of(key: RolloutKey, attempt: u32, work: &Work, rewarded: Rewarded) -> RolloutEnd {
    RolloutEnd {
        key,
        attempt,
        policy: work.policy,
        policy_version: work.policy_version,
        outcome: EndOutcome::Rewarded(Box::new(rewarded)),
    }
}
