//! Order of addition. That it is numpy's shows in the cases of `crate::tests`, which are compared bit by bit.

use super::*;

#[test]
fn sum_of_a_piece_is_pairwise_and_pieces_are_added_in_turn() {
    // From left to right, each 1.0 would be lost beside 2^53; in eight running sums only the first lane's is.
    let mut values = vec![1.0; 16];
    values[0] = 2f64.powi(53);
    assert_eq!(sum(values), 2f64.powi(53) + 14.0);
    assert_eq!(sum(vec![0.5; 3 * PIECE + 5]), 0.5 * (3 * PIECE + 5) as f64);
    assert_eq!(sum([]), 0.0);
    assert!(mean(&[]).is_nan());
}
