//! Likelihoods and distances of physical quantities.

use std::collections::{HashMap, HashSet};

use journeyman_metrics::sum;

use crate::{
    align::{Ids, Side, by_position, exact_columns, key, key_set, same_length, sorted, wrong_ids},
    frame::{Column, Frame, Value},
    python,
    refusal::{Refusal, refuse},
    score::Score,
};

/// Mean modified Laplace log-likelihood over the last three weeks of each patient; a part of the rows is accepted.
pub(super) fn fibrosis(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const LEAST_SD: f64 = 70.0;
    const LARGEST_ERROR: f64 = 1000.0;
    let id = "Patient_Week";
    let (mut submission, mut answers) = (
        Side::new("submission", submission).sorted_by(id)?,
        Side::new("answers", answers).sorted_by(id)?,
    );
    let (ids, true_ids) = (submission.column(id)?, answers.column(id)?);
    let (Some(given), Some(known)) = (key_set(ids), key_set(true_ids)) else {
        return Err(wrong_ids(id));
    };
    if !given.is_subset(&known) {
        return Err(wrong_ids(id));
    }
    let last = last_weeks(answers.frame)?;
    let last_ids: HashSet<_> = last.iter().map(|&row| key(true_ids.value(row))).collect();
    submission.filter(|row| last_ids.contains(&key(ids.value(row))));
    let given: HashSet<_> = submission.rows.iter().map(|&row| key(ids.value(row))).collect();
    answers.filter(|row| last.contains(&row) && given.contains(&key(true_ids.value(row))));

    let truth = answers.numbers("FVC")?;
    let predicted = submission.numbers("FVC")?;
    let confidence = submission.numbers("Confidence")?;
    // numpy stretches a single row over all others.
    if truth.len() != predicted.len() && truth.len() != 1 && predicted.len() != 1 {
        return refuse("a Patient_Week occurs more than once; write each once");
    }
    let at = |values: &[f64], row: usize| values[if values.len() == 1 { 0 } else { row }];
    let scores: Vec<f64> = (0..truth.len().max(predicted.len()))
        .map(|row| {
            let confidence = at(&confidence, row);
            let sd = if confidence.is_nan() {
                LEAST_SD
            } else {
                confidence.max(LEAST_SD)
            };
            let error = (at(&truth, row) - at(&predicted, row)).abs();
            // NaN stays NaN, as in numpy.
            let delta = if error > LARGEST_ERROR {
                LARGEST_ERROR
            } else {
                error
            };
            -std::f64::consts::SQRT_2 * delta / sd - (std::f64::consts::SQRT_2 * sd).ln()
        })
        .collect();
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// The rows of the three latest weeks of each patient among those with a measurement.
fn last_weeks(answers: &Frame) -> Result<HashSet<usize>, Refusal> {
    let side = Side::new("answers", answers);
    let measured = side.numbers("FVC")?;
    let patients = side.strings("Patient")?;
    let mut weeks: Vec<(i128, usize)> = Vec::new();
    for (row, id) in side.strings("Patient_Week")?.iter().enumerate() {
        let Some(week) = id.rsplit('_').next().and_then(python::int) else {
            return refuse("the answers have a Patient_Week that does not end in a week");
        };
        if !measured[row].is_nan() {
            weeks.push((week, row));
        }
    }
    weeks.sort_by_key(|(week, _)| *week);
    let mut by_patient: HashMap<&str, Vec<usize>> = HashMap::new();
    for (_, row) in weeks {
        by_patient.entry(&patients[row]).or_default().push(row);
    }
    Ok(by_patient
        .into_values()
        .flat_map(|rows| rows.into_iter().rev().take(3))
        .collect())
}

/// Mean angle between true and predicted directions, in radians.
pub(super) fn neutrinos(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    exact_columns(submission, &["event_id", "azimuth", "zenith"])?;
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "event_id", Ids::SameSet)?;
    let angles = |side: &Side| -> Result<[Vec<f64>; 2], Refusal> {
        for name in ["azimuth", "zenith"] {
            if matches!(side.column(name)?, Column::Booleans(_)) {
                return refuse(format!("the column `{name}` must hold angles"));
            }
        }
        Ok([side.numbers("azimuth")?, side.numbers("zenith")?])
    };
    let ([azimuth, zenith], [true_azimuth, true_zenith]) = (angles(&submission)?, angles(&answers)?);
    if azimuth.iter().chain(&zenith).any(|angle| !angle.is_finite()) {
        return refuse("an angle is missing or infinite; write radians in every row");
    }
    let distances: Vec<f64> = (0..azimuth.len())
        .map(|row| {
            let (sa1, ca1) = true_azimuth[row].sin_cos();
            let (sz1, cz1) = true_zenith[row].sin_cos();
            let (sa2, ca2) = azimuth[row].sin_cos();
            let (sz2, cz2) = zenith[row].sin_cos();
            let product = sz1 * sz2 * (ca1 * ca2 + sa1 * sa2) + (cz1 * cz2);
            product.clamp(-1.0, 1.0).acos().abs()
        })
        .collect();
    Ok(Score::Numpy(sum::mean(&distances)))
}

