//! Small submissions through the whole service: `journeyman-grader` as a process, with its own nats-server and
//! redis-server, from the queue to the committed reward.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, ensure};
use journeyman_bus::{Bus, job_id};
use journeyman_schemas::{
    Stage,
    envelope::Envelope,
    execution::{Execution, IsolationLevel, Marker, Nonce, Verdict},
    ids::{RolloutKey, RunId, TaskId},
    job::{GradeJob, Outcome, Policy, State, Work},
    reward::{EndOutcome, RewardRule},
};
use journeyman_store::{OpenGroup, Store, StoreConfig};
use journeyman_testkit::{NatsServer, RedisServer};

/// Jobs of a round.
const JOBS: u32 = 1000;
/// Between two looks at what is done.
const PAUSE: Duration = Duration::from_millis(5);
/// What takes longer is broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// Rewards per second, one value per round. `tasks` holds the task `measured`, `submission` is one for it.
///
/// # Errors
/// No `journeyman-grader` beside this program, a server that can't be started, jobs that don't end.
pub(super) async fn rates(tasks: &Path, submission: &Path, rounds: u32) -> anyhow::Result<Vec<f64>> {
    let (nats, redis) = (NatsServer::start()?, RedisServer::start()?);
    let bus = Bus::connect(&nats.config("load-test")).await?;
    let store = Store::connect(&StoreConfig::new(redis.url())).await?;
    bus.ensure_streams().await?;
    let _grader = Grader::start(&nats, &redis, tasks)?;
    let outcome = ended_well(&store, submission).await?;
    let mut rates = Vec::new();
    // The first round is not measured: the service starts in it.
    for round in 0..=rounds {
        let run = RunId::new(format!("round-{round}"))?;
        let rate = rate(&bus, &store, &run, &outcome).await?;
        if round > 0 {
            rates.push(rate);
        }
    }
    Ok(rates)
}

/// From the first job queued to the last reward committed.
async fn rate(bus: &Bus, store: &Store, run: &RunId, outcome: &Outcome) -> anyhow::Result<f64> {
    let deadline_ms = in_an_hour_ms()?;
    let group = OpenGroup {
        run: run.clone(),
        group: 0,
        size: JOBS,
        deadline_ms,
        policy: Policy::Implementer,
        policy_version: 0,
        meta: serde_json::Value::Null,
    };
    store.open_group(&group).await?;
    let completion = store.put_blob(b"a completion").await?;
    let work = Work {
        task: TaskId::new("measured")?,
        policy: Policy::Implementer,
        policy_version: 0,
        state: State::Scratch,
        reward: RewardRule::Score {
            invalid: -10.0,
            marker: 0.1,
        },
        completion: Some(completion),
        collect: false,
    };
    let started = Instant::now();
    for rollout in 0..JOBS {
        let key = RolloutKey {
            run: run.clone(),
            group: 0,
            rollout,
        };
        let body = GradeJob {
            work: work.clone(),
            program: None,
            outcome: outcome.clone(),
        };
        let id = job_id(&key, Stage::Grade, 1);
        bus.enqueue(&Envelope::new(id, Some(key), 1, deadline_ms, String::new(), body))
            .await?;
    }
    loop {
        let counters = store.counters(run).await?;
        if counters.accepted == u64::from(JOBS) {
            break;
        }
        ensure!(
            started.elapsed() < PATIENCE,
            "only {} of {JOBS} jobs ended within {PATIENCE:?}",
            counters.accepted
        );
        tokio::time::sleep(PAUSE).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let record = store.group(run, 0).await?.context("the group was opened")?;
    let scored = record
        .ends
        .iter()
        .flatten()
        .filter(|end| matches!(&end.outcome, EndOutcome::Rewarded(rewarded) if rewarded.reward.valid));
    ensure!(scored.count() == JOBS as usize, "some rollouts have no score");
    Ok(f64::from(JOBS) / seconds)
}

fn in_an_hour_ms() -> anyhow::Result<i64> {
    let hence = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_secs(3600);
    Ok(i64::try_from(hence.as_millis())?)
}

async fn ended_well(store: &Store, submission: &Path) -> anyhow::Result<Outcome> {
    let nonce = Nonce("00112233445566778899aabbccddeeff".into());
    let printed: String = Marker::ALL
        .iter()
        .map(|marker| marker.line(&nonce) + "\n")
        .collect();
    Ok(Outcome::Ran(Box::new(Execution {
        verdict: Verdict::Ok,
        exit_code: Some(0),
        signal: None,
        wall_s: 1.0,
        cpu_s: 1.0,
        output: store.put_blob(printed.as_bytes()).await?,
        submission: Some(store.put_blob(&std::fs::read(submission)?).await?),
        submission_refused: None,
        isolation: IsolationLevel::Full,
        nonce,
        markers: Marker::ALL.to_vec(),
    })))
}

/// The service; killed when dropped.
struct Grader(Child);

impl Grader {
    fn start(nats: &NatsServer, redis: &RedisServer, tasks: &Path) -> anyhow::Result<Self> {
        let program = program()?;
        let mut command = Command::new(&program);
        command
            .env("JOURNEYMAN__ADMIN__LISTEN", "127.0.0.1:0")
            .env("JOURNEYMAN__NATS__URL", nats.url())
            .env("JOURNEYMAN__REDIS__URL", redis.url())
            .env("JOURNEYMAN__GRADER__TASKS", tasks)
            .env("JOURNEYMAN__SERVICE__LOG", "warn")
            .stdin(Stdio::null());
        let child = command.spawn();
        Ok(Self(child.with_context(|| {
            format!("`{}` can't be started", program.display())
        })?))
    }
}

impl Drop for Grader {
    fn drop(&mut self) {
        // It may have ended already.
        let _killed = self.0.kill();
        let _waited = self.0.wait();
    }
}

/// The service's binary, beside ours.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("journeyman-grader");
    ensure!(
        program.is_file(),
        "there is no `{}`; build it with `cargo build --release -p journeyman-grader`",
        program.display()
    );
    Ok(program)
}
