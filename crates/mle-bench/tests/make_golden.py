"""Writes generated.json and frames.json beside it: scores and tables that the Rust graders must reproduce.

Made with scikit-learn 1.5.1, pandas 2.2.2, numpy 1.26.4, scipy 1.14.1 and Levenshtein 0.27.3:
    python make_golden.py

Each metric is computed here with calls to those libraries, after reading both files with pandas as MLE-bench reads
them. A case whose computation raises an error is one of an invalid submission.
"""

import io
import json
import warnings
from collections import Counter
from pathlib import Path

import Levenshtein
import numpy as np
import pandas as pd
from scipy import stats
from sklearn import metrics
from sklearn.preprocessing import MultiLabelBinarizer

warnings.filterwarnings("ignore")
rng = np.random.default_rng(7)
cases = []


class Invalid(Exception):
    pass


def demand(condition, text="invalid"):
    if not condition:
        raise Invalid(text)


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    try:
        return pd.read_csv(io.BytesIO(data), float_precision="round_trip")
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def pair(s, a, key, length=True, compare="rows"):
    """Both tables sorted by a key."""
    demand(key in s.columns)
    if length:
        demand(len(s) == len(a))
    if compare == "set":
        demand(set(s[key]) == set(a[key]))
    s, a = s.sort_values(key), a.sort_values(key)
    if compare == "rows":
        demand(not (s[key].values != a[key].values).any())
    return s, a


# --- metrics, one function per kind of grader ---------------------------------------------------------------------

def auc(key, target):
    def grade(s, a):
        demand(target in s.columns)
        pd.to_numeric(s[target])
        demand(not (s[target].min() < 0 or s[target].max() > 1))
        s, a = pair(s, a, key)
        return metrics.roc_auc_score(a[target].to_numpy(), s[target].to_numpy())
    return grade


def auc_columns(key, columns, exact=False):
    def grade(s, a):
        demand(set(columns) <= set(s.columns))
        demand(not exact or set(s.columns) == {key, *columns})
        s, a = pair(s, a, key)
        return np.mean([metrics.roc_auc_score(a[c], s[c]) for c in columns])
    return grade


def toxic(s, a):
    columns = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
    demand({"id", *columns} <= set(s.columns) and len(s) == len(a))
    s, a = s.set_index("id").sort_index(), a.set_index("id").sort_index()
    keep = a[columns].sum(axis=1) >= 0
    return metrics.roc_auc_score(a[keep].to_numpy(), s[keep].to_numpy(), average="macro")


def bias(s, a):
    identities = ["male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white",
                  "psychiatric_or_mental_illness"]
    s, a = pair(s, a, "id", length=False)
    target = "prediction" if "prediction" in s.columns else "toxicity"
    demand(target in s.columns)
    predicted = (s[target] >= 0.5).to_numpy().astype(int)
    toxic = (a["toxicity"] >= 0.5).to_numpy()

    def part(mask):
        return metrics.roc_auc_score(toxic[mask].astype(int), predicted[mask])

    scores = []
    for name in identities:
        mentioned = (a[name] >= 0.5).to_numpy()
        scores.append([part(mentioned), part(mentioned != toxic), part(mentioned == toxic)])
    means = [(sum(row[i] ** -5 for row in scores) / len(identities)) ** (1 / -5) for i in range(3)]
    return 0.25 * part(np.ones(len(a), bool)) + sum(0.25 * mean for mean in means)


def weighted_auc(s, a):
    s, a = pair(s, a, "Id")
    scores, truth = s["Label"].astype(float), a["Label"].astype(float)
    demand(not scores.isnull().any())
    x, y, _ = metrics.roc_curve(truth.to_numpy(), scores.to_numpy(), pos_label=1)
    levels = [0.0, 0.4, 1.0]
    for level in levels:
        if level not in y:
            at = int(np.argmax(y > level))
            new = x[at - 1] + (x[at] - x[at - 1]) * (level - y[at - 1]) / (y[at] - y[at - 1])
            x, y = np.insert(x, at, new), np.insert(y, at, level)
    total = 0
    for low, high, weight in [(0.0, 0.4, 2), (0.4, 1.0, 1)]:
        mask = (low <= y) & (y <= high)
        total += weight * metrics.auc(np.append(x[mask], 1), np.append(y[mask], high) - low)
    return total / np.dot(np.diff(levels), [2, 1])


def accuracy(key, target):
    def grade(s, a):
        demand(target in s.columns)
        s, a = pair(s, a, key)
        return metrics.accuracy_score(a[target].to_numpy(), s[target].to_numpy())
    return grade


def accuracy_of_strings(s, a):
    demand("after" in s.columns)
    s, a = pair(s, a, "id")
    return metrics.accuracy_score(a["after"].astype(str).to_numpy(), s["after"].astype(str).to_numpy())


def paddy(s, a):
    demand("label" in s.columns)
    s, a = pair(s, a, "image_id")
    return metrics.accuracy_score(a["label"], s["label"].fillna("").tolist())


def seedlings(s, a):
    s, a = pair(s, a, "file")
    return metrics.f1_score(a["species"].tolist(), s["species"].tolist(), average="micro")


def top1(s, a):
    s, a = pair(s, a, "id")
    guesses = [guess if isinstance(guess, int) else int(guess.split()[0]) for guess in s["predicted"]]
    return 1 - metrics.accuracy_score([int(label) for label in a["predicted"]], guesses)


def f1_macro(key, target):
    def grade(s, a):
        s, a = pair(s, a, key)
        return metrics.f1_score([int(x) for x in a[target]], [int(x) for x in s[target]], average="macro")
    return grade


def kappa(key, target, compare):
    def grade(s, a):
        demand(target in s.columns and not s.empty)
        s, a = pair(s, a, key, length=False, compare=compare)
        return metrics.cohen_kappa_score(s[target].values, a[target].values, weights="quadratic")
    return grade


def contacts(s, a):
    s, a = pair(s, a, "contact_id", compare="set")
    return metrics.matthews_corrcoef(a["contact"], s["contact"])


def breast_cancer(s, a):
    s, a = pair(s, a, "prediction_id")
    positives = found = wrong = 0
    for label, p in zip(a["cancer"].to_numpy(), s["cancer"].to_numpy()):
        p = min(max(p, 0), 1)
        if label:
            positives, found = positives + 1, found + p
        else:
            wrong += p
    precision, recall = found / (found + wrong), found / positives
    return 2 * (precision * recall) / (precision + recall) if precision > 0 and recall > 0 else 0


def logloss(classes, sums="isclose", by_place=False):
    def grade(s, a):
        demand(len(s) == len(a) and "id" in s.columns)
        names = classes or [c for c in a.columns if c != "id"]
        demand(set(names) <= set(s.columns))
        values = s.iloc[:, 1:] if by_place else s[names]
        if by_place:
            demand(s.shape == (len(a), len(names) + 1))
        total = values.sum(axis=1)
        demand(np.isclose(total, 1, atol=1e-6).all() if sums == "isclose" else total.round(6).eq(1).all())
        demand(((values >= 0) & (values <= 1)).all().all())
        s, a = pair(s, a, "id")
        return metrics.log_loss(a[names].to_numpy(), s[names].to_numpy())
    return grade


def logloss_binary(target, length):
    def grade(s, a):
        demand(target in s.columns and ((s[target] >= 0) & (s[target] <= 1)).all())
        s, a = pair(s, a, "id", length=length, compare="set")
        return metrics.log_loss(a[target], s[target])
    return grade


