//! Every metric of every service: one table. The one place that sees prometheus.
//!
//! A service that needs another metric adds a line here. All series of a service exist from its start, at 0, so that
//! "stalled" and "absent" differ for an alert.

use std::{collections::HashMap, sync::Arc};

use journeyman_bus::JobOutcome;
use journeyman_schemas::{
    Stage,
    event::GroupState,
    execution::{NotRun, Verdict},
    fault::FaultCode,
};
use journeyman_store::Commit;
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, Opts, Registry, TextEncoder};

macro_rules! metrics {
    ($($variant:ident = $kind:ident $name:literal [$($label:ident),*] $scope:ident $help:literal;)*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Metric {
            $(#[doc = $help] $variant,)*
        }

        impl Metric {
            /// Every metric.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant),*];

            /// Its name, kind, labels, and which services have it.
            pub fn spec(self) -> Spec {
                match self {
                    $(Metric::$variant => Spec {
                        name: concat!("journeyman_", $name),
                        help: $help,
                        kind: Kind::$kind,
                        labels: &[$(Label::$label),*],
                        scope: Scope::$scope,
                    },)*
                }
            }
        }
    };
}

metrics! {
    StartTime = Gauge "start_timestamp_seconds" [] All "When the service started";
    Ready = Gauge "ready" [] All "1 while the service takes work";
    NatsConnected = Gauge "nats_connected" [] All "1 while NATS is connected";
    NatsPermissionErrors = Gauge "nats_permission_errors" [] All "Operations that NATS has forbidden since the start";
    RedisConnected = Gauge "redis_connected" [] All "1 while Redis answers";

    JobsDelivered = Counter "jobs_delivered_total" [Stage] All "Jobs that arrived";
    JobsRedelivered = Counter "jobs_redelivered_total" [Stage] All "Jobs that arrived and not for the first time";
    JobsFinished = Counter "jobs_finished_total" [Stage, JobOutcome] All "Deliveries that ended";
    JobSeconds = Histogram "job_seconds" [Stage] All "Time of work on a delivery";
    JobsInFlight = Gauge "jobs_in_flight" [Stage] All "Jobs that this instance holds";
    JobSlots = Gauge "job_slots" [Stage] All "Jobs that this instance can hold";
    StagePending = Gauge "stage_pending" [Stage] All "Jobs of the stage that no instance holds";
    StageUnacknowledged = Gauge "stage_unacknowledged" [Stage] All "Jobs of the stage that some instance holds";
    StageOldestTime = Gauge "stage_oldest_timestamp_seconds" [Stage] All "When the oldest unfinished job of the stage was queued, 0 when there is none";
    StageProgressTime = Gauge "stage_last_progress_timestamp_seconds" [Stage] All "Last start, end or heart-beat of a job of the stage";
    DeadLetters = Counter "dead_letters_total" [Stage] All "Jobs given up";

    Requests = Counter "requests_total" [Request, Fault] All "Requests answered";
    RequestSeconds = Histogram "request_seconds" [Request] All "Time to the answer of a request";

    Commits = Counter "commits_total" [Commit] All "Ends of rollouts by how the store answered";
    GroupsEnded = Counter "groups_ended_total" [GroupState] All "Groups that this instance saw to their end";
    GroupsOpen = Gauge "groups_open" [] trainer "Groups with rollouts under way";

    PromptTokens = Counter "prompt_tokens_total" [] inference "Prompt tokens read";
    PromptTokensReused = Counter "prompt_tokens_reused_total" [] inference "Prompt tokens that an equal prompt had read before";
    CompletionTokens = Counter "completion_tokens_total" [] inference "Tokens drawn";
    DecodeStepSeconds = Histogram "decode_step_seconds" [] inference "Time of one forward pass over the batch";
    BatchRows = Gauge "batch_rows" [] inference "Samples that are being drawn";
    QueuedRequests = Gauge "queued_requests" [] inference "Requests that wait for a place in the batch";
    CacheTokens = Gauge "cache_tokens" [] inference "Tokens in the key-value cache";
    AdaptersLoaded = Gauge "adapters_loaded" [] inference "Adapters in memory";
    AdapterLoads = Counter "adapter_loads_total" [Success] inference "Adapters loaded";

    AskedPromptTokens = Counter "asked_prompt_tokens_total" [] All "Tokens of prompts that models answered";
    AskedCompletionTokens = Counter "asked_completion_tokens_total" [] All "Tokens that models answered with";

    Prompts = Counter "prompts_total" [PromptKind] implementer "Prompts built";
    Programs = Counter "programs_total" [Program] implementer "Completions by what was in them";
    HelpSought = Counter "help_sought_total" [] implementer "Questions to the ideator";
    Ideas = Counter "ideas_total" [Success] ideator "Ideas by whether they were well formed";
    Instrumented = Counter "instrumented_total" [Instrumented, InstrumentReason] instrumenter "Programs by who placed their markers, and why";
    NotRun = Counter "not_run_total" [NotRun] All "Rollouts whose program never ran";

    Executions = Counter "executions_total" [Verdict] sandbox "Executions by verdict";
    ExecutionSeconds = Histogram "execution_seconds" [] sandbox "Wall-clock time of an execution";
    ExecutionCpuSeconds = Histogram "execution_cpu_seconds" [] sandbox "CPU time of an execution";
    IsolationLevel = Gauge "isolation_level" [] sandbox "How strongly programs are walled in: 0 none, 1 namespaces, 2 full";
    LeftoverProcesses = Counter "leftover_processes_total" [] sandbox "Processes that were still there after an execution was ended";
    SubmissionsRefused = Counter "submissions_refused_total" [] sandbox "Submissions that could not be taken";

    Grades = Counter "grades_total" [Validity] grader "Rewards by whether there was a valid submission";
    Markers = Counter "markers_total" [] grader "Markers that counted";
    GradeSeconds = Histogram "grade_seconds" [] grader "Time of grading one submission, waiting and reading included";
    Validations = Counter "validations_total" [Validation] grader "Questions whether a submission is well formed, by answer";

    TrainerStep = Gauge "trainer_step" [] trainer "Steps done";
    TrainerStepTime = Gauge "trainer_last_step_timestamp_seconds" [] trainer "When the last step ended; at first the start";
    TrainerStepSeconds = Histogram "trainer_step_seconds" [] trainer "Time of a step";
    PolicyVersion = Gauge "policy_version" [] trainer "Adapters published";
    StalenessMax = Gauge "staleness_versions" [] trainer "Largest staleness of the last step";
    RewardMean = Gauge "reward_mean" [] trainer "Mean reward of the last step";
    ValidShare = Gauge "valid_share" [] trainer "Share of rollouts with a valid submission in the last step";
    MismatchMax = Gauge "mismatch_max" [] trainer "Largest difference of log-probs between sampler and trainer in the last step";
    GradNorm = Gauge "grad_norm" [] trainer "Gradient norm of the last step";
    TrainedTokens = Counter "trained_tokens_total" [] trainer "Completion tokens trained on";
    GroupsSkipped = Counter "groups_skipped_total" [] trainer "Groups whose advantages are all zero";
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Name in `/metrics`.
    pub name: &'static str,
    /// For people.
    pub help: &'static str,
    /// Which kind.
    pub kind: Kind,
    /// Its labels, in the order in which values are given.
    pub labels: &'static [Label],
    /// Which services have it.
    pub scope: Scope,
}

/// Kinds of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only rises.
    Counter,
    /// Any number.
    Gauge,
    /// A distribution of seconds.
    Histogram,
}

