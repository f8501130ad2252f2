//! The report half stays where it belongs: its score is made to be one that nothing else is, and then looked for in
//! everything that the grader wrote, sent and measures.

use std::path::PathBuf;

use super::*;

/// √12.5, the RMSE of 3 and 4 against two zeros: the score on the report half, and on nothing else.
const CANARY: &str = "3.5355339059327";
/// √0.5, the RMSE of 1 and 0 against two zeros: the score on the reward half.
const REWARD: &str = "0.7071067811865";
const SUBMISSION: &str = "id,y\na,1\nb,0\nc,3\nd,4\n";

fn write_regression(dir: &Path) {
    write_task(dir, "auc", ANSWERS, HALVES);
    let prepared = dir.join("prepared");
    let toml = fs::read_to_string(prepared.join("task.toml")).unwrap();
    let toml = toml
        .replace("id = \"toy\"", "id = \"canary\"")
        .replace("\"auc\"", "\"rmse\"")
        .replace("lower_is_better = false", "lower_is_better = true")
        .replace("worst = 0.5, best = 1.0", "worst = 9.0, best = 0.0");
    fs::write(prepared.join("task.toml"), toml).unwrap();
    fs::write(prepared.join("private/answers.csv"), "id,y\na,0\nb,0\nc,0\nd,0\n").unwrap();
}

/// Everything under a directory, as text.
fn all_of(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                return all_of(&path);
            }
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            vec![(path, text)]
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn report_half_is_in_one_place_and_in_no_message_and_no_metric() {
    // The server writes every message that it gets or sends into its log, whole.
    let log = tempfile::tempdir().unwrap();
    let trace = format!(
        "trace: true\nlog_file: \"{}\"\n",
        log.path().join("nats.log").display()
    );
    let cluster = Cluster::over(NatsServer::start_with(&trace).unwrap()).await;
    write_regression(&cluster.tasks.path().join("canary"));
    cluster.open_group(1).await;
    let execution = cluster.execution(Verdict::Ok, "", Some(SUBMISSION)).await;
    let mut job = cluster.job(Outcome::Ran(Box::new(execution))).await;
    job.work.task = TaskId::new("canary").unwrap();
    cluster.queue(0, 1, job).await;
    let rewarded = cluster.rewarded(0).await;
    eventually(PATIENCE, || async {
        cluster.store.report(&run_id()).await.unwrap().len() == 1
    })
    .await;
    assert!(rewarded.reward.score.unwrap().to_string().starts_with(REWARD));
    let (_, report) = cluster.store.report(&run_id()).await.unwrap()[0];
    assert!(report.to_string().starts_with(CANARY));
    let metrics = cluster.service.metrics.render().unwrap();
    cluster.service.stop().await.unwrap();

    assert!(!metrics.contains(CANARY), "{metrics}");
    assert!(metrics.contains("journeyman_"), "the metrics are there at all");

    let messages: String = all_of(log.path()).into_iter().map(|(_, text)| text).collect();
    assert!(
        messages.contains("group_ended") || messages.contains("jm."),
        "messages were logged"
    );
    assert!(
        !messages.contains(CANARY),
        "a message holds the score of the report half"
    );

    // The append-only file has every write as it was made: `HSET <key> <field> <value>`, a line for each word.
    let writes: String = all_of(&cluster.redis.directory().join("appendonlydir"))
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert!(writes.contains(REWARD), "the reward half's score was written");
    let lines: Vec<&str> = writes.lines().collect();
    let places: Vec<usize> = (0..lines.len())
        .filter(|&line| lines[line].contains(CANARY))
        .collect();
    assert_eq!(places.len(), 1, "the report half's score was written once");
    let command = &lines[places[0] - 6..places[0]];
    assert!(
        command.contains(&"HSET") && command.iter().any(|word| word.ends_with(":report")),
        "it was written to the report: {command:?}"
    );
}
