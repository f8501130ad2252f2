//! The service between real servers: a job comes in, a job for the instrumenter or the grader goes out.

use std::{fs, path::Path};

use journeyman_bus::Bus;
use journeyman_schemas::{
    envelope::Envelope,
    execution::{Limits, NotRun},
    fault::{Fault, FaultCode},
    generate::{Generate, Prompt, Sampling},
    ideate::Idea,
    ids::{ContentHash, ModelId, RolloutKey, RunId, TaskId},
    job::{
        Completion, Generation, GradeJob, ImplementJob, InstrumentJob, InstrumentRule, Outcome, Policy,
        Solution, State, Work,
    },
    reward::RewardRule,
};
use journeyman_service::{InProcess, Metric, config::AdminSection, new_traceparent};
use journeyman_store::{Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer, ScriptedLm, TakenJobs, eventually};
use tempfile::TempDir;

use crate::{NAME, config::Config, run};

const PROGRAM: &str = "import pandas as pd\npd.DataFrame().to_csv('submission.csv')\n";

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
        config.implementer.tasks = tasks.path().to_owned();
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

    async fn queue(&self, rollout: u32, job: ImplementJob) -> Envelope<ImplementJob> {
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
            job,
        );
        self.bus.enqueue(&job).await.unwrap();
        job
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

fn job() -> ImplementJob {
    ImplementJob {
        work: Work {
            task: TaskId::new("toy").unwrap(),
            policy: Policy::Implementer,
            policy_version: 3,
            state: State::Scratch,
            reward: RewardRule::Score {
                invalid: -10.0,
                marker: 0.1,
            },
            completion: None,
            collect: false,
        },
        generation: Generation {
            model: model(),
            adapter: Some(ContentHash::of(b"adapter")),
            sampling: Sampling::training(1000, 7, 2),
        },
        idea: None,
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
    }
}

