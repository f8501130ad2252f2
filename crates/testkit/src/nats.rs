//! A real nats-server.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};
use journeyman_bus::BusConfig;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::{home::tool, process::Process};

/// A nats-server with JetStream on a free port and a store of its own; gone when dropped.
pub struct NatsServer {
    process: Process,
    directory: TempDir,
    port: u16,
}

impl NatsServer {
    /// Starts one with the server's own defaults.
    pub fn start() -> Result<Self> {
        Self::start_with("")
    }

    /// Starts one with more lines of its configuration, as in `max_payload: 65536`.
    pub fn start_with(configuration: &str) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("jm-nats-").tempdir()?;
        fs::write(directory.path().join("nats.conf"), configuration)?;
        let (process, port) = launch(directory.path(), None)?;
        Ok(Self {
            process,
            directory,
            port,
        })
    }

    /// Its address, the same after [`restart`](Self::restart).
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// A connection to it with the usual timing, named `name`.
    pub fn config(&self, name: &str) -> BusConfig {
        BusConfig::new(self.url(), name)
    }

    /// SIGKILL; its store stays.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Stops the process where it stands (SIGSTOP): connections stay open and nothing is answered.
    pub fn freeze(&self) -> Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    /// Ends [`freeze`](Self::freeze).
    pub fn thaw(&self) -> Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// Kills it if it runs, and starts it on the same port with the same store.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill9();
        (self.process, self.port) = launch(self.directory.path(), Some(self.port))?;
        Ok(())
    }
}

fn launch(directory: &Path, port: Option<u16>) -> Result<(Process, u16)> {
    let mut command = Command::new(tool("nats-server")?);
    // -1 lets the server take a free port and write it down.
    let wanted = port.map_or("-1".to_string(), |port| port.to_string());
    command.args(["-a", "127.0.0.1", "-p", &wanted, "-js"]);
    command.arg("-sd").arg(directory.join("store"));
    command.arg("-c").arg(directory.join("nats.conf"));
    command.arg("--ports_file_dir").arg(directory);
    let mut process = Process::start(command)?;
    let ports = directory.join(format!("nats-server_{}.ports", process.id()));
    let port = process.wait_for("nats-server", || port_in(&fs::read_to_string(&ports).ok()?))?;
    Ok((process, port))
}

/// The port in `{"nats": ["nats://127.0.0.1:4222"]}`.
fn port_in(ports: &str) -> Option<u16> {
    let ports: serde_json::Value = serde_json::from_str(ports).ok()?;
    let url = ports["nats"][0].as_str().context("no `nats` address").ok()?;
    url.rsplit_once(':')?.1.parse().ok()
}