def brain(s, a):
    votes = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
    demand(set(votes) <= set(s.columns))
    demand(s[votes].sum(axis=1).apply(lambda x: round(x, 5) == 1).all())
    s, a = pair(s, a, "eeg_id", compare="set")
    s = s.drop(columns="eeg_id").reset_index(drop=True)
    a = a[votes].reset_index(drop=True)
    a = a.div(a.sum(axis=1), axis=0)
    for table in [s, a]:
        demand(table.min().min() >= 0 and table.max().max() <= 1 and np.allclose(table.sum(axis=1), 1))
    p = s[votes].clip(1e-15, 1 - 1e-15)
    terms = (a * np.log(a.where(a != 0, 1.0) / p)).where(a != 0, 0.0)
    return np.average(terms.sum(axis=1))


def fractures(s, a):
    demand(s["fractured"].between(0, 1).all())
    s, a = pair(s, a, "row_id", length=False)
    order = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]

    def wide(table):
        parts = table["row_id"].str.split("_", n=1, expand=True)
        table = table.assign(study=parts[0], part=parts[1])
        return table.pivot(index="study", columns="part", values="fractured")[order].to_numpy()

    y, p = wide(a), np.clip(wide(s), 1e-15, 1 - 1e-15)
    weights = y * np.array([14] + [2] * 7, np.float32) + (1 - y) * np.array([7] + [1] * 7, np.float32)
    loss = -(y * np.log(p) + (1 - y) * np.log(1 - p)) * weights
    return np.mean(loss.sum(axis=1) / weights.sum(axis=1))


def lwlrap(s, a):
    demand(list(s.columns) == list(a.columns))
    s, a = pair(s, a, "fname")
    truth, scores = a.iloc[:, 1:].to_numpy() > 0, s.iloc[:, 1:].to_numpy()
    weight = truth.sum(axis=1)
    rows = weight > 0
    return metrics.label_ranking_average_precision_score(truth[rows], scores[rows], sample_weight=weight[rows])


def rmse(key, target, length=True, compare="rows", between=None):
    def grade(s, a):
        demand(target in s.columns)
        if between:
            demand(s[target].between(*between).all())
        s, a = pair(s, a, key, length=length, compare=compare)
        return metrics.root_mean_squared_error(a[target], s[target])
    return grade


def nomad(s, a):
    demand(len(s) == len(a))
    score = lambda name: metrics.root_mean_squared_log_error(a[name], s[name])
    return (score("formation_energy_ev_natom") + score("bandgap_energy_ev")) / 2


def covid(s, a):
    columns = ["id_seqpos", "reactivity", "deg_Mg_pH10", "deg_Mg_50C", "deg_pH10", "deg_50C"]
    demand(len(s) == len(a) and set(columns) <= set(s.columns))
    s, a = s[columns].sort_values("id_seqpos"), a.sort_values("id_seqpos")
    demand(all(x == y for x, y in zip(s["id_seqpos"], a["id_seqpos"])))
    s, a = s[a["keep"]], a[a["keep"]]
    return np.mean([metrics.root_mean_squared_error(a[c], s[c]) for c in columns[1:4]])


def ventilator(s, a):
    demand("pressure" in s.columns)
    s, a = pair(s, a, "id")
    keep = (a["u_out"] == 0).to_numpy()
    return metrics.mean_absolute_error(a["pressure"].to_numpy()[keep], s["pressure"].to_numpy()[keep])


def joined(s, a, key, target):
    demand(target in s.columns and key in s.columns and set(s[key]) == set(a[key]))
    return a.merge(s[[key, target]], on=key, suffixes=("_true", "_pred"))


def volcanoes(s, a):
    m = joined(s, a, "segment_id", "time_to_eruption")
    return int(round(metrics.mean_absolute_error(m["time_to_eruption_true"], m["time_to_eruption_pred"])))


def champs(s, a):
    m = joined(s, a, "id", "scalar_coupling_constant")
    name = "scalar_coupling_constant"
    return np.mean([np.log(metrics.mean_absolute_error(g[name + "_true"], g[name + "_pred"]))
                    for _, g in m.groupby("type")])


def patents(s, a):
    s, a = pair(s, a, "id")
    return stats.pearsonr(a["score"].to_numpy(), s["score"].to_numpy())[0]


def quest(s, a):
    demand(len(s) == len(a) and set(a.columns) <= set(s.columns) and len(s.columns) == len(a.columns))
    s, a = s.sort_values("qa_id"), a.sort_values("qa_id")
    return np.mean([stats.spearmanr(s[c], a[c]).correlation for c in a.columns if c != "qa_id"])


def fibrosis(s, a):
    key = "Patient_Week"
    demand(set(s[key]) <= set(a[key]))
    demand(all(pd.api.types.is_numeric_dtype(s[c]) for c in ["FVC", "Confidence"]))
    a = a.dropna(subset=["FVC"])
    a = a.assign(week=[int(x.split("_")[-1]) for x in a[key]]).sort_values("week").groupby("Patient").tail(3)
    s = s[s[key].isin(a[key])].sort_values(key)
    a = a[a[key].isin(s[key])].sort_values(key)
    sd = np.maximum(s["Confidence"].fillna(0).to_numpy(), 70)
    delta = np.minimum(np.abs(a["FVC"].to_numpy() - s["FVC"].to_numpy()), 1000)
    return np.mean(-np.sqrt(2) * delta / sd - np.log(np.sqrt(2) * sd))


def neutrinos(s, a):
    demand(set(s.columns) == {"event_id", "azimuth", "zenith"})
    for c in ["azimuth", "zenith"]:
        demand(np.issubdtype(s[c].dtype, np.number) and np.isfinite(s[c]).all())
    s, a = pair(s, a, "event_id", compare="set")
    t, p = a["azimuth"].to_numpy(), s["azimuth"].to_numpy()
    u, q = a["zenith"].to_numpy(), s["zenith"].to_numpy()
    dot = np.sin(u) * np.sin(q) * (np.cos(t) * np.cos(p) + np.sin(t) * np.sin(p)) + np.cos(u) * np.cos(q)
    return np.average(np.abs(np.arccos(np.clip(dot, -1, 1))))


def phones(s, a):
    demand(len(s) == len(a) and set(a.columns) <= set(s.columns))
    scores = []
    for trip in a["tripId"].unique():
        x, y = a[a["tripId"] == trip], s[s["tripId"] == trip]
        demand(len(x) == len(y))
        la, lb, oa, ob = (np.deg2rad(z.to_numpy()) for z in [y["LatitudeDegrees"], x["LatitudeDegrees"],
                                                            y["LongitudeDegrees"], x["LongitudeDegrees"]])
        h = np.sin((lb - la) / 2) ** 2 + np.cos(la) * np.cos(lb) * np.sin((ob - oa) / 2) ** 2
        d = 2 * 6_371_000 * np.arcsin(np.sqrt(h))
        scores.append(np.mean([np.quantile(d, 0.5), np.quantile(d, 0.95)]))
    return np.mean(scores)


def distance_mean(key, target, as_text):
    def grade(s, a):
        s, a = pair(s, a, key)
        x, y = (a[target].astype(str), s[target].astype(str)) if as_text else (a[target], s[target])
        return np.mean([Levenshtein.distance(p, q) for p, q in zip(x, y)])
    return grade


def gestures(s, a):
    s, a = pair(s, a, "Id")
    x, y = ([list(map(int, t.split())) for t in table["Sequence"].astype(str)] for table in [a, s])
    return np.sum([Levenshtein.distance(p, q) for p, q in zip(x, y)]) / sum(map(len, x))