fn user(request: &Generate) -> &str {
    let Prompt::Messages(messages) = &request.prompt else {
        panic!("messages were sent")
    };
    &messages[1].content
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn program_goes_to_the_instrumenter_and_the_completion_is_kept() {
    let desk = Desk::new().await;
    let text = format!("Here:\n```python\n{PROGRAM}```\n");
    let lm = ScriptedLm::always(&desk.bus, &model(), &text);
    let mut instruments = TakenJobs::<InstrumentJob>::start(&desk.bus);
    let queued = desk.queue(2, job()).await;
    let next = instruments.next().await.unwrap();
    assert_eq!(
        (next.id.as_str(), &next.key, next.attempt),
        ("r/4/2/instrument/1", &queued.key, 1)
    );
    assert_eq!(
        (next.deadline_ms, &next.traceparent),
        (queued.deadline_ms, &queued.traceparent)
    );
    assert_eq!(
        desk.store.get_blob(&next.body.program).await.unwrap(),
        PROGRAM.as_bytes()
    );
    let hash = next.body.work.completion.clone().unwrap();
    let completion: Completion = desk.store.get_json(&hash).await.unwrap();
    assert_eq!((&completion.text, completion.truncated), (&text, false));
    assert_eq!(completion.token_ids.len(), completion.logprobs.len());
    assert_eq!(
        (&completion.adapter, &completion.sampling),
        (&job().generation.adapter, &job().generation.sampling)
    );

    let asked = lm.asked().remove(0);
    assert_eq!(
        (asked.n, &asked.adapter, &asked.sampling),
        (1, &job().generation.adapter, &job().generation.sampling)
    );
    let prompt = user(&asked);
    assert!(
        prompt.starts_with("# Toy\n\n## Data\n") && prompt.contains("start = 1"),
        "{prompt}"
    );
    let tokens = desk.service.metrics.value(Metric::AskedCompletionTokens, &[]);
    assert_eq!(tokens, completion.token_ids.len() as f64);
    assert_eq!(desk.service.metrics.value(Metric::Prompts, &["scratch"]), 1.0);
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completion_without_program_goes_to_the_grader() {
    let desk = Desk::new().await;
    let _lm = ScriptedLm::always(&desk.bus, &model(), "I can't.");
    let mut grades = TakenJobs::<GradeJob>::start(&desk.bus);
    desk.queue(0, job()).await;
    let next = grades.next().await.unwrap();
    assert_eq!(next.id, "r/4/0/grade/1");
    assert_eq!(
        (&next.body.program, &next.body.outcome),
        (&None, &Outcome::NotRun(NotRun::NoProgram))
    );
    let completion: Completion = desk
        .store
        .get_json(&next.body.work.completion.unwrap())
        .await
        .unwrap();
    assert_eq!(completion.text, "I can't.");
    assert_eq!(desk.service.metrics.value(Metric::Programs, &["no_program"]), 1.0);
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idea_is_shown_and_stays_the_policys_completion() {
    let desk = Desk::new().await;
    let lm = ScriptedLm::always(&desk.bus, &model(), PROGRAM);
    let mut instruments = TakenJobs::<InstrumentJob>::start(&desk.bus);
    let idea = Idea {
        analysis: "a".into(),
        action: "Use boosting.".into(),
        rationale: "It wins.".into(),
    };
    let of_the_idea = desk.store.put_blob(b"completion of the idea").await.unwrap();
    let mut with_idea = job();
    with_idea.idea = Some(desk.store.put_json(&idea).await.unwrap());
    with_idea.work.policy = Policy::Ideator;
    with_idea.work.completion = Some(of_the_idea.clone());
    with_idea.work.state = State::Improve(Solution {
        program: desk.store.put_blob(b"earlier = 1\n").await.unwrap(),
        output: Some(desk.store.put_blob(b"printed before\n").await.unwrap()),
        score: Some(0.75),
    });
    desk.queue(0, with_idea.clone()).await;
    assert_eq!(
        instruments.next().await.unwrap().body.work.completion,
        Some(of_the_idea)
    );
    let asked = lm.asked().remove(0);
    for part in [
        "earlier = 1",
        "Its score is 0.7500.",
        "printed before",
        "Use boosting.",
    ] {
        assert!(user(&asked).contains(part), "{part}");
    }

    // A rollout that only fills the pool has no idea: the program's completion stands in.
    let mut collecting = with_idea;
    (
        collecting.idea,
        collecting.work.completion,
        collecting.work.collect,
    ) = (None, None, true);
    desk.queue(1, collecting).await;
    let hash = instruments.next().await.unwrap().body.work.completion.unwrap();
    assert_eq!(
        desk.store.get_json::<Completion>(&hash).await.unwrap().text,
        PROGRAM
    );
    desk.service.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_model_is_asked_again_and_a_prompt_that_never_fits_is_given_up() {
    let desk = Desk::new().await;
    let tries = std::sync::atomic::AtomicU32::new(0);
    let _lm = ScriptedLm::start(&desk.bus, &model(), move |request, _| {
        if request.sampling.seed == 99 {
            return Err(Fault::new(
                FaultCode::Invalid,
                "prompt of 9000 tokens, the context has 8192",
            ));
        }
        match tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Err(Fault::new(FaultCode::Busy, "no slot")),
            1 => Err(Fault::new(FaultCode::NotFound, "no such adapter yet")),
            _ => Ok(PROGRAM.to_owned()),
        }
    });
    let mut instruments = TakenJobs::<InstrumentJob>::start(&desk.bus);
    desk.queue(0, job()).await;
    let next = instruments.next().await.unwrap();
    assert_eq!((next.id.as_str(), next.attempt), ("r/4/0/instrument/3", 3));

    let mut too_long = job();
    too_long.generation.sampling.seed = 99;
    desk.queue(1, too_long).await;
    let metrics = desk.service.metrics.clone();
    eventually(std::time::Duration::from_secs(20), move || {
        let given_up = metrics.value(Metric::JobsFinished, &["implement", "poison"]);
        async move { given_up == 1.0 }
    })
    .await;
    desk.service.stop().await.unwrap();
}
