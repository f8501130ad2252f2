//! Pixel masks in run-length encoding, compared without drawing them.

use journeyman_metrics::sum;

use crate::{
    align::{Ids, Side, exact_columns, same_length, sorted},
    frame::{Frame, Value},
    python,
    refusal::{Refusal, refuse},
    score::Score,
};

/// Runs of set pixels, from low to high, apart from each other: first pixel (from 0) and the one after the last.
#[derive(Debug, PartialEq)]
struct Mask(Vec<(u64, u64)>);

impl Mask {
    /// Decodes `start length start length …`, starts from 1, sorted and without overlap, on an image of `pixels`.
    ///
    /// What lies beyond the image is cut. As in numpy, one start without a length is no run, and two starts share a
    /// single length.
    fn decode(text: &str, pixels: u64) -> Result<Self, Refusal> {
        let wrong = || {
            Refusal::new(
                "a mask is not `start length start length …` with whole numbers from 1, starts from low to high and \
                 no overlap",
            )
        };
        let numbers = python::split(text)
            .map(|word| {
                python::int(word)
                    .and_then(|number| u64::try_from(number).ok())
                    .filter(|number| *number > 0)
            })
            .collect::<Option<Vec<u64>>>()
            .ok_or_else(wrong)?;
        let starts: Vec<u64> = numbers.iter().step_by(2).copied().collect();
        let mut lengths: Vec<u64> = numbers.iter().skip(1).step_by(2).copied().collect();
        match (starts.len(), lengths.len()) {
            (a, b) if a == b => {}
            (1, 0) => return Ok(Self(Vec::new())),
            (2, 1) => lengths.push(lengths[0]),
            _ => return Err(wrong()),
        }
        let mut runs: Vec<(u64, u64)> = Vec::with_capacity(starts.len());
        let (mut last_start, mut last_end) = (0, 0);
        for (start, length) in starts.into_iter().zip(lengths) {
            let (low, high) = (
                (start - 1).min(pixels),
                (start - 1).saturating_add(length).min(pixels),
            );
            if start < last_start || (low < last_end && low < high) {
                return Err(wrong());
            }
            (last_start, last_end) = (start, last_end.max(high));
            if low < high {
                runs.push((low, high));
            }
        }
        Ok(Self(runs))
    }

    fn area(&self) -> u64 {
        self.0.iter().map(|(low, high)| high - low).sum()
    }

    fn overlap(&self, other: &Self) -> u64 {
        let (mut i, mut j, mut common) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            common += a.1.min(b.1).saturating_sub(a.0.max(b.0));
            if a.1 < b.1 {
                i += 1;
            } else {
                j += 1;
            }
        }
        common
    }
}

/// A mask's text; a missing one is empty.
fn mask_text<'a>(value: Value<'a>, name: &str) -> Result<&'a str, Refusal> {
    match value {
        Value::Text(text) => Ok(text),
        value if value.is_missing() => Ok(""),
        _ => refuse(format!(
            "the column `{name}` must hold masks as texts of pairs of numbers"
        )),
    }
}

/// Mean Dice of images; two empty masks count 1.
pub(super) fn kidneys(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::SameSet)?;
    let (heights, widths) = (
        answers.numbers("height_pixels")?,
        answers.numbers("width_pixels")?,
    );
    let mut scores = Vec::new();
    for ((predicted, truth), (height, width)) in submission
        .values("predicted")?
        .zip(answers.values("encoding")?)
        .zip(heights.iter().zip(&widths))
    {
        let pixels = (height * width) as u64;
        let predicted = Mask::decode(mask_text(predicted, "predicted")?, pixels)?;
        let truth = Mask::decode(mask_text(truth, "encoding")?, pixels)?;
        let both = predicted.area() + truth.area();
        scores.push(if both == 0 {
            1.0
        } else {
            2.0 * predicted.overlap(&truth) as f64 / both as f64
        });
    }
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Dice of all images' pixels together; `-` is an empty mask, a missing one is refused.
pub(super) fn contrails(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "record_id", Ids::Equal)?;
    let (heights, widths) = (answers.numbers("height")?, answers.numbers("width")?);
    let text = |value| match value {
        Value::Text("-") => Ok(""),
        Value::Text(text) => Ok(text),
        _ => refuse("the column `encoded_pixels` must hold a mask in every row; write `-` for an empty one"),
    };
    let (mut common, mut both) = (0, 0);
    for ((predicted, truth), (height, width)) in submission
        .values("encoded_pixels")?
        .zip(answers.values("encoded_pixels")?)
        .zip(heights.iter().zip(&widths))
    {
        let pixels = (height * width) as u64;
        let predicted = Mask::decode(text(predicted)?, pixels)?;
        let truth = Mask::decode(text(truth)?, pixels)?;
        common += predicted.overlap(&truth);
        both += predicted.area() + truth.area();
    }
    if both == 0 {
        return refuse("all masks are empty on both sides");
    }
    Ok(Score::Numpy(2.0 * common as f64 / both as f64))
}

