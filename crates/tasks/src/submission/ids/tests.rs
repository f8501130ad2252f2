//! Tests of `ids`: found by order and by name.

use super::*;

#[test]
fn ids_are_found_by_order_and_by_name() {
    let names: Vec<String> = (0..10_000).map(|i| format!("r{}", i * 7)).collect();
    let ids = Ids::new(&names).unwrap();
    assert_eq!((ids.len(), ids.is_empty()), (10_000, false));
    for (row, name) in names.iter().enumerate() {
        assert_eq!((ids.name(row), ids.row(name)), (name.as_str(), Some(row)));
        for guess in [row, 0, 9_999, 10_000, usize::MAX] {
            assert_eq!(ids.is_named(guess, name.as_bytes()), guess == row);
        }
    }
    assert_eq!(ids.row("r1"), None);
    assert!(!ids.is_named(3, b""));
}

#[test]
fn empty_name_is_an_id_too() {
    let ids = Ids::new(["", "a"]).unwrap();
    assert_eq!((ids.row(""), ids.name(0)), (Some(0), ""));
    assert_eq!(Ids::new(["a", "", ""]).unwrap_err(), "");
}

#[test]
fn debug_form_shows_no_names() {
    assert_eq!(format!("{:?}", Ids::new(["a", "b"]).unwrap()), "Ids { rows: 2 }");
}