/// Which services have a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    non_camel_case_types,
    reason = "the names of the services, as they are spelled everywhere"
)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Scope {
    All,
    inference,
    implementer,
    ideator,
    instrumenter,
    sandbox,
    grader,
    trainer,
}

/// Labels; their values are closed sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`values` says it")]
pub enum Label {
    Stage,
    JobOutcome,
    Request,
    Fault,
    Commit,
    GroupState,
    Success,
    PromptKind,
    Program,
    Instrumented,
    InstrumentReason,
    NotRun,
    Verdict,
    Validity,
    Validation,
}

impl Label {
    /// Its name in `/metrics`.
    pub fn name(self) -> &'static str {
        match self {
            Label::Stage => "stage",
            Label::JobOutcome | Label::Fault | Label::Commit | Label::Success | Label::Program => "outcome",
            Label::Request => "request",
            Label::GroupState | Label::PromptKind => "state",
            Label::Instrumented => "by",
            Label::NotRun | Label::InstrumentReason => "reason",
            Label::Verdict => "verdict",
            Label::Validity => "valid",
            Label::Validation => "answer",
        }
    }

    /// Its values in a service that works `stages`.
    pub fn values(self, stages: &[Stage]) -> Vec<&'static str> {
        match self {
            Label::Stage => stages.iter().map(|stage| stage.as_str()).collect(),
            Label::JobOutcome => JobOutcome::ALL.iter().map(|outcome| outcome.as_str()).collect(),
            Label::Request => vec!["generate", "ideate", "validate"],
            Label::Fault => std::iter::once("ok")
                .chain(FaultCode::ALL.iter().map(|code| code.as_str()))
                .collect(),
            Label::Commit => Commit::WORDS.to_vec(),
            Label::GroupState => {
                use GroupState::{Complete, Expired, Failed, Partial};
                [Complete, Partial, Failed, Expired]
                    .iter()
                    .map(|state| state.as_str())
                    .collect()
            }
            Label::Success => vec!["ok", "failed"],
            Label::PromptKind => vec!["scratch", "improve", "idea"],
            Label::Program => vec!["program", "no_program", "truncated"],
            Label::Instrumented => vec!["model", "tree", "none"],
            Label::InstrumentReason => vec![
                "accepted",
                "not_asked",
                "unavailable",
                "no_answer",
                "bad_line",
                "changed",
                "too_long",
                "print_rebound",
                "no_step",
            ],
            Label::NotRun => vec![
                word(NotRun::NoProgram),
                word(NotRun::SyntaxError),
                word(NotRun::BadIdea),
            ],
            Label::Verdict => Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect(),
            Label::Validity => vec!["yes", "no"],
            Label::Validation => vec!["valid", "invalid", "limited"],
        }
    }
}

