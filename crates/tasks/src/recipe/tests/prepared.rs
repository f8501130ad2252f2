//! The built-in tasks as they lie on this machine; `journeyman tasks prepare --all` makes them, `make test` does it.

use journeyman_schemas::home;

use super::*;
use crate::lint;

/// Programs of the ladder whose scores are checked again: the quick ones.
const MOST_CPU_S: f64 = 2.5;

fn dir(recipe: &Recipe) -> PathBuf {
    let dir = home::tasks().join(recipe.id);
    assert!(
        is_up_to_date(&dir.join("prepared"), recipe),
        "task {0} is not prepared, or from an older recipe: run `journeyman tasks prepare {0}`",
        recipe.id
    );
    dir
}

#[test]
fn every_built_in_task_is_free_of_findings() {
    for recipe in RECIPES {
        let findings = lint::lint(&dir(recipe)).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}: {lines:#?}", recipe.id);
    }
}

#[test]
fn sample_submission_scores_the_worst_of_the_scale() {
    for recipe in RECIPES {
        let dir = dir(recipe);
        let task = GradingTask::load(&dir).unwrap();
        let sample = fs::read(dir.join("prepared/public/sample_submission.csv")).unwrap();
        let (score, worst) = (
            task.grade(&sample).unwrap().reward_half,
            task.definition().reference.worst,
        );
        assert!((score - worst).abs() < 1e-5, "{}: {score} and {worst}", recipe.id);
    }
}

/// The scores in `task.toml` are scikit-learn's, so this compares the grader with it on real submissions.
#[test]
fn quick_programs_of_the_ladders_score_what_scikit_learn_measured() {
    let mut checked = 0;
    for recipe in RECIPES {
        let dir = dir(recipe);
        let task = GradingTask::load(&dir).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tasks")
            .join(recipe.id);
        let quick = task
            .definition()
            .ladder
            .iter()
            .filter(|rung| rung.cpu_s < MOST_CPU_S);
        for rung in quick {
            let work = tempfile::tempdir().unwrap();
            std::os::unix::fs::symlink(dir.join("prepared/public"), work.path().join("data")).unwrap();
            let status = Command::new(home::python())
                .args(["-W", "ignore"])
                .arg(fs::canonicalize(folder.join(&rung.program)).unwrap())
                .current_dir(work.path())
                .env("OMP_NUM_THREADS", "1")
                .env("OPENBLAS_NUM_THREADS", "1")
                .status()
                .unwrap();
            assert!(status.success(), "{} {}", recipe.id, rung.name);
            let submission = fs::read(work.path().join("submission.csv")).unwrap();
            let graded = task.grade(&submission).unwrap();
            for (found, wanted) in [
                (graded.reward_half, rung.reward),
                (graded.report_half, rung.report),
            ] {
                // Linear algebra differs a little from processor to processor.
                let allowed = 1e-5 + 2e-4 * wanted.abs();
                assert!(
                    (found - wanted).abs() < allowed,
                    "{} {}: {found} for {wanted}",
                    recipe.id,
                    rung.name
                );
            }
            checked += 1;
        }
    }
    assert!(
        checked >= RECIPES.len(),
        "at least each baseline is quick: {checked}"
    );
}
