//! Tests of `judge`: no submission harms or delays another.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::mpsc,
};

use journeyman_tasks::submission::InvalidKind::{TooLarge, TooSlow};
use tempfile::TempDir;

use super::*;
use crate::tests::{ANSWERS, HALVES, write_task};

const GOOD: &[u8] = b"id,y\na,0.1\nb,0.9\nc,0.9\nd,0.1\n";

/// A task whose gradings have `grade_s` seconds.
fn task(grade_s: f64) -> (TempDir, Arc<GradingTask>) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("toy");
    write_task(&dir, "auc", ANSWERS, HALVES);
    let path = dir.join("prepared/task.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("grade_s = 10.0", &format!("grade_s = {grade_s:?}")),
    )
    .unwrap();
    let task = GradingTask::load(&dir).unwrap();
    (home, Arc::new(task))
}

fn judge() -> Judge {
    Judge::new(&GraderSection {
        submission_bytes: 4 << 20,
        small_bytes: 1024,
        memory_mib: 12,
        ..GraderSection::default()
    })
}

fn bytes(csv: &[u8]) -> Ready<Result<Vec<u8>, Infallible>> {
    ready(Ok(csv.to_vec()))
}

/// A good submission of about 3 MB.
fn large() -> Vec<u8> {
    [GOOD, "\n".repeat(3_000_000).as_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "the submissions come at the same time")]
async fn small_submissions_finish_while_large_ones_are_stuck_or_wait() {
    let (judge, (_home, task)) = (Arc::new(judge()), task(60.0));
    let (release, stuck) = mpsc::channel::<()>();
    let (entered, mut at_work) = tokio::sync::mpsc::unbounded_channel();
    let mut blocked = Some((stuck, entered));
    let mut large_ones = Vec::new();
    // Each needs 10 MiB of 12: one is at work, and four wait.
    for _ in 0..5 {
        let (judge, task, mut block) = (judge.clone(), task.clone(), blocked.take());
        large_ones.push(tokio::spawn(async move {
            let csv = large();
            let work = move |task: &GradingTask, csv: &[u8], patience| {
                if let Some((stuck, entered)) = block.take() {
                    entered.send(()).unwrap();
                    stuck.recv().unwrap();
                }
                task.grade_within(csv, patience)
            };
            judge.judge(&task, csv.len() as u64, bytes(&csv), work).await
        }));
        if at_work.is_empty() && large_ones.len() == 1 {
            at_work.recv().await.unwrap();
        }
    }
    for _ in 0..50 {
        let graded = judge
            .judge(&task, GOOD.len() as u64, bytes(GOOD), GradingTask::grade_within)
            .await;
        assert_eq!(graded.unwrap().unwrap().reward_half, 1.0);
    }
    assert!(large_ones.iter().all(|one| !one.is_finished()));
    release.send(()).unwrap();
    for one in large_ones {
        assert_eq!(one.await.unwrap().unwrap().unwrap().reward_half, 1.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_looks_at_its_time_ends_by_itself() {
    let (_home, task) = task(0.05);
    let work = |_: &GradingTask, _: &[u8], patience: Patience| loop {
        patience.check()?;
    };
    let verdict: Result<(), _> = judge()
        .judge(&task, GOOD.len() as u64, bytes(GOOD), work)
        .await
        .unwrap();
    assert_eq!(verdict.unwrap_err().kind, TooSlow);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_does_not_look_at_its_time_gets_the_verdict_all_the_same() {
    let (_home, task) = task(0.05);
    let (release, stuck) = mpsc::channel::<()>();
    let work = move |_: &GradingTask, _: &[u8], _| {
        // An error means that the test is over.
        let _over = stuck.recv();
        Ok(())
    };
    let verdict = judge()
        .judge(&task, GOOD.len() as u64, bytes(GOOD), work)
        .await
        .unwrap();
    assert_eq!(verdict.unwrap_err().kind, TooSlow);
    drop(release);
}

#[tokio::test(flavor = "multi_thread")]
async fn grading_without_time_is_a_verdict() {
    let (_home, task) = task(10.0);
    let work = |task: &GradingTask, csv: &[u8], _| task.grade_within(csv, Patience::until(Instant::now()));
    let verdict = judge()
        .judge(&task, GOOD.len() as u64, bytes(GOOD), work)
        .await
        .unwrap();
    assert_eq!(verdict.unwrap_err().kind, TooSlow);
}

#[tokio::test(flavor = "multi_thread")]
async fn submission_that_is_too_large_is_refused_without_being_read() {
    let (_home, task) = task(10.0);
    let unread = async || -> Result<Vec<u8>, Infallible> { panic!("it is read") };
    for (declared, wanted) in [
        (2 << 30, "has 2147483648 bytes; at most 4194304 are read"),
        // Three times the size and a MiB, against 12 MiB.
        (4_000_000, "may take 13 MiB of memory; at most 12 MiB are used"),
    ] {
        let verdict = judge()
            .judge(&task, declared, unread(), GradingTask::grade_within)
            .await;
        let invalid = verdict.unwrap().unwrap_err();
        assert_eq!(invalid.kind, TooLarge);
        assert!(invalid.message.contains(wanted), "{invalid}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn submission_with_more_bytes_than_declared_is_refused() {
    let (_home, task) = task(10.0);
    let verdict = judge()
        .judge(&task, 5, bytes(GOOD), GradingTask::grade_within)
        .await;
    assert_eq!(verdict.unwrap().unwrap_err().kind, TooLarge);
}