def chaii(s, a):
    s, a = pair(s, a, "id")
    x, y = ([set(t.lower().split()) for t in table["PredictionString"].fillna("")] for table in [a, s])
    binarizer = MultiLabelBinarizer().fit(x + y)
    return metrics.jaccard_score(binarizer.transform(x), binarizer.transform(y), average="samples")


def tweets(s, a):
    s, a = pair(s, a, "textID")
    scores = []
    for p, q in zip(s["selected_text"].fillna("").astype(str), a["selected_text"].fillna("").astype(str)):
        p, q = set(p.lower().split()), set(q.lower().split())
        scores.append(float(len(p & q)) / (len(p) + len(q) - len(p & q)))
    return float(np.mean(scores))


def notebooks(s, a):
    s, a = pair(s, a, "id", compare="set")
    wrong = pairs = 0
    for given, truth in zip(s["cell_order"].astype(str), a["cell_order"].astype(str)):
        given, truth = given.split(), truth.split()
        demand(len(given) == len(truth))
        ranks = [given.index(cell) for cell in truth]
        wrong += sum(ranks[i] > ranks[j] for i in range(len(ranks)) for j in range(i + 1, len(ranks)))
        pairs += len(truth) * (len(truth) - 1)
    return 1 - 4 * wrong / pairs


def tags(key, target):
    def grade(s, a):
        s, a = pair(s, a, key)
        x, y = (table[target].fillna("").str.split() for table in [a, s])
        binarizer = MultiLabelBinarizer(sparse_output=True)
        truth = binarizer.fit_transform(x)
        return metrics.f1_score(truth, binarizer.transform(y), average="micro")
    return grade


def ranked(key, target, k, exact=False, superset=False):
    def grade(s, a):
        demand(target in s.columns and key in s.columns)
        demand(not exact or set(s.columns) == {key, target})
        if superset:
            demand(set(s[key]) >= set(a[key]))
            s = s[s[key].isin(a[key])]
        s, a = pair(s, a, key, compare="set")
        scores = []
        for right, guesses in zip(a[target].astype(str), s[target].astype(str)):
            right, guesses = set(right.split(" ")), guesses.split(" ")[:k]
            hits, score = 0, 0.0
            for i, guess in enumerate(guesses):
                if guess in right and guess not in guesses[:i]:
                    hits += 1
                    score += hits / (i + 1)
            scores.append(score / min(len(right), k))
        return np.mean(scores)
    return grade


def decode(text, pixels):
    demand(isinstance(text, str))
    numbers = list(map(int, text.split()))
    mask = np.zeros(pixels, bool)
    if not numbers:
        return mask
    starts, lengths = numbers[0::2], numbers[1::2]
    demand(starts == sorted(starts) and all(n > 0 for n in numbers))
    lows = np.array(starts) - 1
    for low, high in zip(lows, lows + lengths):
        demand(not mask[low:high].any())
        mask[low:high] = True
    return mask


def dice(x, y):
    return 2 * (x & y).sum() / (x.sum() + y.sum())


def kidneys(s, a):
    s, a = pair(s, a, "id", compare="set")
    scores = []
    for p, (t, h, w) in zip(s["predicted"].fillna(""), zip(a["encoding"].fillna(""), a["height_pixels"], a["width_pixels"])):
        p, t = decode(p, h * w), decode(t, h * w)
        scores.append(1.0 if not p.any() and not t.any() else dice(p, t))
    return np.mean(scores)


def contrails(s, a):
    s, a = pair(s, a, "record_id")
    size = list(zip(a["height"], a["width"]))
    p, t = (np.concatenate([decode("" if m == "-" else m, h * w) for m, (h, w) in zip(table["encoded_pixels"], size)])
            for table in [s, a])
    return dice(p, t)


def salt(s, a):
    demand(set(s.columns) == {"id", "rle_mask"})
    s, a = s.fillna(""), a.fillna("")
    demand(s.map(lambda x: isinstance(x, str)).to_numpy().all())
    s, a = pair(s, a, "id")
    scores = []
    for p, t in zip(s["rle_mask"], a["rle_mask"]):
        p, t = decode(p, 101 * 101), decode(t, 101 * 101)
        if not t.any():
            scores.append(0.0 if p.any() else 1.0)
            continue
        common = np.histogram2d(t, p, bins=(2, 2))[0][1, 1]
        union = np.histogram(t, bins=2)[0][1] + np.histogram(p, bins=2)[0][1] - common
        scores.append(np.mean([float(common / union > level) for level in np.arange(0.5, 1.0, 0.05)]))
    return np.mean(scores)


def ink(s, a):
    demand(len(s) == len(a) and set(s.columns) == {"Id", "Predicted"})
    scores = []
    for p, q, t, r, h, w in zip(s["Id"], s["Predicted"], a["Id"], a["Predicted"], a["height"], a["width"]):
        demand(p == t)
        scores.append(metrics.fbeta_score(decode(r, h * w), decode(q, h * w), beta=0.5))
    return np.mean(scores)


# --- cases --------------------------------------------------------------------------------------------------------

def add(competition, note, grade, submission, answers):
    text = lambda table: table if isinstance(table, str) else table.to_csv(index=False)
    submission, answers = text(submission), text(answers)
    raw = error = kind = rounded = None
    try:
        score = grade(read(submission), read(answers))
        raw, kind, rounded = repr(float(score)), type(score).__name__, repr(float(round(score, 5)))
        if isinstance(score, int):
            kind = "float"
    except Exception as problem:
        error = f"{type(problem).__name__}: {problem}"[:120]
    cases.append({"competition": competition, "note": note, "submission_csv": submission, "answers_csv": answers,
                  "raw_repr": raw, "raw_type": kind, "rounded": rounded, "error": error})


def shuffled(table):
    return table.sample(frac=1, random_state=int(rng.integers(1 << 30)))


def ids(n):
    return [f"id_{number:03}" for number in rng.choice(1000, n, replace=False)]


def both(n):
    labels = rng.integers(0, 2, n)
    labels[:2] = [0, 1]
    return labels


def common_faults(competition, grade, s, a):
    """What can be wrong with any file."""
    add(competition, "shuffled", grade, shuffled(s), a)
    add(competition, "a row is missing", grade, s.iloc[1:], a)
    add(competition, "a row too many", grade, pd.concat([s, s.iloc[:1]]), a)
    add(competition, "an id is wrong", grade, s.assign(**{s.columns[0]: ["other", *s.iloc[1:, 0]]}), a)
    add(competition, "saved with an index", grade, s.to_csv(), a)
    add(competition, "the last column is missing", grade, s.iloc[:, :-1], a)
    add(competition, "header only", grade, s.iloc[:0], a)
    add(competition, "CRLF and BOM", grade, "\ufeff" + s.to_csv(index=False).replace("\n", "\r\n"), a)
    add(competition, "columns from right to left", grade, s[s.columns[::-1]], a)
    last = s.columns[-1]
    add(competition, "a value is missing", grade, s.assign(**{last: [None, *s[last].iloc[1:]]}), a)
    add(competition, "a value is text", grade, s.assign(**{last: ["text here", *s[last].iloc[1:].astype(str)]}), a)


