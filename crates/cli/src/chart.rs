//! A run as a table, as a chart in the terminal, and as an SVG.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context, Result, anyhow};
use journeyman_schemas::run::StepMetrics;
use plotters::prelude::*;
use textplots::{Chart, Plot, Shape};

/// Pixels of the SVG.
const SIZE: (u32, u32) = (900, 420);
/// Dots of the terminal's chart.
const DOTS: (u32, u32) = (120, 40);

/// `journeyman chart`: table and chart of a `metrics.jsonl`, and the SVG beside it.
pub(crate) fn run(metrics: &Path) -> Result<ExitCode> {
    show(metrics)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints table and chart, writes `chart.svg` beside the file.
pub(crate) fn show(metrics: &Path) -> Result<()> {
    let steps = read(metrics)?;
    print!("{}", table(&steps));
    if steps.len() > 1 {
        println!("\nvalid share by step (0 to 1)");
        plot(&steps, |step| Some(step.valid_share), 0.0, 1.0);
        let scores: Vec<f64> = steps.iter().filter_map(|step| step.score_mean).collect();
        if let (Some(low), Some(high)) = (
            scores.iter().copied().reduce(f64::min),
            scores.iter().copied().reduce(f64::max),
        ) {
            println!("mean score of valid submissions by step ({low:.3} to {high:.3})");
            let margin = ((high - low) * 0.1).max(1e-3);
            plot(&steps, |step| step.score_mean, low - margin, high + margin);
        }
    }
    let svg = metrics.with_file_name("chart.svg");
    draw(&steps, &svg)?;
    println!("metrics {}\nchart   {}", metrics.display(), svg.display());
    Ok(())
}

fn read(path: &Path) -> Result<Vec<StepMetrics>> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read `{}`", path.display()))?;
    (1..)
        .zip(text.lines())
        .map(|(line, json)| {
            serde_json::from_str(json)
                .with_context(|| format!("`{}`, line {line}, is no step", path.display()))
        })
        .collect()
}

fn table(steps: &[StepMetrics]) -> String {
    let mut text = format!(
        "{:>4} {:>8} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>7}  policy\n",
        "step", "rollouts", "valid", "mean", "best", "reward", "markers", "tokens", "mismatch", "s"
    );
    let score = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    for step in steps {
        text += &format!(
            "{:>4} {:>8} {:>6.2} {:>8} {:>8} {:>8.3} {:>8.2} {:>8} {:>9.1e} {:>7.0}  {}\n",
            step.step,
            step.rollouts,
            step.valid_share,
            score(step.score_mean),
            score(step.score_best),
            step.reward_mean,
            step.markers_mean,
            step.tokens,
            step.mismatch_max,
            step.seconds,
            step.policy.short(),
        );
    }
    text
}

fn points(steps: &[StepMetrics], value: impl Fn(&StepMetrics) -> Option<f64>) -> Vec<(f64, f64)> {
    steps
        .iter()
        .filter_map(|step| Some((step.step as f64, value(step)?)))
        .collect()
}

fn plot(steps: &[StepMetrics], value: impl Fn(&StepMetrics) -> Option<f64>, low: f64, high: f64) {
    let points: Vec<(f32, f32)> = points(steps, value)
        .into_iter()
        .map(|(x, y)| (x as f32, y as f32))
        .collect();
    let last = steps.last().map_or(1, |step| step.step) as f32;
    let line = Shape::Lines(&points);
    Chart::new_with_y_range(DOTS.0, DOTS.1, 1.0, last, low as f32, high as f32)
        .lineplot(&line)
        .nice();
}

/// Two panels: valid share, and mean and best score.
fn draw(steps: &[StepMetrics], path: &Path) -> Result<()> {
    let plain = |error: &dyn std::fmt::Display| anyhow!("can't draw `{}`: {error}", path.display());
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| plain(&error))?;
    let panels = root.split_evenly((1, 2));
    let scores = [
        points(steps, |step| step.score_mean),
        points(steps, |step| step.score_best),
    ];
    let flat: Vec<f64> = scores.iter().flatten().map(|point| point.1).collect();
    let low = flat.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = flat.iter().copied().reduce(f64::max).unwrap_or(1.0);
    let margin = ((high - low) * 0.08).max(1e-3);
    let valid = [("valid share", points(steps, |step| Some(step.valid_share)), BLUE)];
    let [mean, best] = scores;
    let score = [("mean score of valid", mean, RED), ("best score", best, GREEN)];
    panel(&panels[0], "valid share", 0.0..1.05, &valid).map_err(|error| plain(&error))?;
    panel(
        &panels[1],
        "score on the reward half",
        low - margin..high + margin,
        &score,
    )
    .map_err(|error| plain(&error))?;
    root.present().map_err(|error| plain(&error))
}

type Line = (&'static str, Vec<(f64, f64)>, RGBColor);

fn panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, plotters::coord::Shift>,
    title: &str,
    range: std::ops::Range<f64>,
    lines: &[Line],
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let last = lines
        .iter()
        .flat_map(|line| &line.1)
        .map(|point| point.0)
        .fold(2.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(48)
        .build_cartesian_2d(1.0..last, range)?;
    chart
        .configure_mesh()
        .x_desc("step")
        .light_line_style(WHITE)
        .draw()?;
    for (name, points, color) in lines {
        let style = color.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style).point_size(2))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], style));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .draw()
}

#[cfg(test)]
mod tests;
