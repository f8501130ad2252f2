//! Head, tail and marker lines.

use super::Capture;

#[test]
fn short_output_is_kept_whole() {
    let mut capture = Capture::new(10, None);
    capture.push(b"01234");
    capture.push(b"56789");
    assert_eq!(capture.finish(), b"0123456789");
}

#[test]
fn long_output_keeps_head_and_tail() {
    let mut capture = Capture::new(8, None);
    for byte in b'a'..=b'z' {
        capture.push(&[byte]);
    }
    assert_eq!(capture.total(), 26);
    assert_eq!(capture.finish(), b"abcd\n[18 bytes left out]\nwxyz");
}

#[test]
fn one_large_write_keeps_head_and_tail() {
    let mut capture = Capture::new(8, None);
    capture.push(b"abcdefghijklmnopqrstuvwxyz");
    assert_eq!(capture.finish(), b"abcd\n[18 bytes left out]\nwxyz");
}

#[test]
fn marker_in_the_part_left_out_is_kept_once() {
    let mut capture = Capture::new(16, Some("SECRET"));
    for _ in 0..3 {
        capture.push(b"noise noise noise\nSECRET loa");
        capture.push(b"ded\nnoise noise noise\n");
    }
    let text = String::from_utf8(capture.finish()).expect("all of it is ASCII");
    assert_eq!(text.matches("SECRET loaded\n").count(), 1, "{text}");
}

#[test]
fn marker_cut_by_the_head_is_kept_whole() {
    let mut capture = Capture::new(16, Some("SECRET"));
    capture.push(b"abc\nSECRET loaded\n0123456789012345678901234567890\n");
    let text = String::from_utf8(capture.finish()).expect("all of it is ASCII");
    assert!(text.contains("\nSECRET loaded\n"), "{text}");
}

#[test]
fn prefix_inside_a_line_is_no_marker() {
    let mut capture = Capture::new(4, Some("SECRET"));
    capture.push(b"aaaa\nprefix SECRET loaded\nbbbb");
    assert_eq!(capture.finish(), b"aa\n[26 bytes left out]\nbb");
}
