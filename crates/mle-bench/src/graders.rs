//! What each competition's grader does, natively.
//!
//! Keyed by competition, not by the grader's name in `config.yaml`, which is wrong for two of them. A grader takes the
//! two tables and gives the score before rounding, or the reason why there is none. Facts come from MLE-bench's
//! `grade.py` files; no code does.

mod auc;
mod forecast;
mod labels;
mod masks;
mod probabilities;
mod regression;
mod sets;
mod text;

use crate::{frame::Frame, refusal::Refusal, score::Score};

/// Scores a submission against answers.
pub type Grade = fn(submission: &Frame, answers: &Frame) -> Result<Score, Refusal>;

/// The native grader of a competition, if there is one.
pub fn grader(competition: &str) -> Option<Grade> {
    Some(match competition {
        "3d-object-detection-for-autonomous-vehicles"
        | "kuzushiji-recognition"
        | "siim-covid19-detection"
        | "tensorflow2-question-answering"
        | "uw-madison-gi-tract-image-segmentation"
        | "vinbigdata-chest-xray-abnormalities-detection" => return None,

        "aerial-cactus-identification" => |s, a| auc::of_probabilities(s, a, "id", "has_cactus"),
        "detecting-insults-in-social-commentary" => |s, a| auc::of_probabilities(s, a, "Comment", "Insult"),
        "histopathologic-cancer-detection" => |s, a| auc::of_probabilities(s, a, "id", "label"),
        "invasive-species-monitoring" => |s, a| auc::of_probabilities(s, a, "name", "invasive"),
        "mlsp-2013-birds" => |s, a| auc::of_probabilities(s, a, "Id", "Probability"),
        "random-acts-of-pizza" => {
            |s, a| auc::of_probabilities(s, a, "request_id", "requester_received_pizza")
        }
        "rsna-miccai-brain-tumor-radiogenomic-classification" => {
            |s, a| auc::of_probabilities(s, a, "BraTS21ID", "MGMT_value")
        }
        "seti-breakthrough-listen" => |s, a| auc::of_probabilities(s, a, "id", "target"),
        "siim-isic-melanoma-classification" => |s, a| auc::of_probabilities(s, a, "image_name", "target"),
        "tabular-playground-series-may-2022" => |s, a| auc::of_probabilities(s, a, "id", "target"),
        "the-icml-2013-whale-challenge-right-whale-redux" => {
            |s, a| auc::of_probabilities(s, a, "clip", "probability")
        }
        "alaska2-image-steganalysis" => auc::alaska,
        "jigsaw-toxic-comment-classification-challenge" => auc::jigsaw_toxic,
        "jigsaw-unintended-bias-in-toxicity-classification" => auc::jigsaw_bias,
        "plant-pathology-2020-fgvc7" => auc::plant_pathology,
        "playground-series-s3e18" => auc::enzymes,
        "ranzcr-clip-catheter-line-classification" => auc::ranzcr,

        "cassava-leaf-disease-classification" => |s, a| labels::accuracy(s, a, "image_id", "label"),
        "cdiscount-image-classification-challenge" => |s, a| labels::accuracy(s, a, "_id", "category_id"),
        "iwildcam-2020-fgvc7" => |s, a| labels::accuracy(s, a, "Id", "Category"),
        "ml2021spring-hw2" => |s, a| labels::accuracy(s, a, "Id", "ClassId"),
        "movie-review-sentiment-analysis-kernels-only" => {
            |s, a| labels::accuracy(s, a, "PhraseId", "Sentiment")
        }
        "spaceship-titanic" => |s, a| labels::accuracy(s, a, "PassengerId", "Transported"),
        "tabular-playground-series-dec-2021" => |s, a| labels::accuracy(s, a, "Id", "Cover_Type"),
        "tensorflow-speech-recognition-challenge" => |s, a| labels::accuracy(s, a, "fname", "label"),
        "text-normalization-challenge-english-language" | "text-normalization-challenge-russian-language" => {
            labels::accuracy_of_strings
        }
        "paddy-disease-classification" => labels::paddy,
        "plant-seedlings-classification" => labels::seedlings,
        "inaturalist-2019-fgvc6" => labels::inaturalist,
        "herbarium-2020-fgvc7" | "herbarium-2021-fgvc8" | "herbarium-2022-fgvc9" => {
            |s, a| labels::f1_macro(s, a, "Id", "Predicted")
        }
        "iwildcam-2019-fgvc6" => |s, a| labels::f1_macro(s, a, "Id", "Category"),
        "aptos2019-blindness-detection" => labels::aptos,
        "learning-agency-lab-automated-essay-scoring-2" => labels::essays,
        "nfl-player-contact-detection" => labels::contacts,
        "rsna-breast-cancer-detection" => labels::breast_cancer,

        "dog-breed-identification" => probabilities::dogs,
        "leaf-classification" => probabilities::leaves,
        "spooky-author-identification" => probabilities::spooky,
        "lmsys-chatbot-arena" => probabilities::arena,
        "dogs-vs-cats-redux-kernels-edition" => probabilities::dogs_vs_cats,
        "statoil-iceberg-classifier-challenge" => probabilities::icebergs,
        "hms-harmful-brain-activity-classification" => probabilities::brain_activity,
        "rsna-2022-cervical-spine-fracture-detection" => probabilities::fractures,
        "freesound-audio-tagging-2019" => probabilities::freesound,

        "denoising-dirty-documents" => regression::documents,
        "new-york-city-taxi-fare-prediction" => regression::taxi,
        "petfinder-pawpularity-score" => regression::pawpularity,
        "nomad2018-predict-transparent-conductors" => regression::nomad,
        "stanford-covid-vaccine" => regression::covid,
        "ventilator-pressure-prediction" => regression::ventilator,
        "predict-volcanic-eruptions-ingv-oe" => regression::volcanoes,
        "champs-scalar-coupling" => regression::champs,
        "us-patent-phrase-to-phrase-matching" => regression::patents,
        "google-quest-challenge" => regression::quest,

        "osic-pulmonary-fibrosis-progression" => forecast::fibrosis,
        "icecube-neutrinos-in-deep-ice" => forecast::neutrinos,
        "smartphone-decimeter-2022" => forecast::smartphones,

        "billion-word-imputation" => text::billion_words,
        "bms-molecular-translation" => text::molecules,
        "multi-modal-gesture-recognition" => text::gestures,
        "chaii-hindi-and-tamil-question-answering" => text::chaii,
        "tweet-sentiment-extraction" => text::tweets,
        "AI4Code" => text::notebooks,

        "facebook-recruiting-iii-keyword-extraction" => |s, a| sets::tags(s, a, "Id", "Tags"),
        "imet-2020-fgvc7" => |s, a| sets::tags(s, a, "id", "attribute_ids"),
        "plant-pathology-2021-fgvc8" => |s, a| sets::tags(s, a, "image", "labels"),
        "hotel-id-2021-fgvc8" => sets::hotels,
        "whale-categorization-playground" => sets::whales,
        "h-and-m-personalized-fashion-recommendations" => sets::fashion,

        "hubmap-kidney-segmentation" => masks::kidneys,
        "google-research-identify-contrails-reduce-global-warming" => masks::contrails,
        "tgs-salt-identification-challenge" => masks::salt,
        "vesuvius-challenge-ink-detection" => masks::ink,
        _ => return None,
    })
}