/// The label value of a reason not to run.
pub fn word(not_run: NotRun) -> &'static str {
    match not_run {
        NotRun::NoProgram => "no_program",
        NotRun::SyntaxError => "syntax_error",
        NotRun::BadIdea => "bad_idea",
    }
}

/// The metrics of one service. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    series: HashMap<Metric, Series>,
}

enum Series {
    Counter(CounterVec),
    Gauge(GaugeVec),
    Histogram(HistogramVec),
}

/// Seconds; jobs may take hours.
const BUCKETS: [f64; 17] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1800.0, 7200.0,
];

impl Metrics {
    /// All metrics of the service `name` that works `stages`, at 0.
    pub fn new(name: &str, stages: &[Stage]) -> Result<Self, prometheus::Error> {
        let service = name.strip_prefix("journeyman-").unwrap_or(name);
        let common = HashMap::from([("service".to_owned(), service.to_owned())]);
        let registry = Registry::new_custom(None, Some(common))?;
        let mut series = HashMap::new();
        for metric in Metric::ALL {
            let spec = metric.spec();
            if spec.scope == Scope::All || format!("{:?}", spec.scope) == service {
                let made = Series::register(&spec, &registry)?;
                made.touch(&combinations(spec.labels, stages))?;
                series.insert(*metric, made);
            }
        }
        Ok(Self(Arc::new(Inner { registry, series })))
    }

    /// Adds 1 to a counter.
    pub fn count(&self, metric: Metric, labels: &[&str]) {
        self.add(metric, labels, 1.0);
    }

    /// Adds to a counter (not less than 0) or a gauge.
    pub fn add(&self, metric: Metric, labels: &[&str], by: f64) {
        let done = match self.0.series.get(&metric) {
            Some(Series::Counter(counter)) if by >= 0.0 => counter
                .get_metric_with_label_values(labels)
                .map(|counter| counter.inc_by(by))
                .is_ok(),
            Some(Series::Gauge(gauge)) => gauge
                .get_metric_with_label_values(labels)
                .map(|gauge| gauge.add(by))
                .is_ok(),
            _ => false,
        };
        self.report(done, metric, labels);
    }

