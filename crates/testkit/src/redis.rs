//! A real redis-server.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::{home::tool, process::Process};

/// A redis-server on a Unix socket with an append-only file of its own; gone when dropped.
pub struct RedisServer {
    process: Process,
    directory: TempDir,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts one as the store wants it: `noeviction`, append-only file.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// Starts one with another `maxmemory-policy`, as in `allkeys-lru`.
    pub fn with_policy(policy: &str) -> Result<Self> {
        Self::start_with(&["--maxmemory-policy", policy])
    }

    /// Starts one with more arguments, as in `["--appendonly", "no"]`; the last of two settings counts.
    pub fn start_with(arguments: &[&str]) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("jm-redis-").tempdir()?;
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let process = launch(directory.path(), &arguments)?;
        Ok(Self {
            process,
            directory,
            arguments,
        })
    }

    /// Its address, as in `redis+unix:///tmp/jm-redis-x/redis.sock`; the same after [`restart`](Self::restart).
    pub fn url(&self) -> String {
        format!("redis+unix://{}", socket(self.directory.path()).display())
    }

    /// Its directory, with the append-only file in `appendonlydir`.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// SIGKILL; its append-only file stays.
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

    /// Kills it if it runs, and starts it on the same socket with the same data.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill9();
        self.process = launch(self.directory.path(), &self.arguments)?;
        Ok(())
    }
}

fn launch(directory: &Path, arguments: &[String]) -> Result<Process> {
    let socket = socket(directory);
    let mut command = Command::new(tool("redis-server")?);
    command.args([
        "--port",
        "0",
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
    ]);
    command.args(["--maxmemory-policy", "noeviction"]);
    command
        .arg("--unixsocket")
        .arg(&socket)
        .arg("--dir")
        .arg(directory);
    command.args(arguments);
    let mut process = Process::start(command)?;
    process.wait_for("redis-server", || {
        answers(&socket).ok().filter(|&answers| answers)
    })?;
    Ok(process)
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("redis.sock")
}

/// Whether it answers PING with PONG, which it does not while it loads its data.
fn answers(socket: &Path) -> std::io::Result<bool> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"+PONG")
}
