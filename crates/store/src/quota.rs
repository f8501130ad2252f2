//! How often something was asked, over all replicas of a service.

use crate::{Store, StoreError, keys};

impl Store {
    /// Counts one more question of `asker` in the window `window` of `window_s` seconds, and answers how many there are
    /// with it. Windows are numbered by their asker's clock; a count is gone two windows after its last question.
    pub async fn count_question(&self, asker: &str, window: i64, window_s: u64) -> Result<u64, StoreError> {
        let key = keys::questions(asker, window);
        let mut both = redis::pipe();
        both.cmd("INCR").arg(&key);
        both.cmd("EXPIRE").arg(&key).arg(2 * window_s).ignore();
        let (count,): (u64,) = self.run_all(&both).await?;
        Ok(count)
    }
}
