//! Tests of `snippet`.

use super::*;

fn strings(values: &[&str]) -> Vec<String> {
    values.iter().map(|value| (*value).to_owned()).collect()
}

#[test]
fn kind_is_what_pandas_would_read() {
    assert_eq!(kind(&strings(&["1", "-2"])), Kind::Int);
    assert_eq!(kind(&strings(&["1", ""])), Kind::Float);
    assert_eq!(kind(&strings(&["1", "2.5", ""])), Kind::Float);
    assert_eq!(kind(&strings(&["1", "x"])), Kind::Text);
    assert_eq!(kind(&strings(&["", ""])), Kind::Text);
}

#[test]
fn describe_lists_columns_types_and_sample_rows() {
    let table = |text: &str| Table::read(text.as_bytes()).unwrap();
    let text = describe(
        &table("id,name,age,y\n1,\"Ann, A\",,0\n2,Bo,3.5,1\n"),
        &table("id,name,age\n3,Cy,4\n4,Di,5\n5,Ed,6\n"),
        &table("id,y\n3,0.5\n4,0.5\n5,0.5\n"),
    );
    assert_eq!(
        text,
        "data/train.csv: 2 rows. Columns (type, example):\nid int 1\nname text \"Ann, A\"\nage float 3.5, has \
         gaps\ny int 0\ndata/test.csv: 3 rows, the same columns without `y`.\nsubmission.csv: 3 rows like \
         data/sample_submission.csv:\nid,y\n3,0.5\n4,0.5\n..."
    );
}

#[test]
fn table_with_a_short_row_is_refused() {
    assert!(Table::read(b"a,b\n1\n").is_err());
    assert!(Table::read(b"").is_err());
}

#[test]
fn numbered_columns_take_one_line_if_they_are_many() {
    let table = |text: &str| Table::read(text.as_bytes()).unwrap();
    let text = describe(
        &table("id,p_08,p_09,p_10,p_11,q1,q2,c1,c2,c3,c4\n1,0,0.5,1,x,7,8,0,1,0,1\n"),
        &table("id,p_08,p_09,p_10,p_11,q1,q2\n2,0,0,0,0,7,8\n"),
        &table("id,c1,c2,c3,c4\n2,0.5,0.5,0.5,0.5\n"),
    );
    assert_eq!(
        text,
        "data/train.csv: 1 rows. Columns (type, example):\nid int 1\np_08 to p_11 text \"0\", 4 columns\nq1 \
         int 7\nq2 int 8\nc1 to c4 int 0, 4 columns\ndata/test.csv: 1 rows, the same columns without `c1` to \
         `c4`.\nsubmission.csv: 1 rows like data/sample_submission.csv:\nid,c1,c2,c3,c4\n2,0.5,0.5,0.5,0.5\n..."
    );
}