def probabilities():
    for competition, key, target in [("tabular-playground-series-may-2022", "id", "target"),
                                     ("random-acts-of-pizza", "request_id", "requester_received_pizza")]:
        grade = auc(key, target)
        for n, levels in [(2, 2), (7, 3), (16, 4), (40, 1000), (64, 8), (100, 3)]:
            names = ids(n)
            a = pd.DataFrame({key: names, target: both(n)})
            s = pd.DataFrame({key: names, target: rng.integers(0, levels, n) / levels})
            add(competition, f"{n} rows, {levels} levels", grade, shuffled(s), a)
        common_faults(competition, grade, s, a)
        add(competition, "above 1", grade, s.assign(**{target: s[target] * 1.5}), a)
        add(competition, "negative", grade, s.assign(**{target: s[target] - 0.5}), a)
        add(competition, "infinite", grade, s.assign(**{target: ["inf", *s[target].iloc[1:]]}), a)
        add(competition, "too large for a float", grade, s.assign(**{target: ["1e400", *s[target].iloc[1:]]}), a)
        add(competition, "thousands separator", grade, s.assign(**{target: ["1,000", *s[target].iloc[1:]]}), a)
        add(competition, "booleans", grade, s.assign(**{target: s[target] > 0.5}), a)
        add(competition, "one class in the answers", grade, s, a.assign(**{target: 1}))
        add(competition, "an extra column", grade, s.assign(extra="x"), a)
    columns = ["healthy", "multiple_diseases", "rust", "scab"]
    for n in [6, 30]:
        a = pd.DataFrame({"image_id": ids(n), **{c: both(n) for c in columns}})
        s = pd.DataFrame({"image_id": a["image_id"], **{c: rng.normal(size=n).round(2) * 1e6 for c in columns}})
        add("plant-pathology-2020-fgvc7", f"{n} rows", auc_columns("image_id", columns, True), shuffled(s), a)
    common_faults("plant-pathology-2020-fgvc7", auc_columns("image_id", columns, True), s, a)
    a = pd.DataFrame({"id": range(20), "EC1": both(20), "EC2": both(20)})
    s = pd.DataFrame({"id": range(20), "EC1": rng.random(20).round(2), "EC2": rng.random(20).round(1)})
    common_faults("playground-series-s3e18", auc_columns("id", ["EC1", "EC2"]), s, a)
    columns = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"]
    a = pd.DataFrame({"id": ids(30), **{c: both(30) for c in columns}})
    a.loc[5, columns] = -1
    s = pd.DataFrame({"id": a["id"], **{c: rng.random(30).round(3) for c in columns}})
    common_faults("jigsaw-toxic-comment-classification-challenge", toxic, s, a)
    for n in [60, 200]:
        identities = ["male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white",
                      "psychiatric_or_mental_illness"]
        a = pd.DataFrame({"id": range(n), "toxicity": rng.random(n).round(2),
                          **{c: rng.random(n).round(2) for c in identities}})
        s = pd.DataFrame({"id": range(n), "prediction": (a["toxicity"] * 0.5 + rng.random(n) * 0.5).round(3)})
        add("jigsaw-unintended-bias-in-toxicity-classification", f"{n} rows", bias, shuffled(s), a)
    common_faults("jigsaw-unintended-bias-in-toxicity-classification", bias, s, a)
    for n in [5, 30, 120]:
        a = pd.DataFrame({"Id": ids(n), "Label": both(n)})
        s = pd.DataFrame({"Id": a["Id"], "Label": rng.normal(size=n).round(1)})
        add("alaska2-image-steganalysis", f"{n} rows", weighted_auc, shuffled(s), a)
    common_faults("alaska2-image-steganalysis", weighted_auc, s, a)


def labels():
    for n, k in [(2, 2), (9, 3), (64, 7), (128, 5)]:
        a = pd.DataFrame({"Id": rng.permutation(n), "Cover_Type": rng.integers(1, k + 1, n)})
        s = a.assign(Cover_Type=rng.integers(1, k + 1, n))
        add("tabular-playground-series-dec-2021", f"{n} rows", accuracy("Id", "Cover_Type"), shuffled(s), a)
    grade = accuracy("Id", "Cover_Type")
    common_faults("tabular-playground-series-dec-2021", grade, s, a)
    for note, values in [("fractions", s["Cover_Type"] + 0.5), ("whole floats", s["Cover_Type"].astype(float)),
                         ("texts", "x"), ("booleans", s["Cover_Type"] > 2), ("infinite", "inf"), ("huge", 1e300),
                         ("above int64", 2**63), ("leading zeros", s["Cover_Type"].map("00{}".format)),
                         ("negative", -s["Cover_Type"])]:
        add("tabular-playground-series-dec-2021", note, grade, s.assign(Cover_Type=values), a)
    a = pd.DataFrame({"PassengerId": ids(16), "Transported": both(16) == 1})
    for note, values in [("ones and zeros", both(16)), ("floats", both(16).astype(float)),
                         ("mixed case", ["TRUE", "false"] * 8), ("yes and no", ["yes", "no"] * 8),
                         ("one missing", ["True"] * 15 + [None]), ("quoted", ['"True"'] * 16)]:
        add("spaceship-titanic", note, accuracy("PassengerId", "Transported"),
            pd.DataFrame({"PassengerId": a["PassengerId"], "Transported": values}), a)
    words = np.array(["yes", "no", "up", "naïve", "日本"])
    a = pd.DataFrame({"fname": ids(32), "label": rng.choice(words, 32)})
    s = a.assign(label=rng.choice(words, 32))
    common_faults("tensorflow-speech-recognition-challenge", accuracy("fname", "label"), s, a)
    common_faults("plant-seedlings-classification", seedlings,
                  s.rename(columns={"fname": "file", "label": "species"}),
                  a.rename(columns={"fname": "file", "label": "species"}))
    common_faults("paddy-disease-classification", paddy, s.rename(columns={"fname": "image_id"}),
                  a.rename(columns={"fname": "image_id"}))
    add("paddy-disease-classification", "numbers for texts", paddy,
        s.rename(columns={"fname": "image_id"}).assign(label=3), a.rename(columns={"fname": "image_id"}))
    values = ["NA", "null", "None", "nan", "", "007", "7", "7.0", "1e5", "True", "two words", '"q"', "1.50", "-0", "É"]
    a = pd.DataFrame({"id": [f"{i}_0" for i in range(len(values))], "after": values})
    common_faults("text-normalization-challenge-english-language", accuracy_of_strings, a, a)
    add("text-normalization-challenge-english-language", "all are missing words", accuracy_of_strings,
        a.assign(after="NULL"), a.assign(after="None"))
    add("text-normalization-challenge-english-language", "floats as texts", accuracy_of_strings,
        a.assign(after=[1e16, 1e-5, 0.1, 123456.789, 1e22, 5e-324, 1.0, 2.5, 3, 4, 5, 6, 7, 8, 9]),
        a.assign(after=["1e+16", "1e-05", "0.1", "123456.789", "1e+22", "5e-324", "1.0", "x", *"3456789", ][:15]))
    add("text-normalization-challenge-russian-language", "booleans as texts", accuracy_of_strings,
        a.assign(after="true"), a.assign(after=["True", "true"] * 7 + ["x"]))
    for n, k in [(3, 2), (20, 6), (150, 40)]:
        a = pd.DataFrame({"Id": range(n), "Predicted": rng.integers(0, k, n)})
        s = a.assign(Predicted=rng.integers(0, k, n))
        add("herbarium-2021-fgvc8", f"{n} rows", f1_macro("Id", "Predicted"), shuffled(s), a)
    common_faults("herbarium-2021-fgvc8", f1_macro("Id", "Predicted"), s, a)
    add("herbarium-2021-fgvc8", "floats are cut", f1_macro("Id", "Predicted"), s.assign(Predicted=s["Predicted"] + 0.9), a)
    add("herbarium-2021-fgvc8", "negative floats are cut", f1_macro("Id", "Predicted"),
        s.assign(Predicted=s["Predicted"] - 0.5), a)
    add("herbarium-2021-fgvc8", "underscores", f1_macro("Id", "Predicted"),
        s.assign(Predicted=[" 1_0 ", *s["Predicted"].iloc[1:].map("+{}".format)]), a)
    a = pd.DataFrame({"id": range(30), "predicted": rng.integers(0, 9, 30)})
    s = a.assign(predicted=[" ".join(map(str, rng.integers(0, 9, 3))) for _ in range(30)])
    common_faults("inaturalist-2019-fgvc6", top1, s, a)
    add("inaturalist-2019-fgvc6", "one guess", top1, a.assign(predicted=rng.integers(0, 9, 30)), a)
    add("inaturalist-2019-fgvc6", "floats", top1, a.assign(predicted=a["predicted"] * 1.0), a)
    for n, k in [(4, 2), (25, 5), (90, 30)]:
        a = pd.DataFrame({"essay_id": ids(n), "score": rng.integers(1, k + 1, n)})
        s = a.assign(score=(a["score"] + rng.integers(-2, 3, n)).clip(1, k))
        add("learning-agency-lab-automated-essay-scoring-2", f"{n} rows", kappa("essay_id", "score", "rows"), shuffled(s), a)
        b, t = (x.rename(columns={"essay_id": "id_code", "score": "diagnosis"}) for x in [a, s])
        add("aptos2019-blindness-detection", f"{n} rows", kappa("id_code", "diagnosis", "set"), shuffled(t), b)
    common_faults("learning-agency-lab-automated-essay-scoring-2", kappa("essay_id", "score", "rows"), s, a)
    common_faults("aptos2019-blindness-detection", kappa("id_code", "diagnosis", "set"), t, b)
    add("aptos2019-blindness-detection", "one label on both sides", kappa("id_code", "diagnosis", "set"),
        t.assign(diagnosis=1), b.assign(diagnosis=1))
    add("aptos2019-blindness-detection", "whole floats", kappa("id_code", "diagnosis", "set"),
        t.assign(diagnosis=t["diagnosis"] * 1.0), b)
    for n in [10, 100]:
        a = pd.DataFrame({"contact_id": ids(n), "contact": both(n)})
        s = a.assign(contact=rng.integers(0, 2, n))
        add("nfl-player-contact-detection", f"{n} rows", contacts, shuffled(s), a)
    common_faults("nfl-player-contact-detection", contacts, s, a)
    add("nfl-player-contact-detection", "constant", contacts, s.assign(contact=0), a)
    a = pd.DataFrame({"prediction_id": ids(40), "cancer": both(40)})
    s = a.assign(cancer=rng.normal(0.5, 0.5, 40).round(3))
    common_faults("rsna-breast-cancer-detection", breast_cancer, s, a)
    add("rsna-breast-cancer-detection", "zeros", breast_cancer, s.assign(cancer=0.0), a)
    add("rsna-breast-cancer-detection", "hard labels", breast_cancer, a, a)


