//! The whole service over real NATS and Redis, with a task of four rows.

mod canary;
mod limits;
mod validate;

use std::{fs, path::Path, time::Duration};

use journeyman_bus::{Bus, EventsFrom};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    event::{GroupEnded, GroupState},
    execution::{Execution, IsolationLevel, Marker, Nonce, NotRun, Verdict},
    ids::{ContentHash, RolloutKey, RunId, TaskId},
    job::{GradeJob, Outcome, Policy, State, Work},
    reward::{EndOutcome, RewardRule, Rewarded, RolloutEnd},
};
use journeyman_service::{Clock, InProcess, Metric};
use journeyman_store::{OpenGroup, RunCounters, Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer, eventually};
use tempfile::TempDir;

use crate::{NAME, config::Config, run};

const PATIENCE: Duration = Duration::from_secs(30);
const NONCE: &str = "00112233445566778899aabbccddeeff";
pub(crate) const ANSWERS: &str = "id,y\na,0\nb,1\nc,0\nd,1\n";
pub(crate) const HALVES: &str = "id,half\na,reward\nb,reward\nc,report\nd,report\n";
/// Right on the reward half, wrong on the report half.
const HALF_RIGHT: &str = "id,y\na,0.1\nb,0.9\nc,0.9\nd,0.1\n";

struct Cluster {
    service: InProcess,
    bus: Bus,
    store: Store,
    tasks: TempDir,
    _nats: NatsServer,
    redis: RedisServer,
}

impl Cluster {
    async fn start() -> Self {
        Self::over(NatsServer::start().unwrap()).await
    }

    async fn over(nats: NatsServer) -> Self {
        Self::adjusted(nats, ANSWERS, HALVES, |config| {
            config.grader.submission_bytes = 1000
        })
        .await
    }

    async fn start_with(answers: &str, halves: &str, adjust: impl FnOnce(&mut Config)) -> Self {
        Self::adjusted(NatsServer::start().unwrap(), answers, halves, adjust).await
    }

    async fn adjusted(
        nats: NatsServer,
        answers: &str,
        halves: &str,
        adjust: impl FnOnce(&mut Config),
    ) -> Self {
        let redis = RedisServer::start().unwrap();
        let tasks = tempfile::tempdir().unwrap();
        write_task(&tasks.path().join("toy"), "auc", answers, halves);
        write_task(&tasks.path().join("labels"), "accuracy", answers, halves);
        let mut config = Config::default();
        config.admin.listen = "127.0.0.1:0".into();
        config.nats.url = nats.url();
        config.redis.url = redis.url();
        config.grader.tasks = tasks.path().into();
        adjust(&mut config);
        let service = InProcess::start(NAME, config, run).await.unwrap();
        tokio::time::timeout(PATIENCE, service.ready.wait())
            .await
            .expect("it gets ready");
        let bus = Bus::connect(&nats.config("test")).await.unwrap();
        let store = Store::connect(&StoreConfig::new(redis.url())).await.unwrap();
        Self {
            service,
            bus,
            store,
            tasks,
            _nats: nats,
            redis,
        }
    }

    async fn open_group(&self, size: u32) {
        let group = OpenGroup {
            run: run_id(),
            group: 0,
            size,
            deadline_ms: Clock::system().now_ms() + 600_000,
            policy: Policy::Implementer,
            policy_version: 3,
            meta: serde_json::Value::Null,
        };
        self.store.open_group(&group).await.unwrap();
    }

    async fn blob(&self, text: &str) -> ContentHash {
        self.store.put_blob(text.as_bytes()).await.unwrap()
    }

    async fn job(&self, outcome: Outcome) -> GradeJob {
        let has_program = outcome != Outcome::NotRun(NotRun::NoProgram);
        GradeJob {
            work: Work {
                task: TaskId::new("toy").unwrap(),
                policy: Policy::Implementer,
                policy_version: 3,
                state: State::Scratch,
                reward: RewardRule::Score {
                    invalid: -10.0,
                    marker: 0.1,
                },
                completion: Some(self.blob("a completion").await),
                collect: false,
            },
            program: if has_program {
                Some(self.blob("a program").await)
            } else {
                None
            },
            outcome,
        }
    }

    async fn execution(&self, verdict: Verdict, printed: &str, submission: Option<&str>) -> Execution {
        Execution {
            verdict,
            exit_code: Some(0),
            signal: None,
            wall_s: 1.5,
            cpu_s: 1.25,
            output: self.blob(printed).await,
            submission: match submission {
                Some(csv) => Some(self.blob(csv).await),
                None => None,
            },
            submission_refused: None,
            isolation: IsolationLevel::Full,
            nonce: Nonce(NONCE.into()),
            markers: vec![Marker::Imported, Marker::LoadedData],
        }
    }

