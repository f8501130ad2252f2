//! NATS, Redis and the services as child processes of this one: started in order, restarted when they die, gone when
//! it ends.

use std::{
    fs::{self, File},
    future::Future,
    os::unix::{fs::DirBuilderExt, process::ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use journeyman_bus::{Bus, BusConfig};
use journeyman_schemas::home;
use journeyman_store::{Store, StoreConfig};
use nix::{
    fcntl::{Flock, FlockArg},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use crate::models::Model;

/// Services that every stack has. The trainer comes with a run.
const SERVICES: [&str; 6] = [
    "inference",
    "sandbox",
    "grader",
    "instrumenter",
    "implementer",
    "ideator",
];

/// For a server or service to become ready; inference loads its model meanwhile.
const START: Duration = Duration::from_secs(120);
/// For a child to stop by itself.
const GRACE: Duration = Duration::from_secs(20);
/// Between two looks at the children.
const POLL: Duration = Duration::from_millis(200);
/// A child that dies sooner than this after its start has not worked.
const YOUNG: Duration = Duration::from_secs(15);
/// Deaths in a row of a young child after which the stack gives up.
const MAX_EARLY_DEATHS: u32 = 4;
/// Lines of a child's log shown when it gives up.
const TAIL_LINES: usize = 12;

/// Where a running stack is, for other commands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Addresses {
    /// NATS.
    pub(crate) nats: String,
    /// Redis.
    pub(crate) redis: String,
    /// Model that inference serves.
    pub(crate) model: String,
}

/// A running stack.
pub(crate) struct Stack {
    children: Vec<Managed>,
    addresses: Addresses,
    // Held for the life of the stack: only one may use the data directories.
    _lock: Flock<File>,
}

/// Directory of the stack's own data.
pub(crate) fn directory() -> PathBuf {
    home::data_home().join("local")
}

/// Directory of the children's logs.
pub(crate) fn logs() -> PathBuf {
    directory().join("logs")
}

/// Addresses of the stack that runs on this machine; none if none runs.
pub(crate) fn running() -> Option<Addresses> {
    let lock = File::open(directory().join("lock")).ok()?;
    // Who gets the lock knows that no stack holds it.
    if Flock::lock(lock, FlockArg::LockExclusiveNonblock).is_ok() {
        return None;
    }
    serde_json::from_slice(&fs::read(directory().join("stack.json")).ok()?).ok()
}

/// Resolves at SIGINT or SIGTERM.
pub(crate) async fn interrupted() {
    let stream = |kind| signal(kind);
    match (stream(SignalKind::interrupt()), stream(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        }
        // Without handlers the default action ends this process, and the kernel its children.
        _ => std::future::pending().await,
    }
}

impl Stack {
    /// Starts the servers, then the services, and waits until each is ready.
    pub(crate) async fn start(model: &Model, http: &str) -> Result<Self> {
        for part in ["logs", "nats"] {
            let path = directory().join(part);
            fs::create_dir_all(&path).with_context(|| format!("can't create `{}`", path.display()))?;
        }
        let redis_dir = directory().join("redis");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&redis_dir)?;
        let lock = File::create(directory().join("lock"))?;
        let Ok(lock) = Flock::lock(lock, FlockArg::LockExclusiveNonblock) else {
            bail!("another `journeyman up` or `journeyman train` runs on this machine: stop it first");
        };
        let mut stack = Self {
            children: Vec::new(),
            addresses: Addresses {
                nats: String::new(),
                redis: format!("unix://{}", redis_dir.join("redis.sock").display()),
                model: model.id.to_string(),
            },
            _lock: lock,
        };
        // A failure on the way drops the stack, which kills what was started.
        stack.start_servers().await?;
        fs::write(
            directory().join("stack.json"),
            serde_json::to_vec_pretty(&stack.addresses)?,
        )?;
        stack.start_services(model, http).await?;
        Ok(stack)
    }

    /// Where its servers are.
    pub(crate) fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// A connection to its Redis.
    pub(crate) async fn store(&self) -> Result<Store> {
        Ok(Store::connect(&StoreConfig::new(&self.addresses.redis)).await?)
    }

    async fn start_servers(&mut self) -> Result<()> {
        let port = free_port()?;
        self.addresses.nats = format!("nats://127.0.0.1:{port}");
        let nats = Program {
            name: "nats-server",
            path: home::tools().join("nats-server"),
            arguments: vec![
                "-a".into(),
                "127.0.0.1".into(),
                "-p".into(),
                port.to_string(),
                "-js".into(),
                "-sd".into(),
                directory().join("nats").display().to_string(),
            ],
            environment: Vec::new(),
        };
        let redis = Program {
            name: "redis-server",
            path: "redis-server".into(),
            arguments: redis_arguments(),
            environment: Vec::new(),
        };
        self.children.push(Managed::start(nats)?);
        self.children.push(Managed::start(redis)?);
        let (bus, store) = (
            BusConfig::new(&self.addresses.nats, "journeyman"),
            StoreConfig::new(&self.addresses.redis),
        );
        self.ready("nats-server", async || Bus::connect(&bus).await.is_ok())
            .await?;
        self.ready("redis-server", async || Store::connect(&store).await.is_ok())
            .await
    }

    async fn start_services(&mut self, model: &Model, http: &str) -> Result<()> {
        for name in SERVICES {
            let environment = self.environment(name, model, http);
            self.children
                .push(Managed::start(service(name, Vec::new(), environment)?)?);
        }
        let store = self.store().await?;
        for name in SERVICES {
            let full = format!("journeyman-{name}");
            self.ready(name, async || {
                let services = store.services().await.unwrap_or_default();
                services
                    .iter()
                    .any(|service| service.service == full && service.ready)
            })
            .await?;
        }
        Ok(())
    }

    /// Starts the trainer of a run.
    pub(crate) fn start_trainer(&mut self, run_config: &str, model: &Model, runs: &str) -> Result<()> {
        let mut environment = self.environment("trainer", model, "");
        environment.push(("JOURNEYMAN__TRAINER__RUN_CONFIG".into(), run_config.into()));
        environment.push(("JOURNEYMAN__TRAINER__RUNS".into(), runs.into()));
        self.children
            .push(Managed::start(service("trainer", Vec::new(), environment)?)?);
        Ok(())
    }

    fn environment(&self, name: &str, model: &Model, http: &str) -> Vec<(String, String)> {
        let mut pairs = vec![
            ("JOURNEYMAN__NATS__URL", self.addresses.nats.clone()),
            ("JOURNEYMAN__REDIS__URL", self.addresses.redis.clone()),
            ("JOURNEYMAN__ADMIN__LISTEN", "127.0.0.1:0".into()),
        ];
        let path = model.path.display().to_string();
        match name {
            "inference" => pairs.extend([
                ("JOURNEYMAN__INFERENCE__MODEL__ID", model.id.to_string()),
                ("JOURNEYMAN__INFERENCE__MODEL__PATH", path),
                ("JOURNEYMAN__INFERENCE__HTTP__LISTEN", http.to_owned()),
            ]),
            "trainer" => pairs.push(("JOURNEYMAN__TRAINER__MODEL_PATH", path)),
            "ideator" => pairs.push(("JOURNEYMAN__IDEATOR__HELP__MODEL", model.id.to_string())),
            _ => {}
        }
        pairs
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    /// Waits until `look` says yes, and fails when the child gives up before that.
    async fn ready(&mut self, name: &str, look: impl AsyncFn() -> bool) -> Result<()> {
        let begun = Instant::now();
        while !look().await {
            self.look_after()
                .with_context(|| format!("{name} did not start"))?;
            ensure!(
                begun.elapsed() < START,
                "{name} is not ready after {} s; see {}",
                START.as_secs(),
                logs().display()
            );
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Restarts what dies until `until` resolves; fails when a child can't be kept alive.
    pub(crate) async fn supervise(&mut self, until: impl Future<Output = ()>) -> Result<()> {
        tokio::pin!(until);
        loop {
            tokio::select! {
                biased;
                () = &mut until => return Ok(()),
                () = tokio::time::sleep(POLL) => self.look_after()?,
            }
        }
    }

    /// One look at every child: a dead one is started again.
    pub(crate) fn look_after(&mut self) -> Result<()> {
        for child in &mut self.children {
            child.look_after()?;
        }
        Ok(())
    }

    /// How the trainer ended; none while it runs. A trainer that was killed is started again.
    pub(crate) fn trainer_ended(&self) -> Option<ExitStatus> {
        self.children
            .iter()
            .find(|child| child.program.name == "trainer")
            .and_then(|child| child.done)
    }

    /// Stops everything: services first, each within its grace period, servers last.
    pub(crate) async fn stop(mut self) {
        let (services, servers): (Vec<Managed>, Vec<Managed>) = self
            .children
            .drain(..)
            .partition(|child| !child.program.name.ends_with("-server"));
        for mut group in [services, servers] {
            group.iter_mut().for_each(Managed::terminate);
            let begun = Instant::now();
            while begun.elapsed() < GRACE && group.iter_mut().any(Managed::alive) {
                tokio::time::sleep(POLL).await;
            }
            // Dropping a child that is still there kills it.
            drop(group);
        }
        // A missing file is what is wanted.
        drop(fs::remove_file(directory().join("stack.json")));
    }
}

fn redis_arguments() -> Vec<String> {
    let redis = directory().join("redis");
    let socket = redis.join("redis.sock");
    let pairs = [
        ("--port", "0".to_owned()),
        ("--unixsocket", socket.display().to_string()),
        ("--dir", redis.display().to_string()),
        ("--appendonly", "yes".to_owned()),
        ("--maxmemory-policy", "noeviction".to_owned()),
        ("--save", String::new()),
    ];
    pairs
        .into_iter()
        .flat_map(|(key, value)| [key.to_owned(), value])
        .collect()
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

fn service(
    name: &'static str,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
) -> Result<Program> {
    let here = std::env::current_exe().context("can't find this program's own directory")?;
    let path = here.with_file_name(format!("journeyman-{name}"));
    ensure!(
        path.exists(),
        "`{}` is missing: build it with `make build`",
        path.display()
    );
    Ok(Program {
        name,
        path,
        arguments,
        environment,
    })
}

/// How to start a child.
struct Program {
    name: &'static str,
    path: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Program {
    fn log(&self) -> PathBuf {
        logs().join(format!("{}.log", self.name))
    }

    fn spawn(&self, append: bool) -> Result<Child> {
        let log = self.log();
        let output = File::options()
            .create(true)
            .write(true)
            .append(append)
            .truncate(!append)
            .open(&log)
            .with_context(|| format!("can't write `{}`", log.display()))?;
        let mut command = Command::new(&self.path);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned());
        // A terminal's Ctrl-C goes to the whole process group; the children are stopped in order instead.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        journeyman_children::spawn(command).with_context(|| {
            format!(
                "can't start `{}`; `journeyman doctor` tells what is missing",
                self.path.display()
            )
        })
    }

    fn tail(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }
}

/// A child that is kept alive.
struct Managed {
    program: Program,
    child: Child,
    started: Instant,
    early_deaths: u32,
    done: Option<ExitStatus>,
}

impl Managed {
    fn start(program: Program) -> Result<Self> {
        let child = program.spawn(false)?;
        Ok(Self {
            program,
            child,
            started: Instant::now(),
            early_deaths: 0,
            done: None,
        })
    }

    fn look_after(&mut self) -> Result<()> {
        if self.done.is_some() {
            return Ok(());
        }
        let Some(status) = self.child.try_wait()? else {
            return Ok(());
        };
        // A program that exits by itself has said why; one that was killed has not had its say.
        if self.program.name == "trainer" && status.code().is_some() {
            self.done = Some(status);
            return Ok(());
        }
        let young = self.started.elapsed() < YOUNG;
        self.early_deaths = if young { self.early_deaths + 1 } else { 0 };
        let gives_up = status.signal().is_none() && self.early_deaths >= 1 && status.code() == Some(1);
        if gives_up || self.early_deaths >= MAX_EARLY_DEATHS {
            bail!(
                "{} ended ({status}); the end of its log {}:\n{}",
                self.program.name,
                self.program.log().display(),
                self.program.tail()
            );
        }
        self.child = self.program.spawn(true)?;
        self.started = Instant::now();
        Ok(())
    }

    fn alive(&mut self) -> bool {
        self.done.is_none() && matches!(self.child.try_wait(), Ok(None))
    }

    fn terminate(&mut self) {
        if let (true, Ok(id)) = (self.alive(), i32::try_from(self.child.id())) {
            // It may have ended just now, which is what is wanted.
            let _gone: Result<(), nix::Error> = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // An error means that it is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