def losses():
    for n in [2, 9, 40]:
        a = pd.DataFrame(np.eye(3, dtype=int)[rng.integers(0, 3, n)], columns=["EAP", "HPL", "MWS"])
        a.insert(0, "id", ids(n))
        s = a.copy()
        s[["EAP", "HPL", "MWS"]] = rng.dirichlet([1, 1, 1], n)
        add("spooky-author-identification", f"{n} rows", logloss(None, by_place=True), shuffled(s), a)
    common_faults("spooky-author-identification", logloss(None, by_place=True), s, a)
    rename = {"EAP": "winner_model_a", "HPL": "winner_model_b", "MWS": "winner_tie"}
    common_faults("lmsys-chatbot-arena", logloss(list(rename.values()), sums="round"), s.rename(columns=rename),
                  a.rename(columns=rename))
    for shift in [4e-7, 6e-7, 1e-5, 1.2e-5]:
        add("spooky-author-identification", f"sums are off by {shift}", logloss(None, by_place=True),
            s.assign(EAP=s["EAP"] + shift), a)
        add("lmsys-chatbot-arena", f"sums are off by {shift}", logloss(list(rename.values()), sums="round"),
            s.assign(EAP=s["EAP"] + shift).rename(columns=rename), a.rename(columns=rename))
    add("spooky-author-identification", "certain", logloss(None, by_place=True), a, a)
    add("spooky-author-identification", "negative", logloss(None, by_place=True),
        s.assign(EAP=-0.5, HPL=0.5, MWS=1.0), a)
    classes = [f"breed_{i}" for i in range(12)]
    a = pd.DataFrame(np.eye(12, dtype=int)[rng.integers(0, 12, 20)], columns=classes)
    a.insert(0, "id", ids(20))
    s = a.copy()
    s[classes] = rng.dirichlet(np.ones(12), 20)
    common_faults("dog-breed-identification", logloss(None), s, a)
    add("dog-breed-identification", "an extra column", logloss(None), s.assign(extra=1), a)
    for competition, target, length in [("dogs-vs-cats-redux-kernels-edition", "label", True),
                                        ("statoil-iceberg-classifier-challenge", "is_iceberg", False)]:
        for n in [2, 30]:
            a = pd.DataFrame({"id": ids(n), target: both(n)})
            s = a.assign(**{target: rng.random(n)})
            add(competition, f"{n} rows", logloss_binary(target, length), shuffled(s), a)
        common_faults(competition, logloss_binary(target, length), s, a)
        add(competition, "certain and wrong", logloss_binary(target, length), a.assign(**{target: 1 - a[target]}), a)
        add(competition, "one class in the answers", logloss_binary(target, length), s, a.assign(**{target: 0}))
        add(competition, "above 1", logloss_binary(target, length), s.assign(**{target: s[target] + 1}), a)
    votes = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
    a = pd.DataFrame(rng.integers(0, 5, (25, 6)), columns=votes)
    a["other_vote"] += 1
    a.insert(0, "eeg_id", rng.permutation(25))
    s = a.copy()
    s[votes] = rng.dirichlet(np.ones(6), 25)
    common_faults("hms-harmful-brain-activity-classification", brain, s, a)
    add("hms-harmful-brain-activity-classification", "even", brain, s.assign(**{v: 1 / 6 for v in votes}), a)
    add("hms-harmful-brain-activity-classification", "certain", brain,
        s.assign(**{v: 0.0 for v in votes}).assign(gpd_vote=1.0), a)
    add("hms-harmful-brain-activity-classification", "an extra column", brain, s.assign(extra=0.5), a)
    rows = [f"1.2.{study[3:]}_{part}" for study in ids(9)
            for part in ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]]
    a = pd.DataFrame({"row_id": rows, "fractured": both(72)})
    s = a.assign(fractured=rng.random(72).round(3))
    common_faults("rsna-2022-cervical-spine-fracture-detection", fractures, s, a)
    add("rsna-2022-cervical-spine-fracture-detection", "a part is missing in one study", fractures, s.iloc[1:], a.iloc[1:])
    add("rsna-2022-cervical-spine-fracture-detection", "a part is missing in all", fractures,
        s[~s["row_id"].str.endswith("C3")], a[~a["row_id"].str.endswith("C3")])
    add("rsna-2022-cervical-spine-fracture-detection", "certain", fractures, a.assign(fractured=1 - a["fractured"]), a)
    classes = [f"sound {i}" for i in range(9)]
    a = pd.DataFrame(rng.integers(0, 2, (20, 9)) * rng.integers(0, 2, (20, 1)), columns=classes)
    a.insert(0, "fname", ids(20))
    s = a.copy()
    s[classes] = rng.integers(0, 6, (20, 9)) / 6
    common_faults("freesound-audio-tagging-2019", lwlrap, s, a)


