//! The form of a trace id.

use super::new_traceparent;

#[test]
fn traceparent_has_the_form_of_w3c_and_is_new_each_time() {
    let parent = new_traceparent();
    let lengths: Vec<usize> = parent.split('-').map(str::len).collect();
    assert_eq!(lengths, [2, 32, 16, 2], "{parent}");
    assert!(
        parent.chars().all(|c| c == '-' || c.is_ascii_hexdigit()),
        "{parent}"
    );
    assert_ne!(parent, new_traceparent());
}
