//! A task and a submission to measure with, made by chance but always the same.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::Context;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Area under the ROC curve.
    Auc,
    /// Root of the mean squared error.
    Rmse,
}

impl Metric {
    /// The word in `task.toml`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Metric::Auc => "auc",
            Metric::Rmse => "rmse",
        }
    }
}

impl Metric {
    /// A competition of MLE-bench with this metric.
    pub(super) fn competition(self) -> &'static str {
        match self {
            Metric::Auc => "aerial-cactus-identification",
            Metric::Rmse => "new-york-city-taxi-fare-prediction",
        }
    }

    /// The competition's id column and target column, which the task has too.
    pub(super) fn columns(self) -> (&'static str, &'static str) {
        match self {
            Metric::Auc => ("id", "has_cactus"),
            Metric::Rmse => ("key", "fare_amount"),
        }
    }
}

/// Writes the task directory `dir` with `rows` test rows, and `dir/submission.csv`: whole numbers as ids, in order, and
/// predictions with 16 or 17 digits, as `to_csv` of a float column writes them.
pub(super) fn write_task(dir: &Path, metric: Metric, rows: usize) -> anyhow::Result<()> {
    let mut random = Random(rows as u64);
    let (id_column, target) = metric.columns();
    let header = format!("{id_column},{target}\n");
    let [mut answers, mut submission, mut sample] = [header.clone(), header.clone(), header];
    let mut halves = format!("{id_column},half\n");
    for id in 0..rows {
        let noise = random.next();
        match metric {
            Metric::Auc => {
                let yes = random.next() < 0.4;
                let p = if yes { noise.sqrt() } else { noise };
                writeln!(answers, "{id},{}", u8::from(yes))?;
                writeln!(submission, "{id},{p}")?;
            }
            Metric::Rmse => {
                let y = 1000.0 * random.next();
                writeln!(answers, "{id},{y}")?;
                writeln!(submission, "{id},{}", y + 100.0 * (noise - 0.5))?;
            }
        }
        writeln!(sample, "{id},0.5")?;
        writeln!(halves, "{id},{}", if id % 2 == 0 { "reward" } else { "report" })?;
    }
    let (lower, worst, best) = match metric {
        Metric::Auc => (false, 0.5, 1.0),
        Metric::Rmse => (true, 1000.0, 0.0),
    };
    let definition = format!(
        "id = \"measured\"\nname = \"Measured\"\nmetric = \"{}\"\nlower_is_better = {lower}\n\
         id_column = \"{id_column}\"\ntarget_columns = [\"{target}\"]\nreference = {{ worst = {worst:?}, best = {best:?} }}\n\
         limits = {{ program_s = 60.0, grade_s = 60.0 }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\n\
         file = \"\"\nlicence = \"\"\norigin = \"\"\n",
        metric.as_str()
    );
    for (name, text) in [
        ("prepared/task.toml", definition),
        ("prepared/public/sample_submission.csv", sample),
        ("prepared/private/answers.csv", answers),
        ("prepared/private/halves.csv", halves),
        ("submission.csv", submission),
    ] {
        let path = dir.join(name);
        let folder = path.parent().context("it has a folder")?;
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("`{}` can't be written", path.display()))?;
    }
    Ok(())
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}