def numbers():
    for competition, key, target, options in [
        ("denoising-dirty-documents", "id", "value", {}),
        ("new-york-city-taxi-fare-prediction", "key", "fare_amount", {"length": False, "compare": None}),
        ("petfinder-pawpularity-score", "Id", "Pawpularity", {"length": False, "between": (1, 100)}),
    ]:
        for n in [1, 5, 33, 140]:
            a = pd.DataFrame({key: ids(n), target: rng.uniform(1, 100, n).round(3)})
            s = a.assign(**{target: rng.uniform(1, 100, n)})
            add(competition, f"{n} rows", rmse(key, target, **options), shuffled(s), a)
        common_faults(competition, rmse(key, target, **options), s, a)
        add(competition, "halves in rounding", rmse(key, target, **options), a.assign(**{target: 1.0}).iloc[:64],
            a.assign(**{target: [1.0078125] * 64 + [1.0] * (len(a) - 64)}).iloc[:64])
        add(competition, "squares overflow", rmse(key, target, **options), s.assign(**{target: 1e200}), a)
        add(competition, "whole numbers", rmse(key, target, **options), s.assign(**{target: s[target].astype(int)}), a)
        add(competition, "out of range", rmse(key, target, **options), s.assign(**{target: s[target] - 50}), a)
    columns = ["formation_energy_ev_natom", "bandgap_energy_ev"]
    for n in [1, 12, 70]:
        a = pd.DataFrame({"id": range(n), columns[0]: rng.random(n).round(4), columns[1]: rng.uniform(0, 5, n).round(4)})
        s = a.assign(**{c: rng.uniform(0, 5, n).round(4) for c in columns})
        add("nomad2018-predict-transparent-conductors", f"{n} rows", nomad, s, a)
    common_faults("nomad2018-predict-transparent-conductors", nomad, s, a)
    add("nomad2018-predict-transparent-conductors", "negative", nomad, s.assign(bandgap_energy_ev=-0.1), a)
    a = pd.DataFrame({"id_seqpos": ids(30), **{c: rng.random(30).round(4) for c in
                      ["reactivity", "deg_Mg_pH10", "deg_Mg_50C", "deg_pH10", "deg_50C"]}, "keep": both(30) == 1})
    s = a.drop(columns="keep")
    s.iloc[:, 1:] = rng.random((30, 5)).round(3)
    common_faults("stanford-covid-vaccine", covid, s, a)
    a = pd.DataFrame({"id": rng.permutation(50), "pressure": rng.normal(15, 5, 50).round(3), "u_out": both(50)})
    s = a[["id", "pressure"]].assign(pressure=rng.normal(15, 5, 50))
    common_faults("ventilator-pressure-prediction", ventilator, s, a)
    for n in [2, 25]:
        a = pd.DataFrame({"segment_id": rng.permutation(n), "time_to_eruption": rng.integers(0, 10**7, n)})
        s = a.assign(time_to_eruption=rng.uniform(0, 10**7, n))
        add("predict-volcanic-eruptions-ingv-oe", f"{n} rows", volcanoes, shuffled(s), a)
    common_faults("predict-volcanic-eruptions-ingv-oe", volcanoes, s, a)
    add("predict-volcanic-eruptions-ingv-oe", "half", volcanoes, a.assign(time_to_eruption=a["time_to_eruption"] + 2.5), a)
    a = pd.DataFrame({"id": range(40), "scalar_coupling_constant": rng.normal(size=40).round(4),
                      "type": rng.choice(["1JHC", "2JHH", "3JHN"], 40)})
    s = a[["id", "scalar_coupling_constant"]].assign(scalar_coupling_constant=rng.normal(size=40).round(4))
    common_faults("champs-scalar-coupling", champs, s, a)
    add("champs-scalar-coupling", "a perfect type", champs, a.drop(columns="type"), a)
    for n in [2, 3, 40]:
        a = pd.DataFrame({"id": ids(n), "score": rng.choice([0, 0.25, 0.5, 0.75, 1.0], n)})
        a.loc[:1, "score"] = [0.0, 1.0]
        s = a.assign(score=rng.random(n).round(3))
        add("us-patent-phrase-to-phrase-matching", f"{n} rows", patents, shuffled(s), a)
    common_faults("us-patent-phrase-to-phrase-matching", patents, s, a)
    add("us-patent-phrase-to-phrase-matching", "constant", patents, s.assign(score=0.5), a)
    add("us-patent-phrase-to-phrase-matching", "infinite", patents, s.assign(score=["inf", *s["score"].iloc[1:]]), a)
    columns = [f"question_{i}" for i in range(5)]
    a = pd.DataFrame({"qa_id": range(30), **{c: rng.integers(0, 4, 30) / 3 for c in columns}})
    s = a.assign(**{c: rng.integers(0, 9, 30) / 9 for c in columns})
    common_faults("google-quest-challenge", quest, s, a)
    add("google-quest-challenge", "a constant column", quest, s.assign(question_1=0.5), a)
    add("google-quest-challenge", "infinite", quest, s.assign(question_1=["inf", *s["question_1"].iloc[1:]]), a)
    a = pd.DataFrame({"Patient_Week": [f"p{p}_{w}" for p in range(6) for w in range(-2, 5)],
                      "Patient": [f"p{p}" for p in range(6) for _ in range(7)], "FVC": rng.integers(1500, 4000, 42) * 1.0})
    a.loc[a.index % 7 == 1, "FVC"] = None
    s = a[["Patient_Week"]].assign(FVC=rng.integers(1500, 4000, 42), Confidence=rng.integers(20, 400, 42))
    common_faults("osic-pulmonary-fibrosis-progression", fibrosis, s, a)
    add("osic-pulmonary-fibrosis-progression", "five rows", fibrosis, s.iloc[30:35], a)
    add("osic-pulmonary-fibrosis-progression", "one row many times", fibrosis, pd.concat([s.iloc[41:42]] * 4), a)
    add("osic-pulmonary-fibrosis-progression", "no row that counts", fibrosis, s.iloc[:1], a)
    add("osic-pulmonary-fibrosis-progression", "a prediction is missing", fibrosis,
        s.assign(FVC=[*s["FVC"].iloc[:-1], None]), a)
    a = pd.DataFrame({"event_id": rng.permutation(40), "azimuth": rng.uniform(0, 6.28, 40), "zenith": rng.uniform(0, 3.14, 40)})
    s = a.assign(azimuth=rng.uniform(0, 6.28, 40).round(3), zenith=rng.uniform(0, 3.14, 40).round(3))
    common_faults("icecube-neutrinos-in-deep-ice", neutrinos, s, a)
    add("icecube-neutrinos-in-deep-ice", "infinite", neutrinos, s.assign(zenith=["inf", *s["zenith"].iloc[1:]]), a)
    trips = np.repeat(["trip/a", "trip/b", "trip/c"], [9, 14, 21])
    a = pd.DataFrame({"tripId": trips, "UnixTimeMillis": range(44), "LatitudeDegrees": rng.normal(37, 0.1, 44),
                      "LongitudeDegrees": rng.normal(-122, 0.1, 44)})
    s = a.assign(LatitudeDegrees=a["LatitudeDegrees"] + rng.normal(0, 1e-3, 44),
                 LongitudeDegrees=a["LongitudeDegrees"] + rng.normal(0, 1e-3, 44))
    common_faults("smartphone-decimeter-2022", phones, s, a)