/// Mean over images of the mean over ten thresholds of whether the overlap is large enough.
pub(super) fn salt(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const PIXELS: u64 = 101 * 101;
    exact_columns(submission, &["id", "rle_mask"])?;
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    if !submission.values("id")?.all(|id| matches!(id, Value::Text(_))) {
        return refuse("the column `id` must hold texts");
    }
    let mut scores = Vec::new();
    for (predicted, truth) in submission.values("rle_mask")?.zip(answers.values("rle_mask")?) {
        let predicted = Mask::decode(mask_text(predicted, "rle_mask")?, PIXELS)?;
        let truth = Mask::decode(mask_text(truth, "rle_mask")?, PIXELS)?;
        scores.push(match (truth.area(), predicted.area()) {
            (0, 0) => 1.0,
            (0, _) => 0.0,
            // The grader's histogram takes an empty prediction for a full one.
            (area, 0) => share_of_thresholds(area as f64 / PIXELS as f64),
            (area, predicted_area) => {
                let common = truth.overlap(&predicted);
                share_of_thresholds(common as f64 / (area + predicted_area - common) as f64)
            }
        });
    }
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Share of the thresholds 0.50, 0.55 … 0.95 that `iou` is above.
fn share_of_thresholds(iou: f64) -> f64 {
    // numpy's arange multiplies by the difference of its first two values.
    let step = (0.5 + 0.05) - 0.5;
    let passed: Vec<f64> = (0..10)
        .map(|place| f64::from(u8::from(iou > 0.5 + f64::from(place) * step)))
        .collect();
    sum::mean(&passed)
}

/// Mean over fragments of F0.5 of pixels; rows must be in the order of the answers.
pub(super) fn ink(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    const BETA_SQUARED: f64 = 0.25;
    exact_columns(submission, &["Id", "Predicted"])?;
    same_length(submission, answers)?;
    let (submission, answers) = (Side::new("submission", submission), Side::new("answers", answers));
    if !submission
        .values("Id")?
        .zip(answers.values("Id")?)
        .all(|(a, b)| crate::align::equal(a, b))
    {
        return refuse("the column `Id` must have the ids of the sample submission in its order");
    }
    let (heights, widths) = (answers.numbers("height")?, answers.numbers("width")?);
    let mut scores = Vec::new();
    for ((predicted, truth), (height, width)) in submission
        .values("Predicted")?
        .zip(answers.values("Predicted")?)
        .zip(heights.iter().zip(&widths))
    {
        let (Value::Text(predicted), Value::Text(truth)) = (predicted, truth) else {
            return refuse("the column `Predicted` must hold a mask as text in every row");
        };
        let pixels = (height.trunc() * width.trunc()) as u64;
        let (predicted, truth) = (Mask::decode(predicted, pixels)?, Mask::decode(truth, pixels)?);
        let weighted = BETA_SQUARED * truth.area() as f64 + predicted.area() as f64;
        scores.push(if weighted == 0.0 {
            0.0
        } else {
            (1.0 + BETA_SQUARED) * predicted.overlap(&truth) as f64 / weighted
        });
    }
    Ok(Score::Numpy(sum::mean(&scores)))
}
