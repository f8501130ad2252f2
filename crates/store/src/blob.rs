//! Bulk by content hash: tokens, programs, outputs, files.

use journeyman_schemas::ids::ContentHash;
use serde::{Serialize, de::DeserializeOwned};

use crate::{Store, StoreError, keys};

/// Most bytes of one blob.
pub const BLOB_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// A blob lives this long after it was last written or read: 7 days.
const LIFE_S: u64 = 7 * 24 * 3600;

impl Store {
    /// Keeps bytes under their hash for 7 days after their last use.
    pub async fn put_blob(&self, bytes: &[u8]) -> Result<ContentHash, StoreError> {
        if bytes.len() > BLOB_LIMIT_BYTES {
            return Err(StoreError::TooLarge {
                bytes: bytes.len(),
                limit: BLOB_LIMIT_BYTES,
            });
        }
        let hash = ContentHash::of(bytes);
        let key = keys::blob(&hash);
        let there: bool = self.run(redis::cmd("EXPIRE").arg(&key).arg(LIFE_S)).await?;
        if !there {
            let () = self
                .run(redis::cmd("SET").arg(&key).arg(bytes).arg("EX").arg(LIFE_S))
                .await?;
        }
        Ok(hash)
    }

    /// The bytes under a hash, checked against it. [`StoreError::NoBlob`] if there are none.
    pub async fn get_blob(&self, hash: &ContentHash) -> Result<Vec<u8>, StoreError> {
        let bytes: Option<Vec<u8>> = self
            .run(redis::cmd("GETEX").arg(keys::blob(hash)).arg("EX").arg(LIFE_S))
            .await?;
        let bytes = bytes.ok_or_else(|| StoreError::NoBlob(hash.clone()))?;
        let found = ContentHash::of(&bytes);
        if found != *hash {
            return Err(StoreError::DamagedBlob {
                hash: hash.clone(),
                found,
            });
        }
        Ok(bytes)
    }

    /// How many bytes lie under a hash, without reading them; 0 if there are none.
    pub async fn blob_bytes(&self, hash: &ContentHash) -> Result<u64, StoreError> {
        self.run(redis::cmd("STRLEN").arg(keys::blob(hash))).await
    }

    /// Keeps a value as JSON.
    pub async fn put_json<T: Serialize + Sync>(&self, value: &T) -> Result<ContentHash, StoreError> {
        let bytes = serde_json::to_vec(value).map_err(|source| StoreError::Encode {
            what: std::any::type_name::<T>(),
            source,
        })?;
        self.put_blob(&bytes).await
    }

    /// A value that was kept as JSON.
    pub async fn get_json<T: DeserializeOwned>(&self, hash: &ContentHash) -> Result<T, StoreError> {
        let bytes = self.get_blob(hash).await?;
        serde_json::from_slice(&bytes).map_err(|source| StoreError::Decode {
            what: format!("blob {hash}"),
            source,
        })
    }
}