def texts():
    words = ["the", "Cat", "sat", "on", "a", "MAT", "naïve", "日本", "x,y", '"quoted"', "NA", "ﬁ", "İstanbul"]
    sentence = lambda low=1: " ".join(rng.choice(words, rng.integers(low, 7)))
    a = pd.DataFrame({"id": rng.permutation(25), "sentence": [sentence(2) for _ in range(25)]})
    s = a.assign(sentence=[sentence(2) for _ in range(25)])
    common_faults("billion-word-imputation", distance_mean("id", "sentence", False), s, a)
    add("billion-word-imputation", "numbers", distance_mean("id", "sentence", False), s.assign(sentence=5), a)
    rename = {"id": "image_id", "sentence": "InChI"}
    common_faults("bms-molecular-translation", distance_mean("image_id", "InChI", True), s.rename(columns=rename),
                  a.rename(columns=rename))
    add("bms-molecular-translation", "numbers", distance_mean("image_id", "InChI", True),
        s.rename(columns=rename).assign(InChI=0.1), a.rename(columns=rename))
    sequence = lambda: " ".join(map(str, rng.integers(1, 21, rng.integers(1, 9))))
    a = pd.DataFrame({"Id": range(300, 320), "Sequence": [sequence() for _ in range(20)]})
    s = a.assign(Sequence=[sequence() for _ in range(20)])
    common_faults("multi-modal-gesture-recognition", gestures, s, a)
    add("multi-modal-gesture-recognition", "one gesture each", gestures, s.assign(Sequence=7), a)
    a = pd.DataFrame({"id": ids(25), "PredictionString": [sentence() for _ in range(25)]})
    s = a.assign(PredictionString=[sentence() for _ in range(25)])
    common_faults("chaii-hindi-and-tamil-question-answering", chaii, s, a)
    rename = {"id": "textID", "PredictionString": "selected_text"}
    common_faults("tweet-sentiment-extraction", tweets, s.rename(columns=rename), a.rename(columns=rename))
    for competition, grade, table in [("chaii-hindi-and-tamil-question-answering", chaii, {}),
                                      ("tweet-sentiment-extraction", tweets, rename)]:
        empty = lambda t: t.assign(PredictionString=["", *t["PredictionString"].iloc[1:]]).rename(columns=table)
        add(competition, "both empty in one row", grade, empty(s), empty(a))
        add(competition, "numbers", grade, s.assign(PredictionString=5).rename(columns=table), a.rename(columns=table))
    cells = lambda: [f"c{i}" for i in rng.permutation(rng.integers(2, 12))]
    orders = [cells() for _ in range(15)]
    a = pd.DataFrame({"id": ids(15), "cell_order": [" ".join(order) for order in orders]})
    s = a.assign(cell_order=[" ".join(rng.permutation(order)) for order in orders])
    common_faults("AI4Code", notebooks, s, a)
    add("AI4Code", "a cell twice", notebooks,
        s.assign(cell_order=[" ".join([order[0]] * len(order)) for order in orders]), a)
    for competition, key, target in [("facebook-recruiting-iii-keyword-extraction", "Id", "Tags"),
                                     ("imet-2020-fgvc7", "id", "attribute_ids"),
                                     ("plant-pathology-2021-fgvc8", "image", "labels")]:
        some = lambda high: " ".join(sorted({f"t{i}" for i in rng.integers(0, high, rng.integers(1, 5))}))
        a = pd.DataFrame({key: ids(20), target: [some(6) for _ in range(20)]})
        s = a.assign(**{target: [some(8) for _ in range(20)]})
        common_faults(competition, tags(key, target), s, a)
        add(competition, "a tag twice", tags(key, target), s.assign(**{target: s[target] + " t1 t1"}), a)
        add(competition, "no known tag", tags(key, target), s.assign(**{target: "unknown"}), a)
        add(competition, "all empty", tags(key, target), s.assign(**{target: None}), a)
        add(competition, "numbers", tags(key, target), s.assign(**{target: 5}), a)
    for competition, key, target, k, exact, superset in [
        ("hotel-id-2021-fgvc8", "image", "hotel_id", 5, False, False),
        ("whale-categorization-playground", "Image", "Id", 5, True, False),
        ("h-and-m-personalized-fashion-recommendations", "customer_id", "prediction", 12, True, True),
    ]:
        guesses = lambda high, n: " ".join(map(str, rng.integers(0, high, rng.integers(1, n))))
        a = pd.DataFrame({key: ids(25), target: [guesses(9, 4) for _ in range(25)]})
        s = a.assign(**{target: [guesses(9, 16) for _ in range(25)]})
        grade = ranked(key, target, k, exact, superset)
        common_faults(competition, grade, s, a)
        add(competition, "single numbers on both sides", grade, s.assign(**{target: rng.integers(0, 5, 25)}),
            a.assign(**{target: rng.integers(0, 5, 25)}))
        add(competition, "two blanks", grade, s.assign(**{target: s[target].str.replace(" ", "  ")}), a)


def masks():
    def runs(pixels, n):
        edges = np.sort(rng.choice(np.arange(1, pixels), 2 * n, replace=False))
        return " ".join(f"{low} {high - low}" for low, high in zip(edges[0::2], edges[1::2]))

    a = pd.DataFrame({"id": ids(12), "encoding": [runs(600, rng.integers(1, 6)) for _ in range(12)],
                      "width_pixels": 20, "height_pixels": 30})
    s = a[["id"]].assign(predicted=[runs(600, rng.integers(1, 6)) for _ in range(12)])
    common_faults("hubmap-kidney-segmentation", kidneys, s, a)
    first = lambda text: s.assign(predicted=[text, *s["predicted"].iloc[1:]])
    for note, text in [("an odd count", "1 2 3"), ("one number", "5"), ("five numbers", "1 2 5 2 9"),
                       ("overlap", "1 5 3 4"), ("touching", "1 5 6 4"), ("not sorted", "9 2 1 3"), ("zero", "0 5"),
                       ("zero length", "5 0"), ("negative", "-5 3"), ("beyond the image", "590 50"),
                       ("wholly beyond the image", "700 5"), ("floats", "1.5 2"), ("same start", "5 3 5 3"),
                       ("both beyond the image", "700 5 701 5"), ("blanks", "   ")]:
        add("hubmap-kidney-segmentation", note, kidneys, first(text), a)
    a = pd.DataFrame({"record_id": range(10), "encoded_pixels": [runs(400, 3) for _ in range(9)] + ["-"],
                      "height": 20, "width": 20})
    s = a[["record_id"]].assign(encoded_pixels=["-"] + [runs(400, 2) for _ in range(9)])
    common_faults("google-research-identify-contrails-reduce-global-warming", contrails, s, a)
    a = pd.DataFrame({"id": ids(20), "rle_mask": [runs(101 * 101, rng.integers(1, 4)) for _ in range(20)]})
    near = lambda text: " ".join(str(max(1, int(x) + (i % 2) * int(rng.integers(-60, 60))))
                                 for i, x in enumerate(text.split()))
    a.loc[:3, "rle_mask"] = ["", "", "1 10201", "1 8000"]
    s = a.assign(rle_mask=[near(text) if len(text.split()) == 2 else text for text in a["rle_mask"]])
    s.loc[:5, "rle_mask"] = ["", "5 5", "", "", "1 10201", ""]
    common_faults("tgs-salt-identification-challenge", salt, s, a)
    add("tgs-salt-identification-challenge", "halves of a mask", salt, s.assign(rle_mask="1 5000"),
        a.assign(rle_mask=[f"1 {5000 + 500 * i}" for i in range(11)] + ["2 4999"] * 9))
    a = pd.DataFrame({"Id": ["a", "b", "c"], "Predicted": [runs(900, 4) for _ in range(3)], "width": 30, "height": 30})
    s = a[["Id"]].assign(Predicted=[runs(900, 3) for _ in range(3)])
    common_faults("vesuvius-challenge-ink-detection", ink, s, a)


