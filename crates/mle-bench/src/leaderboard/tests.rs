//! Thresholds at the places that MLE-bench's own functions gave, medals, ranks.

use super::*;

/// A board on which the score is the place.
fn places(teams: usize) -> Board {
    Board((1..=teams).map(|place| place as f64).collect())
}

#[test]
fn thresholds_lie_at_the_places_of_mle_bench() {
    for (teams, expected) in [
        (1, (1.0, 1.0, 1.0)),
        (9, (1.0, 1.0, 3.0)),
        (99, (9.0, 19.0, 39.0)),
        (100, (10.0, 20.0, 40.0)),
        (249, (10.0, 49.0, 99.0)),
        (250, (10.0, 50.0, 100.0)),
        (999, (11.0, 50.0, 100.0)),
        (1000, (12.0, 50.0, 100.0)),
        (5000, (20.0, 250.0, 500.0)),
    ] {
        let thresholds = places(teams).thresholds();
        assert_eq!(
            (thresholds.gold, thresholds.silver, thresholds.bronze),
            expected,
            "{teams}"
        );
        assert_eq!(thresholds.median, (teams as f64 + 1.0) / 2.0);
    }
}

#[test]
fn medals_take_equal_scores_but_above_median_does_not() {
    let standings = Standings {
        thresholds: Thresholds {
            gold: 0.9,
            silver: 0.8,
            bronze: 0.7,
            median: 0.5,
        },
        lower_is_better: false,
        boards: Vec::new(),
    };
    let gold = standings.medals(0.9);
    assert!(gold.gold && !gold.silver && !gold.bronze && gold.above_median);
    assert!(standings.medals(0.89999).silver);
    assert!(standings.medals(0.7).bronze);
    assert!(!standings.medals(0.5).above_median);
    assert_eq!(standings.medals(f64::NAN), Medals::default());
    let lower = Standings {
        lower_is_better: true,
        thresholds: Thresholds {
            gold: 0.1,
            silver: 0.1,
            bronze: 0.1,
            median: 0.1,
        },
        boards: Vec::new(),
    };
    assert_eq!(
        lower.medals(0.1),
        Medals {
            gold: true,
            ..Medals::default()
        }
    );
    assert!(lower.medals(0.05).above_median);
}

#[test]
fn board_is_read_and_tells_its_direction() {
    let board = Board::read(b"scoreNullable,teamId,score\n1,5,0.1\n2,6,0.5\n3,7,0.9\n").unwrap();
    assert!(board.lower_is_better());
    assert_eq!(board.range(), (0.1, 0.9));
    assert!(!Board::read(b"score\n1\n1\n").unwrap().lower_is_better());
    assert_eq!(
        Board::read(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        Err(BoardError::Pointer)
    );
    assert_eq!(Board::read(b"rank\n1\n"), Err(BoardError::Scores));
    assert_eq!(Board::read(b"score\n"), Err(BoardError::Scores));
}

#[test]
fn human_rank_counts_equal_teams_as_beaten() {
    let board = Board(vec![0.9, 0.8, 0.8, 0.1]);
    // One better team: place 2 of 4.
    assert_eq!(board.human_rank(0.8, false), 0.75);
    assert_eq!(board.human_rank(1.0, false), 1.0);
    assert_eq!(board.human_rank(0.0, false), 0.0);
}

#[test]
fn relative_scores_by_hand() {
    assert_eq!(normalised(0.5, (1.0, 0.0)), 50.0);
    // Lower is better: best 0, worst 10.
    assert_eq!(normalised(1.0, (0.0, 10.0)), 90.0);
    assert_eq!(above_sample(0.6, 0.5, 0.9), (0.6 - 0.5) / (0.9 - 0.5));
}
