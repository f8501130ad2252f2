//! The service between real servers: a job comes in, a job for the sandbox or the grader goes out.

use journeyman_bus::Bus;
use journeyman_schemas::{
    envelope::Envelope,
    execution::{Limits, Marker, NotRun},
    fault::{Fault, FaultCode},
    ids::{ModelId, RolloutKey, RunId, TaskId},
    job::{ExecuteJob, GradeJob, InstrumentJob, InstrumentRule, Outcome, Policy, State, Work},
    reward::RewardRule,
};
use journeyman_service::{InProcess, Label, Metric, config::AdminSection, new_traceparent};
use journeyman_store::{Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer, ScriptedLm, TakenJobs};

use super::is_chosen;
use crate::{
    NAME,
    config::Config,
    instrument::{Reason, Way},
    run,
};

const PROGRAM: &str = "import pandas as pd\ndf = pd.read_csv('data/train.csv')\nprint(len(df))\n";

/// A running service with its surroundings.
struct Desk {
    bus: Bus,
    store: Store,
    service: InProcess,
    // Stopped last.
    _nats: NatsServer,
    _redis: RedisServer,
}

impl Desk {
    async fn new() -> Self {
        let (nats, redis) = (NatsServer::start().unwrap(), RedisServer::start().unwrap());
        let mut config = Config {
            admin: AdminSection::local(0),
            ..Config::default()
        };
        (config.nats.url, config.redis.url) = (nats.url(), redis.url());
        let service = InProcess::start(NAME, config, run).await.unwrap();
        service.ready.wait().await;
        let bus = Bus::connect(&nats.config("test")).await.unwrap();
        let store = Store::connect(&StoreConfig::new(redis.url())).await.unwrap();
        Self {
            bus,
            store,
            service,
            _nats: nats,
            _redis: redis,
        }
    }

    /// Queues `program` as rollout `rollout`, to be instrumented with the model `small` if `ask`.
    async fn queue(&self, rollout: u32, program: &[u8], ask: bool) -> Envelope<InstrumentJob> {
        let body = InstrumentJob {
            work: Work {
                task: TaskId::new("toy").unwrap(),
                policy: Policy::Implementer,
                policy_version: 3,
                state: State::Scratch,
                reward: RewardRule::Score {
                    invalid: -10.0,
                    marker: 0.1,
                },
                completion: Some(self.store.put_blob(b"completion").await.unwrap()),
                collect: false,
            },
            program: self.store.put_blob(program).await.unwrap(),
            instrument: InstrumentRule {
                model: ask.then(model),
                model_share: 1.0,
            },
            limits: Limits {
                wall_s: 1.0,
                memory_bytes: 1 << 20,
                pids: 1,
                output_bytes: 1000,
                disk_bytes: 1000,
            },
        };
        let key = RolloutKey {
            run: RunId::new("r").unwrap(),
            group: 0,
            rollout,
        };
        let job = Envelope::new(
            format!("job {rollout}"),
            Some(key),
            1,
            i64::MAX / 2,
            new_traceparent(),
            body,
        );
        self.bus.enqueue(&job).await.unwrap();
        job
    }

    async fn text(&self, job: &ExecuteJob) -> String {
        String::from_utf8(self.store.get_blob(&job.instrumented).await.unwrap()).unwrap()
    }

    fn counted(&self, way: Way, reason: Reason) -> f64 {
        self.service
            .metrics
            .value(Metric::Instrumented, &[way.as_str(), reason.as_str()])
    }
}