    /// Queues a job as delivery `attempt` of the stage before.
    async fn queue(&self, rollout: u32, attempt: u32, body: GradeJob) {
        let key = RolloutKey {
            run: run_id(),
            group: 0,
            rollout,
        };
        let id = journeyman_bus::job_id(&key, Stage::Grade, attempt);
        let deadline_ms = Clock::system().now_ms() + 300_000;
        let envelope = Envelope::new(id, Some(key), attempt, deadline_ms, String::new(), body);
        self.bus.enqueue(&envelope).await.unwrap();
    }

    /// The end of a rollout, once it is there.
    async fn end(&self, rollout: usize) -> RolloutEnd {
        let ended = || async {
            let record = self.store.group(&run_id(), 0).await.unwrap().unwrap();
            record.ends[rollout].clone()
        };
        eventually(PATIENCE, || async { ended().await.is_some() }).await;
        ended().await.expect("an end stays")
    }

    async fn rewarded(&self, rollout: usize) -> Rewarded {
        match self.end(rollout).await.outcome {
            EndOutcome::Rewarded(rewarded) => *rewarded,
            other => panic!("no reward: {other:?}"),
        }
    }

    async fn failure(&self, rollout: usize) -> String {
        match self.end(rollout).await.outcome {
            EndOutcome::Failed {
                stage: Stage::Grade,
                reason,
            } => reason,
            other => panic!("no failure: {other:?}"),
        }
    }

    async fn counted(&self, metric: Metric, labels: &'static [&'static str], value: f64) {
        eventually(PATIENCE, || async {
            self.service.metrics.value(metric, labels) == value
        })
        .await;
    }

    async fn counters(&self, wanted: RunCounters) {
        eventually(PATIENCE, || async {
            self.store.counters(&run_id()).await.unwrap() == wanted
        })
        .await;
    }
}

fn run_id() -> RunId {
    RunId::new("r").unwrap()
}