/// Mean over trips of the mean of median and 95th percentile of the distance in metres; rows of a trip are matched by
/// place.
pub(super) fn smartphones(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = by_position(submission, answers);
    submission.column("UnixTimeMillis")?;
    let degrees = |side: &Side| -> Result<[Vec<f64>; 2], Refusal> {
        Ok([
            side.numbers("LatitudeDegrees")?,
            side.numbers("LongitudeDegrees")?,
        ])
    };
    let (predicted, truth) = (degrees(&submission)?, degrees(&answers)?);
    let (trips, true_trips) = (rows_of(&submission, "tripId")?, rows_of(&answers, "tripId")?);
    let mut scores = Vec::new();
    for (trip, true_rows) in &true_trips.in_order {
        let rows = trips.find(trip).unwrap_or_default();
        if rows.len() != true_rows.len() {
            return refuse(
                "a trip has more or fewer rows than the test set; copy tripId from the sample submission",
            );
        }
        let mut distances: Vec<f64> = rows
            .iter()
            .zip(true_rows)
            .map(|(&a, &b)| haversine([predicted[0][a], predicted[1][a]], [truth[0][b], truth[1][b]]))
            .collect();
        scores.push(if distances.iter().any(|distance| distance.is_nan()) {
            f64::NAN
        } else {
            distances.sort_by(f64::total_cmp);
            (quantile(&distances, 0.5) + quantile(&distances, 0.95)) / 2.0
        });
    }
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Rows of each value of a column, in the order of first occurrence.
struct Groups<'a> {
    in_order: Vec<(Value<'a>, Vec<usize>)>,
    places: HashMap<String, usize>,
}

impl Groups<'_> {
    fn find(&self, value: &Value) -> Option<&[usize]> {
        let place = self.places.get(&value.text())?;
        Some(&self.in_order[*place].1)
    }
}

fn rows_of<'a>(side: &Side<'a>, name: &str) -> Result<Groups<'a>, Refusal> {
    let mut groups = Groups {
        in_order: Vec::new(),
        places: HashMap::new(),
    };
    for (row, value) in side.values(name)?.enumerate() {
        let place = *groups.places.entry(value.text()).or_insert(groups.in_order.len());
        if place == groups.in_order.len() {
            groups.in_order.push((value, Vec::new()));
        }
        groups.in_order[place].1.push(row);
    }
    Ok(groups)
}

/// Great-circle distance in metres of two points given as latitude and longitude in degrees.
fn haversine(from: [f64; 2], to: [f64; 2]) -> f64 {
    const RADIUS_M: f64 = 6_371_000.0;
    let radians = |degrees: f64| degrees * (std::f64::consts::PI / 180.0);
    let [[lat1, lng1], [lat2, lng2]] = [from, to].map(|point| point.map(radians));
    let square = |x: f64| x * x;
    let a =
        square(((lat2 - lat1) / 2.0).sin()) + lat1.cos() * lat2.cos() * square(((lng2 - lng1) / 2.0).sin());
    2.0 * RADIUS_M * a.sqrt().asin()
}

/// Quantile `q` of sorted values, interpolated as numpy does by default.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let (below, t) = (place.floor(), place.fract());
    let low = sorted[below as usize];
    let high = sorted[(below as usize + 1).min(sorted.len() - 1)];
    let difference = high - low;
    if t >= 0.5 {
        high - difference * (1.0 - t)
    } else {
        low + difference * t
    }
}
