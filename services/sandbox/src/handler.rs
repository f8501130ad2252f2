//! One job: fetch the program, run it, store what came of it, and hand it to the grader.

use std::{path::PathBuf, sync::Arc};

use journeyman_bus::JobError;
use journeyman_schemas::{
    envelope::Envelope,
    execution::{Execution, Verdict},
    job::{ExecuteJob, GradeJob, Outcome},
};
use journeyman_service::{Context, Metric, chain};
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    executor::{Executor, Ran, Request, SandboxError, Submission},
};

/// What every job needs.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) ctx: Context<Config>,
    pub(crate) executor: Arc<Executor>,
}

impl Handler {
    /// Runs the program of a job, on its delivery number `attempt`. A program's failure is a result like any other.
    pub(crate) async fn execute(&self, job: Envelope<ExecuteJob>, attempt: u32) -> Result<(), JobError> {
        let program = self.ctx.kept(&job.body.instrumented).await?;
        let ran = self
            .run(&job.body, program)
            .await
            .map_err(|error| self.our_failure(&error))?;
        self.measure(&ran);
        let output = self.ctx.keep(&ran.output).await?;
        let (submission, submission_refused) = match &ran.submission {
            Submission::Missing => (None, None),
            Submission::Taken(bytes) => (Some(self.ctx.keep(bytes).await?), None),
            Submission::Refused(reason) => (None, Some(reason.clone())),
        };
        let execution = Execution {
            verdict: ran.verdict,
            exit_code: ran.exit_code,
            signal: ran.signal,
            wall_s: ran.wall_s,
            cpu_s: ran.cpu_s,
            output,
            submission,
            submission_refused,
            isolation: ran.isolation,
            nonce: job.body.nonce.clone(),
            markers: job.body.markers.clone(),
        };
        let next = GradeJob {
            work: job.body.work.clone(),
            program: Some(job.body.program.clone()),
            outcome: Outcome::Ran(Box::new(execution)),
        };
        self.ctx.hand_on(&job, attempt, next).await
    }

    /// Runs it on a thread of its own. When this future is dropped (deadline, cancelled run), the program is killed.
    async fn run(&self, job: &ExecuteJob, program: Vec<u8>) -> Result<Ran, SandboxError> {
        let cancel = CancellationToken::new();
        let _kill_when_dropped = cancel.clone().drop_guard();
        let request = Request {
            program,
            data_dir: self.data_dir(job),
            limits: job.limits.clone(),
            keep_lines: Some(format!("{} ", job.nonce.0)),
            cancel,
        };
        let executor = self.executor.clone();
        let running = tokio::task::spawn_blocking(move || executor.run(&request));
        running.await.unwrap_or_else(|error| {
            Err(SandboxError::Wrapper {
                message: format!("the thread that watched it ended: {error}"),
            })
        })
    }

    fn data_dir(&self, job: &ExecuteJob) -> PathBuf {
        let task = self.ctx.config.sandbox.tasks().join(job.work.task.as_str());
        journeyman_tasks::definition::prepared(&task).join("public")
    }

    /// Our own failure has no reward: the job comes again, and its rollout fails when that does not help.
    fn our_failure(&self, error: &SandboxError) -> JobError {
        let reason = chain(error);
        tracing::error!(reason, "a program could not be run");
        self.ctx
            .metrics
            .count(Metric::Executions, &[Verdict::SandboxError.as_str()]);
        match error {
            SandboxError::Limit { .. } => JobError::poison(reason),
            _ => JobError::retry(reason),
        }
    }

    fn measure(&self, ran: &Ran) {
        let metrics = &self.ctx.metrics;
        metrics.count(Metric::Executions, &[ran.verdict.as_str()]);
        metrics.observe(Metric::ExecutionSeconds, &[], ran.wall_s);
        metrics.observe(Metric::ExecutionCpuSeconds, &[], ran.cpu_s);
        metrics.add(Metric::LeftoverProcesses, &[], ran.leftover_processes as f64);
        if let Submission::Refused(reason) = &ran.submission {
            metrics.count(Metric::SubmissionsRefused, &[]);
            tracing::info!(reason, "submission refused");
        }
        tracing::info!(
            verdict = ran.verdict.as_str(),
            stopped = ran.stopped,
            wall_s = ran.wall_s,
            cpu_s = ran.cpu_s,
            memory_peak_bytes = ran.memory_peak_bytes,
            output_bytes = ran.output_total_bytes,
            "program ended as `{}` after {:.1} s",
            ran.verdict.as_str(),
            ran.wall_s,
        );
    }
}
