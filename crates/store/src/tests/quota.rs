//! Questions are counted by asker and window.

use anyhow::Result;

use super::server_and_store;

#[tokio::test]
async fn questions_are_counted_by_asker_and_window() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    for count in 1..=3 {
        assert_eq!(store.count_question("a", 7, 60).await?, count);
    }
    assert_eq!(store.count_question("b", 7, 60).await?, 1);
    assert_eq!(store.count_question("a", 8, 60).await?, 1);
    Ok(())
}