/// A prepared task of four rows in the directory `dir`, named after it; `metric` is `auc` or `accuracy`.
pub(crate) fn write_task(dir: &Path, metric: &str, answers: &str, halves: &str) {
    let id = dir.file_name().unwrap().to_string_lossy();
    let (classes, sample) = if metric == "accuracy" {
        ("classes = [\"0\", \"1\"]\n", "0")
    } else {
        ("", "0.5")
    };
    let definition = format!(
        "id = \"{id}\"\nname = \"Toy\"\nmetric = \"{metric}\"\nlower_is_better = false\nid_column = \"id\"\n\
         target_columns = [\"y\"]\n{classes}reference = {{ worst = 0.5, best = 1.0 }}\n\
         limits = {{ program_s = 1.0, grade_s = 10.0 }}\n[source]\npackage = \"\"\nversion = \"\"\n\
         sha256 = \"\"\nfile = \"\"\nlicence = \"\"\norigin = \"\"\n"
    );
    let sample = format!("id,y\na,{sample}\nb,{sample}\nc,{sample}\nd,{sample}\n");
    for (name, text) in [
        ("task.toml", definition.as_str()),
        ("public/sample_submission.csv", &sample),
        ("private/answers.csv", answers),
        ("private/halves.csv", halves),
    ] {
        let path = dir.join("prepared").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn printed(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("{NONCE} {word}\n"))
        .chain(["hello\n".to_owned()])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_submission_is_rewarded_and_its_group_announced() {
    let cluster = Cluster::start().await;
    let mut events = cluster
        .bus
        .subscribe_events::<GroupEnded>(Some(&run_id()), EventsFrom::Start)
        .await
        .unwrap();
    cluster.open_group(1).await;
    let execution = cluster
        .execution(
            Verdict::Ok,
            &printed(&["imported", "loaded_data"]),
            Some(HALF_RIGHT),
        )
        .await;
    cluster
        .queue(0, 1, cluster.job(Outcome::Ran(Box::new(execution))).await)
        .await;

    let ended = tokio::time::timeout(PATIENCE, events.next())
        .await
        .expect("the group is announced");
    assert_eq!((ended.group, ended.state), (0, GroupState::Complete));
    let end = cluster.end(0).await;
    assert_eq!((end.policy, end.policy_version), (Policy::Implementer, 3));
    let rewarded = cluster.rewarded(0).await;
    assert_eq!(
        (rewarded.reward.score, rewarded.reward.gain),
        (Some(1.0), Some(1.0))
    );
    assert!((rewarded.reward.total - 1.2).abs() < 1e-12);
    assert_eq!((rewarded.reward.valid, rewarded.reward.markers), (true, 2));
    assert_eq!((rewarded.verdict, rewarded.not_run), (Some(Verdict::Ok), None));
    assert_eq!((rewarded.wall_s, rewarded.cpu_s), (1.5, 1.25));
    assert_eq!(rewarded.isolation, Some(IsolationLevel::Full));
    let solution = rewarded.solution.unwrap();
    assert_eq!(solution.score, Some(1.0));
    assert_eq!(
        cluster
            .store
            .get_blob(&solution.output.clone().unwrap())
            .await
            .unwrap(),
        b"hello\n"
    );

    // The report half is kept apart, and is in neither the end nor the archive.
    let key = RolloutKey {
        run: run_id(),
        group: 0,
        rollout: 0,
    };
    let wanted = [(key, 0.0)];
    eventually(PATIENCE, || async {
        cluster.store.report(&run_id()).await.unwrap() == wanted
    })
    .await;
    let task = TaskId::new("toy").unwrap();
    let archive = cluster.store.archive(&run_id(), &task, 8).await.unwrap();
    assert_eq!((archive.len(), archive[0].gain), (1, 1.0));
    assert_eq!(archive[0].solution, solution);
    assert_eq!(cluster.store.pool(&run_id(), &task).await.unwrap(), [solution]);
    cluster.counted(Metric::Grades, &["yes"], 1.0).await;
    cluster.counted(Metric::Markers, &[], 2.0).await;
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_be_invalid_has_a_reward_and_a_reason() {
    let cluster = Cluster::start().await;
    let ran = |execution| Outcome::Ran(Box::new(execution));
    let refused = Execution {
        submission_refused: Some("it is a directory".into()),
        ..cluster.execution(Verdict::Ok, "", None).await
    };
    let large = format!("{HALF_RIGHT}{}", " ".repeat(1000));
    let cases = [
        (Outcome::NotRun(NotRun::NoProgram), -10.0, "no code block"),
        (
            Outcome::NotRun(NotRun::SyntaxError),
            -10.0,
            "does not parse as Python",
        ),
        (
            ran(cluster
                .execution(Verdict::Error, &printed(&["imported"]), None)
                .await),
            -9.9,
            "failed before it wrote",
        ),
        (
            ran(cluster.execution(Verdict::Timeout, "", None).await),
            -10.0,
            "ran out of time",
        ),
        (
            ran(cluster.execution(Verdict::OutOfMemory, "", None).await),
            -10.0,
            "ran out of memory",
        ),
        (
            ran(cluster.execution(Verdict::Ok, "", None).await),
            -10.0,
            "wrote no submission.csv",
        ),
        (ran(refused), -10.0, "could not be taken: it is a directory"),
        (
            ran(cluster.execution(Verdict::Ok, "", Some("")).await),
            -10.0,
            "file is empty",
        ),
        (
            ran(cluster.execution(Verdict::Ok, "", Some("id,y\na,1\n")).await),
            -10.0,
            "it has 1 rows, but needs 4",
        ),
        (
            ran(cluster.execution(Verdict::Ok, "", Some(&large)).await),
            -10.0,
            "at most 1000 are read, so write only",
        ),
    ];
    cluster.open_group(cases.len() as u32).await;
    for (rollout, (outcome, ..)) in cases.iter().enumerate() {
        cluster
            .queue(rollout as u32, 1, cluster.job(outcome.clone()).await)
            .await;
    }
    for (rollout, (outcome, total, reason)) in cases.iter().enumerate() {
        let rewarded = cluster.rewarded(rollout).await;
        assert!(
            (rewarded.reward.total - total).abs() < 1e-12,
            "{reason}: {:?}",
            rewarded.reward
        );
        assert!(!rewarded.reward.valid && rewarded.reward.score.is_none());
        let given = rewarded.reward.reason.unwrap();
        assert!(given.contains(reason), "{given}");
        assert_eq!(rewarded.not_run.is_some(), matches!(outcome, Outcome::NotRun(_)));
        assert_eq!(
            rewarded.solution.is_none(),
            *outcome == Outcome::NotRun(NotRun::NoProgram)
        );
    }
    assert_eq!(cluster.store.report(&run_id()).await.unwrap(), []);
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reward_counts_once_however_often_its_job_comes() {
    let cluster = Cluster::start().await;
    cluster.open_group(1).await;
    let execution = cluster.execution(Verdict::Ok, "", Some(HALF_RIGHT)).await;
    let job = cluster.job(Outcome::Ran(Box::new(execution.clone()))).await;
    cluster.queue(0, 1, job.clone()).await;
    cluster.end(0).await;
    // The stage before worked twice: once with the same result, once with another.
    cluster.queue(0, 2, job).await;
    cluster
        .counters(RunCounters {
            accepted: 1,
            duplicates: 1,
            ..RunCounters::default()
        })
        .await;
    let other = Execution {
        wall_s: 9.0,
        ..execution
    };
    cluster
        .queue(0, 3, cluster.job(Outcome::Ran(Box::new(other))).await)
        .await;
    cluster
        .counters(RunCounters {
            accepted: 1,
            duplicates: 1,
            conflicts: 1,
            ..RunCounters::default()
        })
        .await;
    assert_eq!(cluster.rewarded(0).await.wall_s, 1.5);
    cluster.counted(Metric::Grades, &["yes"], 1.0).await;
    for (word, count) in [
        ("accepted", 1.0),
        ("duplicate", 1.0),
        ("conflict", 1.0),
        ("late", 0.0),
    ] {
        assert_eq!(
            cluster.service.metrics.value(Metric::Commits, &[word]),
            count,
            "{word}"
        );
    }
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reward_that_comes_after_the_deadline_of_its_group_is_refused_and_counted() {
    let cluster = Cluster::start().await;
    cluster.open_group(1).await;
    let after = Clock::system().now_ms() + 3_600_000;
    let ended = cluster.store.expire_due(&run_id(), after).await.unwrap();
    assert_eq!(ended, [(0, GroupState::Expired)]);
    let execution = cluster.execution(Verdict::Ok, "", Some(HALF_RIGHT)).await;
    cluster
        .queue(0, 1, cluster.job(Outcome::Ran(Box::new(execution))).await)
        .await;
    cluster
        .counters(RunCounters {
            late: 1,
            expired: 1,
            ..RunCounters::default()
        })
        .await;
    cluster.counted(Metric::Commits, &["late"], 1.0).await;
    assert_eq!(cluster.end(0).await.outcome, EndOutcome::Expired);
    assert_eq!(cluster.store.report(&run_id()).await.unwrap(), []);
    assert_eq!(cluster.service.metrics.value(Metric::Grades, &["yes"]), 0.0);
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_and_repeated_markers_earn_nothing() {
    let cluster = Cluster::start().await;
    cluster.open_group(1).await;
    let forged = "imported\nffffffffffffffffffffffffffffffff loaded_data\n";
    let text = format!(
        "{forged}{}",
        printed(&["imported", "imported", "wrote_submission"])
    );
    let execution = cluster.execution(Verdict::Error, &text, None).await;
    cluster
        .queue(0, 1, cluster.job(Outcome::Ran(Box::new(execution))).await)
        .await;
    assert_eq!(cluster.rewarded(0).await.reward.markers, 1);
    cluster.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_of_ours_ends_a_rollout_without_a_reward() {
    let cluster = Cluster::start().await;
    cluster.open_group(4).await;
    let sandbox = cluster.execution(Verdict::SandboxError, "", None).await;
    let lost = Execution {
        submission: Some(ContentHash::of(b"never kept")),
        ..cluster.execution(Verdict::Ok, "", None).await
    };
    let mut unknown = cluster.job(Outcome::NotRun(NotRun::NoProgram)).await;
    unknown.work.task = TaskId::new("chess").unwrap();
    let mut incomplete = cluster.job(Outcome::NotRun(NotRun::NoProgram)).await;
    incomplete.work.completion = Some(ContentHash::of(b"never kept either"));
    let jobs = [
        (
            cluster.job(Outcome::Ran(Box::new(sandbox))).await,
            "the sandbox failed",
        ),
        (
            cluster.job(Outcome::Ran(Box::new(lost))).await,
            "submission of the rollout is lost",
        ),
        (unknown, "task `chess`"),
        (incomplete, "completion of the rollout is lost"),
    ];
    for (rollout, (job, _)) in jobs.iter().enumerate() {
        cluster.queue(rollout as u32, 1, job.clone()).await;
    }
    for (rollout, (_, wanted)) in jobs.iter().enumerate() {
        let reason = cluster.failure(rollout).await;
        assert!(reason.contains(wanted), "{reason}");
    }
    let record = cluster.store.group(&run_id(), 0).await.unwrap().unwrap();
    assert_eq!(record.state, GroupState::Failed);
    cluster.counted(Metric::DeadLetters, &["grade"], 4.0).await;
    cluster.service.stop().await.unwrap();
}
