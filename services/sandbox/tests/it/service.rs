//! The service between real servers: a job comes in, a job for the grader goes out.

use std::{fs, sync::Arc, time::Duration};

use journeyman_sandbox::config::Config;
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    execution::{Execution, IsolationLevel, Marker, Nonce, Verdict},
    ids::{ContentHash, RolloutKey, RunId, TaskId},
    job::{ExecuteJob, GradeJob, Outcome, Policy, State, Work},
    reward::RewardRule,
};
use journeyman_service::{
    Context, InProcess, Metric, ServiceConfig,
    config::{AdminSection, NatsSection, RedisSection, Sections, ServiceSection},
};
use journeyman_store::{Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::{limits, open_directory};

/// A grader that only listens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Listener {
    service: ServiceSection,
    admin: AdminSection,
    nats: NatsSection,
    redis: RedisSection,
}

impl ServiceConfig for Listener {
    const STAGES: &'static [Stage] = &[Stage::Grade];

    fn sections(&self) -> Sections<'_> {
        Sections {
            service: &self.service,
            admin: &self.admin,
            nats: &self.nats,
            redis: &self.redis,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_become_grade_jobs_with_what_came_of_them() {
    let (nats, redis, files) = (
        NatsServer::start().expect("nats-server is installed"),
        RedisServer::start().expect("redis-server is installed"),
        open_directory(),
    );
    let public = files.path().join("tasks/sum/prepared/public");
    fs::create_dir_all(&public).expect("can write in temp");
    fs::write(public.join("train.csv"), "x\n1\n2\n").expect("can write in temp");
    let mut config = Config {
        admin: AdminSection::local(0),
        ..Config::default()
    };
    (config.nats.url, config.redis.url) = (nats.url(), redis.url());
    config.sandbox.tasks = files.path().join("tasks");
    config.sandbox.spool = files.path().join("spool");
    config.sandbox.python = journeyman_testkit::data_home().join("python");
    config.sandbox.first_uid = 61_700;
    let listener = Listener {
        nats: config.nats.clone(),
        redis: config.redis.clone(),
        ..Listener::default()
    };
    let (graded, mut grades) = mpsc::unbounded_channel();
    let graded = Arc::new(graded);
    let grader = InProcess::start(
        "journeyman-grader",
        listener,
        move |ctx: Context<Listener>| async move {
            ctx.work(1, move |job: Envelope<GradeJob>, _| {
                let graded = graded.clone();
                async move {
                    graded
                        .send(job)
                        .map_err(|error| journeyman_bus::JobError::poison(error.to_string()))
                }
            })
            .await
        },
    )
    .await
    .expect("it starts");
    let sandbox = InProcess::start("journeyman-sandbox", config, journeyman_sandbox::run)
        .await
        .expect("it starts");
    sandbox.ready.wait().await;

    let store = Store::connect(&StoreConfig::new(redis.url()))
        .await
        .expect("it runs");
    let bus = journeyman_bus::Bus::connect(&nats.config("test"))
        .await
        .expect("it runs");
    let programs = [
        "print('a' * 32, 'imported')\nopen('submission.csv', 'w').write(open('data/train.csv').read())\n",
        "import os; os.symlink('/etc/passwd', 'submission.csv'); raise SystemExit(4)",
    ];
    for (rollout, program) in (0..).zip(programs) {
        let hash = store.put_blob(program.as_bytes()).await.expect("it runs");
        bus.enqueue(&job(rollout, hash)).await.expect("it runs");
    }
    let mut ends = Vec::new();
    while ends.len() < programs.len() {
        let job = tokio::time::timeout(Duration::from_secs(60), grades.recv())
            .await
            .expect("within a minute")
            .expect("the grader runs");
        let Outcome::Ran(execution) = job.body.outcome else {
            panic!("it ran")
        };
        ends.push((job.key.expect("it has one").rollout, job.id, *execution));
    }
    ends.sort_by_key(|(rollout, _, _)| *rollout);

    let (_, id, first) = &ends[0];
    assert_eq!(id, "test/0/0/grade/1");
    assert_eq!(
        (first.verdict, first.exit_code, &first.submission_refused),
        (Verdict::Ok, Some(0), &None)
    );
    assert_eq!(
        text(&store, &first.output).await,
        format!("{} imported\n", "a".repeat(32))
    );
    let submission = first.submission.as_ref().expect("there was one");
    assert_eq!(text(&store, submission).await, "x\n1\n2\n");
    let Execution {
        verdict,
        exit_code,
        submission,
        submission_refused,
        markers,
        isolation,
        ..
    } = &ends[1].2;
    assert_eq!(
        (*verdict, *exit_code, submission),
        (Verdict::Error, Some(4), &None)
    );
    assert_eq!(
        submission_refused.as_deref(),
        Some("submission.csv: it is a symbolic link")
    );
    assert_eq!(markers, &[Marker::Imported]);
    assert!(*isolation >= IsolationLevel::Namespaces);
    assert_eq!(sandbox.metrics.value(Metric::Executions, &["ok"]), 1.0);
    assert_eq!(sandbox.metrics.value(Metric::Executions, &["error"]), 1.0);
    assert_eq!(sandbox.metrics.value(Metric::SubmissionsRefused, &[]), 1.0);
    assert_eq!(sandbox.metrics.value(Metric::LeftoverProcesses, &[]), 0.0);
    sandbox.stop().await.expect("it stops");
    grader.stop().await.expect("it stops");
    assert_eq!(crate::names_in(&files.path().join("spool")), Vec::<String>::new());
}

fn job(rollout: u32, program: ContentHash) -> Envelope<ExecuteJob> {
    let run = RunId::new("test").expect("it is a name");
    let key = RolloutKey {
        run,
        group: 0,
        rollout,
    };
    let body = ExecuteJob {
        work: Work {
            task: TaskId::new("sum").expect("it is a name"),
            policy: Policy::Implementer,
            policy_version: 0,
            state: State::Scratch,
            reward: RewardRule::Score {
                invalid: -10.0,
                marker: 0.1,
            },
            completion: None,
            collect: false,
        },
        program: program.clone(),
        instrumented: program,
        nonce: Nonce("a".repeat(32)),
        markers: vec![Marker::Imported],
        limits: limits(),
    };
    let deadline_ms = journeyman_service::Clock::system().now_ms() + 60_000;
    let trace = journeyman_service::new_traceparent();
    Envelope::new(
        journeyman_bus::job_id(&key, Stage::Execute, 1),
        Some(key),
        1,
        deadline_ms,
        trace,
        body,
    )
}

async fn text(store: &Store, hash: &ContentHash) -> String {
    String::from_utf8(store.get_blob(hash).await.expect("it was stored")).expect("it is text")
}
