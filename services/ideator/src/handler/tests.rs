//! The service between real servers: a job comes in, a job for the implementer or the grader goes out; questions are
//! answered.

use std::{fs, path::Path};

use journeyman_bus::{Bus, RequestError};
use journeyman_schemas::{
    envelope::Envelope,
    execution::{Limits, NotRun},
    fault::{Fault, FaultCode},
    generate::{Generate, Prompt, Sampling},
    ideate::{Idea, SeekHelp},
    ids::{ContentHash, ModelId, RolloutKey, RunId, TaskId},
    job::{
        Completion, Generation, GradeJob, IdeateJob, ImplementJob, InstrumentRule, Outcome, Policy, Solution,
        State, Work,
    },
    reward::{ChangeForm, RewardRule},
};
use journeyman_service::{InProcess, Metric, config::AdminSection, new_traceparent};
use journeyman_store::{Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer, ScriptedLm, TakenJobs};
use tempfile::TempDir;

use crate::{NAME, config::Config, run};

const IDEA: &str =
    "ANALYSIS_ON_CURRENT_PROGRESS: It is linear.\nACTION: Use boosting.\nRATIONALE: Trees find steps.";

/// A running service with its surroundings.
struct Desk {
    bus: Bus,
    store: Store,
    service: InProcess,
    // Stopped last.
    _nats: NatsServer,
    _redis: RedisServer,
    _tasks: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let (nats, redis) = (NatsServer::start().unwrap(), RedisServer::start().unwrap());
        let tasks = tempfile::tempdir().unwrap();
        prepare(tasks.path());
        let mut config = Config {
            admin: AdminSection::local(0),
            ..Config::default()
        };
        (config.nats.url, config.redis.url) = (nats.url(), redis.url());
        config.ideator.tasks = tasks.path().to_owned();
        config.ideator.help.model = model().to_string();
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
            _tasks: tasks,
        }
    }

    async fn queue(&self, rollout: u32) -> Envelope<IdeateJob> {
        let body = IdeateJob {
            work: Work {
                task: TaskId::new("toy").unwrap(),
                policy: Policy::Ideator,
                policy_version: 1,
                state: State::Improve(Solution {
                    program: self.store.put_blob(b"present = 1\n").await.unwrap(),
                    output: Some(self.store.put_blob(b"printed\n").await.unwrap()),
                    score: Some(0.75),
                }),
                reward: RewardRule::Change {
                    form: ChangeForm::Improved,
                    malformed: -1.0,
                },
                completion: None,
                collect: false,
            },
            generation: Generation {
                model: model(),
                adapter: Some(ContentHash::of(b"adapter")),
                sampling: Sampling::training(200, 5, rollout),
            },
            implement: Generation {
                model: model(),
                adapter: None,
                sampling: Sampling::training(500, 6, rollout),
            },
            limits: Limits {
                wall_s: 1.0,
                memory_bytes: 1 << 20,
                pids: 1,
                output_bytes: 1000,
                disk_bytes: 1000,
            },
            instrument: InstrumentRule {
                model: None,
                model_share: 0.0,
            },
        };
        let key = RolloutKey {
            run: RunId::new("r").unwrap(),
            group: 4,
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

    async fn ask(&self, n: u32) -> Result<Vec<Idea>, RequestError> {
        let body = SeekHelp {
            ideator: "default".to_owned(),
            task: TaskId::new("toy").unwrap(),
            description: "# Some task".to_owned(),
            program: "present = 2".to_owned(),
            output: "Traceback".to_owned(),
            score: None,
            query: "Why does it fail?".to_owned(),
            n,
        };
        let question = Envelope::new(format!("q {n}"), None, 1, i64::MAX / 2, new_traceparent(), body);
        Ok(self.bus.request(&question).await?.body.ideas)
    }
}

fn prepare(tasks: &Path) {
    let prepared = tasks.join("toy/prepared");
    fs::create_dir_all(prepared.join("public")).unwrap();
    let definition = "id = \"toy\"\nname = \"Toy\"\nmetric = \"auc\"\nlower_is_better = false\nid_column = \"id\"\n\
                      target_columns = [\"y\"]\nreference = { worst = 0.5, best = 1.0 }\n\
                      limits = { program_s = 1.0, grade_s = 1.0 }\n[source]\npackage = \"\"\nversion = \"\"\n\
                      sha256 = \"\"\nfile = \"\"\nlicence = \"\"\norigin = \"\"\n";
    for (name, text) in [
        ("task.toml", definition),
        ("starter.py", "start = 1\n"),
        ("public/description.md", "# Toy\n"),
        ("public/train.csv", "id,x,y\n1,2.5,0\n"),
        ("public/test.csv", "id,x\n2,3.5\n"),
        ("public/sample_submission.csv", "id,y\n2,0.5\n"),
    ] {
        fs::write(prepared.join(name), text).unwrap();
    }
}

fn model() -> ModelId {
    ModelId::new("small").unwrap()
}

fn idea() -> Idea {
    Idea {
        analysis: "It is linear.".into(),
        action: "Use boosting.".into(),
        rationale: "Trees find steps.".into(),
    }
}

fn user(request: &Generate) -> &str {
    let Prompt::Messages(messages) = &request.prompt else {
        panic!("messages were sent")
    };
    &messages[1].content
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idea_goes_to_the_frozen_implementer() {
    let desk = Desk::new().await;
    let lm = ScriptedLm::always(&desk.bus, &model(), IDEA);
    let mut implements = TakenJobs::<ImplementJob>::start(&desk.bus);
    let queued = desk.queue(3).await;
    let next = implements.next().await.unwrap();
    assert_eq!(
        (next.id.as_str(), &next.key, next.attempt),
        ("r/4/3/implement/1", &queued.key, 1)
    );
    assert_eq!(
        (next.deadline_ms, &next.traceparent),
        (queued.deadline_ms, &queued.traceparent)
    );
    assert_eq!(
        (&next.body.generation, &next.body.limits),
        (&queued.body.implement, &queued.body.limits)
    );
    assert_eq!(
        desk.store
            .get_json::<Idea>(next.body.idea.as_ref().unwrap())
            .await
            .unwrap(),
        idea()
    );
    let completion: Completion = desk
        .store
        .get_json(next.body.work.completion.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(
        (completion.text.as_str(), &completion.adapter),
        (IDEA, &queued.body.generation.adapter)
    );

    let asked = lm.asked().remove(0);
    assert_eq!(
        (&asked.adapter, &asked.sampling),
        (&queued.body.generation.adapter, &queued.body.generation.sampling)
    );
    for part in ["# Toy", "present = 1", "Its score is 0.7500.", "printed"] {
        assert!(user(&asked).contains(part), "{part}");
    }
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn badly_formed_idea_goes_to_the_grader() {
    let desk = Desk::new().await;
    let _lm = ScriptedLm::always(&desk.bus, &model(), "Use boosting.");
    let mut grades = TakenJobs::<GradeJob>::start(&desk.bus);
    desk.queue(0).await;
    let next = grades.next().await.unwrap();
    assert_eq!(next.id, "r/4/0/grade/1");
    assert_eq!(
        (&next.body.program, &next.body.outcome),
        (&None, &Outcome::NotRun(NotRun::BadIdea))
    );
    assert!(next.body.work.completion.is_some());
    assert_eq!(desk.service.metrics.value(Metric::Ideas, &["failed"]), 1.0);
    assert_eq!(desk.service.metrics.value(Metric::NotRun, &["bad_idea"]), 1.0);
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn question_is_answered_with_the_well_formed_ideas() {
    let desk = Desk::new().await;
    assert!(
        matches!(desk.ask(1).await, Err(RequestError::Fault { fault, .. }) if fault.code == FaultCode::Unavailable)
    );
    let lm = ScriptedLm::start(&desk.bus, &model(), |request, index| match request.n {
        5 => Err(Fault::new(FaultCode::Invalid, "too long")),
        _ => Ok(if index == 1 {
            "no idea".to_owned()
        } else {
            IDEA.to_owned()
        }),
    });
    // The scripted model is there once it answers.
    journeyman_testkit::eventually(std::time::Duration::from_secs(10), || async {
        desk.ask(1).await.is_ok()
    })
    .await;
    assert_eq!(desk.ask(3).await.unwrap(), [idea(), idea()]);
    let asked = lm.asked().pop().unwrap();
    assert_eq!(
        (asked.n, asked.adapter.clone(), asked.sampling.temperature),
        (3, None, 1.0)
    );
    for part in [
        "# Some task",
        "present = 2",
        "It wrote no valid submission.",
        "Traceback",
        "Why does it fail?",
    ] {
        assert!(user(&asked).contains(part), "{part}");
    }
    for (n, code) in [
        (0, FaultCode::Invalid),
        (17, FaultCode::Invalid),
        (5, FaultCode::Invalid),
    ] {
        let refused = desk.ask(n).await;
        assert!(
            matches!(&refused, Err(RequestError::Fault { fault, .. }) if fault.code == code),
            "{refused:?}"
        );
    }
    desk.service.stop().await.unwrap();
}
