//! Distances and overlaps of texts and sequences.

use std::collections::{HashMap, HashSet};

use journeyman_metrics::sum;

use crate::{
    align::{Ids, Side, same_length, sorted},
    frame::{Frame, Value},
    python,
    refusal::{Refusal, refuse},
    score::Score,
};

/// Mean edit distance of sentences, in code points.
pub(super) fn billion_words(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let texts = |side: &Side| -> Result<Vec<Vec<char>>, Refusal> {
        side.values("sentence")?
            .map(|value| match value {
                Value::Text(text) => Ok(text.chars().collect()),
                _ => refuse("the column `sentence` must hold a text in every row"),
            })
            .collect()
    };
    Ok(mean_distance(&texts(&answers)?, &texts(&submission)?))
}

/// Mean edit distance of formulas; whatever is no text is written as one.
pub(super) fn molecules(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "image_id", Ids::Equal)?;
    let texts = |side: &Side| -> Result<Vec<Vec<char>>, Refusal> {
        Ok(side
            .strings("InChI")?
            .iter()
            .map(|text| text.chars().collect())
            .collect())
    };
    Ok(mean_distance(&texts(&answers)?, &texts(&submission)?))
}

fn mean_distance(truth: &[Vec<char>], predicted: &[Vec<char>]) -> Score {
    let distances: Vec<f64> = truth
        .iter()
        .zip(predicted)
        .map(|(a, b)| edit_distance(a, b) as f64)
        .collect();
    Score::Numpy(sum::mean(&distances))
}

/// Sum of edit distances of sequences of gestures / number of true gestures.
pub(super) fn gestures(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "Id", Ids::Equal)?;
    let sequences = |side: &Side| -> Result<Vec<Vec<i128>>, Refusal> {
        side.strings("Sequence")?
            .iter()
            .map(|text| {
                python::split(text)
                    .map(|word| {
                        python::int(word).ok_or_else(|| {
                            Refusal::new(
                                "the column `Sequence` must hold whole numbers with blanks between them",
                            )
                        })
                    })
                    .collect()
            })
            .collect()
    };
    let (truth, predicted) = (sequences(&answers)?, sequences(&submission)?);
    let distance: usize = truth
        .iter()
        .zip(&predicted)
        .map(|(a, b)| edit_distance(a, b))
        .sum();
    let gestures: usize = truth.iter().map(Vec::len).sum();
    Ok(Score::Numpy(distance as f64 / gestures as f64))
}

/// Levenshtein's distance: fewest insertions, deletions and replacements.
fn edit_distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let suffix = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let (a, b) = (&a[..a.len() - suffix], &b[..b.len() - suffix]);

    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Mean overlap of word sets; two empty texts count 0.
pub(super) fn chaii(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::Equal)?;
    let (truth, predicted) = (
        answers.texts("PredictionString")?,
        submission.texts("PredictionString")?,
    );
    let scores: Vec<f64> = truth
        .iter()
        .zip(&predicted)
        .map(|(a, b)| jaccard(a, b).unwrap_or(0.0))
        .collect();
    Ok(Score::Numpy(sum::mean(&scores)))
}

/// Mean overlap of word sets; two empty texts make the whole file invalid.
pub(super) fn tweets(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "textID", Ids::Equal)?;
    let texts = |side: &Side| -> Result<Vec<String>, Refusal> {
        Ok(side
            .values("selected_text")?
            .map(|value| {
                if value.is_missing() {
                    String::new()
                } else {
                    value.text()
                }
            })
            .collect())
    };
    let scores = texts(&submission)?
        .iter()
        .zip(&texts(&answers)?)
        .map(|(a, b)| jaccard(a, b))
        .collect::<Option<Vec<f64>>>()
        .ok_or_else(|| {
            Refusal::new("an empty `selected_text` can't be scored; write at least one word in every row")
        })?;
    Ok(Score::Python(sum::mean(&scores)))
}

/// Words in common / words in either; `None` for two empty texts.
fn jaccard(a: &str, b: &str) -> Option<f64> {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let (a, b): (HashSet<&str>, HashSet<&str>) = (python::split(&a).collect(), python::split(&b).collect());
    let common = a.intersection(&b).count();
    let either = a.len() + b.len() - common;
    (either > 0).then(|| common as f64 / either as f64)
}

/// Kendall's tau of the order of cells, pooled over notebooks: 1 − 4 · inversions / Σ n(n−1).
pub(super) fn notebooks(submission: &Frame, answers: &Frame) -> Result<Score, Refusal> {
    same_length(submission, answers)?;
    let (submission, answers) = sorted(submission, answers, "id", Ids::SameSet)?;
    let (given, truth) = (submission.strings("cell_order")?, answers.strings("cell_order")?);
    let (mut inverted, mut pairs) = (0u64, 0u64);
    for (given, truth) in given.iter().zip(&truth) {
        let given: Vec<&str> = python::split(given).collect();
        let truth: Vec<&str> = python::split(truth).collect();
        if given.len() != truth.len() {
            return refuse("a cell_order has more or fewer cells than its notebook; write each cell once");
        }
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(given.len());
        for (place, cell) in given.iter().enumerate() {
            places.entry(cell).or_insert(place);
        }
        let ranks = truth
            .iter()
            .map(|cell| places.get(cell).copied())
            .collect::<Option<Vec<usize>>>()
            .ok_or_else(|| Refusal::new("a cell_order lacks a cell of its notebook; write each cell once"))?;
        inverted += inversions(&ranks);
        let cells = truth.len() as u64;
        pairs += cells * cells.saturating_sub(1);
    }
    if pairs == 0 {
        return refuse("no notebook has two cells");
    }
    Ok(Score::Python(1.0 - (4 * inverted) as f64 / pairs as f64))
}

/// Pairs in the wrong order.
fn inversions(ranks: &[usize]) -> u64 {
    // A Fenwick tree over ranks counts how many of those before are not above.
    let mut tree = vec![0u64; ranks.len() + 1];
    let mut count = 0;
    for (before, &rank) in ranks.iter().enumerate() {
        let (mut not_above, mut node) = (0, rank + 1);
        while node > 0 {
            not_above += tree[node];
            node &= node - 1;
        }
        count += before as u64 - not_above;
        node = rank + 1;
        while node < tree.len() {
            tree[node] += 1;
            node += node & node.wrapping_neg();
        }
    }
    count
}

#[cfg(test)]
mod tests;
