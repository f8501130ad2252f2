use super::excerpt;

#[test]
fn excerpt_keeps_head_and_tail() {
    assert_eq!(excerpt("short", 5), "short");
    assert_eq!(excerpt("0123456789", 8), "01\n[2 characters left out]\n456789");
    assert_eq!(excerpt("éèêëàâäôöù", 4), "é\n[6 characters left out]\nôöù");
    assert_eq!(excerpt("abc", 0), "\n[3 characters left out]\n");
}
