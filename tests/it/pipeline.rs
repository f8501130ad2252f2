//! From a completion to a reward, through real services; and the same while each of them, NATS and Redis are killed.

use journeyman_schemas::{
    event::GroupState,
    execution::{NotRun, Verdict},
    reward::{EndOutcome, Rewarded},
};
use journeyman_tests::Pipeline;

/// Trains a quick model and saves probabilities.
const GOOD: &str = "Here it is.\n```python
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

train = pd.read_csv('data/train.csv')
test = pd.read_csv('data/test.csv')
target = [column for column in train.columns if column not in test.columns][0]
X = pd.get_dummies(train.drop(columns=[target, 'id']))
X_test = pd.get_dummies(test.drop(columns=['id'])).reindex(columns=X.columns, fill_value=0)
model = RandomForestClassifier(n_estimators=50, random_state=0)
model.fit(X, train[target])
predictions = model.predict_proba(X_test)[:, 1]
sample = pd.read_csv('data/sample_submission.csv')
sample[sample.columns[1]] = predictions
sample.to_csv('submission.csv', index=False)
```";

/// Reads the data, then fails.
const CRASH: &str =
    "```python\nimport pandas as pd\ntrain = pd.read_csv('data/train.csv')\nraise ValueError('no')\n```";

/// Prints what a marker might look like and writes nothing.
const FORGER: &str = "```python\nfor word in ['trained_model', 'predicted']:\n    print('0' * 32, word)\n```";

/// Is not Python.
const SYNTAX: &str = "```python\ndef broken(:\n```";

fn rewarded(end: &Option<journeyman_schemas::reward::RolloutEnd>) -> &Rewarded {
    match end.as_ref().map(|end| &end.outcome) {
        Some(EndOutcome::Rewarded(rewarded)) => rewarded,
        other => panic!("no reward: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_completion_gets_the_reward_it_earned() {
    let scripts = [GOOD, CRASH, FORGER, SYNTAX, "I can't."];
    let pipeline = Pipeline::start(move |sample| scripts[sample as usize].to_owned())
        .await
        .unwrap();
    pipeline.dispatch(0, 5).await.unwrap();
    let record = pipeline.ended(0).await.unwrap();
    assert_eq!(record.state, GroupState::Complete);

    let good = rewarded(&record.ends[0]);
    let score = good
        .reward
        .score
        .unwrap_or_else(|| panic!("invalid: {:?}", good.reward));
    assert!(score > 0.85, "{score}");
    assert_eq!((good.reward.markers, good.verdict), (6, Some(Verdict::Ok)));
    assert!((good.reward.total - (score + 0.6)).abs() < 1e-9);
    assert!(good.wall_s > 0.0 && good.cpu_s > 0.0);

    let crash = rewarded(&record.ends[1]);
    assert_eq!(
        (crash.reward.valid, crash.reward.markers, crash.verdict),
        (false, 2, Some(Verdict::Error))
    );
    assert!((crash.reward.total - (-10.0 + 0.2)).abs() < 1e-9);

    assert_eq!(rewarded(&record.ends[2]).reward.markers, 0);
    assert_eq!(rewarded(&record.ends[3]).not_run, Some(NotRun::SyntaxError));
    assert_eq!(rewarded(&record.ends[4]).not_run, Some(NotRun::NoProgram));

    // The best program is there to be improved, and the report half is apart from everything above.
    let archive = pipeline
        .store
        .archive(&pipeline.run, &"mlc-churn".parse().unwrap(), 8)
        .await
        .unwrap();
    assert_eq!(archive.len(), 1);
    assert_eq!(archive[0].solution.score, Some(score));
    let report = pipeline.store.report(&pipeline.run).await.unwrap();
    assert_eq!(report.len(), 1);
    assert!(
        !serde_json::to_string(&record.ends[0])
            .unwrap()
            .contains(&report[0].1.to_string())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn run_ends_with_each_reward_counted_once_whatever_is_killed() {
    use journeyman_tests::Part;

    const GROUPS: u64 = 7;
    const SIZE: u32 = 4;
    let mut pipeline = Pipeline::start(|_| CRASH.to_owned()).await.unwrap();
    for group in 0..GROUPS {
        pipeline.dispatch(group, SIZE).await.unwrap();
    }
    for part in Part::ALL {
        pipeline.replace(part).await.unwrap();
    }
    pipeline.nats.kill9();
    pipeline.nats.restart().unwrap();
    pipeline.redis.kill9();
    pipeline.redis.restart().unwrap();
    for part in Part::ALL.into_iter().rev() {
        pipeline.replace(part).await.unwrap();
    }
    for group in 0..GROUPS {
        let record = pipeline.ended(group).await.unwrap();
        assert_eq!(record.state, GroupState::Complete, "group {group}");
        for end in &record.ends {
            assert_eq!(rewarded(end).reward.markers, 2);
        }
    }
    let counters = pipeline.store.counters(&pipeline.run).await.unwrap();
    assert_eq!(counters.accepted, GROUPS * u64::from(SIZE), "{counters:?}");
    assert_eq!(
        (counters.conflicts, counters.expired, counters.unknown),
        (0, 0, 0),
        "{counters:?}"
    );
}
