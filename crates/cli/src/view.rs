//! The live view of a run: bars on a terminal, plain lines elsewhere.

use std::{collections::BTreeMap, io::IsTerminal, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use journeyman_schemas::{ids::RunId, run::StepMetrics};
use journeyman_store::{ServiceStatus, Store};

use crate::status::sentence;

/// Between two looks.
const POLL: Duration = Duration::from_millis(500);

/// Shows a run until it is dropped.
pub(crate) async fn watch(store: Store, run: RunId) {
    let mut view: Box<dyn View> = if std::io::stderr().is_terminal() {
        Box::new(Bars::new())
    } else {
        Box::new(Lines::default())
    };
    loop {
        // A look that fails (a server restarts) is skipped; the next one shows where things stand.
        if let (Ok(progress), Ok(services)) = (store.progress(&run).await, store.services().await) {
            view.show(progress, &services);
        }
        tokio::time::sleep(POLL).await;
    }
}

type Progress = journeyman_schemas::run::RunProgress;

trait View: Send {
    fn show(&mut self, progress: Option<Progress>, services: &[ServiceStatus]);
}

/// A line per change of step or phase.
#[derive(Default)]
struct Lines {
    last: Option<(u64, String)>,
}

impl View for Lines {
    fn show(&mut self, progress: Option<Progress>, _services: &[ServiceStatus]) {
        let Some(progress) = progress else { return };
        let now = (progress.step, format!("{:?}", progress.phase));
        let step_done = self.last.as_ref().is_some_and(|last| last.0 < progress.step);
        if let (true, Some(step)) = (step_done, &progress.last) {
            println!("{}", step_sentence(step));
        }
        if self.last.as_ref() != Some(&now) {
            println!("{}", sentence(&progress));
            self.last = Some(now);
        }
    }
}

/// Bars for steps and rollouts, a line per service.
struct Bars {
    all: MultiProgress,
    steps: ProgressBar,
    rollouts: ProgressBar,
    last_step: ProgressBar,
    services: BTreeMap<String, ProgressBar>,
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::new();
        let bar = |template: &str| {
            let bar = all.add(ProgressBar::new(1));
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        };
        Self {
            steps: bar("steps    [{bar:32}] {pos}/{len}  {elapsed_precise}  {msg}"),
            rollouts: bar("rollouts [{bar:32}] {pos}/{len}  {msg}"),
            last_step: bar("{msg}"),
            services: BTreeMap::new(),
            all: all.clone(),
        }
    }
}

impl View for Bars {
    fn show(&mut self, progress: Option<Progress>, services: &[ServiceStatus]) {
        if let Some(progress) = progress {
            self.steps.set_length(progress.steps);
            self.steps.set_position(progress.step);
            self.steps
                .set_message(format!("{} on {}", progress.run, progress.task));
            self.rollouts.set_length(progress.rollouts);
            self.rollouts.set_position(progress.rollouts_done);
            self.rollouts
                .set_message(format!("groups {}/{}", progress.groups_done, progress.groups));
            if let Some(step) = &progress.last {
                self.last_step.set_message(step_sentence(step));
            }
        }
        for service in services {
            let line = self
                .services
                .entry(format!("{}/{}", service.service, service.instance))
                .or_insert_with(|| {
                    let line = self.all.add(ProgressBar::new(1));
                    if let Ok(style) = ProgressStyle::with_template("  {msg}") {
                        line.set_style(style);
                    }
                    line
                });
            let name = service.service.trim_start_matches("journeyman-");
            let numbers: Vec<String> = service
                .numbers
                .iter()
                .map(|(name, value)| format!("{} {value:.1}", name.replace('_', " ")))
                .collect();
            line.set_message(format!(
                "{name:<13} {:>3} busy {:>5} done  {}  {}",
                service.busy,
                service.done,
                service.doing,
                numbers.join(", ")
            ));
        }
    }
}

/// A step, in a sentence.
fn step_sentence(step: &StepMetrics) -> String {
    let score = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    format!(
        "step {}: {} rollouts, valid {:.2}, score mean {} best {}, {:.0} tokens/s, {:.0} s",
        step.step,
        step.rollouts,
        step.valid_share,
        score(step.score_mean),
        score(step.score_best),
        step.tokens as f64 / step.seconds.max(1e-9),
        step.seconds
    )
}
