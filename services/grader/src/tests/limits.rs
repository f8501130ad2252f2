//! Bad and huge submissions beside good ones.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn small_submissions_get_their_rewards_beside_huge_ones() {
    const HUGE: usize = 6;
    const SMALL: usize = 50;
    // One of the huge ones at a time has room.
    let cluster = Cluster::start_with(ANSWERS, HALVES, |config| {
        config.grader.submission_bytes = 8 << 20;
        config.grader.memory_mib = 30;
        config.grader.slots = 8;
    })
    .await;
    cluster.open_group((HUGE + SMALL) as u32).await;
    let rows = "a,0.25\n".repeat(1 << 20);
    let huge: [String; HUGE] = [
        format!("id,y\n{rows}"),
        format!("id,y\n\"{}\n", "\"\"".repeat(4 << 20)),
        ",".repeat(8 << 20),
        "\n".repeat(8 << 20),
        format!("id,y\na,{}\n", "9".repeat(8 << 19)),
        format!("id,y\n{}", "\"a\",\"\"\n".repeat(1 << 20)),
    ];
    for (rollout, csv) in huge.iter().enumerate() {
        let execution = cluster.execution(Verdict::Ok, "", Some(csv)).await;
        let job = cluster.job(Outcome::Ran(Box::new(execution))).await;
        cluster.queue(rollout as u32, 1, job).await;
    }
    let execution = cluster.execution(Verdict::Ok, "", Some(HALF_RIGHT)).await;
    let job = cluster.job(Outcome::Ran(Box::new(execution))).await;
    for rollout in HUGE..HUGE + SMALL {
        cluster.queue(rollout as u32, 1, job.clone()).await;
    }
    for rollout in HUGE..HUGE + SMALL {
        assert_eq!(cluster.rewarded(rollout).await.reward.score, Some(1.0));
    }
    for rollout in 0..HUGE {
        let reward = cluster.rewarded(rollout).await.reward;
        assert!(!reward.valid && reward.reason.is_some(), "{rollout}: {reward:?}");
    }
    cluster
        .counted(Metric::GradeSeconds, &[], (HUGE + SMALL) as f64)
        .await;
    cluster.service.stop().await.unwrap();
}
