//! Tests of `submission`: every way of being wrong is a sentence, and what is right is read.

use super::*;

fn ids() -> Ids {
    Ids::new(["a", "b", "c"].map(str::to_owned).to_vec()).unwrap()
}

fn read(bytes: &[u8]) -> Result<Submission<'_>, Invalid> {
    Submission::read(bytes, "id", &["y".to_owned()], &ids())
}

fn numbers(text: &str) -> Result<Vec<f64>, Invalid> {
    read(text.as_bytes())?.numbers(0, "y", (0.0, 1.0))
}

#[test]
fn submission_in_any_row_and_column_order_is_put_in_the_order_of_the_ids() {
    assert_eq!(numbers("y,id\n0.3,c\n0.1,a\n0.2,b\n"), Ok(vec![0.1, 0.2, 0.3]));
}

#[test]
fn submission_with_bom_crlf_blank_lines_spaces_and_quotes_is_read() {
    assert_eq!(
        numbers("\u{feff}id , y\r\n\"a\", 0.1\r\n\r\nb,+.2\r\nc,3e-1\r\n"),
        Ok(vec![0.1, 0.2, 0.3])
    );
}

#[test]
fn submission_that_is_wrong_gets_its_kind_and_a_sentence() {
    use InvalidKind::*;
    let many: String = (0..10_000).map(|i| format!("c{i},")).collect();
    let cases: &[(&[u8], InvalidKind, &str)] = &[
        (b"", Empty, "file is empty"),
        (b" \n\r\n", Empty, "only blanks"),
        (b"\xef\xbb\xbf", Empty, "only blanks"),
        (b"\x1f\x8b\x08\x00", NotCsv, "compressed"),
        (b"PK\x03\x04zip", NotCsv, "compressed"),
        (b"\xff\xfei\0d\0", NotCsv, "UTF-16"),
        (b"id,y\na,0\0", NotCsv, "byte 8 is NUL"),
        (b"id,y\n\xe9,0.5\n", NotCsv, "byte 5 is not UTF-8"),
        (b"id,y\n\"a,0.5\nb,0.5\nc,0.5\n", NotCsv, "never closed"),
        (
            b"a,b,c\n1,2,3\n",
            Columns,
            "the column `id` is missing; the columns must be `id`, `y`",
        ),
        (b"id,Y\na,1\n", Columns, "the column `y` is missing"),
        (b"id,y,y\na,1,1\n", Columns, "`y` is there twice"),
        (b"id,y,z\na,1,1\n", Columns, "extra column `z`"),
        (b",id,y\n0,a,1\n", Columns, "index=False"),
        (b"Unnamed: 0,id,y\n0,a,1\n", Columns, "index=False"),
        (many.as_bytes(), Columns, "the header has 10001 columns"),
        (
            b"id,y\na,0.5\nb,0.5,7\nc,0.5\n",
            Fields,
            "line 3 has 3 fields, but the header has 2",
        ),
        (b"id,y\na,1,234\nb,0\nc,0\n", Fields, "thousands separators"),
        (b"id,y\na\nb,0\nc,0\n", Fields, "line 2 has 1 fields"),
        (b"id,y\n", Rows, "has 0 rows, but needs 3"),
        (b"id,y\na,0\nb,0\n", Rows, "has 2 rows, but needs 3"),
        (b"id,y\na,0\nb,0\nc,0\nd,0\n", Rows, "has 4 rows, but needs 3"),
        (
            b"id,y\na,0\nb,0\nb,0\n",
            Ids,
            "the id `b` is on line 3 and again on line 4",
        ),
        (
            b"id,y\na,0\nb,0\nx,0\n",
            Ids,
            "line 4 has the id `x`, which is not in test.csv",
        ),
        (
            b"id,y\na,0\nb,\nc,0\n",
            Values,
            "line 3, column `y`: `` is a missing value",
        ),
        (b"id,y\na,0\nb,NaN\nc,0\n", Values, "`NaN` is a missing value"),
        (b"id,y\na,0\nb,yes\nc,0\n", Values, "`yes` is not a number"),
        (
            b"id,y\na,0\nb,[0.1 0.9]\nc,0\n",
            Values,
            "`[0.1 0.9]` is not a number",
        ),
        (
            b"id,y\na,0\nb,\"1,234\"\nc,0\n",
            Values,
            "`1,234` is not a number",
        ),
        (b"id,y\na,0\nb,inf\nc,0\n", Values, "`inf` is not a finite number"),
        (
            b"id,y\na,0\nb,1e400\nc,0\n",
            Values,
            "`1e400` is not a finite number",
        ),
        (b"id,y\na,0\nb,-0.1\nc,0\n", Values, "`-0.1` is out of range"),
        (b"id,y\na,0\nb,1.5\nc,0\n", Values, "probabilities from 0 to 1"),
    ];
    for (bytes, kind, wanted) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        let invalid = read(bytes)
            .and_then(|submission| submission.numbers(0, "y", (0.0, 1.0)))
            .expect_err("a wrong submission is refused");
        assert_eq!(invalid.kind, *kind, "{shown:?}: {invalid}");
        assert!(invalid.message.contains(wanted), "{shown:?}: {invalid}");
    }
}

#[test]
fn submission_message_cuts_long_values_and_hides_control_characters() {
    let text = format!("id,y\na,0\nb,\x1b[31m{}\nc,0\n", "x".repeat(1000));
    let message = numbers(&text).unwrap_err().message;
    assert!(message.len() < 200 && !message.contains('\x1b'), "{message}");
}

#[test]
fn labels_are_equal_as_text_as_numbers_and_as_truth_words() {
    let classes = ["0", "1"].map(str::to_owned);
    let submission = read(b"id,y\na,0\nb,1.0\nc,1e0\n").unwrap();
    assert_eq!(submission.labels(0, "y", &classes), Ok(vec![0, 1, 1]));
    let classes = ["False", "True"].map(str::to_owned);
    let submission = read(b"id,y\na,TRUE\nb,false\nc,True\n").unwrap();
    assert_eq!(submission.labels(0, "y", &classes), Ok(vec![1, 0, 1]));
}

#[test]
fn label_that_was_never_seen_is_refused_with_the_labels() {
    let submission = read(b"id,y\na,0\nb,0.5\nc,1\n").unwrap();
    let invalid = submission
        .labels(0, "y", &["0", "1"].map(str::to_owned))
        .unwrap_err();
    assert_eq!(invalid.kind, InvalidKind::Values);
    assert_eq!(
        invalid.message,
        "line 3, column `y`: `0.5` is not one of the labels `0`, `1`"
    );
}

#[test]
fn ids_that_repeat_are_refused() {
    assert_eq!(Ids::new(vec!["a".to_owned(), "a".to_owned()]).unwrap_err(), "a");
}
