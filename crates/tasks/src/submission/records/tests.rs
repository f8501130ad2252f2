//! Tests of `records`: the same fields as the crate `csv` gives, for texts by chance.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;

fn split(text: &str) -> Result<Vec<Vec<String>>, Unclosed> {
    let (mut records, mut fields, mut all) = (Records::new(text, usize::MAX), Vec::new(), Vec::new());
    while let Some(record) = records.next(&mut fields)? {
        assert_eq!(record.fields, fields.len());
        all.push(fields.iter().map(|field| field.text(text).into_owned()).collect());
    }
    Ok(all)
}

fn by_csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let records = reader.records().map(|record| {
        let record = record.unwrap();
        record.iter().map(str::to_owned).collect()
    });
    records.collect()
}

#[test]
fn fields_are_those_that_the_crate_csv_gives() {
    const PARTS: [&str; 14] = [
        ",",
        "\n",
        "\r\n",
        "\r",
        "\"",
        "\"\"",
        " ",
        "a",
        "0.5",
        "é",
        "\u{a0}",
        "\"x,y\"",
        "\"q\"\"q\"",
        "\"l\nl\"",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut compared = 0;
    for _ in 0..10_000 {
        let length = random.random_range(0..12);
        let text: String = (0..length)
            .map(|_| PARTS[random.random_range(0..PARTS.len())])
            .collect();
        // The crate takes an unclosed quote as closed by the end of the text.
        if let Ok(split) = split(&text) {
            assert_eq!(split, by_csv(&text), "{text:?}");
            compared += 1;
        }
    }
    assert!(compared > 4_000, "{compared}");
}

#[test]
fn quote_that_is_never_closed_is_found_where_it_opens() {
    assert_eq!(split("a,b\n1,\"2\n3,4\n"), Err(Unclosed(6)));
    assert_eq!(split("\"a\"\"b"), Err(Unclosed(0)));
    assert_eq!(
        split("a\"b,c\n"),
        Ok(vec![vec!["a\"b".to_owned(), "c".to_owned()]])
    );
}

#[test]
fn fields_beyond_those_wanted_are_counted_only() {
    let text = ",".repeat(1000);
    let (mut records, mut fields) = (Records::new(&text, 2), Vec::new());
    assert_eq!(
        records.next(&mut fields),
        Ok(Some(Record {
            start: 0,
            fields: 1001
        }))
    );
    assert_eq!(fields.len(), 2);
}

#[test]
fn lines_are_counted_at_every_kind_of_line_end() {
    let text = "a\nb\r\nc\rd";
    let lines = [0, 2, 5, 7].map(|at| line_of(text, at));
    assert_eq!(lines, [1, 2, 3, 4]);
}
