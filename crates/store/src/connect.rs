//! The connection: checks of the server, commands with bounded waiting, functions loaded when they are missing.

use std::time::Duration;

use journeyman_schemas::ids::ContentHash;
use redis::{Client, ConnectionInfo, FromRedisValue, IntoConnectionInfo, aio::ConnectionManager};

use crate::StoreError;

/// Where Redis is.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// `redis://host:port[/db]` or `unix:///path/to/socket`.
    pub url: String,
    /// Password, if the server wants one.
    pub password: Option<String>,
    /// Accept a server without append-only file, which forgets all at its stop.
    pub allow_volatile: bool,
}

impl StoreConfig {
    /// A durable server without password at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            password: None,
            allow_volatile: false,
        }
    }
}

impl std::fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreConfig")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Shared state. Clones share one connection, which reconnects by itself.
#[derive(Clone, Debug)]
pub struct Store {
    connection: ConnectionManager,
}

/// A command is sent at most this often; between two tries the connection is made anew.
const TRIES: usize = 3;

impl Store {
    /// Connects, checks the server's version, eviction policy and durability, and loads the function library.
    ///
    /// A server that is not there is tried for about 5 seconds.
    pub async fn connect(config: &StoreConfig) -> Result<Store, StoreError> {
        let info = address(config)?;
        let settings = redis::aio::ConnectionManagerConfig::new()
            .set_response_timeout(Some(Duration::from_secs(10)))
            .set_connection_timeout(Some(Duration::from_secs(5)))
            .set_number_of_retries(7)
            .set_min_delay(Duration::from_millis(100))
            .set_max_delay(Duration::from_secs(1));
        let client = Client::open(info).map_err(StoreError::Unavailable)?;
        let connection = ConnectionManager::new_with_config(client, settings)
            .await
            .map_err(StoreError::Unavailable)?;
        let store = Store { connection };
        store.check_server(config.allow_volatile).await?;
        store.load_functions().await?;
        Ok(store)
    }

    /// Asks the server for a sign of life.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.run(&redis::cmd("PING")).await
    }

    async fn check_server(&self, allow_volatile: bool) -> Result<(), StoreError> {
        let info: String = self.run(&redis::cmd("INFO")).await?;
        let field = |name: &str| {
            let line = info
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.unwrap_or("unknown").trim().to_owned()
        };
        let found = field("redis_version");
        let major = found
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok())
            .unwrap_or(0);
        if major < 7 {
            return Err(StoreError::OldServer { found });
        }
        let policy = field("maxmemory_policy");
        if policy != "noeviction" {
            return Err(StoreError::Eviction { policy });
        }
        if field("aof_enabled") != "1" {
            if !allow_volatile {
                return Err(StoreError::Volatile);
            }
            tracing::warn!("redis keeps nothing over a restart");
        }
        Ok(())
    }

    async fn load_functions(&self) -> Result<(), StoreError> {
        let mut load = redis::cmd("FUNCTION");
        load.arg("LOAD").arg(library());
        match self.run::<String>(&load).await {
            Ok(_) => Ok(()),
            // Named by its hash: what is there under this name is the same.
            Err(StoreError::Refused(error)) if error.to_string().contains("already exists") => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Calls a function of the library; loads the library first if the server has lost it.
    pub(crate) async fn call<T: FromRedisValue>(&self, call: &Call) -> Result<T, StoreError> {
        let command = call.command();
        match self.run(&command).await {
            Err(StoreError::Refused(error)) if error.to_string().contains("Function not found") => {
                tracing::warn!("redis has lost its functions: loading them again");
                self.load_functions().await?;
                self.run(&command).await
            }
            result => result,
        }
    }

    /// Sends a command.
    pub(crate) async fn run<T: FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, StoreError> {
        self.send(Message::One(command)).await
    }

    /// Sends several commands at once.
    pub(crate) async fn run_all<T: FromRedisValue>(
        &self,
        commands: &redis::Pipeline,
    ) -> Result<T, StoreError> {
        self.send(Message::Several(commands)).await
    }

    /// The first failure of a dropped connection comes at once and starts a new connection, for which the next try
    /// waits. A silent server costs its 10 s once: trying again would only wait longer.
    async fn send<T: FromRedisValue>(&self, message: Message<'_>) -> Result<T, StoreError> {
        let mut connection = self.connection.clone();
        let mut tries = 1;
        loop {
            let answer = match message {
                Message::One(command) => command.query_async(&mut connection).await,
                Message::Several(commands) => commands.query_async(&mut connection).await,
            };
            match answer {
                Ok(value) => return Ok(value),
                Err(error) if tries < TRIES && error.is_io_error() && !error.is_timeout() => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Message<'a> {
    One(&'a redis::Cmd),
    Several(&'a redis::Pipeline),
}

fn address(config: &StoreConfig) -> Result<ConnectionInfo, StoreError> {
    let shown = match config.url.rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => config.url.clone(),
    };
    let info = config
        .url
        .as_str()
        .into_connection_info()
        .map_err(|source| StoreError::Address { url: shown, source })?;
    Ok(match &config.password {
        Some(password) => {
            let settings = info.redis_settings().clone().set_password(password);
            info.set_redis_settings(settings)
        }
        None => info,
    })
}

/// A call of a library function.
pub(crate) struct Call {
    function: &'static str,
    keys: Vec<String>,
    args: Vec<String>,
}

impl Call {
    pub(crate) fn new(function: &'static str, keys: Vec<String>) -> Self {
        Self {
            function,
            keys,
            args: Vec::new(),
        }
    }

    pub(crate) fn arg(mut self, arg: impl ToString) -> Self {
        self.args.push(arg.to_string());
        self
    }

    pub(crate) fn keys(mut self, keys: impl IntoIterator<Item = String>) -> Self {
        self.keys.extend(keys);
        self
    }

    fn command(&self) -> redis::Cmd {
        let mut command = redis::cmd("FCALL");
        command
            .arg(format!("{}_{}", self.function, version()))
            .arg(self.keys.len());
        command.arg(&self.keys).arg(&self.args);
        command
    }
}

const SOURCE: &str = include_str!("functions.lua");

fn version() -> String {
    ContentHash::of(SOURCE.as_bytes()).short().to_owned()
}

fn library() -> String {
    SOURCE.replace("VERSION", &version())
}
