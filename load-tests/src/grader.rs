//! Scenario `grader`: gradings per second and memory, ours beside pandas and scikit-learn, which MLE-bench grades with.
//!
//! Both sides are processes that were started once and are warm, are fed by standard input, read each submission from
//! its file and answer with the score. Ours and the peer's turn alternate within each round, so that what else runs on
//! the machine meets both alike; the table shows medians. Before anything is measured both must give the same scores.
//! The last row is the whole service, from the queue to the committed reward.

mod child;
mod data;
mod service;
pub mod worker;

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::report::{Must, Report, Row, median};
use child::Worker;
use data::{Metric, write_task};

/// Rounds that make a median.
const FEWEST_ROUNDS: u32 = 3;
/// Rows of a large submission.
const LARGE: usize = 1_000_000;
/// Rows of a small submission.
const SMALL: usize = 1_000;
/// Small submissions that the peer grades in a round; ours has [`OURS_PER_PEER`] times as many.
const SMALL_PER_ROUND: usize = 50;
/// Ours is much faster, and a time needs some length.
const OURS_PER_PEER: usize = 20;
/// Cores that small submissions are graded on at once.
const CORES: usize = 2;
/// What the peer must have.
const PEER_VERSIONS: [(&str, &str); 2] = [("pandas", "2.2.2"), ("scikit-learn", "1.5.1")];

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A Python with pandas 2.2.2 and scikit-learn 1.5.1 (`load-tests/peers/requirements.txt`).
    #[arg(long, default_value = "python3")]
    pub python: PathBuf,
    /// Let the peer keep the answers in memory, as we do. MLE-bench reads them again for each submission.
    #[arg(long)]
    pub peer_keeps_answers: bool,
    /// Rounds, of which the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(FEWEST_ROUNDS as i64..))]
    pub rounds: u32,
}

/// Measures, and says what must hold: 5 times as fast with 1 million rows in no more memory, 20 times as fast with 1,000
/// rows, and 500 of those a second on two cores.
///
/// # Errors
/// A Python that lacks what the peer needs, scores that differ, a worker that fails.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    let mut rows = Vec::new();
    for metric in [Metric::Auc, Metric::Rmse] {
        let folder = tempfile::tempdir()?;
        write_task(folder.path(), metric, LARGE)?;
        rows.extend(large(options, folder.path(), metric)?);
    }
    for metric in [Metric::Auc, Metric::Rmse] {
        let folder = tempfile::tempdir()?;
        write_task(folder.path(), metric, SMALL)?;
        rows.extend(small(options, folder.path(), metric)?);
    }
    rows.push(through_the_service(options).await?);
    let title = format!(
        "beside pandas and scikit-learn, whole numbers as ids, the peer {} the answers, medians of {} rounds",
        if options.peer_keeps_answers {
            "keeps"
        } else {
            "reads"
        },
        options.rounds,
    );
    Ok(Report {
        scenario: "grader",
        title,
        rows,
    })
}

fn large(options: &Options, folder: &Path, metric: Metric) -> anyhow::Result<Vec<Row>> {
    let mut trio = Trio::start(options, folder, metric)?;
    let [mut strict, mut compat, mut peer] = [const { Vec::new() }; 3];
    for _ in 0..options.rounds {
        strict.push(rate(&mut [&mut trio.strict], &trio.grade, 1)?);
        peer.push(rate(&mut [&mut trio.peer], &trio.grade, 1)?);
        compat.push(rate(&mut [&mut trio.compat], &trio.grade, 1)?);
    }
    let peer = [median(peer)];
    let peer_peak = [trio.peer.peak_mib()?];
    let name = |what: &str| format!("1M rows, {}, {what}", metric.as_str());
    let speed = Some(Must::RatioAtLeast(5.0));
    let memory = Some(Must::RatioAtMost(1.0));
    Ok(vec![
        Row::new(name("graded/s"), median(strict), &peer, speed),
        Row::new(name("peak MiB"), trio.strict.peak_mib()?, &peer_peak, memory),
        Row::new(name("compat, graded/s"), median(compat), &peer, speed),
        Row::new(
            name("compat, peak MiB"),
            trio.compat.peak_mib()?,
            &peer_peak,
            memory,
        ),
    ])
}

