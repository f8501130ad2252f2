//! The program that a model goes on from.

use super::{Target, Wish};
use crate::{
    definition::Metric,
    snippet::{self, Table},
};

/// Texts that a column may have to be encoded with one column each.
const MOST_TEXTS: usize = 50;

/// Reads, encodes, leaves the model open, and saves.
pub(super) fn text(wish: &Wish, table: &Table, target: &Target) -> String {
    let (id, targets) = (python(wish.id_column()), &wish.targets);
    let free_text: Vec<&str> = wish
        .features(table)
        .filter(|name| {
            let values = table.column(name).unwrap_or_default();
            let distinct: std::collections::BTreeSet<&String> = values.iter().collect();
            snippet::kind(values) == snippet::Kind::Text && distinct.len() > MOST_TEXTS
        })
        .collect();
    let list = |names: Vec<&str>| {
        let names: Vec<String> = names.into_iter().map(python).collect();
        names.join(", ")
    };
    let in_test = list(
        [wish.id_column()]
            .into_iter()
            .chain(free_text.iter().copied())
            .collect(),
    );
    let in_train = list(
        [wish.id_column()]
            .into_iter()
            .chain(free_text.iter().copied())
            .chain(targets.iter().map(String::as_str))
            .collect(),
    );
    let y = match targets.as_slice() {
        [name] => python(name),
        names => format!("[{}]", list(names.iter().map(String::as_str).collect())),
    };
    let (classes, hint, save) = ending(wish, target, &id, &y);
    let numpy = if wish.metric == Metric::MapAt5 {
        "import numpy as np\n"
    } else {
        ""
    };
    format!(
        "{numpy}import pandas as pd\n\ntrain = pd.read_csv(\"data/train.csv\")\ntest = \
         pd.read_csv(\"data/test.csv\")\n\ny = train[{y}]\nX = pd.get_dummies(train.drop(columns=[{in_train}]))\nX_test \
         = pd.get_dummies(test.drop(columns=[{in_test}])).reindex(columns=X.columns, fill_value=0)\nX_test = \
         X_test.fillna(X.median())\nX = X.fillna(X.median())\n{classes}\n# TODO: train a model on X and y, and set \
         predictions ({hint})\n\n{save}submission.to_csv(\"submission.csv\", index=False)\n"
    )
}

/// Lines before the model, what predictions must be, and lines after.
fn ending(wish: &Wish, target: &Target, id: &str, y: &str) -> (&'static str, &'static str, String) {
    let one = format!("submission = pd.DataFrame({{{id}: test[{id}], {y}: predictions}})\n");
    let many = format!(
        "submission = pd.DataFrame(predictions, columns=classes)\nsubmission.insert(0, {id}, test[{id}])\n"
    );
    let sorted = "classes = sorted(y.unique())\n";
    let per_class = "for each row of X_test one probability per class, in the order of classes";
    match target {
        Target::Probabilities if wish.targets.len() > 1 => ("classes = list(y.columns)\n", per_class, many),
        Target::Probabilities => ("", "one probability per row of X_test", one),
        Target::ClassProbabilities(_) => (sorted, per_class, many),
        Target::Labels(_) if wish.metric == Metric::MapAt5 => (
            sorted,
            per_class,
            format!(
                "best = np.argsort(-np.asarray(predictions), axis=1)[:, :5]\nguesses = [\" \".join(str(classes[place]) \
                 for place in row) for row in best]\nsubmission = pd.DataFrame({{{id}: test[{id}], {y}: guesses}})\n"
            ),
        ),
        Target::Labels(_) => ("", "one label per row of X_test", one),
        Target::Numbers(_) => ("", "one number per row of X_test", one),
    }
}

/// A text as Python writes it.
fn python(text: &str) -> String {
    // JSON's strings are Python's, for all that can stand in a header.
    serde_json::Value::from(text).to_string()
}
