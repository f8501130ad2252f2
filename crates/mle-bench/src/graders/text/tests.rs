//! Edit distance and inversions: by hand and by counting.

use super::*;

#[test]
fn edit_distance_by_hand() {
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    for (a, b, distance) in [
        ("", "", 0),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("same", "same", 0),
        ("naïve", "naive", 1),
    ] {
        assert_eq!(edit_distance(&chars(a), &chars(b)), distance, "{a} {b}");
        assert_eq!(edit_distance(&chars(b), &chars(a)), distance, "{b} {a}");
    }
}

#[test]
fn inversions_equal_the_count_of_pairs() {
    let ranks = [3, 1, 1, 4, 0, 2, 2];
    let mut pairs = 0;
    for i in 0..ranks.len() {
        pairs += ranks[..i].iter().filter(|rank| **rank > ranks[i]).count() as u64;
    }
    assert_eq!(inversions(&ranks), pairs);
}