fn small(options: &Options, folder: &Path, metric: Metric) -> anyhow::Result<Vec<Row>> {
    let mut trios = (0..CORES)
        .map(|_| Trio::start(options, folder, metric))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let grade = trios[0].grade.clone();
    let [mut strict, mut compat, mut peer, mut strict_all, mut peer_all] = [const { Vec::new() }; 5];
    let ours_count = SMALL_PER_ROUND * OURS_PER_PEER;
    for _ in 0..options.rounds {
        strict.push(rate(&mut [&mut trios[0].strict], &grade, ours_count)?);
        peer.push(rate(&mut [&mut trios[0].peer], &grade, SMALL_PER_ROUND)?);
        compat.push(rate(&mut [&mut trios[0].compat], &grade, ours_count)?);
        let (mut ours, mut peers): (Vec<_>, Vec<_>) = trios
            .iter_mut()
            .map(|trio| (&mut trio.strict, &mut trio.peer))
            .unzip();
        strict_all.push(rate(&mut ours, &grade, ours_count)?);
        peer_all.push(rate(&mut peers, &grade, SMALL_PER_ROUND)?);
    }
    let peer = [median(peer)];
    let name = |what: &str| format!("1,000 rows, {}, {what}", metric.as_str());
    let speed = Some(Must::RatioAtLeast(20.0));
    Ok(vec![
        Row::new(name("graded/s"), median(strict), &peer, speed),
        Row::new(name("compat, graded/s"), median(compat), &peer, speed),
        Row::new(
            name("graded/s on 2 cores"),
            median(strict_all),
            &[median(peer_all)],
            Some(Must::AtLeast(500.0)),
        ),
    ])
}

/// Without a peer: MLE-bench has no service.
async fn through_the_service(options: &Options) -> anyhow::Result<Row> {
    let tasks = tempfile::tempdir()?;
    let task = tasks.path().join("measured");
    write_task(&task, Metric::Auc, SMALL)?;
    let rates = service::rates(tasks.path(), &task.join("submission.csv"), options.rounds).await?;
    Ok(Row::new(
        "1,000 rows, auc, queue to reward/s",
        median(rates),
        &[],
        Some(Must::AtLeast(500.0)),
    ))
}

/// Ours in both modes and the peer, with the task loaded, warm, and of the same opinion.
struct Trio {
    /// `GradingTask`, which rewards use.
    strict: Worker,
    /// The mode that repeats MLE-bench.
    compat: Worker,
    peer: Worker,
    /// The command that grades.
    grade: Value,
}

impl Trio {
    fn start(options: &Options, folder: &Path, metric: Metric) -> anyhow::Result<Self> {
        let private = folder.join("prepared/private");
        let answers = private.join("answers.csv");
        let (id, target) = metric.columns();
        let peer = |keep: bool| {
            let mut peer = start_peer(options)?;
            peer.ask(&json!({
                "op": "load", "answers": answers, "halves": private.join("halves.csv"),
                "metric": metric.as_str(), "id": id, "target": target, "keep": keep,
            }))?;
            anyhow::Ok(peer)
        };
        let mut trio = Self {
            strict: start_ours()?,
            compat: start_ours()?,
            peer: peer(options.peer_keeps_answers)?,
            grade: json!({ "op": "grade", "submission": folder.join("submission.csv") }),
        };
        trio.strict.ask(&json!({ "op": "load", "task": folder }))?;
        let competition = metric.competition();
        trio.compat
            .ask(&json!({ "op": "load_compat", "competition": competition, "answers": answers }))?;

        let whole = trio.peer.ask(&trio.grade)?;
        same(&trio.compat.ask(&trio.grade)?, &whole, &["score"])?;
        // In a process of its own: it takes more memory than the grading that is measured.
        let halves = peer(false)?.ask(&json!({ "op": "halves", "submission": trio.grade["submission"] }))?;
        same(&trio.strict.ask(&trio.grade)?, &halves, &["reward", "report"])?;
        Ok(trio)
    }
}

fn same(ours: &Value, peer: &Value, scores: &[&str]) -> anyhow::Result<()> {
    let near = |name: &&str| {
        let both = ours[name].as_f64().zip(peer[name].as_f64());
        both.is_some_and(|(ours, peer)| (ours - peer).abs() <= 1e-12 * peer.abs().max(1.0))
    };
    ensure!(
        scores.iter().all(near),
        "the scores differ: {ours} here, {peer} from scikit-learn"
    );
    Ok(())
}

fn start_ours() -> anyhow::Result<Worker> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("grader-worker");
    Worker::start(command)
}

/// Gradings per second of some workers, each of which grades `count` times.
fn rate(workers: &mut [&mut Worker], grade: &Value, count: usize) -> anyhow::Result<f64> {
    let graded = workers.len() * count;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .map(|worker| scope.spawn(move || (0..count).try_for_each(|_| worker.ask(grade).map(drop))))
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done,
            Err(_) => bail!("a thread panicked"),
        })
    })?;
    Ok(graded as f64 / started.elapsed().as_secs_f64())
}

fn start_peer(options: &Options) -> anyhow::Result<Worker> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let how = || {
        format!(
            "the peer needs Python with pandas 2.2.2 and scikit-learn 1.5.1; make one with `python3.11 -m venv DIR && \
             DIR/bin/pip install -r {}` and name it with `--python DIR/bin/python`; `{}` can't serve",
            peers.join("requirements.txt").display(),
            options.python.display()
        )
    };
    let mut command = Command::new(&options.python);
    command.arg(peers.join("grade_with_pandas.py"));
    let worker = Worker::start(command).with_context(how)?;
    for (name, version) in PEER_VERSIONS {
        ensure!(
            worker.hello[name] == version,
            "{} has version {}; {}",
            name,
            worker.hello[name],
            how()
        );
    }
    Ok(worker)
}
