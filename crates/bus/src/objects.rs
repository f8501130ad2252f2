//! Bulk under a name, in the server's object store.

use std::future::Future;

use async_nats::jetstream::object_store::{DeleteErrorKind, GetErrorKind};
use tokio::io::AsyncReadExt;

use crate::{Bus, BusError, connection::chain};

impl Bus {
    /// Stores `bytes` as object `name`, over an older one of the same name. The server checks their hash.
    pub async fn put_object(&self, bucket: &str, name: &str, mut bytes: &[u8]) -> Result<(), BusError> {
        self.within(format!("storing object `{bucket}/{name}`"), async {
            let store = self.bucket(bucket).await?;
            match store.put(name, &mut bytes).await {
                Ok(_) => Ok(()),
                Err(error) => {
                    Err(self.unavailable(format!("storing object `{bucket}/{name}`"), chain(&error)))
                }
            }
        })
        .await
    }

    /// The bytes of object `name`; their hash is checked.
    pub async fn get_object(&self, bucket: &str, name: &str) -> Result<Vec<u8>, BusError> {
        let what = format!("reading object `{bucket}/{name}`");
        self.within(what.clone(), async {
            let store = self.bucket(bucket).await?;
            let mut object = match store.get(name).await {
                Ok(object) => object,
                Err(error) if error.kind() == GetErrorKind::NotFound => {
                    return Err(BusError::NoObject {
                        bucket: bucket.into(),
                        name: name.into(),
                    });
                }
                Err(error) => return Err(self.unavailable(what.clone(), chain(&error))),
            };
            let mut bytes = Vec::with_capacity(object.info().size);
            match object.read_to_end(&mut bytes).await {
                Ok(_) => Ok(bytes),
                Err(error) => Err(self.unavailable(what.clone(), chain(&error))),
            }
        })
        .await
    }

    /// Removes object `name`; one that is not there is no error.
    pub async fn delete_object(&self, bucket: &str, name: &str) -> Result<(), BusError> {
        let what = format!("removing object `{bucket}/{name}`");
        self.within(what.clone(), async {
            let store = self.bucket(bucket).await?;
            match store.delete(name).await {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == DeleteErrorKind::NotFound => Ok(()),
                Err(error) => Err(self.unavailable(what.clone(), chain(&error))),
            }
        })
        .await
    }

    async fn within<T>(
        &self,
        what: String,
        exchange: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        let limit = self.config.timing.object;
        match tokio::time::timeout(limit, exchange).await {
            Ok(result) => result,
            Err(_) => Err(BusError::Unavailable {
                what,
                waited: limit,
                cause: "no answer in time".into(),
            }),
        }
    }
}
