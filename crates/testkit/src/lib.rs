//! What tests stand on: real servers as child processes, a scripted model, and a way to wait.
#![expect(
    clippy::disallowed_methods,
    reason = "tests have no service context: no config, tasks or clock to go through"
)]

mod eventually;
mod home;
mod nats;
mod process;
mod redis;
mod scripted_lm;
mod taken_jobs;

pub use eventually::eventually;
pub use home::{model, tool};
pub use journeyman_schemas::home::data_home;
pub use nats::NatsServer;
pub use redis::RedisServer;
pub use scripted_lm::ScriptedLm;
pub use taken_jobs::TakenJobs;