# --- tables -------------------------------------------------------------------------------------------------------

TEXTS = [
    "", "\n\n", "a,b", "a,b\n", "a,b\n1,2\n", "a,b\n1,2,3\n4,5,6\n", "a,b\n1,2\n4,5,6\n", "a,b\n1,2,3\n4,5\n",
    "a,b\n1\n2,3\n", "a,a,a\n1,2,3\n", "a,a.1,a\n1,2,3\n", "a.1,a,a\n1,2,3\n", "a,b\n 1,2\n", "a,b\n1 , 2 \n",
    "a,b\nx,1\n\n\ny,2\n", "a,b\n  \nx,1\n", "a,b\n,\n1,2\n", 'a,b\n"1",2\n', 'a,b\n"x"y,2\n', 'a,b\nx"y,2\n',
    'a,b\n"x,2\n', 'a,b\n"x\ny",2\n', 'a,b\n"x""y",2\n', 'a,b\n"x""y"z"w,2\n', 'a,b\n"",2\n', 'a\n""""\n',
    "\ufeffa,b\n1,2\n", '\ufeff"a",b\n1,2\n', "a,b\r\n1,2\r\n", "a,b\r1,2\r", "a,b\n1,2\r\n\r\n3,4",
    "a,b\nTrue,1\nFALSE,2\n", "a,b\nTrue,1\n,2\n", "a,b\nTrue,1\n1,2\n", "a,b\ntrue,1\nTRUE,2\ntRue,1\n",
    "a\n1e400\n-1e400\n", "a\ninf\n-inf\nInfinity\n+inf\n", "a\nINF\niNfinity\n", "a\nnan\n1\n", "a\n1,000\n",
    "a\n9223372036854775807\n", "a\n9223372036854775808\n", "a\n18446744073709551615\n", "a\n18446744073709551616\n",
    "a\n-1\n9223372036854775808\n", "a\n9223372036854775808\n-1\n", "a,b\n9223372036854775808,\n,1\n",
    "a\n9223372036854775808\n1.5\n", "a\n18446744073709551616\n1.5\n", "a\n1.5\n18446744073709551616\n",
    "a\n-9223372036854775808\n", "a\n-9223372036854775809\n", "a\n007\n", "a\n+5\n", "a\n-0\n", "a\n0x10\n", "a\n1_000\n",
    "a\n1.\n.5\n", "a\n1e5\n", "a\n1E+05\n", "a\n1d5\n", "a\n.\n", "a\n1e\n", "a\n--1\n", "a\n1 2\n", "a\n\t1\n",
    "a\n١\n", "a\n1\n9223372036854775808\nx\n", ",b\n1,2\n", "a,\n1,2\n", ",\n1,2\n", "a,b,\n1,2,\n", "a,b\n1,2,\n3,4,\n",
    "a,b\n1,2,\n3,4\n", b"a,b\n\xff,1\n", b"a,b\nx\x00y,1\n", b"a,b\x00c\n1,2\n", "a,b\n\x001,2\n", "a b\n1 2\n",
    "a;b\n1;2\n", "a\n1\n\n2\n", 'a\n""\n1\n', "a,b\nNone,NULL\n<NA>,n/a\n", "a\nNA \n1\n", "1,2\n3,4\n",
    "a,b\n1,2\n#c\n", "a,b\n1,2\n3\n4,5,6,7\n", 'a,b\n"1",""\n', "a\n1\nx\n", "a\n1.0\nx\n", "a\nTrue\nx\n", "a\n 1\nx\n",
    "a\n1e3\n5\nnan\n", "a\n00\n1\n", "a\n1.0000000000000002\n0.1\n2.2250738585072011e-308\n", 'a\n1\n"2"\n',
    'a,b\n1,2\n"\n', "a,b\n1,2,3\n", "a,b\n1,2\n3,4\n5,6,\n", "a,b\n1,2,3,4\n5,6,7,8\n", "a\n1,2\n3,4\n", "a,b\n1,2,\n",
    "a,b,a\n1,2,3,4\n", "Unnamed: 0,a\n1,2\n", "a,b\n1.5,2\n \n3,4\n", "a\n \n1\n", "a,b\n1\x1a,2\n",
    "a\nTrue\nFalse\nnan\n", "a\nyes\n", "a\n1\n-\n", "a\n1e-400\n", "a\n0.1e1\n", "a\n1,\n2,\n", " a,b\n1,2\n",
    "a\n#N/A\n1\n", "a\n-nan\n-NaN\n1.#QNAN\n-1.#IND\n#NA\n", "a\nNAN\n", "a\nNone\nx\n", "a\nnull\n1\n", "a\nNil\n",
    "a\n-inf\nx\n", "a\n1e309\n1\n", "a\n1.7976931348623157e308\n", "a\n123456789012345678901234567890.5\n",
    "a\n0.1234567890123456789012345678901234567890\n", "a\n9223372036854775808.5\n", "a\n-9223372036854775809.5\n",
    "a\n-9223372036854775809\n\"\"\n", "a\n18446744073709551616\n\"\"\n", "a\n99999999999999999999x\n1.5\n", "\n\na,b\n1,2\n", "a,b\n1,2\n\n", "a,b\n1,2", 'a,b\n1,"2', "a\n\"x\r\ny\"\n",
    "a\n5e-324\n", "a\nTrue\n1.0\n", "a\n1\nTrue\n", "a,b\nx,\ny,\n", "\t\na\n1\n", "a\n,\n", "é,ß\n日,本\n", "a\n+\n", "a\n+-1\n",
    "a\n1.5 \n 2.5\n", "a\n1.5.2\n", "a\n1e5e5\n", "a\ninfinit\n", "a\n nan\n1\n", "a\n\x0b1\n", "a\n\u00a01\n",
]


def frames():
    described = []
    for text in TEXTS:
        data = text if isinstance(text, bytes) else text.encode()
        try:
            table = read(data)
            frame = [[str(name), str(table[name].dtype), [str(value) for value in table[name].tolist()]]
                     for name in table.columns]
        except (pd.errors.ParserError, UnicodeDecodeError):
            frame = None
        case = {"note": repr(text), "frame": frame}
        case["hex" if isinstance(text, bytes) else "bytes"] = data.hex() if isinstance(text, bytes) else text
        described.append(case)
    return described


def write(name, rows):
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    Path(__file__).with_name(name).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    for part in [probabilities, labels, losses, numbers, texts, masks]:
        part()
    write("generated.json", cases)
    write("frames.json", frames())
    print(len(cases), "cases,", sum(case["raw_repr"] is not None for case in cases), "with a score;",
          len(TEXTS), "tables;", Counter(case["raw_type"] for case in cases))
