//! `journeyman doctor`: what this machine has, what is missing, what to do.

use std::{
    net::TcpListener,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::Result;
use journeyman_bus::{Bus, BusConfig};
use journeyman_schemas::home;
use journeyman_store::{Store, StoreConfig};

use crate::{models, stack};

/// Least free disk space, bytes: models, tasks, checkpoints.
const LEAST_DISK: u64 = 5_000_000_000;
/// Least memory, bytes: two copies of a 0.5B model and one update.
const LEAST_MEMORY: u64 = 10_000_000_000;

/// A look at one thing.
struct Finding {
    good: bool,
    what: &'static str,
    found: String,
    mend: String,
}

/// Looks at everything; exit code 1 when something is missing.
pub(crate) async fn run() -> Result<ExitCode> {
    let mut findings = vec![
        program(
            "nats-server",
            &home::tools().join("nats-server"),
            "-v",
            "run `make setup`",
        ),
        program(
            "redis-server",
            Path::new("redis-server"),
            "--version",
            "run `make setup` as root, or install redis-server 7 or newer",
        ),
        program(
            "bubblewrap",
            Path::new("bwrap"),
            "--version",
            "run `make setup` as root, or install bubblewrap",
        ),
        libraries(),
        sandbox(),
        model(),
        disk(),
        memory(),
        port(8080),
    ];
    findings.extend(servers().await);
    let mut healthy = true;
    for finding in &findings {
        let mark = if finding.good { "ok  " } else { "MISS" };
        println!("{mark} {:<14} {}", finding.what, finding.found);
        if !finding.good {
            println!("     {:<14} → {}", "", finding.mend);
            healthy = false;
        }
    }
    Ok(if healthy {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn program(what: &'static str, path: &Path, flag: &str, mend: &str) -> Finding {
    let output = Command::new(path).arg(flag).output();
    let found = output
        .as_ref()
        .map(|output| first_line(&output.stdout))
        .unwrap_or_default();
    let good = output.is_ok_and(|output| output.status.success());
    let found = if good {
        found
    } else {
        format!("`{}` does not run", path.display())
    };
    Finding {
        good,
        what,
        found,
        mend: mend.into(),
    }
}

fn first_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The Python of the programs, with its libraries.
fn libraries() -> Finding {
    let script = "import sys, numpy, pandas, sklearn; \
        print(sys.version.split()[0], 'numpy', numpy.__version__, 'pandas', pandas.__version__, 'sklearn', sklearn.__version__)";
    let output = Command::new(home::python()).args(["-c", script]).output();
    let good = output.as_ref().is_ok_and(|output| output.status.success());
    let found = match output {
        Ok(output) if good => first_line(&output.stdout),
        _ => format!(
            "`{}` lacks numpy, pandas or scikit-learn",
            home::python().display()
        ),
    };
    Finding {
        good,
        what: "python",
        found,
        mend: "run `make setup`".into(),
    }
}

/// What the sandbox can wall in here.
fn sandbox() -> Finding {
    let mend =
        "allow user namespaces (sysctl user.max_user_namespaces) and run as root or in a delegated cgroup"
            .into();
    let namespaces = Command::new("bwrap")
        .args(["--ro-bind", "/", "/", "--unshare-all", "--unshare-user", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    let root = nix::unistd::geteuid().is_root();
    let cgroups = Path::new("/sys/fs/cgroup/memory").exists()
        || Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let found = match (namespaces, root && cgroups) {
        (true, true) => "full: own uid, namespaces, cgroup limits, system call filter",
        (true, false) => "namespaces: no cgroup limits and no own uid without root",
        (false, _) => "none: user namespaces are denied, programs would run unprotected",
    };
    Finding {
        good: namespaces,
        what: "sandbox",
        found: found.into(),
        mend,
    }
}

fn model() -> Finding {
    let mend = format!("run `journeyman models pull {}`", models::DEFAULT);
    match models::installed(models::DEFAULT) {
        Ok(model) => Finding {
            good: true,
            what: "model",
            found: model.path.display().to_string(),
            mend,
        },
        Err(_) => Finding {
            good: false,
            what: "model",
            found: format!("{} is not here", models::DEFAULT),
            mend,
        },
    }
}

fn disk() -> Finding {
    let home = home::data_home();
    let place = if home.exists() { home } else { "/".into() };
    let free =
        nix::sys::statvfs::statvfs(&place).map_or(0, |disk| disk.blocks_available() * disk.fragment_size());
    let found = format!("{} GB free at {}", free / 1_000_000_000, place.display());
    let mend = format!(
        "free {} GB, or set JOURNEYMAN_HOME to another disk",
        LEAST_DISK / 1_000_000_000
    );
    Finding {
        good: free >= LEAST_DISK,
        what: "disk",
        found,
        mend,
    }
}

fn memory() -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available = kilobytes
        .and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024;
    let found = format!("{} GB available", available / 1_000_000_000);
    let mend =
        "training a 0.5B model wants 10 GB: lower `grpo.max_tokens_per_pass`, or close other programs".into();
    Finding {
        good: available >= LEAST_MEMORY,
        what: "memory",
        found,
        mend,
    }
}

fn port(port: u16) -> Finding {
    let free = stack::running().is_some() || TcpListener::bind(("127.0.0.1", port)).is_ok();
    let found = if free {
        format!("{port} is free")
    } else {
        format!("{port} is taken by another program")
    };
    Finding {
        good: free,
        what: "port",
        found,
        mend: "give `journeyman up --http HOST:PORT` another one".into(),
    }
}

/// The servers of a running stack; nothing when none runs.
async fn servers() -> Vec<Finding> {
    let Some(addresses) = stack::running() else {
        return vec![Finding {
            good: true,
            what: "stack",
            found: "not running".into(),
            mend: String::new(),
        }];
    };
    let bus = Bus::connect(&BusConfig::new(&addresses.nats, "journeyman-doctor")).await;
    let store = Store::connect(&StoreConfig::new(&addresses.redis)).await;
    let finding = |what, good: bool, found: String| Finding {
        good,
        what,
        found,
        mend: format!("see the logs in {}", stack::logs().display()),
    };
    vec![
        finding(
            "NATS",
            bus.is_ok(),
            bus.err().map_or(addresses.nats, |error| error.to_string()),
        ),
        finding(
            "Redis",
            store.is_ok(),
            store.err().map_or(addresses.redis, |error| error.to_string()),
        ),
    ]
}
