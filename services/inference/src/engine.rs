//! Continuous batching: one thread decodes every request there is, many rows in one forward pass.
//!
//! [`Engine::ask`] puts a checked [`Question`] in a bounded queue and waits. The thread admits questions between two
//! steps, fills their prompts in chunks, forks one filled prompt for every sample that wants it, and decodes all rows
//! together. A question whose asker has gone, or whose deadline has passed, frees its rows before the next step.

mod prompts;
mod queue;
mod row;
mod scheduler;
#[cfg(test)]
mod tests;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use journeyman_lm::LanguageModel;
use journeyman_schemas::{
    fault::{Fault, FaultCode},
    generate::{GeneratedSample, Sampling},
};

use crate::{adapters::LoadedAdapter, config::EngineConfig};
use queue::{Pending, Queue, Taken};
use scheduler::Scheduler;

/// A question that was checked: its ids are in the vocabulary, its prompt fits the context, its sampling is in range.
#[derive(Clone, Debug)]
pub struct Question {
    /// Prompt ids, at least one, fewer than the context.
    pub prompt: Arc<[u32]>,
    /// LoRA weights, none for the base model.
    pub adapter: Option<Arc<LoadedAdapter>>,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Samples wanted, at least 1.
    pub n: u32,
    /// When the answer is void.
    pub deadline: Instant,
}

/// What one step did; the engine tells its [`Meter`] after each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Prompt tokens forwarded.
    pub prefilled: usize,
    /// Tokens drawn.
    pub generated: usize,
    /// Prompt tokens that a sample did not have to forward because another had.
    pub reused: usize,
    /// Seconds of the step.
    pub seconds: f64,
}

/// Is told what the engine does.
pub trait Meter: Send + Sync {
    /// After each step.
    fn step(&self, report: &StepReport);
    /// After each step: rows decoding, questions waiting, tokens in the key-value cache.
    fn load(&self, rows: usize, waiting: usize, cached: usize);
}

/// A meter that keeps nothing.
pub struct NoMeter;

impl Meter for NoMeter {
    fn step(&self, _report: &StepReport) {}
    fn load(&self, _rows: usize, _waiting: usize, _cached: usize) {}
}

/// Totals since the start.
#[derive(Debug, Default)]
pub struct Totals {
    rows: AtomicUsize,
    waiting: AtomicUsize,
    generated: AtomicU64,
    prefilled: AtomicU64,
    reused: AtomicU64,
    steps: AtomicU64,
}

impl Totals {
    /// Rows decoding now.
    pub fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }
    /// Questions in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
    /// Tokens drawn.
    pub fn generated(&self) -> u64 {
        self.generated.load(Ordering::Relaxed)
    }
    /// Prompt tokens forwarded.
    pub fn prefilled(&self) -> u64 {
        self.prefilled.load(Ordering::Relaxed)
    }
    /// Prompt tokens taken over from an equal prompt.
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }
    /// Forward passes.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    fn add(&self, report: &StepReport) {
        self.generated
            .fetch_add(report.generated as u64, Ordering::Relaxed);
        self.prefilled
            .fetch_add(report.prefilled as u64, Ordering::Relaxed);
        self.reused.fetch_add(report.reused as u64, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Handle on the decoding thread; the thread ends when the last handle is dropped.
#[derive(Clone)]
pub struct Engine {
    handle: Arc<Handle>,
}

struct Handle {
    queue: Arc<Queue>,
    totals: Arc<Totals>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Engine {
    /// Starts the thread.
    pub fn start(
        lm: Arc<LanguageModel>,
        config: &EngineConfig,
        meter: Arc<dyn Meter>,
    ) -> std::io::Result<Engine> {
        let queue = Arc::new(Queue::new(config.max_waiting));
        let totals = Arc::new(Totals::default());
        let decoding = Decoding {
            scheduler: Scheduler::new(lm, config),
            queue: queue.clone(),
            totals: totals.clone(),
            meter,
        };
        thread::Builder::new()
            .name("engine".into())
            .spawn(move || decoding.run())?;
        Ok(Engine {
            handle: Arc::new(Handle { queue, totals }),
        })
    }

    /// Samples of `question`, in order of their index. Dropping the future frees the question's rows within one step.
    ///
    /// # Errors
    /// `busy` when the queue is full, `deadline_exceeded` past the deadline, `internal` when the model gave NaN or
    /// failed.
    pub async fn ask(&self, question: Question) -> Result<Vec<GeneratedSample>, Fault> {
        let (reply, answer) = tokio::sync::oneshot::channel();
        self.handle.queue.push(Pending { question, reply })?;
        answer
            .await
            .unwrap_or_else(|_| Err(Fault::new(FaultCode::Internal, "the engine dropped the request")))
    }

    /// What it did so far.
    pub fn totals(&self) -> &Totals {
        &self.handle.totals
    }
}

/// The thread's own side.
struct Decoding {
    scheduler: Scheduler,
    queue: Arc<Queue>,
    totals: Arc<Totals>,
    meter: Arc<dyn Meter>,
}

impl Decoding {
    fn run(mut self) {
        loop {
            match self.queue.take(self.scheduler.room(), self.scheduler.idle()) {
                Taken::Closed => return,
                Taken::Questions { questions, waiting } => {
                    for pending in questions {
                        self.scheduler.admit(pending);
                    }
                    self.totals.waiting.store(waiting, Ordering::Relaxed);
                }
            }
            self.step();
            self.totals.rows.store(self.scheduler.rows(), Ordering::Relaxed);
            self.meter.load(
                self.scheduler.rows(),
                self.totals.waiting(),
                self.scheduler.cached(),
            );
        }
    }

    /// One forward pass. A panic in it fails what was under way and nothing else.
    fn step(&mut self) {
        let started = Instant::now();
        let step = catch_unwind(AssertUnwindSafe(|| self.scheduler.step(started)));
        let mut report = step.unwrap_or_else(|_| {
            tracing::error!("the forward pass panicked; every request under way fails");
            self.scheduler.fail_all("the forward pass panicked");
            StepReport::default()
        });
        report.seconds = started.elapsed().as_secs_f64();
        if report.prefilled + report.generated > 0 {
            self.totals.add(&report);
            self.meter.step(&report);
        }
    }
}
