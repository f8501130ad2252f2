//! What strict mode refuses though MLE-bench takes it.

use crate::{competition, frame::read::read, graders::grader, score::Score};

use super::*;

#[track_caller]
fn check(
    competition: &str,
    submission: &str,
    answers: &str,
) -> (Result<Score, Refusal>, Result<Score, Refusal>) {
    let facts = competition::find(competition).unwrap();
    let grade = grader(competition).unwrap();
    let (submission, answers) = (
        read(submission.as_bytes()).unwrap(),
        read(answers.as_bytes()).unwrap(),
    );
    let strict = align(&submission, &answers, facts).and_then(|aligned| grade(&aligned, &answers));
    (grade(&submission, &answers), strict)
}

#[test]
fn strict_matches_rows_by_id_where_mle_bench_goes_by_place() {
    let answers = "id,formation_energy_ev_natom,bandgap_energy_ev\n1,0.1,1\n2,0.2,2\n";
    let shuffled = "id,formation_energy_ev_natom,bandgap_energy_ev\n2,0.2,2\n1,0.1,1\n";
    let (compat, strict) = check("nomad2018-predict-transparent-conductors", shuffled, answers);
    assert!(compat.unwrap().raw() > 0.1);
    assert_eq!(strict, Ok(Score::Numpy(0.0)));
}

#[test]
fn strict_refuses_foreign_ids_and_missing_rows() {
    let answers = "key,fare_amount\na,1\nb,2\n";
    let (compat, strict) = check(
        "new-york-city-taxi-fare-prediction",
        "key,fare_amount\nx,1\ny,2\n",
        answers,
    );
    assert_eq!(compat, Ok(Score::Numpy(0.0)));
    assert!(strict.unwrap_err().to_string().contains("no row for the id `a`"));

    let answers = "Patient_Week,Patient,FVC\np_1,p,2000\np_2,p,2100\n";
    let (compat, strict) = check(
        "osic-pulmonary-fibrosis-progression",
        "Patient_Week,FVC,Confidence\np_1,2000,70\n",
        answers,
    );
    assert!(compat.is_ok());
    assert!(strict.unwrap_err().to_string().contains("`p_2`"));
}

#[test]
fn strict_takes_columns_by_name_where_mle_bench_goes_by_place() {
    let answers = "id,toxic,severe_toxic,obscene,threat,insult,identity_hate\n\
                   a,0,1,0,1,0,1\nb,1,0,1,0,1,0\n";
    let permuted = "id,severe_toxic,toxic,obscene,threat,insult,identity_hate\n\
                    a,1,0,0,1,0,1\nb,0,1,1,0,1,0\n";
    let (compat, strict) = check("jigsaw-toxic-comment-classification-challenge", permuted, answers);
    assert!(compat.unwrap().raw() < 1.0);
    assert_eq!(strict, Ok(Score::Numpy(1.0)));
}

#[test]
fn strict_lets_customers_pass_that_are_not_graded() {
    let answers = "customer_id,prediction\na,1 2\n";
    let submission = "customer_id,prediction\nb,7\na,1 2\n";
    let (compat, strict) = check(
        "h-and-m-personalized-fashion-recommendations",
        submission,
        answers,
    );
    assert_eq!(compat, Ok(Score::Numpy(1.0)));
    assert_eq!(strict, Ok(Score::Numpy(1.0)));
    let twice = "customer_id,prediction\na,1 2\na,1 2\n";
    assert!(
        check("h-and-m-personalized-fashion-recommendations", twice, answers)
            .0
            .is_err()
    );
}
