//! Blobs are what their hash says.

use anyhow::{Result, ensure};
use journeyman_schemas::{ids::ContentHash, job::Solution};

use super::{server_and_store, solution};
use crate::{BLOB_LIMIT_BYTES, StoreError, keys};

#[tokio::test]
async fn blob_comes_back_and_lives_seven_days_from_its_last_use() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let hash = store.put_blob(b"\x00\xffbytes").await?;
    assert_eq!(hash, ContentHash::of(b"\x00\xffbytes"));
    let () = store
        .run(redis::cmd("EXPIRE").arg(keys::blob(&hash)).arg(60))
        .await?;
    assert_eq!(store.put_blob(b"\x00\xffbytes").await?, hash);
    let life_s: i64 = store.run(redis::cmd("TTL").arg(keys::blob(&hash))).await?;
    assert!(life_s > 600_000, "{life_s}");
    let () = store
        .run(redis::cmd("EXPIRE").arg(keys::blob(&hash)).arg(60))
        .await?;
    assert_eq!(store.get_blob(&hash).await?, b"\x00\xffbytes");
    let life_s: i64 = store.run(redis::cmd("TTL").arg(keys::blob(&hash))).await?;
    assert!(life_s > 600_000, "{life_s}");
    Ok(())
}

#[tokio::test]
async fn blob_that_is_missing_damaged_or_too_large_is_refused() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let missing = store.get_blob(&ContentHash::of(b"never written")).await;
    ensure!(matches!(missing, Err(StoreError::NoBlob(_))), "{missing:?}");
    let hash = store.put_blob(b"true").await?;
    let () = store
        .run(redis::cmd("SET").arg(keys::blob(&hash)).arg("false"))
        .await?;
    let damaged = store.get_blob(&hash).await;
    ensure!(
        matches!(damaged, Err(StoreError::DamagedBlob { .. })),
        "{damaged:?}"
    );
    let large = store.put_blob(&vec![0; BLOB_LIMIT_BYTES + 1]).await;
    ensure!(matches!(large, Err(StoreError::TooLarge { .. })), "{large:?}");
    Ok(())
}

#[tokio::test]
async fn json_comes_back_and_other_bytes_are_named() -> Result<()> {
    let (_server, store) = server_and_store().await?;
    let hash = store.put_json(&solution("p", Some(0.1))).await?;
    assert_eq!(store.get_json::<Solution>(&hash).await?, solution("p", Some(0.1)));
    let other = store.put_blob(b"no json").await?;
    let refused = store
        .get_json::<Solution>(&other)
        .await
        .map_err(|error| error.to_string());
    assert_eq!(refused, Err(format!("`blob {other}` in redis can't be read")));
    Ok(())
}
