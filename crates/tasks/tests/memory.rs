//! Grading takes no more memory than `GradingTask::memory_bytes` says beforehand, whatever the submission.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use journeyman_tasks::grading::GradingTask;

/// Counts what is held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[expect(
    unsafe_code,
    reason = "an allocator is unsafe; this one hands all to the system's"
)]
// SAFETY: every call is the system allocator's; the counters don't touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as asked of us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as asked of us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ROWS: usize = 20_000;

/// A task with one target, or with four classes.
fn task(dir: &Path, metric: &str, answer: impl Fn(usize) -> String) -> GradingTask {
    let lower = ["rmse", "rmsle", "mae", "log_loss"].contains(&metric);
    let (worst, best) = if lower { (9.0, 0.0) } else { (0.0, 1.0) };
    let wide = metric == "log_loss" || metric == "auc_mean";
    let targets = if wide {
        "\"p\", \"q\", \"r\", \"s\""
    } else {
        "\"p\""
    };
    let classes = if ["accuracy", "map_at_5"].contains(&metric) {
        "classes = [\"0\", \"1\", \"2\", \"3\"]\n"
    } else {
        ""
    };
    let definition = format!(
        "id = \"m\"\nname = \"m\"\nmetric = \"{metric}\"\nlower_is_better = {lower}\nid_column = \"id\"\n\
         target_columns = [{targets}]\n{classes}reference = {{ worst = {worst:?}, best = {best:?} }}\n\
         limits = {{ program_s = 1.0, grade_s = 1.0 }}\n[source]\npackage = \"\"\nversion = \"\"\nsha256 = \"\"\n\
         file = \"\"\nlicence = \"\"\norigin = \"\"\n"
    );
    let header = if wide { "id,p,q,r,s\n" } else { "id,p\n" };
    let table = |row: &dyn Fn(usize) -> String| -> String {
        let rows = (0..ROWS).map(|id| format!("{id},{}\n", row(id)));
        std::iter::once(header.to_owned()).chain(rows).collect()
    };
    let half = |id: usize| if id.is_multiple_of(2) { "reward" } else { "report" };
    let halves: String = (0..ROWS).map(|id| format!("{id},{}\n", half(id))).collect();
    for (name, text) in [
        ("task.toml", definition),
        ("public/sample_submission.csv", table(&answer)),
        ("private/answers.csv", table(&answer)),
        ("private/halves.csv", format!("id,half\n{halves}")),
    ] {
        let path = dir.join("prepared").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    GradingTask::load(dir).unwrap()
}

/// What grading holds at most beside the task, the text included.
fn peak(task: &GradingTask, csv: &[u8]) -> u64 {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let csv = csv.to_vec();
    // Valid or not, it takes memory.
    let _graded = task.grade(&csv);
    (PEAK.load(Ordering::Relaxed) - before) as u64
}

#[test]
fn grading_holds_no_more_memory_than_is_said_beforehand() {
    let one_of_four = |id: usize| {
        (0..4)
            .map(|class| u8::from(class == id % 4).to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let number = |id: usize| format!("{}", (id / 2) % 2);
    for metric in [
        "accuracy", "auc", "auc_mean", "map_at_5", "pearson", "rmse", "rmsle", "mae", "log_loss",
    ] {
        let home = tempfile::tempdir().unwrap();
        let wide = metric == "log_loss" || metric == "auc_mean";
        let row = |id: usize| if wide { one_of_four(id / 2) } else { number(id) };
        let task = task(&home.path().join("m"), metric, row);
        let header = if wide { "id,p,q,r,s\n" } else { "id,p\n" };
        let good: String = (0..ROWS).map(|id| format!("{id},{}\n", row(id))).collect();
        let shuffled: String = (0..ROWS)
            .rev()
            .map(|id| format!("\"{id}\",{}\n", row(id)))
            .collect();
        for body in [
            good,
            shuffled,
            ",".repeat(1 << 20),
            "\n".repeat(1 << 20),
            "\"\"".repeat(1 << 19),
            "\"".repeat((1 << 20) + 1),
            format!("0,{}\n", "1 ".repeat(1 << 19)),
            "0,1\n".repeat(1 << 18),
            "é,è\n".repeat(1 << 17),
        ] {
            let csv = format!("{header}{body}");
            let (most, taken) = (task.memory_bytes(csv.len() as u64), peak(&task, csv.as_bytes()));
            let start: String = body.chars().take(20).collect();
            assert!(
                taken <= most,
                "{metric}, {start:?}: {taken} bytes, said were {most}"
            );
        }
    }
}