fn model() -> ModelId {
    ModelId::new("small").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_goes_to_the_sandbox_with_its_markers() {
    let desk = Desk::new().await;
    let mut executes = TakenJobs::<ExecuteJob>::start(&desk.bus);
    let queued = desk.queue(0, PROGRAM.as_bytes(), false).await;
    let job = executes.next().await.unwrap();
    let ExecuteJob {
        work,
        program,
        nonce,
        markers,
        limits,
        ..
    } = &job.body;
    assert_eq!(
        (work, program, limits),
        (&queued.body.work, &queued.body.program, &queued.body.limits)
    );
    assert_eq!(markers, &[Marker::Imported, Marker::LoadedData]);
    assert_eq!(
        (job.id.as_str(), &job.key, job.attempt),
        ("r/0/0/execute/1", &queued.key, 1)
    );
    assert_eq!(
        (job.deadline_ms, &job.traceparent),
        (queued.deadline_ms, &queued.traceparent)
    );
    let text = desk.text(&job.body).await;
    let [imported, loaded] = [Marker::Imported, Marker::LoadedData].map(|marker| marker.line(nonce));
    assert_eq!(
        text,
        format!(
            "import pandas as pd\nprint(\"{imported}\", flush=True)\ndf = pd.read_csv('data/train.csv')\n\
             print(\"{loaded}\", flush=True)\nprint(len(df))\n"
        )
    );
    assert_eq!(desk.counted(Way::Tree, Reason::NotAsked), 1.0);

    // Another rollout of the same program has another nonce.
    desk.queue(1, PROGRAM.as_bytes(), false).await;
    assert_ne!(&executes.next().await.unwrap().body.nonce, nonce);
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_that_is_no_python_goes_to_the_grader() {
    let desk = Desk::new().await;
    let mut grades = TakenJobs::<GradeJob>::start(&desk.bus);
    for (rollout, program) in [
        &b"def f(:\n"[..],
        b"x = '\xff'\n",
        b"import pandas as pd\ndf = pd.read_csv('tr",
    ]
    .into_iter()
    .enumerate()
    {
        for ask in [false, true] {
            let rollout = rollout as u32 * 2 + u32::from(ask);
            let queued = desk.queue(rollout, program, ask).await;
            let job = grades.next().await.unwrap();
            assert_eq!(job.body.outcome, Outcome::NotRun(NotRun::SyntaxError));
            assert_eq!(
                (&job.body.work, &job.body.program),
                (&queued.body.work, &Some(queued.body.program.clone()))
            );
            assert_eq!(job.id, format!("r/0/{rollout}/grade/1"));
        }
    }
    assert_eq!(desk.service.metrics.value(Metric::NotRun, &["syntax_error"]), 6.0);
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_is_asked_and_the_tree_stands_in_for_it() {
    let desk = Desk::new().await;
    let mut executes = TakenJobs::<ExecuteJob>::start(&desk.bus);
    // Nobody answers.
    desk.queue(0, PROGRAM.as_bytes(), true).await;
    assert_eq!(
        executes.next().await.unwrap().body.markers,
        [Marker::Imported, Marker::LoadedData]
    );
    assert_eq!(desk.counted(Way::Tree, Reason::Unavailable), 1.0);

    // The answer depends on the program.
    let lm = ScriptedLm::start(&desk.bus, &model(), |request, _| {
        let shown = serde_json::to_string(&request.prompt).unwrap_or_default();
        match shown {
            text if text.contains("good") => Ok("imported: 1\npredicted: 4\n".to_owned()),
            text if text.contains("bad") => Ok("predicted: 99\n".to_owned()),
            _ => Err(Fault::new(FaultCode::Busy, "no slot")),
        }
    });
    let busy = "import os\nprint(os)\n";
    for (rollout, name, markers, way, reason) in [
        (
            1,
            "good",
            vec![Marker::Imported, Marker::Predicted],
            Way::Model,
            Reason::Accepted,
        ),
        (2, "bad", vec![Marker::Imported], Way::Tree, Reason::BadLine),
        (3, "other", vec![Marker::Imported], Way::Tree, Reason::Unavailable),
    ] {
        desk.queue(
            rollout,
            format!("import os\nname = '{name}'\n\nmake(name)\n").as_bytes(),
            true,
        )
        .await;
        assert_eq!(executes.next().await.unwrap().body.markers, markers, "{name}");
        assert!(desk.counted(way, reason) >= 1.0, "{name}");
    }
    let asked = lm.asked();
    assert!(asked.len() >= 3);
    assert!(
        asked
            .iter()
            .all(|request| request.adapter.is_none() && request.sampling.temperature == 0.0)
    );

    // Too long to ask about.
    desk.queue(4, format!("{busy}{}", "x = 1\n".repeat(3000)).as_bytes(), true)
        .await;
    assert_eq!(executes.next().await.unwrap().body.markers, [Marker::Imported]);
    assert_eq!(desk.counted(Way::Tree, Reason::TooLong), 1.0);
    assert_eq!(lm.asked().len(), asked.len());
    desk.service.stop().await.unwrap();
}

#[test]
fn share_of_rollouts_is_chosen_and_the_choice_stays() {
    let key = |rollout| RolloutKey {
        run: RunId::new("r").unwrap(),
        group: 7,
        rollout,
    };
    let chosen = |share: f64| {
        (0..10_000)
            .filter(|rollout| is_chosen(&key(*rollout), share))
            .count()
    };
    assert_eq!((chosen(0.0), chosen(1.0)), (0, 10_000));
    assert!((2_800..3_200).contains(&chosen(0.3)), "{}", chosen(0.3));
    assert_eq!(chosen(0.3), chosen(0.3));
}

#[test]
fn every_way_and_reason_has_its_series_from_the_start() {
    assert_eq!(Label::Instrumented.values(&[]), Way::ALL.map(Way::as_str));
    assert_eq!(
        Label::InstrumentReason.values(&[]),
        Reason::ALL.map(Reason::as_str)
    );
}
