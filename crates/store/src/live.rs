//! Signs of life: what each service is doing, for `journeyman status`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Store, StoreError,
    group::{decode, encode},
    keys,
};

/// A sign of life counts this long, seconds.
const LIFE_S: u64 = 15;

/// What a service is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceStatus {
    /// Its name.
    pub service: String,
    /// Which of its instances.
    pub instance: String,
    /// Whether it takes work.
    pub ready: bool,
    /// What it is doing, for people.
    pub doing: String,
    /// Address of its admin port.
    pub admin: String,
    /// Jobs and requests that it can hold at once.
    pub slots: u64,
    /// Jobs and requests that it holds.
    pub busy: u64,
    /// Jobs and requests done since its start.
    pub done: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Further numbers by name, for example `tokens_per_second`.
    pub numbers: BTreeMap<String, f64>,
    /// When it started, milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// When it wrote this, milliseconds since the Unix epoch.
    pub updated_ms: i64,
}

impl Store {
    /// Writes a sign of life of `service`'s `instance`; it counts for 15 s.
    pub async fn heartbeat(
        &self,
        service: &str,
        instance: &str,
        status: &ServiceStatus,
    ) -> Result<(), StoreError> {
        let member = format!("{service}/{instance}");
        let mut both = redis::pipe();
        both.cmd("SET")
            .arg(keys::service(&member))
            .arg(encode("status", status)?)
            .arg("EX")
            .arg(LIFE_S)
            .ignore();
        both.cmd("ZADD")
            .arg(keys::SERVICES)
            .arg(status.updated_ms)
            .arg(&member)
            .ignore();
        self.run_all(&both).await
    }

    /// What the living services are doing, in order of their names.
    pub async fn services(&self) -> Result<Vec<ServiceStatus>, StoreError> {
        let mut members: Vec<String> = self
            .run(redis::cmd("ZRANGE").arg(keys::SERVICES).arg(0).arg(-1))
            .await?;
        members.sort();
        if members.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<String> = members.iter().map(|member| keys::service(member)).collect();
        let found: Vec<Option<String>> = self.run(redis::cmd("MGET").arg(&keys)).await?;
        let mut alive = Vec::new();
        for (member, json) in members.iter().zip(found) {
            match json {
                Some(json) => alive.push(decode(member, &json)?),
                None => {
                    self.run(redis::cmd("ZREM").arg(keys::SERVICES).arg(member))
                        .await?
                }
            }
        }
        Ok(alive)
    }
}