    /// Sets a gauge.
    pub fn set(&self, metric: Metric, labels: &[&str], value: f64) {
        let done = match self.0.series.get(&metric) {
            Some(Series::Gauge(gauge)) => gauge
                .get_metric_with_label_values(labels)
                .map(|gauge| gauge.set(value))
                .is_ok(),
            _ => false,
        };
        self.report(done, metric, labels);
    }

    /// Takes a time into a histogram.
    pub fn observe(&self, metric: Metric, labels: &[&str], seconds: f64) {
        let done = match self.0.series.get(&metric) {
            Some(Series::Histogram(histogram)) => histogram
                .get_metric_with_label_values(labels)
                .map(|histogram| histogram.observe(seconds))
                .is_ok(),
            _ => false,
        };
        self.report(done, metric, labels);
    }

    /// Value of a counter or gauge, number of times in a histogram; 0 if this service has no such series.
    pub fn value(&self, metric: Metric, labels: &[&str]) -> f64 {
        let value = match self.0.series.get(&metric) {
            Some(Series::Counter(counter)) => {
                counter.get_metric_with_label_values(labels).map(|one| one.get())
            }
            Some(Series::Gauge(gauge)) => gauge.get_metric_with_label_values(labels).map(|one| one.get()),
            Some(Series::Histogram(histogram)) => histogram
                .get_metric_with_label_values(labels)
                .map(|one| one.get_sample_count() as f64),
            None => Ok(0.0),
        };
        value.unwrap_or(0.0)
    }

    /// The text of `/metrics`.
    pub fn render(&self) -> Result<String, prometheus::Error> {
        TextEncoder::new().encode_to_string(&self.0.registry.gather())
    }

    /// A wrong use is a fault of ours, but no reason to lose work.
    fn report(&self, done: bool, metric: Metric, labels: &[&str]) {
        if !done {
            debug_assert!(
                done,
                "metric {metric:?} of another service or kind, or with wrong labels {labels:?}"
            );
            tracing::error!(
                ?metric,
                ?labels,
                "metric of another service or kind, or with wrong labels"
            );
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Series {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that makes metrics"
    )]
    fn register(spec: &Spec, registry: &Registry) -> Result<Self, prometheus::Error> {
        let names: Vec<&str> = spec.labels.iter().map(|label| label.name()).collect();
        let options = Opts::new(spec.name, spec.help);
        Ok(match spec.kind {
            Kind::Counter => {
                let counter = CounterVec::new(options, &names)?;
                registry.register(Box::new(counter.clone()))?;
                Series::Counter(counter)
            }
            Kind::Gauge => {
                let gauge = GaugeVec::new(options, &names)?;
                registry.register(Box::new(gauge.clone()))?;
                Series::Gauge(gauge)
            }
            Kind::Histogram => {
                let options = HistogramOpts {
                    common_opts: options,
                    buckets: BUCKETS.to_vec(),
                };
                let histogram = HistogramVec::new(options, &names)?;
                registry.register(Box::new(histogram.clone()))?;
                Series::Histogram(histogram)
            }
        })
    }

    fn touch(&self, combinations: &[Vec<&str>]) -> Result<(), prometheus::Error> {
        for labels in combinations {
            match self {
                Series::Counter(counter) => drop(counter.get_metric_with_label_values(labels)?),
                Series::Gauge(gauge) => drop(gauge.get_metric_with_label_values(labels)?),
                Series::Histogram(histogram) => drop(histogram.get_metric_with_label_values(labels)?),
            }
        }
        Ok(())
    }
}

/// Every combination of the labels' values; one empty one without labels.
fn combinations(labels: &[Label], stages: &[Stage]) -> Vec<Vec<&'static str>> {
    labels.iter().fold(vec![Vec::new()], |before, label| {
        let extend = |row: &Vec<&'static str>| {
            let row = row.clone();
            label
                .values(stages)
                .into_iter()
                .map(move |value| [row.clone(), vec![value]].concat())
        };
        before.iter().flat_map(extend).collect()
    })
}
