//! Programs of every shape: parsed with and without markers, and really run both ways.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use journeyman_schemas::execution::Marker;
use ruff_python_ast::Stmt;
use ruff_text_size::Ranged;

use super::{NONCE, nonce, tree};
use crate::{
    insert::{Site, insert},
    instrument::{Proposal, Way, instrument},
    proof::{ProofError, is_future_import, prove},
    sites::bodies,
    tree::parse,
};

struct Sample {
    name: String,
    text: String,
}

impl Sample {
    /// The words after `# <key>:` in one of the first lines.
    fn header(&self, key: &str) -> Option<Vec<Marker>> {
        let prefix = format!("# {key}:");
        let words = self
            .text
            .lines()
            .take(4)
            .find_map(|line| line.strip_prefix(&prefix))?;
        let marker = |word: &str| {
            Marker::ALL
                .into_iter()
                .find(|marker| marker.as_str() == word)
                .unwrap()
        };
        Some(words.split_whitespace().map(marker).collect())
    }

    fn markers(&self) -> Vec<Marker> {
        self.header("markers")
            .unwrap_or_else(|| panic!("{} has no `# markers:` line", self.name))
    }
}

fn corpus(folder: &str) -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let mut samples: Vec<Sample> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| Sample {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            text: std::fs::read_to_string(path).unwrap(),
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

/// The same program with other line endings, and without the last one.
fn variants(text: &str) -> [String; 3] {
    [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.trim_end().to_owned(),
    ]
}

#[test]
fn corpus_gets_the_markers_that_its_headers_tell() {
    let samples: Vec<Sample> = corpus("plain").into_iter().chain(corpus("learn")).collect();
    assert!(samples.len() >= 25, "{} programs", samples.len());
    for sample in samples {
        for text in variants(&sample.text) {
            let result = tree(&text);
            assert_eq!(
                result.markers,
                sample.markers(),
                "{}:\n{}",
                sample.name,
                result.program
            );
        }
    }
}

#[test]
fn marker_after_any_statement_is_proved() {
    let mut places = 0;
    for sample in corpus("plain").into_iter().chain(corpus("learn")) {
        for text in variants(&sample.text) {
            let parsed = parse(&text).unwrap();
            let future_ends = parsed
                .suite()
                .iter()
                .rfind(|statement| is_future_import(statement))
                .map(|it| it.end());
            let mut sites = Vec::new();
            every_statement(parsed.suite(), 0, &mut sites);
            for site in &sites {
                let changed = insert(&text, parsed.tokens(), &[*site], &nonce());
                let early = future_ends.is_some_and(|end| site.statement.end() < end);
                let expected = if early {
                    Err(ProofError::First)
                } else {
                    Ok(vec![site.marker])
                };
                assert_eq!(
                    prove(parsed.syntax(), &changed, &nonce()),
                    expected,
                    "{}:\n{changed}",
                    sample.name
                );
                places += 1;
            }
            if future_ends.is_none() && !sites.is_empty() {
                let changed = insert(&text, parsed.tokens(), &sites, &nonce());
                assert!(
                    prove(parsed.syntax(), &changed, &nonce()).is_ok(),
                    "{}:\n{changed}",
                    sample.name
                );
            }
        }
    }
    assert!(places > 1000, "{places} places");
}

fn every_statement(body: &[Stmt], depth: usize, sites: &mut Vec<Site>) {
    for statement in body {
        sites.push(Site {
            marker: Marker::Predicted,
            statement: statement.range(),
            depth,
        });
        bodies(statement, |inner| every_statement(inner, depth + 1, sites));
    }
}

#[test]
fn any_line_that_a_model_names_is_proved_or_refused() {
    for sample in corpus("plain").into_iter().chain(corpus("learn")) {
        for line in 0..sample.text.lines().count() + 2 {
            let answer = format!("imported: {line}\npredicted: {line}");
            for answer in [answer.as_str(), answer.split_once('\n').unwrap().1] {
                let result =
                    instrument(&sample.text, &Proposal::Answer(answer.to_owned()), &nonce()).unwrap();
                let original = parse(&sample.text).unwrap();
                let markers = prove(original.syntax(), &result.program, &nonce()).unwrap();
                assert_eq!(markers, result.markers, "{} {answer}", sample.name);
            }
        }
    }
}

#[test]
fn plain_corpus_runs_the_same_with_markers() {
    for sample in corpus("plain") {
        for text in variants(&sample.text) {
            runs_the_same(&sample, &text, Path::new("python3"));
        }
    }
}

/// Needs the programs' own Python, which `make setup` installs; without it only the plain corpus runs.
#[test]
fn learning_corpus_runs_the_same_with_markers() {
    let python = python_of_programs();
    if !python.exists() {
        return;
    }
    let samples = corpus("learn");
    std::thread::scope(|scope| {
        for part in samples.chunks(samples.len().div_ceil(2)) {
            let python = &python;
            scope.spawn(move || {
                part.iter()
                    .for_each(|sample| runs_the_same(sample, &sample.text, python))
            });
        }
    });
}

fn python_of_programs() -> PathBuf {
    journeyman_schemas::home::python()
}

/// Output, exit status and submission are those of the original once the marker prints are taken out.
fn runs_the_same(sample: &Sample, text: &str, python: &Path) {
    let instrumented = tree(text);
    assert_eq!(instrumented.way == Way::None, sample.markers().is_empty());
    let directory = tempfile::tempdir().unwrap();
    let (plain, plain_submission) = run(directory.path(), text, python);
    let (marked, marked_submission) = run(directory.path(), &instrumented.program, python);
    let stdout = String::from_utf8(marked.stdout).unwrap();
    assert_eq!(
        without_markers(&stdout),
        String::from_utf8(plain.stdout).unwrap(),
        "{}",
        sample.name
    );
    assert_eq!(
        normal_errors(&marked.stderr),
        normal_errors(&plain.stderr),
        "{}",
        sample.name
    );
    assert_eq!(marked.status.code(), plain.status.code(), "{}", sample.name);
    assert_eq!(marked_submission, plain_submission, "{}", sample.name);

    let mut reached: Vec<Marker> = Marker::ALL
        .into_iter()
        .filter(|marker| stdout.contains(&marker.line(&nonce())))
        .collect();
    reached.sort();
    assert_eq!(
        reached,
        sample.header("reached").unwrap_or_else(|| sample.markers()),
        "{}",
        sample.name
    );
}

fn run(directory: &Path, text: &str, python: &Path) -> (Output, Option<Vec<u8>>) {
    let rows = |from: u32, to: u32, labels: bool| -> String {
        (from..to)
            .map(|n| {
                let label = if labels {
                    format!(",{}", u32::from(n * 7 % 11 > 5))
                } else {
                    String::new()
                };
                format!(
                    "{n},{},{}.5,{}{label}\n",
                    20 + n * 13 % 50,
                    n * 31 % 97,
                    ["a", "b", "c"][n as usize % 3]
                )
            })
            .collect()
    };
    std::fs::write(
        directory.join("train.csv"),
        format!("id,age,charge,plan,target\n{}", rows(0, 90, true)),
    )
    .unwrap();
    std::fs::write(
        directory.join("test.csv"),
        format!("id,age,charge,plan\n{}", rows(90, 120, false)),
    )
    .unwrap();
    std::fs::write(directory.join("program.py"), text).unwrap();
    let output = Command::new(python)
        .args(["-I", "-W", "ignore", "program.py"])
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("OMP_NUM_THREADS", "1")
        .output()
        .unwrap();
    let submission = directory.join("submission.csv");
    let written = std::fs::read(&submission).ok();
    if written.is_some() {
        std::fs::remove_file(submission).unwrap();
    }
    (output, written)
}

/// Marker prints may follow other text on a line, but the nonce is nowhere else.
fn without_markers(stdout: &str) -> String {
    let mut text = stdout.to_owned();
    for marker in Marker::ALL {
        text = text.replace(&format!("{}\n", marker.line(&nonce())), "");
    }
    assert!(!text.contains(NONCE));
    text
}

/// Tracebacks without line numbers, which count the added lines.
fn normal_errors(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr).into_owned();
    let mut parts = text.split(", line ");
    let mut normal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        normal.push_str(", line ");
        normal.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    normal
}
